"""k-median to proven optimality, from a matrix: swap evolution, Lagrangian bound, reduction, branch and bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certiclust.bounds.branch_and_bound import Node, Stage, Tree
from certiclust.bounds.lagrangian import (
    Ascent,
    Instance,
    ascend,
    certify,
    is_closed,
    lift,
    reduce_candidates,
    start_multipliers,
)
from certiclust.bounds.reach_tree import ReachTree
from certiclust.evolution.pool import MAX_PAIRS, SPARSE_FROM, Search
from certiclust.solver.loop import Strategy, evolve_bound_reduce
from certiclust.solver.start import NOWHERE, Start
from certiclust.solver.windows import Window, cut_window
from certiclust.space import Space
from certiclust.space.lists import Floats, Ints, Lists, build_lists, restrict

#: Passes over the matrix that an unproved run may take.
PASSES = 120.0
#: Factor on the budget while windows still improve a solution with many centres.
MAX_EXTENSION = 20.0
#: Centres from which on windows are solved once the budget is spent.
WINDOWS_FROM = 101
#: Sizes of windows, one after the other: centres, work, and windows without success per centre before the next size.
WINDOWS = ((16, 2e6, 1.0), (32, 1e7, 0.5))
#: Work that is charged for the overhead of a window.
WINDOW_OVERHEAD = 2e6
#: Passes over the matrix per centre that new starts may take before the first bound, for few centres.
STARTS = 3.0
#: Nodes of the tree between two rounds of search.
BATCH = 10
#: An ascent from the multipliers of one centre more: they rise by this part over k first; its steps, their length and
#: patience (both small: it starts near the top), how far neighbour lists reach then, and the passes of the search that
#: it guides.
WARM_RISE, WARM_STEPS, WARM_LENGTH, WARM_PATIENCE, WARM_REACH, WARM_PASSES = 0.5, 40, 0.3, 5, 1.2, 0.8
#: Share of the gap that another ascent at the root must have closed for one more to be tried.
WORTH = 0.05


@dataclass(frozen=True)
class Proof:
    """A solution with the witness of its lower bound.

    Attributes
    ----------
    centers
        The k candidates, ascending.
    upper, lower
        Cost of the solution and proven lower bound on the optimum.
    nodes
        The tree of fixings; without branching just the root with its stages.
    granularity
        1.0 if all weighted costs are integers (the bound is rounded up then), else 0.0.
    iterations
        Offspring made by the search.
    """

    centers: Ints
    upper: float
    lower: float
    nodes: list[Node]
    granularity: float
    iterations: int


@dataclass(frozen=True)
class Limits:
    """What ends the loop besides a closed gap; work is counted in distances read (about 2.5 ns each).

    `share` is the part of the usual work that may be done.
    """

    gap_tol: float
    max_iter: float
    should_stop: Callable[[], bool]
    share: float = 1.0


def granularity_of(cost: Floats) -> float:
    """Return 1.0 if all costs are integers small enough to be summed exactly, else 0.0."""
    for row in cost:
        if np.any(row != np.floor(row)):
            return 0.0
    return 1.0 if float(cost.max(initial=0.0)) * cost.shape[1] < 2.0**50 else 0.0


def default_budget(size: int) -> float:
    """Return the work after which an unproved run ends: passes over the matrix, seconds if it is small."""
    return max(PASSES * size, 1.2e9 * min(1.0, (1e6 / max(size, 1)) ** 4))


def single_center(space: Space, weights: Floats, instance: Instance) -> Proof:
    """Solve k = 1 by enumeration, blockwise; with u_i at the largest cost of client i the relaxation is exact."""
    totals, u, unit = np.empty(space.m), np.zeros(space.n), 1.0
    for part, distances in space.blocks():
        cost = distances * weights
        totals[part] = cost.sum(axis=1)
        u = np.maximum(u, cost.max(axis=0))
        unit = min(unit, granularity_of(cost))
    best = int(np.argmin(totals))
    upper = float(totals[best])
    margin = instance.margin(u.size, 2.0 * float(u.sum()))
    none = np.zeros(0, dtype=np.int64)
    lower = min(upper, max(0.0, lift(upper - margin, unit)))
    node = Node(-1, -1, 0, [Stage(u, none, none)], lower)
    return Proof(np.array([best]), upper, lower, [node], unit, 0)


def risen(u: Floats, c1: Floats, c2: Floats, k: int) -> Floats:
    """Return multipliers for k centres, given those for one more.

    With fewer centres all rise; good ones lie between the costs of the two nearest centres.
    """
    return np.clip((1.0 + WARM_RISE / k) * u, c1, c2)


class KMedianStrategy(Strategy):
    """Evolution, Lagrangian bound and reduction of k-median (k >= 2) on a matrix of weighted costs.

    First the root: ascents of the bound, each followed by dropping candidates, until another round is not worth it;
    then branch and bound on what is left.

    Parameters
    ----------
    cost
        Weighted costs, shape (candidates, clients), C-contiguous.
    instance
        Number of centres, granularity, margins.
    limits
        When to end.
    seed
        Seed of all random decisions.
    begin
        Centres, multipliers and sorted distances to start from.
    """

    def __init__(
        self,
        cost: Floats,
        instance: Instance,
        limits: Limits,
        seed: int,
        begin: Start = NOWHERE,
    ) -> None:
        self.cost, self.instance, self.limits = cost, instance, limits
        rng, u = np.random.default_rng(seed), begin.multipliers
        self.search = Search(cost, instance.k, rng, limits.should_stop, limits.max_iter, begin.ranking)
        if u is not None:
            self.search.reach = WARM_REACH
        self.search.start(begin.centers)
        best = self.search.best
        self._lists: Lists | None = None
        self.live: Ints = np.arange(cost.shape[0])
        self.fixed = np.zeros(cost.shape[0], np.int8)
        self._warm = u is not None
        self.u = (
            start_multipliers(best.c1, best.c2, instance.k) if u is None else risen(u, best.c1, best.c2, instance.k)
        )
        self.share: Floats = np.zeros(cost.shape[0])
        self.root = Node(-1, -1, 0)
        self.tree: Tree | ReachTree | None = None
        self.lower = 0.0
        self._budget = limits.share * default_budget(cost.size)
        self._bound_work = 0.0
        self._before = 0.0
        self._last_round = 0.0
        self._rounds = 0
        self._dropped = 0
        #: No neighbour list reaches farther; costs at or above it are as good as forbidden.
        self.most_radius = np.inf
        self.batch = BATCH
        self._gain = 1.0
        self._failed = 0
        self._size = 0

    @property
    def lists(self) -> Lists:
        """Neighbour lists over the live candidates."""
        assert self._lists is not None  # `bound` begins with them
        return self._lists

    @property
    def upper(self) -> float:
        """Cost of the incumbent."""
        return self.search.upper

    def proof(self) -> Proof:
        """Return what was found and proved."""
        nodes = [self.root] if self.tree is None else self.tree.nodes
        lower, granularity = min(self.upper, self.lower), self.instance.granularity
        return Proof(self.search.centers, self.upper, lower, nodes, granularity, self.search.iterations)

    def finished(self) -> bool:
        """Return whether gap, budget or user end the loop."""
        if is_closed(self.lower, self.upper, self.instance.granularity):
            return True
        if self.upper - self.lower <= self.limits.gap_tol * max(self.lower, 0.0):
            return True
        if self.limits.should_stop() or self.search.iterations >= self.limits.max_iter:
            return True
        if self.tree is not None and self.tree.finished:
            return True
        if self.instance.noise > 1e-6 * self.upper:
            return True  # rounding errors drown the costs: nothing can be proved
        if not self._spent:
            return False
        # Many centres: swaps alone end above the optimum, and windows may go on while they still improve.
        k = self.instance.k
        return k < WINDOWS_FROM or self._size == len(WINDOWS) or self._work >= MAX_EXTENSION * self._budget

    @property
    def _work(self) -> float:
        """Work so far, of search and bound."""
        return self.search.work + self._bound_work

    @property
    def _spent(self) -> bool:
        """Whether another round would end nearer to twice than to once the rest of the budget."""
        if self._warm and self._rounds == 0:
            return False  # known multipliers are worth one ascent in any case
        return self._work + 0.5 * self._last_round >= self._budget

    def evolve(self) -> None:
        """Search for a share of the work that was spent on bounds while it still finds something, else for a little."""
        if self._warm and self._rounds == 0:
            return  # the bound comes first: from known multipliers it soon says where to look
        fresh = self.search.fresh
        wanted = (1.0 if fresh else 0.05) * self._bound_work - self.search.work
        # Few centres: the first swaps are nearly optimal. Many: the search needs its share before branching starts.
        least, most = (6.0 if self.instance.k < 40 else 12.0, 25.0) if fresh else (0.3, 5.0)
        if self._rounds == 0:
            least = 1.0  # a first bound early: it guides the search, and a time limit may be short
        self._before = self._work
        if self._spent:
            self._solve_windows()
            return
        if self._rounds == 0 and self.instance.k < SPARSE_FROM:
            # Few centres need no guide: some start ends in the best basin, and swaps find its bottom.
            self.search.restart(int(self.limits.share * STARTS * self.instance.k * self.cost.size))
        self.search.evolve(int(min(max(wanted, least * self.cost.size), most * self.cost.size)))

    def _solve_windows(self) -> None:
        """Solve windows of the incumbent by this very loop, all else held fixed."""
        size, work, failures = WINDOWS[self._size]
        for _ in range(BATCH):
            if self.limits.should_stop() or self.search.iterations >= self.limits.max_iter:
                return
            centers, rng = self.search.centers, self.search.rng
            middle = int(self._failed / failures) % centers.size
            window = cut_window(self.cost, centers, self.live, self.search.home, middle, size, rng)
            part = self._part(window, work)
            evolve_bound_reduce(part, lambda: None)
            self._bound_work += part._work + WINDOW_OVERHEAD
            self.search.iterations += part.search.iterations
            self._failed = 0 if part.upper < window.before * (1.0 - 1e-12) else self._failed + 1
            if part.upper <= window.before:  # an equally good one too, to cross plateaus
                self.search.polish(np.concatenate([window.outside, window.candidates[part.search.centers]]))
        if self._failed >= failures * self.instance.k:
            self._size, self._failed = self._size + 1, 0

    def _part(self, window: Window, work: float) -> KMedianStrategy:
        """Return the strategy that solves a window from its present centres on."""
        instance = self.instance._replace(k=window.start.size)
        limits = replace(self.limits, gap_tol=0.0, max_iter=self.limits.max_iter - self.search.iterations)
        part = KMedianStrategy(window.cost, instance, limits, int(self.search.rng.integers(2**31)))
        part.search.polish(window.start)
        part._budget = work
        return part

    def bound(self) -> None:
        """Ascend at the root, or branch once the root has settled; polish what the relaxation opens."""
        if self._lists is None:
            self._lists = self.search.list_neighbours()
        if self._spent or self._lists is None:
            return
        if self.tree is not None:
            self.tree.upper = self.upper
            self.tree.run(self.batch, self.limits.should_stop, self._budget - self._work)
        elif self._settled():
            self.tree = self._branch()
        else:
            self._ascend()

    def reduce(self) -> None:
        """Take over what the bound proved: the lower bound, and the candidates that are left."""
        if self.tree is not None:
            self._harvest(self.tree)
        self._last_round = self._work - self._before
        self.search.order = self.live
        self.search.favoured = self.live[self.share > 0.01]

    def _ascend(self) -> None:
        first = self._rounds == 0
        patient: dict[str, Any] = {"step": 0.5, "patience": 30, "iterations": 300}
        if self._warm and first:
            patient = {"step": WARM_LENGTH, "patience": WARM_PATIENCE, "iterations": WARM_STEPS, "floor": 0.02}
        elif first:
            patient = {"step": 1.5, "patience": 20, "iterations": 150 if self.instance.k <= 20 else 300}
        ascent = ascend(
            self.lists,
            self.instance,
            self.u,
            self.upper,
            self.fixed,
            should_stop=self.limits.should_stop,
            **patient,
        )
        self._rounds += 1
        self._bound_work += ascent.work + 6.0 * self.u.size * ascent.iterations
        self.u, self.share = ascent.u, ascent.share
        if self._warm:  # a start near the optimum: what is not worth much to the relaxation needs no look
            self.search.favoured = self.live[self.share > 0.01]
        for opened in (np.argsort(-ascent.share, kind="stable")[: self.instance.k], np.flatnonzero(ascent.chosen)):
            self.search.polish(self.live[opened])
        if self._warm and first:
            self.search.evolve(int(WARM_PASSES * self.cost.size))
        self._claim(ascent)

    def _claim(self, ascent: Ascent) -> None:
        """Record the stage of the rounded multipliers, with the candidates that they drop or fix open."""
        granularity = self.instance.granularity
        bound = certify(self.lists, self.instance, ascent, self.upper, self.fixed, fine=True)
        dropped, opened = reduce_candidates(bound, self.fixed, self.upper, granularity)
        last = self._work >= self._budget and self.instance.k < WINDOWS_FROM
        if last or is_closed(bound.lower, self.upper, granularity):  # nothing comes after that would be cheaper
            dropped[:] = False
            opened[:] = False
        if bound.lower > self.root.lower or dropped.any() or opened.any():
            self.root.stages.append(Stage(bound.u, self.live[dropped], self.live[opened]))
            self.root.lower = max(self.root.lower, bound.lower)
        before, self.lower = self.lower, min(self.upper, max(self.lower, self.root.lower))
        self._gain = (self.lower - before) / max(self.upper - before, 1e-300)
        self.fixed[opened] = 1
        self._dropped = int(dropped.sum())
        if self._dropped:
            keep = ~dropped
            self._lists, self.fixed, self.live = restrict(self.lists, keep), self.fixed[keep], self.live[keep]
            self.share = self.share[keep]
        if not last:
            self._widen()

    def _widen(self) -> None:
        """Double the radius of clients whose multiplier is held down by it: the bound would stay below its best."""
        held = (self.u >= self.lists.radius * (1.0 - 1e-9)) & (self.lists.radius > 0)
        held &= self.lists.radius < self.most_radius
        if not held.any() or self.lists.n_pairs * 2 > MAX_PAIRS:
            return
        radius = np.where(held, np.minimum(2.0 * self.lists.radius, self.most_radius), self.lists.radius)
        cost = self.cost if self.live.size == len(self.cost) else self.cost[self.live]
        wider = build_lists(cost, radius, self.limits.should_stop)
        if wider is not None:
            self._lists = wider

    def _settled(self) -> bool:
        """Return whether another round at the root is not worth it."""
        k = self.instance.k
        if self.live.size <= k or int(self.fixed.sum()) >= k:
            return True
        rising = self._gain > WORTH
        return (self._rounds >= 3 and self._dropped < 0.1 * self.live.size and not rising) or self._rounds >= 20

    def _branch(self) -> Tree | ReachTree:
        """Return the tree whose root is the reduced problem."""
        return Tree(
            self.lists,
            self.live,
            np.flatnonzero(self.fixed == 1),
            self.instance,
            self.root,
            self.u,
            self.share,
            self.upper,
            lambda centers: np.asarray(self.cost[centers].min(axis=0)),
        )

    def _harvest(self, tree: Tree | ReachTree) -> None:
        """Polish the proposals of the tree, and take over its bound."""
        self._bound_work += tree.take_work()
        for proposal in tree.proposals:
            self.search.polish(proposal)
        tree.proposals.clear()
        tree.upper = self.upper
        self.lower = max(self.lower, tree.lower)
