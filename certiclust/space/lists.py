"""Sparse neighbour lists: every (client, candidate) pair cheaper than the client's radius.

All kernels work on weighted costs ``cost[j, i] = w_i * d_ij`` (candidate-major). A list holds the pairs with
``cost[j, i] < radius[i]``; as long as the multiplier ``u_i`` stays at or below ``radius[i]``, the bound computed from
the lists is the bound over all pairs: an absent pair has ``cost >= radius >= u`` and contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import gen_batches

from certiclust.space import list_kernels as kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Unsigned, because an unsigned index spares the compiled loops the test for negative ones.
Index = NDArray[np.uint32]
#: Costs looked at between two polls of ``should_stop``.
BLOCK = 6_000_000


class Lists(NamedTuple):
    """The same pairs twice: by client in ascending cost, and by candidate.

    Attributes
    ----------
    row_ptr, row_idx, row_val
        Client ``i`` sees candidates ``row_idx[row_ptr[i]:row_ptr[i+1]]`` at ascending costs ``row_val``.
    col_ptr, col_idx, col_val
        Candidate ``j`` serves clients ``col_idx[col_ptr[j]:col_ptr[j+1]]``, in ascending client order.
    radius
        Truncation radius of every client; multipliers must not exceed it.
    """

    row_ptr: Ints
    row_idx: Index
    row_val: Floats
    col_ptr: Ints
    col_idx: Index
    col_val: Floats
    radius: Floats

    @property
    def n_pairs(self) -> int:
        """Number of stored pairs."""
        return int(self.row_ptr[-1])


class Ranking(NamedTuple):
    """All candidates of every client, nearest first: sorted once, it gives the lists of any radius.

    Attributes
    ----------
    nearest, distance
        Client ``i`` sees candidates ``nearest[i]`` at ascending distances ``distance[i]``.
    weights
        Weights of the clients, in the unit in which costs are counted.
    """

    nearest: Index
    distance: Floats
    weights: Floats


def rank_candidates(
    distances: Floats, weights: Floats, should_stop: Callable[[], bool] | None = None
) -> Ranking | None:
    """Sort the candidates of every client; None if stopped on the way.

    Parameters
    ----------
    distances
        Shape (candidates, clients).
    weights
        Weights of the clients.
    should_stop
        Polled between blocks.
    """
    m, n = distances.shape
    nearest, ascending = np.empty((n, m), np.uint32), np.empty((n, m))
    for part in gen_batches(n, max(1, 500_000 // m)):
        block = np.ascontiguousarray(distances[:, part].T)
        order = np.argsort(block, axis=1)
        nearest[part] = order
        ascending[part] = np.take_along_axis(block, order, axis=1)
        if should_stop is not None and should_stop():
            return None
    return Ranking(nearest, ascending, weights)


def _starts(sizes: NDArray[np.intp]) -> Ints:
    """Return where parts of these sizes start, and at the end their sum."""
    starts = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def columns_from_matrix(cost: Floats, radius: Floats) -> tuple[Ints, Index, Floats]:
    """Return candidate-major lists of the pairs with ``cost[j, i] < radius[i]``."""
    m, n = cost.shape
    near = cost < radius
    sizes = np.count_nonzero(near, axis=1)
    pairs = np.flatnonzero(near)
    val = cost.ravel()[pairs]
    pairs -= np.repeat(np.arange(m) * n, sizes)
    return _starts(sizes), pairs.astype(np.uint32), val


def transpose(ptr: Ints, idx: Index, val: Floats, size: int) -> tuple[Ints, Index, Floats]:
    """Transpose compressed lists; entries of a new row come in ascending index."""
    index = np.int32 if ptr[-1] < 2**31 else np.int64
    held = csr_array((val, idx.astype(index), ptr.astype(index)), shape=(ptr.size - 1, size)).tocsc()
    return held.indptr.astype(np.int64), held.indices.astype(np.uint32), held.data


def build_lists(
    cost: Floats,
    radius: Floats,
    should_stop: Callable[[], bool] | None = None,
    ranking: Ranking | None = None,
) -> Lists | None:
    """Build the lists of all pairs with ``cost[j, i] < radius[i]``; None if stopped on the way.

    Parameters
    ----------
    cost
        Weighted costs, shape (candidates, clients).
    radius
        Truncation radius per client.
    should_stop
        Polled between blocks.
    ranking
        The candidates of the first clients by distance, if at hand: the pairs of such a client are then the first few,
        because a cost below the radius is the weighted distance and no penalty.
    """
    m, n = cost.shape
    parts = []
    step = max(1, BLOCK // max(1, n))
    for start in range(0, m, step):
        parts.append(columns_from_matrix(cost[start : start + step], radius))
        if should_stop is not None and should_stop():
            return None
    col_ptr, col_idx, col_val = parts[0]
    if len(parts) > 1:
        sizes = np.concatenate([np.diff(p[0]) for p in parts])
        col_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        col_idx = np.concatenate([p[1] for p in parts])
        col_val = np.concatenate([p[2] for p in parts])
    if ranking is None:
        return sorted_lists(col_ptr, col_idx, col_val, radius, should_stop)
    row_ptr, row_idx, row_val = kernels.first_ranked(*ranking, col_idx, n)
    for i in range(len(ranking.nearest), n):
        row_idx[row_ptr[i] : row_ptr[i + 1]] = near = np.flatnonzero(cost[:, i] < radius[i])
        row_val[row_ptr[i] : row_ptr[i + 1]] = cost[near, i]
        _sort_row(row_idx, row_val, slice(row_ptr[i], row_ptr[i + 1]))
    return Lists(row_ptr, row_idx, row_val, col_ptr, col_idx, col_val, radius)


def sorted_lists(
    col_ptr: Ints, col_idx: Index, col_val: Floats, radius: Floats, should_stop: Callable[[], bool] | None = None
) -> Lists | None:
    """Return lists from their candidate-major half; None if stopped on the way.

    Parameters
    ----------
    col_ptr, col_idx, col_val, radius
        As in `Lists`.
    should_stop
        Polled between blocks.
    """
    row_ptr, row_idx, row_val = transpose(col_ptr, col_idx, col_val, radius.size)
    for i in range(radius.size):
        _sort_row(row_idx, row_val, slice(row_ptr[i], row_ptr[i + 1]))
        if i % 500 == 0 and should_stop is not None and should_stop():
            return None
    return Lists(row_ptr, row_idx, row_val, col_ptr, col_idx, col_val, radius)


def _sort_row(row_idx: Index, row_val: Floats, part: slice) -> None:
    """Put one row of the lists in ascending order."""
    order = np.argsort(row_val[part])  # NumPy's is several times faster than what numba makes of a sort
    row_val[part], row_idx[part] = row_val[part][order], row_idx[part][order]


def restrict(lists: Lists, keep: NDArray[np.bool_]) -> Lists:
    """Keep only the candidates with ``keep``, renumbered in their old order."""
    new_id = (np.cumsum(keep, dtype=np.int64) - 1).astype(np.uint32)
    sizes = np.diff(lists.col_ptr)
    kept, col_ptr = np.repeat(keep, sizes), _starts(sizes[keep])
    rows = np.empty_like(lists.row_ptr), np.empty(col_ptr[-1], np.uint32), np.empty(col_ptr[-1])
    kernels.restrict_rows(lists.row_ptr, lists.row_idx, lists.row_val, keep, new_id, *rows)
    return Lists(*rows, col_ptr, lists.col_idx[kept], lists.col_val[kept], lists.radius)


def with_rows(lists: Lists, rows: list[Ints], radius: float) -> Lists:
    """Return lists with more clients at the end, each served for nothing by some candidates (ascending)."""
    if not rows:
        return lists
    n, sizes = lists.radius.size, np.array([row.size for row in rows], dtype=np.int64)
    site, client = np.concatenate(rows), np.repeat(np.arange(n, n + len(rows)), sizes)
    order = np.argsort(site, kind="stable")
    at = lists.col_ptr[site[order] + 1]
    more = np.concatenate([[0], np.cumsum(np.bincount(site, minlength=lists.col_ptr.size - 1))])
    return Lists(
        np.concatenate([lists.row_ptr, lists.row_ptr[-1] + np.cumsum(sizes)]),
        np.concatenate([lists.row_idx, site.astype(np.uint32)]),
        np.concatenate([lists.row_val, np.zeros(site.size)]),
        (lists.col_ptr + more).astype(np.int64),
        np.insert(lists.col_idx, at, client[order].astype(np.uint32)),
        np.insert(lists.col_val, at, 0.0),
        np.concatenate([lists.radius, np.full(len(rows), radius)]),
    )


def choose_radius(cost: Floats, second: Floats, limit: int, largest: float = 2.5) -> tuple[Floats, float]:
    """Multiply the second-nearest cost by the largest factor whose lists stay below ``limit`` pairs.

    Returns the radii and the factor. The pair count is estimated on at most 200 evenly spaced clients.
    """
    n = second.size
    sample = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(np.int64))
    part = cost[:, sample]
    factor = largest
    for factor in (largest, 2.0, 1.7, 1.4, 1.2, 1.0, 0.8, 0.6):
        if factor > largest:
            continue
        pairs = np.count_nonzero(part < factor * second[sample]) * (n / sample.size)
        if pairs <= limit:
            break
    # A radius of zero would freeze u_i at zero, which is what a client with two free centres wants anyway.
    return np.ascontiguousarray(factor * second), factor
