"""Columns of the bounds with centres anywhere: their least reduced cost, smoothed, and local minima of phi.

In NumPy by blocks that stay in the cache: about as fast as compiled, and nothing to compile in a first fit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]

#: Entries of a block.
BLOCK = 60_000
#: Steps of a descent at most.
STEPS = 60


def smooth(costs: Floats, u: Floats, mu: float, gradient: Floats) -> float:
    """Return a smooth upper model of min_j rho_j, and add its derivative by u to `gradient`.

    The value is ``-mu log sum_j exp(-rho_j / mu)`` over the rows of `costs` (columns of the relaxation by points);
    ``mu = 0`` gives the minimum itself and leaves `gradient` alone.
    """
    count, n = costs.shape
    rho, size = np.empty(count), max(1, BLOCK // n)
    desk, ones = np.empty((size, n)), np.ones(n)
    for start in range(0, count, size):
        part = costs[start : start + size]
        reduced = np.subtract(part, u, out=desk[: len(part)])
        rho[start : start + size] = np.minimum(reduced, 0.0, out=reduced) @ ones
    least = float(rho.min())
    if mu == 0.0:
        return least
    shares = np.exp((least - rho) / mu)
    mass = float(shares.sum())
    shares /= mass
    heavy = np.flatnonzero(shares > 1e-9)
    for start in range(0, len(heavy), size):
        rows = heavy[start : start + size]
        gradient -= shares[rows] @ np.less(costs[rows], u, out=desk[: len(rows)])
    return least - mu * float(np.log(mass))


def descend(
    points: Floats, weights: Floats, u: Floats, starts: Floats, power: int, should_stop: Callable[[], bool]
) -> tuple[Floats, Floats]:
    """Return local minima of phi near some starts, and their values; infinite where it was stopped before.

    A step goes to the mean (power 2) of the points that a centre covers, or towards their median (power 1).
    """
    centers, values = starts.copy(), np.full(len(starts), np.inf)
    size = max(1, BLOCK // len(points))
    for start in range(0, len(starts), size):
        if should_stop():
            break
        part = slice(start, start + size)
        centers[part], values[part] = _descended(points, weights, u, centers[part], power)
    return centers, values


def _descended(points: Floats, weights: Floats, u: Floats, centers: Floats, power: int) -> tuple[Floats, Floats]:
    best, values = centers.copy(), np.full(len(centers), np.inf)
    going, places = np.arange(len(centers)), centers
    moments = np.column_stack([points, np.ones(len(points))])
    desk, ones = np.empty((len(centers), len(points))), np.ones(len(points))
    if power == 2:
        moments *= weights[:, None]
    for _ in range(STEPS):
        d = cdist(places, points, "sqeuclidean" if power == 2 else "euclidean")
        pulls = weights / np.maximum(d, 1e-300) if power == 1 else None  # Weiszfeld's step
        d *= weights
        d -= u
        covered = np.less(d, 0.0, out=desk[: len(d)])
        value = np.minimum(d, 0.0, out=d) @ ones
        before = values[going]
        better = value < before
        values[going[better]], best[going[better]] = value[better], places[better]
        sums = (covered if pulls is None else covered * pulls) @ moments
        on = better & (sums[:, -1] > 0.0)
        if power == 1:
            on &= value <= before + 1e-7 * value
        if not on.any():
            break
        going = going[on]
        places = sums[on, :-1] / sums[on, -1:]
    return best, values
