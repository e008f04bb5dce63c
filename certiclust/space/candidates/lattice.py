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

from certiclust.space.candidates.sets import CandidateSet, FloatArray, check_size, described

#: Nodes that are looked at in one piece, and nodes times facets.
PIECE, PRODUCTS = 1_000_000, 4_000_000
#: Sizes are counted up to this many times the allowed one.
COUNTED = 20
#: Nodes that are looked at in all.
LOOKED = 40_000_000
#: Columns up to which nodes outside the convex hull are left out: with more it has too many facets.
HULL_COLUMNS = 6
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
    tree, larger = cKDTree(moved), "take a larger epsilon, "
    active = [_active(moved, tree, level) for level in levels]
    offsets = _affordable(active, levels, name)
    facets = _facets(moved)
    found, size = [moved], len(moved)
    for points, level in zip(active, levels, strict=True):
        nodes = _nodes(points, offsets, moved, facets, level, COUNTED * max_candidates - size)
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
    if 1 < width <= HULL_COLUMNS and n > width + 1:
        try:
            return np.asarray(ConvexHull(points).equations)
        except QhullError:
            pass
    return np.empty((0, width + 1))


def _active(points: FloatArray, tree: cKDTree, level: Level) -> FloatArray:
    """Return the points that have another one at about the right distance."""
    within = tree.query_ball_point(points, level.inner, return_length=True)
    about = tree.query_ball_point(points, level.outer * (1.0 - 1e-12), return_length=True)
    return points[about > within]


def _step(level: Level, width: int) -> float:
    return 2.0 * (1.0 - FINER) * level.reach / math.sqrt(width)


def _cells(active: FloatArray, step: float) -> NDArray[np.int64]:
    """Return the cells of the lattice that hold a point."""
    return _distinct(np.floor(active / step).astype(np.int64))


def _distinct(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every node once, in lexicographic order: by one number for each, where that is possible."""
    if not len(nodes):
        return nodes
    low, spans = nodes.min(axis=0), np.ptp(nodes, axis=0) + 1
    if not math.prod(spans.tolist()) < 2**62:
        return np.unique(nodes, axis=0)
    keys = np.unique(np.ravel_multi_index(tuple((nodes - low).T), tuple(spans)))
    return np.asarray(np.stack(np.unravel_index(keys, tuple(spans)), axis=1) + low, dtype=np.int64)


def _affordable(active: list[FloatArray], levels: list[Level], name: str) -> NDArray[np.int64]:
    """Return the steps from a cell to the nodes near it, the same at all levels; refuse what takes too long to build.

    The number of nodes near a cell grows like a power of the number of columns, most of them outside the hull or near
    other cells as well: a set may be small and yet far too long in the making.
    """
    width = active[0].shape[1]
    cells = sum(len(_cells(points, _step(level, width))) for points, level in zip(active, levels, strict=True))
    radius = levels[0].most * (1.0 + ROOM) / _step(levels[0], width)
    offsets = _offsets(radius * (1.0 + ROOM), width, LOOKED / max(cells, 1))
    if offsets is None:
        what, instead = described(name)
        raise ValueError(
            f"{what} needs a look at more than {LOOKED} nodes of lattices in {width} columns; take a larger epsilon, "
            f"fewer columns, or use {instead}."
        )
    return offsets


def _nodes(
    active: FloatArray, offsets: NDArray[np.int64], points: FloatArray, facets: FloatArray, level: Level, most: int
) -> FloatArray | None:
    """Return the nodes of one level in lexicographic order; None if there are more than `most`."""
    width = points.shape[1]
    if not len(active):
        return np.empty((0, width))
    step = _step(level, width)
    cells, near = _cells(active, step), cKDTree(active)
    parts: list[NDArray[np.int64]] = []
    count = 0
    stride = max(1, PIECE // len(offsets))
    for start in range(0, len(cells), stride):
        piece = _distinct((cells[start : start + stride, None] + offsets).reshape(-1, width))
        parts.append(piece[_kept(np.asarray(piece * step, dtype=np.float64), points, near, facets, level)])
        count += len(parts[-1])
        if count > 4 * most + PIECE:
            return None
    nodes = _distinct(np.concatenate(parts))
    return np.asarray(nodes * step, dtype=np.float64) if len(nodes) <= most else None


def _offsets(radius: float, width: int, most: float) -> NDArray[np.int64] | None:
    """Return all steps from a cell to nodes within `radius` steps of some place in the cell; None if above `most`."""
    steps, far = np.empty((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for _ in range(width):
        # One column after the other: the corners of the cube around the ball would be far too many.
        room = np.floor(np.sqrt(radius * radius - far)).astype(np.int64)
        counts = 2 * room + 2  # from -room to room + 1: the cell is one step wide
        if counts.sum() > most:
            return None
        before = np.repeat(np.arange(len(steps)), counts)
        last = np.arange(len(before)) - np.repeat(np.cumsum(counts) - counts + room, counts)
        steps = np.column_stack([steps[before], last])
        far = far[before] + np.square(np.maximum(np.maximum(-last, last - 1), 0))
    return steps


def _kept(nodes: FloatArray, points: FloatArray, near: cKDTree, facets: FloatArray, level: Level) -> NDArray[np.bool_]:
    """Return which nodes are at the right distance of an active point and not far outside the hull."""
    distance = near.query(nodes, distance_upper_bound=level.most * (1.0 + ROOM))[0]
    kept = np.isfinite(distance) & (distance >= level.least * (1.0 - ROOM))
    low, high = points.min(axis=0), points.max(axis=0)
    kept &= ((nodes >= low - level.reach) & (nodes <= high + level.reach)).all(axis=1)
    if len(facets):
        room = level.reach * (1.0 + ROOM) + 1e-12 * float(np.linalg.norm(high - low))
        rows = np.flatnonzero(kept)
        size = max(1, PRODUCTS // len(facets))
        for part in (rows[start : start + size] for start in range(0, len(rows), size)):
            kept[part] = (nodes[part] @ facets[:, :-1].T + facets[:, -1] <= room).all(axis=1)
    return np.asarray(kept)
