"""Compiled swap polish: all k swaps of one candidate in one pass over its distances, as FasterPAM evaluates them.

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


@njit(**INNER)
def missed_balls(hits: IntArray, lost: int, won: int) -> int:
    """Return by how many the missed balls grow when a centre of ball `lost` is swapped for one of ball `won`."""
    if lost == won:
        return 0
    return int(lost >= 0 and hits[lost] == 1) - int(won >= 0 and hits[won] == 0)


@njit(**KERNEL)
def polish_sum(
    rows: Rows, weights: FloatArray, groups: IntArray, solution: Solution, position: IntArray, steps: int, slack: float
) -> None:
    """Apply improving swaps, missed balls first and cost second, eagerly, for at most `steps` candidates.

    `position` is where to go on and for how many candidates nothing improved; at m the solution is 1-swap optimal
    up to a gain of `slack` times the sizes of the numbers compared, which keeps rounding noise from cycling.
    """
    m, k, n = groups.size, solution.centers.size, weights.size
    buffer, losses, deltas = np.empty(n), np.empty(k), np.empty(k)
    hits = np.zeros(m, dtype=np.int64)  # there are no more balls than candidates
    is_center = np.zeros(m, dtype=np.bool_)
    for c in solution.centers:
        is_center[c] = True
        if groups[c] >= 0:
            hits[groups[c]] += 1
    noise = slack * removal_losses(weights, solution, losses)
    while steps > 0 and position[1] < m:
        j = position[0]
        position[0] = (j + 1) % m
        position[1] += 1
        steps -= 1
        if is_center[j]:
            continue
        swap_deltas(row(rows, j, buffer), weights, solution, losses, deltas)
        best, missed = -1, 0
        for t in range(k):
            more = missed_balls(hits, groups[solution.centers[t]], groups[j])
            if more < missed or (more == missed and deltas[t] < (deltas[best] if best >= 0 else -noise)):
                best, missed = t, more
        if best < 0:
            continue
        out = solution.centers[best]
        is_center[out], is_center[j] = False, True
        if groups[out] >= 0:
            hits[groups[out]] -= 1
        if groups[j] >= 0:
            hits[groups[j]] += 1
        solution.centers[best] = j
        refresh(rows, solution, buffer)
        noise = slack * removal_losses(weights, solution, losses)
        position[1] = 0


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


@njit(**KERNEL)
def polish_radius(rows: Rows, solution: Solution, position: IntArray, steps: int) -> None:
    """Apply swaps that shrink the radius, for at most `steps` candidates.

    Swapping centre t for j gives the larger of `alone[t]`, the radius of t's cluster without t, and the largest of
    the other clusters' radii, all with j present: one pass per candidate. Only a candidate that comes nearer to the
    farthest point can help.
    """
    n, k = solution.d1.size, solution.centers.size
    buffer, kept, alone = np.empty(n), np.empty(k), np.empty(k)
    while steps > 0 and position[1] < n:
        j = position[0]
        position[0] = (j + 1) % n
        position[1] += 1
        steps -= 1
        farthest = 0
        for i in range(n):
            if solution.d1[i] > solution.d1[farthest]:
                farthest = i
        radius = solution.d1[farthest]
        d = row(rows, j, buffer)
        if d[farthest] >= radius:
            continue
        for t in range(k):
            kept[t] = alone[t] = 0.0
        for i in range(n):
            t = solution.near[i]
            kept[t] = max(kept[t], min(d[i], solution.d1[i]))
            alone[t] = max(alone[t], min(d[i], solution.d2[i]))
        first, runner = 0, -1  # the two clusters of largest radius
        for t in range(1, k):
            if kept[t] > kept[first]:
                first, runner = t, first
            elif runner < 0 or kept[t] > kept[runner]:
                runner = t
        best, least = -1, radius
        for t in range(k):
            others = kept[first] if t != first else (kept[runner] if runner >= 0 else 0.0)
            if max(alone[t], others) < least:
                best, least = t, max(alone[t], others)
        if best >= 0:
            solution.centers[best] = j
            refresh(rows, solution, buffer)
            position[1] = 0
