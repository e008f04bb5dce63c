"""k-center through the loop: tabu search for covers, packing bound, and a branch tree where the packing falls short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

import numpy as np

from certiclust.bounds.bound import Bound, rounding_margin
from certiclust.bounds.cover_tree import CoverTree, packed_packing
from certiclust.bounds.packing import Packing, relaxed_cover, uncovered_share, whole
from certiclust.bounds.separation import separation_bound
from certiclust.evolution.cover_search import CoverSearch, spread
from certiclust.evolution.engines import Limits as Blocks
from certiclust.evolution.engines import MaxEngine
from certiclust.problems import KCenterProblem
from certiclust.solver.loop import Strategy
from certiclust.space.cover import ClientLists, Cover, Floats, Ints

#: Blocks of Algorithm 1 (20 to 50 ms each) at the start, and the size of its tables beyond which it is left out.
GSEMO_BLOCKS, GSEMO_TABLES = 3, 3_000_000
#: The first relaxation asks about this share of the incumbent; relative gain of the bound below which it has settled.
FIRST_SHARE, SETTLED = 0.95, 3e-4
#: Share of all work for the first search. Later it gets so much of the work of the bound: little up to so many points,
#: where the radius found is nearly always optimal and its proof takes the time, much beyond.
FIRST_SEARCH, SMALL, LITTLE, MUCH = 0.3, 1500, 0.2, 1.5
#: Share of all work for one tree, up to SMALL points and beyond, where a tree is small or hopeless.
TREE_SHARE, LARGE_TREE_SHARE = 0.35, 0.06
#: How far the relaxation of the first tree may fall short of k columns, how much farther the next may after a success,
#: and how near success and failure may come before no tree is tried any more.
FIRST_REACH, FARTHER, CLOSE = 0.55, 1.15, 0.05
#: Relative difference below which two thresholds are one.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Limits:
    """What ends the loop besides a closed gap.

    With a `target` the question is only whether a radius of at most that is possible.
    """

    gap_tol: float
    max_iter: float
    should_stop: Callable[[], bool]
    seconds: Callable[[], float] = lambda: inf
    target: float | None = None


def default_budget(n: int) -> float:
    """Return the work (of about 5 ns) after which an unproved run ends."""
    return min(3.2e9 + 3e5 * n, 6e9)


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
    """

    def __init__(self, problem: KCenterProblem, limits: Limits, seed: int) -> None:
        self.problem, self.limits = problem, limits
        self.search = CoverSearch(problem, seed, limits.should_stop, limits.max_iter)
        self.search.start()
        self._lists: ClientLists | None = None
        self.iterations = 0
        #: The optimum is at least this distance, by the witness.
        self.threshold = 0.0
        self.witness: dict[str, object] = {}
        self.live = problem.space.m
        self._first_clients = self.search.lists.clients.size
        self._budget = default_budget(problem.space.n)
        self._bound_work = 0.0
        self._rounds = 0
        self._asked = FIRST_SHARE * self.search.upper
        self._path: list[float] = []
        self._last: tuple[float, float, int] | None = None
        self._settled = False
        self._reach = FIRST_REACH
        self._proved_reach, self._failed_reach = 0.0, inf
        #: The bound that the relaxation reached by itself, and by how much its value at the incumbent falls short of k.
        self._base, self._short = 0.0, 0.0
        self._seed = seed
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
            self._lists = ClientLists(self.problem.space, found.clients[: self._first_clients], self.upper)
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
        return self.iterations + self.search.steps

    @property
    def _work(self) -> float:
        return self.search.work + self._bound_work

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
        """Run the tabu search: at length first, later against stagnation; before it Algorithm 1, where asked for.

        The farthest-first start meets the theorem's condition at once, so Algorithm 1 runs only where the user gave
        iterations.
        """
        if self._rounds == 0:
            if self.limits.max_iter < inf:
                self._gsemo()
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
        self.lists.shrink(self.upper)

    def _gsemo(self) -> None:
        """Run Algorithm 1 until it meets f1 >= 0 at size k, or for a moment."""
        problem = self.problem
        if problem.space.n * (problem.k + 2) > GSEMO_TABLES:
            return
        engine = MaxEngine(problem, self._seed)
        left = self.limits.max_iter - self.search.steps
        blocks = Blocks(last=int(min(left, 2**60)), until_certified=True, target=0.0)
        for _ in range(GSEMO_BLOCKS):
            if engine.certified or engine.settled or engine.iteration >= left:
                break
            if self.limits.should_stop():
                break
            engine.advance(blocks)
        self.iterations = engine.iteration
        self.search.max_steps = self.limits.max_iter - engine.iteration
        if engine.best is not None:
            self.search.offer(engine.best)
        if engine.h > self.search.h:
            self.search.h, self.search.apart = engine.h, engine.apart
        self.search.work += 2e7 * GSEMO_BLOCKS

    # The packing bound.

    def _packing_round(self) -> None:
        """Solve one relaxation, take what its weights prove, and add the clients that its shares leave uncovered."""
        lists, k, target = self.lists, self.problem.k, self.limits.target
        asked = min(self._asked, self.upper) if target is None else self._first_above(target)
        cover = lists.reduced(asked)
        self.live = cover.columns.size
        solution = relaxed_cover(cover, self.limits.seconds())
        self._bound_work += solution.work + 30.0 * lists.distance.size
        if self.limits.should_stop() and not solution.y.any():
            return
        self._claim(cover, solution.y, asked)
        added = self._add_violated(cover, solution.x, asked)
        self._path.append(self.threshold)
        slope = -1.8  # of log value against log threshold in the plane; later as measured
        if self._last is not None and self._last[2] == lists.clients.size - added:
            change = log(asked / self._last[0])
            if abs(change) > 1e-5:
                slope = min(-0.8, max(-3.0, log(solution.value / self._last[1]) / change))
        self._last = asked, solution.value, lists.clients.size - added
        following = asked * (max(solution.value, 1e-9) / k) ** (-1.0 / slope) * (1 - 0.3 * SETTLED)
        stalled = len(self._path) > 5 and self._path[-1] <= self._path[-5] * (1 + SETTLED)
        reached = added < max(3, k // 10) and following <= self.threshold * (1 + SETTLED)
        self._settled = stalled or reached or (self._path[-1] == 0.0 and len(self._path) > 8)
        self._asked = min(max(following, self.threshold * (1 + 0.5 * SETTLED), 0.5 * self.upper), self.upper)

    def _claim(self, cover: Cover, y: Floats, asked: float) -> bool:
        """Raise the bound to the largest threshold that some weights prove; True if they prove the one asked about."""
        lists = self.lists
        weights = np.zeros(lists.clients.size, dtype=np.int64)
        weights[lists.place[cover.clients]] = whole(y)
        packing = Packing(lists, weights, self.problem.k)
        good = packing.proves(asked)
        low, high = (asked, self.upper) if good else (min(self.threshold, asked), asked)
        reached = packing.stretched(low, high)
        self._bound_work += 10.0 * lists.distance.size
        if reached > self.threshold and packing.proves(reached):
            self.threshold = reached
            stored = reached * (1 - self._margin[0]) - self._margin[1]
            self.witness = packed_packing(stored, packing.clients, packing.y)
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
        solution = relaxed_cover(cover, self.limits.seconds(), vertex=True)
        self._bound_work += solution.work + 30.0 * self.lists.distance.size
        short = max(0.0, self.problem.k - solution.value)
        if self._claim(cover, solution.y, asked) or self.limits.should_stop():
            return
        if cover.columns.size <= self.problem.k or self._covered(cover, asked):
            return
        if asked == self.upper:
            self._short = short
            if short > self._reach:
                return
        rows = np.flatnonzero(solution.y > 1e-7)
        tree = CoverTree(cover, self.problem.k, rows, self.limits.should_stop, self.limits.seconds)
        share = TREE_SHARE if self._small else LARGE_TREE_SHARE
        proved = tree.run(min(share * self._budget, self._budget - self._work))
        self._bound_work += tree.work
        if proved:
            # What lies between is rounding, unless a long chain of nearly equal distances had to be passed.
            self.threshold = asked if stored >= asked * (1 - ROUNDING) else stored
            self.witness = tree.packed(stored)
            self._proved_reach = max(self._proved_reach, short)
        elif tree.found is not None:
            self._offer(cover.columns[tree.found], asked)
            return
        else:
            self._failed_reach = min(self._failed_reach, max(short, self._proved_reach))
        farther = FARTHER * max(self._reach, self._proved_reach)
        self._reach = farther if self._failed_reach == inf else 0.5 * (self._proved_reach + self._failed_reach)

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
