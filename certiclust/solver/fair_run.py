"""Fair k-median through the loop: the mode's costs, what is proved about them, and what if nothing is fair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, rounding_margin
from certiclust.bounds.branch_and_bound import pack
from certiclust.bounds.lagrangian import Instance
from certiclust.evolution.pool import SPARSE_FROM
from certiclust.problems import FairKMedianProblem, KMedianProblem
from certiclust.solver.fair import FairCosts, FairStrategy, fair_costs, single_fair_center
from certiclust.solver.fair_cover import Clock, least_beta, reach_sets, refute, search_cover
from certiclust.solver.fair_points import FairPointsStrategy
from certiclust.solver.kmedian import Limits, Proof, granularity_of
from certiclust.solver.kmedian_run import cost_unit
from certiclust.solver.loop import evolve_bound_reduce
from certiclust.space.cover import reduced_cover
from certiclust.space.space import matrix_budget

IntArray = NDArray[np.intp]
Record = Callable[[int, float, float, int], None]

#: Factor on the budget of k-median in strict mode: strictly fair sets are harder to find and to prove. Another one for
#: few centres, whose swaps read whole rows and are faster at that.
PATIENCE, FEW = 5.0, 1.7
#: The same for bounds on strictly fair sets in the modes with balls, and for solutions of Algorithm 1.
ASIDE = 0.3
#: Starts of the search in a row that end unfair before covers are searched for.
STARTS = 3


@dataclass(frozen=True)
class Fairness:
    """What there is to say about fairness besides the bound.

    Attributes
    ----------
    problem : FairKMedianProblem
        What was solved in the end: with a larger beta where that was needed and allowed.
    asked : float
        The beta asked for.
    fair_lower_bound : float
        No strictly fair set, for the beta of `problem`, costs less.
    infeasible : dict or None
        Proof that no set is fair for the beta asked for.
    found : bool
        Whether a set was found that keeps the constraints of the problem asked for.
    """

    problem: FairKMedianProblem
    asked: float
    fair_lower_bound: float
    infeasible: dict[str, Any] | None = None
    found: bool = True


@dataclass(frozen=True)
class FairRun:
    """Centres, ascending, the bound with its witness, what is said about fairness, and how much was done."""

    centers: IntArray
    bound: Bound
    fairness: Fairness
    iterations: int = 0
    nodes: int = 1


@dataclass
class _Setting:
    """What all parts of a run need."""

    problem: FairKMedianProblem
    limits: Limits
    clock: Clock
    seed: int
    record: Record = field(default=lambda *_: None)

    @property
    def unit(self) -> float:
        """The power of two in which costs are counted."""
        return cost_unit(self.problem.space)

    def instance(self, costs: FairCosts | None = None) -> Instance:
        """Return the sizes and margins of the relaxation; integral costs are looked for where they are given."""
        space = self.problem.space
        noise = rounding_margin(space, 1)[1] * self.problem.k * float(space.weights.sum()) / self.unit
        exact = costs is not None and self.unit == 1.0 and costs.bound is costs.search
        granularity = granularity_of(costs.bound) if costs is not None and exact else 0.0
        return Instance(self.problem.k, granularity, space.points.shape[1], noise)


def run_fair(problem: FairKMedianProblem, limits: Limits, clock: Clock, seed: int, record: Record) -> FairRun:
    """Run the loop on a fair k-median problem, with the matrix where it is held and small enough for a second one.

    Parameters
    ----------
    problem : FairKMedianProblem
        What to solve.
    limits, clock : Limits and Clock
        When to end.
    seed : int
        Seed of all random decisions.
    record : callable
        Told about iterations, cost, bound and candidates left after every round.
    """
    space = problem.space
    if space.matrix is not None and space.matrix.size > matrix_budget() // 2 and space.metric.compiled:
        problem = replace(problem, space=replace(space, matrix=None))  # there is no room for costs beside it
    here = _Setting(problem, limits, clock, seed, record)
    run = _solved(here, problem.strict)
    if not problem.strict:
        return _with_fair_bound(here, run)
    if run.fairness.found or limits.should_stop():
        return run
    proof, found = refute(problem, clock)
    if found is not None and problem.violations(np.asarray(found, dtype=np.intp)) == 0:
        return _solved(here, True, found)
    return _relaxed(here, proof)


def penalised(problem: FairKMedianProblem) -> KMedianProblem:
    """Return the k-median problem whose costs have a penalty for every point out of reach: what Algorithm 1 is run on.

    Its order of solutions is lexicographic: fewer points out of reach, then lower cost.
    """
    if problem.space.matrix is None:
        raise ValueError(
            f"mode='strict' with algorithm='gsemo' or another evolutionary one needs the distance matrix of "
            f"{problem.space.n} rows, which is above the working memory; use algorithm='auto' or raise "
            "sklearn.set_config(working_memory=...)."
        )
    costs = fair_costs(problem, problem.space.weights, strict=True).search
    space = replace(problem.space, matrix=costs, weights=np.ones(problem.space.n), own=False, power=None)
    return KMedianProblem(space, problem.k)


def bound_fair(problem: FairKMedianProblem, centers: IntArray, limits: Limits, clock: Clock, seed: int) -> FairRun:
    """Bound what a given solution may be compared with."""
    here = _Setting(problem, limits, clock, seed)
    run = _solved(here, problem.strict, centers.astype(np.int64), aside=True)
    fairness = replace(run.fairness, found=problem.violations(centers) == 0)
    run = replace(run, centers=centers, fairness=fairness)
    return run if problem.strict else _with_fair_bound(here, run)


def _relaxed(here: _Setting, proof: dict[str, Any] | None) -> FairRun:
    """Return the answer for the least beta found; without optimisation if that was not asked for."""
    problem = here.problem
    beta, centers = least_beta(problem, here.seed, here.clock)
    wider = replace(problem, beta=beta) if beta < inf else problem
    if not problem.relax or not beta < inf:
        fairness = Fairness(wider, problem.beta, 0.0, proof, found=False)
        return FairRun(_filled(centers, problem), Bound(0.0, None, "", ""), fairness)
    run = _solved(replace(here, problem=wider), True, centers)
    return replace(run, fairness=replace(run.fairness, asked=problem.beta, infeasible=proof, found=False))


def _filled(centers: NDArray[np.int64], problem: FairKMedianProblem) -> IntArray:
    """Return k candidates, those that are missing filled up by index."""
    spare = np.setdiff1d(np.arange(problem.space.m), centers)
    return np.sort(np.concatenate([centers, spare[: problem.k - centers.size]])).astype(np.intp)


def _solved(here: _Setting, strict: bool, start: NDArray[np.int64] | None = None, aside: bool = False) -> FairRun:
    """Run the loop on the costs of one kind of constraint; `aside`: for the sake of the bound, fair or not."""
    problem, weights = here.problem, here.problem.space.weights / here.unit
    if problem.k == 1:
        return _finished(here, single_fair_center(problem, weights, here.instance(), strict))
    if problem.space.matrix is None:
        return _solved_from_points(here, strict, start, aside)
    costs = fair_costs(problem, weights, strict)
    strategy = FairStrategy(costs, here.instance(costs), here.limits, here.seed)
    if aside:
        strategy.stretch(ASIDE)
    elif strict:
        strategy.stretch(PATIENCE * (FEW if problem.k < SPARSE_FROM else 1.0))
    if start is not None:
        strategy.search.polish(np.asarray(start, dtype=np.int64))
    if strict and not aside:
        _repair(here, strategy)
    strategy.aim()
    if strategy.fair or aside or not strict:
        evolve_bound_reduce(strategy, lambda: _note(here, strategy))
    return _finished(here, strategy.proof())


def _solved_from_points(here: _Setting, strict: bool, start: NDArray[np.int64] | None, aside: bool) -> FairRun:
    """Run the loop without a matrix."""
    problem, weights = here.problem, here.problem.space.weights / here.unit
    strategy = FairPointsStrategy(problem, strict, weights, here.instance(), here.limits, here.seed)
    if start is not None:
        strategy.offer(start)
    evolve_bound_reduce(strategy, lambda: _note(here, strategy))
    if strict and not aside and not strategy.fair and not here.limits.should_stop():
        cover = reduced_cover(np.arange(problem.space.n), reach_sets(problem.space, problem.beta * problem.radii))
        found = search_cover(problem.space, problem.k, cover, here.seed, here.clock)
        if found is not None:
            strategy.offer(found)
    return _finished(here, strategy.proof())


def _repair(here: _Setting, strategy: FairStrategy) -> None:
    """Look for a fair set: new starts, then covers, each polished by swaps."""
    problem, search = here.problem, strategy.search
    for _ in range(STARTS):
        if strategy.fair or here.limits.should_stop():
            return
        search.start()
    if strategy.fair:
        return
    cover = reduced_cover(np.arange(problem.space.n), reach_sets(problem.space, problem.beta * problem.radii))
    found = search_cover(problem.space, problem.k, cover, here.seed, here.clock)
    if found is not None:
        search.polish(found)


def _note(here: _Setting, strategy: FairStrategy | FairPointsStrategy) -> None:
    proof = strategy.proof()
    upper = proof.upper * here.unit if strategy.fair else inf
    here.record(proof.iterations, upper, proof.lower * here.unit, strategy.live.size)


def _finished(here: _Setting, proof: Proof) -> FairRun:
    """Return what was found and proved, rounding subtracted."""
    relative, _ = rounding_margin(here.problem.space, here.problem.space.n)
    fair = here.problem.violations(np.asarray(proof.centers, dtype=np.intp)) == 0
    value = here.unit * (proof.lower if proof.granularity > 0 else max(0.0, proof.lower * (1 - relative)))
    tree = {**pack(proof.nodes, proof.granularity, here.unit), "upper": proof.upper * here.unit}
    bound = Bound(value, None, "", "Lagrangian bound", {"tree": tree})
    fairness = Fairness(here.problem, here.problem.beta, value, found=fair)
    return FairRun(np.asarray(proof.centers, dtype=np.intp), bound, fairness, proof.iterations, len(proof.nodes))


def _with_fair_bound(here: _Setting, run: FairRun) -> FairRun:
    """Add what strictly fair sets cost at least: they meet every ball, but often cost more."""
    problem = here.problem
    fair = float(problem.fairness(run.centers).max()) <= problem.beta
    if problem.k == 1 or fair or here.limits.should_stop():
        return run
    quiet = replace(here, record=lambda *_: None)
    side = _solved(quiet, True, run.centers.astype(np.int64), aside=True)
    if side.fairness.fair_lower_bound <= run.bound.value:
        return run
    bound = replace(run.bound, witness={**run.bound.witness, "fair_tree": side.bound.witness["tree"]})
    fairness = replace(run.fairness, fair_lower_bound=side.fairness.fair_lower_bound)
    return replace(run, bound=bound, fairness=fairness)
