"""Fair k-median as k-median with penalties: one strategy for all three modes.

A set that is unfair pays a penalty, larger than what any fair set costs, for every constraint that it breaks. In strict
mode a point pays it at each candidate out of its reach. In the modes with balls every critical ball is one more client,
served for nothing inside the ball and for the penalty elsewhere. So swaps repair fairness before they lower the cost,
and the Lagrangian bound, its reduction and its tree hold for fair sets: with lists cut at the reach in strict mode, and
with the multipliers of the balls otherwise, which at their best give the bound of PROOFS.md part 7 (the inner problem,
one candidate of each ball and the cheapest of the rest, has an integral relaxation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import rounding_margin
from certiclust.bounds.branch_and_bound import Node, Stage, Tree
from certiclust.bounds.lagrangian import Instance
from certiclust.bounds.reach_tree import MOST_CLIENTS, MOST_PAIRS, ReachTree
from certiclust.bounds.service_program import ServiceProgram
from certiclust.evolution.pool import MAX_PAIRS, RADIUS_FACTOR, Search
from certiclust.problems import FairKMedianProblem
from certiclust.solver.kmedian import WINDOWS_FROM, KMedianStrategy, Limits, Proof, risen
from certiclust.solver.start import NOWHERE, Start
from certiclust.space.lists import Floats, Ints, build_lists
from certiclust.space.space import matrix_budget

#: Searches at lower penalties after a round while the gap is above `WIDE` and not too many in a row failed.
SOFT_ROUNDS, WIDE = 6, 0.01
#: Share of the bound's work that these searches may take before they are made one at a time.
SOFT_SHARE = 0.5
#: Passes over the costs of such a search, and solutions that are repaired after it.
SOFT_PASSES, REPAIRS = 10.0, 8
#: Powers of ten between which the lowered penalty is drawn, in units of what a client pays on average.
SOFTNESS = (0.0, 0.8)
#: Ascents before linear programs take over.
ASCENTS = 2
#: Nodes of a tree of linear programs between two rounds of search.
SPLITS = 2
#: A computed distance and a computed reach this close to each other, in rounding errors, may be either way round.
DOUBT = 4.0


class FairCosts(NamedTuple):
    """What candidates (rows) charge clients (columns), the balls as the last clients.

    Attributes
    ----------
    search : ndarray of shape (m, n + q)
        Costs with penalties, every comparison with a reach as it was computed.
    bound : ndarray of shape (m, n + q)
        The same, but nothing is forbidden that only rounding may have put out of reach; `search` itself if there is no
        such pair.
    far : ndarray of shape (n + q,)
        The most that a client pays without a penalty.
    penalty : float
        More than any fair set costs.
    distant : ndarray of shape (m, n) or None
        What the points would pay without penalties, where they are the constraints.
    """

    search: Floats
    bound: Floats
    far: Floats
    penalty: float
    distant: Floats | None = None


def reaches(problem: FairKMedianProblem) -> tuple[Floats, Floats]:
    """Return how far every point's centre may be: as computed, and so much more as rounding may hide."""
    relative, absolute = rounding_margin(problem.space, 1)
    reach = problem.beta * problem.radii
    return reach, reach * (1.0 + DOUBT * relative) + DOUBT * absolute


def fair_costs(problem: FairKMedianProblem, weights: Floats, strict: bool, sites: Ints | None = None) -> FairCosts:
    """Return the costs of a problem, of all candidates or of some.

    Parameters
    ----------
    problem : FairKMedianProblem
        What is asked.
    weights : ndarray
        Weights of the points, in the unit in which costs are counted.
    strict : bool
        Whether the points or the balls are the constraints.
    sites : ndarray or None, default=None
        The candidates; None for all, if their matrix is held.
    """
    distances = problem.space.matrix if sites is None else problem.space.distances(sites.astype(np.intp))
    assert distances is not None
    reach, loose = reaches(problem)
    (m, n), distant = distances.shape, None
    # The balls are columns of their own, beside those of the points.
    every = np.empty((m, n + (0 if strict else len(problem.balls))))
    costs = np.multiply(distances, weights, out=every[:, :n])
    if strict:
        penalty = _penalty(float((weights * loose).sum()), float(costs.max()))
        doubtful = bool(np.any((distances > reach) & (distances <= loose)))
        bound = np.where(distances <= loose, costs, penalty) if doubtful else None
        distant = distances if np.all(weights == 1.0) else costs.copy()
        costs[distances > reach] = penalty
        far = weights * loose
    else:
        penalty = _penalty(float(costs.max(axis=0).sum()), 0.0)
        inside, doubted = problem.balls, problem.inside_balls(loose)
        if sites is not None:
            inside, doubted = inside[:, sites], doubted[:, sites]
        every[:, n:] = np.where(inside.T, 0.0, penalty)
        bound = np.hstack([costs, np.where(doubted.T, 0.0, penalty)]) if np.any(inside != doubted) else None
        far = np.concatenate([np.full(problem.space.n, np.inf), np.zeros(len(inside))])
    return FairCosts(every, every if bound is None else bound, far, penalty, distant)


def _penalty(most: float, largest: float) -> float:
    """Return a whole number above `most`, so that integral costs stay integral."""
    penalty = max(1.01 * most, largest)
    if penalty <= 0.0:
        return 1.0
    return float(np.ceil(penalty) + 1.0) if penalty < 2.0**50 else penalty


def list_radius(costs: FairCosts, second: Floats) -> Floats:
    """Return how far the lists of each client reach: to the end of its reach if that is not too much.

    Parameters
    ----------
    costs : FairCosts
        The costs.
    second : ndarray
        What each client pays at its second-nearest centre, or at the end of its reach if that is nearer.
    """
    penalty, far = costs.penalty, costs.far
    sample = np.linspace(0, far.size - 1, min(far.size, 200)).astype(np.int64)
    radius = second
    for factor in (np.inf, 2.5, RADIUS_FACTOR, 1.2, 1.0, 0.8, 0.6):
        wanted = np.where(np.isfinite(far), penalty, RADIUS_FACTOR * second) if factor == np.inf else factor * second
        radius = np.where(far == 0.0, penalty, np.minimum(wanted, penalty))
        pairs = np.count_nonzero(costs.bound[:, sample] < radius[sample]) * (far.size / sample.size)
        if pairs <= MAX_PAIRS:
            break
    return np.ascontiguousarray(radius)


class FairStrategy(KMedianStrategy):
    """The loop of k-median on penalised costs (k >= 2).

    Where many constraints are tight, swaps between fair sets end early. So now and then the penalty is lowered to a few
    times what a client pays on average, the search goes on from there through sets that are not quite fair, and what it
    finds is repaired at the full penalty.

    Parameters
    ----------
    costs
        The costs.
    instance, limits, seed
        As for k-median.
    seconds
        Seconds left, for linear programs.
    begin
        As for k-median; the multipliers are those of the points.
    """

    def __init__(
        self,
        costs: FairCosts,
        instance: Instance,
        limits: Limits,
        seed: int,
        seconds: Callable[[], float],
        begin: Start = NOWHERE,
    ) -> None:
        super().__init__(costs.search, instance, limits, seed, replace(begin, multipliers=None))
        self.costs, self.begin, self._seconds = costs, begin, seconds
        self._warm = begin.multipliers is not None
        self.cost = costs.bound
        self.most_radius = costs.penalty
        self._soft_work = 0.0
        self._soft_fails = 0

    @property
    def _work(self) -> float:
        """Work so far, of search and bound."""
        return self.search.work + self._bound_work + self._soft_work

    @property
    def fair(self) -> bool:
        """Whether the incumbent pays no penalty."""
        return self.upper < self.costs.penalty

    def evolve(self) -> None:
        """Search as for k-median, then with lower penalties, a share of the bound's work while the gap is wide."""
        super().evolve()
        wide = self.upper - self.lower > WIDE * self.lower
        rounds = 1
        # Few centres: the best set is soon found, and the work is better spent on the tree.
        if wide and self._soft_fails < 2 * self.instance.k + 4:
            behind = self._soft_work < SOFT_SHARE * self._bound_work
            rounds = SOFT_ROUNDS if self.tree is None or behind else 1
        small = self.costs.search.size <= matrix_budget() // 4  # lowered penalties need two more matrices
        if self.costs.distant is not None and small and self._rounds > 0 and self.search.k < self.search.order.size:
            for _ in range(rounds):
                if self._spent or self.limits.should_stop() or self.search.iterations >= self.limits.max_iter:
                    break
                self._soften()

    def _soften(self) -> None:
        """Search at a lower penalty from the incumbent or another good solution, and repair what is found."""
        hard, rng, distant = self.search, self.search.rng, self.costs.distant
        assert distant is not None
        factor = 10.0 ** rng.uniform(*SOFTNESS)
        fee = factor * self.upper / self.costs.far.size
        allowed = self.costs.search < self.costs.penalty
        soft = Search(
            np.where(allowed, self.costs.search, distant + fee),
            hard.k,
            rng,
            self.limits.should_stop,
            self.limits.max_iter - hard.iterations,
        )
        soft.order = hard.order
        soft.polish(hard.centers if rng.random() < 0.7 else hard.pool[int(rng.integers(len(hard.pool)))][1])
        soft.favoured = hard.favoured
        soft.evolve(int(SOFT_PASSES * allowed.size))
        hard.iterations += soft.iterations
        self._soft_work += 1.5 * soft.work + 6.0 * allowed.size
        before = self.upper
        core, hard.favoured = hard.favoured, hard.favoured[:0]  # a repair needs all candidates
        for _, found in soft.pool[:REPAIRS]:
            hard.polish(found)
        hard.favoured = core
        self._soft_fails = 0 if self.upper < before else self._soft_fails + 1

    def stretch(self, factor: float) -> None:
        """Multiply the work after which an unproved run ends; windows stretch that of many centres by themselves."""
        self._budget *= factor if self.instance.k < WINDOWS_FROM else min(factor, 1.0)

    def _programmable(self) -> bool:
        """Return whether linear programs are worth it: the reach of points is the constraint, and lists hold it all."""
        lists, costs = self.lists, self.costs
        whole = costs.distant is not None and bool(np.all(lists.radius >= costs.penalty))
        small = lists.n_pairs <= MOST_PAIRS and lists.radius.size <= MOST_CLIENTS
        return whole and self.fair and small and int(np.diff(lists.row_ptr).min()) > 0 and self.upper > 0.0

    def _settled(self) -> bool:
        """Return whether another ascent is not worth it; soon, if a linear program may follow."""
        return super()._settled() or (self._rounds >= ASCENTS and self._programmable())

    def _branch(self) -> Tree | ReachTree:
        """Return the tree, of linear programs where they are worth it."""
        lists = self.lists
        if not self._programmable():
            return super()._branch()
        k, stop = self.instance.k, self.limits.should_stop
        program = ServiceProgram(lists, k, self.upper, self.u, stop, self._seconds, self._budget - self._work)
        opened = np.flatnonzero(self.fixed == 1)
        self.batch = SPLITS
        return ReachTree(program, self.live, opened, self.instance, self.root, self.upper)

    def reduce(self) -> None:
        """Take over what the bound proved, and which candidates the last program uses."""
        if isinstance(self.tree, ReachTree):
            self.share = self.tree.share
        super().reduce()

    def aim(self) -> None:
        """Start bound and lists from the incumbent; a penalty is no distance, so the reach stands for it."""
        best, far = self.search.best, self.costs.far
        first = np.minimum(best.c1, far)
        second = np.maximum(first, np.minimum(best.c2, far))
        self.u = 0.5 * (first + second)
        if self.begin.multipliers is not None:
            n = self.begin.multipliers.size
            self.u[:n] = risen(self.begin.multipliers, first[:n], second[:n], self.instance.k)
        radius = list_radius(self.costs, second)
        stop, ranking = self.limits.should_stop, self.begin.ranking
        self.search.lists = build_lists(self.costs.search, radius, stop, ranking)
        same = self.costs.bound is self.costs.search
        self._lists = self.search.lists if same else build_lists(self.costs.bound, radius, stop, ranking)


def single_fair_center(problem: FairKMedianProblem, weights: Floats, instance: Instance, strict: bool) -> Proof:
    """Solve k = 1 by enumeration, blockwise; at these multipliers the relaxation is exact."""
    space, n = problem.space, problem.space.n
    reach, loose = reaches(problem)
    balls = np.zeros((0, space.m), dtype=bool) if strict else problem.balls
    doubted = balls if strict else problem.inside_balls(loose)
    totals = np.empty(space.m)
    unfair: NDArray[np.bool_] = np.asarray(~balls.all(axis=0))
    u, forbidden = np.zeros(n + len(balls)), np.append(np.zeros(n, dtype=bool), ~doubted.all(axis=1))
    for part, distances in space.blocks():
        cost = distances * weights
        totals[part] = cost.sum(axis=1)
        if strict:
            out = distances > loose
            cost[out] = 0.0
            forbidden[:n] |= out.any(axis=0)
            unfair[part] |= (distances > reach).any(axis=1)
        u[:n] = np.maximum(u[:n], cost.max(axis=0))
    best = int(np.argmin(np.where(unfair, np.inf, totals)))
    u[forbidden] += totals[best]
    least = np.inf
    for part, distances in space.blocks():
        gain = distances * weights
        gain -= u[:n]
        np.minimum(gain, 0.0, out=gain)
        if strict:
            gain[distances > loose] = 0.0
        least = min(least, float((gain.sum(axis=1) - u[n:] @ doubted[:, part]).min()))
    value = float(u.sum()) + least - instance.margin(u.size, 2.0 * float(u.sum()))
    lower = min(float(totals[best]), max(0.0, value))
    none = np.zeros(0, dtype=np.int64)
    node = Node(-1, -1, 0, [Stage(u, none, none)], lower)
    return Proof(np.array([best]), float(totals[best]), lower, [node], 0.0, 0)
