"""The bound of the max problems: k + 1 points pairwise at least h apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.bound import Bound, rounding_margin
from certiclust.problems import KTMMProblem, MaxProblem


def separation_bound(problem: MaxProblem, h: float, apart: NDArray[np.intp] | None) -> Bound:
    r"""Return the bound that k + 1 points pairwise at least `h` apart give.

    Two of them share a cluster in any solution, so the optimal diameter is at least h (no metric needed), and by the
    triangle inequality the optimal radius is at least h/2; where the square root of the distance is the metric, h/4.
    A size-k solution with :math:`f_1 \ge 0` has radius at most h, and so ratio 2 (4 for squared metrics).

    Parameters
    ----------
    problem : MaxProblem
        k-center or k-tMM.
    h : float
        Least pairwise distance; negative if no solution with f1 >= 0 was met.
    apart : ndarray of k + 1 indices or None
        The points; None if h <= 0, where the cost itself is zero and needs no witness.
    """
    theorem = f"{problem.name} theorem"
    if h < 0:
        return Bound(0.0, None, theorem, "no size-k solution with f1 >= 0 was met")
    power = problem.space.power
    is_diameter = isinstance(problem, KTMMProblem)
    factor = 1.0 if is_diameter else float(2 ** (power or 0))
    relative, absolute = rounding_margin(problem.space, 1)
    value = max(0.0, h / factor * (1 - relative) - absolute)
    witness = {} if apart is None else {"apart": apart}
    if power is None:
        reason = "the triangle inequality was not verified for this distance"
        return Bound(value if is_diameter else 0.0, None, theorem, reason, witness)
    return Bound(value, float(2**power), theorem, "f1 >= 0 at size k", witness)
