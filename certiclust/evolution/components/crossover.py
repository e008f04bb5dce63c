"""Crossover: an offspring of two parents, made with some probability in place of mutation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from certiclust.evolution.recipe import BALANCED, NO_CROSSOVER, UNION


@dataclass(frozen=True)
class Crossover:
    r"""Nothing is claimed of what a crossover makes; mutation makes the lemma's neighbour with a factor 1 - rate.

    The second parent is uniform over P.

    Attributes
    ----------
    rate : float
        Probability with which an offspring is made by crossover; below 1, so that mutation keeps its part.
    """

    name: ClassVar[str] = "crossover"
    code: ClassVar[int] = NO_CROSSOVER
    rate: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ValueError(f"the rate of crossover must be at least 0 and below 1; got {self.rate}.")


@dataclass(frozen=True)
class NoCrossover(Crossover):
    """Mutation alone, as in Algorithm 1."""

    name: ClassVar[str] = "no crossover"
    rate: float = 0.0


@dataclass(frozen=True)
class UnionCrossover(Crossover):
    """All centres of both parents; if these are more than k, a uniform choice of k of them."""

    name: ClassVar[str] = "union crossover"
    code: ClassVar[int] = UNION


@dataclass(frozen=True)
class BalancedCrossover(Crossover):
    """What both parents have, filled up to the first parent's size with a uniform choice of what one of them has.

    References
    ----------
    T. Friedrich, T. Kötzing, A. Radhakrishnan, L. Schiller, M. Schirneck, G. Tennigkeit, S. Wietheger, "Crossover for
    Cardinality Constrained Optimization", GECCO 2022.
    """

    name: ClassVar[str] = "balanced crossover"
    code: ClassVar[int] = BALANCED
