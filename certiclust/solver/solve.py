"""The way from a problem to a solution with a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, separation_bound, swap_bound
from certiclust.evolution import Criterion, GapClosed, Progress, Run, Target, TimeLimit, gsemo
from certiclust.evolution.gsemo import HISTORY, default_stop
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.evolution.polish import least_swap_change, swap_polish
from certiclust.problems import FairKMedianProblem, KMedianProblem, MaxProblem, Problem, SumProblem

IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Budget:
    """When to end: iterations, seconds, or a gap that is small enough; None means no such limit."""

    max_iter: int | None = None
    time_limit: float | None = None
    gap_tol: float = 0.0


@dataclass(frozen=True)
class Result:
    """What the solver hands back.

    Attributes
    ----------
    centers : ndarray of k candidate indices, ascending
        The solution.
    cost : float
        Its cost.
    bound : Bound or None
        What was proved about the optimum; None if nothing was asked for.
    run : Run
        The evolution: population, counts, history.
    history : ndarray
        Time, iteration, upper and lower bound.
    method : str
        What was done, in words.
    complete : bool
        Whether the search itself met a size-k solution; otherwise its largest one was filled up by index.
    interrupted, timed_out : bool
        What ended it early, if anything did.
    """

    centers: IntArray
    cost: float
    bound: Bound | None
    run: Run
    history: NDArray[np.void]
    method: str
    complete: bool
    interrupted: bool
    timed_out: bool


def solve(
    problem: Problem,
    algorithm: str,
    budget: Budget,
    *,
    random_state: int,
    certify: bool = True,
    callbacks: tuple[Callable[[Progress], None], ...] = (),
) -> Result:
    """Solve a problem and bound its optimum.

    Parameters
    ----------
    problem : Problem
        One of the five.
    algorithm : {"gsemo", "auto"}
        ``"gsemo"`` is Algorithm 1 and nothing else; ``"auto"`` follows it by a swap polish.
    budget : Budget
        When to end.
    random_state : int
        Seed.
    certify : bool, default=True
        Whether to prove a lower bound.
    callbacks : tuple of callable
        Called with the progress of the evolution.
    """
    start = perf_counter()
    with catch_interrupt() as interrupted:

        def should_stop() -> bool:
            limit = budget.time_limit
            return interrupted() or (limit is not None and perf_counter() - start >= limit)

        run = _evolve(problem, budget, random_state, callbacks)
        centers, complete = _size_k(problem, run)
        if algorithm == "auto" and not _closed(run, budget):
            centers = swap_polish(problem, centers, should_stop)
        cost = problem.cost(centers)
        timed_out = budget.time_limit is not None and should_stop() and not interrupted()
        bound = _bound(problem, centers, run, interrupted) if certify else None
        return Result(
            centers=centers,
            cost=cost,
            bound=bound,
            run=run,
            history=_extended(run, perf_counter() - start, cost, bound),
            method=_method(algorithm, run),
            complete=complete,
            interrupted=interrupted(),
            timed_out=timed_out,
        )


def _evolve(
    problem: Problem, budget: Budget, random_state: int, callbacks: tuple[Callable[[Progress], None], ...]
) -> Run:
    stop: Criterion = GapClosed(budget.gap_tol) | Target(0.0)
    if budget.time_limit is not None:
        stop = stop | TimeLimit(budget.time_limit)
    if budget.max_iter is None:
        stop = stop | default_stop(problem)
    return gsemo(problem, budget.max_iter, random_state, stop=stop, callbacks=callbacks)


def _size_k(problem: Problem, run: Run) -> tuple[IntArray, bool]:
    """Return the size-k solution of a run, or its largest member filled up by index."""
    if run.best is not None:
        return run.best, True
    largest = run.population[-1].centers
    spare = np.setdiff1d(np.arange(problem.space.m), largest)
    return np.sort(np.concatenate([largest, spare[: problem.k - len(largest)]])), False


def _closed(run: Run, budget: Budget) -> bool:
    return len(run.history) > 0 and run.cost <= float(run.history["lower"][-1]) * (1 + budget.gap_tol)


def _bound(problem: Problem, centers: IntArray, run: Run, should_stop: Callable[[], bool]) -> Bound:
    """Return what this path proves: the separated points of the run, or the swaps of the solution."""
    if isinstance(problem, MaxProblem):
        return separation_bound(problem, run.h, run.apart)
    if isinstance(problem, FairKMedianProblem):
        # Meeting all balls says nothing about the cost; the optimum without fairness is a lower bound on it.
        free = KMedianProblem(problem.space, problem.k)
        without = swap_polish(free, centers, should_stop)
        return swap_bound(free, without, least_swap_change(free, without, should_stop))
    if isinstance(problem, SumProblem):
        return swap_bound(problem, centers, least_swap_change(problem, centers, should_stop))
    raise TypeError(f"no bound for {type(problem).__name__}.")


def _extended(run: Run, seconds: float, cost: float, bound: Bound | None) -> NDArray[np.void]:
    """Return the history of the evolution with a last row for what polish and bound added."""
    known = float(run.history["lower"][-1]) if len(run.history) else 0.0
    lower = max(known, bound.value) if bound is not None else known
    last = np.array([(seconds, run.n_iter, min(cost, run.cost if run.cost < inf else cost), lower)], dtype=HISTORY)
    return np.concatenate([run.history, last])


def _method(algorithm: str, run: Run) -> str:
    polish = " and swap polish" if algorithm == "auto" else ""
    return f"GSEMO, {run.n_iter:,} iterations{polish}"
