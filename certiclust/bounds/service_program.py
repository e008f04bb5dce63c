"""The linear relaxation of k-median with limited reach, inside HiGHS, moved from node to node of a branch tree.

A variable for every pair would be too many. So a client i has one variable, what its service costs, and rows that hold
for every share y of the candidates: at level u the cost is at least u - sum_j max(0, u - c_ij) y_j (Benders' cuts; the
levels that matter are found from y). Where many clients have few candidates in reach, the subgradient ascent stays far
below the value of this program; what is taken from here is only multipliers, any of which give a valid bound.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.packing import new_highs
from certiclust.space.cover import Sets, minimal
from certiclust.space.lists import Floats, Ints, Lists

#: Rounds of rows for one node, and the share of the gap that may be missing when no more are made.
ROUNDS, PRECISE = 30, 0.03
#: What it costs to leave a row uncovered, in units of the cost of the incumbent.
UNCOVERED = 50.0
#: Cuts per client above which those without weight leave the program.
MOST_CUTS = 3
#: Work (of about 2.5 ns) of a linear program: a constant, and so much per iteration and row.
LP_WORK, ROW_WORK = 4e6, 45.0
#: Simplex iterations below which a run is short.
SHORT = 200


class Relaxed(NamedTuple):
    """What a relaxation gives: its value, shares of the candidates, multipliers of clients and of the sets chosen."""

    value: float
    y: Floats
    u: Floats
    v: Floats


class Basis(NamedTuple):
    """A basis of the solver, and how often rows had left the program when it was taken."""

    state: Any
    purges: int


class ServiceProgram:
    """The program over some candidates, whose lists hold the whole reach of each client.

    Parameters
    ----------
    lists : Lists
        The lists.
    k : int
        Number of centres.
    upper : float
        Cost of the incumbent.
    u : ndarray
        Multipliers: levels to start with.
    should_stop, seconds : callable
        Polled between linear programs; seconds left, for HiGHS's own limit.
    most_work : float, default infinite
        Work after which programs are not solved to their end.
    """

    def __init__(
        self,
        lists: Lists,
        k: int,
        upper: float,
        u: Floats,
        should_stop: Callable[[], bool],
        seconds: Callable[[], float],
        most_work: float = inf,
    ) -> None:
        self.lists, self.work, self.most_work = lists, 0.0, most_work
        self._should_stop, self._seconds = should_stop, seconds
        self.n, self.m = lists.radius.size, lists.col_ptr.size - 1
        #: Costs are counted in what a client pays on average.
        self.unit = upper / self.n
        self._nearest = lists.row_val[lists.row_ptr[:-1]] / self.unit
        self.cover = minimal(Sets(lists.row_ptr, _ascending(lists), self.m))
        self.sets: list[Ints] = []
        self._active: Ints = np.zeros(0, np.int64)
        self._purges = 0
        self._closed, self._opened = np.zeros(self.m, dtype=bool), np.zeros(self.m, dtype=bool)
        self._solver = new_highs(seconds(), solver="simplex", simplex_scale_strategy=0)
        self._pass_columns(k, upper)
        #: For every row its client or, with a negative number, its set; and the level of a cut (0: of a cover).
        self._owner: Ints = self.cover.copy()
        self._level: Floats = np.zeros(self.cover.size)
        self._add_cuts(np.arange(self.n), self._positions(u))

    def _pass_columns(self, k: int, upper: float) -> None:
        """Give HiGHS shares, costs of clients and the shortfall; rows for the number of centres and for covers."""
        import highspy

        n, m, infinite = self.n, self.m, highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_col_ = m + n + 1
        model.col_cost_ = np.concatenate([np.zeros(m), np.ones(n), [UNCOVERED * upper / self.unit]])
        model.col_lower_ = np.concatenate([np.zeros(m), self._nearest, [0.0]])
        model.col_upper_ = np.concatenate([np.ones(m), np.full(n + 1, infinite)])
        sizes = np.diff(self.lists.row_ptr)[self.cover]
        parts = [self._slice(i, size) for i, size in zip(self.cover, sizes, strict=True)]
        starts = np.concatenate([[0, m], m + np.cumsum(sizes + 1)])
        short = [np.append(part, m + n) for part in parts]
        model.num_row_ = 1 + self.cover.size
        model.row_lower_ = np.concatenate([[-infinite], np.ones(self.cover.size)])
        model.row_upper_ = np.concatenate([[float(k)], np.full(self.cover.size, infinite)])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = starts.astype(np.int32)
        model.a_matrix_.index_ = np.concatenate([np.arange(m), *short]).astype(np.int32)
        model.a_matrix_.value_ = np.ones(int(starts[-1]))
        self._solver.passModel(model)

    def _slice(self, client: int, size: int) -> Ints:
        """Return the nearest candidates of a client."""
        first = self.lists.row_ptr[client]
        return self.lists.row_idx[first : first + size].astype(np.int64)

    def move(self, closed: NDArray[np.bool_], opened: NDArray[np.bool_], active: Ints) -> None:
        """Bring the program to a node: candidates closed and open, and sets of which one must be open."""
        import highspy

        changed = np.flatnonzero((closed != self._closed) | (opened != self._opened)).astype(np.int32)
        if changed.size:
            low, high = opened[changed].astype(np.float64), (~closed[changed]).astype(np.float64)
            self._solver.changeColsBounds(changed.size, changed, low, high)
        self._closed, self._opened = closed.copy(), opened.copy()
        rows = np.flatnonzero(self._owner < 0)
        place = dict(zip((-1 - self._owner[rows]).tolist(), (1 + rows).tolist(), strict=True))
        for number in np.setdiff1d(self._active, active):
            self._solver.changeRowBounds(place[int(number)], -highspy.kHighsInf, highspy.kHighsInf)
        for number in np.setdiff1d(active, self._active):
            self._solver.changeRowBounds(place[int(number)], 1.0, highspy.kHighsInf)
        self._active = active

    def add_set(self, members: Ints) -> int:
        """Return the number of a new set of candidates; it takes part once a node says so."""
        import highspy

        columns = np.append(members, self.m + self.n).astype(np.int32)
        infinite = highspy.kHighsInf
        self._solver.addRow(-infinite, infinite, columns.size, columns, np.ones(columns.size))
        self.sets.append(members)
        self._owner = np.append(self._owner, -len(self.sets))
        self._level = np.append(self._level, 0.0)
        return len(self.sets) - 1

    @property
    def basis(self) -> Basis:
        """The solver's present basis."""
        return Basis(self._solver.getBasis(), self._purges)

    def restore(self, basis: Basis) -> None:
        """Start from a basis; rows entered since it was taken are basic."""
        import highspy

        if basis.purges != self._purges or not basis.state.valid:
            return
        longer = highspy.HighsBasis()
        status = basis.state.row_status
        fresh = [highspy.HighsBasisStatus.kBasic] * (1 + self._owner.size - len(status))
        longer.col_status, longer.row_status, longer.valid = basis.state.col_status, [*status, *fresh], True
        self._solver.setBasis(longer)

    def probe(self, members: Ints, iterations: int) -> tuple[float, float]:
        """Return how far a few iterations lift the present node with all of a set closed, and with one of it open."""
        import highspy

        solver, basis, columns = self._solver, self._solver.getBasis(), members.astype(np.int32)
        zeros = np.zeros(members.size)
        solver.changeColsBounds(columns.size, columns, zeros, zeros)
        shut = self.solve(iterations)
        solver.changeColsBounds(columns.size, columns, self._opened[members].astype(np.float64), zeros + 1.0)
        solver.setBasis(basis)
        row = np.append(columns, self.m + self.n).astype(np.int32)
        solver.addRow(1.0, highspy.kHighsInf, row.size, row, np.ones(row.size))
        lit = self.solve(iterations)
        last = 1 + self._owner.size
        solver.deleteRows(1, np.array([last], dtype=np.int32))
        solver.setBasis(basis)
        return shut, lit

    def relax(self, goal: float) -> Relaxed:
        """Solve the relaxation at the present node, up to a value that is enough."""
        self._solver.setOptionValue("objective_bound", goal / self.unit)
        for _ in range(ROUNDS):
            self.solve()
            found, theta = self._solution()
            if found.value >= goal or self.work >= self.most_work or self._should_stop():
                break
            position, cost = self._service(found.y)
            short = cost - theta
            missing = float(short.sum()) * self.unit
            if missing <= PRECISE * max(goal - found.value - missing, 1e-8 * goal):
                break
            wanted = np.flatnonzero(short > 1e-9 * (1.0 + cost))
            if wanted.size == 0:
                break
            self._purge()
            self._add_cuts(wanted, position[wanted])
        return found

    def solve(self, iterations: int = 1_000_000) -> float:
        """Run HiGHS for at most so many iterations and return the value."""
        # Steepest edges need fewer iterations, but weights to start with, which a short run is not worth.
        short = iterations < SHORT
        self._solver.setOptionValue("simplex_dual_edge_weight_strategy", 1 if short else 2)
        price = ROW_WORK * self._owner.size
        affordable = max(0.0, self.most_work - self.work) / price
        self._solver.setOptionValue("simplex_iteration_limit", int(min(iterations, SHORT + affordable)))
        seconds = self._seconds()
        if seconds < 1e15:
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(1e-3, seconds))
        self._solver.run()
        info = self._solver.getInfo()
        self.work += LP_WORK + price * max(0, info.simplex_iteration_count)
        return float(info.objective_function_value) * self.unit

    def _solution(self) -> tuple[Relaxed, Floats]:
        """Return shares and multipliers of the last run, and the costs of the clients in it."""
        solution = self._solver.getSolution()
        columns, duals = np.array(solution.col_value), np.array(solution.row_dual)
        n, m = self.n, self.m
        if columns.size != m + n + 1 or duals.size != 1 + self._owner.size:
            columns, duals = np.zeros(m + n + 1), np.zeros(1 + self._owner.size)
        dual = np.maximum(duals[1:], 0.0)
        mine = self._owner >= 0
        owner, weight, level = self._owner[mine], dual[mine], self._level[mine]
        cut = level > 0.0
        served = np.bincount(owner[cut], weights=weight[cut], minlength=n)
        u: Floats = np.bincount(owner, weights=np.where(cut, level, 1.0) * weight, minlength=n).astype(np.float64)
        u += self._nearest * np.maximum(0.0, 1.0 - served)
        v = np.zeros(len(self.sets))
        v[-1 - self._owner[~mine]] = dual[~mine]
        value = float(self._solver.getInfo().objective_function_value) * self.unit
        u, v = u * self.unit, v * self.unit
        return Relaxed(value, np.clip(columns[:m], 0.0, 1.0), u, v), columns[m : m + n]

    def _service(self, y: Floats) -> tuple[Ints, Floats]:
        """Return where in its list each client is served in full, and what that costs it."""
        ptr = self.lists.row_ptr
        share, value = y[self.lists.row_idx], self.lists.row_val / self.unit
        before = np.concatenate([[0.0], np.cumsum(share)])
        paid = np.concatenate([[0.0], np.cumsum(share * value)])
        last = np.searchsorted(before, before[ptr[:-1]] + 1.0 - 1e-9) - 1
        last = np.clip(last, ptr[:-1], ptr[1:] - 1)
        cost = paid[last] - paid[ptr[:-1]] + value[last] * (1.0 - before[last] + before[ptr[:-1]])
        return last - ptr[:-1], cost

    def _positions(self, u: Floats) -> Ints:
        """Return how many candidates of its list are cheaper for a client than its multiplier, at most all but one."""
        ptr, lists = self.lists.row_ptr, self.lists
        cheaper = lists.row_val < np.repeat(u, np.diff(ptr))
        counts = np.add.reduceat(cheaper.astype(np.int64), ptr[:-1])
        return np.asarray(np.minimum(counts, np.diff(ptr) - 1))

    def _add_cuts(self, clients: Ints, position: Ints) -> None:
        """Add a row for each client, at the level of the candidate at a position of its list."""
        import highspy

        ptr, lists = self.lists.row_ptr, self.lists
        level = lists.row_val[ptr[clients] + position] / self.unit
        clients, position, level = (a[level > 0.0] for a in (clients, position, level))
        first = np.concatenate([[0], np.cumsum(position + 1)])
        within = np.arange(int(first[-1])) - np.repeat(first[:-1], position + 1)
        at = np.repeat(ptr[clients], position + 1) + within
        index = lists.row_idx[at].astype(np.int32)
        value = np.repeat(level, position + 1) - lists.row_val[at] / self.unit
        last = first[1:] - 1  # the candidate at the level itself counts nothing: its place is the client's
        index[last], value[last] = self.m + clients, 1.0
        infinite = np.full(clients.size, highspy.kHighsInf)
        self._solver.addRows(clients.size, level, infinite, index.size, first[:-1].astype(np.int32), index, value)
        self._owner = np.concatenate([self._owner, clients])
        self._level = np.concatenate([self._level, level])

    def _purge(self) -> None:
        """Take cuts without weight out of the program if there are many; they come again where they are needed."""
        import highspy

        cuts = self._level > 0.0
        if np.count_nonzero(cuts) <= MOST_CUTS * self.n:
            return
        basis, basic = self._solver.getBasis(), highspy.HighsBasisStatus.kBasic
        if not basis.valid:
            return
        status = basis.row_status
        loose = np.array([state == basic for state in status[1:]]) & cuts
        gone = 1 + np.flatnonzero(loose)
        shorter = highspy.HighsBasis()
        shorter.col_status, shorter.valid = basis.col_status, True
        left = set(gone.tolist())
        shorter.row_status = [state for at, state in enumerate(status) if at not in left]
        self._solver.deleteRows(gone.size, gone.astype(np.int32))
        self._solver.setBasis(shorter)
        self._owner, self._level = self._owner[~loose], self._level[~loose]
        self._purges += 1


def _ascending(lists: Lists) -> NDArray[np.int32]:
    """Return the candidates of every client in ascending order."""
    client = np.repeat(np.arange(lists.radius.size), np.diff(lists.row_ptr))
    order = np.lexsort((lists.row_idx, client))
    return np.asarray(lists.row_idx[order], dtype=np.int32)
