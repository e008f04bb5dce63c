"""Replaying the proof that no k balls of a smaller radius cover the points, in plain NumPy and exact integers.

The claim is about a threshold t: a candidate covers the clients strictly nearer than t, and no k candidates cover all
the clients that the witness lists (fewer clients are easier to cover, so that is enough). It is proved by

- ``packing``: integer weights y >= 0 on clients and triples whose needs sum to more than k candidates can hold. A
  client needs 1. A triple of clients needs 2, and a candidate that covers c of the three holds ceil(c / 2): the
  halves of three clients sum up to at least 3/2, and the count is an integer;
- ``tree``: a branch tree over the columns that the witness lists, every other candidate covering no more of the clients
  than one of them. A node splits on the live columns R that cover both of two rows (or on one column): side +1 says
  that a column of R is chosen, so R is one more row; side -1 closes R. Each node has weights y on its rows, triples
  included: a leaf's must prove by packing that it has no cover; an inner node's close each column j without which the
  sum is above what the k - 1 heaviest hold, since with j the rest cannot be covered;
- ``solver``: nothing but the word of a solver. The cover problem of the listed columns (that they replace all others is
  checked here) is solved again by SciPy's ``milp``, that is by HiGHS, and has to come out infeasible; whoever accepts
  such a certificate trusts HiGHS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.errors import CertificateError

Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]
Counts = NDArray[np.int8]
Floats = NDArray[np.float64]
#: Yields distances in blocks: the asked clients x all candidates.
Distances = Callable[[Ints], Iterator[Floats]]

#: Yields whether candidates cover clients, in blocks: the asked clients x all candidates.
Insides = Callable[[Ints], Iterator[Mask]]

#: Twice the weights, as a triple counts, stay exact in float64.
_LARGEST = 2**52


class Tree(NamedTuple):
    """The arrays of a tree: triples of clients, parents, sides, what is split on, and rows and weights of each node."""

    triples: Ints
    parent: Ints
    side: Ints
    first: Ints
    second: Ints
    rows: list[Ints]
    y: list[Ints]


def proved_threshold(stored: Any, distances: Distances, n: int, k: int) -> float:
    """Return the threshold that a witness proves: the optimum is at least that; raise if it does not prove it.

    Parameters
    ----------
    stored : dict
        The witness.
    distances : callable
        Source of distances, from the data.
    n : int
        Number of clients, which are the candidates as well.
    k : int
        Number of centres.
    """
    if not isinstance(stored, dict):
        raise CertificateError("witness: 'cover' must be a dictionary of arrays.")
    try:
        threshold, proof = stored["threshold"], stored["proof"]
        clients = _numbers(stored["clients"], n, "clients")
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 < threshold < 1e308:
            raise ValueError("a threshold must be positive")
        inside = np.concatenate([block < threshold for block in distances(clients)])
        if proof == "packing":
            holds = _packs(inside, _triples(stored), _ints(stored["y"]), k)
        elif proof == "tree":
            columns = _numbers(stored["columns"], n, "columns")
            holds = _replay(_tree(stored), _listed(inside, columns), k)
        elif proof == "solver":
            holds = _resolve(_listed(inside, _numbers(stored["columns"], n, "columns")), k)
        else:
            raise ValueError("an unknown proof")
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"witness: 'cover' is malformed ({error}).") from error
    if not holds:
        raise CertificateError(f"witness: 'cover' does not prove that no {k} balls of radius below {threshold!r} do.")
    return float(threshold)


def proved_uncoverable(stored: Any, inside: Insides, n: int, k: int) -> bool:
    """Return whether a witness proves that no k candidates cover all clients, whatever covering means.

    Parameters
    ----------
    stored : dict
        The witness.
    inside : callable
        Yields which candidates cover the asked clients, in blocks, from the data.
    n : int
        Number of clients, which are the candidates as well.
    k : int
        Number of centres.
    """
    try:
        clients = _numbers(stored["clients"], n, "clients")
        columns = _numbers(stored["columns"], n, "columns")
        return _replay(_tree(stored), _listed(np.concatenate(list(inside(clients))), columns), k)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"witness: the proof that there is no cover is malformed ({error}).") from error


def _ints(values: Any) -> Ints:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError("not a list of integers")
    return array.astype(np.intp)


def _numbers(values: Any, n: int, name: str) -> Ints:
    """Return distinct numbers of points."""
    array = _ints(values)
    if array.size == 0 or array.min() < 0 or array.max() >= n or np.unique(array).size != array.size:
        raise CertificateError(f"witness: 'cover' must list distinct {name} between 0 and {n - 1}.")
    return array


def _weights(values: Any, count: int) -> Ints:
    y = _ints(values)
    if y.size != count or y.min(initial=0) < 0 or float(y.astype(np.float64).sum()) >= _LARGEST:
        raise CertificateError("witness: 'cover' must hold a weight y >= 0 for each row, in total below 2**52.")
    return y


def _packs(inside: Mask, triples: Ints, y: Ints, k: int) -> bool:
    """Return whether the weights exceed what k columns hold; sums of integers below 2**53 are exact in float64."""
    counts, need = _with_triples(inside, triples)
    y = _weights(y, len(counts))
    return bool(float(y @ need) > _heaviest(_loads(counts, y), k))


def _loads(inside: Mask | Counts, y: Ints) -> Floats:
    loads = np.zeros(inside.shape[1])
    for weight, row in zip(y, inside, strict=True):
        loads += float(weight) * row
    return loads


def _heaviest(loads: Floats, k: int) -> float:
    return float(np.sort(loads)[max(0, loads.size - k) :].sum()) if k > 0 else 0.0


def _listed(inside: Mask, columns: Ints) -> Mask:
    """Return the listed columns, after checking that every other one covers no more than one of them."""
    listed = inside[:, columns]
    missed = (~listed).astype(np.float32)
    size = max(1, 4_000_000 // columns.size)
    for start in range(0, inside.shape[1], size):
        outside = inside[:, start : start + size].astype(np.float32).T @ missed
        if not np.all(outside.min(axis=1) == 0):
            raise CertificateError("witness: 'cover' leaves out a candidate that no listed column replaces.")
    return listed


def _triples(stored: dict[str, Any]) -> Ints:
    triples = _ints(stored.get("triples", []))
    if triples.size % 3:
        raise CertificateError("witness: 'cover' has a triple that is not of three clients.")
    return triples.reshape(-1, 3)


def _tree(stored: dict[str, Any]) -> Tree:
    parent, side, first, second = (_ints(stored[key]) for key in ("parent", "side", "first", "second"))
    ends, rows, y = _ints(stored["y_end"]), _ints(stored["y_row"]), _ints(stored["y"])
    if not parent.size == side.size == first.size == second.size == ends.size >= 1 or rows.size != y.size:
        raise CertificateError("witness: 'cover' has arrays of different lengths.")
    if np.any(np.diff(ends) < 0) or ends[0] < 0 or ends[-1] != y.size:
        raise CertificateError("witness: 'cover' has weights without a node.")
    parts = [np.split(values, ends[:-1]) for values in (rows, y)]
    return Tree(_triples(stored), parent, side, first, second, parts[0], parts[1])


def _replay(tree: Tree, inside: Mask, k: int) -> bool:
    """Return whether every leaf is proved to have no cover."""
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parent):
        if (number == 0) != (parent == -1) or not -1 <= parent < number:
            raise CertificateError(f"witness: node {number} of 'cover' has no parent before it.")
        if number:
            children.setdefault(int(parent), []).append(int(tree.side[number]))
    if any(sorted(sides) != [-1, 1] for sides in children.values()):
        raise CertificateError("witness: a node of 'cover' is not split into both sides.")
    counts, need = _with_triples(inside, tree.triples)
    #: Per node that is split: its rows, its closed columns, and the columns that it splits on.
    state: dict[int, tuple[list[Mask], Mask, Mask]] = {}
    for number in range(tree.parent.size):
        extra: list[Mask] = []
        closed = np.zeros(inside.shape[1], dtype=bool)
        if number:
            extra, closed, split = state[int(tree.parent[number])]
            extra, closed = (extra, closed | split) if tree.side[number] < 0 else ([*extra, split], closed)
        rows = _members(counts, extra, tree.rows[number])
        y = _weights(tree.y[number], len(rows))
        if np.unique(tree.rows[number]).size != y.size:
            raise CertificateError(f"witness: node {number} of 'cover' weighs a row twice.")
        loads = np.where(closed, 0.0, _loads(rows, y))
        total = float(y @ np.append(need, np.ones(len(extra), dtype=need.dtype))[tree.rows[number]])
        if number not in children:
            if not total > _heaviest(loads, k):
                return False
            continue
        closed = closed | (loads < total - _heaviest(loads, k - 1))
        state[number] = extra, closed, _split(tree, number, counts, extra) & ~closed
    return True


def _with_triples(inside: Mask, triples: Ints) -> tuple[Counts, Ints]:
    """Return how often each row counts a column, clients first and then the triples, and what each row needs."""
    if triples.size and not (triples.min() >= 0 and triples.max() < len(inside)):
        raise CertificateError("witness: 'cover' has a triple of clients that it does not list.")
    joint = [(inside[triple].sum(axis=0) + 1) // 2 for triple in triples]
    counts = np.concatenate([inside, np.array(joint, dtype=np.int8).reshape(-1, inside.shape[1])], dtype=np.int8)
    return counts, np.repeat(np.array([1, 2], dtype=np.intp), [len(inside), len(triples)])


def _members(counts: Counts, extra: list[Mask], rows: Ints) -> Counts:
    """Return how often some rows count each column: clients and triples first, then the sets on the way to the node."""
    if rows.size and not (rows.min() >= 0 and rows.max() < len(counts) + len(extra)):
        raise CertificateError("witness: 'cover' names a row that does not exist.")
    picked = [counts[r] if r < len(counts) else extra[r - len(counts)] for r in rows]
    return np.array(picked, dtype=np.int8).reshape(rows.size, counts.shape[1])


def _split(tree: Tree, number: int, counts: Counts, extra: list[Mask]) -> Mask:
    first, second = int(tree.first[number]), int(tree.second[number])
    if second >= 0:
        both = _members(counts, extra, np.array([first, second])) > 0
        return np.asarray(both[0] & both[1])
    if not 0 <= first < counts.shape[1]:
        raise CertificateError("witness: 'cover' splits on a column that does not exist.")
    single = np.zeros(counts.shape[1], dtype=bool)
    single[first] = True
    return single


def _resolve(inside: Mask, k: int) -> bool:
    """Return whether SciPy's solver finds that no k columns cover all rows."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    m = inside.shape[1]
    rules = [LinearConstraint(csr_array(inside.astype(np.float64)), lb=1.0), LinearConstraint(np.ones((1, m)), ub=k)]
    outcome = milp(np.ones(m), integrality=np.ones(m, dtype=np.int64), bounds=Bounds(0, 1), constraints=rules)
    return bool(outcome.status == 2)
