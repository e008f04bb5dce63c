"""Search for partitions of small diameter: colourings of the graph {d >= t}, one threshold t at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from certiclust.space.kernels import Rows

Labels = NDArray[np.int32]
IntArray = NDArray[np.intp]

#: Distances read between two polls of ``should_stop`` (about 20 ms).
BLOCK = 10_000_000
#: Distances computed on the fly may differ from those of SciPy by so much.
SLACK = 1e-9


class Recolouring:
    """Tabu search over partial colourings.

    Work is counted in distances read, never by the clock, so a run depends on its seed alone.

    Parameters
    ----------
    rows
        Distances of the points, held or computed on the fly.
    n, k
        Number of points and of colours.
    seed
        Seed of all random decisions.
    should_stop
        Polled between blocks of about 20 ms.

    Attributes
    ----------
    work : float
        Distances read so far.
    steps : int
        Steps made so far.
    hard : ndarray of shape (n,)
        How often each point had to give up its colour.
    pending : ndarray
        The points left without a colour by the last search.
    """

    def __init__(self, rows: Rows, n: int, k: int, seed: int, should_stop: Callable[[], bool]) -> None:
        from certiclust.evolution.kernels.recolour import Board
        from certiclust.evolution.kernels.rng import seeded

        self.rows, self.k, self.should_stop = rows, k, should_stop
        self.work = 0.0
        self.steps = 0
        self._state = seeded(seed)
        self._board = Board(
            labels=np.full(n, -1, dtype=np.int32),
            pending=np.zeros(n, dtype=np.int64),
            free=np.zeros(1, dtype=np.int64),
            clashes=np.zeros((n, k), dtype=np.int64),
            until=np.zeros((n, k), dtype=np.int32),
            hard=np.zeros(n, dtype=np.int64),
            weight=np.ones(n, dtype=np.int64),
            kicked=np.zeros(n, dtype=np.int64),
            buffer=np.empty(n),
        )

    @property
    def hard(self) -> NDArray[np.int64]:
        """How often each point had to give up its colour."""
        return self._board.hard

    @property
    def pending(self) -> IntArray:
        """The points without a colour, ascending."""
        return np.sort(self._board.pending[: self._board.free[0]]).astype(np.intp)

    @property
    def partial(self) -> Labels:
        """The partial colouring at the end of the last search, -1 for points without a colour."""
        return self._board.labels.copy()

    def search(
        self, labels: Labels, threshold: float, budget: float, reach: NDArray[np.float64] | None = None
    ) -> Labels | None:
        """Return a partition whose clusters have diameters below `threshold`, or None if none was found.

        Parameters
        ----------
        labels : ndarray of shape (n,)
            Where to start; -1 for points without a label.
        threshold : float
            Two points at least this far apart get different labels.
        budget : float
            Distances to read.
        reach : ndarray of shape (n,) or None
            Largest distance of each point to one of the same label, if known: it says who is in conflict at all.
        """
        from certiclust.evolution.kernels import recolour as kernels

        board, n = self._board, labels.size
        board.labels[:] = labels
        board.until[:] = 0
        board.weight[:] = 1
        order = np.argsort(labels, kind="stable").astype(np.int64)
        if reach is not None:
            order = order[reach[order] >= threshold * (1 - SLACK)]
        starts = np.searchsorted(labels[order], np.arange(self.k + 1)).astype(np.int64)
        end = self.work + budget
        self.work += kernels.uncolour(self.rows, board.labels, order, starts, threshold)
        board.free[0] = 0
        for count, i in enumerate(np.flatnonzero(board.labels < 0)):
            if count % max(1, BLOCK // n) == 0 and self.should_stop():
                return None
            kernels.enlist(self.rows, board, i, threshold)
        self.work += n * float(board.free[0])
        clock = np.array([0, board.free[0]], dtype=np.int64)
        while board.free[0] > 0 and self.work < end and not self.should_stop():
            block = max(1, int(min(BLOCK, end - self.work)) // (2 * n + 64 * self.k))
            self.work += kernels.recolour(self.rows, board, threshold, clock, block, self._state)
        self.steps += int(clock[0])
        return board.labels.copy() if board.free[0] == 0 else None
