"""GSEMO for every size in one run: the population is the curve of costs against sizes (docs/choosing_k.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from certiclust.evolution.engines import Limits, Member, _packed
from certiclust.evolution.gsemo import Choice, RandomState
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.evolution.laws import bitwise_law
from certiclust.evolution.stopping import Certified, Criterion, MaxIterations, NoImprovement, Progress
from certiclust.problems import FairKMedianProblem, KTMMProblem, MaxProblem, Problem

IntArray = NDArray[np.intp]


def plain_curve(problem: Problem, max_iter: int, choose: Callable[[int], Choice]) -> list[Member]:
    """Run GSEMO for every size up to k as it is written, evaluating every offspring: the oracle of the kernels.

    Parameters
    ----------
    problem : Problem
        What to solve, with the largest size.
    max_iter : int
        Number of iterations.
    choose : callable
        Given the size of P, returns the parent's rank in P (smallest first) and the positions to flip.

    Returns
    -------
    list of Member
        The final population, smallest first.
    """
    nothing = np.empty(0, dtype=np.intp)
    members = [Member(nothing, problem.f1(nothing))]
    for _ in range(max_iter):
        rank, flips = choose(len(members))
        centers = np.setxor1d(members[rank].centers, flips)
        if 0 < len(centers) <= problem.k:
            members = curve_survivors(members, Member(centers, problem.f1(centers)), isinstance(problem, MaxProblem))
    return members


def curve_survivors(population: list[Member], child: Member, equal_sizes: bool) -> list[Member]:
    """Return P after an offspring: it enters unless a member dominates it, and those it weakly dominates leave."""

    def weakly_dominates(z: Member, y: Member) -> bool:
        size, other = len(z.centers), len(y.centers)
        return z.f1 >= y.f1 and (size == other if equal_sizes else size <= other)

    if any(weakly_dominates(z, child) and not weakly_dominates(child, z) for z in population):
        return population
    kept = [z for z in population if not weakly_dominates(child, z)]
    return sorted([*kept, child], key=lambda z: len(z.centers))


@dataclass(frozen=True)
class AtSize:
    """What a run found for one size.

    Attributes
    ----------
    centers : ndarray
        The best set of at most that size; fewer where no larger one is better. For the max problems the set of that
        size with the least cost seen.
    met : bool
        Whether a set of that size was evaluated.
    h, apart : float and ndarray or None
        Max problems: the largest h of a set of that size with f1 >= 0, and the points pairwise at least h apart.
    """

    centers: IntArray
    met: bool
    h: float = -1.0
    apart: IntArray | None = None


class CurveEngine:
    """The compiled run on one problem, advanced in blocks of iterations."""

    def __init__(self, problem: Problem, seed: int) -> None:
        from certiclust.evolution.kernels.archive import new_archive, new_tables
        from certiclust.evolution.kernels.curve import Curve
        from certiclust.evolution.kernels.rng import seeded

        if isinstance(problem, FairKMedianProblem):
            raise TypeError("fair k-median has no common run of all sizes: its constraint changes with k.")
        self.problem = problem
        n, m, k = problem.space.n, problem.space.m, problem.k
        maximum = isinstance(problem, MaxProblem)
        self._state, self._law = seeded(seed), bitwise_law(m, k, pure_removals=True)
        self._curve = Curve(
            rows=problem.space.rows(),
            weights=problem.space.weights,
            archive=new_archive(m, k, k + 2, np.inf if maximum else -np.inf, 0),
            tables=new_tables(n, k + 2),
            maximum=maximum,
            diameter=isinstance(problem, KTMMProblem),
            met=np.zeros(k + 1, dtype=np.int64),
            cost=np.full(k + 1, np.inf),
            best=np.zeros((k + 1, k), dtype=np.int64),
            h=np.full(k + 1, -1.0),
            apart=np.zeros((k + 1, k + 1), dtype=np.int64),
            buffers=np.empty((2, n)),
        )
        self._work = max(64, 10_000_000 // n)

    def advance(self, limits: Limits) -> None:
        """Run one block of iterations, ending early in the very iteration that one of the limits names."""
        from certiclust.evolution.kernels.curve import advance

        ends = limits.last, limits.patience, limits.until_certified
        advance(self._curve, self._law, self._state, self._work, *ends)

    def replay(self, choices: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Run one iteration per given choice: the parent's rank in P by size, and the flipped positions."""
        from certiclust.evolution.kernels.curve import replay

        replay(self._curve, *_packed(choices))

    @property
    def iteration(self) -> int:
        """Iterations so far, counted as in the paper."""
        return int(self._curve.archive.counters[0])

    @property
    def improved(self) -> int:
        """Iteration of the last improvement at any size."""
        return int(self._curve.archive.counters[3])

    @property
    def population(self) -> list[Member]:
        """The members of P, smallest first."""
        archive = self._curve.archive
        return [
            Member(np.sort(archive.members[slot, :size]).astype(np.intp), (0, float(archive.value[slot])))
            for size, slot in enumerate(archive.slot)
            if slot >= 0
        ]

    @property
    def certified(self) -> bool:
        """Whether f1 >= 0 was seen at every size (max problems)."""
        return bool((self._curve.h[1:] >= 0).all())

    def at(self, size: int) -> AtSize:
        """Return what was found for one size."""
        curve, met = self._curve, bool(self._curve.met[size])
        if isinstance(self.problem, MaxProblem):
            if not met:
                return AtSize(self._largest(size), False)
            apart = curve.apart[size, : size + 1].astype(np.intp) if curve.h[size] > 0 else None
            return AtSize(np.sort(curve.best[size, :size]).astype(np.intp), True, float(curve.h[size]), apart)
        return AtSize(self._largest(size), met)

    def _largest(self, size: int) -> IntArray:
        """Return P's largest member of at most some size."""
        return next(z.centers for z in reversed(self.population) if len(z.centers) <= size)


@dataclass(frozen=True)
class CurveRun:
    """What one run found for every size, its iterations, and whether Ctrl-C ended it."""

    at: dict[int, AtSize]
    n_iter: int
    interrupted: bool


def gsemo_curve(
    problem: Problem,
    max_iter: int | None = None,
    random_state: RandomState = None,
    *,
    stop: Criterion | None = None,
    callbacks: Iterable[Callable[[Progress], None]] = (),
) -> CurveRun:
    """Run GSEMO once for every size up to the problem's k.

    The sum problems minimise cost and size together, the max problems compare equal sizes only; what is guaranteed
    for every size is in docs/choosing_k.md.

    Parameters
    ----------
    problem : Problem
        k-median, k-means, k-center or k-tMM, with the largest size.
    max_iter : int or None, default=None
        Iterations, zero-flip ones counted. None: until f1 >= 0 was seen at every size (max problems), or no size got
        better for ``10 * m * k`` iterations (sum problems).
    random_state : int, RandomState or None
        Seed of the run.
    stop : Criterion or None
        When to stop besides; costs and gaps are not looked at.
    callbacks : iterable of callable
        Called with a `Progress` after each block of iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust.problems import KMedianProblem
    >>> from certiclust.space import Metric, build_space
    >>> x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    >>> space = build_space(x, None, Metric.of("euclidean"), np.ones(5))
    >>> run = gsemo_curve(KMedianProblem(space, 3), max_iter=3000, random_state=0)
    >>> [run.at[k].centers.tolist() for k in (1, 2)]
    [[2], [1, 3]]
    """
    ends: Criterion = Criterion() if stop is None else stop
    if max_iter is not None:
        ends = ends | MaxIterations(max_iter)
    elif isinstance(problem, MaxProblem):
        ends = ends | Certified()
    else:
        ends = ends | NoImprovement(10 * problem.space.m * problem.k)
    engine = CurveEngine(problem, int(check_random_state(random_state).randint(2**31)))
    limits = Limits(ends.last, ends.patience, until_certified=ends.until_certified)
    start = perf_counter()
    with catch_interrupt() as interrupted:
        while True:
            progress = _progress(engine, perf_counter() - start)
            for callback in callbacks:
                callback(progress)
            if interrupted() or ends(progress):
                break
            engine.advance(limits)
        at = {size: engine.at(size) for size in range(1, problem.k + 1)}
        return CurveRun(at, engine.iteration, interrupted())


def _progress(engine: CurveEngine, seconds: float) -> Progress:
    """Return the progress of a run; cost and bound are those of the largest size."""
    last = engine.population[-1]
    whole = len(last.centers) == engine.problem.k
    if isinstance(engine.problem, MaxProblem):
        upper = float(engine._curve.cost[-1])
    else:
        upper = -last.f1[1] if whole else np.inf
    return Progress(
        seconds, engine.iteration, upper, 0.0, engine.improved, True, len(engine.population), engine.certified
    )
