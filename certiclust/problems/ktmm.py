"""k-tMM: the largest distance between two points of one cluster."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from certiclust.problems.base import MaxProblem


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
        largest = 0.0
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            for start in range(0, len(members), 256):
                largest = max(largest, float(self.space.distances(members[start : start + 256])[:, members].max()))
        return largest
