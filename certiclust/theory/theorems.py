r"""The theorems of C. Qian (IEEE TEVC 2023), evaluated on an instance.

For all sum problems a first phase finds a solution of size k, within :math:`e k |F| \ln(|F| / (|F| - k))` expected
iterations (for k = |F| the finite sum that this bounds). The last phase follows the general lemma:
:math:`\frac{1}{1 - (1 - P_{sel} P_{rep})^\lambda} \log_{1/(1-\delta)}(f_{init}/OPT)` with :math:`P_{sel} = 1/k`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, inf, log, log1p

import numpy as np

from certiclust.problems import FairKMedianProblem, KMeansProblem, MaxProblem, Problem, SumProblem


@dataclass(frozen=True)
class Theorem:
    """A theorem of the paper on one instance.

    Attributes
    ----------
    name : str
        Which one.
    ratio : float
        The proven ratio; for fair k-median that of the cost, with `fairness` for the distances.
    iterations : float
        Upper bound on the expected number of iterations, phases added; infinite where the paper's bound is.
    phases : dict of str to float
        The bound of each phase.
    fairness : float or None
        Factor on the fair radii (7 beta) where the theorem is about fairness.
    """

    name: str
    ratio: float
    iterations: float
    phases: dict[str, float]
    fairness: float | None = None


def general_lemma(selection: float, reproduction: float, delta: float, spread: float, offspring: int = 1) -> float:
    """Return the general lemma's bound: expected iterations to a (1 - delta)-approximate local optimum.

    Parameters
    ----------
    selection, reproduction : float
        Lower bounds on the probabilities of choosing the best feasible solution as parent, and of turning it into a
        given neighbour.
    delta : float
        Relative improvement per successful step.
    spread : float
        f_init / OPT, or an upper bound on it.
    offspring : int, default=1
        Offspring per iteration.

    Examples
    --------
    >>> round(general_lemma(0.5, 0.1, 0.5, 8.0), 6)
    60.0
    """
    if spread <= 1:
        return 0.0
    if spread == inf:
        return inf
    success = -np.expm1(offspring * log1p(-selection * reproduction)) if selection * reproduction < 1 else 1.0
    return float(log(spread) / -log1p(-delta) / success)


def guarantee(problem: Problem, *, p: int = 1, epsilon: float = 0.5) -> float:
    """Return the ratio that the paper proves for a problem.

    Parameters
    ----------
    problem : Problem
        Which of the five.
    p : int, default=1
        Swap size of the local search that is imitated (k-median, k-means).
    epsilon : float, default=0.5
        Its tolerance. For k-means on its data points the candidate set contributes a factor 2.
    """
    if isinstance(problem, MaxProblem):
        return 2.0
    if isinstance(problem, FairKMedianProblem):
        return 84.0
    if isinstance(problem, KMeansProblem):
        return float(
            (3 + 2 / p) ** 2 / (1 - epsilon) ** 2 * (2.0 if problem.space.own else 1.0 + (problem.space.excess or 0.0))
        )
    return float((3 + 2 / p) / (1 - epsilon))


def iteration_bound(problem: Problem, *, p: int = 1, epsilon: float = 0.5) -> Theorem:
    """Return the theorem of a problem with its expected iteration bound on this instance.

    The instance enters through n, k, the number of candidates and, for the sum problems, every client's largest and
    least distances, so one pass over all distances is made there.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust.problems import KCenterProblem
    >>> from certiclust.space import Metric, build_space
    >>> space = build_space(np.arange(5.0)[:, None], None, Metric.of("euclidean"), np.ones(5))
    >>> round(iteration_bound(KCenterProblem(space, 2)).iterations, 1)
    32.6
    """
    if isinstance(problem, FairKMedianProblem) and problem.strict:
        raise ValueError("no theorem of the paper is about mode='strict'; the modes proven and tight have one.")
    ratio = guarantee(problem, p=p, epsilon=epsilon)
    k, m = problem.k, problem.space.m
    if isinstance(problem, MaxProblem):
        bound = e * k * k * m - e * k * (m - 1)
        return Theorem(f"{problem.name} theorem", ratio, bound, {"f1 >= 0 at size k": bound})
    if not isinstance(problem, SumProblem):
        raise TypeError(f"no theorem for {type(problem).__name__}.")
    phases = {"size k": _growth(k, m)}
    if isinstance(problem, FairKMedianProblem):
        phases["all critical balls"] = 2 * e * k * k * m
        swaps, delta = 4, 1 / (8 * k)
    elif isinstance(problem, KMeansProblem):
        swaps, delta = p, (1 + (1 - epsilon) / (3 + 2 / p)) * epsilon / k
    else:
        swaps, delta = p, epsilon / k
    spread = 1.0 if k == m else _spread(problem)
    phases["local optimum"] = general_lemma(1 / k, 1 / (e * float(m) ** (2 * swaps)), delta, spread)
    fairness = (problem.factor + 1) * problem.beta if isinstance(problem, FairKMedianProblem) else None
    return Theorem(f"{problem.name} theorem", ratio, sum(phases.values()), phases, fairness)


def _growth(k: int, m: int) -> float:
    """Return the bound on the iterations to the first size-k solution."""
    if k < m:
        return float(e * k * m * log(m / (m - k)))
    return float(e * m * sum((i + 1) / (m - i) for i in range(k)))


def _spread(problem: SumProblem) -> float:
    """Return the sum of w_i d_i^max over a lower bound on OPT from the least distances."""
    largest, least = problem.space.extremes
    weights = problem.space.weights
    if isinstance(problem, FairKMedianProblem):
        initial = np.sort(weights * largest)[problem.k :].sum()
    else:
        initial = (weights * largest).sum()
    count = problem.space.n - problem.k if problem.space.own else problem.space.n
    optimum = np.sort(weights * least)[:count].sum()
    return float(initial / optimum) if optimum > 0 else inf
