r"""The contract of the paper's general lemma, computed for a composition on an instance.

An evolutionary process that (1) draws the best feasible solution as a parent with probability at least
:math:`\Pr_{sel}`, (2) turns it into any given neighbour, made by losing at most p and gaining at most q centres, with
probability at least :math:`\Pr_{rep}(p, q)`, and (3) always keeps the best feasible solution, reaches the ratio of the
local search that it imitates within

.. math:: \frac{1}{1 - (1 - \Pr_{sel} \Pr_{rep}(p, q))^\lambda} \cdot \log_{1/(1-\delta)} \frac{f_{init}}{OPT}

expected iterations of :math:`\lambda` offspring each. What comes before a feasible solution is there (growing to size
k, meeting all critical balls), and the climb of the max problems, are phases of the same kind, with a sum of waiting
times in place of the logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import expm1, inf, isfinite, log, log1p

import numpy as np

from certiclust.evolution.own import SubsetProblem
from certiclust.problems import FairKMedianProblem, KMeansProblem, MaxProblem, Problem, SumProblem

#: Pr_rep(p, q).
Reproduction = Callable[[int, int], float]


@dataclass(frozen=True)
class Contract:
    """What a composed algorithm guarantees on an instance.

    Attributes
    ----------
    algorithm, problem : str
        Their names.
    parts : tuple of str
        Names of selection, mutation, crossover and survival.
    selection : float
        Pr_sel: the best feasible solution is drawn as a parent with at least this probability.
    reproduction : callable
        Pr_rep(p, q): every neighbour made by losing at most p and gaining at most q centres has at least this one.
    neighbours : tuple of int
        The p and q that the proof for this problem needs.
    offspring : int
        Offspring per iteration of the lemma, its lambda.
    elitist : bool
        Whether the best feasible solution is always kept; for the max problems, one of every non-dominated size.
    ratio : float or None
        The ratio that is reached, None if nothing is guaranteed.
    iterations : float
        Upper bound on the expected iterations, of `offspring` offspring each; infinite without a guarantee.
    phases : dict of str to float
        The same for each phase of the proof.
    reason : str
        Why nothing is guaranteed; empty if something is.
    """

    algorithm: str
    problem: str
    parts: tuple[str, str, str, str]
    selection: float
    reproduction: Reproduction
    neighbours: tuple[int, int]
    offspring: int
    elitist: bool
    ratio: float | None
    iterations: float
    phases: dict[str, float]
    reason: str

    @property
    def expected_offspring(self) -> float:
        """The bound in offspring, as `Run.n_iter` counts them."""
        return self.iterations * self.offspring

    def __str__(self) -> str:
        selection, mutation, crossover, survival = self.parts
        p, q = self.neighbours
        if self.ratio is None:
            guarantee = f"none: {self.reason}"
        elif isfinite(self.iterations):
            each = "" if self.offspring == 1 else f" of {self.offspring} offspring each"
            guarantee = f"ratio {self.ratio:.4g} within {self.iterations:.4g} expected iterations{each}"
        else:
            guarantee = f"ratio {self.ratio:.4g}, but no finite bound on the iterations on this instance"
        kept = "the best feasible solution is always kept" if self.elitist else "the best feasible solution may be lost"
        return (
            f"{self.algorithm} on {self.problem}\n"
            f"  selection     Pr_sel >= {self.selection:.4g} ({selection})\n"
            f"  reproduction  Pr_rep({p}, {q}) >= {self.reproduction(p, q):.4g} ({mutation}, {crossover})\n"
            f"  survival      {kept} ({survival})\n"
            f"  guarantee     {guarantee}"
        )


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


@dataclass(frozen=True)
class LocalSearch:
    """The local search that a theorem imitates: its ratio, swaps of p for p, the gain of a step, and f_init / OPT."""

    ratio: float
    p: int
    delta: float
    spread: float


def local_search(problem: SumProblem, epsilon: float) -> LocalSearch | None:
    """Return the local search of a sum problem's theorem, None if there is none for it."""
    k = problem.k
    spread = 1.0 if k == problem.space.m else spread_of(problem)
    if isinstance(problem, FairKMedianProblem):
        proven = not problem.strict and problem.factor == 6 and problem.space.power == 1
        return LocalSearch(84.0, 4, 1 / (8 * k), spread) if proven else None
    if isinstance(problem, KMeansProblem) or problem.space.power == 2:
        delta = (1 + (1 - epsilon) / 5) * epsilon / k
        near = 1.0
        if isinstance(problem, KMeansProblem):
            near = 2.0 if problem.space.own else 1.0 + (problem.space.excess or 0.0)
        return LocalSearch(near * 25 / (1 - epsilon) ** 2, 1, delta, spread)
    return LocalSearch(5 / (1 - epsilon), 1, epsilon / k, spread) if problem.space.power == 1 else None


def spread_of(problem: SumProblem) -> float:
    """Return the sum of w_i d_i^max over a lower bound on OPT from the least distances; infinite if that is zero."""
    largest, least = problem.space.extremes()
    weights = problem.space.weights
    skipped = problem.k if isinstance(problem, FairKMedianProblem) else 0
    initial = np.sort(weights * largest)[skipped:].sum()
    count = problem.space.n - problem.k if problem.space.own else problem.space.n
    optimum = np.sort(weights * least)[:count].sum()
    return float(initial / optimum) if optimum > 0 else inf


def compose(
    problem: Problem | SubsetProblem,
    *,
    algorithm: str,
    parts: tuple[str, str, str, str],
    selection: float,
    neighbour: Callable[[int, int, int, int], float],
    offspring: int,
    loses: str,
    epsilon: float,
) -> Contract:
    """Return the contract of a composition from what its parts guarantee.

    Parameters
    ----------
    problem : Problem or SubsetProblem
        The instance.
    algorithm, parts : str and tuple of str
        Names.
    selection : float
        Pr_sel.
    neighbour : callable
        Pr_rep as a function of m, k, p and q.
    offspring : int
        lambda.
    loses : str
        Why the best feasible solution may be lost; empty if it is always kept.
    epsilon : float
        Tolerance of the local search.
    """
    m = problem.m if isinstance(problem, SubsetProblem) else problem.space.m

    def reproduction(p: int, q: int) -> float:
        return neighbour(m, problem.k, p, q)

    ratio: float | None = None
    phases: dict[str, float] = {}
    reason = loses
    if not loses and isinstance(problem, SubsetProblem):
        reason = f"no theorem about {problem.name} is known here"
    elif not loses and isinstance(problem, Problem):
        ratio, phases, reason = _proof(problem, selection, reproduction, offspring, epsilon)
    if reason:
        ratio = None
    return Contract(
        algorithm=algorithm,
        problem=problem.name,
        parts=parts,
        selection=selection,
        reproduction=reproduction,
        neighbours=_neighbours(problem),
        offspring=offspring,
        elitist=not loses,
        ratio=ratio,
        iterations=sum(phases.values()) if ratio is not None else inf,
        phases=phases,
        reason=reason,
    )


def _neighbours(problem: Problem | SubsetProblem) -> tuple[int, int]:
    """Return how many centres the neighbours of the proof lose and gain at most."""
    if isinstance(problem, MaxProblem):
        return 0, 1
    return (4, 4) if isinstance(problem, FairKMedianProblem) else (1, 1)


def _proof(
    problem: Problem, selection: float, reproduction: Reproduction, offspring: int, epsilon: float
) -> tuple[float | None, dict[str, float], str]:
    """Return ratio, phases and, if there is no guarantee, the reason, for survivors that keep the best."""

    def adding(places: int) -> float:
        return waiting(selection * places * reproduction(0, 1), offspring)

    k, m, power = problem.k, problem.space.m, problem.space.power
    if isinstance(problem, MaxProblem):
        if power is None:
            return None, {}, "the triangle inequality was not verified for this distance"
        if reproduction(0, 1) == 0:
            return None, {}, "no single centre can be added"
        # Any first centre will do; then the point farthest from the centres is one that keeps f1 >= 0.
        return 2.0**power, {"f1 >= 0 at size k": adding(m) + (k - 1) * adding(1)}, ""
    assert isinstance(problem, SumProblem)
    search = local_search(problem, epsilon)
    phases = {"size k": sum(adding(m - size) for size in range(k))}
    if isinstance(problem, FairKMedianProblem) and not problem.strict:
        phases["all critical balls"] = _meeting(problem, selection * reproduction(1, 1), offspring)
    if search is None:
        return None, phases, _no_search(problem)
    chance = reproduction(search.p, search.p)
    if chance == 0 and k < m:
        return None, phases, f"the mutation never makes every swap of up to {search.p} centres, which the lemma needs"
    if k < m:
        phases["local optimum"] = general_lemma(selection, chance, search.delta, search.spread, offspring)
    return search.ratio, phases, ""


def _meeting(problem: FairKMedianProblem, chance: float, offspring: int) -> float:
    """Return the expected iterations until a size-k solution meets all critical balls, given that of one swap.

    With i balls missed, any point of these may come in for any of at least k - q + i centres without which no other
    ball is missed (paper, fairness section); the balls counted here are the smallest.
    """
    sizes = np.sort(np.bincount(problem.groups[problem.groups >= 0]))
    spare = problem.k - len(sizes)
    points = np.cumsum(sizes)
    chances = [chance * (spare + i) * int(points[i - 1]) for i in range(1, len(sizes) + 1)]
    return sum(waiting(c, offspring) for c in chances)


def _no_search(problem: SumProblem) -> str:
    if problem.space.power is None:
        return "the triangle inequality was not verified for this distance"
    if isinstance(problem, FairKMedianProblem) and problem.strict:
        return "no theorem is about mode='strict'"
    return "the cost theorem of fair k-median is about critical balls of factor 6 in a metric"
