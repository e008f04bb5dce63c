"""Compiled searches behind the bound of k-tMM: points far apart, and exact colouring by backtracking.

Importing this module imports numba, so nothing imports it before a fit.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.space.compiled import KERNEL

FloatArray = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(**KERNEL)
def disperse(matrix: FloatArray, chosen: Ints, best: Ints, steps: int) -> float:
    """Search for points whose least pairwise distance is large: tabu search from `chosen`, which it changes.

    A step takes one end of the closest pair out and puts in the point farthest from the rest; what left stays out for
    a while. Returns the largest least distance met; `best` gets the points that have it.
    """
    n, p = matrix.shape[0], chosen.size
    value = -1.0
    until = np.zeros(n, dtype=np.int64)  # the step before which a point does not enter; -1 if it is chosen
    # Of every point: distance to its nearest chosen point, which one that is, and distance to the second nearest.
    near, first, second = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n)
    for t in range(p):
        until[chosen[t]] = -1
    for step in range(steps):
        for j in range(n):
            near[j], first[j], second[j] = np.inf, -1, np.inf
        for t in range(p):
            for j in range(n):
                d = matrix[chosen[t], j]
                if d < second[j] and chosen[t] != j:
                    if d < near[j]:
                        second[j], near[j], first[j] = near[j], d, t
                    else:
                        second[j] = d
        low = 0
        for t in range(1, p):
            if near[chosen[t]] < near[chosen[low]]:
                low = t
        if near[chosen[low]] > value:
            value = near[chosen[low]]
            for t in range(p):
                best[t] = chosen[t]
        other = first[chosen[low]]
        leaving, entering, gain = -1, -1, -1.0
        for j in range(n):
            if until[j] < 0 or until[j] > step:
                continue
            reach = second[j] if first[j] == low else near[j]
            if reach > gain:
                leaving, entering, gain = low, j, reach
            reach = second[j] if first[j] == other else near[j]
            if reach > gain:
                leaving, entering, gain = other, j, reach
        if leaving < 0:
            break
        # A tenure that varies without a random number: 3 to p + 2, in an order that repeats late.
        until[chosen[leaving]] = step + 4 + (step * 7919) % p
        until[entering] = -1
        chosen[leaving] = entering
    return value


@njit(**KERNEL)
def next_vertex(adjacent: NDArray[np.bool_], labels: Ints, blocked: NDArray[np.int32], left: Ints) -> int:
    """Return the uncoloured vertex with the fewest colours left.

    Ties go to the vertex that would take away most: the colours it shares with its uncoloured neighbours, counted
    (Sewell 1996), then to the lower index. With at most one colour left there is nothing to choose.
    """
    n, k = blocked.shape
    best = -1
    for i in range(n):
        if labels[i] < 0 and (best < 0 or left[i] < left[best]):
            best = i
    fewest = left[best]
    if fewest <= 1:
        return best
    most = -1
    for i in range(n):
        if labels[i] >= 0 or left[i] != fewest:
            continue
        shared = 0
        for c in range(k):
            if blocked[i, c] == 0:
                for j in range(n):
                    if adjacent[i, j] and labels[j] < 0 and blocked[j, c] == 0:
                        shared += 1
        if shared > most:
            best, most = i, shared
    return best


@njit(**KERNEL)
def colour_exactly(adjacent: NDArray[np.bool_], k: int, clique: int, max_nodes: int, labels: Ints) -> tuple[int, int]:
    """Decide whether a graph has a colouring with k colours; the first `clique` vertices are pairwise adjacent.

    Backtracking in the order of `next_vertex`; colours ascending, and at most one that no vertex has yet. Returns 1
    (`labels` has a colouring), 0 (there is none) or -1 (more than `max_nodes` colours were tried), and the colours
    tried.
    """
    n = adjacent.shape[0]
    if clique > k:
        return 0, 0
    blocked = np.zeros((n, k), dtype=np.int32)  # neighbours of a vertex that have a colour
    left = np.full(n, k, dtype=np.int64)
    for i in range(n):
        labels[i] = -1
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
            chosen[depth] = next_vertex(adjacent, labels, blocked, left)
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


@njit(**KERNEL)
def greedy_clique(adjacent: NDArray[np.bool_], starts: Ints, clique: Ints) -> int:
    """Write a large clique and return its size: from each of `starts`, add what has most neighbours among those left.

    The counts are of the whole graph left at the beginning of a start and updated with every vertex added.
    """
    n = adjacent.shape[0]
    size = 0
    current = np.zeros(n, dtype=np.int64)
    count = np.zeros(n, dtype=np.int64)
    candidate = np.zeros(n, dtype=np.bool_)
    for t in range(starts.size):
        current[0] = starts[t]
        length = 1
        for j in range(n):
            candidate[j] = adjacent[starts[t], j]
            count[j] = 0
        for i in range(n):
            if candidate[i]:
                for j in range(n):
                    if candidate[j] and adjacent[i, j]:
                        count[j] += 1
        while True:
            pick = -1
            for j in range(n):
                if candidate[j] and (pick < 0 or count[j] > count[pick]):
                    pick = j
            if pick < 0:
                break
            current[length] = pick
            length += 1
            for i in range(n):
                if candidate[i] and not adjacent[pick, i]:
                    candidate[i] = False
                    for j in range(n):
                        if adjacent[i, j]:
                            count[j] -= 1
        if length > size:
            size = length
            for j in range(length):
                clique[j] = current[j]
    return size
