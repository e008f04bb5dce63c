"""k-tMM: the largest distance between two points of one cluster."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from certiclust.problems.base import MaxProblem
from certiclust.space.reach import reach_within


class KTMMProblem(MaxProblem):
    r"""Minimise :math:`\max_m \max_{v, v' \in S_m} d(v, v')` over partitions :math:`S_1, \dots, S_k`.

    GSEMO searches partitions by nearest centre: ratio 2 within :math:`e k^2 n - e k (n - 1)` expected iterations
    (paper, k-tMM theorem).
    """

    name: ClassVar[str] = "k-tMM"

    def cost(self, centers: NDArray[np.intp]) -> float:
        """Return the largest cluster diameter of the partition by nearest centre."""
        if len(centers) == 0:
            return float("inf")
        return self.diameter(self.space.assign(centers)[0])

    def diameter(self, labels: NDArray[np.int32]) -> float:
        """Return the largest distance between two points with one label."""
        return float(self.reach(labels).max())

    def reach(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the largest distance of each point to one of the same label."""
        every = np.empty(self.space.n)
        order = np.argsort(labels, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
            every[members] = reach_within(self.space, members)
        return every

    def central(
        self, labels: NDArray[np.int32], reach: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return of each cluster the member whose largest distance to the others is least, ascending.

        The labels 0..k-1 must all occur; they come back in the order of those members. `reach` is that of `reach`.
        """
        order = np.argsort(labels, kind="stable")
        clusters = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        members = np.array([cluster[reach[cluster].argmin()] for cluster in clusters], dtype=np.intp)
        order = np.argsort(members)
        place = np.empty(len(members), dtype=np.int32)
        place[order] = np.arange(len(members))
        return members[order], place[labels]
