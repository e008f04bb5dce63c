"""Parent selection: who reproduces, and how likely the best feasible solution is at least."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from certiclust.evolution.recipe import BEST_BIASED, BY_CONTRIBUTION, BY_CROWDING, UNIFORM


class Selection(ABC):
    """How a parent is drawn from P."""

    name: ClassVar[str]
    code: ClassVar[int]
    #: Probability with which the best member is taken without a draw.
    bias: float = 0.0

    @abstractmethod
    def best(self, members: int) -> float:
        """Return Pr_sel: the best feasible solution of at most so many members is drawn with at least this."""


@dataclass(frozen=True)
class UniformSelection(Selection):
    r"""Every member alike: :math:`\Pr_{sel} = 1/|P|`, as in Algorithm 1."""

    name: ClassVar[str] = "uniform selection"
    code: ClassVar[int] = UNIFORM

    def best(self, members: int) -> float:
        """Return 1/|P|."""
        return 1.0 / members


@dataclass(frozen=True)
class BestBiasedSelection(Selection):
    r"""The best member with probability q, else a uniform one: :math:`\Pr_{sel} = q + (1 - q)/|P|`.

    The best is the largest, of those the one of largest f1; for the max problems the largest with :math:`f_1 \ge 0`,
    from which their proof goes on.

    Attributes
    ----------
    bias : float
        The probability q.
    """

    name: ClassVar[str] = "best-biased selection"
    code: ClassVar[int] = BEST_BIASED
    bias: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.bias <= 1:
            raise ValueError(f"bias must be between 0 and 1; got {self.bias}.")

    def best(self, members: int) -> float:
        """Return q + (1 - q)/|P|."""
        return self.bias + (1.0 - self.bias) / members


class DiversitySelection(Selection):
    r"""Members ranked by front and then by how much they add to the diversity of P; rank i with :math:`\propto i^{-2}`.

    :math:`\Pr_{sel} = |P|^{-2} / \sum_{i \le |P|} i^{-2}`: the last rank's chance, which every member has at least.

    References
    ----------
    E. C. Osuna, W. Gao, F. Neumann, D. Sudholt, "Design and analysis of diversity-based parent selection schemes for
    speeding up evolutionary multi-objective optimisation", Theoretical Computer Science, 2020 (power-law ranking).
    """

    def best(self, members: int) -> float:
        """Return the chance of the last rank."""
        return 1.0 / (members**2 * sum(1.0 / i**2 for i in range(1, members + 1)))


@dataclass(frozen=True)
class CrowdingSelection(DiversitySelection):
    """Diversity-based selection by crowding distance, largest first; see `DiversitySelection`."""

    name: ClassVar[str] = "selection by crowding distance"
    code: ClassVar[int] = BY_CROWDING


@dataclass(frozen=True)
class HypervolumeSelection(DiversitySelection):
    """Diversity-based selection by hypervolume contribution, largest first; see `DiversitySelection`."""

    name: ClassVar[str] = "selection by hypervolume contribution"
    code: ClassVar[int] = BY_CONTRIBUTION
