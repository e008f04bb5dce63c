"""Descent of k-means in few columns: Lloyd's iteration by blocks of points, until an offspring is seen to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from certiclust.evolution.descent import PASSES, Descent, Floats, Ints, Stopped

if TYPE_CHECKING:
    from certiclust.evolution.kernels.blocks import Blocks
    from certiclust.evolution.kernels.clustering import Clustering, Pace

#: Columns up to which few centres are near a block of points.
COLUMNS = 3
#: Points between two polls: about 2 ms.
PAUSE = 300_000


def descent_of(points: Floats, weights: Floats, k: int, should_stop: Callable[[], bool]) -> Descent:
    """Return the descent that is fastest for points with so many columns."""
    kind = FilteredDescent if points.shape[1] <= COLUMNS else Descent
    return kind(points, weights, k, should_stop)


def tiles(points: Floats, size: int) -> Ints:
    """Return the rows of points in an order such that each `size` of them lie in a small box.

    They are cut into slabs by the first column, these by the next, and so on (sort-tile-recursive: Leutenegger et al.
    1997), each slab with a multiple of `size` points.
    """
    n, d = points.shape
    slab, blocks = np.zeros(n, dtype=np.int64), -(-n // size)
    rank = np.arange(n)
    for t in range(d):
        order = np.lexsort((points[:, t], slab))
        first = np.searchsorted(slab[order], slab[order])
        blocks = int(np.ceil(blocks ** ((d - t - 1) / (d - t))))
        slab[order] = slab[order] * n + (rank - first) // (size * blocks)
        slab = np.unique(slab, return_inverse=True)[1]
    return np.asarray(order, dtype=np.int64)


def blocks_of(points: Floats, weights: Floats) -> Blocks:
    """Return the points in blocks of neighbours."""
    from certiclust.evolution.kernels.blocks import SIZE, Blocks

    order = tiles(points, SIZE)
    filled = np.append(order, np.repeat(order[-1:], -len(order) % SIZE))
    rows = filled.reshape(-1, SIZE)
    heavy = weights[filled]
    heavy[len(order) :] = 0.0
    inside = np.ascontiguousarray(points[rows].transpose(0, 2, 1))
    return Blocks(inside, heavy.reshape(rows.shape), rows, inside.min(axis=2), inside.max(axis=2))


class FilteredDescent(Descent):
    """A descent whose offspring have no labels until they have come near their target."""

    def __init__(self, points: Floats, weights: Floats, k: int, should_stop: Callable[[], bool]) -> None:
        from certiclust.evolution.kernels.blocks import SIZE, Sieve

        super().__init__(points, weights, k, should_stop)
        self._blocked: Blocks | None = None
        self._columns = (0,) * points.shape[1]
        self._sieve = Sieve(
            row=np.zeros(k),
            left=np.zeros(k + 1, np.int64),
            nearest=np.zeros(SIZE, np.int64),
            least=np.zeros(SIZE),
            second=np.zeros(SIZE),
        )

    @property
    def _parts(self) -> Blocks:
        """The points in blocks, made when first asked for."""
        if self._blocked is None:
            self._blocked = blocks_of(*self.cloud)
        return self._blocked

    def vary(self, target: Clustering, source: Clustering) -> None:
        """Copy the centres, which is all that is varied."""
        target.centers[:] = source.centers

    def relocate(self, state: Clustering, slots: Ints, positions: Floats) -> None:
        """Put the centres in `slots` at `positions`; labels, bounds and sums are wrong until a descent."""
        state.centers[slots] = positions

    def assign(self, state: Clustering, centers: Floats) -> None:
        """Make `state` the clustering by nearest of `centers`."""
        state.centers[:] = centers
        self._label(state, self.poll)

    def lloyd(self, state: Clustering, tol: float, passes: int = PASSES) -> float:
        """Run Lloyd's iteration until it gains no more than `tol`; returns the cost. After a stop labels are whole."""
        try:
            return super().lloyd(state, tol, passes)
        except Stopped:
            self._label(state, lambda: None)
            raise

    def _label(self, state: Clustering, poll: Callable[[], None]) -> None:
        """Assign all points to their nearest centres."""
        from certiclust.evolution.kernels.blocks import label

        for part in (state.sums, state.masses, state.sizes):
            part.fill(0)
        count = len(self._parts.low)
        step = max(1, self._block // self._parts.rows.shape[1])
        for start in range(0, count, step):
            poll()
            label(self._parts, self._columns, state, self._desk, self._sieve, start, min(count, start + step))
        self._count()

    def _lloyd(self, state: Clustering, pace: Pace) -> float:
        """Run Lloyd's iteration by blocks; returns the cost. Labels are made only if that may reach the target."""
        cost = self._sift(state, pace)
        if cost > 1e-6 * self.total and cost * (1 - 2 * self._hartigan_gain) >= pace.target:
            return cost
        self.assign(state, state.centers)
        if state.sizes.all():
            return self.cost(state)
        first = self._desk.cost[1]
        cost = super()._lloyd(state, pace)  # gives every centre a point
        self._desk.cost[1] = first
        return cost

    def _sift(self, state: Clustering, pace: Pace) -> float:
        """Run Lloyd's iteration by blocks; returns the cost."""
        from certiclust.evolution.kernels.blocks import sift

        self._desk.progress[:2] = 0
        pause = max(1, PAUSE // self.n)
        while not sift(self._parts, self._columns, state, self._desk, self._sieve, self.total, pace, pause):
            self._count()
            self.poll()
        self._count()
        return float(self._desk.cost[0])
