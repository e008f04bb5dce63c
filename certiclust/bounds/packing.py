"""The packing bound of k-center: weights y >= 0 on clients, more in total than any k balls can hold.

If the y of all clients sums to more than the k heaviest balls of radius below t, no k balls cover them all, and the
optimal radius is at least t. The best y is dual to the cover problem's linear relaxation, which HiGHS solves; whoever
solved it, y is rounded to integers and checked by plain sums over all candidates, exactly. No metric is needed.
Triples of clients (odd_rows.py) may have weights as well: a triple needs 2, a ball holds ceil(c / 2) of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from certiclust.space import Space
from certiclust.space.cover import ClientLists, Cover, Floats, Indices, Ints

if TYPE_CHECKING:
    from highspy import Highs

#: A weight of 1 as an integer: fine enough to lose nothing that matters, and sums stay far below 2**53.
UNIT = 2**24
NO_TRIPLES: Ints = np.zeros((0, 3), dtype=np.int64)


class LinearCover(NamedTuple):
    """A solution of the relaxed cover problem: value, columns' shares, weights of rows and triples, and the work."""

    value: float
    x: Floats
    y: Floats
    z: Floats
    work: float


def new_highs(seconds: float, **options: float | str) -> Highs:
    """Return a silent HiGHS that gives the same answer every time, unless `seconds` (may be infinite) run out."""
    import highspy

    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    always: dict[str, float | str] = {"output_flag": False, "threads": 1, "random_seed": 0, "presolve": "off"}
    if seconds < 1e15:
        always["time_limit"] = max(1e-3, seconds)
    for name, value in (always | options).items():
        solver.setOptionValue(name, value)
    return solver


def pass_cover(solver: Highs, cover: Cover, rows: Ints) -> None:
    """Give HiGHS the problem of covering some rows by the fewest columns, relaxed."""
    import highspy

    sets = cover.by_client.chosen(rows)
    m, infinite = cover.columns.size, highspy.kHighsInf
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = m, rows.size
    model.col_cost_, model.col_lower_, model.col_upper_ = np.ones(m), np.zeros(m), np.full(m, infinite)
    model.row_lower_, model.row_upper_ = np.ones(rows.size), np.full(rows.size, infinite)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_ = sets.start.astype(np.int32), sets.member
    model.a_matrix_.value_ = np.ones(sets.member.size)
    solver.passModel(model)


def relaxed_cover(cover: Cover, seconds: float, *, vertex: bool = False, triples: Ints = NO_TRIPLES) -> LinearCover:
    """Solve the relaxed cover problem: by interior point, or to a vertex, whose y has few clients.

    Parameters
    ----------
    cover : Cover
        The problem.
    seconds : float
        Seconds left, may be infinite.
    vertex : bool, default=False
        Whether to go on to a vertex.
    triples : ndarray of int, default none
        Three rows of the problem each.
    """
    solver = new_highs(seconds, solver="ipm", run_crossover="on" if vertex else "off")
    rows, m = cover.clients.size, cover.columns.size
    pass_cover(solver, cover, np.arange(rows))
    inside = cover.by_client
    for triple in triples:
        near = np.concatenate([inside.member[inside.start[row] : inside.start[row + 1]] for row in triple])
        columns, counts = np.unique(near, return_counts=True)
        solver.addRow(2.0, solver.inf, columns.size, columns, np.ceil(0.5 * counts))
    solver.run()
    solution, info = solver.getSolution(), solver.getInfo()
    x, y = np.array(solution.col_value, dtype=np.float64), np.array(solution.row_dual, dtype=np.float64)
    if x.size != m or y.size != rows + len(triples):
        x, y = np.zeros(m), np.zeros(rows + len(triples))
    x, y = np.maximum(x, 0.0), np.maximum(y, 0.0)
    iterations = max(0, info.ipm_iteration_count) + 0.1 * max(0, info.simplex_iteration_count)
    work = (iterations + 10.0) * (20.0 * inside.member.size + 0.02 * float(y.size) ** 2.5) + 2e4 * len(triples)
    return LinearCover(float(info.objective_function_value), x, y[:rows], y[rows:], work)


def whole(y: Floats) -> Ints:
    """Return weights as integers, rounded down."""
    return np.asarray(np.floor(np.maximum(y, 0.0) * UNIT), dtype=np.int64)


def heaviest(loads: Floats, k: int) -> float:
    """Return the sum of the k largest loads; exact, as they are integers."""
    if k <= 0:
        return 0.0
    return float(loads.sum() if k >= loads.size else np.partition(loads, loads.size - k)[loads.size - k :].sum())


class Packing:
    """Weights on the clients of a working set and on triples of them, and the thresholds that they prove.

    Parameters
    ----------
    lists : ClientLists
        The working set.
    y : ndarray of int
        Weight of each of its clients.
    k : int
        Number of centres.
    triples, z : ndarray of int, default none
        Triples of places in the working set, and their weights.
    """

    def __init__(
        self, lists: ClientLists, y: Ints, k: int, triples: Ints = NO_TRIPLES, z: Ints = NO_TRIPLES[:, 0]
    ) -> None:
        self.k, self.m = k, lists.space.m
        self._lists, self._y = lists, y
        self._triples, self._z = triples[z > 0], z[z > 0]
        used = np.flatnonzero(y > 0)
        sizes = np.diff(lists.start)
        inside = np.repeat(y > 0, sizes)
        parts: list[tuple[Indices, Floats, Ints]] = [
            (lists.candidate[inside], lists.distance[inside], np.repeat(y[used], sizes[used]))
        ]
        parts += [self._entries(triple, weight) for triple, weight in zip(self._triples, self._z, strict=True)]
        self._candidate, self._distance = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        self._share = np.concatenate([part[2] for part in parts]).astype(np.float64)
        self.total = int(y.sum() + 2 * z.sum())

    def _entries(self, triple: Ints, weight: int) -> tuple[Indices, Floats, Ints]:
        """Return what a triple counts: a candidate once from its nearest client on, twice from the farthest on."""
        lists = self._lists
        places = np.concatenate([np.arange(lists.start[a], lists.start[a + 1]) for a in triple])
        candidate, distance = lists.candidate[places], lists.distance[places]
        order = np.lexsort((distance, candidate))
        candidate, distance = candidate[order], distance[order]
        nearest = np.flatnonzero(np.diff(candidate, prepend=-1))
        farthest = nearest[np.diff(nearest, append=candidate.size) == 3] + 2
        at = np.concatenate([nearest, farthest])
        return candidate[at], distance[at], np.full(at.size, weight, dtype=np.int64)

    def witness(self, threshold: float) -> dict[str, object]:
        """Return the weights as the witness of a threshold."""
        clients = np.unique(np.concatenate([np.flatnonzero(self._y > 0), self._triples.ravel()]))
        return {
            "proof": "packing",
            "threshold": threshold,
            "clients": self._lists.clients[clients],
            "triples": np.searchsorted(clients, self._triples).ravel(),
            "y": np.concatenate([self._y[clients], self._z]),
        }

    def proves(self, threshold: float) -> bool:
        """Return whether the optimum is at least `threshold` by these weights."""
        near = self._distance < threshold
        loads = np.bincount(self._candidate[near], weights=self._share[near], minlength=self.m).astype(np.float64)
        return bool(self.total > heaviest(loads, self.k))

    def stretched(self, low: float, high: float) -> float:
        """Return the largest threshold up to `high` that is proved, or `low`; balls only grow, so a bisection finds it.

        Thresholds between two successive distances of these clients prove the same; the upper one is returned.
        """
        if self.proves(high):
            return high
        for _ in range(8):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.proves(middle) else (low, middle)
        window = np.unique(self._distance[(self._distance >= low) & (self._distance < high)])
        first, last = 0, window.size  # window[:first] is proved, window[last:] is not
        while first < last:
            middle = (first + last) // 2
            first, last = (middle + 1, last) if self.proves(float(window[middle])) else (first, middle)
        return float(window[first - 1]) if first else low


def uncovered_share(space: Space, columns: Ints, x: Floats, threshold: float, keep_on: Callable[[], bool]) -> Floats:
    """Return by how much the shares x of some columns fall short of covering each client."""
    used = np.flatnonzero(x > 1e-7)
    short = np.ones(space.n)
    for begin in range(0, used.size, 64):
        part = used[begin : begin + 64]
        short -= x[part] @ (space.distances(columns[part].astype(np.intp)) < threshold)
        if not keep_on():
            break
    return short
