"""Polish for k-median with centres anywhere: each cluster's centre moves to its geometric median."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

FloatArray = NDArray[np.float64]

#: Steps at most, and the relative gain over ten steps below which it ends.
STEPS, GAIN = 2000, 1e-13


def weiszfeld_polish(
    points: FloatArray, weights: FloatArray, centers: FloatArray, should_stop: Callable[[], bool]
) -> tuple[FloatArray, float]:
    """Return centres that cost no more, and their cost.

    Every step assigns the points and moves each centre by Weiszfeld's rule, as changed by Vardi and Zhang (2000) for
    centres that sit on a point. The rows are moved near the origin for it; the cost is that of the centres returned.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> centers, cost = weiszfeld_polish(X, np.ones(3), np.array([[3.0]]), lambda: False)
    >>> round(cost, 6)
    5.0
    """
    origin = points[0]
    rows, moved = points - origin, centers - origin
    best, least = centers, _cost(points, weights, centers)
    before = least
    for step in range(STEPS):
        moved = _stepped(rows, weights, moved)
        if step % 10 == 9:
            cost = _cost(points, weights, moved + origin)
            if cost < least:
                best, least = moved + origin, cost
            if should_stop() or before - least <= GAIN * least:
                break
            before = least
    # On a point the sum of distances has a kink, which steps only come near to.
    snapped = points[cdist(points, best).argmin(axis=0)]
    for j in range(len(best)):
        trial = best.copy()
        trial[j] = snapped[j]
        cost = _cost(points, weights, trial)
        if cost <= least:
            best, least = trial, cost
    return best, least


def _cost(points: FloatArray, weights: FloatArray, centers: FloatArray) -> float:
    return float(weights @ cdist(points, centers).min(axis=1))


def _stepped(rows: FloatArray, weights: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the centres after one step."""
    distances = cdist(rows, centers)
    labels = distances.argmin(axis=1)
    nearest = distances[np.arange(len(rows)), labels]
    k = len(centers)
    on = nearest == 0.0
    pull = np.where(on, 0.0, weights / np.where(on, 1.0, nearest))
    total = np.bincount(labels, pull, minlength=k)
    sums = np.stack([np.bincount(labels, pull * x, minlength=k) for x in rows.T], axis=1)
    mean = sums / np.where(total > 0, total, 1.0)[:, None]
    force = np.linalg.norm(mean - centers, axis=1) * total
    held = np.bincount(labels, np.where(on, weights, 0.0), minlength=k)
    stay = np.minimum(1.0, held / np.where(force > 0, force, 1.0))
    stay = np.where((total == 0) | (force == 0), 1.0, stay)[:, None]
    return np.asarray((1.0 - stay) * mean + stay * centers)
