"""Descent of k-means: Lloyd's iteration and Hartigan's moves on points near the origin, with counted work and polls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

if TYPE_CHECKING:
    from certiclust.evolution.kernels.clustering import Clustering, Pace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Lloyd's iteration ends when a pass gains at most this share of the cost; the last descent of all goes on to the end.
TOL = 1e-5
#: A descent is given up when so many more gains like its last would not reach its target.
HORIZON = 5.0
#: Passes of one run of Lloyd's iteration at most.
PASSES = 100
#: Rounds of Hartigan's moves with Lloyd's iteration after each: of an offspring, and of the last descent of all.
ROUNDS, LAST_ROUNDS = 4, 30
#: Work between two polls: coordinates of distances, about 2 ms.
BLOCK_WORK = 4_000_000
#: Work of visiting a point whose bounds show that it stays.
VISIT = 6
#: Points whose bounds are looked at together.
CHUNK = 2048
#: Relative difference of two costs that may be rounding.
ROUNDING = 1e-9


class Stopped(Exception):  # noqa: N818 - not an error: the search was asked to end
    """Raised where a poll said stop: the clustering at hand is not usable, older ones are."""


@dataclass(frozen=True)
class Frame:
    """Where points were moved from: inside = (outside - origin) / unit, with a power of two as the unit."""

    origin: Floats
    shift: Floats
    unit: float

    def outside(self, inside: Floats) -> Floats:
        """Return points in the user's coordinates."""
        return self.origin + (self.shift + inside * self.unit)


def centred(points: Floats, weights: Floats) -> tuple[Floats, Frame]:
    """Return the points moved to their mean and scaled to size about 1, and the way back.

    The first row is subtracted before anything is summed: at an offset of 1e8 a mean of the rows themselves would lose
    half of the digits.
    """
    inside = np.subtract(points, points[0], dtype=np.float64)  # the only copy: rows of float32 stay what they are
    spread = float(np.abs(inside).max(initial=0.0))
    unit = 2.0 ** np.frexp(spread)[1] if spread > 0 else 1.0
    inside /= unit
    shift = (weights / weights.sum()) @ inside
    inside -= shift
    return inside, Frame(points[0].astype(np.float64), shift * unit, float(unit))


class Descent:
    """Clusterings of one set of points into k, and how to make them better.

    Parameters
    ----------
    points, weights
        Points near the origin, C-contiguous, and their positive weights.
    k
        Number of clusters.
    should_stop
        Polled every few milliseconds; `Stopped` is raised where it says so.
    """

    def __init__(self, points: Floats, weights: Floats, k: int, should_stop: Callable[[], bool]) -> None:
        from certiclust.evolution.kernels.clustering import Cloud, Workspace

        d = points.shape[1]
        self.k, self.should_stop = k, should_stop
        self.cloud = Cloud(points, weights)
        self.norms: Floats = np.einsum("ij,ij->i", points, points)
        #: Sum of squares: the cost of a clustering is this minus the sum of |S_j|^2 / N_j.
        self.total = float(weights @ self.norms)
        #: Coordinates of distances looked at so far: about half a nanosecond each.
        self.work = 0.0
        #: Cost before the first pass of the last descent.
        self._first = np.inf
        #: Relative gain that Hartigan's moves lately had.
        self._hartigan_gain = 1e-3
        self._block = max(64, BLOCK_WORK // (k * d + VISIT))
        self._desk = Workspace(
            drift=np.zeros(k),
            reach=np.zeros(k),
            half=np.zeros(k),
            near=np.zeros(k),
            slow=np.zeros(k),
            outside=np.zeros(k),
            between=np.zeros((k, k)),
            columns=np.zeros((d, k)),
            row=np.zeros(k),
            way=np.zeros((k, d)),
            suspect=np.zeros(CHUNK, np.bool_),
            rows=np.zeros(CHUNK, np.int64),
            fast=np.zeros(k, np.int64),
            progress=np.zeros(7, np.int64),
            cost=np.zeros(2),
        )

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.cloud.points)

    def empty(self) -> Clustering:
        """Return memory for a clustering."""
        from certiclust.evolution.kernels.clustering import Clustering

        k, d, n = self.k, self.cloud.points.shape[1], self.n
        return Clustering(
            centers=np.empty((k, d)),
            labels=np.empty(n, np.int32),
            upper=np.empty(n),
            lower=np.empty(n),
            sums=np.zeros((k, d)),
            masses=np.zeros(k),
            sizes=np.zeros(k, np.int64),
        )

    def poll(self) -> None:
        """Raise `Stopped` if the search shall end."""
        if self.should_stop():
            raise Stopped

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of points, with a poll before each."""
        for start in range(0, self.n, self._block):
            self.poll()
            yield start, min(self.n, start + self._block)

    def assign(self, state: Clustering, centers: Floats) -> None:
        """Make `state` the clustering by nearest of `centers`."""
        from certiclust.evolution.kernels import lloyd as kernels

        state.centers[:] = centers
        for part in (state.sums, state.masses, state.sizes):
            part.fill(0)
        for start, stop in self._blocks():
            kernels.assign(self.cloud, state, self._desk, start, stop)
        self.work += self.n * self.k * (self.cloud.points.shape[1] + 1)

    def vary(self, target: Clustering, source: Clustering) -> None:
        """Make `target` a copy of `source`, for `relocate`."""
        copy_clustering(target, source)

    def relocate(self, state: Clustering, slots: Ints, positions: Floats) -> None:
        """Put the centres in `slots` at `positions`, and repair labels, bounds and sums."""
        from certiclust.evolution.kernels import lloyd as kernels

        state.centers[slots] = positions
        moved = np.zeros(self.k, dtype=np.bool_)
        moved[slots] = True
        for start, stop in self._blocks():
            kernels.relocate(self.cloud, state, self._desk, slots, moved, start, stop)
        self._count(self.n)

    def improve(self, state: Clustering, target: float = np.inf, tol: float = TOL) -> float:
        """Run Lloyd's iteration, then rounds of Hartigan's moves while they pay and can reach the target.

        Returns the cost. It is never above that of the clustering by nearest centre at the start, if that is below the
        target: should going ahead of the means have lost it, the descent is made once more without.
        """
        origin = state.centers.copy()
        cost = self._descend(state, _pace(tol, target))
        if self._first < min(target, cost * (1 - ROUNDING)):
            self.assign(state, origin)
            cost = self._descend(state, _pace(tol, target, ahead=False))
        return cost

    def _descend(self, state: Clustering, pace: Pace) -> float:
        """Run Lloyd's iteration and rounds of Hartigan's moves; returns the cost.

        Rounds gain less and less, so an offspring gets few of them; with ``tol=0`` there are more.
        """
        cost = first = self._lloyd(state, pace)
        self._first = float(self._desk.cost[1])
        for _ in range(ROUNDS if pace.tol > 0 else LAST_ROUNDS):
            if cost * (1 - 2 * self._hartigan_gain) >= pace.target:
                return cost
            gain = self._hartigan(state)
            moved = self._desk.progress[5] > 0
            if moved:
                cost = self._lloyd(state, pace)
            if not moved or gain <= pace.tol * cost:
                break
        lately = 1 - cost / first if first > 0 else 0.0
        self._hartigan_gain = max(0.9 * self._hartigan_gain, lately, 1e-7)
        return cost

    def lloyd(self, state: Clustering, tol: float, passes: int = PASSES) -> float:
        """Run Lloyd's iteration until it gains no more than `tol`; returns the cost."""
        return self._lloyd(state, _pace(tol, passes=passes))

    def _lloyd(self, state: Clustering, pace: Pace) -> float:
        """Run Lloyd's iteration; returns the cost."""
        from certiclust.evolution.kernels.lloyd import lloyd

        self._desk.progress[:2] = 0
        while not lloyd(self.cloud, state, self._desk, self.total, pace, self._block):
            self._count()
            self.poll()
        self._count()
        return self.cost(state)

    def _hartigan(self, state: Clustering) -> float:
        """Make one pass of Hartigan's moves; returns the gain."""
        from certiclust.evolution.kernels.hartigan import hartigan

        gain, self._desk.progress[5] = 0.0, 0
        for start, stop in self._blocks():
            gain += hartigan(self.cloud, state, self._desk, start, stop)
        self._count(self.n)
        return gain

    def cost(self, state: Clustering) -> float:
        """Return the cost of a clustering with its centres at the means.

        The quick formula subtracts two numbers of the size of the total sum of squares; where they are nearly equal
        the squares are summed instead.
        """
        cost = float(self._desk.cost[0])
        if cost > 1e-6 * self.total:
            return cost
        return self.direct_cost(state)

    def direct_cost(self, state: Clustering) -> float:
        """Return the weighted sum of the squared distances of all points to the means of their clusters."""
        points, cost = self.cloud.points, 0.0
        means = state.sums / np.maximum(state.masses, np.finfo(float).tiny)[:, None]
        for start in range(0, self.n, 100_000):
            part = slice(start, start + 100_000)
            away = points[part] - means[state.labels[part]]
            cost += float(self.cloud.weights[part] @ np.einsum("ij,ij->i", away, away))
        self.work += self.n * points.shape[1]
        return cost

    def seed(self, rng: np.random.Generator) -> Floats:
        """Return k points drawn as in greedy k-means++ (Arthur & Vassilvitskii): best of 2 + log k by D^2 each time."""
        points, weights = self.cloud
        chosen = [draw(np.cumsum(weights), rng.random(1))[0]]
        nearest = cdist(points[chosen], points, "sqeuclidean")[0]
        tries = 2 + int(np.log(self.k))
        for _ in range(1, self.k):
            self.poll()
            rows = draw(np.cumsum(weights * nearest), rng.random(tries))
            squares = np.minimum(cdist(points[rows], points, "sqeuclidean"), nearest)
            best = int(np.argmin(squares @ weights))
            chosen.append(rows[best])
            nearest = squares[best]
            self.work += 2 * squares.size * points.shape[1]
        return points[chosen]

    def _count(self, visits: int = 0) -> None:
        """Add what the kernels did since the last count."""
        progress = self._desk.progress
        self.work += progress[3] * (self.cloud.points.shape[1] + 1) + VISIT * (progress[4] + visits)
        progress[3:5] = 0


def _pace(tol: float, target: float = np.inf, passes: int = PASSES, ahead: bool = True) -> Pace:
    """Return how Lloyd's iteration goes."""
    from certiclust.evolution.kernels.clustering import Pace

    return Pace(passes, tol, target, HORIZON, ahead)


def copy_clustering(target: Clustering, source: Clustering) -> None:
    """Copy a clustering with its bounds."""
    for name in source._fields:
        np.copyto(getattr(target, name), getattr(source, name))


def draw(shares: Floats, uniforms: Floats) -> Ints:
    """Return indices drawn with probability as the steps of cumulated shares."""
    found = np.searchsorted(shares, uniforms * shares[-1], side="right")
    return np.asarray(np.minimum(found, len(shares) - 1), dtype=np.int64)
