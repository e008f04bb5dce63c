"""The bound of k-tMM: points of which two must share a cluster, by exact colouring of a small graph.

If the graph {d >= t} on some points has no colouring with k colours, every partition into k clusters puts two of them
that are at least t apart into one cluster: the optimal diameter is at least t. No metric is needed. k + 1 points
pairwise t apart are the simplest case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Colours that a proof may try: as many as `verify`, in plain NumPy, goes through in some seconds.
MAX_NODES = 150_000
#: Starts of the search for a large clique.
CLIQUES = 20


class Decision(NamedTuple):
    """Whether a graph on some points has a colouring.

    `colourable` is None where the search was too long. `labels` colour the points asked about, in their order (None if
    there is no colouring); `core` lists the points, a clique first, on which the search found none; `nodes` colours
    were tried.
    """

    colourable: bool | None
    labels: NDArray[np.int64] | None
    core: IntArray
    nodes: int


def decide(matrix: FloatArray, points: IntArray, k: int, threshold: float, max_nodes: int) -> Decision:
    """Decide whether some points can be partitioned into k clusters of diameter below `threshold`.

    Parameters
    ----------
    matrix : ndarray
        Distances, square.
    points : ndarray
        Rows of the matrix.
    k : int
        Number of clusters.
    threshold : float
        Points at least this far apart must be in different clusters; positive.
    max_nodes : int
        Colours to try at most.
    """
    from certiclust.bounds.colouring_kernels import colour_exactly, greedy_clique

    between = matrix[np.ix_(points, points)]
    adjacent = np.minimum(between, between.T) >= threshold
    kept, dropped = _irreducible(adjacent, k)
    inner = adjacent[np.ix_(kept, kept)]
    starts = np.argsort(-inner.sum(axis=1), kind="stable")[:CLIQUES].astype(np.int64)
    found = np.zeros(len(kept), dtype=np.int64)
    clique = found[: greedy_clique(np.ascontiguousarray(inner), starts, found)]
    rest = np.setdiff1d(np.arange(len(kept)), clique)
    order = kept[np.concatenate([clique, rest]).astype(np.intp)]
    if len(clique) > k:
        return Decision(False, None, points[order[: k + 1]], 0)
    labels = np.full(len(order), -1, dtype=np.int64)
    graph = np.ascontiguousarray(adjacent[np.ix_(order, order)])
    status, nodes = colour_exactly(graph, k, len(clique), max_nodes, labels)
    if status != 1:
        return Decision(False if status == 0 else None, None, points[order], nodes)
    everyone = np.full(len(points), -1, dtype=np.int64)
    everyone[order] = labels
    for vertex, like in reversed(dropped):
        taken = everyone[adjacent[vertex]]
        everyone[vertex] = everyone[like] if like >= 0 else np.setdiff1d(np.arange(k), taken)[0]
    return Decision(True, everyone, points[order], nodes)


def _irreducible(adjacent: NDArray[np.bool_], k: int) -> tuple[IntArray, list[tuple[int, int]]]:
    """Drop vertices that no colouring hangs on; return the others, and (vertex, whose colour it may take) in order.

    A vertex with fewer than k neighbours has a colour left at the end (-1); one whose neighbours are all neighbours of
    another vertex may take the colour of that one.
    """
    alive = np.ones(len(adjacent), dtype=bool)
    dropped: list[tuple[int, int]] = []
    while True:
        kept = np.flatnonzero(alive)
        graph = adjacent[np.ix_(kept, kept)].astype(np.float32)
        degree = graph.sum(axis=1)
        before = len(dropped)
        for v in kept[degree < k]:
            alive[v] = False
            dropped.append((int(v), -1))
        if len(dropped) > before:
            continue
        covered = (graph @ graph >= degree[:, None]) & (graph == 0)
        np.fill_diagonal(covered, False)
        if not covered.any():
            return kept, dropped
        gone = np.zeros(len(kept), dtype=bool)
        for a in np.flatnonzero(covered.any(axis=1)):
            by = np.flatnonzero(covered[a] & ~gone)
            if len(by):
                gone[a] = True
                dropped.append((int(kept[a]), int(kept[by[0]])))
        alive[kept[gone]] = False


def apart_points(
    matrix: FloatArray,
    k: int,
    starts: Iterable[IntArray],
    steps: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[float, IntArray]:
    """Return the largest h found for which k + 1 points are pairwise at least h apart, and those points.

    Parameters
    ----------
    matrix : ndarray
        Distances, square.
    k : int
        Number of clusters.
    starts : iterable of ndarray of k + 1 points
        Where the tabu search begins; shorter ones are passed over.
    steps : int
        Its steps from each start.
    should_stop : callable, default never
        Polled before each start.
    """
    from certiclust.bounds.colouring_kernels import disperse

    best, points = -1.0, np.zeros(0, dtype=np.intp)
    for start in starts:
        if should_stop():
            break
        if len(start) <= k:  # the others are all at distance 0
            continue
        found = np.zeros(k + 1, dtype=np.int64)
        value = disperse(matrix, start.astype(np.int64), found, steps)
        if value > best:
            best, points = value, found.astype(np.intp)
    return best, points
