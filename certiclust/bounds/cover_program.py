"""The linear relaxation of a cover problem inside HiGHS, moved from node to node of a branch tree."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.odd_rows import violated_triples
from certiclust.bounds.packing import NO_TRIPLES, new_highs, pass_cover
from certiclust.space.cover import Cover, Floats, Ints

Mask = NDArray[np.bool_]

#: Rows entered at a time, those most violated first; joint rows of triples made at a time.
ROWS_AT_A_TIME, TRIPLES_AT_A_TIME = 30, 60
#: Rounds of triples, and the gain of a round that is worth another.
ROUNDS, LEAST_GAIN = 12, 0.02
#: Work (of about 5 ns) of a linear program: a constant, and so much per iteration and row, or square of rows.
LP_WORK, ROW_WORK, SQUARE_WORK = 5e5, 70.0, 0.07


class CoverProgram:
    """Rows of a cover problem, joint rows of triples, and at the end the rows of the way to a node.

    Rows are numbered: first those of the cover problem, then the triples as they are made, and -1, -2, ... for the
    rows of the way. Only some are entered in HiGHS, the others when a solution violates them.

    Parameters
    ----------
    cover : Cover
        The problem.
    k : int
        Number of columns that must not suffice: a higher value is not needed.
    rows, triples : ndarray
        Rows to start with, and triples of rows.
    should_stop, seconds : callable
        Polled between linear programs; seconds left, for HiGHS's own limit.
    """

    def __init__(
        self,
        cover: Cover,
        k: int,
        rows: Ints,
        triples: Ints,
        should_stop: Callable[[], bool],
        seconds: Callable[[], float],
    ) -> None:
        self.k, self.work = k, 0.0
        self.most_work = inf
        #: The columns of each row of the cover problem; how often every row counts a column, and what it needs.
        self.inside: Mask = cover.by_client.matrix().toarray().astype(bool)
        self.counts: NDArray[np.int8] = self.inside.astype(np.int8)
        self.need: Floats = np.ones(len(self.inside))
        self.triples: Ints = NO_TRIPLES
        self._should_stop, self._seconds = should_stop, seconds
        self._entered = rows.tolist()
        self._path: tuple[Mask, ...] = ()
        self._closed = np.zeros(cover.columns.size, dtype=bool)
        self._solver = new_highs(
            seconds(), solver="simplex", objective_bound=k + 1e-3, simplex_dual_edge_weight_strategy=1
        )
        pass_cover(self._solver, cover, rows)
        self._add_triples(triples)

    @property
    def ended(self) -> bool:
        """Whether a stop was asked for, or the work is done."""
        return self.work >= self.most_work or self._should_stop()

    @property
    def basis(self) -> Any:
        """The solver's present basis."""
        return self._solver.getBasis()

    def relax(self) -> tuple[Floats, Floats]:
        """Solve the relaxation, entering violated rows; returns x, and y by row, those of the path last."""
        while True:
            self.solve()
            x, y = self._solution()
            if self.value(y) > self.k:
                return x, y
            short = self.need - self.counts @ x
            short[self._entered] = 0.0
            worst = np.argsort(-short, kind="stable")[:ROWS_AT_A_TIME]
            worst = worst[short[worst] > 0.01]
            if worst.size == 0 or self.ended:
                return x, y
            self._enter(worst)

    def value(self, y: Floats) -> float:
        """Return what weights add up to."""
        size = self.need.size
        return float(self.need @ y[:size] + y[size:].sum())

    def strengthen(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Solve the relaxation again with joint rows of triples, as long as that lifts it."""
        for _ in range(ROUNDS):
            before = self.value(y)
            if before > self.k or self.ended or not self._make_triples(x):
                break
            x, y = self.relax()
            if self.value(y) < before + LEAST_GAIN:
                break
        self._leave(y)
        return x, y

    def _leave(self, y: Floats) -> None:
        """Take triples without weight out of HiGHS; they enter again when they are violated."""
        import highspy

        basis, basic = self.basis, highspy.HighsBasisStatus.kBasic
        status = basis.row_status
        entered = np.array(self._entered)
        idle = np.flatnonzero((entered >= len(self.inside)) & (y[entered] == 0.0))
        gone = [at for at in idle.tolist() if basis.valid and status[at] == basic]
        if not gone:
            return
        left = set(gone)
        shorter = highspy.HighsBasis()
        shorter.col_status, shorter.valid = basis.col_status, True
        shorter.row_status = [status[at] for at in range(len(status)) if at not in left]
        self._entered = np.delete(entered, gone).tolist()
        self._solver.deleteRows(len(gone), np.array(gone, dtype=np.int32))
        self._solver.setBasis(shorter)

    def _make_triples(self, x: Floats) -> bool:
        found = violated_triples(self.inside, x, TRIPLES_AT_A_TIME)
        self.work += found.work
        self._add_triples(found.rows)
        return len(found.rows) > 0

    def _add_triples(self, triples: Ints) -> None:
        if not len(triples):
            return
        self.triples = np.concatenate([self.triples, triples])
        counts = self.inside[triples].sum(axis=1)
        self.counts = np.concatenate([self.counts, ((counts + 1) // 2).astype(np.int8)])
        first = self.need.size
        self.need = np.concatenate([self.need, np.full(len(counts), 2.0)])
        self._enter(first + np.arange(len(counts)))

    def _solution(self) -> tuple[Floats, Floats]:
        solution = self._solver.getSolution()
        size, depth = self.need.size, len(self._path)
        x, duals = np.array(solution.col_value, dtype=np.float64), np.array(solution.row_dual, dtype=np.float64)
        y = np.zeros(size + depth)
        if x.size != self._closed.size or duals.size != len(self._entered) + depth:
            return np.zeros(self._closed.size), y
        y[self._entered] = duals[: len(self._entered)]
        y[size:] = duals[len(self._entered) :]
        return np.maximum(x, 0.0), np.maximum(y, 0.0)

    def solve(self, iterations: int = 1_000_000) -> float:
        """Run HiGHS for at most so many iterations and return the value; above k if there is no solution."""
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

    def restore(self, basis: Any) -> None:
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

    def move(self, path: tuple[Mask, ...], closed: Mask) -> None:
        """Bring the program to the rows and closed columns of a node."""
        import highspy

        common = 0
        while common < min(len(path), len(self._path)) and path[common] is self._path[common]:
            common += 1
        first = len(self._entered) + common
        if common < len(self._path):
            gone = np.arange(first, len(self._entered) + len(self._path), dtype=np.int32)
            self._solver.deleteRows(gone.size, gone)
        for members in path[common:]:
            self._add_row(members.astype(np.int8), 1.0)
        self._path = path
        changed = np.flatnonzero(closed != self._closed)
        if changed.size:
            upper = np.where(closed[changed], 0.0, highspy.kHighsInf)
            self._solver.changeColsBounds(changed.size, changed.astype(np.int32), np.zeros(changed.size), upper)
        self._closed = closed.copy()

    def _enter(self, rows: Ints) -> None:
        """Enter rows before those of the path."""
        path, closed = self._path, self._closed
        basis = self.basis
        self.move((), closed)
        for row in rows:
            self._add_row(self.counts[row], self.need[row])
        self._entered.extend(rows.tolist())
        self.move(path, closed)
        self.restore(basis)

    def _add_row(self, counts: NDArray[np.int8], need: float) -> None:
        import highspy

        columns = np.flatnonzero(counts)
        values = counts[columns].astype(np.float64)
        self._solver.addRow(need, highspy.kHighsInf, columns.size, columns.astype(np.int32), values)
