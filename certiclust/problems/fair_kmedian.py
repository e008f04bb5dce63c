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
    r"""Minimise :math:`\sum_i w_i\,d(v_i, X)` subject to fairness, in one of three modes.

    ``proven`` and ``tight`` ask for a centre in every critical ball. With the balls of the ascending greedy at `factor`
    6, a set that meets them all is :math:`7\beta`-fair: :math:`d(v, X) \le 7 \beta\, r(v)` for every point (paper,
    fairness section; PROOFS.md part 7); 2 in place of 6 makes it :math:`3\beta`-fair. ``strict`` asks for
    :math:`d(v, X) \le \beta\, r(v)` itself, which no set need fulfil if :math:`\beta < 2`.

    Attributes
    ----------
    beta : float
        The fairness asked for, at least 1.
    factor : float
        Points within ``factor * beta * r(v)`` of a ball's centre need no ball of their own; 6 in the paper.
    strict : bool
        Whether every point itself is a constraint, in place of the balls.
    relax : bool
        Whether a larger beta will do where no strictly fair set was found.
    known_radii : ndarray or None
        The fair radii, where they are known already.
    """

    name: ClassVar[str] = "fair k-median"
    beta: float
    factor: float = 6.0
    strict: bool = False
    relax: bool = False
    known_radii: FloatArray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.space.own:
            raise ValueError("fair k-median takes its centres from the points themselves.")
        if not self.beta >= 1:
            raise ValueError(f"beta must be at least 1, because a fairer set need not exist; got {self.beta}.")

    @cached_property
    def radii(self) -> FloatArray:
        """The fair radius r(v) of every point."""
        return fair_radii(self.space, self.k) if self.known_radii is None else self.known_radii

    @cached_property
    def ball_centers(self) -> IntArray:
        """The centres of the critical balls."""
        return critical_balls(self.space, self.radii, self.beta, self.factor)

    @property
    def mode(self) -> str:
        """Return which fairness it is: ``"strict"``, ``"tight"`` (factor 2) or ``"proven"`` (factor 6)."""
        return "strict" if self.strict else "tight" if self.factor == 2 else "proven"

    @property
    def promise(self) -> float:
        """Return what a set that keeps all constraints is: so many times the fair radius from every point at most."""
        return self.beta if self.strict else (self.factor + 1) * self.beta

    @cached_property
    def balls(self) -> NDArray[np.bool_]:
        """Which points lie in which critical ball, one row for each ball."""
        return self.inside_balls(self.beta * self.radii)

    def inside_balls(self, reach: FloatArray) -> NDArray[np.bool_]:
        """Return which points lie within the reach of each ball's centre."""
        rows = [self.space.distances(np.array([c]))[0] <= reach[c] for c in self.ball_centers]
        return np.array(rows, dtype=bool).reshape(len(rows), self.space.m)

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        groups = np.full(self.space.m, -1, dtype=np.int64)
        if not self.strict:
            for ball, inside in enumerate(self.balls):
                groups[inside] = ball  # the balls of the greedy are disjoint
        return groups

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return, for every point, the critical ball it lies in, or -1."""
        return self._groups

    def violations(self, centers: IntArray) -> int:
        """Return how many balls have no centre; if strict, how many points have none within beta fair radii."""
        if not self.strict:
            return int(np.count_nonzero(~self.balls[:, centers].any(axis=1)))
        if len(centers) == 0:
            return self.space.n
        return int(np.count_nonzero(self.nearest(centers) > self.beta * self.radii))

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
