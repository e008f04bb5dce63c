"""The bound of the sum problems: a solution that no single swap improves is within a constant factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.bound import Bound, rounding_margin
from certiclust.problems import KMeansProblem, SumProblem

#: Rounded distances satisfy the triangle inequality up to a factor 1 + 2^-50, and the ratio moves by less than this.
_TRIANGLE_SLACK = 1.0 + 2.0**-46


def swap_ratio(k: int, tau: float, power: int, excess: float = 0.0, p: int = 1) -> float:
    r"""Return the factor of a solution when no swap of up to p centres gains more than `tau` of the cost.

    In a metric :math:`(3 + 2/p + \varepsilon_C)/(1 - k\tau)` (Arya et al. 2004); for squared metrics the square of the
    larger root of :math:`(1 - k\tau) a^2 - 2(1 + 1/p) a - (3 + 2/p + \varepsilon_C) = 0` (Kanungo et al. 2004;
    PROOFS.md part 3). For k <= p all solutions are one swap away: :math:`(1 + \varepsilon_C)/(1 - \tau)`.

    Parameters
    ----------
    k : int
        Number of centres.
    tau : float
        Largest relative gain of a swap, at least 0.
    power : int
        1 for a metric, 2 for the square of one.
    excess : float, default=0.0
        How much worse the best candidate of a cluster is than its centroid: 1 for k-means on the data points; 0
        compares with the best centres among the candidates.
    p : int, default=1
        How many centres are swapped at a time, at most.

    Examples
    --------
    >>> swap_ratio(3, 0.0, 1)
    5.0
    >>> round(swap_ratio(3, 0.0, 2, excess=1.0), 2)
    26.65
    """
    if k <= p:
        return (1.0 + excess) / (1.0 - tau) if tau < 1 else float("inf")
    left = 1.0 - k * tau
    if left <= 0:
        return float("inf")
    constant = 3.0 + 2.0 / p + excess
    if power == 1:
        return constant / left
    half = 1.0 + 1.0 / p
    return float(((half + np.sqrt(half * half + left * constant)) / left) ** 2)


def swap_bound(problem: SumProblem, centers: NDArray[np.intp], change: float | None) -> Bound:
    """Return the bound that follows from the least change of the cost over all single swaps.

    Parameters
    ----------
    problem : SumProblem
        k-median, k-means, or the unconstrained side of fair k-median.
    centers : ndarray of k indices
        The solution whose swaps were all looked at.
    change : float or None
        Least change of its cost by a swap (negative: an improvement was left), None if the check was not finished.
    """
    excess = problem.excess
    theorem = f"{'k-means' if isinstance(problem, KMeansProblem) else 'k-median'} theorem, p = 1"
    if change is None:
        return Bound(0.0, None, theorem, "the check of all swaps was not finished")
    cost = problem.cost(centers)
    relative, absolute = rounding_margin(problem.space, problem.space.n)
    power = problem.space.power
    if power is None and problem.k > 1 and cost > 0:
        return Bound(0.0, None, theorem, "the triangle inequality was not verified for this distance")
    tau = max(0.0, -change) / cost + relative if cost > 0 else 0.0
    ratio = swap_ratio(problem.k, tau, power or 1, excess or 0.0) * _TRIANGLE_SLACK
    if problem.k == problem.space.m and excess is None:
        ratio = 1.0  # there is only one solution
    if not np.isfinite(ratio):
        return Bound(0.0, None, theorem, f"a swap still gains {tau:.3g} of the cost")
    value = max(0.0, cost / ratio * (1 - relative) - absolute * float(problem.space.weights.sum()))
    because = "1-swap optimal" if tau < 1e-9 else f"no single swap gains more than {tau:.3%} of the cost"
    return Bound(value, ratio, theorem, because, {"swap_optimal": np.sort(centers)})
