"""Building the named candidate sets again, in plain NumPy and SciPy, so that swaps into them can be checked.

The sets and the proofs of their factors are described in docs/candidates.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.distance import cdist

from certiclust.certificates.errors import CertificateError

Floats = NDArray[np.float64]

#: Candidates, nodes of one scale, and pairs of node and point, that are looked at.
MAX_CANDIDATES, MAX_NODES, MAX_PAIRS = 2_000_000, 40_000_000, 2_000_000_000
_NEAR, _FINER = 1e-9, 2e-6
#: Columns up to which nodes outside the convex hull are left out.
_HULL_COLUMNS = 6


def named_candidates(stored: Any, points: Floats, weights: Floats) -> tuple[Floats, float]:
    """Return the candidates that a certificate names, and how much worse than the best centre they are at most."""
    name = stored.get("name") if isinstance(stored, dict) else None
    epsilon = stored.get("epsilon") if isinstance(stored, dict) else None
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 1e-6 <= epsilon <= 1e6:
        raise CertificateError("witness: 'candidates' must have an epsilon between 1e-6 and 1e6.")
    rows = np.unique(points, axis=0)
    if name == "midpoints":
        if len(rows) * (len(rows) + 1) // 2 > MAX_CANDIDATES:
            raise CertificateError(f"witness: 'candidates' names more than {MAX_CANDIDATES} midpoints.")
        pairs = [rows[i] + 0.5 * (rows[i:] - rows[i]) for i in range(len(rows))]
        return np.concatenate(pairs), 0.5
    if name not in ("ladder", "universal"):
        raise CertificateError(f"witness: 'candidates' names {name!r}, which is not known.")
    if len(rows) == 1:
        return rows, float(epsilon)
    plain = len(rows) == len(points) and bool(np.all(weights == weights[0]))
    return _lattices(rows, name, float(epsilon), plain), float(epsilon)


def _lattices(rows: Floats, name: str, epsilon: float, plain: bool) -> Floats:
    """Return the rows and the nodes of all scales, each scale in lexicographic order of its nodes."""
    n, width = rows.shape
    moved = rows - rows[0]
    closest, diagonal = math.inf, float(np.linalg.norm(np.ptp(rows, axis=0)))
    for i in range(1, n):
        closest = min(closest, float(cdist(moved[i : i + 1], moved[:i]).min()))
    growth = math.exp(1.0 / width)
    if name == "ladder":
        reach = math.sqrt(epsilon)
        far = growth * (1.0 + math.sqrt(4.0 + epsilon) / reach)
        first, last = closest / 2.0 if plain else closest / far, diagonal / 2.0
        least, most, inner = 0.0, growth + reach, reach / 2.0
    else:
        reach, far = epsilon, growth * (1.0 + epsilon) / epsilon
        first, last = epsilon / (1.0 + epsilon) * closest, diagonal
        least, most, inner = 1.0 - epsilon, growth + epsilon, 1.0 + epsilon
    facets = _facets(moved)
    found, size, pairs = [moved], n, 0
    mantissa, exponent = math.frexp(first * (1.0 - 1e-6))
    scale = math.ldexp(math.floor(mantissa * 2.0**20), exponent - 20)
    while True:
        active = _active(moved, inner * scale, far * scale)
        if len(active):
            step = 2.0 * (1.0 - _FINER) * (reach * scale) / math.sqrt(width)
            nodes = _around(active, step, most * scale * (1.0 + _NEAR))
            pairs += len(nodes) * len(active)
            if pairs > MAX_PAIRS:
                raise CertificateError("witness: 'candidates' names a set that is too large to build again.")
            found.append(
                _kept(
                    np.asarray(nodes * step, dtype=np.float64),
                    active,
                    moved,
                    facets,
                    least * scale,
                    most * scale,
                    reach * scale,
                )
            )
            size += len(found[-1])
        if size > MAX_CANDIDATES:
            raise CertificateError(f"witness: 'candidates' names a set of more than {MAX_CANDIDATES}.")
        if not scale * growth <= (1.0 + _NEAR) * last:
            return np.asarray(np.concatenate(found) + rows[0])
        scale *= growth


def _active(rows: Floats, inner: float, outer: float) -> Floats:
    """Return the rows with another one farther than `inner` and nearer than `outer`."""
    keep = np.zeros(len(rows), dtype=bool)
    size = max(1, 4_000_000 // len(rows))
    for start in range(0, len(rows), size):
        d = cdist(rows[start : start + size], rows)
        keep[start : start + size] = ((d > inner) & (d <= outer * (1.0 - 1e-12))).any(axis=1)
    return rows[keep]


def _around(active: Floats, step: float, radius: float) -> NDArray[np.int64]:
    """Return the lattice nodes that may lie within `radius` of an active row, sorted."""
    cells = np.unique(np.floor(active / step).astype(np.int64), axis=0)
    reach = radius / step * (1.0 + _NEAR)
    shifts: list[NDArray[np.int64]] = []
    left = np.full(1, reach * reach)
    for _ in range(active.shape[1]):
        most = np.sqrt(left).astype(np.int64)
        if int((2 * most + 2).sum()) * len(cells) > MAX_NODES:
            raise CertificateError("witness: 'candidates' names a set that is too large to build again.")
        before = np.repeat(np.arange(len(left)), 2 * most + 2)
        first = np.flatnonzero(np.diff(before, prepend=-1))
        shift = np.arange(len(before)) - first[before] - most[before]
        away = np.where(shift > 0, shift - 1, -shift)  # from the cell, which is one step wide
        shifts = [column[before] for column in shifts] + [shift]
        left = np.maximum(left[before] - np.square(away), 0.0)
    return _sorted([(cells[:, a, None] + column).ravel() for a, column in enumerate(shifts)])


def _sorted(columns: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the rows of integers that these columns make, each once, in lexicographic order."""
    order = np.lexsort(columns[::-1])
    columns = [column[order] for column in columns]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.stack([column[fresh] for column in columns], axis=1)


def _kept(
    nodes: Floats, active: Floats, rows: Floats, facets: Floats, least: float, most: float, reach: float
) -> Floats:
    """Return the nodes at the right distance of the active rows that are not far outside the hull."""
    nearest = np.empty(len(nodes))
    size = max(1, 4_000_000 // len(active))
    for start in range(0, len(nodes), size):
        nearest[start : start + size] = cdist(nodes[start : start + size], active).min(axis=1)
    keep = (nearest < most * (1.0 + _NEAR)) & (nearest >= least * (1.0 - _NEAR))
    low, high = rows.min(axis=0), rows.max(axis=0)
    keep &= np.all((nodes >= low - reach) & (nodes <= high + reach), axis=1)
    nodes = nodes[keep]
    if len(facets):
        room = reach * (1.0 + _NEAR) + 1e-12 * float(np.linalg.norm(high - low))
        size = max(1, 4_000_000 // len(facets))
        parts = [nodes[start : start + size] for start in range(0, len(nodes), size)]
        within = [np.all(part @ facets[:, :-1].T + facets[:, -1] <= room, axis=1) for part in parts]
        nodes = nodes[np.concatenate(within)] if within else nodes
    return nodes


def _facets(rows: Floats) -> Floats:
    n, width = rows.shape
    if 1 < width <= _HULL_COLUMNS and n > width + 1:
        try:
            return np.asarray(ConvexHull(rows).equations)
        except QhullError:
            pass
    return np.empty((0, width + 1))
