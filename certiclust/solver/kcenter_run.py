"""k-center through the loop: what was found, and what it proves as a bound with its witness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, rounding_margin
from certiclust.bounds.packing import Packing, relaxed_cover, whole
from certiclust.problems import KCenterProblem
from certiclust.solver.kcenter import KCenterStrategy, Limits
from certiclust.solver.loop import evolve_bound_reduce
from certiclust.space import Space
from certiclust.space.cover import ClientLists
from certiclust.space.farthest import farthest_first

#: Clients of the packing that says where to begin the search for the fewest centres.
MOST_CLIENTS = 2000

Record = Callable[[int, float, float, int], None]


@dataclass(frozen=True)
class KCenterRun:
    """Centres, ascending, the bound with its witness, how much was done, and in words how."""

    centers: NDArray[np.intp]
    bound: Bound
    iterations: int
    method: str


def run_kcenter(problem: KCenterProblem, limits: Limits, seed: int, record: Record) -> KCenterRun:
    """Run the loop on a k-center problem.

    Every start is a farthest-first solution, for which f1 >= 0: the k + 1 points that prove ratio 2 are there from the
    first moment, and Algorithm 1, where iterations are given, may better them.
    """
    strategy = KCenterStrategy(problem, limits, seed)

    def note() -> None:
        record(strategy.steps, strategy.upper, strategy.lower, strategy.live)

    evolve_bound_reduce(strategy, note)
    return _run_of(strategy)


def _run_of(strategy: KCenterStrategy) -> KCenterRun:
    problem = strategy.problem
    centers = np.asarray(strategy.search.centers, dtype=np.intp)
    bound = _with_cover(problem, strategy.separation, strategy.witness)
    proof = bound.witness.get("cover", {}).get("proof", "separation")
    how = "GSEMO and tabu search" if strategy.iterations else "farthest-first starts and tabu search"
    proof = "HiGHS, whom it trusts" if proof == "solver" else proof
    method = f"{how} for covers, {strategy.steps:,} iterations; lower bound by {proof}"
    return KCenterRun(centers, bound, max(1, strategy.steps), method)


def _with_cover(problem: KCenterProblem, bound: Bound, witness: dict[str, Any]) -> Bound:
    """Return the bound raised to the threshold of a witness, lowered by what the true distances may differ from ours.

    A verifier takes a candidate as covering where its own distance is below the stored threshold; that the stored one
    leaves room for another rounding is the strategy's care. The numbers of a given matrix are the same for both.
    """
    if not witness:
        return bound
    value = witness["threshold"]
    if problem.space.metric.name != "precomputed":
        relative, absolute = rounding_margin(problem.space, 1)
        value = value * (1 - relative) - absolute
    return replace(bound, value=value, witness={**bound.witness, "cover": witness}) if value > bound.value else bound


@dataclass(frozen=True)
class LeastCenters:
    """The fewest centres found for a radius, and what is known about one fewer.

    Attributes
    ----------
    k : int
        Number of centres whose radius is at most the one asked for.
    enough : KCenterRun
        The solution with k centres.
    fewer : KCenterRun or None
        The run with k - 1 centres whose bound proves that they do not suffice; None for k = 1, or if `proved` is false.
    proved : int
        No fewer centres than this suffice.
    """

    k: int
    enough: KCenterRun
    fewer: KCenterRun | None
    proved: int


def least_centers(space: Space, radius: float, limits: Limits, seed: int) -> LeastCenters:
    """Find the least k whose optimal radius is at most `radius`: up from where the packing bound says no more.

    Parameters
    ----------
    space : Space
        Clients, which are the candidates as well.
    radius : float
        The radius that must suffice, at least 0.
    limits : Limits
        When to end; the target is set here.
    seed : int
        Seed of all random decisions.
    """
    limits = replace(limits, target=radius)
    enough_at, first = _packing_start(space, radius, limits)
    proved, fewer = 1, None
    if first > 1:
        run = _decide(KCenterProblem(space, first - 1), limits, seed)
        if run.bound.value > radius:
            proved, fewer = first, run
        else:
            first = 1  # the relaxation promised more than could be proved again: ask about every k
    k = first
    while k < enough_at and not limits.should_stop():
        problem = KCenterProblem(space, k)
        run = _decide(problem, limits, seed)
        if problem.cost(run.centers) <= radius:
            return LeastCenters(k, run, fewer if proved == k else None, proved)
        if run.bound.value > radius and proved == k:
            proved, fewer = k + 1, run
        k += 1
    problem = KCenterProblem(space, enough_at)
    run = _decide(problem, limits, seed, farthest=radius)
    return LeastCenters(enough_at, run, fewer if proved == enough_at else None, proved)


def _decide(problem: KCenterProblem, limits: Limits, seed: int, farthest: float | None = None) -> KCenterRun:
    """Run the loop until the target is reached or refuted; `farthest` starts from the first farthest-first solution."""
    strategy = KCenterStrategy(problem, limits, seed)
    if farthest is not None:
        strategy.search.offer(farthest_first(problem.space, problem.k, 0)[0])
    evolve_bound_reduce(strategy, lambda: None)
    return _run_of(strategy)


def _packing_start(space: Space, radius: float, limits: Limits) -> tuple[int, int]:
    """Return a number of centres that suffices, by farthest first, and one that is needed, by a packing."""
    order, at, _ = farthest_first(space, space.n, 0, floor=radius)
    enough = int(order.size)
    if enough == 1 or limits.should_stop():
        return enough, 1
    threshold = float(np.nextafter(radius, inf))
    lists = ClientLists(space, order[at > radius][:MOST_CLIENTS], threshold)
    cover = lists.reduced(threshold)
    y = whole(relaxed_cover(cover, limits.seconds()).y)
    weights = np.zeros(lists.clients.size, dtype=np.int64)
    weights[lists.place[cover.clients]] = y
    needed = 1
    while needed < enough and Packing(lists, weights, needed).proves(threshold):
        needed += 1
    return enough, needed
