"""k-center through the loop: tabu search for covers, packing bound, and a branch tree where the packing falls short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

import numpy as np

from certiclust.bounds.bound import Bound, rounding_margin
from certiclust.bounds.cover_solver import ask_solver
from certiclust.bounds.cover_tree import CoverTree
from certiclust.bounds.odd_rows import violated_triples
from certiclust.bounds.packing import NO_TRIPLES, LinearCover, Packing, relaxed_cover, uncovered_share, whole
from certiclust.bounds.separation import separation_bound
from certiclust.evolution.cover_search import CoverSearch, spread
from certiclust.problems import KCenterProblem
from certiclust.solver.loop import Strategy
from certiclust.space.cover import ClientLists, Cover, Floats, Ints

#: The first relaxation asks about this share of the incumbent; relative gain of the bound below which it has settled,
#: and below which triples are worth more.
FIRST_SHARE, SETTLED, NEARLY = 0.95, 3e-4, 3e-3
#: Share of all work for the first search. Later it gets so much of the work of the bound: little up to so many points,
#: where the radius found is nearly always optimal and its proof takes the time, much beyond.
FIRST_SEARCH, SMALL, LITTLE, MUCH = 0.3, 1500, 0.2, 1.0
#: Share of all work for one tree, up to SMALL points and beyond, where a tree is small or hopeless.
TREE_SHARE, LARGE_TREE_SHARE = 0.35, 0.06
#: How far the relaxation of the first tree may fall short of k columns, how much farther the next may after a success,
#: and how near success and failure may come before no tree is tried any more.
FIRST_REACH, FARTHER, CLOSE = 0.15, 1.6, 0.05
#: Rows times columns up to which HiGHS's integer solver is asked where a tree failed: beyond, trees do better.
SOLVER_SIZE = 40_000
#: Least share of a column that is looked at for violated triples; an interior solution has many tiny ones.
LEAST_SHARE = 1e-4
#: Relative difference below which two thresholds are one.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Limits:
    """What ends the loop besides a closed gap.

    With a `target` the question is only whether a radius of at most that is possible. `share` is the part of the usual
    work that may be done.
    """

    gap_tol: float
    max_iter: float
    should_stop: Callable[[], bool]
    seconds: Callable[[], float] = lambda: inf
    target: float | None = None
    share: float = 1.0


def default_budget(n: int, k: int) -> float:
    """Return the work (of 5 to 7 ns) after which an unproved run ends; with few centres it has settled sooner."""
    return 2e9 if n <= SMALL else min(2.2e9 + 2e5 * n + 1.4e7 * k, 5e9)


class KCenterStrategy(Strategy):
    """Evolution, bound and reduction of k-center.

    Parameters
    ----------
    problem : KCenterProblem
        What to solve.
    limits : Limits
        When to end.
    seed : int
        Seed of all random decisions.
    centers : ndarray or None
        k centres to start from, besides farthest-first ones.
    """

    def __init__(self, problem: KCenterProblem, limits: Limits, seed: int, centers: Ints | None = None) -> None:
        self.problem, self.limits = problem, limits
        self.search = CoverSearch(problem, seed, limits.should_stop, limits.max_iter)
        if centers is not None:
            self.search.offer(centers)
        self.search.start()
        self._lists: ClientLists | None = None
        #: The optimum is at least this distance, by the witness.
        self.threshold = 0.0
        self.witness: dict[str, object] = {}
        self.live = problem.space.m
        self._first_clients = self.search.lists.clients.size
        self._budget = limits.share * default_budget(problem.space.n, problem.k)
        self._bound_work = 0.0
        self._rounds = 0
        self._asked = FIRST_SHARE * self.search.upper
        self._path: list[float] = []
        self._last: tuple[float, float, int] | None = None
        self._settled, self._asked_solver = False, False
        #: Triples of clients (places in the working set) for the relaxation, once it has settled without any.
        self._triples: Ints | None = None
        self._slope = -1.8  # of log value against log threshold in the plane; later as measured
        self._reach = FIRST_REACH
        self._proved_reach, self._failed_reach = 0.0, inf
        #: The bound that the relaxation reached by itself, and by how much its value at the incumbent falls short of k.
        self._base, self._short = 0.0, 0.0
        exact = problem.space.metric.name == "precomputed"  # a verifier reads the same numbers
        self._margin = (0.0, 0.0) if exact else rounding_margin(problem.space, 1)

    @property
    def upper(self) -> float:
        """Radius of the incumbent."""
        return self.search.upper

    @property
    def lists(self) -> ClientLists:
        """The working set of the bound, with all candidates: the search's own unless that has only a pool of them."""
        found = self.search.lists
        if found.pool is None:
            return found
        if self._lists is None:
            first, stop = found.clients[: self._first_clients], self.limits.should_stop
            self._lists = ClientLists(self.problem.space, first, self.upper, should_stop=stop)
        return self._lists

    @property
    def separation(self) -> Bound:
        """What the k + 1 points farthest apart prove, and the ratio of a solution with f1 >= 0."""
        apart = self.search.apart
        return separation_bound(self.problem, self.search.h, None if apart is None else apart.astype(np.intp))

    @property
    def lower(self) -> float:
        """Lower bound on the optimum."""
        return min(self.upper, max(self.threshold, self.separation.value))

    @property
    def steps(self) -> int:
        """Iterations of Algorithm 1 and steps of the tabu search."""
        return self.search.steps

    @property
    def _work(self) -> float:
        return self.search.work + self._bound_work

    @property
    def spent(self) -> float:
        """Part of the usual work that was done."""
        return self.limits.share * min(1.0, self._work / self._budget)

    def finished(self) -> bool:
        """Return whether gap, budget or user end the loop."""
        if self.upper <= self.lower * (1.0 + self.limits.gap_tol) or self.limits.should_stop():
            return True
        if self.limits.target is not None and not self.lower <= self.limits.target < self.upper:
            return True
        hopeless = self._hopeless and self.search.work >= self._bound_work * (LITTLE if self._small else MUCH)
        return self._work >= self._budget or self.steps >= self.limits.max_iter or hopeless

    @property
    def _small(self) -> bool:
        return self.problem.space.n <= SMALL

    @property
    def _hopeless(self) -> bool:
        """Whether the trees that are still within reach are already known to be too large."""
        return self._failed_reach - self._proved_reach < CLOSE

    def evolve(self) -> None:
        """Run Algorithm 1 for a moment, then the tabu search: at length first, later against stagnation."""
        self.search.breed()
        if self._rounds == 0:
            self.search.run(FIRST_SEARCH * self._budget, self._goal, 1)
        elif self.search.work < (LITTLE if self._small else MUCH) * self._bound_work:
            self.search.run(0.05 * self._budget, self._goal, 2)
        self._rounds += 1

    @property
    def _goal(self) -> float:
        """The radius below which the search need not look."""
        target = self.limits.target
        return self.lower if target is None else max(self.lower, float(np.nextafter(target, inf)))

    def _first_above(self, target: float) -> float:
        """Return the least distance of the working set above a target, at most the incumbent."""
        values = self.lists.values(target, self.upper)
        return float(values[0]) if values.size else self.upper

    def bound(self) -> None:
        """Raise the lower bound: relaxations on a growing working set, and when they have settled, trees."""
        if self.finished() or self._hopeless:
            return
        if self._settled:
            self._tree_round()
        else:
            self._packing_round()

    def reduce(self) -> None:
        """Forget distances at or beyond the incumbent: no better solution uses them."""
        if not self.limits.should_stop():
            self.lists.shrink(self.upper)

    # The packing bound.

    def _packing_round(self) -> None:
        """Solve one relaxation, take what its weights prove, and add the clients that its shares leave uncovered."""
        lists, k, target = self.lists, self.problem.k, self.limits.target
        asked = min(self._asked, self.upper) if target is None else self._first_above(target)
        cover = lists.reduced(asked)
        self.live = cover.columns.size
        triples = self._rows_of_triples(cover)
        solution = relaxed_cover(cover, self.limits.seconds(), triples=triples)
        self._bound_work += solution.work + 30.0 * lists.distance.size
        if self.limits.should_stop() and not solution.y.any():
            return
        self._claim(cover, solution, triples, asked)
        added = self._add_violated(cover, solution.x, asked)
        fresh = 0 if self._triples is None else self._renew_triples(cover, solution, triples)
        self._path.append(self.threshold)
        size = lists.clients.size
        if self._triples is None and self._last is not None and self._last[2] == size - added:
            change = log(asked / self._last[0])
            if abs(change) > 1e-5:
                self._slope = min(-0.8, max(-3.0, log(solution.value / self._last[1]) / change))
        self._last = asked, solution.value, size - added
        following = asked * (max(solution.value, 1e-9) / k) ** (-1.0 / self._slope) * (1 - 0.3 * SETTLED)
        idle, gain = (5, NEARLY) if self._triples is None else (3, SETTLED)
        stalled = len(self._path) > idle and self._path[-1] <= self._path[-idle] * (1 + gain)
        reached = added + fresh < max(3, k // 10) and following <= self.threshold * (1 + gain)
        if stalled or reached or (self._path[-1] == 0.0 and len(self._path) > 8):
            self._settle()
        self._asked = min(max(following, self.threshold * (1 + 0.5 * SETTLED), 0.5 * self.upper), self.upper)

    def _settle(self) -> None:
        """Go on to triples, and when those have settled as well, to trees."""
        if self._triples is None:
            self._triples, self._path = NO_TRIPLES, []
        else:
            self._settled = True

    def _rows_of_triples(self, cover: Cover) -> Ints:
        """Return the triples whose clients are all rows of a cover problem, as rows."""
        if self._triples is None or not len(self._triples):
            return NO_TRIPLES
        row = np.full(self.lists.clients.size, -1, dtype=np.int64)
        row[self.lists.place[cover.clients]] = np.arange(cover.clients.size)
        rows = row[self._triples]
        return np.asarray(rows[(rows >= 0).all(axis=1)])

    def _renew_triples(self, cover: Cover, solution: LinearCover, triples: Ints) -> int:
        """Keep the triples that have weight, and add those that a solution violates; returns how many are new."""
        inside = cover.by_client.matrix().toarray().astype(bool)
        x = np.where(solution.x > LEAST_SHARE, solution.x, 0.0)
        fresh = violated_triples(inside, x, max(60, cover.clients.size // 6))
        self._bound_work += fresh.work
        kept = triples[solution.z > 1e-5]
        self._triples = self.lists.place[cover.clients][np.concatenate([kept, fresh.rows])]
        return len(fresh.rows)

    def _claim(self, cover: Cover, solution: LinearCover, triples: Ints, asked: float) -> bool:
        """Raise the bound to the largest threshold that some weights prove; True if they prove the one asked about."""
        lists = self.lists
        places = lists.place[cover.clients]
        weights = np.zeros(lists.clients.size, dtype=np.int64)
        weights[places] = whole(solution.y)
        packing = Packing(lists, weights, self.problem.k, places[triples], whole(solution.z))
        good = packing.proves(asked)
        low, high = (asked, self.upper) if good else (min(self.threshold, asked), asked)
        reached = packing.stretched(low, high)
        self._bound_work += 10.0 * lists.distance.size
        if reached > self.threshold and packing.proves(reached):
            self.threshold = reached
            self.witness = packing.witness(reached * (1 - self._margin[0]) - self._margin[1])
        return good

    def _add_violated(self, cover: Cover, x: Floats, asked: float) -> int:
        if self.lists.complete:
            return 0
        space = self.problem.space
        short = uncovered_share(space, cover.columns, x, asked, lambda: not self.limits.should_stop())
        self._bound_work += 0.5 * np.count_nonzero(x > 1e-7) * space.n
        short[self.lists.clients] = 0.0
        return self._learn(short, 0.01, max(20, 2 * self.problem.k), 0.2 * asked)

    # The tree.

    def _tree_round(self) -> None:
        """Try to prove one threshold between the bounds; a cover found instead improves the incumbent or teaches."""
        asked = self._next_threshold()
        stored = self.lists.gap_below(asked, *self._margin)
        cover = self.lists.reduced(stored)
        self.live = cover.columns.size
        triples = self._rows_of_triples(cover)
        solution = relaxed_cover(cover, self.limits.seconds(), vertex=True, triples=triples)
        self._bound_work += solution.work + 30.0 * self.lists.distance.size
        short = max(0.0, self.problem.k - solution.value)
        if self._claim(cover, solution, triples, asked) or self.limits.should_stop():
            return
        if cover.columns.size <= self.problem.k or self._covered(cover, asked):
            return
        if asked == self.upper:
            self._short = short
            if short > self._reach and self.lists.values(self.lower, self.upper).size:
                return
        rows = np.flatnonzero(solution.y > 1e-7)
        triples = triples[solution.z > 1e-7]
        tree = CoverTree(cover, self.problem.k, rows, self.limits.should_stop, self.limits.seconds, triples)
        share = TREE_SHARE if self._small else LARGE_TREE_SHARE
        proved = tree.run(min(share * self._budget, self._budget - self._work))
        self._bound_work += tree.work
        if proved:
            self._prove(asked, stored, tree.packed(stored))
            self._proved_reach = max(self._proved_reach, short)
        elif tree.found is not None:
            self._offer(cover.columns[tree.found], asked)
            return
        elif self._answered(cover, asked, stored):
            return
        else:
            self._failed_reach = min(self._failed_reach, max(short, self._proved_reach))
        farther = FARTHER * max(self._reach, self._proved_reach)
        self._reach = farther if self._failed_reach == inf else 0.5 * (self._proved_reach + self._failed_reach)

    def _prove(self, asked: float, stored: float, witness: dict[str, object]) -> None:
        """Raise the bound to the threshold asked about, by the witness of one just below."""
        # What lies between is rounding, unless a long chain of nearly equal distances had to be passed.
        self.threshold = asked if stored >= asked * (1 - ROUNDING) else stored
        self.witness = witness

    def _answered(self, cover: Cover, asked: float, stored: float) -> bool:
        """Ask HiGHS where the tree ended, once at most and only if the problem is small; True if it has an answer."""
        if self._asked_solver or cover.clients.size * cover.columns.size > SOLVER_SIZE or self.limits.should_stop():
            return False
        self._asked_solver = True
        answer = ask_solver(cover, self.problem.k, self.limits.should_stop, self.limits.seconds())
        self._bound_work += answer.work
        if answer.impossible:
            trusted = {"proof": "solver", "threshold": stored, "clients": cover.clients, "columns": cover.columns}
            self._prove(asked, stored, trusted)
            self._asked_solver = False
        elif answer.found is not None:
            self._offer(cover.columns[answer.found], asked)
        return answer.impossible or answer.found is not None

    def _next_threshold(self) -> float:
        """Return the distance to ask about: the incumbent's radius, or one whose relaxation is within reach.

        What the relaxation falls short of k by grows about linearly from the bound that it gives to the incumbent.
        """
        if self.limits.target is not None:
            self._reach = inf
            return self._first_above(self.limits.target)
        if self._base == 0.0:
            self._base = self.lower
        if self._short <= self._reach:
            return self.upper
        aim = self._base + (self.upper - self._base) * self._reach / self._short
        values = self.lists.values(self.lower, self.upper)
        if values.size == 0:
            return self.upper
        return float(values[max(0, int(np.searchsorted(values, aim, side="right")) - 1)])

    def _covered(self, cover: Cover, asked: float) -> bool:
        """Return whether the tabu search finds k columns that cover the working set; then they were offered."""
        k, size = self.problem.k, cover.columns.size
        start = np.argsort(-cover.by_column.sizes, kind="stable")[:k]
        chosen, covered = self.search.cover(
            cover.by_client, cover.by_column, start, np.ones(cover.clients.size, dtype=np.int64), 2.0
        )
        assert chosen.size == k <= size
        if covered:
            self._offer(cover.columns[chosen], asked)
        return covered

    def _offer(self, centers: Ints, asked: float) -> None:
        """Offer a cover of the working set as a solution; add the clients that it misses."""
        distance = self.search.offer(centers)
        if distance.max() >= asked:
            self._learn(distance, asked, max(6, self.problem.k // 3), 0.3 * asked)

    def _learn(self, distance: Floats, threshold: float, most: int, apart: float) -> int:
        """Add clients to the working set of the bound, and of the search where that is another one."""
        added = self.search.learn(distance, threshold, most, apart)
        if self.lists is not self.search.lists:
            added = self.lists.add(spread(self.problem, distance, threshold, most, apart))
            self._bound_work += 3.0 * added * self.problem.space.m
        return added
