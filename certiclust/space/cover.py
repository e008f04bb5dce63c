"""The cover problem behind k-center: which candidates are nearer to a client than a threshold.

The optimal radius is at least t exactly if no k candidates cover all clients when a candidate covers the clients
*strictly* nearer than t. Every radius is one of the distances, so nothing is lost between two of them, and no tolerance
is needed: distances are compared as they are stored. Fewer clients are easier to cover, so a proof that works with a
part of the clients (but with all candidates) is a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from certiclust.space.space import Space

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.int32]

#: Distances computed at a time where no matrix is held.
BLOCK = 4_000_000
#: Rows and columns are reduced in turn until nothing changes, but not more often than this.
ROUNDS = 4


class Sets(NamedTuple):
    """Sets as compressed lists: set a holds ``member[start[a]:start[a + 1]]``, ascending, below `universe`."""

    start: Ints
    member: Indices
    universe: int

    @property
    def number(self) -> int:
        """Number of sets."""
        return self.start.size - 1

    @property
    def sizes(self) -> Ints:
        """Size of each set."""
        return np.diff(self.start)

    def matrix(self) -> csr_array:
        """Return the incidence matrix, one row per set."""
        ones = np.ones(self.member.size, dtype=np.int8)
        return csr_array((ones, self.member, self.start), shape=(self.number, self.universe))

    def transposed(self) -> Sets:
        """Return, for each element, the sets that hold it."""
        return sets_of(self.matrix().T.tocsr())

    def chosen(self, which: Ints) -> Sets:
        """Return some of the sets, in the given order."""
        return sets_of(self.matrix()[which])


def sets_of(matrix: csr_array) -> Sets:
    """Return the rows of an incidence matrix as sets."""
    matrix.sort_indices()
    return Sets(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), int(matrix.shape[1]))


class Cover(NamedTuple):
    """A cover problem without dominated rows and columns.

    Attributes
    ----------
    clients : ndarray
        Clients by their number in the space.
    columns : ndarray
        Candidates by their number in the space.
    by_client, by_column : Sets
        For each client the positions of the columns that cover it, and the other way round.
    """

    clients: Ints
    columns: Ints
    by_client: Sets
    by_column: Sets


def maximal(sets: Sets, forced: Ints | None = None) -> Ints:
    """Return the sets that no other contains (one of equal ones), and those that are `forced` to stay."""
    from certiclust.space.cover_kernels import mark_maximal

    keep = np.zeros(sets.number, dtype=np.bool_)
    if forced is not None:
        keep[forced] = True
    order = np.argsort(-sets.sizes, kind="stable")
    mark_maximal(sets.start, sets.member, sets.universe, order, keep)
    return np.flatnonzero(keep)


def minimal(sets: Sets) -> Ints:
    """Return the sets that contain no other (one of equal ones)."""
    from certiclust.space.cover_kernels import mark_minimal

    keep = np.zeros(sets.number, dtype=np.bool_)
    mark_minimal(sets.start, sets.member, sets.universe, np.argsort(sets.sizes, kind="stable"), keep)
    return np.flatnonzero(keep)


def reduced_cover(clients: Ints, by_client: Sets) -> Cover:
    """Return a cover problem without dominated rows and columns.

    Parameters
    ----------
    clients : ndarray
        Clients by their number in the space.
    by_client : Sets
        For each of them the candidates that cover it.
    """
    by_column = by_client.transposed()
    columns = maximal(by_column)
    by_column = by_column.chosen(columns)
    by_client = by_column.transposed()
    rows = np.arange(clients.size)
    for _ in range(ROUNDS):
        fewer = minimal(by_client)
        by_column = by_client.chosen(fewer).transposed()
        kept = maximal(by_column)
        done = fewer.size == rows.size and kept.size == columns.size
        rows, columns, by_column = rows[fewer], columns[kept], by_column.chosen(kept)
        by_client = by_column.transposed()
        if done:
            break
    return Cover(clients[rows], columns, by_client, by_column)


class ClientLists:
    """A growing working set of clients, each with all candidates nearer than a limit.

    Parameters
    ----------
    space : Space
        Where the distances come from.
    clients : ndarray
        The first clients.
    limit : float
        Entries at this distance or beyond are not kept: thresholds above it cannot be asked about.
    pool : ndarray or None, default=None
        The candidates to be looked at, ascending; None for all. A search may do with some, a proof may not.
    should_stop : callable, default never
        Polled while clients are added: those that are left then stay outside.
    """

    def __init__(
        self,
        space: Space,
        clients: Ints,
        limit: float,
        pool: Ints | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.space, self.limit, self.pool, self._should_stop = space, limit, pool, should_stop
        self.clients: Ints = np.zeros(0, dtype=np.int64)
        self.start: Ints = np.zeros(1, dtype=np.int64)
        self.candidate: Indices = np.zeros(0, dtype=np.int32)
        self.distance: Floats = np.zeros(0)
        #: Where in the working set each client of the space is, -1 for those outside.
        self.place: Ints = np.full(space.n, -1, dtype=np.int64)
        self.add(clients)

    @property
    def complete(self) -> bool:
        """Whether every client is in the working set."""
        return self.clients.size == self.space.n

    def add(self, clients: Ints) -> int:
        """Add clients that are not there yet; returns how many that were."""
        fresh = np.asarray(clients, dtype=np.int64)
        fresh = fresh[self.place[fresh] < 0]
        _, first = np.unique(fresh, return_index=True)
        fresh = fresh[np.sort(first)]
        starts, candidates, distances = [self.start], [self.candidate], [self.distance]
        step = max(1, BLOCK // (self.space.m if self.pool is None else self.pool.size))
        for begin in range(0, fresh.size, step):
            rows = client_rows(self.space, fresh[begin : begin + step], self.pool)
            near = rows < self.limit
            starts.append(starts[-1][-1] + np.cumsum(np.count_nonzero(near, axis=1)))
            found = np.nonzero(near)[1]
            candidates.append((found if self.pool is None else self.pool[found]).astype(np.int32))
            distances.append(rows[near])
            if self._should_stop():
                fresh = fresh[: begin + step]
                break
        self.start, self.candidate = np.concatenate(starts), np.concatenate(candidates)
        self.distance = np.concatenate(distances)
        self.place[fresh] = self.clients.size + np.arange(fresh.size)
        self.clients = np.concatenate([self.clients, fresh])
        return int(fresh.size)

    def shrink(self, limit: float) -> None:
        """Forget entries at `limit` or beyond, where that saves a tenth."""
        if limit < 0.9 * self.limit:
            near = self.distance < limit
            self.start = np.concatenate([[0], np.cumsum(near)])[self.start]
            self.candidate, self.distance, self.limit = self.candidate[near], self.distance[near], limit

    def within(self, threshold: float) -> Sets:
        """Return, for each client of the working set, the candidates strictly nearer than a threshold."""
        near = self.distance < threshold
        start = np.concatenate([[0], np.cumsum(near)])[self.start]
        return Sets(start, self.candidate[near], self.space.m)

    def columns(self, threshold: float, forced: Ints | None = None) -> tuple[Ints, Sets, Sets]:
        """Return the undominated candidates with the cover lists by client and by column."""
        by_column = self.within(threshold).transposed()
        kept = maximal(by_column, forced)
        by_column = by_column.chosen(kept)
        return kept, by_column.transposed(), by_column

    def reduced(self, threshold: float) -> Cover:
        """Return the cover problem at a threshold, dominated rows and columns removed."""
        return reduced_cover(self.clients, self.within(threshold))

    def gap_below(self, value: float, relative: float, absolute: float) -> float:
        """Return a threshold just below `value` with no distance of the working set within the margin of it.

        Whoever computes the same distances with another rounding, up to that margin, then finds the same ones below it.
        """
        if relative == absolute == 0.0:
            return value
        threshold = value * (1 - relative) - absolute
        while True:
            low = threshold * (1 - relative) - absolute
            close = self.distance[(self.distance >= low) & (self.distance <= threshold * (1 + relative) + absolute)]
            close = close[close < value]
            if close.size == 0:
                return threshold
            value = float(close.min())
            threshold = value * (1 - relative) - absolute

    def values(self, low: float, high: float) -> Floats:
        """Return the distinct distances of the working set strictly between two numbers, ascending."""
        return np.unique(self.distance[(self.distance > low) & (self.distance < high)])


def client_rows(space: Space, clients: Ints, pool: Ints | None = None) -> Floats:
    """Return the distances of some clients, one row for each, to all candidates or to a pool of them."""
    if space.matrix is not None:
        held = space.matrix if pool is None else space.matrix[pool]
        return np.ascontiguousarray(held[:, clients].T)
    sites = space.candidates if pool is None else space.candidates[pool]
    return np.ascontiguousarray(space.metric.block(sites, space.points[clients]).T)
