"""All single swaps of a solution, looked at: what the best of them changes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from certiclust.problems import Problem, SumProblem

if TYPE_CHECKING:
    from certiclust.evolution.kernels.swap import Solution

IntArray = NDArray[np.intp]
#: Distances read between two polls, while there are more to come than are worth an end without a claim.
POLLED, LAST = 500_000, 4_000_000
#: Candidates looked at between two polls at least, but for `LAST` distances.
FEW = 16


def swap_slack(problem: Problem) -> float:
    """Return the relative gain below which a swap is rounding noise: the error of a sum of n distances."""
    return float(2.0**-52 * (problem.space.n + problem.space.points.shape[1] + 16))


def solution_tables(problem: Problem, centers: IntArray) -> Solution:
    """Return `centers` with every client's two nearest of them."""
    from certiclust.evolution.kernels.swap import Solution, refresh

    n = problem.space.n
    solution = Solution(
        np.array(centers, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(n),
    )
    refresh(problem.space.rows(), solution, np.empty(n))
    return solution


def least_swap_change(
    problem: SumProblem,
    centers: IntArray,
    should_stop: Callable[[], bool] = lambda: False,
    left: Callable[[], float] = lambda: inf,
) -> float | None:
    """Return the least change of the cost over all single swaps, each of them looked at; infinite if there is none.

    Rounded down, so that no swap gains more than minus this. Time O(n m) for all k m swaps together. None if stopped
    before the end, or as soon as the end is farther off than the seconds that are `left`.
    """
    from certiclust.evolution.kernels.swap import best_swap

    space = problem.space
    if should_stop():
        return None
    rows, solution = space.rows(), solution_tables(problem, centers)
    least, start, last = np.inf, 0, max(1, LAST // space.n)
    size = min(last, max(FEW, POLLED // space.n))
    pace = inf  # least seconds per candidate seen, but for the first part, which may have had kernels to load
    while start < space.m:
        if should_stop() or (pace < inf and pace * (space.m - start) > left()):
            return None
        begun, stop = perf_counter(), start + size if start + last < space.m else space.m
        change, scale = best_swap(rows, space.weights, space.m, solution, start, stop)
        least = min(least, change - 4 * swap_slack(problem) * scale)
        pace = min(pace, (perf_counter() - begun) / size) if start > 0 else inf
        start = stop
    return float(least)
