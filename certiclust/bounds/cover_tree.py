"""A branch tree that proves that k columns cannot cover all rows, with integer weights on every leaf.

A node splits on a set R of columns, those that cover both of two rows: either some column of R is chosen (R becomes one
more row) or none is (R is closed). Both sides change the relaxation much, unlike fixing a single column, which has
near copies (Ryan & Foster, 1981). Joint rows of triples (odd_rows.py) hold at every node. Every node keeps the weights
y of its relaxation as integers: if what their rows need sums to more than the k heaviest live columns hold, the node is
done with; otherwise every column j is closed for which the sum without j exceeds what k - 1 columns hold, because with
j the rest could not be covered. `certificates/cover.py` replays exactly this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.cover_program import CoverProgram
from certiclust.bounds.packing import NO_TRIPLES, heaviest, whole
from certiclust.space.cover import Cover, Floats, Ints

Mask = NDArray[np.bool_]

#: Pairs of rows tried before a split, and simplex iterations of a try.
PROBES, PROBE_ITERATIONS = 4, 40
#: A pair of rows whose common columns have a share nearer than this to 0 or 1 is not worth a split.
LEAST_SHARE = 1e-3


class Split(NamedTuple):
    """What a node splits on: two rows, or (`second` = `SINGLE`) a single column `first`."""

    first: int
    second: int


#: No row has this number.
SINGLE = -(2**40)


@dataclass
class Node:
    """A node of the recorded tree; `side` is +1 where a column of the parent's split is chosen, -1 where none is.

    Rows are numbered as in the linear program: from 0 on those of the cover problem and the triples, and -1, -2, ...
    the sets of the +1 sides on the way here.
    """

    parent: int
    side: int
    split: Split | None = None
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    y: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


class _Open(NamedTuple):
    """A node to be worked on: the sets on its way, what is closed, and the basis to start from."""

    number: int
    path: tuple[Mask, ...]
    closed: Mask
    basis: Any


class CoverTree:
    """The tree for one cover problem.

    Parameters
    ----------
    cover : Cover
        The problem.
    k : int
        Number of columns that must not suffice.
    rows : ndarray
        Rows to start with; the others are entered when they are violated.
    should_stop, seconds : callable
        Polled between linear programs; seconds left, for HiGHS's own limit.
    triples : ndarray, default none
        Triples of rows to start with.
    """

    def __init__(
        self,
        cover: Cover,
        k: int,
        rows: Ints,
        should_stop: Callable[[], bool],
        seconds: Callable[[], float],
        triples: Ints = NO_TRIPLES,
    ) -> None:
        self.cover, self.k = cover, k
        self.nodes = [Node(-1, 0)]
        #: Columns that cover every row, if the relaxation happened to find some.
        self.found: Ints | None = None
        self._should_stop = should_stop
        self._program = CoverProgram(cover, k, rows, triples, should_stop, seconds)
        self._inside = self._program.inside
        self._pair_work = 0.0
        self._stack = [_Open(0, (), np.zeros(cover.columns.size, dtype=bool), None)]

    @property
    def work(self) -> float:
        """Work done, of about 5 ns."""
        return self._program.work + self._pair_work

    @property
    def finished(self) -> bool:
        """Whether every leaf is closed: the proof is complete."""
        return not self._stack and self.found is None

    @property
    def leaves(self) -> int:
        """Number of nodes without children."""
        return sum(node.split is None for node in self.nodes)

    def run(self, work: float) -> bool:
        """Branch until the proof is complete (True), a cover is found, or about `work` is done (False)."""
        self._program.most_work = work
        while self._stack and self.found is None and self.work < work and not self._should_stop():
            self._process(self._stack.pop())
        return self.finished

    def _process(self, here: _Open) -> None:
        """Bound a node; split it unless that closes it."""
        stuck = self._stuck_row(here)
        if stuck is not None:
            self._record(here, np.array([stuck]), np.array([1], dtype=np.int64))
            return
        program = self._program
        program.move(here.path, here.closed)
        if here.basis is not None and here.basis.valid:
            program.restore(here.basis)
        x, y = program.relax()
        if here.number == 0:
            x, y = program.strengthen(x, y)
        closed = self._close(here, y)
        if closed is None:
            return
        chosen = np.flatnonzero(x > 1e-6)
        if np.all(x[chosen] > 1 - 1e-6) and chosen.size <= self.k and self._inside[:, chosen].any(axis=1).all():
            self.found = chosen
            return
        if self._program.ended:
            self._stack.append(here)
            return
        self._branch(here._replace(closed=closed), x, y)

    def _stuck_row(self, here: _Open) -> int | None:
        """Return a row all of whose columns are closed, if there is one."""
        live = ~here.closed
        for depth, members in enumerate(here.path):
            if not np.any(members & live):
                return -1 - depth
        alone = np.flatnonzero(~self._inside[:, live].any(axis=1))
        return int(alone[0]) if alone.size else None

    def _close(self, here: _Open, y: Floats) -> Mask | None:
        """Record the weights of a node and return the columns closed by them; None if the node itself is."""
        weights = whole(y)
        at = np.flatnonzero(weights)
        size = self._program.need.size
        need = np.append(self._program.need, np.ones(len(here.path)))[at]
        rows = np.where(at < size, at, size - 1 - at)
        loads = weights[at].astype(np.float64) @ self._counts(here.path, rows)
        loads[here.closed] = 0.0
        total = float(weights[at] @ need)
        self._record(here, rows, weights[at])
        if total > heaviest(loads, self.k):
            return None
        return np.asarray(here.closed | (loads < total - heaviest(loads, self.k - 1)))

    def _counts(self, path: tuple[Mask, ...], rows: Ints) -> NDArray[np.int8]:
        """Return how often some rows count each column, those of the path included."""
        parts = [self._program.counts[rows[rows >= 0]], *(path[-1 - r][None] for r in rows[rows < 0])]
        return np.concatenate(parts)

    def _record(self, here: _Open, rows: Ints, y: Ints) -> None:
        self.nodes[here.number].rows, self.nodes[here.number].y = rows, y

    def _branch(self, here: _Open, x: Floats, y: Floats) -> None:
        """Split a node on the pair of rows that lifts both sides most, by short tries."""
        import highspy

        self._program.move(here.path, here.closed)
        basis = self._program.basis
        longer = highspy.HighsBasis()
        longer.col_status = basis.col_status
        longer.row_status = [*basis.row_status, highspy.HighsBasisStatus.kBasic]
        longer.valid = basis.valid
        here = here._replace(basis=basis)
        best, best_score, chosen = None, -1.0, here.closed
        value = self._program.value(y)
        for split in self._pairs(here, x, y):
            members = self._split_set(here, split)
            gains = [self._try_side(here, longer, members, side) - value for side in (-1, 1)]
            score = max(gains[0], 1e-4) * max(gains[1], 1e-4)
            if score > best_score:
                best, best_score, chosen = split, score, members
        if best is None:
            fractional = np.where((x > 1e-6) & ~here.closed, np.abs(x - 0.5), np.inf)
            best = Split(int(np.argmin(fractional)), SINGLE)
            chosen = self._split_set(here, best)
        self.nodes[here.number].split = best
        for side in (-1, 1):
            number = len(self.nodes)
            self.nodes.append(Node(here.number, side))
            if side < 0:
                self._stack.append(_Open(number, here.path, here.closed | chosen, basis))
            else:
                self._stack.append(_Open(number, (*here.path, chosen), here.closed, longer))

    def _pairs(self, here: _Open, x: Floats, y: Floats) -> list[Split]:
        """Return pairs of rows, triples left out, whose common columns have a share near a half."""
        size, used = self._program.need.size, np.flatnonzero(x > 1e-6)
        weighed = self._weighed(y)
        rows = np.concatenate([np.flatnonzero(weighed), -1 - np.flatnonzero(y[size:] > 1e-6)])
        members = self._counts(here.path, rows)[:, used].astype(np.float64)
        common = (members * x[used]) @ members.T
        first, second = np.triu_indices(rows.size, 1)
        share = np.minimum(common[first, second], 1.0 - common[first, second])
        order = np.argsort(-share, kind="stable")[:PROBES]
        self._pair_work += 10.0 * members.size + 5.0 * share.size
        return [Split(int(rows[first[t]]), int(rows[second[t]])) for t in order if share[t] >= LEAST_SHARE]

    def _weighed(self, y: Floats) -> Mask:
        """Return which rows of the cover problem have weight, by themselves or in a triple."""
        n_rows, program = len(self._inside), self._program
        weighed = y[:n_rows] > 1e-6
        weighed[program.triples[y[n_rows : program.need.size] > 1e-6]] = True
        return weighed

    def _split_set(self, here: _Open, split: Split) -> Mask:
        """Return the live columns that a split is about."""
        if split.second == SINGLE:
            single = np.zeros(here.closed.size, dtype=bool)
            single[split.first] = True
            return single
        members = self._counts(here.path, np.array(sorted(split, reverse=True))) > 0
        return np.asarray(members[0] & members[1] & ~here.closed)

    def _try_side(self, here: _Open, longer: Any, members: Mask, side: int) -> float:
        """Return how far a few iterations lift one side of a split, at most to where it is closed."""
        program = self._program
        if side < 0:
            program.move(here.path, here.closed | members)
        else:
            program.move((*here.path, members), here.closed)
            program.restore(longer)
        value = program.solve(PROBE_ITERATIONS)
        program.move(here.path, here.closed)
        program.restore(here.basis)
        return min(value, self.k + 0.01)

    def packed(self, threshold: float) -> dict[str, object]:
        """Return the proof as plain arrays: only the clients and triples that it uses, and all columns."""
        n_rows, all_triples = self.cover.clients.size, self._program.triples
        pairs = [node.split for node in self.nodes if node.split is not None and node.split.second != SINGLE]
        split_on = np.array(pairs, dtype=np.int64).ravel()
        named = np.unique(np.concatenate([*(node.rows for node in self.nodes), split_on]))
        triples = all_triples[named[named >= n_rows] - n_rows]
        used = np.unique(np.concatenate([named[(named >= 0) & (named < n_rows)], triples.ravel()]))
        place = np.zeros(n_rows + len(all_triples), dtype=np.int64)
        place[used] = np.arange(used.size)
        place[named[named >= n_rows]] = used.size + np.arange(len(triples))

        def placed(row: int) -> int:
            return int(place[row]) if row >= 0 else used.size + len(triples) - 1 - row

        splits = [node.split or Split(-1, SINGLE) for node in self.nodes]
        return {
            "proof": "tree",
            "threshold": threshold,
            "clients": self.cover.clients[used],
            "columns": self.cover.columns,
            "triples": place[triples].ravel(),
            "parent": np.array([node.parent for node in self.nodes]),
            "side": np.array([node.side for node in self.nodes]),
            "first": np.array([s.first if s.second == SINGLE else placed(s.first) for s in splits]),
            "second": np.array([-1 if s.second == SINGLE else placed(s.second) for s in splits]),
            "y_end": np.cumsum([node.rows.size for node in self.nodes]),
            "y_row": np.array([placed(row) for node in self.nodes for row in node.rows.tolist()], dtype=np.int64),
            "y": np.concatenate([node.y for node in self.nodes]),
        }
