"""Composed algorithms as engines: the same face as Algorithm 1, around the loop over generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from certiclust.evolution.components.mutation import Mutation
from certiclust.evolution.engines import Engine, Limits, MaxRecords, Member, maxima_of, sums_of
from certiclust.evolution.own import SubsetProblem
from certiclust.evolution.recipe import DECOMPOSITION, UNIFORM, Recipe
from certiclust.problems import MaxProblem, Problem, SumProblem
from certiclust.space.space import matrix_budget

if TYPE_CHECKING:
    from certiclust.evolution.kernels.archive import Archive

IntArray = NDArray[np.intp]


class ComposedEngine(Engine):
    """A composed algorithm, advanced in blocks of offspring; an iteration is one offspring."""

    _tables: Any

    def __init__(
        self, problem: Problem | SubsetProblem, recipe: Recipe, mutation: Mutation, seed: int, archive: Archive
    ) -> None:
        from certiclust.evolution.kernels.population import new_population
        from certiclust.evolution.kernels.survival import survivor_rule

        super().__init__(problem, archive, seed)
        self._recipe = recipe
        self._law = mutation.law(archive.inside.shape[1], problem.k, pure_removals=True)
        self._population = new_population(archive, problem.k, recipe, _aside(recipe, problem.k))
        held = self._population.objectives, self._population.lists, self._population.room
        self._survive = survivor_rule(*held, recipe, problem.k, self._state)

    def advance(self, limits: Limits) -> None:
        """Run one block."""
        from certiclust.evolution.kernels.generation import advance, advance_own

        kernel = advance_own(self._tables.__class__) if isinstance(self.problem, SubsetProblem) else advance
        recipe = self._recipe
        extras = None if recipe.selection == UNIFORM and recipe.crossover_rate == 0 else True
        setting = self._population, recipe, extras, self._survive, self._law, self._state
        kernel(self._tables, *setting, self.best is not None, self._work, *limits.ends)

    @property
    def members(self) -> int:
        """|P|, clones counted."""
        return int(self._population.lists.tally[0])

    @property
    def population(self) -> list[Member]:
        """The different sets in P, smallest first; for MOEA/D those of its external archive."""
        people, aside = (int(count) for count in self._population.lists.tally[:2])
        slots = (
            self._population.lists.people[people : people + aside] if aside else self._population.lists.people[:people]
        )
        size = self._population.objectives.size
        members = [self._member(slot, size[slot]) for slot in np.unique(slots)]
        return sorted(members, key=lambda member: (len(member.centers), member.f1))


class ComposedValueEngine(ComposedEngine):
    """A composed algorithm on a problem whose cost is minus f1: a sum problem, or one of one's own."""

    def __init__(self, problem: SumProblem | SubsetProblem, recipe: Recipe, mutation: Mutation, seed: int) -> None:
        from certiclust.evolution.kernels.archive import new_archive
        from certiclust.evolution.kernels.generation import SumTables

        slots = _slots(recipe, problem.k)
        if isinstance(problem, SubsetProblem):
            self._tables = problem.tables(slots)
            archive = new_archive(problem.m, problem.k, slots, problem.empty, problem.empty_violations)
        else:
            _check_memory(problem, slots)
            sums = sums_of(problem, slots)
            self._tables = SumTables(sums.rows, sums.weights, sums.groups, sums.hits, sums.tables, sums.buffers)
            archive = sums.archive
        super().__init__(problem, recipe, mutation, seed, archive)

    @property
    def best(self) -> IntArray | None:
        """The best size-k solution seen, whether or not it is still in P."""
        found = np.isfinite(self._population.record[0])
        return np.sort(self._population.best).astype(np.intp) if found else None

    @property
    def upper(self) -> float:
        """Its cost, infinite while it violates a constraint."""
        return -float(self._population.record[1]) if self.certified else np.inf

    @property
    def lower(self) -> float:
        """Evolution alone proves no lower bound of a sum; of a problem of one's own nothing is known."""
        return -np.inf if isinstance(self.problem, SubsetProblem) else 0.0

    @property
    def certified(self) -> bool:
        """Whether a size-k solution without violated constraints was seen."""
        return bool(self._population.record[0] == 0)


class ComposedMaxEngine(MaxRecords, ComposedEngine):
    """A composed algorithm on k-center or k-tMM."""

    def __init__(self, problem: MaxProblem, recipe: Recipe, mutation: Mutation, seed: int) -> None:
        slots = _slots(recipe, problem.k)
        _check_memory(problem, slots)
        self._tables = self._maxima = maxima_of(problem, slots)
        super().__init__(problem, recipe, mutation, seed, self._maxima.archive)


def composed_engine(problem: Problem | SubsetProblem, recipe: Recipe, mutation: Mutation, seed: int) -> ComposedEngine:
    """Return the engine of a composed algorithm on a problem."""
    if isinstance(problem, MaxProblem):
        return ComposedMaxEngine(problem, recipe, mutation, seed)
    if isinstance(problem, SumProblem | SubsetProblem):
        return ComposedValueEngine(problem, recipe, mutation, seed)
    raise TypeError(f"no kernels for {type(problem).__name__}.")


def _aside(recipe: Recipe, k: int) -> int:
    """Return the room for an external archive."""
    return k + 1 if recipe.survival == DECOMPOSITION else 0


def _slots(recipe: Recipe, k: int) -> int:
    """Return how many sets may have to be held at a time."""
    return recipe.members + recipe.offspring + _aside(recipe, k) + 1


def _check_memory(problem: Problem, slots: int) -> None:
    """Refuse before any work if the tables of that many sets could outgrow the memory that may be held."""
    need, limit = slots * problem.space.n * 3, 4 * matrix_budget()
    if need > limit:
        raise ValueError(
            f"{slots} solutions at a time on {problem.space.n} rows need up to {need * 8 // 2**20} MiB, above "
            f"{limit * 8 // 2**20} MiB (4 times sklearn's working_memory); raise "
            "sklearn.set_config(working_memory=...), use fewer clusters, or algorithm='gsemo', which holds fewer."
        )
