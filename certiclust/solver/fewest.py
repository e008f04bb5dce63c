"""The least number of clusters for a given diameter: k-tMM the other way round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import rounding_margin
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.problems import KTMMProblem
from certiclust.solver.solve import Budget, Result, solve
from certiclust.space import Space
from certiclust.space.farthest import farthest_first

Labels = NDArray[np.int32]


@dataclass(frozen=True)
class Fewest:
    """The least number of clusters that was found, and the least that is possible.

    Attributes
    ----------
    result : Result
        A solution with `k` clusters whose diameter is small enough.
    k, lower : int
        Its number of clusters, and the proved least number: they are equal if the answer is proved.
    refuted : Result or None
        A result for ``lower - 1`` clusters whose bound exceeds the diameter; None if `lower` is 1.
    """

    result: Result
    k: int
    lower: int
    refuted: Result | None


def fewest_clusters(space: Space, diameter: float, budget: Budget, *, random_state: int, certify: bool) -> Fewest:
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
        final = solve(problem, "auto", left(), random_state=random_state, certify=certify, labels=labels)
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
