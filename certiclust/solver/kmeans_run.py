"""k-means through the loop: centres anywhere, candidates that no swap improves, and what is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound
from certiclust.problems import KMeansProblem
from certiclust.solver.kmeans import KMeansStrategy, Limits
from certiclust.solver.loop import evolve_bound_reduce

Record = Callable[[int, float, float, int], None]


@dataclass(frozen=True)
class KMeansRun:
    """Centres anywhere with their labels and cost, candidates that were checked, what is proved, and how it ended."""

    positions: NDArray[np.float64]
    labels: NDArray[np.int32]
    cost: float
    rows: NDArray[np.intp]
    bound: Bound
    iterations: int
    cut: bool


def run_kmeans(problem: KMeansProblem, limits: Limits, seed: int, record: Record) -> KMeansRun:
    """Run the loop on a k-means problem, without a matrix.

    The lemma's three conditions hold for the evolution inside (docs/lemma.md): the best solution is the parent with
    probability at least 0.05, any one of its single swaps with a point is made with probability at least
    0.0125 / (k n), and the best solution is always kept.
    """
    strategy = KMeansStrategy(problem, limits, seed)

    def note() -> None:
        record(strategy.iterations, strategy.upper, strategy.bounds.value, problem.space.m)

    evolve_bound_reduce(strategy, note)
    strategy.fall_back()
    found = strategy.positions, strategy.labels, strategy.upper
    return KMeansRun(*found, strategy.rows, strategy.bounds, strategy.iterations, strategy.cut)
