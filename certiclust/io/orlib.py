"""OR-Library p-median files: a graph whose shortest paths are the distances.

The first line has n, m and p; m lines follow with two vertices from 1 to n and a length. Of two edges between the same
vertices the last one counts, as the published optima have it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from certiclust.io.errors import InputError

FloatArray = NDArray[np.float64]


def looks_like_orlib(text: str) -> bool:
    """Return whether every line has three integers, and the first one could be n, m and p of the others."""
    first = text.lstrip().split("\n", 1)[0].split()
    if len(first) != 3 or not all(map(str.isdigit, first)):
        return False
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if len(rows) < 2 or any(len(row) != 3 or not all(map(str.isdigit, row)) for row in rows):
        return False
    n, _, p = map(int, rows[0])
    ends = [(int(row[0]), int(row[1])) for row in rows[1:]]
    return 1 <= p <= n and all(1 <= u <= n and 1 <= v <= n and u != v for u, v in ends)


def read_orlib(name: str, text: str, budget: int, *, sure: bool) -> tuple[FloatArray, int]:
    """Return the matrix of shortest paths, and p.

    Parameters
    ----------
    name, text : str
        The file.
    budget : int
        How many distances may be held.
    sure : bool
        Whether the user said that it is such a file; else the message says what to do if it is not.
    """
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    for number, cells in lines:
        if len(cells) != 3 or not all(cell.isdigit() and len(cell) < 16 for cell in cells):
            what = "n, m and p" if number == lines[0][0] else "two vertices and a length"
            raise InputError(f"{name}, line {number}: an OR-Library file has three whole numbers here, {what}.")
    n, m, p = map(int, lines[0][1])
    if len(lines) - 1 != m:
        advice = "" if sure else "; if it is a plain table, pass --format table"
        raise InputError(f"{name}: its first line says {m} edges, but {len(lines) - 1} follow{advice}.")
    if n < 2 or not 1 <= p <= n:
        raise InputError(f"{name}: its first line says n = {n} and p = {p}; p must be from 1 to n, and n at least 2.")
    if n * n > budget:
        raise InputError(f"{name}: n = {n} needs {n * n} distances, above the {budget} that may be held in memory.")
    edges: dict[tuple[int, int], int] = {}
    for number, cells in lines[1:]:
        u, v, length = map(int, cells)
        if not (1 <= u <= n and 1 <= v <= n):
            raise InputError(f"{name}, line {number}: vertex {u if u < 1 or u > n else v} is not from 1 to {n}.")
        edges[min(u, v) - 1, max(u, v) - 1] = length
    ends = np.array(list(edges))
    graph = csr_array((np.array(list(edges.values()), dtype=np.float64), (ends[:, 0], ends[:, 1])), shape=(n, n))
    matrix = np.ascontiguousarray(shortest_path(graph, method="D", directed=False))
    if not np.isfinite(matrix).all():
        lost = int(np.flatnonzero(~np.isfinite(matrix[0]))[0]) + 1
        raise InputError(f"{name}: the graph is not connected; there is no path from vertex 1 to vertex {lost}.")
    return matrix, p
