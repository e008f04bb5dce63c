"""k-tMM with one and with two clusters, which have closed answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from certiclust.problems import KTMMProblem
from certiclust.solver.ktmm import Proof
from certiclust.space import Space

IntArray = NDArray[np.intp]

#: Points of an odd cycle that is kept as a witness, at most; `verify` takes so many.
MAX_CYCLE = 2000
#: Rows between two polls of ``should_stop``.
POLL = 128


def single_cluster(problem: KTMMProblem) -> Proof:
    """Return the only partition into one cluster; the two points farthest apart are the witness."""
    labels = np.zeros(problem.space.n, dtype=np.int32)
    reach = problem.reach(labels)
    i, diameter = int(reach.argmax()), float(reach.max())
    j = int(problem.space.distances(np.array([i]))[0].argmax())
    return Proof(labels, reach, diameter, diameter, diameter, np.array(sorted((i, j)), dtype=np.intp), None)


def two_clusters(problem: KTMMProblem, first: Proof, should_stop: Callable[[], bool]) -> Proof:
    """Return the optimal partition into two clusters: the two sides of a maximum spanning tree.

    The tree spans every component of {d > OPT}, and such a component has only one 2-colouring, so the sides of the
    tree are optimal (Hubert 1973). In {d >= OPT} there is an odd cycle, which proves it. If a stop is asked for,
    `first` comes back.
    """
    sides = _tree_sides(problem.space, should_stop)
    if sides is None:
        return first
    reach = problem.reach(sides)
    i, diameter = int(reach.argmax()), float(reach.max())
    cycle = odd_cycle(problem.space, i, diameter)
    if diameter == 0 or cycle is None or len(cycle) > MAX_CYCLE:
        return Proof(sides, reach, diameter, min(first.lower, diameter), first.h, first.apart, None)
    if len(cycle) == 3:
        return Proof(sides, reach, diameter, diameter, diameter, cycle, None)
    return Proof(sides, reach, diameter, diameter, first.h, first.apart, cycle)


def _tree_sides(space: Space, should_stop: Callable[[], bool]) -> NDArray[np.int32] | None:
    """Return on which side of a maximum spanning tree each point is (Prim, n rows of distances); None if stopped."""
    sides = np.zeros(space.n, dtype=np.int32)
    parent = np.zeros(space.n, dtype=np.intp)
    longest = np.full(space.n, -1.0)
    inside = np.zeros(space.n, dtype=bool)
    last = 0
    for t in range(1, space.n):
        if t % POLL == 0 and should_stop():
            return None
        inside[last] = True
        longest[last] = -np.inf
        row = space.distances(np.array([last]))[0]
        better = (row > longest) & ~inside
        longest[better] = row[better]
        parent[better] = last
        last = int(longest.argmax())
        sides[last] = 1 - sides[parent[last]]
    return sides


def odd_cycle(space: Space, start: int, threshold: float) -> IntArray | None:
    """Return a short odd cycle of {d >= threshold} in the component of `start`, in order; None if there is none.

    Breadth first from `start`: two neighbours on the same level close an odd cycle with their ways back.
    """
    level = np.full(space.n, -1, dtype=np.intp)
    parent = np.full(space.n, -1, dtype=np.intp)
    level[start] = 0
    frontier = [start]
    while frontier:
        following: list[int] = []
        for i in frontier:
            near = np.flatnonzero(space.distances(np.array([i]))[0] >= threshold)
            across = near[(level[near] == level[i]) & (near != i)]
            if len(across):
                return _closed(parent, i, int(across[0]))
            fresh = near[level[near] < 0]
            level[fresh] = level[i] + 1
            parent[fresh] = i
            following.extend(fresh.tolist())
        frontier = following
    return None


def _closed(parent: IntArray, a: int, b: int) -> IntArray:
    """Return the cycle of the edge a-b and the ways of both to where they meet."""
    left, right = [a], [b]
    while left[-1] != right[-1]:
        left.append(int(parent[left[-1]]))
        right.append(int(parent[right[-1]]))
    return np.array(left + right[-2::-1], dtype=np.intp)
