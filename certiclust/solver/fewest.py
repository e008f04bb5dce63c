"""The fewest clusters for a given radius or diameter: k-center and k-tMM the other way round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import rounding_margin
from certiclust.bounds.packing import Packing, relaxed_cover, whole
from certiclust.evolution.gsemo import HISTORY
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.problems import KCenterProblem, KTMMProblem
from certiclust.solver.kcenter import KCenterStrategy, Limits
from certiclust.solver.kcenter_run import KCenterRun, run_of
from certiclust.solver.loop import evolve_bound_reduce
from certiclust.solver.result import Budget, Result
from certiclust.solver.solve import solve
from certiclust.solver.start import Start
from certiclust.space import Space
from certiclust.space.cover import ClientLists
from certiclust.space.farthest import farthest_first

Labels = NDArray[np.int32]

#: Clients of the packing that says where to begin for a radius.
MOST_CLIENTS = 2000


@dataclass(frozen=True)
class Fewest:
    """The least number of clusters that was found, and the least that is possible.

    Attributes
    ----------
    result : Result
        A solution with `k` clusters whose radius or diameter is small enough.
    k, lower : int
        Its number of clusters, and the proved least number: they are equal if the answer is proved.
    refuted : Result or None
        A result for ``lower - 1`` clusters whose bound exceeds what is allowed; None if `lower` is 1, and for a radius
        if the answer is not proved.
    """

    result: Result
    k: int
    lower: int
    refuted: Result | None


def fewest_for_diameter(space: Space, diameter: float, budget: Budget, *, random_state: int, certify: bool) -> Fewest:
    """Find the least k for which k clusters of diameter at most `diameter` hold all points.

    Points farther apart than the diameter need clusters of their own: their number bounds k from below, a greedy
    partition bounds it from above, and k-tMM with the diameter as its goal decides between.

    Parameters
    ----------
    space : Space
        The points.
    diameter : float
        The largest diameter allowed.
    budget : Budget
        When to end, all together.
    random_state : int
        Seed.
    certify : bool
        Whether the results carry their bounds.
    """
    start = perf_counter()

    def left() -> Budget:
        if budget.time_limit is None:
            return budget
        return replace(budget, time_limit=max(1e-9, budget.time_limit - (perf_counter() - start)))

    def decide(k: int) -> Result:
        return solve(KTMMProblem(space, k), "auto", replace(left(), goal=diameter), random_state=random_state)

    with catch_interrupt():
        relative, absolute = rounding_margin(space, 1)
        far, gaps, _ = farthest_first(space, space.n, 0, floor=diameter)
        lower = int(np.count_nonzero(gaps * (1 - relative) - absolute > diameter))
        labels = _first_fit(space, far, diameter)
        refuted: Result | None = None
        k, low, step, found = int(labels.max()) + 1, len(far), 1, False
        while low < k:
            # Upwards in growing steps until there is an answer, then halving what is left.
            trial = (low + k - 1) // 2 if found else min(low + step - 1, k - 1)
            result = decide(trial)
            if result.labels is not None and result.cost <= diameter:
                k, labels, found = trial, result.labels, True
            else:
                low, step = trial + 1, 2 * step
                if result.bound is not None and result.bound.value > diameter:
                    lower, refuted = trial + 1, result
            if result.interrupted or result.timed_out:
                break
        if refuted is None and lower > 1:
            refuted = decide(lower - 1)
        problem = KTMMProblem(space, k)
        final = solve(problem, "auto", left(), random_state=random_state, certify=certify, begin=Start(labels=labels))
        return Fewest(final, k, lower, refuted)


def _first_fit(space: Space, centers: NDArray[np.intp], diameter: float) -> Labels:
    """Return a partition into clusters small enough: by nearest centre, and each part filled up point by point."""
    parts = space.assign(np.sort(centers))[0]
    labels = np.full(space.n, -1, dtype=np.int32)
    label = 0
    for part in range(len(centers)):
        rest = np.flatnonzero(parts == part)
        while len(rest):
            open_ = np.ones(len(rest), dtype=bool)
            taken = np.zeros(len(rest), dtype=bool)
            while open_.any():
                i = int(open_.argmax())
                taken[i], open_[i] = True, False
                open_ &= space.between(rest[i : i + 1], rest)[0] <= diameter
            labels[rest[taken]] = label
            label += 1
            rest = rest[~taken]
    return labels


def fewest_for_radius(space: Space, radius: float, budget: Budget, *, random_state: int, certify: bool) -> Fewest:
    """Find the least k whose optimal radius is at most `radius`.

    Parameters
    ----------
    space : Space
        Clients, which are the candidates as well.
    radius : float
        The radius that must suffice, at least 0.
    budget : Budget
        When to end, all together; only its time limit counts.
    random_state : int
        Seed.
    certify : bool
        Whether the results carry their bounds.
    """
    start, limit = perf_counter(), budget.time_limit
    with catch_interrupt() as interrupted:

        def seconds() -> float:
            return inf if limit is None else start + limit - perf_counter()

        limits = Limits(0.0, inf, lambda: interrupted() or seconds() <= 0, seconds, target=radius)
        k, enough, fewer, proved = _climb(space, radius, limits, random_state)
        ended = perf_counter() - start, interrupted(), not interrupted() and seconds() <= 0

    def result(k: int, run: KCenterRun) -> Result:
        cost = KCenterProblem(space, k).cost(run.centers)
        history = np.array([(ended[0], run.iterations, cost, min(cost, run.bound.value), space.m)], dtype=HISTORY)
        bound = run.bound if certify else None
        return Result(run.centers, None, cost, bound, run.iterations, history, run.method, True, *ended[1:])

    return Fewest(result(k, enough), k, proved, None if fewer is None else result(k - 1, fewer))


def _climb(space: Space, radius: float, limits: Limits, seed: int) -> tuple[int, KCenterRun, KCenterRun | None, int]:
    """Ask about one k after the other, up from where the packing bound says no more.

    Returns k with its run, the run that refutes k - 1 (None if none does), and the proved least number.
    """
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
            return k, run, fewer if proved == k else None, proved
        if run.bound.value > radius and proved == k:
            proved, fewer = k + 1, run
        k += 1
    problem = KCenterProblem(space, enough_at)
    run = _decide(problem, limits, seed, farthest=radius)
    return enough_at, run, fewer if proved == enough_at else None, proved


def _decide(problem: KCenterProblem, limits: Limits, seed: int, farthest: float | None = None) -> KCenterRun:
    """Run the loop until the target is reached or refuted; `farthest` starts from the first farthest-first solution."""
    strategy = KCenterStrategy(problem, limits, seed)
    if farthest is not None:
        strategy.search.offer(farthest_first(problem.space, problem.k, 0)[0])
    evolve_bound_reduce(strategy, lambda: None)
    return run_of(strategy)


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
