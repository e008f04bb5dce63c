"""Individually fair k-median: everyone has a centre within a multiple of its own neighbourhood radius."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from certiclust.problems.base import IntArray, SumProblem
from certiclust.space import Space

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FairKMedianProblem(SumProblem):
    r"""Minimise :math:`\sum_i w_i\,d(v_i, X)` subject to a centre in every critical ball.

    With the balls of the ascending greedy at `factor` 6, a set that meets them all is :math:`7\beta`-fair:
    :math:`d(v, X) \le 7 \beta\, r(v)` for every point (paper, fairness section; PROOFS.md part 7).

    Attributes
    ----------
    beta : float
        The fairness asked for, at least 1.
    factor : float
        Points within ``factor * beta * r(v)`` of a ball's centre need no ball of their own; 6 in the paper.
    """

    name: ClassVar[str] = "fair k-median"
    beta: float
    factor: float = 6.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.space.own:
            raise ValueError("fair k-median takes its centres from the points themselves.")
        if not self.beta >= 1:
            raise ValueError(f"beta must be at least 1, because a fairer set need not exist; got {self.beta}.")

    @cached_property
    def radii(self) -> FloatArray:
        """The fair radius r(v) of every point."""
        return fair_radii(self.space, self.k)

    @cached_property
    def ball_centers(self) -> IntArray:
        """The centres of the critical balls."""
        return critical_balls(self.space, self.radii, self.beta, self.factor)

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        groups = np.full(self.space.m, -1, dtype=np.int64)
        for ball, center in enumerate(self.ball_centers):
            inside = self.space.distances(np.array([center]))[0] <= self.beta * self.radii[center]
            groups[inside] = ball  # the balls of the greedy are disjoint
        return groups

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return, for every point, the critical ball it lies in, or -1."""
        return self._groups

    def fairness(self, centers: IntArray) -> FloatArray:
        """Return d(v, X) / r(v) of every point, with 0/0 = 0 and x/0 infinite."""
        d = self.nearest(centers)
        ratio = np.divide(d, self.radii, out=np.where(d > 0, np.inf, 0.0), where=self.radii > 0)
        return np.asarray(ratio, dtype=np.float64)


def fair_radii(space: Space, k: int) -> FloatArray:
    r"""Return r(v), the least radius whose closed ball around v weighs at least W/k, v and its duplicates included.

    With unit weights that is the distance to the :math:`\lceil n/k \rceil`-th nearest point, v itself counted.
    """
    radii = np.empty(space.n)
    weights = space.weights
    equal = bool(np.all(weights == weights[0]))
    whole = bool(np.all(weights == np.floor(weights)) and weights.sum() < 2**53 / k)
    count = -(-space.n // k)
    for part, d in space.blocks():
        if equal:
            radii[part] = np.partition(d, count - 1, axis=1)[:, count - 1]
            continue
        order = np.argsort(d, axis=1, kind="stable")
        inside = k * np.cumsum(weights[order], axis=1)
        enough = inside >= (weights.sum() if whole else weights.sum() * (1 - 1e-12))
        enough[:, -1] = True
        first = np.argmax(enough, axis=1)
        rows = np.arange(len(d))
        radii[part] = d[rows, order[rows, first]]
    return radii


def critical_balls(space: Space, radii: FloatArray, beta: float, factor: float = 6.0) -> IntArray:
    r"""Return the centres of the critical balls :math:`B(c, \beta r(c))`, at most k of them.

    The ascending greedy: the uncovered point of least r (ties by index) becomes a centre c and covers every v with
    :math:`d(v, c) \le f \beta\, r(v)`. Only this order makes :math:`r(c) \le r(v)` for the c that covers v, and so a
    set that meets every ball :math:`(f + 1)\beta`-fair; balls that merely have the paper's two properties do not
    suffice (METHODS.md part 1).
    """
    covered = np.zeros(space.n, dtype=bool)
    centers = []
    for c in np.argsort(radii, kind="stable"):
        if covered[c]:
            continue
        covered |= space.distances(np.array([c]))[0] <= factor * beta * radii
        covered[c] = True
        centers.append(c)
    return np.array(centers, dtype=np.intp)
