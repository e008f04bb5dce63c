"""What the five problems share: a space, k, and the two objectives that Algorithm 1 maximises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from certiclust.space import Space

IntArray = NDArray[np.intp]

#: f1 as a pair compared lexicographically: minus the number of violated constraints, then the value. Only fair
#: k-median has constraints; there the pair orders solutions as the paper's penalty does.
Objective = tuple[int, float]


def weighted_sum(weights: NDArray[np.float64], distances: NDArray[np.float64]) -> float:
    """Return the sum of w_i d_i, added in eight interleaved lanes.

    The order of a floating-point sum decides its last bit, and the last bit decides which of two solutions of equal
    cost wins. So the order is part of the definition of the cost: the compiled kernels add in the same one.
    """
    terms = np.zeros(-(-weights.size // 8) * 8)
    terms[: weights.size] = weights * distances
    lanes = terms.reshape(-1, 8).sum(axis=0)
    return float(((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])))


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """An instance of one of the five problems.

    A solution is an array of candidate indices, ascending. ``f2`` is its size for all five, so only ``f1`` and the
    cost differ.

    Attributes
    ----------
    space : Space
        Clients, candidates, distances, weights.
    k : int
        Number of clusters, ``1 <= k <= space.m``.
    """

    name: ClassVar[str]
    space: Space
    k: int

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.space.m:
            raise ValueError(f"k must be between 1 and the number of candidates, {self.space.m}; got {self.k}.")

    @property
    def against(self) -> str:
        """Return what a ratio is against, where that is not the optimum that the problem is about; empty elsewhere."""
        return ""

    @abstractmethod
    def f1(self, centers: IntArray) -> Objective:
        """Return the first objective, to be maximised."""

    def f2(self, centers: IntArray) -> int:
        """Return the second objective, to be maximised: the number of centres."""
        return len(centers)

    @abstractmethod
    def cost(self, centers: IntArray) -> float:
        """Return what the problem minimises."""

    def nearest(self, centers: IntArray) -> NDArray[np.float64]:
        """Return d(v, X) of every client v."""
        return self.space.assign(centers)[1]


class SumProblem(Problem):
    r"""Problems that minimise :math:`\sum_i w_i\,d(v_i, X)`: here ``f1`` is minus the cost."""

    def cost(self, centers: IntArray) -> float:
        """Return the weighted sum of the distances to the nearest centre; infinite for no centre."""
        if len(centers) == 0:
            return float("inf")
        return weighted_sum(self.space.weights, self.nearest(centers))

    def f1(self, centers: IntArray) -> Objective:
        """Return minus the cost."""
        return -self.violations(centers), -self.cost(centers)

    @property
    def excess(self) -> float | None:
        """Return how much worse than its best centre anywhere a cluster's best candidate may be; None if unknown."""
        return self.space.excess

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return, for every candidate, the constraint it satisfies, or -1 (no constraints here)."""
        return np.full(self.space.m, -1, dtype=np.int64)

    def violations(self, centers: IntArray) -> int:
        """Return how many constraints no centre satisfies."""
        groups = self.groups
        return len(set(groups[groups >= 0].tolist()) - set(groups[centers].tolist()))


class MaxProblem(Problem):
    r"""Problems that minimise a maximum; centres are clients (F = D), and only distances matter, not weights.

    .. math:: f_1(x) = \min_{u \ne u' \in X} d(u, u') - \max_i d(v_i, X), \qquad f_1 = +\infty \text{ for } |x| \le 1.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.space.own:
            raise ValueError(f"{self.name} takes its centres from the points themselves.")

    def radius(self, centers: IntArray) -> float:
        """Return the largest distance of a point to its nearest centre."""
        return float(self.nearest(centers).max()) if len(centers) else float("inf")

    def separation(self, centers: IntArray) -> float:
        """Return the least distance between two centres."""
        if len(centers) <= 1:
            return float("inf")
        between = self.space.distances(centers)[:, centers].copy()
        np.fill_diagonal(between, np.inf)
        return float(between.min())

    def f1(self, centers: IntArray) -> Objective:
        """Return separation minus radius."""
        if len(centers) <= 1:
            return 0, float("inf")
        return 0, self.separation(centers) - self.radius(centers)
