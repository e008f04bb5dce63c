"""GSEMO, Algorithm 1 of the paper, twice: plain on one screen, and compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from certiclust.evolution.engines import Engine, Limits, Member, engine_for
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.evolution.own import SubsetProblem
from certiclust.evolution.stopping import Certified, Criterion, MaxIterations, NoImprovement, Progress, Target
from certiclust.problems import MaxProblem, Objective, Problem

IntArray = NDArray[np.intp]
Choice = tuple[int, IntArray]
RandomState = int | np.random.RandomState | None

HistoryRow = tuple[float, int, float, float, int]

#: One row per improvement of either bound: what a run knew, and when.
HISTORY = np.dtype([("time", "f8"), ("iteration", "i8"), ("upper", "f8"), ("lower", "f8"), ("candidates", "i8")])


def random_choices(m: int, random_state: RandomState) -> Callable[[int], Choice]:
    """Return the random half of Algorithm 1: a uniform parent, and each of `m` bits flipped with probability 1/m."""
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    return lambda size: (int(rng.integers(size)), np.flatnonzero(rng.random(m) < 1.0 / m))


def plain_gsemo(
    problem: Problem, max_iter: int, choose: Callable[[int], Choice], population: Iterable[Member] | None = None
) -> list[Member]:
    """Run Algorithm 1 as it is written, evaluating every offspring: the oracle of the compiled kernels.

    Parameters
    ----------
    problem : Problem
        What to solve.
    max_iter : int
        Number of iterations.
    choose : callable
        Given the size of P, returns the parent's rank in P (smallest first) and the positions to flip.
    population : iterable of Member or None
        The P to go on from; None: the empty set alone, as in the paper.

    Returns
    -------
    list of Member
        The final population, smallest first.
    """
    nothing = np.empty(0, dtype=np.intp)
    members = [Member(nothing, problem.f1(nothing))] if population is None else list(population)
    for _ in range(max_iter):
        rank, flips = choose(len(members))
        if flips.size == 0:
            continue  # the parent itself, which takes its own place
        centers = np.setxor1d(members[rank].centers, flips)
        if len(centers) <= problem.k:
            members = survivors(members, Member(centers, problem.f1(centers)))
    return members


def survivors(population: list[Member], child: Member) -> list[Member]:
    """Return P after an offspring: it enters unless a member dominates it, and those it weakly dominates leave."""

    def weakly_dominates(z: Member, y: Member) -> bool:
        return z.f1 >= y.f1 and len(z.centers) >= len(y.centers)

    if any(weakly_dominates(z, child) and not weakly_dominates(child, z) for z in population):
        return population
    kept = [z for z in population if not weakly_dominates(child, z)]
    return sorted([*kept, child], key=lambda z: len(z.centers))


@dataclass(frozen=True)
class Run:
    """What a run of an evolutionary algorithm found.

    Attributes
    ----------
    problem : Problem or SubsetProblem
        What was solved.
    population : list of Member
        The final P, smallest first; of clones one.
    best : ndarray or None
        Centres of the best size-k solution: for GSEMO on the sum problems P's own, else the best seen (the least radius
        or diameter for the max problems); None if no size-k solution was met.
    cost : float
        Its cost, infinite if there is none.
    certified : bool
        Whether f1 >= 0 was seen at size k (max problems) or all critical balls are met (fair).
    h, apart : float and ndarray or None
        Max problems: the largest h with its k + 1 points pairwise at least h apart.
    n_iter, evaluations : int
        Iterations counted as in the paper, one for each offspring, and offspring that had to be evaluated.
    improved : int
        Iteration of the last improvement at size k.
    mean_population : float
        |P| averaged over the iterations.
    history : ndarray
        Time, iteration, upper and lower bound, candidates left: one row per change.
    interrupted : bool
        Whether Ctrl-C ended the run.
    """

    problem: Problem | SubsetProblem
    population: list[Member]
    best: IntArray | None
    cost: float
    certified: bool
    h: float
    apart: IntArray | None
    n_iter: int
    evaluations: int
    improved: int
    mean_population: float
    history: NDArray[np.void]
    interrupted: bool

    @property
    def f1(self) -> Objective | None:
        """First objective of P's size-k member, None if there is none."""
        last = self.population[-1]
        return last.f1 if len(last.centers) == self.problem.k else None


def default_stop(problem: Problem) -> Criterion:
    """Return the criterion of ``max_iter=None``: the theorem's condition, or 10 |F| k iterations without progress."""
    if isinstance(problem, MaxProblem):
        return Certified()
    return NoImprovement(10 * problem.space.m * problem.k)


def gsemo(
    problem: Problem,
    max_iter: int | None = None,
    random_state: RandomState = None,
    *,
    stop: Criterion | None = None,
    target: float = -inf,
    callbacks: Iterable[Callable[[Progress], None]] = (),
) -> Run:
    """Run Algorithm 1 of the paper with compiled kernels that follow exactly its law.

    Parameters
    ----------
    problem : Problem
        What to solve.
    max_iter : int or None, default=None
        Iterations, zero-flip ones counted. None: until `stop`, or without one until the theorem's condition holds
        (max problems) or nothing improved for ``10 * m * k`` iterations (sum problems).
    random_state : int, RandomState or None
        Seed of the run; the same seed gives the same run.
    stop : Criterion or None
        When to stop besides `max_iter`; combine with ``|``.
    target : float, default=-inf
        Stop in the very iteration that reaches this cost with a feasible size-k solution.
    callbacks : iterable of callable
        Called with a `Progress` after each block of iterations.

    Returns
    -------
    Run
        Population, best solution, counts and history. Ctrl-C ends the run early and keeps what it found.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust.problems import KMedianProblem
    >>> from certiclust.space import Metric, build_space
    >>> x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    >>> space = build_space(x, None, Metric.of("euclidean"), np.ones(5))
    >>> run = gsemo(KMedianProblem(space, 2), max_iter=2000, random_state=0)
    >>> run.cost
    3.0
    """
    if stop is None:
        stop = default_stop(problem) if max_iter is None else Criterion()
    if max_iter is not None:
        stop = stop | MaxIterations(max_iter)
    engine = engine_for(problem, int(check_random_state(random_state).randint(2**31)))
    return run_engine(engine, stop | Target(target), tuple(callbacks))


def run_engine(engine: Engine, stop: Criterion, callbacks: tuple[Callable[[Progress], None], ...]) -> Run:
    """Advance an engine block by block until a criterion says stop, or Ctrl-C."""
    limits = Limits(stop.last, stop.patience, stop.target, stop.until_certified, stop.until_sized)
    history: list[HistoryRow] = []
    start = perf_counter()
    with catch_interrupt() as interrupted:
        while True:
            progress = _progress(engine, perf_counter() - start)
            _record(history, progress, engine.candidates)
            for callback in callbacks:
                callback(progress)
            if interrupted() or stop(progress) or (limits.endless and engine.settled):
                break
            engine.advance(limits)
        return _result(engine, history, interrupted())


def _progress(engine: Engine, seconds: float) -> Progress:
    found = engine.best is not None
    bounds = engine.upper, engine.lower
    return Progress(seconds, engine.iteration, *bounds, engine.improved, found, engine.members, engine.certified)


def _record(history: list[HistoryRow], progress: Progress, candidates: int) -> None:
    if progress.upper < inf and (not history or (progress.upper, progress.lower) != history[-1][2:4]):
        history.append((progress.seconds, progress.iteration, progress.upper, progress.lower, candidates))


def _result(engine: Engine, history: list[HistoryRow], interrupted: bool) -> Run:
    return Run(
        problem=engine.problem,
        population=engine.population,
        best=engine.best,
        cost=engine.upper,
        certified=engine.certified,
        h=engine.h,
        apart=engine.apart,
        n_iter=engine.iteration,
        evaluations=engine.evaluations,
        improved=engine.improved,
        mean_population=engine.mean_population,
        history=np.array(history, dtype=HISTORY),
        interrupted=interrupted,
    )
