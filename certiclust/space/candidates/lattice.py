"""Candidate sets made of lattices at geometrically growing scales around the data points.

The proofs are in docs/candidates.md. At scale s a lattice of step ``2 t s / sqrt(l)`` has a node within t s of every
place; only nodes near a data point that has others at about the right distance are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError, cKDTree

from certiclust.space.candidates.sets import CandidateSet, FloatArray, check_size

#: Nodes that are looked at in one piece.
PIECE = 1_000_000
#: Sizes are counted up to this many times the allowed one.
COUNTED = 20
#: Relative room for rounding in comparisons, and by how much steps are finer so that rounded nodes are near enough.
ROOM, FINER = 1e-9, 2e-6


class Level(NamedTuple):
    """One scale: its step, which points are active, and how far from them nodes are kept.

    Attributes
    ----------
    reach
        Distance of a node to the place it stands for: also how far outside the hull nodes are kept.
    least, most
        Distance of a kept node to the nearest active point.
    inner, outer
        A point is active if some other is farther than `inner` and nearer than `outer`.
    """

    reach: float
    least: float
    most: float
    inner: float
    outer: float


def ladder(
    points: FloatArray, weights: FloatArray, epsilon: float, max_candidates: int, *, start: float | None = None
) -> CandidateSet:
    """Return candidates among which every cluster has one at most 1 + epsilon times as costly as its mean.

    Parameters
    ----------
    points, weights : ndarray
        Rows and their positive weights.
    epsilon : float
        How much worse than the mean.
    max_candidates : int
        Largest size allowed.
    start : float or None, default=None
        First scale, where smaller clusters are of no interest; None for the one that the data need.
    """
    distinct, counts = np.unique(points, axis=0, return_counts=True)
    if len(distinct) == 1:
        return CandidateSet(distinct, "ladder", epsilon)
    width = points.shape[1]
    delta, beta = math.sqrt(epsilon), math.exp(1.0 / width)
    kappa = math.sqrt(4.0 + epsilon) / delta
    closest = _closest(distinct)
    plain = bool(counts.max() == 1 and np.ptp(weights) == 0)
    scale = closest / 2.0 if plain else closest / (beta * (1.0 + kappa))
    if start is not None:
        scale = max(scale, start)

    def level(s: float) -> Level:
        return Level(delta * s, 0.0, (beta + delta) * s, delta * s / 2.0, beta * s * (1.0 + kappa))

    top = float(np.linalg.norm(np.ptp(distinct, axis=0))) / 2.0
    levels = [level(s) for s in _scales(scale, beta, top)]
    return CandidateSet(_collected(distinct, levels, "ladder", max_candidates), "ladder", epsilon)


def universal(points: FloatArray, eta: float, max_candidates: int, *, start: float | None = None) -> CandidateSet:
    """Return candidates such that each place q has one at most 1 + eta times as far from every row as q is.

    Serves continuous k-median with factor 1 + eta.
    """
    distinct = np.unique(points, axis=0)
    if len(distinct) == 1:
        return CandidateSet(distinct, "universal", eta)
    beta = math.exp(1.0 / points.shape[1])
    first = eta / (1.0 + eta) * _closest(distinct) if start is None else start

    def level(s: float) -> Level:
        return Level(eta * s, (1.0 - eta) * s, (beta + eta) * s, (1.0 + eta) * s, beta * s * (1.0 + eta) / eta)

    levels = [level(s) for s in _scales(first, beta, float(np.linalg.norm(np.ptp(distinct, axis=0))))]
    return CandidateSet(_collected(distinct, levels, "universal", max_candidates), "universal", eta)


def budgeted(
    points: FloatArray, weights: FloatArray, epsilon: float, cost: float, factor: float, max_candidates: int
) -> CandidateSet:
    """Return candidates with OPT_C <= (1 + epsilon) OPT, given a solution of cost at most `factor` times OPT.

    In the spirit of Har-Peled and Mazumdar (2004): the ladder with half of epsilon, begun at the scale where the other
    half of the budget, spread evenly over the weight, pays for the distance to the candidate.
    """
    if not cost > 0.0:
        return CandidateSet(np.unique(points, axis=0), "budgeted", epsilon)
    half = epsilon / 2.0
    start = math.sqrt(half * cost / (factor * float(weights.sum()))) / math.sqrt(half)
    return ladder(points, weights, half, max_candidates, start=start)._replace(name="budgeted", epsilon=epsilon)


def _closest(distinct: FloatArray) -> float:
    """Return the smallest distance between two different rows."""
    return float(np.asarray(cKDTree(distinct).query(distinct, k=2)[0])[:, 1].min())


def _scales(first: float, beta: float, top: float) -> Iterator[float]:
    """Yield first, beta first, ... up to `top`, at least one.

    The first is taken a little smaller and with 20 bits, which no rounding of distances changes: whoever builds the
    set again gets the same numbers, and distances that equal each other do not decide by their last bit.
    """
    mantissa, exponent = math.frexp(first * (1.0 - 1e-6))
    s = math.ldexp(math.floor(mantissa * 2.0**20), exponent - 20)
    yield s
    while s * beta <= (1.0 + ROOM) * top:
        s *= beta
        yield s


def _collected(distinct: FloatArray, levels: list[Level], name: str, max_candidates: int) -> FloatArray:
    """Return the rows and the nodes of all levels, moved back to where the rows are."""
    origin = distinct[0]
    moved = distinct - origin
    ulp = float(np.spacing(np.abs(distinct).max()))
    if ulp * math.sqrt(distinct.shape[1]) > 1e-6 * levels[0].reach:
        raise ValueError(
            f"the {name} candidates need steps of {levels[0].reach:.3g}, which coordinates of "
            f"{np.abs(distinct).max():.3g} cannot hold; subtract the mean from X, or use the data as candidates."
        )
    tree, facets = cKDTree(moved), _facets(moved)
    found, size = [moved], len(moved)
    larger = "take a larger epsilon, "
    for level in levels:
        nodes = _nodes(moved, tree, facets, level, COUNTED * max_candidates - size)
        if nodes is None:
            check_size(name, COUNTED * max_candidates, max_candidates, larger, more=True)
        else:
            size += len(nodes)
            if size <= max_candidates:
                found.append(nodes)
    check_size(name, size, max_candidates, larger)
    return np.asarray(np.concatenate(found) + origin)


def _facets(points: FloatArray) -> FloatArray:
    """Return the facets of the convex hull as rows (normal, offset); none for flat data."""
    n, width = points.shape
    if width > 1 and n > width + 1:
        try:
            return np.asarray(ConvexHull(points).equations)
        except QhullError:
            pass
    return np.empty((0, width + 1))


def _nodes(points: FloatArray, tree: cKDTree, facets: FloatArray, level: Level, most: int) -> FloatArray | None:
    """Return the nodes of one level in lexicographic order; None if there are more than `most`."""
    width = points.shape[1]
    within = tree.query_ball_point(points, level.inner, return_length=True)
    about = tree.query_ball_point(points, level.outer * (1.0 - 1e-12), return_length=True)
    active = points[about > within]
    if not len(active):
        return np.empty((0, width))
    step = 2.0 * (1.0 - FINER) * level.reach / math.sqrt(width)
    cells = np.unique(np.floor(active / step).astype(np.int64), axis=0)
    offsets = _offsets(level.most * (1.0 + ROOM) / step, width)
    near = cKDTree(active)
    parts: list[NDArray[np.int64]] = []
    count = 0
    stride = max(1, PIECE // len(offsets))
    for start in range(0, len(cells), stride):
        piece = (cells[start : start + stride, None] + offsets).reshape(-1, width)
        piece = np.unique(piece, axis=0)
        parts.append(piece[_kept(np.asarray(piece * step, dtype=np.float64), points, near, facets, level)])
        count += len(parts[-1])
        if count > 4 * most + PIECE:
            return None
    nodes = np.unique(np.concatenate(parts), axis=0)
    return np.asarray(nodes * step, dtype=np.float64) if len(nodes) <= most else None


def _offsets(radius: float, width: int) -> NDArray[np.int64]:
    """Return all steps from a cell to nodes within `radius` steps of some place in the cell."""
    side = np.arange(-math.floor(radius), math.floor(radius) + 2)
    grid = np.stack(np.meshgrid(*[side] * width, indexing="ij"), axis=-1).reshape(-1, width)
    gap = np.maximum(np.maximum(-grid, grid - 1), 0)
    return np.asarray(grid[np.square(gap).sum(axis=1) <= radius * radius], dtype=np.int64)


def _kept(nodes: FloatArray, points: FloatArray, near: cKDTree, facets: FloatArray, level: Level) -> NDArray[np.bool_]:
    """Return which nodes are at the right distance of an active point and not far outside the hull."""
    distance = near.query(nodes, distance_upper_bound=level.most * (1.0 + ROOM))[0]
    kept = np.isfinite(distance) & (distance >= level.least * (1.0 - ROOM))
    low, high = points.min(axis=0), points.max(axis=0)
    kept &= ((nodes >= low - level.reach) & (nodes <= high + level.reach)).all(axis=1)
    if len(facets):
        room = level.reach * (1.0 + ROOM) + 1e-12 * float(np.linalg.norm(high - low))
        kept[kept] = (nodes[kept] @ facets[:, :-1].T + facets[:, -1] <= room).all(axis=1)
    return np.asarray(kept)
