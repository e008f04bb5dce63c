"""Re-doing the exact colouring behind a bound of k-tMM, in plain NumPy.

The witness is a list of points. If the graph of those pairs that are certainly at least L apart has no colouring with
k colours, every partition into k clusters has two of them in one cluster, and no diameter is below L. The order of the
list is a hint for the search, never trusted: only what is checked here counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.errors import CertificateError

#: More colours left than any vertex without a colour has.
_COLOURED = 2**40
#: Points of a witness, and colours tried, at most: more than any witness of ours needs.
MAX_POINTS, MAX_NODES = 2000, 300_000


def is_uncolourable(distances: NDArray[np.float64], k: int, bound: float, errors: tuple[float, float]) -> bool:
    """Return whether `distances` prove that no partition into k clusters has a diameter below `bound`.

    Parameters
    ----------
    distances : ndarray
        Between the points of the witness, square.
    k : int
        Number of clusters.
    bound : float
        What is claimed.
    errors : tuple of float
        Relative and absolute rounding error of a distance.

    Raises
    ------
    CertificateError
        If the search takes more steps than any witness of ours needs.
    """
    relative, absolute = errors
    adjacent = np.minimum(distances, distances.T) * (1 - relative) - absolute >= bound
    np.fill_diagonal(adjacent, False)
    nodes = tried_colours(adjacent, k, MAX_NODES)
    if nodes is not None and nodes > MAX_NODES:
        raise CertificateError(f"witness: colouring 'uncolourable' takes more than {MAX_NODES} steps.")
    return nodes is not None


def tried_colours(adjacent: NDArray[np.bool_], k: int, max_nodes: int) -> int | None:
    """Return how many colours an exact search tries before it is clear that k do not suffice; None if they do.

    The first vertices that are pairwise adjacent have different colours, whichever; and of the colours that no vertex
    has yet, one stands for all. Ends above `max_nodes`.
    """
    n = len(adjacent)
    clique = 0
    while clique < n and adjacent[clique, :clique].all():
        clique += 1
    if clique > k:
        return 0
    edges = adjacent.astype(np.float32)
    allowed = np.ones((k, n), dtype=np.float32)
    left = np.full(n, k)
    for i in range(clique):
        allowed[i] -= edges[i]
        left -= adjacent[i]
    left[:clique] = _COLOURED
    nodes, depth = 0, 0
    todo = [(_next(edges, allowed, left), 0, clique, left)]
    undo: list[tuple[int, NDArray[np.float32]]] = []
    while todo:
        vertex, colour, used, left = todo.pop()
        if len(undo) > len(todo):
            last, row = undo.pop()
            allowed[last] = row
        depth = clique + len(todo)
        if depth == n:
            return None
        while colour < min(k, used + 1) and not allowed[colour, vertex]:
            colour += 1
        if colour >= min(k, used + 1):
            continue
        nodes += 1
        if nodes > max_nodes:
            return nodes
        todo.append((vertex, colour + 1, used, left))
        undo.append((colour, allowed[colour].copy()))
        fewer = left - (adjacent[vertex] & (allowed[colour] > 0))
        fewer[vertex] = _COLOURED
        allowed[colour] *= ~adjacent[vertex]
        todo.append((_next(edges, allowed, fewer), 0, max(used, colour + 1), fewer))
    return nodes


def _next(edges: NDArray[np.float32], allowed: NDArray[np.float32], left: NDArray[np.int64]) -> int:
    """Return the uncoloured vertex with the fewest colours left.

    Ties go to the one that shares most colours, counted over its uncoloured neighbours, then to the lower index.
    """
    fewest = left.min()
    if fewest <= 1 or fewest >= _COLOURED // 2:
        return int(left.argmin())
    ties = np.flatnonzero(left == fewest)
    shared = edges[ties] @ (allowed * (left < _COLOURED // 2)).T
    return int(ties[(shared * allowed[:, ties].T).sum(axis=1).argmax()])
