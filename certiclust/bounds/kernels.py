"""Compiled Lagrangian bound of k-median: L(u) = sum u + the k smallest rho_j, rho_j = sum_i min(0, c_ij - u_i)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from certiclust.space.compiled import INNER, KERNEL, VIEWS

BIG = 1e300


class Dual(NamedTuple):
    """State of the subgradient ascent, resumable between blocks.

    Attributes
    ----------
    u, direction, best_u : (n,) float64
    rho : (m,) float64, reduced costs at the last u
    chosen : (m,) int8, the k candidates the relaxation opened last
    share : (m,) float64, moving average of ``chosen`` (a primal estimate)
    fixed : (m,) int8, 1 = must be open, 0 = free, -1 = must stay closed
    end : (n,) int64, end of the active part of every client's list
    gradient, free : (n,) and (m,) float64, room to work in
    scalars : (9,) float64: best L, lambda, idle steps, iterations, lambda floor, target, list entries read, done,
        goal (the ascent stops once L reaches it)
    """

    u: Any
    direction: Any
    best_u: Any
    rho: Any
    chosen: Any
    share: Any
    fixed: Any
    end: Any
    gradient: Any
    free: Any
    scalars: Any


@njit(**INNER, **VIEWS)
def reduced_costs(row_ptr: Any, row_idx: Any, row_val: Any, u: Any, rho: Any, end: Any) -> Any:
    """Fill ``rho`` and return sum(u) and the number of list entries read.

    ``end[i]`` remembers where the active part of client i ended: between two steps it hardly moves, and a loop of
    known length runs a third faster than one that tests every entry.
    """
    for j in range(rho.size):
        rho[j] = 0.0
    total = 0.0
    read = 0
    for i in range(u.size):
        ui = u[i]
        total += ui
        low = row_ptr[i]
        high = row_ptr[i + 1]
        last = end[i]
        while last < high and row_val[last] < ui:
            last += 1
        while last > low and row_val[last - 1] >= ui:
            last -= 1
        end[i] = last
        for t in range(low, last):
            rho[row_idx[t]] += row_val[t] - ui
        read += last - low + 1
    return total, read


@njit(**INNER, **VIEWS)
def smallest(values: Any, count: int, rank: int) -> float:
    """Return the `rank`-th smallest of the first `count` values, which are reordered (Hoare's selection)."""
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank - 1 <= j:
            high = j
        elif rank - 1 >= i:
            low = i
        else:
            break
    return values[rank - 1]


@njit(**INNER, **VIEWS)
def choose(rho: Any, fixed: Any, k: int, chosen: Any, free: Any) -> Any:
    """Open the fixed and the cheapest free candidates.

    Returns the sum of their rho, the largest chosen free rho and the smallest free rho left out (BIG if none; the sum
    is BIG if fewer than k candidates exist). Equal values: the smaller index opens. `free` is room to work in.
    """
    m = rho.size
    total = 0.0
    count = np.int64(0)  # a plain 0 would be a literal at first, and `smallest` be compiled for that as well
    need = k
    for j in range(m):
        chosen[j] = 0
        if fixed[j] == 1:
            chosen[j] = 1
            total += rho[j]
            need -= 1
        elif fixed[j] == 0:
            free[count] = rho[j]
            count += 1
    if need < 0 or need > count:
        return BIG, BIG, BIG
    last = smallest(free, count, need) if need > 0 else -BIG
    taken = 0
    for j in range(m):
        if fixed[j] == 0 and rho[j] < last:
            chosen[j] = 1
            total += rho[j]
            taken += 1
    low = BIG
    for j in range(m):
        if fixed[j] == 0 and chosen[j] == 0:
            if rho[j] == last and taken < need:
                chosen[j] = 1
                total += last
                taken += 1
            elif rho[j] < low:
                low = rho[j]
    return total, last, low


@njit(**INNER, **VIEWS)
def _subgradient(col_ptr: Any, col_idx: Any, col_val: Any, u: Any, chosen: Any, g: Any) -> None:
    """g_i = 1 - number of opened candidates cheaper than u_i."""
    for i in range(g.size):
        g[i] = 1.0
    for j in range(chosen.size):
        if chosen[j] == 1:
            for t in range(col_ptr[j], col_ptr[j + 1]):
                if col_val[t] < u[col_idx[t]]:
                    g[col_idx[t]] -= 1.0


@njit(**KERNEL, **VIEWS)
def ascend_block(lists: Any, dual: Dual, k: int, patience: int, iterations: int, work: int) -> None:
    """At most ``iterations`` deflected subgradient steps, or about ``work`` list entries."""
    row_ptr, row_idx, row_val = lists.row_ptr, lists.row_idx, lists.row_val
    col_ptr, col_idx, col_val = lists.col_ptr, lists.col_idx, lists.col_val
    u, direction, best_u = dual.u, dual.direction, dual.best_u
    rho, fixed, chosen = dual.rho, dual.fixed, dual.chosen
    share, g, radius = dual.share, dual.gradient, lists.radius
    end, free, s = dual.end, dual.free, dual.scalars
    n = u.size
    while min(iterations, work) > 0:  # one way out: every other costs compile time
        iterations -= 1
        total, read = reduced_costs(row_ptr, row_idx, row_val, u, rho, end)
        chosen_sum, _, _ = choose(rho, fixed, k, chosen, free)
        work -= read + 4 * n
        s[6] += read
        s[3] += 1.0
        value = total + chosen_sum
        s[2] += 1.0
        if chosen_sum >= BIG:
            s[0] = BIG
        elif value > s[0]:
            # Creeping gains do not reset the patience: the step length has to shrink then.
            if value > s[0] + 1e-3 * (s[5] - s[0]):
                s[2] = 0.0
            s[0] = value
            for i in range(n):
                best_u[i] = u[i]
        if s[0] >= min(s[8], BIG):
            s[7] = 1.0
        elif s[2] >= patience:
            s[1] *= 0.5
            s[2] = 0.0
            if s[1] < s[4]:
                s[7] = 1.0
            else:
                for i in range(n):
                    u[i] = best_u[i]
                    direction[i] = 0.0
        else:
            _subgradient(col_ptr, col_idx, col_val, u, chosen, g)
            keep = 0.8 if s[3] > 1.0 else 0.0
            norm = 0.0
            for i in range(n):
                d = keep * direction[i] + (1.0 - keep) * g[i]
                if (u[i] >= radius[i] and d > 0.0) or (u[i] <= 0.0 and d < 0.0):
                    d = 0.0
                direction[i] = d
                norm += d * d
            for j in range(share.size):
                share[j] += 0.05 * (chosen[j] - share[j])
            if norm <= 1e-18:
                s[7] = 1.0
            else:
                step = s[1] * (s[5] - value) / norm
                for i in range(n):
                    u[i] = min(max(u[i] + step * direction[i], 0.0), radius[i])
        if s[7] == 1.0:
            work = 0


@njit(**KERNEL, **VIEWS)
def evaluate(lists: Any, u: Any, fixed: Any, k: int, rho: Any, chosen: Any, end: Any, free: Any) -> Any:
    """L(u) with the figures the margin and the reduction need.

    Returns L, the largest chosen and the smallest unchosen free rho, sum of u, and max_j of the u it undercuts. `end`
    is where the lists of the clients start, and `free` room to work in.
    """
    col_ptr, col_idx, col_val = lists.col_ptr, lists.col_idx, lists.col_val
    total, _ = reduced_costs(lists.row_ptr, lists.row_idx, lists.row_val, u, rho, end)
    chosen_sum, last, low = choose(rho, fixed, k, chosen, free)
    heaviest = 0.0
    for j in range(rho.size):
        load = 0.0
        if rho[j] < 0.0:
            for t in range(col_ptr[j], col_ptr[j + 1]):
                if col_val[t] < u[col_idx[t]]:
                    load += u[col_idx[t]]
        heaviest = max(heaviest, load)
    value = total + chosen_sum if chosen_sum < BIG else BIG
    return value, last, low, total, heaviest
