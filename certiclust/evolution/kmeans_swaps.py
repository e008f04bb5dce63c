"""All swaps of candidates of k-means, by blocks of distances in NumPy: a first fit compiles nothing for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from certiclust.evolution.swaps import swap_slack
from certiclust.problems import KMeansProblem

Floats = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Distances of one block.
BLOCK = 250_000


class _Tables:
    """k candidates with the distances of every point to its two nearest ones."""

    def __init__(self, problem: KMeansProblem, centers: IntArray) -> None:
        self.space, self.centers = problem.space, centers.copy()
        self.to_centers = self.space.metric.block(self.space.candidates[centers], self.space.points)
        self._refresh()

    def swap(self, place: int, candidate: int) -> None:
        """Put a candidate in the place of a centre."""
        self.centers[place] = candidate
        self.to_centers[place] = self.space.metric.block(self.space.candidates[[candidate]], self.space.points)[0]
        self._refresh()

    def _refresh(self) -> None:
        k, n = self.to_centers.shape
        weights, everyone = self.space.weights, np.arange(n)
        near = self.to_centers.argmin(axis=0)
        self.first = self.to_centers[near, everyone][:, None]
        self.second = np.full((n, 1), np.inf)
        if k > 1:
            self.second[:, 0] = np.partition(self.to_centers, 1, axis=0)[1]
        self.members = csr_array((weights, (near, everyone)), shape=(k, n))
        #: The size of the numbers that a swap adds and takes away again, and so of its rounding error.
        self.scale = float(weights @ (self.second if k > 1 else self.first)[:, 0])

    def changes(self, start: int, distances: Floats) -> Floats:
        """Return the change of the cost for every centre (rows) swapped for every candidate of a block (columns)."""
        kept = np.minimum(distances, self.first)
        alone = self.members @ (np.minimum(distances, self.second) - kept)
        changes: Floats = alone + self.space.weights @ (kept - self.first)
        inside = self.centers - start
        changes[:, inside[(inside >= 0) & (inside < distances.shape[1])]] = np.inf
        return changes


def swap_optimal(
    problem: KMeansProblem, centers: IntArray, should_stop: Callable[[], bool], checks_stop: Callable[[], bool]
) -> tuple[IntArray, float | None]:
    """Return centres that no single swap improves, and the least change of their cost by one, all of them looked at.

    Parameters
    ----------
    problem
        Points, weights, candidates.
    centers
        k candidates to start from.
    should_stop
        From when on nothing is swapped any more; the check of what there is goes on.
    checks_stop
        When to give up.

    Returns
    -------
    centers, change
        Ascending; the change rounded down (infinite if there is no swap), None if the check was not finished.
    """
    space, tables = problem.space, _Tables(problem, centers)
    size = max(1, BLOCK // space.n)
    starts = range(0, space.m, size)
    slack, least, clean, block = swap_slack(problem), np.inf, 0, 0
    while clean < len(starts):
        if checks_stop():
            return np.sort(tables.centers), None
        start = starts[block]
        distances = space.metric.block(space.points, space.candidates[start : start + size])
        changes = tables.changes(start, distances)
        while changes.min() < -slack * tables.scale and not should_stop():
            place, column = np.unravel_index(changes.argmin(), changes.shape)
            tables.swap(int(place), start + int(column))
            changes = tables.changes(start, distances)
            least, clean = np.inf, 0
        least = min(least, float(changes.min()))
        clean, block = clean + 1, (block + 1) % len(starts)
    return np.sort(tables.centers), least - 4 * slack * tables.scale
