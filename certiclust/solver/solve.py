"""The way from a problem to a solution with a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, separation_bound, swap_bound
from certiclust.evolution import Criterion, GapClosed, Progress, Run, Target, TimeLimit, evolve
from certiclust.evolution.algorithms import named
from certiclust.evolution.evolve import default_stop
from certiclust.evolution.gsemo import HISTORY, HistoryRow
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.evolution.swaps import least_swap_change
from certiclust.problems import (
    FairKMedianProblem,
    KCenterProblem,
    KMeansProblem,
    KMedianProblem,
    KTMMProblem,
    MaxProblem,
    Problem,
    SumProblem,
)
from certiclust.solver.start import Start
from certiclust.solver.words import counted

if TYPE_CHECKING:
    from certiclust.solver.fair_run import Fairness

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
#: Seconds that the last checks may take beyond a time limit, and a tenth of the limit more.
GRACE = 0.03
#: Share of a time limit after which the search of k-means leaves the rest to the bound.
SEARCH_SHARE = 0.5

Callbacks = tuple[Callable[[Progress], None], ...]


@dataclass(frozen=True)
class Budget:
    """When to end: iterations, seconds, or a gap that is small enough; None means no such limit.

    `goal` is a diameter of k-tMM: reaching it, or proving that it cannot be reached, is enough. `share` is the part of
    the usual counted work that search and bound may take, where nothing else limits them.
    """

    max_iter: int | None = None
    time_limit: float | None = None
    gap_tol: float = 0.0
    goal: float | None = None
    share: float = 1.0


@dataclass(frozen=True)
class Result:
    """What the solver hands back.

    Attributes
    ----------
    centers : ndarray of k candidate indices, ascending
        The solution; where it is `positions`, candidates that cost no less and that no single swap improves, or none if
        that was not checked.
    labels : ndarray or None
        The partition, where it is not the one by nearest candidate in `centers`.
    cost : float
        Its cost.
    bound : Bound or None
        What was proved about the optimum; None if nothing was asked for.
    n_iter : int
        Iterations of the evolution.
    history : ndarray
        Time, iteration, upper and lower bound, candidates left.
    method : str
        What was done, in words.
    complete : bool
        Whether the search itself met a size-k solution; otherwise its largest one was filled up by index.
    interrupted, timed_out : bool
        What ended it early, if anything did.
    positions : ndarray of shape (k, l) or None
        The centres, where they are not candidates.
    fairness : Fairness or None
        What there is to say about fairness, for fair k-median.
    multipliers, columns : ndarray or None
        The last ones of the bound of k-median, or of a chained one of k-means: a start for another k.
    spent : float
        Part of the usual work that k-center or k-tMM did; 1 for the others.
    """

    centers: IntArray
    labels: NDArray[np.int32] | None
    cost: float
    bound: Bound | None
    n_iter: int
    history: NDArray[np.void]
    method: str
    complete: bool
    interrupted: bool
    timed_out: bool
    positions: FloatArray | None = None
    fairness: Fairness | None = None
    multipliers: FloatArray | None = None
    columns: FloatArray | None = None
    spent: float = 1.0


@dataclass(frozen=True)
class _Found:
    """What a search found, before the last checks."""

    centers: IntArray
    bound: Bound | None
    n_iter: int
    history: list[HistoryRow]
    method: str
    complete: bool = True
    labels: NDArray[np.int32] | None = None
    positions: FloatArray | None = None
    cost: float | None = None
    cut: bool = False  # whether the search ended by the clock, before its own end
    fairness: Fairness | None = None
    multipliers: FloatArray | None = None
    columns: FloatArray | None = None
    spent: float = 1.0


def solve(
    problem: Problem,
    algorithm: str,
    budget: Budget,
    *,
    random_state: int,
    certify: bool = True,
    callbacks: Callbacks = (),
    begin: Start | None = None,
    mutation: str = "bitwise",
) -> Result:
    """Solve a problem and bound its optimum.

    Parameters
    ----------
    problem : Problem
        One of the five.
    algorithm : {"auto", "gsemo", "nsga2", "nsga3", "sms-emoa", "moead"}
        ``"auto"`` is the loop of evolution, bound and reduction; the others are evolutionary algorithms and nothing
        else, ``"gsemo"`` Algorithm 1.
    budget : Budget
        When to end.
    random_state : int
        Seed.
    certify : bool, default=True
        Whether to prove a lower bound.
    callbacks : tuple of callable
        Called with the progress of the search.
    begin : Start or None
        What the search of ``"auto"`` starts from; None for starts of its own.
    mutation : {"bitwise", "heavy-tailed"}, default="bitwise"
        Mutation of the others.
    """
    start = perf_counter()
    begin = begin or Start()
    with catch_interrupt() as interrupted:

        def stops_after(seconds: float | None) -> Callable[[], bool]:
            return lambda: interrupted() or (seconds is not None and perf_counter() - start >= seconds)

        limit = budget.time_limit
        should_stop = stops_after(limit)
        # What a search has found is worth a little more time to look at its swaps: without them nothing is claimed.
        checks_stop = stops_after(None if limit is None else limit * 1.1 + GRACE)

        if algorithm == "auto" and isinstance(problem, KMedianProblem):
            found = _loop(problem, budget, random_state, should_stop, callbacks, begin)
        elif algorithm == "auto" and isinstance(problem, KTMMProblem):
            found = _colouring_loop(problem, budget, random_state, should_stop, callbacks, begin)
        elif algorithm == "auto" and isinstance(problem, KCenterProblem):
            found = _cover_loop(problem, budget, random_state, should_stop, callbacks, begin.centers)
        elif isinstance(problem, FairKMedianProblem):
            found = _fair_loop(
                problem, algorithm, mutation, budget, certify, random_state, should_stop, callbacks, begin
            )
        elif algorithm == "auto" and isinstance(problem, KMeansProblem):
            # Without a certificate only the last descent comes after the search.
            search_stop = stops_after(None if limit is None else limit * (SEARCH_SHARE if certify else 0.96))
            stops = search_stop, should_stop, checks_stop

            def used() -> float:
                return 0.0 if limit is None else (perf_counter() - start) / max(limit, 1e-9)

            found = _descent_loop(problem, budget, certify, random_state, stops, used, callbacks, begin)
        else:
            found = _evolved(problem, algorithm, mutation, budget, random_state, callbacks)
        timed_out = limit is not None and (should_stop() or found.cut) and not interrupted()
        cost = problem.cost(found.centers) if found.cost is None else found.cost
        bound = _checked(problem, found, checks_stop) if certify else None
        lower = bound.value if bound is not None else 0.0
        for callback in callbacks:  # what polish and checks added
            callback(Progress(perf_counter() - start, found.n_iter, cost, lower, found.n_iter, True, 1, True))
        return Result(
            centers=found.centers,
            labels=found.labels,
            cost=cost,
            bound=bound,
            n_iter=found.n_iter,
            history=_history(found, perf_counter() - start, cost, bound),
            method=found.method,
            complete=found.complete,
            interrupted=interrupted(),
            timed_out=timed_out,
            positions=found.positions,
            fairness=found.fairness,
            multipliers=found.multipliers,
            columns=found.columns,
            spent=found.spent,
        )


def _evolved(
    problem: Problem, algorithm: str, mutation: str, budget: Budget, random_state: int, callbacks: Callbacks
) -> _Found:
    """Run an evolutionary algorithm and nothing else."""
    composed = named(algorithm, mutation)
    stop: Criterion = GapClosed(budget.gap_tol) | Target(0.0)
    if budget.time_limit is not None:
        stop = stop | TimeLimit(budget.time_limit)
    if budget.max_iter is None:
        stop = stop | default_stop(problem, composed)
    run = evolve(problem, composed, budget.max_iter, random_state, stop=stop, callbacks=callbacks)
    centers, complete = _size_k(problem, run)
    bound = separation_bound(problem, run.h, run.apart) if isinstance(problem, MaxProblem) else None
    method = composed.name + ("" if mutation == "bitwise" else f" with {composed.mutation.name}")
    tries = counted(run.n_iter, "iteration") if algorithm == "gsemo" else f"{run.n_iter:,} offspring"
    method = f"{method}, {tries}"
    return _Found(centers, bound, run.n_iter, run.history.tolist(), method, complete)


def _loop(
    problem: KMedianProblem,
    budget: Budget,
    random_state: int,
    should_stop: Callable[[], bool],
    callbacks: Callbacks,
    begin: Start,
) -> _Found:
    """Evolve, bound and reduce until the optimum is proved or the budget is spent."""
    from certiclust.solver.kmedian import Limits
    from certiclust.solver.kmedian_run import run_kmedian

    history, record = _recorder(callbacks)
    limits = Limits(budget.gap_tol, budget.max_iter or inf, should_stop, budget.share)
    proof = run_kmedian(problem, limits, random_state, record, begin)
    method = f"evolution, bound and reduction, {proof.iterations:,} offspring, {counted(proof.nodes, 'node')}"
    return _Found(proof.centers, proof.bound, proof.iterations, history, method, multipliers=proof.multipliers)


def _colouring_loop(
    problem: KTMMProblem,
    budget: Budget,
    random_state: int,
    should_stop: Callable[[], bool],
    callbacks: Callbacks,
    begin: Start,
) -> _Found:
    """Search colourings and prove bounds for k-tMM over all partitions."""
    from certiclust.solver.ktmm_run import Limits, run_ktmm

    history, record = _recorder(callbacks)
    limits = Limits(budget.gap_tol, should_stop, budget.goal, share=budget.share)
    found = run_ktmm(problem, limits, budget.max_iter, random_state, record, begin)
    centers, partition = problem.central(found.labels, found.reach)
    cost = float(found.reach.max())
    said = found.iterations, history, found.method
    return _Found(centers, found.bound, *said, labels=partition, cost=cost, spent=found.spent)


def _cover_loop(
    problem: KCenterProblem,
    budget: Budget,
    random_state: int,
    should_stop: Callable[[], bool],
    callbacks: Callbacks,
    centers: IntArray | None,
) -> _Found:
    """Search for covers and prove that there are no smaller ones, until the bounds meet or the budget is spent."""
    from certiclust.solver.kcenter import Limits
    from certiclust.solver.kcenter_run import run_kcenter

    history, record = _recorder(callbacks)
    start = perf_counter()

    def seconds() -> float:
        return inf if budget.time_limit is None else start + budget.time_limit - perf_counter()

    limits = Limits(budget.gap_tol, budget.max_iter or inf, should_stop, seconds, share=budget.share)
    run = run_kcenter(problem, limits, random_state, record, centers)
    return _Found(run.centers, run.bound, run.iterations, history, run.method, cost=run.radius, spent=run.spent)


def _descent_loop(
    problem: KMeansProblem,
    budget: Budget,
    certify: bool,
    random_state: int,
    stops: tuple[Callable[[], bool], Callable[[], bool], Callable[[], bool]],
    used: Callable[[], float],
    callbacks: Callbacks,
    begin: Start,
) -> _Found:
    """Search for centres anywhere and bound the optimum of k-means; `stops` end the search, the bound, the checks."""
    from certiclust.solver.kmeans import Limits
    from certiclust.solver.kmeans_run import run_kmeans

    history, record = _recorder(callbacks)
    limits = Limits(budget.gap_tol, budget.max_iter or inf, certify, *stops, used)
    dual = None
    if budget.share < 1.0 or begin.positions is not None:
        from certiclust.bounds.kmeans_chain import Dual
        from certiclust.solver.kmeans_chain import Link, run_chained

        if begin.multipliers is not None and begin.columns is not None:
            dual = Dual(begin.multipliers, begin.columns)
        run, dual = run_chained(problem, limits, random_state, record, Link(budget.share, begin.positions, dual))
    else:
        run = run_kmeans(problem, limits, random_state, record)
    method = f"evolution of centres anywhere and bound, {run.iterations:,} offspring"
    return _Found(
        centers=run.rows,
        bound=run.bound,
        n_iter=run.iterations,
        history=history,
        method=method,
        labels=run.labels,
        positions=run.positions,
        cost=run.cost,
        cut=run.cut,
        multipliers=None if dual is None else dual.u,
        columns=None if dual is None else dual.columns,
    )


def _fair_loop(
    problem: FairKMedianProblem,
    algorithm: str,
    mutation: str,
    budget: Budget,
    certify: bool,
    random_state: int,
    should_stop: Callable[[], bool],
    callbacks: Callbacks,
    begin: Start,
) -> _Found:
    """Search for fair sets, by evolution alone or by the loop, and bound their cost; or prove that there is none."""
    from certiclust.solver.fair_cover import Clock
    from certiclust.solver.fair_run import bound_fair, penalised, run_fair
    from certiclust.solver.kmedian import Limits

    start = perf_counter()

    def seconds() -> float:
        return inf if budget.time_limit is None else start + budget.time_limit - perf_counter()

    limits = Limits(budget.gap_tol, budget.max_iter or inf, should_stop, budget.share)
    clock = Clock(should_stop, seconds)
    if algorithm != "auto":
        posed = penalised(problem) if problem.strict else problem
        found = _evolved(posed, algorithm, mutation, budget, random_state, callbacks)
        if not certify:
            return found
        run = bound_fair(problem, found.centers, limits, clock, random_state)
        return replace(found, bound=run.bound, fairness=run.fairness)
    history, record = _recorder(callbacks)
    run = run_fair(problem, limits, clock, random_state, record, begin)
    tries = f"{run.iterations:,} offspring, {counted(run.nodes, 'node')}"
    method = f"evolution, bound and reduction of penalised costs, {tries}"
    return _Found(
        run.centers,
        run.bound,
        run.iterations,
        history,
        method,
        fairness=run.fairness,
        multipliers=run.multipliers,
    )


def _recorder(callbacks: Callbacks) -> tuple[list[HistoryRow], Callable[[int, float, float, int], None]]:
    """Return a history and the function that adds a row to it and tells the callbacks."""
    history: list[HistoryRow] = []
    start = perf_counter()

    def record(iteration: int, upper: float, lower: float, candidates: int) -> None:
        seconds = perf_counter() - start
        if upper < inf:
            history.append((seconds, iteration, upper, lower, candidates))
        for callback in callbacks:
            callback(Progress(seconds, iteration, upper, lower, iteration, upper < inf, 1, upper < inf))

    return history, record


def _size_k(problem: Problem, run: Run) -> tuple[IntArray, bool]:
    """Return the size-k solution of a run, or its largest member filled up by index."""
    if run.best is not None:
        return run.best, True
    return filled(problem, run.population[-1].centers), False


def filled(problem: Problem, centers: IntArray) -> IntArray:
    """Return k candidates, ascending: those given and, where they are fewer, the first others."""
    spare = np.setdiff1d(np.arange(problem.space.m), centers)
    return np.sort(np.concatenate([centers, spare[: problem.k - len(centers)]])).astype(np.intp)


def _checked(problem: Problem, found: _Found, should_stop: Callable[[], bool]) -> Bound:
    """Return what is proved in the end: for the sum problems all swaps are looked at, over all candidates."""
    if isinstance(problem, MaxProblem) or found.positions is not None:
        assert found.bound is not None
        return found.bound
    if isinstance(problem, FairKMedianProblem):
        assert found.bound is not None
        return found.bound
    assert isinstance(problem, SumProblem)
    swaps = swap_bound(problem, found.centers, least_swap_change(problem, found.centers, should_stop))
    return swaps if found.bound is None else swaps.stronger(found.bound)


def _history(found: _Found, seconds: float, cost: float, bound: Bound | None) -> NDArray[np.void]:
    """Return the record of the search with a last row for what polish and checks added."""
    lower, left = (found.history[-1][3:]) if found.history else (0.0, 0)
    if bound is not None:
        lower = max(lower, bound.value)
    history = np.array([*found.history, (seconds, found.n_iter, cost, lower, left)], dtype=HISTORY)
    # The search sums in another order than the definition of the cost: the last bit is the latter's.
    history["upper"] = np.maximum(history["upper"], cost)
    return history
