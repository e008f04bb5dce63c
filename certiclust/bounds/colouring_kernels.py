"""Compiled searches behind the bound of k-tMM: points far apart, and exact colouring by backtracking.

Importing this module imports numba, so nothing imports it before a fit.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True)
def disperse(matrix: FloatArray, chosen: Ints, steps: int) -> tuple[float, Ints]:
    """Search for points whose least pairwise distance is large: tabu search from `chosen`, which it changes.

    A step takes one end of the closest pair out and puts in the point farthest from the rest; what left stays out for
    a while. Returns the largest least distance met and the points that have it.
    """
    n, p = matrix.shape[0], chosen.size
    best, value = chosen.copy(), -1.0
    until = np.zeros(n, dtype=np.int64)
    # Of every point: distance to its nearest chosen point, which one that is, and distance to the second nearest.
    near, first, second = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n)
    for step in range(steps):
        for j in range(n):
            near[j], first[j], second[j] = np.inf, -1, np.inf
            for t in range(p):
                d = matrix[chosen[t], j]
                if chosen[t] == j:
                    continue
                if d < near[j]:
                    second[j], near[j], first[j] = near[j], d, t
                elif d < second[j]:
                    second[j] = d
        low = 0
        for t in range(1, p):
            if near[chosen[t]] < near[chosen[low]]:
                low = t
        if near[chosen[low]] > value:
            value = near[chosen[low]]
            best[:] = chosen
        ends = (low, first[chosen[low]])
        leaving, entering, gain = -1, -1, -1.0
        for e in ends:
            for j in range(n):
                reach = second[j] if first[j] == e else near[j]
                if reach > gain and until[j] <= step:
                    taken = False
                    for t in range(p):
                        taken = taken or chosen[t] == j
                    if not taken:
                        leaving, entering, gain = e, j, reach
        if leaving < 0:
            break
        # A tenure that varies without a random number: 3 to p + 2, in an order that repeats late.
        until[chosen[leaving]] = step + 4 + (step * 7919) % p
        chosen[leaving] = entering
    return value, best


@njit(cache=True)
def colour_exactly(adjacent: NDArray[np.bool_], k: int, clique: int, max_nodes: int, labels: Ints) -> tuple[int, int]:
    """Decide whether a graph has a colouring with k colours; the first `clique` vertices are pairwise adjacent.

    Backtracking in DSATUR's order (Brelaz 1979): next comes the vertex with the fewest colours left, ties to more
    neighbours, then to the lower index; colours ascending, and at most one that no vertex has yet. Returns 1 (`labels`
    has a colouring), 0 (there is none) or -1 (more than `max_nodes` colours were tried), and the colours tried.
    """
    n = adjacent.shape[0]
    if clique > k:
        return 0, 0
    labels[:] = -1
    blocked = np.zeros((n, k), dtype=np.int32)  # neighbours of a vertex that have a colour
    left = np.full(n, k, dtype=np.int64)
    degree = np.zeros(n, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            if adjacent[i, j]:
                degree[i] += 1
    for i in range(clique):
        labels[i] = i
        for j in range(n):
            if adjacent[i, j]:
                blocked[j, i] += 1
                left[j] -= 1
    chosen = np.zeros(n + 1, dtype=np.int64)
    tried = np.zeros(n + 1, dtype=np.int64)
    used = np.zeros(n + 1, dtype=np.int64)
    depth, nodes = 0, 0
    used[0] = clique
    fresh = True
    while True:
        if fresh:
            if depth == n - clique:
                return 1, nodes
            best = -1
            for i in range(n):
                if labels[i] < 0 and (
                    best < 0 or left[i] < left[best] or (left[i] == left[best] and degree[i] > degree[best])
                ):
                    best = i
            chosen[depth] = best
            tried[depth] = -1
        i = chosen[depth]
        c = tried[depth]
        if c >= 0:  # take the colour back
            labels[i] = -1
            for j in range(n):
                if adjacent[i, j]:
                    blocked[j, c] -= 1
                    if blocked[j, c] == 0:
                        left[j] += 1
        c += 1
        limit = min(k, used[depth] + 1)
        while c < limit and blocked[i, c] > 0:
            c += 1
        if c >= limit:
            depth -= 1
            fresh = False
            if depth < 0:
                return 0, nodes
            continue
        nodes += 1
        if nodes > max_nodes:
            return -1, nodes
        tried[depth] = c
        labels[i] = c
        for j in range(n):
            if adjacent[i, j]:
                if blocked[j, c] == 0:
                    left[j] -= 1
                blocked[j, c] += 1
        used[depth + 1] = max(used[depth], c + 1)
        depth += 1
        fresh = True


@njit(cache=True)
def greedy_clique(adjacent: NDArray[np.bool_]) -> Ints:
    """Return a large clique: from every vertex in turn, add the vertex with the most neighbours among those left."""
    n = adjacent.shape[0]
    best = np.zeros(0, dtype=np.int64)
    current = np.zeros(n, dtype=np.int64)
    open_ = np.zeros(n, dtype=np.bool_)
    for start in range(n):
        current[0] = start
        size = 1
        for j in range(n):
            open_[j] = adjacent[start, j]
        while True:
            pick, most = -1, -1
            for i in range(n):
                if open_[i]:
                    count = 0
                    for j in range(n):
                        if open_[j] and adjacent[i, j]:
                            count += 1
                    if count > most:
                        pick, most = i, count
            if pick < 0:
                break
            current[size] = pick
            size += 1
            for j in range(n):
                open_[j] = open_[j] and adjacent[pick, j]
        if size > best.size:
            best = current[:size].copy()
    return best
