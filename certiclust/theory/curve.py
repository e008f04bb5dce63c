"""How long one run of GSEMO takes for every size at once, in expectation (docs/choosing_k.md)."""

from __future__ import annotations

from dataclasses import replace
from math import e

from certiclust.evolution.proofs import CostRange, general_lemma
from certiclust.problems import FairKMedianProblem, MaxProblem, Problem, SumProblem


def curve_bound(problem: Problem, *, p: int = 1, epsilon: float = 0.5) -> float:
    """Return the expected iterations after which every size up to the problem's k is within its ratio.

    Parameters
    ----------
    problem : Problem
        k-median, k-means, k-center or k-tMM, with the largest size.
    p : int, default=1
        Swap size of the local search that is imitated (k-median, k-means).
    epsilon : float, default=0.5
        Its tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust.problems import KCenterProblem
    >>> from certiclust.space import Metric, build_space
    >>> space = build_space(np.arange(5.0)[:, None], None, Metric.of("euclidean"), np.ones(5))
    >>> round(curve_bound(KCenterProblem(space, 2)), 1)
    48.9
    """
    k, m = problem.k, problem.space.m
    if isinstance(problem, MaxProblem):
        return float(e * (k + 1) * (1 + m * (k - 1)))
    if not isinstance(problem, SumProblem) or isinstance(problem, FairKMedianProblem):
        raise TypeError(f"no common run for {problem.name}: its constraint changes with k.")
    swap = 1 / (e * float(m) ** (2 * p))
    phases = [
        general_lemma(1 / (k + 1), swap, epsilon / size, CostRange.of(replace(problem, k=size)).spread)
        for size in range(1, k + 1)
        if size < m
    ]
    return float(e * (k + 1)) + max(phases, default=0.0)
