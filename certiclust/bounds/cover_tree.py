"""A branch tree that proves that k columns cannot cover all rows, with integer weights on every leaf.

A node splits on a set R of columns, those that cover both of two rows: either some column of R is chosen (R becomes one
more row) or none is (R is closed). Both sides change the relaxation much, unlike fixing a single column, which has
near copies (Ryan & Foster, 1981). Every node keeps the weights y of its relaxation as integers: if they sum to more
than the k heaviest live columns hold, the node is done with; otherwise every column j is closed for which
sum(y) - y(j) exceeds what k - 1 columns hold, because with j the rest could not be covered. `certificates/cover.py`
replays exactly this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.packing import heaviest, new_highs, pass_cover, whole
from certiclust.space.cover import Cover, Floats, Ints

Mask = NDArray[np.bool_]

#: Pairs of rows tried before a split, and simplex iterations of a try.
PROBES, PROBE_ITERATIONS = 8, 40
#: A pair of rows whose common columns have a share nearer than this to 0 or 1 is not worth a split.
LEAST_SHARE = 1e-3
#: Rows entered at a time, those most violated first.
ROWS_AT_A_TIME = 30
#: Work (of about 5 ns) of a linear program: a constant, and so much per iteration and row, or square of rows.
LP_WORK, ROW_WORK, SQUARE_WORK = 5e5, 70.0, 0.07


class Split(NamedTuple):
    """What a node splits on: two rows, or (`second` = -1) a single column `first`."""

    first: int
    second: int


@dataclass
class Node:
    """A node of the recorded tree; `side` is +1 where a column of the parent's split is chosen, -1 where none is.

    Rows are numbered as in the cover problem; from its number of rows on, the sets of the +1 sides on the way here.
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
    """

    def __init__(
        self,
        cover: Cover,
        k: int,
        rows: Ints,
        should_stop: Callable[[], bool],
        seconds: Callable[[], float],
    ) -> None:
        self.cover, self.k = cover, k
        self.nodes = [Node(-1, 0)]
        self.work = 0.0
        #: Columns that cover every row, if the relaxation happened to find some.
        self.found: Ints | None = None
        self._inside = cover.by_client.matrix().toarray().astype(bool)
        self._should_stop, self._seconds = should_stop, seconds
        self._entered = rows.tolist()
        self._path: tuple[Mask, ...] = ()
        self._closed = np.zeros(cover.columns.size, dtype=bool)
        self._solver = new_highs(seconds(), solver="simplex", objective_bound=k + 1e-3)
        pass_cover(self._solver, cover, rows)
        self._stack = [_Open(0, (), self._closed.copy(), None)]

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
        while self._stack and self.found is None and self.work < work and not self._should_stop():
            self._process(self._stack.pop())
        return self.finished

    def _process(self, here: _Open) -> None:
        """Bound a node; split it unless that closes it."""
        stuck = self._stuck_row(here)
        if stuck >= 0:
            self._record(here, np.array([stuck]), np.array([1], dtype=np.int64))
            return
        self._move(here.path, here.closed)
        if here.basis is not None and here.basis.valid:
            self._restore(here.basis)
        x, y = self._relax(here)
        closed = self._close(here, y)
        if closed is None:
            return
        chosen = np.flatnonzero(x > 1e-6)
        if np.all(x[chosen] > 1 - 1e-6) and chosen.size <= self.k and self._inside[:, chosen].any(axis=1).all():
            self.found = chosen
            return
        if self._should_stop():
            self._stack.append(here)
            return
        self._branch(here._replace(closed=closed), x, y)

    def _stuck_row(self, here: _Open) -> int:
        """Return a row all of whose columns are closed, -1 if there is none."""
        live = ~here.closed
        for depth, members in enumerate(here.path):
            if not np.any(members & live):
                return self.cover.clients.size + depth
        alone = np.flatnonzero(~self._inside[:, live].any(axis=1))
        return int(alone[0]) if alone.size else -1

    def _relax(self, here: _Open) -> tuple[Floats, Floats]:
        """Solve the relaxation of a node, entering violated rows; returns x, and y by row and then by path."""
        while True:
            self._solve()
            x, y = self._solution(here)
            if y.sum() > self.k:
                return x, y
            short = 1.0 - self._inside @ x
            short[self._entered] = 0.0
            worst = np.argsort(-short, kind="stable")[:ROWS_AT_A_TIME]
            worst = worst[short[worst] > 0.01]
            if worst.size == 0 or self._should_stop():
                return x, y
            self._enter(worst)

    def _solution(self, here: _Open) -> tuple[Floats, Floats]:
        """Return the solver's x, and y by row of the cover problem followed by the rows of the path."""
        solution = self._solver.getSolution()
        n_rows, depth = self.cover.clients.size, len(here.path)
        x, duals = np.array(solution.col_value, dtype=np.float64), np.array(solution.row_dual, dtype=np.float64)
        y = np.zeros(n_rows + depth)
        if x.size != self._closed.size or duals.size != len(self._entered) + depth:
            return np.zeros(self._closed.size), y
        y[self._entered] = duals[: len(self._entered)]
        y[n_rows:] = duals[len(self._entered) :]
        return np.maximum(x, 0.0), np.maximum(y, 0.0)

    def _close(self, here: _Open, y: Floats) -> Mask | None:
        """Record the weights of a node and return the columns closed by them; None if the node itself is."""
        weights = whole(y)
        rows = np.flatnonzero(weights)
        members = self._members(here.path, rows)
        loads = weights[rows].astype(np.float64) @ members
        loads[here.closed] = 0.0
        total = float(weights.sum())
        self._record(here, rows, weights[rows])
        if total > heaviest(loads, self.k):
            return None
        return np.asarray(here.closed | (loads < total - heaviest(loads, self.k - 1)))

    def _members(self, path: tuple[Mask, ...], rows: Ints) -> Mask:
        """Return the columns of some rows, those of the path included."""
        n_rows = self.cover.clients.size
        parts = [self._inside[rows[rows < n_rows]], *(path[r - n_rows][None] for r in rows[rows >= n_rows])]
        return np.concatenate(parts)

    def _record(self, here: _Open, rows: Ints, y: Ints) -> None:
        self.nodes[here.number].rows, self.nodes[here.number].y = rows, y

    def _branch(self, here: _Open, x: Floats, y: Floats) -> None:
        """Split a node on the pair of rows that lifts both sides most, by short tries."""
        import highspy

        self._move(here.path, here.closed)
        basis = self._solver.getBasis()
        longer = highspy.HighsBasis()
        longer.col_status = basis.col_status
        longer.row_status = [*basis.row_status, highspy.HighsBasisStatus.kBasic]
        longer.valid = basis.valid
        here = here._replace(basis=basis)
        best, best_score, chosen = None, -1.0, here.closed
        value = float(y.sum())
        for split in self._pairs(here, x, y):
            members = self._split_set(here, split)
            gains = [self._try_side(here, longer, members, side) - value for side in (-1, 1)]
            score = max(gains[0], 1e-4) * max(gains[1], 1e-4)
            if score > best_score:
                best, best_score, chosen = split, score, members
        if best is None:
            fractional = np.where((x > 1e-6) & ~here.closed, np.abs(x - 0.5), np.inf)
            best = Split(int(np.argmin(fractional)), -1)
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
        """Return pairs of rows whose common columns have a share near a half."""
        rows, used = np.flatnonzero(y > 1e-6), np.flatnonzero(x > 1e-6)
        members = self._members(here.path, rows)[:, used].astype(np.float64)
        common = (members * x[used]) @ members.T
        first, second = np.triu_indices(rows.size, 1)
        share = np.minimum(common[first, second], 1.0 - common[first, second])
        order = np.argsort(-share, kind="stable")[:PROBES]
        self.work += 10.0 * members.size + 5.0 * share.size
        return [Split(int(rows[first[t]]), int(rows[second[t]])) for t in order if share[t] >= LEAST_SHARE]

    def _split_set(self, here: _Open, split: Split) -> Mask:
        """Return the live columns that a split is about."""
        if split.second < 0:
            single = np.zeros(self._closed.size, dtype=bool)
            single[split.first] = True
            return single
        members = self._members(here.path, np.array(split))
        return np.asarray(members[0] & members[1] & ~here.closed)

    # What the solver is told.

    def _try_side(self, here: _Open, longer: Any, members: Mask, side: int) -> float:
        """Return how far a few iterations lift one side of a split, at most to where it is closed."""
        if side < 0:
            self._move(here.path, here.closed | members)
        else:
            self._move((*here.path, members), here.closed)
            self._restore(longer)
        value = self._solve(PROBE_ITERATIONS)
        self._move(here.path, here.closed)
        self._restore(here.basis)
        return min(value, self.k + 0.01)

    def _solve(self, iterations: int = 1_000_000) -> float:
        import highspy

        self._solver.setOptionValue("simplex_iteration_limit", iterations)
        seconds = self._seconds()
        if seconds < 1e15:
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(1e-3, seconds))
        self._solver.run()
        info = self._solver.getInfo()
        rows = len(self._entered) + len(self._path)
        self.work += LP_WORK + rows * (ROW_WORK + SQUARE_WORK * rows) * max(0, info.simplex_iteration_count)
        if self._solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return self.k + 1.0
        return float(info.objective_function_value)

    def _restore(self, basis: Any) -> None:
        """Start from a basis; rows entered since it was taken are basic."""
        import highspy

        missing = len(self._entered) + len(self._path) - len(basis.row_status)
        if missing > 0:
            longer = highspy.HighsBasis()
            longer.col_status = basis.col_status
            at = len(basis.row_status) - len(self._path)
            fresh = [highspy.HighsBasisStatus.kBasic] * missing
            longer.row_status = [*basis.row_status[:at], *fresh, *basis.row_status[at:]]
            longer.valid = basis.valid
            basis = longer
        if basis.valid:
            self._solver.setBasis(basis)

    def _move(self, path: tuple[Mask, ...], closed: Mask) -> None:
        """Bring the solver's problem to the rows and closed columns of a node."""
        import highspy

        common = 0
        while common < min(len(path), len(self._path)) and path[common] is self._path[common]:
            common += 1
        first = len(self._entered) + common
        if common < len(self._path):
            gone = np.arange(first, len(self._entered) + len(self._path), dtype=np.int32)
            self._solver.deleteRows(gone.size, gone)
        for members in path[common:]:
            self._add_row(np.flatnonzero(members))
        self._path = path
        changed = np.flatnonzero(closed != self._closed)
        if changed.size:
            upper = np.where(closed[changed], 0.0, highspy.kHighsInf)
            self._solver.changeColsBounds(changed.size, changed.astype(np.int32), np.zeros(changed.size), upper)
        self._closed = closed.copy()

    def _enter(self, rows: Ints) -> None:
        """Enter rows of the cover problem before those of the path."""
        path, closed = self._path, self._closed
        basis = self._solver.getBasis()
        self._move((), closed)
        for row in rows:
            self._add_row(np.flatnonzero(self._inside[row]))
        self._entered.extend(rows.tolist())
        self._move(path, closed)
        self._restore(basis)

    def _add_row(self, columns: Ints) -> None:
        import highspy

        self._solver.addRow(1.0, highspy.kHighsInf, columns.size, columns.astype(np.int32), np.ones(columns.size))

    # What is kept.

    def packed(self, threshold: float) -> dict[str, object]:
        """Return the proof as plain arrays: only the clients that it uses, and all columns."""
        n_rows = self.cover.clients.size
        splits = [node.split or Split(-1, -1) for node in self.nodes]
        pairs = np.array([s for s in splits if s.second >= 0], dtype=np.int64).ravel()
        named = np.unique(np.concatenate([*(node.rows for node in self.nodes), pairs]))
        used = named[named < n_rows]
        place = np.zeros(n_rows + len(self.nodes), dtype=np.int64)
        place[used] = np.arange(used.size)
        place[n_rows:] = used.size + np.arange(len(self.nodes))
        return {
            "proof": "tree",
            "threshold": threshold,
            "clients": self.cover.clients[used],
            "columns": self.cover.columns,
            "parent": np.array([node.parent for node in self.nodes]),
            "side": np.array([node.side for node in self.nodes]),
            "first": np.array([s.first if s.second < 0 else place[s.first] for s in splits]),
            "second": np.array([s.second if s.second < 0 else place[s.second] for s in splits]),
            "y_end": np.cumsum([node.rows.size for node in self.nodes]),
            "y_row": place[np.concatenate([node.rows for node in self.nodes])],
            "y": np.concatenate([node.y for node in self.nodes]),
        }


def packed_packing(threshold: float, clients: Ints, y: Ints) -> dict[str, object]:
    """Return a packing as the witness of a threshold."""
    return {"proof": "packing", "threshold": threshold, "clients": clients, "y": y}
