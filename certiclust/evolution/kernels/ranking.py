"""Ranking by two objectives: sorting, fronts, crowding distances, hypervolume contributions.

Sizes are integers and f1 is a pair (violations, value), so dominance is exact. Only distances between f1 values are
rounded: `flatten` puts them on one finite scale.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.population import Objectives, larger_f1
from certiclust.evolution.kernels.rng import State, below
from certiclust.space.compiled import INNER

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Below every contribution of a vector that no other member has; those of clones are 0.
TINY = 1e-300


@njit(**INNER)
def shuffle(items: IntArray, count: int, state: State) -> None:
    """Permute the first `count` items uniformly: a stable sort then breaks ties at random."""
    for t in range(count - 1, 0, -1):
        j = below(state, t + 1)
        items[t], items[j] = items[j], items[t]


@njit(**INNER)
def sort_down(items: IntArray, count: int, major: IntArray, minor: FloatArray, buffer: IntArray) -> None:
    """Sort the first `count` items by (major, minor), largest first; ties keep their order. A merge sort."""
    source, target = items, buffer
    passes = 0
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            i, j = low, middle
            for t in range(low, high):
                right = i == middle
                if i < middle and j < high:
                    x, y = source[i], source[j]
                    right = major[y] > major[x] or (major[y] == major[x] and minor[y] > minor[x])
                if right:
                    target[t] = source[j]
                    j += 1
                else:
                    target[t] = source[i]
                    i += 1
        source, target = target, source
        width *= 2
        passes += 1
    if passes % 2 == 1:
        for t in range(count):
            items[t] = buffer[t]


@njit(**INNER)
def fronts(f: Objectives, order: IntArray, count: int, front: IntArray, last: IntArray) -> int:
    """Write the front, from 0, of each slot in `order` (sorted by size, then f1, largest first); return how many.

    Patience sorting: within a front f1 does not fall as sizes fall, so its `last` member dominates a later slot if any
    of its members does, and if front i + 1 dominates it, so does front i.
    """
    number = 0
    for t in range(count):
        x = order[t]
        low, high = 0, number
        while low < high:
            middle = (low + high) // 2
            y = last[middle]
            if larger_f1(f, y, x) or (f.size[y] > f.size[x] and not larger_f1(f, x, y)):
                low = middle + 1
            else:
                high = middle
        front[t] = low
        last[low] = x
        number = max(number, low + 1)
    return number


@njit(**INNER)
def line_of(front: IntArray, count: int, which: int, line: IntArray) -> int:
    """Write the positions of one front in their order, sizes falling and f1 rising; return how many there are."""
    length = 0
    for t in range(count):
        if front[t] == which:
            line[length] = t
            length += 1
    return length


@njit(**INNER)
def flatten(f: Objectives, order: IntArray, count: int, level: FloatArray) -> None:
    """Write f1 of each slot in `order` on one finite scale that keeps its order.

    Finite values fill [0, 1]; infinity (at most one centre in a max problem) is 2 and minus infinity (no centre in a
    sum problem) is -1; each violated constraint subtracts 4.
    """
    low, high = np.inf, -np.inf
    for t in range(count):
        v = f.value[order[t]]
        if np.isfinite(v):
            low, high = min(low, v), max(high, v)
    for t in range(count):
        level[t] = leveled(f, order[t], low, high)


@njit(**INNER)
def leveled(f: Objectives, z: int, low: float, high: float) -> float:
    """Return f1 of one slot on the scale of `flatten` for finite values between `low` and `high`."""
    v = f.value[z]
    if v == np.inf:
        place = 2.0
    elif v == -np.inf:
        place = -1.0
    else:
        place = (v - low) / (high - low) if high > low else 0.0
    return place - 4.0 * f.violations[z]


@njit(**INNER)
def crowding(f: Objectives, order: IntArray, line: IntArray, length: int, level: FloatArray, score: FloatArray) -> None:
    """Write the crowding distance of each position in a front's `line`.

    The sum over both objectives of the distance between the two neighbours, in units of the front's range; infinite at
    both ends. Within a front the order by f2 is the reverse of that by f1, so one line serves both.
    """
    first, last = line[0], line[length - 1]
    span = level[last] - level[first]
    spread = f.size[order[first]] - f.size[order[last]]
    for t in range(1, length - 1):
        before, after = line[t - 1], line[t + 1]
        distance = 0.0
        if span > 0.0:
            distance += (level[after] - level[before]) / span
        if spread > 0:
            distance += (f.size[order[before]] - f.size[order[after]]) / spread
        score[line[t]] = distance
    score[first] = score[last] = np.inf


@njit(**INNER)
def contributions(
    f: Objectives, order: IntArray, line: IntArray, length: int, level: FloatArray, score: FloatArray
) -> None:
    """Write the hypervolume that each position in a front's `line` alone dominates.

    The reference point has f2 = -1 and, on the scale of `flatten`, f1 = the least of the front minus 1. Clones
    contribute exactly 0, and every other vector something.
    """
    for t in range(length):
        here = line[t]
        x = order[here]
        width = level[here] - level[line[t - 1]] if t > 0 else 1.0
        height = f.size[x] + 1
        if t < length - 1:
            height = f.size[x] - f.size[order[line[t + 1]]]
        twin = t > 0 and same(f, x, order[line[t - 1]])
        twin = twin or (t < length - 1 and same(f, x, order[line[t + 1]]))
        score[here] = 0.0 if twin else max(width * height, TINY)


@njit(**INNER)
def same(f: Objectives, x: int, y: int) -> bool:
    """Return whether two slots have the same objective vector."""
    return f.major[x] == f.major[y] and f.value[x] == f.value[y]
