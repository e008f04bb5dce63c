"""Algorithms composed of parts, and the five that have names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from certiclust.evolution.components import (
    ArchiveSurvival,
    BitwiseMutation,
    Crossover,
    CrowdingSurvival,
    DecompositionSurvival,
    HeavyTailedMutation,
    HypervolumeSurvival,
    Mutation,
    NichingSurvival,
    NoCrossover,
    Selection,
    Survival,
    UniformSelection,
)
from certiclust.evolution.composed import composed_engine
from certiclust.evolution.contract import Contract, compose
from certiclust.evolution.engines import Engine, engine_for
from certiclust.evolution.own import SubsetProblem
from certiclust.evolution.recipe import Recipe
from certiclust.problems import MaxProblem, Problem


@dataclass(frozen=True)
class Algorithm:
    """Parent selection, reproduction and survivor selection: the evolutionary process of the paper's general lemma.

    P starts with the empty set alone, or with copies of it where |P| is fixed. Offspring of more than k centres are
    discarded, as in Algorithm 1.

    Attributes
    ----------
    name : str
        What to call it.
    selection : Selection
        How parents are drawn.
    mutation : Mutation
        How they are changed.
    crossover : Crossover
        How often, and how, two parents are combined in place of that.
    survival : Survival
        Who is kept.
    members : int or None
        |P|; None: what the survivor selection asks for. The archive of the non-dominated has its own size.
    offspring : int or None
        Offspring per generation, the paper's lambda; None: what the survivor selection asks for.

    Examples
    --------
    >>> from certiclust.evolution import Algorithm, BestBiasedSelection, SwapMutation
    >>> greedy = Algorithm("greedy", selection=BestBiasedSelection(0.9), mutation=SwapMutation())
    >>> greedy.recipe(k=4).members
    5
    """

    name: str = "a composed algorithm"
    selection: Selection = field(default_factory=UniformSelection)
    mutation: Mutation = field(default_factory=BitwiseMutation)
    crossover: Crossover = field(default_factory=NoCrossover)
    survival: Survival = field(default_factory=ArchiveSurvival)
    members: int | None = None
    offspring: int | None = None

    def __post_init__(self) -> None:
        for what, number in (("members", self.members), ("offspring", self.offspring)):
            if number is not None and number < 1:
                raise ValueError(f"{what} must be at least 1; got {number}.")
        if self.members is not None and isinstance(self.survival, ArchiveSurvival):
            raise ValueError("the archive of the non-dominated has its own size; leave members=None.")

    def recipe(self, k: int, *, threshold: float = float("-inf")) -> Recipe:
        """Return the composition as the compiled loop reads it, for solutions of at most k."""
        members = self.survival.members(k) if self.members is None else self.members
        offspring = self.survival.offspring(members) if self.offspring is None else self.offspring
        return Recipe(
            selection=self.selection.code,
            bias=float(self.selection.bias),
            threshold=threshold,
            crossover=self.crossover.code,
            crossover_rate=float(self.crossover.rate),
            survival=self.survival.code,
            members=members,
            offspring=offspring,
            references=k + 1 if self.survival.directions is None else self.survival.directions,
        )

    @property
    def is_gsemo(self) -> bool:
        """Whether this is Algorithm 1 but for the mutation, for which there are faster kernels."""
        plain = isinstance(self.selection, UniformSelection) and self.crossover.rate == 0
        return plain and isinstance(self.survival, ArchiveSurvival) and self.offspring in (None, 1)

    def engine(self, problem: Problem | SubsetProblem, seed: int) -> Engine:
        """Return the compiled algorithm on a problem."""
        if self.is_gsemo and isinstance(problem, Problem):
            return engine_for(problem, seed, self.mutation)
        threshold = 0.0 if isinstance(problem, MaxProblem) else float("-inf")
        return composed_engine(problem, self.recipe(problem.k, threshold=threshold), self.mutation, seed)

    def contract(self, problem: Problem | SubsetProblem, *, epsilon: float = 0.5) -> Contract:
        """Return what the composition guarantees on a problem, and why.

        Parameters
        ----------
        problem : Problem or SubsetProblem
            What is to be solved.
        epsilon : float, default=0.5
            Tolerance of the local search that the lemma imitates (k-median, k-means).
        """
        recipe = self.recipe(problem.k)
        parents = self.survival.parents(recipe.members, problem.k)
        every_size = isinstance(problem, MaxProblem)
        return compose(
            problem,
            algorithm=self.name,
            parts=(self.selection.name, self.mutation.name, self.crossover.name, self.survival.name),
            selection=self.selection.best(parents),
            neighbour=lambda m, k, p, q: (1.0 - self.crossover.rate) * self.mutation.neighbour(m, k, p, q),
            offspring=recipe.offspring,
            loses=self.survival.loses(recipe.members, problem.k, every_size=every_size),
            epsilon=epsilon,
        )


#: The algorithms with names, with bit-wise mutation.
ALGORITHMS: dict[str, Algorithm] = {
    "gsemo": Algorithm("GSEMO"),
    "nsga2": Algorithm("NSGA-II", survival=CrowdingSurvival()),
    "nsga3": Algorithm("NSGA-III", survival=NichingSurvival()),
    "sms-emoa": Algorithm("SMS-EMOA", survival=HypervolumeSurvival()),
    "moead": Algorithm("MOEA/D", survival=DecompositionSurvival()),
}
#: The mutations with names.
MUTATIONS: dict[str, Mutation] = {"bitwise": BitwiseMutation(), "heavy-tailed": HeavyTailedMutation()}


def named(algorithm: str | Algorithm, mutation: str | Mutation = "bitwise") -> Algorithm:
    """Return an algorithm by its name and that of its mutation; a composed one is returned as it is."""
    if isinstance(algorithm, Algorithm):
        if mutation != "bitwise":
            raise ValueError("a composed algorithm has its own mutation; leave mutation='bitwise'.")
        return algorithm
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)} or an Algorithm; got {algorithm!r}.")
    if isinstance(mutation, str):
        if mutation not in MUTATIONS:
            raise ValueError(f"mutation must be one of {', '.join(MUTATIONS)} or a Mutation; got {mutation!r}.")
        mutation = MUTATIONS[mutation]
    return replace(ALGORITHMS[algorithm], mutation=mutation)
