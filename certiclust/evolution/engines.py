"""The compiled algorithms as objects with one face: Algorithm 1 for sums and for maxima, and every composed one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from certiclust.evolution.components.mutation import BitwiseMutation, Mutation
from certiclust.evolution.own import SubsetProblem
from certiclust.evolution.stopping import NEVER
from certiclust.problems import KTMMProblem, MaxProblem, Objective, Problem, SumProblem

if TYPE_CHECKING:
    from certiclust.evolution.kernels.archive import Archive
    from certiclust.evolution.kernels.maxima import Maxima
    from certiclust.evolution.kernels.sums import Sums

IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Member:
    """A solution in the population: its centres, ascending, and its first objective."""

    centers: IntArray
    f1: Objective


@dataclass(frozen=True)
class Limits:
    """What ends a block of iterations early.

    Attributes
    ----------
    last : int
        The iteration not to be passed.
    patience : int
        Iterations without an improvement at size k.
    target : float
        A size-k cost that is good enough.
    until_certified : bool
        Whether the theorem's condition is enough: f1 >= 0 at size k, or all critical balls met.
    until_sized : bool
        Whether any size-k solution is enough.
    """

    last: int = NEVER
    patience: int = NEVER
    target: float = -np.inf
    until_certified: bool = False
    until_sized: bool = False

    @property
    def ends(self) -> tuple[int, int, float, bool, bool]:
        """All of them, as the kernels take them."""
        return self.last, self.patience, self.target, self.until_certified, self.until_sized

    @property
    def endless(self) -> bool:
        """Whether neither an iteration nor the patience ends the run."""
        return min(self.last, self.patience) >= NEVER


class Engine(ABC):
    """An algorithm on one problem, advanced in blocks of iterations."""

    def __init__(self, problem: Problem | SubsetProblem, archive: Archive, seed: int) -> None:
        from certiclust.evolution.kernels.rng import seeded

        self.problem = problem
        self._archive = archive
        self._state = seeded(seed)
        self._work = max(64, 20_000_000 // (problem.m if isinstance(problem, SubsetProblem) else problem.space.n))

    @abstractmethod
    def advance(self, limits: Limits) -> None:
        """Run one block of iterations, ending early in the very iteration that one of the limits names."""

    @property
    @abstractmethod
    def best(self) -> IntArray | None:
        """Centres of the best size-k solution, None before the first."""

    @property
    @abstractmethod
    def upper(self) -> float:
        """Its cost, infinite before the first."""

    @property
    @abstractmethod
    def lower(self) -> float:
        """Lower bound known so far."""

    @property
    @abstractmethod
    def certified(self) -> bool:
        """Whether the condition of the problem's theorem was seen to hold at size k."""

    @property
    def h(self) -> float:
        """Max problems: largest h of a size-k solution with f1 >= 0; -1 before the first."""
        return -1.0

    @property
    def apart(self) -> IntArray | None:
        """Max problems: the k + 1 points pairwise at least h apart; None if h <= 0."""
        return None

    @property
    @abstractmethod
    def members(self) -> int:
        """|P|."""

    @property
    @abstractmethod
    def population(self) -> list[Member]:
        """The members of P, smallest first."""

    @property
    def settled(self) -> bool:
        """Whether no offspring can change P any more."""
        return False

    @property
    def candidates(self) -> int:
        """Number of candidates, |F|."""
        return int(self._archive.inside.shape[1])

    @property
    def iteration(self) -> int:
        """Iterations so far, counted as in the paper."""
        return int(self._archive.counters[0])

    @property
    def evaluations(self) -> int:
        """Offspring whose objectives were computed over all clients."""
        return int(self._archive.counters[1])

    @property
    def improved(self) -> int:
        """Iteration of the last improvement at size k."""
        return int(self._archive.counters[3])

    @property
    def mean_population(self) -> float:
        """|P| averaged over the iterations."""
        return float(self._archive.sizes[0] / max(1, self.iteration))

    def _member(self, slot: int, size: int) -> Member:
        """Return the set in a slot."""
        f1 = -int(self._archive.violations[slot]), float(self._archive.value[slot])
        return Member(np.sort(self._archive.members[slot, :size]).astype(np.intp), f1)


class Algorithm1(Engine):
    """GSEMO: the part that sums and maxima share."""

    def __init__(self, problem: Problem, mutation: Mutation, seed: int, archive: Archive) -> None:
        super().__init__(problem, archive, seed)
        k, m = problem.k, problem.space.m
        self._law = mutation.law(m, k, pure_removals=isinstance(problem, MaxProblem))

    @abstractmethod
    def replay(self, choices: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Run one iteration per given choice: the parent's rank in P by size, and the flipped positions."""

    @property
    def settled(self) -> bool:
        """Whether no offspring can change P any more (k = |F|)."""
        return not self._law.relevant[self._archive.slot >= 0].any()

    @property
    def members(self) -> int:
        """|P|."""
        return int(np.count_nonzero(self._archive.slot >= 0))

    @property
    def population(self) -> list[Member]:
        """The members of P, smallest first."""
        return [self._member(slot, size) for size, slot in enumerate(self._archive.slot) if slot >= 0]


def _packed(choices: Sequence[tuple[int, Sequence[int]]]) -> tuple[NDArray[np.int64], ...]:
    ranks = np.array([rank for rank, _ in choices], dtype=np.int64)
    starts = np.cumsum([0, *(len(flips) for _, flips in choices)], dtype=np.int64)
    flips = np.array([j for _, flips in choices for j in flips], dtype=np.int64)
    return ranks, starts, flips


def sums_of(problem: SumProblem, slots: int) -> Sums:
    """Return a sum problem with room for so many evaluated sets, the empty one in slot 0."""
    from certiclust.evolution.kernels.archive import new_archive, new_tables
    from certiclust.evolution.kernels.sums import Sums

    n, m = problem.space.n, problem.space.m
    groups = problem.groups
    balls = int(groups.max()) + 1
    return Sums(
        rows=problem.space.rows(),
        weights=problem.space.weights,
        groups=groups,
        hits=np.zeros((slots, balls), dtype=np.int64),
        archive=new_archive(m, problem.k, slots, -np.inf, balls),
        tables=new_tables(n, slots),
        loss=np.zeros(m + 1),
        judged=np.full(m + 1, -1, dtype=np.int64),
        scratch=np.zeros(m),
        buffers=np.empty((2, n)),
        flips=np.empty((2, problem.k + 1), dtype=np.int64),
    )


def maxima_of(problem: MaxProblem, slots: int) -> Maxima:
    """Return a max problem with room for so many evaluated sets, the empty one in slot 0."""
    from certiclust.evolution.kernels.archive import new_archive, new_tables
    from certiclust.evolution.kernels.maxima import Maxima

    n, k = problem.space.n, problem.k
    return Maxima(
        rows=problem.space.rows(),
        archive=new_archive(n, k, slots, np.inf, 0),
        tables=new_tables(n, slots),
        separation=np.full(slots, np.inf),
        radius=np.full(slots, np.inf),
        farthest=np.zeros(slots, dtype=np.int64),
        loss=np.empty((slots, k)),
        lossy=np.zeros((slots, k), dtype=np.int64),
        records=np.array([np.inf, -1.0]),
        best=np.zeros(k, dtype=np.int64),
        apart=np.zeros(k + 1, dtype=np.int64),
        diameter=isinstance(problem, KTMMProblem),
        buffers=np.empty((2, n)),
    )


class SumEngine(Algorithm1):
    """Algorithm 1 for k-median, k-means and fair k-median."""

    def __init__(self, problem: SumProblem, mutation: Mutation, seed: int) -> None:
        self._sums = sums_of(problem, problem.k + 2)
        super().__init__(problem, mutation, seed, self._sums.archive)

    def advance(self, limits: Limits) -> None:
        """Run one block."""
        from certiclust.evolution.kernels.sums import advance

        advance(self._sums, self._law, self._state, self._work, *limits.ends)

    def replay(self, choices: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Run one iteration per given choice."""
        from certiclust.evolution.kernels.sums import replay

        replay(self._sums, *_packed(choices))

    @property
    def _best(self) -> Member | None:
        members = self.population
        return members[-1] if len(members[-1].centers) == self.problem.k else None

    @property
    def best(self) -> IntArray | None:
        """Centres of P's size-k member."""
        return None if self._best is None else self._best.centers

    @property
    def upper(self) -> float:
        """Cost of P's size-k member, infinite while it misses a critical ball."""
        best = self._best
        return -best.f1[1] if best is not None and best.f1[0] == 0 else np.inf

    @property
    def lower(self) -> float:
        """Algorithm 1 alone proves no lower bound of a sum."""
        return 0.0

    @property
    def certified(self) -> bool:
        """Whether the size-k member meets every critical ball (true without balls)."""
        return self._best is not None and self._best.f1[0] == 0


class MaxRecords(Engine):
    """What every algorithm remembers of a max problem: the best cost and the best witness seen at size k."""

    problem: MaxProblem
    _maxima: Maxima

    @property
    def best(self) -> IntArray | None:
        """Centres of the best size-k solution seen, whether or not it is still in P."""
        return np.sort(self._maxima.best).astype(np.intp) if np.isfinite(self.upper) else None

    @property
    def upper(self) -> float:
        """Its radius or diameter."""
        return float(self._maxima.records[0])

    @property
    def h(self) -> float:
        """Largest h of a size-k solution with f1 >= 0; -1 before the first."""
        return float(self._maxima.records[1])

    @property
    def lower(self) -> float:
        """The bound that h gives: h for k-tMM without any condition, for k-center h/2 in a metric, h/4 squared.

        Rounded down by far more than it can err; `separation_bound` has the exact margin.
        """
        h = max(0.0, self.h) * (1 - 1e-9)
        if isinstance(self.problem, KTMMProblem):
            return h
        power = self.problem.space.power
        return 0.0 if power is None else h / 2**power

    @property
    def certified(self) -> bool:
        """Whether f1 >= 0 was seen at size k."""
        return self.h >= 0

    @property
    def apart(self) -> IntArray | None:
        """The k + 1 points pairwise at least h apart; None if h <= 0."""
        return self._maxima.apart.astype(np.intp) if self.h > 0 else None


class MaxEngine(MaxRecords, Algorithm1):
    """Algorithm 1 for k-center and k-tMM."""

    def __init__(self, problem: MaxProblem, mutation: Mutation, seed: int) -> None:
        self._maxima = maxima_of(problem, problem.k + 2)
        super().__init__(problem, mutation, seed, self._maxima.archive)

    def advance(self, limits: Limits) -> None:
        """Run one block."""
        from certiclust.evolution.kernels.maxima import advance

        advance(self._maxima, self._law, self._state, self._work, *limits.ends)

    def replay(self, choices: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Run one iteration per given choice."""
        from certiclust.evolution.kernels.maxima import replay

        replay(self._maxima, *_packed(choices))


def engine_for(problem: Problem, seed: int, mutation: Mutation | None = None) -> Algorithm1:
    """Return the compiled Algorithm 1 for a problem; without a mutation, bit-wise mutation as in the paper."""
    mutation = BitwiseMutation() if mutation is None else mutation
    if isinstance(problem, MaxProblem):
        return MaxEngine(problem, mutation, seed)
    if isinstance(problem, SumProblem):
        return SumEngine(problem, mutation, seed)
    raise TypeError(f"no kernels for {type(problem).__name__}.")
