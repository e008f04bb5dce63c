r"""What the paper's proofs are made of: the general lemma, the local searches imitated, and an instance's own numbers.

The general lemma: an evolutionary process that (1) draws the best feasible solution as a parent with probability at
least :math:`\Pr_{sel}`, (2) turns it into any given neighbour, made by losing at most p and gaining at most q centres,
with probability at least :math:`\Pr_{rep}(p, q)`, and (3) always keeps the best feasible solution, reaches the ratio of
the local search that it imitates within

.. math:: \frac{1}{1 - (1 - \Pr_{sel} \Pr_{rep}(p, q))^\lambda} \cdot \log_{1/(1-\delta)} \frac{f_{init}}{OPT}

expected iterations of :math:`\lambda` offspring each. What comes before a feasible solution is there (growing to size
k, meeting all critical balls), and the climb of the max problems, are phases of the same kind, with a sum of waiting
times in place of the logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, log, log1p

import numpy as np

from certiclust.problems import FairKMedianProblem, SumProblem

#: The phases of the proofs.
CONDITION, SIZE, BALLS, LOCAL = "f1 >= 0 at size k", "size k", "all critical balls", "local optimum"


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
    return inf if spread == inf else log(spread) / -log1p(-delta) * waiting(selection * reproduction, offspring)


def waiting(success: float, offspring: int = 1) -> float:
    """Return the expected iterations until one of `offspring` tries per iteration, each with this chance, succeeds."""
    if success <= 0:
        return inf
    return 1.0 if success >= 1 else -1.0 / expm1(offspring * log1p(-success))


# ------------------------------------------------------------------------------------------------ the local searches


@dataclass(frozen=True)
class LocalSearch:
    """The local search that a theorem imitates: its ratio over the candidates, swaps of p for p, the gain of a step."""

    ratio: float
    p: int
    delta: float


def swap_search(k: int, p: int, epsilon: float, *, squares: bool) -> LocalSearch:
    """Return that of k-median (Arya et al. 2004), or for squared distances that of k-means (Kanungo et al. 2004)."""
    root = 3 + 2 / p
    if squares:
        return LocalSearch(root**2 / (1 - epsilon) ** 2, p, (1 + (1 - epsilon) / root) * epsilon / k)
    return LocalSearch(root / (1 - epsilon), p, epsilon / k)


def fair_search(problem: FairKMedianProblem) -> LocalSearch | None:
    """Return that of fair k-median; None unless it is about the paper's balls, of factor 6, in a metric."""
    paper = not problem.strict and problem.factor == 6 and problem.space.power == 1
    return LocalSearch(84.0, 4, 1 / (8 * problem.k)) if paper else None


# -------------------------------------------------------------------------------------- what is read from an instance


@dataclass(frozen=True)
class CostRange:
    r"""Between what the solutions of size k of a sum problem cost, by each client's largest and least distance.

    Attributes
    ----------
    initial : float
        The paper's f_init, which none exceeds: :math:`\sum_i w_i d_i^{max}` (fair: without the k smallest terms).
    largest : float
        The same without the k smallest terms wherever the centres are clients, which cost themselves nothing.
    least : float
        None costs less: the sum of the n - k smallest :math:`w_i d_i^{min}`, or of all where the centres are no
        clients.
    """

    initial: float
    largest: float
    least: float

    @classmethod
    def of(cls, problem: SumProblem) -> CostRange:
        """Return that of a problem."""
        space, k = problem.space, problem.k
        largest, least = space.extremes
        dearest = np.sort(space.weights * largest)
        whole = float(dearest.sum())
        without = float(dearest[k:].sum()) if space.own else whole
        count = space.n - k if space.own else space.n
        return cls(
            initial=without if isinstance(problem, FairKMedianProblem) else whole,
            largest=without,
            least=float(np.sort(space.weights * least)[:count].sum()),
        )

    @property
    def spread(self) -> float:
        """An upper bound on f_init / OPT."""
        return ratio_of(self.initial, self.least)


def ratio_of(initial: float, optimum: float) -> float:
    """Return f_init / OPT; infinite if nothing positive is known below OPT."""
    return initial / optimum if optimum > 0 else inf


def ball_sizes(problem: FairKMedianProblem) -> tuple[int, ...]:
    """Return the number of points in each critical ball, ascending."""
    return tuple(sorted(int(inside.sum()) for inside in problem.balls))


def ways_to_meet(problem: FairKMedianProblem) -> list[int] | None:
    """Return how many swaps meet one ball more, at least, when 1, 2, ... of the critical balls are missed.

    With i of q balls missed any point of these may come in, at least as many as the i smallest balls have, for any of
    k - q + i centres without which no other ball is missed (paper, fairness section). In a metric the balls are
    disjoint, and at most k; where they are not the proof says nothing, and None is returned.
    """
    sizes, k = ball_sizes(problem), problem.k
    if len(sizes) > k or problem.balls.sum(axis=0).max() > 1:
        return None
    points = np.cumsum(sizes)
    return [(k - len(sizes) + i) * int(points[i - 1]) for i in range(1, len(sizes) + 1)]
