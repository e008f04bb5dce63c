"""Clusterings of k-means as the compiled kernels see them, and what is done to one point or one centre.

A clustering keeps, for every point, an upper bound on the distance to its own centre and a lower bound on the distance
to every other one (Hamerly 2010), so that a point is looked at only where these cross.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.space.compiled import FAST, INNER

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]


class Cloud(NamedTuple):
    """Points near the origin, and their positive weights."""

    points: Floats
    weights: Floats


class Clustering(NamedTuple):
    """Centres, labels, bounds on distances, and weighted sum, mass and number of the points of every cluster."""

    centers: Floats
    labels: Labels
    upper: Floats
    lower: Floats
    sums: Floats
    masses: Floats
    sizes: Ints


class Pace(NamedTuple):
    """How Lloyd's iteration goes, and when it ends."""

    passes: int
    tol: float
    target: float
    horizon: float
    ahead: bool


class Workspace(NamedTuple):
    """What a descent remembers from one pause to the next.

    `progress` is: next point, passes done, fast centres, distances computed, points visited, moves made, whether the
    centres go ahead of the means. `cost` is now and at first. `suspect` and `rows` are for a few points at a time.
    """

    drift: Floats
    reach: Floats
    half: Floats
    near: Floats
    slow: Floats
    outside: Floats
    between: Floats
    columns: Floats
    row: Floats
    way: Floats
    suspect: NDArray[np.bool_]
    rows: Ints
    fast: Ints
    progress: Ints
    cost: Floats


@njit(**INNER, **FAST)
def distance(x: Floats, y: Floats) -> float:
    """Return the Euclidean distance."""
    s = 0.0
    for t in range(x.shape[0]):
        v = x[t] - y[t]
        s += v * v
    return np.sqrt(s)


@njit(**INNER, **FAST)
def two_nearest(x: Floats, columns: Floats, row: Floats) -> tuple[int, float, float]:
    """Return the nearest centre and the squares of the two least distances; `row` receives all squares.

    The centres are given as columns, so that the loop over them is the one that vectorises.
    """
    d, k = columns.shape
    for j in range(k):
        row[j] = 0.0
    whole = d - d % 4
    for t in range(0, whole, 4):  # four coordinates at a time: `row` is read and written a quarter as often
        for j in range(k):
            v0, v1 = x[t] - columns[t, j], x[t + 1] - columns[t + 1, j]
            v2, v3 = x[t + 2] - columns[t + 2, j], x[t + 3] - columns[t + 3, j]
            row[j] += (v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3)
    for t in range(whole, d):
        for j in range(k):
            v = x[t] - columns[t, j]
            row[j] += v * v
    best, first, second = 0, np.inf, np.inf
    for j in range(k):
        v = row[j]
        if v < second:
            if v < first:
                best, first, second = j, v, first
            else:
                second = v
    return best, first, second


@njit(**INNER, **FAST)
def gather(work: Workspace, first: int, last: int) -> int:
    """List the points that are marked as suspect, and return how many they are; no branch to be guessed wrong."""
    count = 0
    for i in range(first, last):
        work.rows[count] = i
        count += int(work.suspect[i - first])
    return count


@njit(**INNER, **FAST)
def move_point(cloud: Cloud, state: Clustering, i: int, a: int, b: int) -> None:
    """Take point i from cluster a to cluster b."""
    w = cloud.weights[i]
    state.labels[i] = b
    state.sizes[a] -= 1
    state.sizes[b] += 1
    state.masses[b] += w
    state.masses[a] = state.masses[a] - w if state.sizes[a] > 0 else 0.0
    for t in range(cloud.points.shape[1]):
        v = w * cloud.points[i, t]
        state.sums[b, t] += v
        # What rounding leaves of an empty cluster must not look like a mass.
        state.sums[a, t] = state.sums[a, t] - v if state.sizes[a] > 0 else 0.0


@njit(**INNER, **FAST)
def explained(state: Clustering) -> float:
    """Return the sum of |S_j|^2 / N_j: the cost is the total sum of squares minus this."""
    total = 0.0
    for j in range(state.sums.shape[0]):
        if state.sizes[j] > 0:
            s = 0.0
            for t in range(state.sums.shape[1]):
                s += state.sums[j, t] * state.sums[j, t]
            total += s / state.masses[j]
    return total


@njit(**INNER, **FAST)
def recenter(state: Clustering, work: Workspace, j: int) -> float:
    """Put a centre at the mean of its points, and add the way that it went to its drift; returns the whole drift."""
    if state.sizes[j] > 0:
        s = 0.0
        for t in range(state.sums.shape[1]):
            v = state.sums[j, t] / state.masses[j]
            s += (v - state.centers[j, t]) ** 2
            state.centers[j, t] = v
        work.drift[j] += np.sqrt(s)
    for t in range(state.sums.shape[1]):
        work.columns[t, j] = state.centers[j, t]
    return work.drift[j]
