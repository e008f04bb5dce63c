"""The way from a problem to a solution with a bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, swap_bound
from certiclust.evolution import Progress
from certiclust.evolution.gsemo import HISTORY
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.evolution.swaps import least_swap_change
from certiclust.problems import FairKMedianProblem, MaxProblem, Problem, SumProblem
from certiclust.solver.evolved import run_evolved
from certiclust.solver.result import Budget, Found, Result
from certiclust.solver.runs import run_auto
from certiclust.solver.start import NOWHERE, Start
from certiclust.solver.task import Callbacks, Task


def solve(
    problem: Problem,
    algorithm: str,
    budget: Budget,
    *,
    random_state: int,
    certify: bool = True,
    callbacks: Callbacks = (),
    begin: Start = NOWHERE,
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
    begin : Start
        What the search of ``"auto"`` starts from; by default it has starts of its own.
    mutation : {"bitwise", "heavy-tailed"}, default="bitwise"
        Mutation of the others.
    """
    with catch_interrupt() as interrupted:
        task = Task(budget, random_state, interrupted, certify, callbacks, begin)
        found = run_auto(problem, task) if algorithm == "auto" else run_evolved(problem, task, algorithm, mutation)
        timed_out = budget.time_limit is not None and (task.should_stop() or found.cut) and not interrupted()
        cost = problem.cost(found.centers) if found.cost is None else found.cost
        bound = _checked(problem, found, task) if certify else None
        lower = bound.value if bound is not None else 0.0
        for callback in callbacks:  # what polish and checks added
            callback(Progress(task.spent(), found.n_iter, cost, lower, found.n_iter, True, 1, True))
        return Result(
            centers=found.centers,
            labels=found.labels,
            cost=cost,
            bound=bound,
            n_iter=found.n_iter,
            history=_history(found, task.spent(), cost, bound),
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


def _checked(problem: Problem, found: Found, task: Task) -> Bound:
    """Return what is proved in the end: for the sum problems all swaps are looked at, over all candidates."""
    if isinstance(problem, MaxProblem) or found.positions is not None:
        assert found.bound is not None
        return found.bound
    if isinstance(problem, FairKMedianProblem):
        assert found.bound is not None
        return found.bound
    assert isinstance(problem, SumProblem)
    change = least_swap_change(problem, found.centers, task.checks_stop, task.checks_left)
    swaps = swap_bound(problem, found.centers, change)
    return swaps if found.bound is None else swaps.stronger(found.bound)


def _history(found: Found, seconds: float, cost: float, bound: Bound | None) -> NDArray[np.void]:
    """Return the record of the search with a last row for what polish and checks added."""
    lower, left = (found.history[-1][3:]) if found.history else (0.0, 0)
    if bound is not None:
        lower = max(lower, bound.value)
    history = np.array([*found.history, (seconds, found.n_iter, cost, lower, left)], dtype=HISTORY)
    # The search sums in another order than the definition of the cost: the last bit is the latter's.
    history["upper"] = np.maximum(history["upper"], cost)
    return history
