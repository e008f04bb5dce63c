"""Evidence of the bounds with centres anywhere as arrays that a certificate keeps and `verify` reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from certiclust.bounds.kmeans_branch import Case

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def packed_boxes(parts: list[tuple[Ints, Floats, NDArray[np.uint8]]], axes: Floats) -> dict[str, Any]:
    """Return the evidence of the boxes as arrays: blocks one after the other, multipliers as integers."""
    units = [2.0 ** (math.frexp(float(u.max()))[1] - 50) if u.any() else 1.0 for _, u, _ in parts]
    units = [_coarsest(u, unit) for (_, u, _), unit in zip(parts, units, strict=True)]
    whole = [np.round(u / unit).astype(np.int64) for (_, u, _), unit in zip(parts, units, strict=True)]
    return {
        "members": np.concatenate([members for members, _, _ in parts]),
        "ends": np.cumsum([len(members) for members, _, _ in parts]),
        "axes": axes.ravel(),
        "units": np.array(units),
        "u": np.concatenate(whole),
        "tree": np.packbits(np.concatenate([bits for _, _, bits in parts])),
        "tree_ends": np.cumsum([len(bits) for _, _, bits in parts]),
    }


def packed_cases(root: Case, axes: Floats) -> dict[str, Any]:
    """Return the evidence of a tree of cases as arrays: cases depth first, then what proves each that is not split."""
    numbers, regions, leaves = [], [], []
    waiting = [root]
    while waiting:
        case = waiting.pop()
        if case.region is None:
            numbers.append(0)
            leaves.append((np.arange(0), case.proved.u, case.proved.bits))
        else:
            numbers.append(case.region.least)
            regions.append(np.concatenate([case.region.low, case.region.high]))
            waiting += reversed(case.parts)
    boxes = packed_boxes(leaves, axes)
    return {
        "cases": np.array(numbers),
        "regions": np.concatenate(regions).astype(np.int64),
        **{key: boxes[key] for key in ("axes", "units", "u", "tree", "tree_ends")},
    }


def _coarsest(u: Floats, unit: float) -> float:
    """Return the largest power of two times `unit` of which all u are multiples."""
    whole = np.round(u / unit).astype(np.int64)
    bits = int(np.bitwise_or.reduce(whole))
    return unit * float(bits & -bits) if bits else 1.0


def packed_sdp(parts: list[tuple[Ints, float, NDArray[np.int32]]]) -> dict[str, Any]:
    """Return the evidence of the semidefinite bound as arrays: the upper triangles of B, in units."""
    return {
        "members": np.concatenate([members for members, _, _ in parts]),
        "ends": np.cumsum([len(members) for members, _, _ in parts]),
        "units": np.array([unit for _, unit, _ in parts]),
        "entries": np.concatenate([B[np.triu_indices(len(B))] for _, _, B in parts]).astype(np.uint16),
    }
