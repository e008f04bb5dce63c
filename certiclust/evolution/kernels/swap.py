"""All k swaps of one candidate in one pass over its distances, as FasterPAM evaluates them.

Schubert & Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 2021.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.space.compiled import INNER, KERNEL
from certiclust.space.kernels import Rows, row

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Solution(NamedTuple):
    """k centres with, for every client, the places (0..k-1) and distances of its two nearest ones."""

    centers: IntArray
    near: IntArray
    d1: FloatArray
    second: IntArray
    d2: FloatArray


@njit(**KERNEL)
def refresh(rows: Rows, solution: Solution, buffer: FloatArray) -> None:
    """Compute all nearest and second-nearest centres anew."""
    near, d1, second, d2 = solution.near, solution.d1, solution.second, solution.d2
    for i in range(d1.size):
        near[i] = second[i] = -1
        d1[i] = d2[i] = np.inf
    for t in range(solution.centers.size):
        d = row(rows, solution.centers[t], buffer)
        for i in range(d.size):
            if d[i] < d1[i]:
                d2[i] = d1[i]
                second[i] = near[i]
                d1[i] = d[i]
                near[i] = t
            elif d[i] < d2[i]:
                d2[i] = d[i]
                second[i] = t


@njit(**INNER)
def removal_losses(weights: FloatArray, solution: Solution, losses: FloatArray) -> float:
    """Write what the cost rises by when a centre goes, and return the cost of having only second-nearest centres.

    That is the size of the numbers that a swap adds and takes away again, and so of its rounding error.
    """
    for t in range(losses.size):
        losses[t] = 0.0
    scale = 0.0
    for i in range(weights.size):
        if losses.size == 1:  # the only centre has no second: `swap_deltas` compares whole sums then
            scale += weights[i] * solution.d1[i]
        else:
            scale += weights[i] * solution.d2[i]
            losses[solution.near[i]] += weights[i] * (solution.d2[i] - solution.d1[i])
    return scale


@njit(**INNER)
def swap_deltas(d: FloatArray, weights: FloatArray, solution: Solution, losses: FloatArray, deltas: FloatArray) -> None:
    """Write the change of the cost for swapping each centre for the candidate at distances `d`: one pass, O(n + k)."""
    near, d1, d2 = solution.near, solution.d1, solution.d2
    gained = 0.0
    for t in range(deltas.size):
        deltas[t] = 0.0
    for i in range(d.size):
        if deltas.size == 1 or d[i] < d1[i]:
            gained += weights[i] * (d[i] - d1[i])
            if deltas.size > 1:
                deltas[near[i]] += weights[i] * (d1[i] - d2[i])
        elif d[i] < d2[i]:
            deltas[near[i]] += weights[i] * (d[i] - d2[i])
    for t in range(deltas.size):
        deltas[t] += losses[t] + gained


@njit(**KERNEL)
def best_swap(
    rows: Rows, weights: FloatArray, m: int, solution: Solution, start: int, stop: int
) -> tuple[float, float]:
    """Return the least change of the cost by a swap for a candidate in `start` to `stop`, and the size of its terms."""
    k = solution.centers.size
    buffer, losses, deltas = np.empty(weights.size), np.empty(k), np.empty(k)
    is_center = np.zeros(m, dtype=np.bool_)
    for c in solution.centers:
        is_center[c] = True
    scale = removal_losses(weights, solution, losses)
    least = np.inf
    for j in range(start, stop):
        if not is_center[j]:
            swap_deltas(row(rows, j, buffer), weights, solution, losses, deltas)
            for t in range(k):
                least = min(least, deltas[t])
    return least, scale
