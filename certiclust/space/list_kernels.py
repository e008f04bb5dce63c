"""Compiled construction of the neighbour lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certiclust.space.compiled import KERNEL

#: Rows are sorted by insertion up to this length, and merged from there.
RUN = 12


@njit(**KERNEL)
def columns_from_matrix(cost: Any, radius: Any) -> Any:
    """Candidate-major lists of the pairs with ``cost[j, i] < radius[i]``."""
    m, n = cost.shape
    ptr = np.zeros(m + 1, np.int64)
    for j in range(m):
        count = 0
        row = cost[j]
        for i in range(n):
            count += row[i] < radius[i]
        ptr[j + 1] = ptr[j] + count
    idx = np.empty(ptr[m], np.uint32)
    val = np.empty(ptr[m], np.float64)
    for j in range(m):
        t = ptr[j]
        row = cost[j]
        for i in range(n):
            if row[i] < radius[i]:
                idx[t] = i
                val[t] = row[i]
                t += 1
    return ptr, idx, val


@njit(**KERNEL)
def first_ranked(index: Any, distance: Any, weights: Any, idx: Any, size: int) -> Any:
    """Client-major lists of the pairs whose clients are `idx`: the nearest candidates of every ranked client.

    Clients beyond the ranking have room, but no entries yet.
    """
    ptr = np.zeros(size + 1, np.int64)
    for t in range(idx.size):
        ptr[idx[t] + 1] += 1
    for i in range(size):
        ptr[i + 1] += ptr[i]
    out_idx = np.empty(idx.size, np.uint32)
    out_val = np.empty(idx.size, np.float64)
    for i in range(index.shape[0]):
        first = ptr[i]
        for t in range(ptr[i + 1] - first):
            out_idx[first + t] = index[i, t]
            out_val[first + t] = distance[i, t] * weights[i]
    return ptr, out_idx, out_val


@njit(**KERNEL)
def transpose(ptr: Any, idx: Any, val: Any, size: int) -> Any:
    """Transpose compressed lists; entries of a new row come in ascending index."""
    m = ptr.size - 1
    out_ptr = np.zeros(size + 1, np.int64)
    for t in range(idx.size):
        out_ptr[idx[t] + 1] += 1
    for i in range(size):
        out_ptr[i + 1] += out_ptr[i]
    fill = np.empty(size, np.int64)
    for i in range(size):
        fill[i] = out_ptr[i]
    out_idx = np.empty(idx.size, np.uint32)
    out_val = np.empty(idx.size, np.float64)
    for j in range(m):
        for t in range(ptr[j], ptr[j + 1]):
            i = idx[t]
            out_idx[fill[i]] = j
            out_val[fill[i]] = val[t]
            fill[i] += 1
    return out_ptr, out_idx, out_val


@njit(**KERNEL)
def restrict_rows(ptr: Any, idx: Any, val: Any, keep: Any, new_id: Any) -> Any:
    """Client-major lists over the kept candidates only."""
    n = ptr.size - 1
    out_ptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        count = 0
        for t in range(ptr[i], ptr[i + 1]):
            count += keep[idx[t]]
        out_ptr[i + 1] = out_ptr[i] + count
    out_idx = np.empty(out_ptr[n], np.uint32)
    out_val = np.empty(out_ptr[n], np.float64)
    s = 0
    for t in range(ptr[0], ptr[n]):
        if keep[idx[t]]:
            out_idx[s] = new_id[idx[t]]
            out_val[s] = val[t]
            s += 1
    return out_ptr, out_idx, out_val


@njit(**KERNEL)
def restrict_columns(ptr: Any, idx: Any, val: Any, keep: Any) -> Any:
    """Candidate-major lists of the kept candidates only."""
    m = ptr.size - 1
    kept = 0
    total = 0
    for j in range(m):
        if keep[j]:
            kept += 1
            total += ptr[j + 1] - ptr[j]
    out_ptr = np.zeros(kept + 1, np.int64)
    out_idx = np.empty(total, np.uint32)
    out_val = np.empty(total, np.float64)
    s = 0
    for j in range(m):
        if keep[j]:
            size = ptr[j + 1] - ptr[j]
            b = out_ptr[s]
            for t in range(size):
                out_idx[b + t] = idx[ptr[j] + t]
                out_val[b + t] = val[ptr[j] + t]
            out_ptr[s + 1] = b + size
            s += 1
    return out_ptr, out_idx, out_val
