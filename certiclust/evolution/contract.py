"""What the paper's general lemma guarantees for a composition on an instance (`certiclust.evolution.proofs`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isfinite

from certiclust.evolution.own import SubsetProblem
from certiclust.evolution.proofs import (
    BALLS,
    CONDITION,
    LOCAL,
    SIZE,
    CostRange,
    LocalSearch,
    fair_search,
    general_lemma,
    swap_search,
    waiting,
    ways_to_meet,
)
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
    against : str
        What the ratio is against, where that is not the optimum of the problem itself; empty elsewhere.
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
    against: str
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
        against = f" against {self.against}," if self.against else ""
        if self.ratio is None:
            guarantee = f"none: {self.reason}"
        elif isfinite(self.iterations):
            each = "" if self.offspring == 1 else f" of {self.offspring} offspring each"
            guarantee = f"ratio {self.ratio:.4g}{against} within {self.iterations:.4g} expected iterations{each}"
        else:
            guarantee = f"ratio {self.ratio:.4g}{against or ','} but no finite bound on the iterations on this instance"
        kept = "the best feasible solution is always kept" if self.elitist else "the best feasible solution may be lost"
        return (
            f"{self.algorithm} on {self.problem}\n"
            f"  selection     Pr_sel >= {self.selection:.4g} ({selection})\n"
            f"  reproduction  Pr_rep({p}, {q}) >= {self.reproduction(p, q):.4g} ({mutation}, {crossover})\n"
            f"  survival      {kept} ({survival})\n"
            f"  guarantee     {guarantee}"
        )


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
        against=problem.against if isinstance(problem, Problem) else "",
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
        return 2.0**power, {CONDITION: adding(m) + (k - 1) * adding(1)}, ""
    assert isinstance(problem, SumProblem)
    phases = {SIZE: sum(adding(m - size) for size in range(k))}
    if isinstance(problem, FairKMedianProblem) and not problem.strict:
        ways = ways_to_meet(problem)
        chance = selection * reproduction(1, 1)
        phases[BALLS] = inf if ways is None else sum(waiting(chance * way, offspring) for way in ways)
    search = _local_search(problem, epsilon)
    if search is None:
        return None, phases, _no_search(problem)
    chance = reproduction(search.p, search.p)
    if chance == 0 and k < m:
        return None, phases, f"the mutation never makes every swap of up to {search.p} centres, which the lemma needs"
    if k < m:
        spread = CostRange.of(problem).spread
        phases[LOCAL] = general_lemma(selection, chance, search.delta, spread, offspring)
    return search.ratio, phases, ""


def _local_search(problem: SumProblem, epsilon: float) -> LocalSearch | None:
    """Return the local search of a sum problem's theorem, with its ratio to the optimum; None if there is none."""
    if isinstance(problem, FairKMedianProblem):
        return fair_search(problem)
    if problem.space.power is None:
        return None
    search = swap_search(problem.k, 1, epsilon, squares=problem.space.power == 2)
    if isinstance(problem, KMeansProblem):
        return replace(search, ratio=search.ratio * (1.0 + (problem.excess or 0.0)))
    return search


def _no_search(problem: SumProblem) -> str:
    if problem.space.power is None:
        return "the triangle inequality was not verified for this distance"
    if isinstance(problem, FairKMedianProblem) and problem.strict:
        return "no theorem is about mode='strict'"
    return "the cost theorem of fair k-median is about critical balls of factor 6 in a metric"
