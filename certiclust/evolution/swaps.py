"""All single swaps of a solution, looked at: what the best of them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from certiclust.problems import Problem, SumProblem

if TYPE_CHECKING:
    from certiclust.evolution.kernels.swap import Solution

IntArray = NDArray[np.intp]


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
    problem: SumProblem, centers: IntArray, should_stop: Callable[[], bool] = lambda: False
) -> float | None:
    """Return the least change of the cost over all single swaps, each of them looked at; infinite if there is none.

    Rounded down, so that no swap gains more than minus this. Time O(n m) for all k m swaps together. None if stopped
    before the end.
    """
    from certiclust.evolution.kernels.swap import best_swap

    space = problem.space
    if should_stop():
        return None
    rows, solution = space.rows(), solution_tables(problem, centers)
    least = np.inf
    for part in gen_batches(space.m, max(1, 4_000_000 // space.n)):
        if should_stop():
            return None
        change, scale = best_swap(rows, space.weights, space.m, solution, part.start, part.stop)
        least = min(least, change - 4 * swap_slack(problem) * scale)
    return float(least)
