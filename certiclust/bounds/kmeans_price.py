"""Bounding phi over the whole space by halved boxes, and its local minima: proofs for centres anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import kmeans_kernels as kernels
from certiclust.bounds.kmeans_counts import Count, prizes

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]

#: Levels of halved boxes, and points listed for the boxes of one level at most.
MAX_LEVELS, MAX_ENTRIES = 120, 10_000_000
#: Steps of a descent at most, and points times starts between two polls.
DESCENT_STEPS, POLLED = 60, 300_000
#: Share of the way to the middle of its box by which a centre found there is moved: away from the faces of regions.
INWARD = 1e-6


class Priced(NamedTuple):
    """What the boxes say about phi.

    Attributes
    ----------
    lower
        Least bound of a leaf; -inf if a centre below the goal was met before.
    load
        Largest sum of multipliers on a leaf: rounding errors are relative to it.
    bits
        The tree of halvings, level by level: 1 for a halved box, 0 for a leaf.
    centers
        Centres below the goal.
    work
        Points looked at.
    """

    lower: float
    load: float
    bits: Bits
    centers: Floats
    work: float


def price(
    points: Floats,
    weights: Floats,
    u: Floats,
    power: int,
    goal: float,
    max_work: float,
    should_stop: Callable[[], bool] = lambda: False,
    counts: Sequence[Count] = (),
) -> Priced:
    """Bound phi from below over the bounding box of the points (no centre outside is better than one inside).

    Boxes are halved while their bound is below `goal` and the work lasts; a centre below the goal ends it. The last
    multipliers are those of demands: a centre that counts for one gains its multiplier.
    """
    n, width = points.shape
    u, v = u[:n], u[n:]
    clients = kernels.Clients(points, weights, u, power)
    low, high = points.min(axis=0)[None], points.max(axis=0)[None]
    lists, ends = np.arange(n, dtype=np.int32), np.array([n])
    lower, least, load, work = math.inf, -float(u.sum() + v.sum()), float(u.sum() + v.sum()), 0.0
    opened = np.ones(1, dtype=bool)
    bits: list[NDArray[np.bool_]] = []
    regions = _Regions(counts, v, width)
    while (
        len(low)
        and len(bits) < MAX_LEVELS
        and len(lists) <= MAX_ENTRIES
        and work + 4.0 * width * len(lists) <= max_work
        and not should_stop()
    ):
        half, kept = np.empty((2 * len(low), 2 * width + 4)), np.empty(2 * len(lists), np.int32)
        goals = np.where(regions.settled, goal + regions.most, math.inf)
        inside, ends = kernels.halve(clients, kernels.Level(low, high, lists, ends, goals), half, kept)
        bits.append(opened)
        regions.halve(low, half[:, :width])
        opened, bounds = half[:, -1] == 1.0, half[:, 2 * width] - regions.most
        work += 4.0 * width * len(lists) + 30.0 * len(half)
        values = half[:, 2 * width + 2] - regions.most
        below = np.flatnonzero(opened & regions.settled & (values < goal))
        if len(below):
            best = below[np.argsort(values[below], kind="stable")[:50]]
            middle = 0.5 * (half[best, :width] + half[best, width : 2 * width])
            found = inside[best] + INWARD * (middle - inside[best])
            return Priced(-math.inf, load, np.concatenate(bits).astype(np.uint8), found, work)
        load = float(half[:, 2 * width + 1].max() + v.sum()) if len(bits) == 1 else load
        lower = min(lower, float(bounds[~opened].min(initial=math.inf)))
        least = float(bounds[opened].min(initial=math.inf))
        low, high, lists = half[opened, :width], half[opened, width : 2 * width], kept[: ends[-1] if len(ends) else 0]
        regions.keep(opened)
    bits.append(np.zeros(len(opened), dtype=bool))
    return Priced(min(lower, least), load, np.concatenate(bits).astype(np.uint8), np.empty((0, width)), work)


class _Regions:
    """Where the boxes of one level lie relative to the regions of some demands.

    `most` is what a centre in each box gains at most, and `settled` whether every centre in it gains just that.
    """

    def __init__(self, counts: Sequence[Count], v: Floats, width: int) -> None:
        self.counts, self.v = counts, v
        self.low, self.high = np.zeros((1, width)), np.ones((1, width))
        self.most, self.settled = np.zeros(1), np.ones(1, dtype=bool)
        self._look()

    def _look(self) -> None:
        if self.counts:
            self.most, self.settled = prizes(self.counts, self.v, self.low, self.high)

    def halve(self, low: Floats, halves: Floats) -> None:
        """Go on to the halves of all boxes; their lower corners say which side was halved."""
        self.most, self.settled = np.repeat(self.most, 2), np.repeat(self.settled, 2)
        if self.counts:
            second = halves[1::2] != low
            middle = 0.5 * (self.low + self.high)  # exact: shares are multiples of powers of two
            self.low, self.high = np.repeat(self.low, 2, axis=0), np.repeat(self.high, 2, axis=0)
            self.low[1::2] = np.where(second, middle, self.low[1::2])
            self.high[::2] = np.where(second, middle, self.high[::2])
            self._look()

    def keep(self, opened: NDArray[np.bool_]) -> None:
        """Go on with some of the boxes."""
        self.low, self.high = (self.low[opened], self.high[opened]) if self.counts else (self.low, self.high)
        self.most, self.settled = self.most[opened], self.settled[opened]


def descend(
    points: Floats,
    weights: Floats,
    u: Floats,
    starts: Floats,
    power: int,
    should_stop: Callable[[], bool],
    cells: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Return local minima of phi near some starts, and their values; infinite where it was stopped before.

    With `cells` (corners of a box around every start) minima over the cells.
    """
    columns = np.ascontiguousarray(points.T)
    low, high = cells or (np.full(starts.shape, -np.inf), np.full(starts.shape, np.inf))
    centers, values = starts.copy(), np.full(len(starts), np.inf)
    size = max(1, POLLED // len(points))
    for start in range(0, len(starts), size):
        if should_stop():
            break
        part = slice(start, start + size)
        kernels.descend(columns, weights, u, power, DESCENT_STEPS, low[part], high[part], centers[part], values[part])
    return centers, values


def rounded(u: Floats, bits: int) -> Floats:
    """Return u on a power-of-two grid `bits` below its mean, and not negative."""
    mean = float(u.mean())
    if not mean > 0.0:
        return np.zeros_like(u)
    grid = 2.0 ** (math.frexp(mean)[1] - bits)
    return np.maximum(np.round(u / grid), 0.0) * grid


def box_margin(n: int, k: int, width: int, power: int, total: float, load: float) -> float:
    """Return what ``sum(u) + k min phi`` may err by in floating point, four times over.

    A verifier whose last bits differ may take a point for covered everywhere that just is not: hence 2^-43. Tangent
    planes (power 1) add a term per column. Points that are left out because no centre in a box covers them may just be
    covered, each by the error of one distance, for each of k centres.
    """
    wide = 1 if power == 2 else width + 2
    summed = (2.0**-52 * (n + k + width + 16) + 2.0**-43) * (total + wide * k * load)
    return 4.0 * (summed + 2.0**-52 * (width + 8) * k * total)
