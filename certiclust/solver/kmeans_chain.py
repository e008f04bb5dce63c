"""k-means for one k after another: a short search from the solution of the size before, a bound from its dual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.kmeans_chain import Dual, chained_bound
from certiclust.evolution.kmeans_search import KMeansSearch
from certiclust.problems import KMeansProblem
from certiclust.problems.base import weighted_sum
from certiclust.solver.kmeans import SEARCH_WORK, KMeansStrategy, Limits
from certiclust.solver.kmeans_run import KMeansRun
from certiclust.solver.loop import evolve_bound_reduce

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """What one size of the chain leaves to the next: the part of the usual work, a start, and multipliers."""

    share: float
    positions: FloatArray | None = None
    dual: Dual | None = None


class ChainedStrategy(KMeansStrategy):
    """Evolution and bound of k-means where a neighbouring size is solved.

    Parameters
    ----------
    problem, limits, seed
        As for `KMeansStrategy`.
    link
        What is known from the size before.
    """

    def __init__(self, problem: KMeansProblem, limits: Limits, seed: int, link: Link) -> None:
        super().__init__(problem, limits, seed)
        self.link, self.dual = link, link.dual

    def evolve(self) -> None:
        """Improve the given start, and search for the share of the usual work."""
        k, positions = self.problem.k, self.link.positions
        if k == 1 or positions is None:
            return super().evolve()
        labels, squares = self.problem.assign_positions(positions)
        # The start as it is first: its means are no worse, but for the last bits.
        cost = weighted_sum(self.problem.space.weights, squares)
        self.positions, self.labels, self.upper = positions, labels, cost
        self._settle(labels)
        framed = (positions - self.frame.origin - self.frame.shift) / self.frame.unit
        if self.large:
            return self._descend(framed)
        search = KMeansSearch(self.descent, self.rng, self.limits.max_iter)
        search.start(framed)
        if search.best is not None:
            search.evolve(self.link.share * SEARCH_WORK[k > 20] if self.limits.max_iter == np.inf else np.inf)
            self.descent.should_stop = self.limits.should_stop
            self._settle(search.finish())
        self.iterations, self.cut = search.iterations, search.stopped
        return None

    def bound(self) -> None:
        """Look at all swaps of candidates near the centres, and bound the optimum from the multipliers given."""
        self._done = True
        self.fall_back()
        if not self.limits.certify:
            return
        swaps = self._swap_optimal()
        space = self.problem.space
        bound, self.dual = chained_bound(
            space.points,
            space.weights,
            self.problem.k,
            self.positions,
            self.upper,
            before=self.link.dual,
            share=self.link.share,
            gap_tol=self.limits.gap_tol,
            should_stop=self.limits.should_stop,
            used=self.limits.used,
        )
        self.bounds = swaps.stronger(bound)


def run_chained(
    problem: KMeansProblem, limits: Limits, seed: int, record: Callable[[int, float, float, int], None], link: Link
) -> tuple[KMeansRun, Dual | None]:
    """Run the loop on one size of a chain; returns the multipliers for the next one too."""
    strategy = ChainedStrategy(problem, limits, seed, link)

    def note() -> None:
        record(strategy.iterations, strategy.upper, strategy.bounds.value, problem.space.m)

    evolve_bound_reduce(strategy, note)
    strategy.fall_back()
    found = strategy.positions, strategy.labels, strategy.upper
    run = KMeansRun(*found, strategy.rows, strategy.bounds, strategy.iterations, strategy.cut)
    return run, strategy.dual
