"""An evolutionary algorithm and nothing else, and for fair k-median what can be proved about its solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import separation_bound
from certiclust.evolution import Criterion, GapClosed, Run, Target, TimeLimit, evolve
from certiclust.evolution.algorithms import named
from certiclust.evolution.evolve import default_stop
from certiclust.problems import FairKMedianProblem, MaxProblem, Problem
from certiclust.solver.result import Found
from certiclust.solver.task import Task
from certiclust.solver.words import counted

IntArray = NDArray[np.intp]


def run_evolved(problem: Problem, task: Task, algorithm: str, mutation: str) -> Found:
    """Run an evolutionary algorithm; the constraints of fair k-median, which it may miss, get their bound after it."""
    if not isinstance(problem, FairKMedianProblem):
        return _evolved(problem, task, algorithm, mutation)
    from certiclust.solver.fair_cover import Clock
    from certiclust.solver.fair_run import bound_fair, penalised
    from certiclust.solver.kmedian import Limits

    found = _evolved(penalised(problem) if problem.strict else problem, task, algorithm, mutation)
    if not task.certify:
        return found
    limits = Limits(task.budget.gap_tol, task.max_iter, task.should_stop, task.budget.share)
    run = bound_fair(problem, found.centers, limits, Clock(task.should_stop, task.left), task.random_state)
    return replace(found, bound=run.bound, fairness=run.fairness)


def _evolved(problem: Problem, task: Task, algorithm: str, mutation: str) -> Found:
    composed, budget = named(algorithm, mutation), task.budget
    stop: Criterion = GapClosed(budget.gap_tol) | Target(0.0)
    if budget.time_limit is not None:
        stop = stop | TimeLimit(budget.time_limit)
    if budget.max_iter is None:
        stop = stop | default_stop(problem, composed)
    run = evolve(problem, composed, budget.max_iter, task.random_state, stop=stop, callbacks=task.callbacks)
    centers, complete = _size_k(problem, run)
    bound = separation_bound(problem, run.h, run.apart) if isinstance(problem, MaxProblem) else None
    method = composed.name + ("" if mutation == "bitwise" else f" with {composed.mutation.name}")
    tries = counted(run.n_iter, "iteration") if algorithm == "gsemo" else f"{run.n_iter:,} offspring"
    return Found(centers, bound, run.n_iter, run.history.tolist(), f"{method}, {tries}", complete)


def _size_k(problem: Problem, run: Run) -> tuple[IntArray, bool]:
    """Return the size-k solution of a run, or its largest member filled up by index."""
    if run.best is not None:
        return run.best, True
    return filled(problem, run.population[-1].centers), False


def filled(problem: Problem, centers: IntArray) -> IntArray:
    """Return k candidates, ascending: those given and, where they are fewer, the first others."""
    spare = np.setdiff1d(np.arange(problem.space.m), centers)
    return np.sort(np.concatenate([centers, spare[: problem.k - len(centers)]])).astype(np.intp)
