"""Survivor selection: who is kept, and whether the best feasible solution always is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from certiclust.evolution.recipe import ARCHIVE, COMMA, CROWDING, DECOMPOSITION, HYPERVOLUME, NICHING


class Survival(ABC):
    """How the next P is made of P and the offspring.

    The sum problems need that of the largest solutions a best one is kept. The max problems need more: their proof
    climbs from size to size, so a best solution of every size that is not dominated must be kept. There are at most
    k + 1 such objective vectors, one of each size.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    #: Reference directions, for NSGA-III.
    directions: int | None = None

    @abstractmethod
    def members(self, k: int) -> int:
        """Return the default |P|."""

    def offspring(self, members: int) -> int:
        """Return the default number of offspring per generation."""
        return members

    def parents(self, members: int, k: int) -> int:
        """Return the largest number of members from which a parent is drawn."""
        return members

    @abstractmethod
    def loses(self, members: int, k: int, *, every_size: bool) -> str:
        """Return why a best solution (of every non-dominated size) may be lost; nothing if it never is."""


@dataclass(frozen=True)
class ArchiveSurvival(Survival):
    """All non-dominated solutions, one for each objective vector, the newer on ties: GSEMO.

    Never loses a non-dominated vector. After the first offspring |P| <= k, because the empty set is then dominated.

    References
    ----------
    M. Laumanns, L. Thiele, E. Zitzler, "Running Time Analysis of Multiobjective Evolutionary Algorithms on
    Pseudo-Boolean Functions", IEEE TEVC, 2004.
    """

    name: ClassVar[str] = "archive of the non-dominated"
    code: ClassVar[int] = ARCHIVE

    def members(self, k: int) -> int:
        """Return k + 1, one for each size."""
        return k + 1

    def offspring(self, members: int) -> int:
        """Return 1."""
        return 1

    def parents(self, members: int, k: int) -> int:
        """Return k: the empty set is dominated as soon as there is another one."""
        return k

    def loses(self, members: int, k: int, *, every_size: bool) -> str:
        """Return nothing."""
        return ""


@dataclass(frozen=True)
class CrowdingSurvival(Survival):
    r"""Whole fronts of P and the offspring while there is room, then by crowding distance, ties at random: NSGA-II.

    With :math:`N \ge 2(k + 1)` no non-dominated vector is lost: within a front sorted by f1 at most two members of one
    vector have a neighbour of another, so at most 2(k + 1) crowding distances are positive, and these go first.
    Infinite values of f1 (no centre, or one in a max problem) are put one range of the finite ones beyond them.

    References
    ----------
    W. Zheng, Y. Liu, B. Doerr, "A First Mathematical Runtime Analysis of the Non-Dominated Sorting Genetic Algorithm II
    (NSGA-II)", AAAI 2022 (there four for each vector, because the two objectives are sorted apart).
    """

    name: ClassVar[str] = "fronts and crowding distance"
    code: ClassVar[int] = CROWDING

    def members(self, k: int) -> int:
        """Return 2(k + 1)."""
        return 2 * (k + 1)

    def loses(self, members: int, k: int, *, every_size: bool) -> str:
        """Return nothing if there are at least 2(k + 1) members."""
        if members >= 2 * (k + 1):
            return ""
        return f"{members} members are fewer than 2(k + 1) = {2 * (k + 1)}, so crowding may drop the best"


@dataclass(frozen=True)
class NichingSurvival(Survival):
    r"""Whole fronts while there is room, then members spread over reference directions: NSGA-III.

    The objectives are normalised by the two ends of the first front. The end with the most centres then lies on an
    axis, which is one of the directions, and each direction that has someone gets its nearest member first: the best of
    the largest solutions is kept if there are at least two and at most N directions. Other sizes can share a direction,
    so for the max problems nothing is claimed.

    Attributes
    ----------
    directions : int or None
        Number of reference directions; None: k + 1.

    References
    ----------
    S. Wietheger, B. Doerr, "A Mathematical Runtime Analysis of the Non-dominated Sorting Genetic Algorithm III
    (NSGA-III)", IJCAI 2023.
    """

    name: ClassVar[str] = "fronts and reference directions"
    code: ClassVar[int] = NICHING
    directions: int | None = None

    def members(self, k: int) -> int:
        """Return 2(k + 1)."""
        return 2 * (k + 1)

    def loses(self, members: int, k: int, *, every_size: bool) -> str:
        """Return nothing for the largest size, if there are at least two directions and not more than members."""
        directions = k + 1 if self.directions is None else self.directions
        if every_size:
            return "solutions of several sizes may share a reference direction, and all but one of them be dropped"
        if not 2 <= directions <= members:
            return f"{directions} reference directions are not between 2 and the {members} members"
        return ""


@dataclass(frozen=True)
class HypervolumeSurvival(Survival):
    r"""Drop from the last front the member whose hypervolume contribution is least, ties at random: SMS-EMOA.

    With :math:`\mu \ge k + 1` no non-dominated vector is lost: if there is only one front, its at most k + 1 vectors
    have :math:`\mu + 1` members, and twins contribute nothing. The reference point lies below the front: f2 = -1, and
    f1 one range of the finite values below the least.

    References
    ----------
    C. Bian, Y. Zhou, M. Li, C. Qian, "Stochastic Population Update Can Provably Be Helpful in Multi-Objective
    Evolutionary Algorithms", IJCAI 2023.
    """

    name: ClassVar[str] = "fronts and hypervolume contribution"
    code: ClassVar[int] = HYPERVOLUME

    def members(self, k: int) -> int:
        """Return k + 1."""
        return k + 1

    def offspring(self, members: int) -> int:
        """Return 1."""
        return 1

    def loses(self, members: int, k: int, *, every_size: bool) -> str:
        """Return nothing if there are at least k + 1 members."""
        if members >= k + 1:
            return ""
        return f"{members} members are fewer than k + 1 = {k + 1}, so a front may be too long for them"


@dataclass(frozen=True)
class DecompositionSurvival(Survival):
    r"""One solution for each weighting of the objectives, and an external archive of the non-dominated: MOEA/D.

    Subproblem i of N maximises :math:`(1 - w) f_1 + w f_2/k` with :math:`w = i/(N-1)`, f1 on the scale between the
    least and the largest finite value seen; every offspring is offered to all of them, and subproblems are chosen as
    any parent is. Equal solutions are told apart by f1, so the last subproblem, w = 1, holds the best of the largest
    solutions for good. A weighted sum need not keep the other sizes, so for the max problems nothing is claimed.

    References
    ----------
    Y.-L. Li, Y.-R. Zhou, Z.-H. Zhan, J. Zhang, "A Primary Theoretical Study on Decomposition-Based Multiobjective
    Evolutionary Algorithms", IEEE TEVC, 2016.
    """

    name: ClassVar[str] = "weighted subproblems"
    code: ClassVar[int] = DECOMPOSITION

    def members(self, k: int) -> int:
        """Return k + 1."""
        return k + 1

    def offspring(self, members: int) -> int:
        """Return 1."""
        return 1

    def loses(self, members: int, k: int, *, every_size: bool) -> str:
        """Return nothing for the largest size."""
        return "no weighting need have its optimum at the solution that the proof goes on from" if every_size else ""


@dataclass(frozen=True)
class CommaSurvival(Survival):
    r"""The best of the offspring alone, by front and crowding distance: non-elitist :math:`(\mu, \lambda)` survival.

    If no offspring is small enough, P stays.

    References
    ----------
    D.-C. Dang, A. Eremeev, P. K. Lehre, "Escaping Local Optima with Non-Elitist Evolutionary Algorithms", AAAI 2021.
    """

    name: ClassVar[str] = "the best offspring"
    code: ClassVar[int] = COMMA

    def members(self, k: int) -> int:
        """Return 2(k + 1)."""
        return 2 * (k + 1)

    def offspring(self, members: int) -> int:
        """Return twice the members."""
        return 2 * members

    def loses(self, members: int, k: int, *, every_size: bool) -> str:
        """Return the reason."""
        return "non-elitist survival forgets the best solution when no offspring is as good"
