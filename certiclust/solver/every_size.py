"""All sizes from one run of GSEMO: for every size a result with its bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, separation_bound, swap_bound
from certiclust.evolution.curve import AtSize, gsemo_curve
from certiclust.evolution.gsemo import HISTORY
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.evolution.stopping import Criterion, TimeLimit
from certiclust.evolution.swaps import least_swap_change
from certiclust.problems import MaxProblem, Problem, SumProblem
from certiclust.solver.evolved import filled
from certiclust.solver.grow import at_least_as_good
from certiclust.solver.result import Budget, Result
from certiclust.solver.task import GRACE, Callbacks
from certiclust.solver.words import counted

IntArray = NDArray[np.intp]


def solve_every_size(
    pose: Callable[[int], Problem],
    sizes: Iterable[int],
    budget: Budget,
    *,
    random_state: int,
    certify: bool = True,
    callbacks: Callbacks = (),
) -> dict[int, Result]:
    """Run GSEMO once for all sizes, and prove for each what its own condition gives.

    Parameters
    ----------
    pose : callable
        Returns the problem with so many clusters, all on one space.
    sizes : iterable of int
        Consecutive sizes, ascending.
    budget : Budget
        Iterations and seconds of the run, checks included.
    random_state : int
        Seed.
    certify : bool, default=True
        Whether to prove lower bounds.
    callbacks : tuple of callable
        Called with the progress of the run.
    """
    start, limit = perf_counter(), budget.time_limit
    stop: Criterion | None = None if limit is None else TimeLimit(limit)
    sizes = list(sizes)
    with catch_interrupt() as interrupted:

        def over(seconds: float) -> bool:
            return limit is not None and perf_counter() - start >= seconds

        def checks_stop() -> bool:
            return interrupted() or over((limit or 0.0) * 1.1 + GRACE)

        run = gsemo_curve(pose(sizes[-1]), budget.max_iter, random_state, stop=stop, callbacks=callbacks)
        timed_out = over(limit or 0.0) and not interrupted()
        method = f"GSEMO for every size up to {sizes[-1]} in one run, {counted(run.n_iter, 'iteration')}"
        results: dict[int, Result] = {}
        for k in sizes:
            problem = pose(k)
            centers = filled(problem, run.at[k].centers)
            cost = problem.cost(centers)
            bound = _bound(problem, run.at[k], centers, checks_stop) if certify else None
            lower = 0.0 if bound is None else bound.value
            result = Result(
                centers=centers,
                labels=None,
                cost=cost,
                bound=bound,
                n_iter=run.n_iter,
                history=np.array([(perf_counter() - start, run.n_iter, cost, lower, problem.space.m)], dtype=HISTORY),
                method=method,
                complete=run.at[k].met,
                interrupted=interrupted(),
                timed_out=timed_out,
            )
            smaller = results.get(k - 1)
            if isinstance(problem, MaxProblem) and smaller is not None and cost > smaller.cost:
                # P compares f1, and the least cost seen may be a smaller size's.
                result = at_least_as_good(problem, result, smaller, random_state)
            results[k] = result
    return results


def _bound(problem: Problem, found: AtSize, centers: IntArray, should_stop: Callable[[], bool]) -> Bound:
    """Return what is proved for one size: by points far apart, or by looking at all swaps."""
    if isinstance(problem, MaxProblem):
        return separation_bound(problem, found.h, found.apart)
    assert isinstance(problem, SumProblem)
    return swap_bound(problem, centers, least_swap_change(problem, centers, should_stop))
