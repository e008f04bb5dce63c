"""Compiled swap search and neighbour lists straight from coordinates, for instances whose matrix would not fit.

Clients are grouped by their nearest centre. A candidate can matter to a client only within the client's reach, so by
the triangle inequality whole groups are skipped: candidate j cannot come nearer than ``d(j, centre) - d(i, centre)``.
Squared metrics are compared by their roots. Distances are direct differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certiclust.evolution.kernels.swap_search import BIG, TOLERANCE, State, _cheapest, _sum_up
from certiclust.space.compiled import INNER, KERNEL
from certiclust.space.kernels import PointRows, distance, row
from certiclust.space.metrics import KERNEL_CODES

SQEUCLIDEAN, COSINE = KERNEL_CODES["sqeuclidean"], KERNEL_CODES["cosine"]

#: Skipping tests leave this much room, far above the rounding of a distance.
SLACK = 1.0 + 1e-9


@njit(**INNER)
def true_length(value: float, code: int) -> float:
    """Return a distance as a length that obeys the triangle inequality."""
    if code == SQEUCLIDEAN:
        return np.sqrt(value)
    return np.sqrt(2.0 * value) if code == COSINE else value


@njit(**INNER)
def _nearest_two(rows: PointRows, weights: Any, state: State, i: int) -> None:
    """Recompute the two nearest centres of client i."""
    c1, c2 = BIG, BIG
    near, second = 0, 0
    for a in range(state.centers.size):
        c = weights[i] * distance(rows, state.centers[a], i)
        if c < c1:
            c2, second = c1, near
            c1, near = c, a
        elif c < c2:
            c2, second = c, a
    state.c1[i], state.c2[i], state.near[i], state.second[i] = c1, c2, near, second


@njit(**KERNEL)
def load_range(rows: PointRows, weights: Any, state: State, start: int, stop: int) -> None:
    """Take centres start..stop of ``state.centers`` into the caches, a row each; the last range completes them."""
    n, k = weights.size, state.centers.size
    if start == 0:
        for i in range(n):
            state.c1[i], state.c2[i], state.near[i], state.second[i] = BIG, BIG, 0, 0
    buffer = np.empty(n)
    for a in range(start, stop):
        d = row(rows, state.centers[a], buffer)
        for i in range(n):
            c = weights[i] * d[i]
            if c < state.c1[i]:
                state.c2[i], state.second[i] = state.c1[i], state.near[i]
                state.c1[i], state.near[i] = c, a
            elif c < state.c2[i]:
                state.c2[i], state.second[i] = c, a
    if stop == k:
        for j in range(state.slot.size):
            state.slot[j] = -1
        for a in range(k):
            state.slot[state.centers[a]] = a
        _sum_up(state.c1, state.c2, state.near, state.loss, state.total)
        state.clock[0], state.clock[1], state.clock[2] = 0, 0, 0


@njit(**KERNEL)
def group(state: State, weights: Any, limit: Any, code: int, ptr: Any, idx: Any, reach: Any) -> None:
    """Clients by nearest centre, and per group the largest d(i, centre) + (limit_i as a length)."""
    n = weights.size
    ptr[:] = 0
    reach[:] = 0.0
    for i in range(n):
        ptr[state.near[i] + 1] += 1
    for a in range(reach.size):
        ptr[a + 1] += ptr[a]
    fill = ptr[:-1].copy()
    for i in range(n):
        a = state.near[i]
        idx[fill[a]] = i
        fill[a] += 1
        far = true_length(state.c1[i] / weights[i], code) + true_length(limit[i] / weights[i], code)
        reach[a] = max(reach[a], far * SLACK)


@njit(**INNER)
def _exchange(rows: PointRows, weights: Any, state: State, out: int, new: int) -> None:
    """Replace the centre in slot ``out`` by ``new`` and repair the caches."""
    state.slot[state.centers[out]] = -1
    state.centers[out] = new
    state.slot[new] = out
    for i in range(weights.size):
        if state.near[i] == out or state.second[i] == out:
            _nearest_two(rows, weights, state, i)
        else:
            c = weights[i] * distance(rows, new, i)
            if c < state.c1[i]:
                state.c2[i], state.second[i] = state.c1[i], state.near[i]
                state.c1[i], state.near[i] = c, out
            elif c < state.c2[i]:
                state.c2[i], state.second[i] = c, out
    _sum_up(state.c1, state.c2, state.near, state.loss, state.total)


@njit(**KERNEL)
def swap_fly(rows: PointRows, sites: PointRows, weights: Any, state: State, order: Any, budget: int) -> bool:
    """Eager swaps from coordinates, about ``budget`` distances per call; True if locally optimal."""
    k = state.centers.size
    c1, c2, near, clock = state.c1, state.c2, state.near, state.clock
    ptr, idx, reach = np.zeros(k + 1, np.int64), np.empty(weights.size, np.int64), np.empty(k)
    group(state, weights, c2, rows.code, ptr, idx, reach)
    delta = np.empty(k)
    while clock[2] < order.size and budget > 0:
        if clock[1] >= order.size:
            clock[1] = 0
        j = order[clock[1]]
        clock[1] += 1
        clock[2] += 1
        if state.slot[j] >= 0:
            continue
        for a in range(k):
            delta[a] = state.loss[a]
        gain = 0.0
        spent = k
        for a in range(k):
            away = true_length(distance(sites, j, state.centers[a]), rows.code)
            if away > reach[a]:
                continue
            spent += ptr[a + 1] - ptr[a]
            for t in range(ptr[a], ptr[a + 1]):
                i = idx[t]
                c = weights[i] * distance(rows, j, i)
                if c < c2[i]:
                    if c < c1[i]:
                        gain += c1[i] - c
                        delta[near[i]] += c1[i] - c2[i]
                    else:
                        delta[near[i]] += c - c2[i]
        out = _cheapest(delta)
        if delta[out] - gain < -TOLERANCE * state.total[0]:
            old, before = state.centers[out], state.total[0]
            _exchange(rows, weights, state, out, j)
            spent += 6 * weights.size
            if state.total[0] < before:
                clock[2] = 0
            else:  # what a sum of differences promised was rounding alone
                _exchange(rows, weights, state, out, old)
                spent += 6 * weights.size
            group(state, weights, c2, rows.code, ptr, idx, reach)
        budget -= spent
        clock[3] += spent
    return bool(clock[2] >= order.size)


@njit(**KERNEL)
def near_pairs(
    rows: PointRows,
    sites: PointRows,
    weights: Any,
    centers: Any,
    grouped: Any,
    radius: Any,
    span: Any,
    ptr: Any,
    idx: Any,
    val: Any,
) -> None:
    """List the clients with cost below their radius for candidates ``span[0]..span[1]``.

    ``grouped`` is (ptr, idx, reach) of ``group``. With an empty ``idx`` only the counts go to ``ptr[j + 1]``.
    """
    group_ptr, group_idx, reach = grouped
    for j in range(span[0], span[1]):
        t = ptr[j]
        count = 0
        for a in range(centers.size):
            if true_length(distance(sites, j, centers[a]), rows.code) > reach[a]:
                continue
            for s in range(group_ptr[a], group_ptr[a + 1]):
                i = group_idx[s]
                c = weights[i] * distance(rows, j, i)
                if c < radius[i]:
                    if idx.size > 0:
                        idx[t + count] = i
                        val[t + count] = c
                    count += 1
        if idx.size == 0:
            ptr[j + 1] = count


@njit(**KERNEL)
def fill_row(rows: PointRows, j: int, out: Any) -> None:
    """Write the distances of all clients to candidate ``j``."""
    row(rows, j, out)
