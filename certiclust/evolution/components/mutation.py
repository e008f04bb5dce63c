"""Mutation: the law of the bits that are flipped, and how likely a given neighbour is at least."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from certiclust.evolution.laws import (
    FlipLaw,
    bitwise_law,
    heavy_tailed_flips,
    heavy_tailed_law,
    one_bit_law,
    swap_law,
)


class Mutation(ABC):
    """How an offspring differs from its parent, a set of at most k of m candidates."""

    name: ClassVar[str]

    @abstractmethod
    def law(self, m: int, k: int, *, pure_removals: bool) -> FlipLaw:
        """Return the table that the kernels draw from."""

    @abstractmethod
    def neighbour(self, m: int, k: int, p: int, q: int) -> float:
        """Return Pr_rep(p, q): every set made by losing at most p centres and gaining at most q is at least so likely.

        The parent has k centres, or fewer if p = 0.
        """


class UnbiasedMutation(Mutation):
    r"""Mutations that treat all bits alike: j flips with probability :math:`p_j`, then j uniform positions.

    A given set of j positions has probability :math:`p_j / \binom{m}{j}`, so
    :math:`\Pr_{rep}(p, q) = \min_{1 \le j \le p + q} p_j / \binom{m}{j}`.
    """

    @abstractmethod
    def flips(self, m: int, most: int) -> NDArray[np.float64]:
        """Return the probabilities of 0..most flips of m bits."""

    def neighbour(self, m: int, k: int, p: int, q: int) -> float:
        """Return the least probability of 1 to p + q given flips."""
        most = min(p + q, m)
        flips = self.flips(m, most)
        return min((float(flips[j]) / comb(m, j) for j in range(1, most + 1)), default=0.0)


@dataclass(frozen=True)
class BitwiseMutation(UnbiasedMutation):
    r"""Flip each bit with probability 1/m, as Algorithm 1 does.

    :math:`\Pr_{rep}(p, q) = m^{-(p+q)} (1 - 1/m)^{m - p - q} \ge 1/(e\, m^{p+q})`.

    References
    ----------
    C. Qian, "Can Evolutionary Clustering Have Theoretical Guarantees?", IEEE TEVC, 2023.
    """

    name: ClassVar[str] = "bit-wise mutation"

    def flips(self, m: int, most: int) -> NDArray[np.float64]:
        """Return the binomial probabilities."""
        return np.asarray(binom.pmf(np.arange(most + 1), m, 1.0 / m))

    def law(self, m: int, k: int, *, pure_removals: bool) -> FlipLaw:
        """Return the table that the kernels draw from."""
        return bitwise_law(m, k, pure_removals=pure_removals)


@dataclass(frozen=True)
class HeavyTailedMutation(UnbiasedMutation):
    r"""Flip each bit with probability :math:`\alpha/m`, :math:`\alpha` drawn anew from a power law.

    :math:`\Pr(\alpha) \propto \alpha^{-\beta}` for :math:`\alpha = 1, \dots, \lfloor m/2 \rfloor`. Jumps of every size
    have a probability that falls like a power of the size, and a single flip is still made with constant probability.
    The kernels hold a table of the flips, up to k = 150.

    Attributes
    ----------
    beta : float
        Exponent, above 1; 1.5 is the authors' advice.

    References
    ----------
    B. Doerr, H. P. Le, R. Makhmara, T. D. Nguyen, "Fast Genetic Algorithms", GECCO 2017.
    """

    name: ClassVar[str] = "heavy-tailed mutation"
    beta: float = 1.5

    def __post_init__(self) -> None:
        if not self.beta > 1:
            raise ValueError(f"beta of heavy-tailed mutation must be above 1; got {self.beta}.")

    def flips(self, m: int, most: int) -> NDArray[np.float64]:
        """Return the mixture of binomial probabilities."""
        return heavy_tailed_flips(m, most, self.beta)

    def law(self, m: int, k: int, *, pure_removals: bool) -> FlipLaw:
        """Return the table that the kernels draw from."""
        return heavy_tailed_law(m, k, self.beta, pure_removals=pure_removals)


@dataclass(frozen=True)
class OneBitMutation(UnbiasedMutation):
    r"""Flip one uniform bit.

    :math:`\Pr_{rep}(0, 1) = 1/m`, but no swap can be made: there is no guarantee for the sum problems.

    References
    ----------
    M. Laumanns, L. Thiele, E. Zitzler, "Running Time Analysis of Multiobjective Evolutionary Algorithms on
    Pseudo-Boolean Functions", IEEE TEVC, 2004 (SEMO).
    """

    name: ClassVar[str] = "one-bit mutation"

    def flips(self, m: int, most: int) -> NDArray[np.float64]:
        """Return 1 for one flip."""
        return np.where(np.arange(most + 1) == 1, 1.0, 0.0)

    def law(self, m: int, k: int, *, pure_removals: bool) -> FlipLaw:
        """Return the table that the kernels draw from."""
        return one_bit_law(m, k, pure_removals=pure_removals)


@dataclass(frozen=True)
class SwapMutation(Mutation):
    r"""With probability 1/2 swap a uniform centre for a uniform other candidate, else flip one uniform bit.

    :math:`\Pr_{rep}(1, 1) = \min\{1/(2m),\, 1/(2k(m - k))\}`, against :math:`1/(e\,m^2)` for bit-wise mutation, but no
    two swaps are made at once.

    References
    ----------
    After the randomised local search, which flips one or two bits, of F. Neumann, I. Wegener, "Randomized local search,
    evolutionary algorithms, and the minimum spanning tree problem", Theoretical Computer Science, 2007.
    """

    name: ClassVar[str] = "swap mutation"

    def law(self, m: int, k: int, *, pure_removals: bool) -> FlipLaw:
        """Return the table that the kernels draw from."""
        return swap_law(m, k, pure_removals=pure_removals)

    def neighbour(self, m: int, k: int, p: int, q: int) -> float:
        """Return the least probability of a given bit and, if both p and q are 1, of a given swap."""
        if max(p, q) > 1:
            return 0.0
        bit = 0.5 / m
        return min(bit, 0.5 / (k * (m - k))) if p == q == 1 and k < m else bit
