"""k-means: the sum of squared Euclidean distances, over a finite candidate set or with centres anywhere."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from certiclust.problems.base import SumProblem, weighted_sum

FloatArray = NDArray[np.float64]
#: Distances held at a time.
_BLOCK = 2_000_000


class KMeansProblem(SumProblem):
    r"""Minimise :math:`\sum_i w_i \min_{u \in X} \lVert v_i - u \rVert^2` over :math:`X \subseteq C`, :math:`|X| = k`.

    The space carries squared Euclidean distances. GSEMO: ratio
    :math:`(1 + \varepsilon)(3 + 2/p)^2/(1 - \varepsilon)^2` (paper, k-means theorem). Centres that are not candidates
    are given as positions.
    """

    name: ClassVar[str] = "k-means"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.space.metric.name != "sqeuclidean":
            raise ValueError(f"k-means is about squared Euclidean distances, not {self.space.metric.name!r}.")

    @property
    def excess(self) -> float | None:
        """Return how much worse than the mean of a cluster its best candidate may be: 1 for its own clients."""
        return 1.0 if self.space.own else self.space.excess

    @property
    def against(self) -> str:
        """Return what a ratio is against, unless it holds against centres anywhere."""
        return "the best centres among the given candidates" if self.excess is None else ""

    def assign_positions(self, positions: FloatArray) -> tuple[NDArray[np.int32], FloatArray]:
        """Return the nearest position of every client, ties to the lower label, and the square of its distance."""
        points = self.space.points
        labels, squares = np.empty(len(points), dtype=np.int32), np.empty(len(points))
        size = max(1, _BLOCK // len(positions))
        for start in range(0, len(points), size):
            part = slice(start, start + size)
            block = self.space.metric.block(points[part], positions)
            labels[part] = block.argmin(axis=1)
            squares[part] = np.take_along_axis(block, labels[part, None], axis=1)[:, 0]
        return labels, squares

    def settle(self, labels: NDArray[np.int32]) -> tuple[FloatArray, NDArray[np.int32], float]:
        """Return the means of a partition, the labels by nearest mean, and the cost.

        A label without clients gets the client that costs most, so every label is used unless the cost is zero.
        """
        labels = labels.copy()
        while True:
            positions = self._means(labels)
            nearest, squares = self.assign_positions(positions)
            used = np.bincount(nearest, minlength=self.k) > 0
            if used.all() or not squares.any():
                return positions, nearest, weighted_sum(self.space.weights, squares)
            labels = nearest
            costs = self.space.weights * squares
            for label in np.flatnonzero(~used):
                dearest = int(np.argmax(costs))
                labels[dearest], costs[dearest] = label, 0.0

    def _means(self, labels: NDArray[np.int32]) -> FloatArray:
        """Return the weighted means of the clusters, each summed relative to one of its own clients.

        So a cluster of equal points has exactly that point as its mean, and an offset of the data costs no digits. An
        empty cluster gets the first client.
        """
        points, weights = self.space.points, self.space.weights
        first = np.zeros(self.k, dtype=np.intp)
        first[labels[::-1]] = np.arange(len(labels))[::-1]
        origin = points[first].astype(np.float64)
        masses = np.bincount(labels, weights, self.k)
        sums = np.zeros_like(origin)
        size = max(1, _BLOCK // max(1, points.shape[1]))
        for start in range(0, len(points), size):
            part = slice(start, start + size)
            away = (points[part] - origin[labels[part]]).T
            for t, column in enumerate(away):
                sums[:, t] += np.bincount(labels[part], weights[part] * column, self.k)
        return np.asarray(origin + sums / np.where(masses > 0, masses, 1.0)[:, None])
