"""Replaying a bound of k-means by cases: how many of the centres lie in a region of the bounding box.

A case is split by a region and a number m: fewer than m centres inside, so more than k - m outside, or at least m
inside. Every set of k centres meets the demands of one of the last cases, so the least of their bounds holds for all.
For v >= 0 a demand "at least b centres in S" adds b v to the bound, and takes v from phi at the centres in S.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.errors import CertificateError
from certiclust.certificates.kmeans import (
    MAX_BOXES,
    Demands,
    Floats,
    Ints,
    block_of_boxes,
    centred_rows,
    less_rounding,
    stored_arrays,
)

#: Parts of the sides of the bounding box where regions have their faces.
GRID = 32
#: Cases at most.
MAX_CASES = 2000
_KINDS = {"axes": "f", "cases": "i", "regions": "i", "units": "f", "u": "i", "tree": "i", "tree_ends": "i"}

Demand = tuple[Ints, bool, int]


def cases_bound(stored: Any, points: Floats, weights: Floats, k: int) -> float:
    """Return the lower bound on the k-means cost of any k centres that the cases prove together."""
    n, width = points.shape
    arrays = stored_arrays(stored, "cases", _KINDS)
    leaves = _last_cases(arrays["cases"], arrays["regions"], width, k)
    turn, skew = _turn(arrays["axes"], width)
    u, units, stops = arrays["u"], arrays["units"], arrays["tree_ends"]
    ends = np.cumsum([n + len(demands) for demands in leaves])
    if not (u.size == ends[-1] and units.size == stops.size == len(leaves)):
        raise CertificateError("witness: 'cases' has arrays of the wrong lengths.")
    if not (u.min() >= 0 and np.all((units > 0) & (units < 1e280) & (units > 1e-290))):
        raise CertificateError("witness: 'cases' must hold multipliers that are not negative.")
    bits = _bits(arrays["tree"], stops)
    rows, shift = centred_rows(points, weights)
    rows = rows @ turn
    bounds = []
    for t, demands in enumerate(leaves):
        with np.errstate(over="ignore"):
            multipliers = units[t] * u[ends[t] - n - len(demands) : ends[t]].astype(np.float64)
        if not float(multipliers.sum()) * k < 1e300:
            raise CertificateError("witness: 'cases' has multipliers that are too large.")
        halved = bits[stops[t - 1] if t else 0 : stops[t]]
        met = _demands(demands, multipliers[n:])
        bounds.append(block_of_boxes(rows, weights, multipliers[:n], halved, k, 2, met))
    return less_rounding(max(0.0, min(bounds)), 1.0 + 2 * skew + 2.0**-49, shift)


def _last_cases(cases: Ints, regions: Ints, width: int, k: int) -> list[tuple[Demand, ...]]:
    """Return the demands of every case that is not split.

    `cases` are in depth-first order, fewer centres inside first: the number m by which a case is split, or 0.
    """
    split = int((cases > 0).sum())
    if not (
        0 < cases.size <= MAX_CASES and cases.min() >= 0 and cases.max() <= k and regions.size == 2 * width * split
    ):
        raise CertificateError(f"witness: 'cases' must have between 1 and {MAX_CASES} cases with their regions.")
    if not (regions.min(initial=0) >= 0 and regions.max(initial=0) <= GRID):
        raise CertificateError("witness: 'cases' has a region outside of the bounding box.")
    shapes = iter(regions.reshape(split, 2 * width))
    waiting: list[tuple[Demand, ...]] = [()]
    leaves = []
    for number in cases.tolist():
        if not waiting:
            raise CertificateError("witness: 'cases' has cases that belong nowhere.")
        demands = waiting.pop()
        if number == 0:
            leaves.append(demands)
        else:
            region = next(shapes)
            waiting.append((*demands, (region, True, number)))
            waiting.append((*demands, (region, False, k - number + 1)))
    if waiting:
        raise CertificateError("witness: 'cases' ends too early.")
    return leaves


def _demands(demands: tuple[Demand, ...], v: Floats) -> Demands | None:
    """Return the demands of one case as arrays; a face at the end of the bounding box is none."""
    if not demands:
        return None
    regions = np.array([region for region, _, _ in demands], dtype=np.float64) / GRID
    low, high = np.split(regions, 2, axis=1)
    inside = np.array([within for _, within, _ in demands])
    least = np.array([number for _, _, number in demands], dtype=np.float64)
    return Demands(np.where(low <= 0, -np.inf, low), np.where(high >= 1, np.inf, high), inside, least, v)


def _turn(axes: Floats, width: int) -> tuple[Floats, float]:
    """Return the axes as a matrix, and how far they are from orthonormal."""
    if axes.size != width * width:
        raise CertificateError("witness: 'cases' has arrays of the wrong lengths.")
    turn = axes.reshape(width, width)
    near = bool(np.abs(turn).max() <= 2.0)
    skew = float(np.linalg.norm(turn.T @ turn - np.eye(width))) if near else np.inf
    if not skew <= 1e-9:
        raise CertificateError("witness: 'cases' has axes that are not orthonormal.")
    return turn, skew


def _bits(tree: Ints, stops: Ints) -> NDArray[np.uint8]:
    """Return the bits of all trees of halved boxes, one after the other."""
    if not (np.all(np.diff(stops, prepend=0) > 0) and stops[-1] <= MAX_BOXES):
        raise CertificateError(f"witness: 'cases' must have between 1 and {MAX_BOXES} boxes.")
    if tree.size * 8 < stops[-1] or tree.min(initial=0) < 0 or tree.max(initial=0) > 255:
        raise CertificateError("witness: 'cases' has a tree that is not one.")
    return np.unpackbits(tree.astype(np.uint8))
