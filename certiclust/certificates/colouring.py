"""Re-doing the exact colouring behind a bound of k-tMM, in plain NumPy.

The witness is a list of points. If the graph of those pairs that are certainly at least L apart has no colouring with
k colours, every partition into k clusters has two of them in one cluster, and no diameter is below L. The order of the
list is a hint for the search, never trusted: only what is checked here counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.errors import CertificateError

#: Points of a witness, and colours tried, at most: more than any witness of ours needs.
MAX_POINTS, MAX_NODES = 2000, 400_000


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

    Next comes the vertex with the fewest colours left, ties to more neighbours, then to the lower index (DSATUR). The
    first vertices that are pairwise adjacent have different colours, whichever; and of the colours that no vertex has
    yet, one stands for all. Ends above `max_nodes`.
    """
    n = len(adjacent)
    clique = 0
    while clique < n and adjacent[clique, :clique].all():
        clique += 1
    if clique > k:
        return 0
    allowed = np.ones((k, n), dtype=bool)
    # Fewest colours first, then most neighbours, as one number; vertices that have a colour are out of the way.
    step, done = n + 1, np.iinfo(np.int64).max // 2
    rank = k * step - adjacent.sum(axis=1)
    for i in range(clique):
        allowed[i] &= ~adjacent[i]
        rank[adjacent[i]] -= step
        rank[i] = done
    nodes = 0
    todo = [(int(rank.argmin()), 0, clique, rank)] if clique < n else []
    undo: list[tuple[int, NDArray[np.bool_]]] = []
    if not todo:
        return None
    while todo:
        vertex, colour, used, rank = todo.pop()
        if len(undo) > len(todo):
            last, row = undo.pop()
            allowed[last] = row
        while colour < min(k, used + 1) and not allowed[colour, vertex]:
            colour += 1
        if colour >= min(k, used + 1):
            continue
        nodes += 1
        if nodes > max_nodes:
            return nodes
        if clique + len(todo) + 1 == n:
            return None
        todo.append((vertex, colour + 1, used, rank))
        undo.append((colour, allowed[colour].copy()))
        child = rank.copy()
        child[adjacent[vertex] & allowed[colour]] -= step
        child[vertex] = done
        allowed[colour] &= ~adjacent[vertex]
        todo.append((int(child.argmin()), 0, max(used, colour + 1), child))
    return nodes
