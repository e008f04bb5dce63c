"""Compiled construction of the neighbour lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certiclust.space.compiled import KERNEL, VIEWS


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


@njit(**KERNEL, **VIEWS)
def restrict_rows(
    ptr: Any, idx: Any, val: Any, keep: Any, new_id: Any, out_ptr: Any, out_idx: Any, out_val: Any
) -> None:
    """Write client-major lists over the kept candidates only; there is room for just them."""
    s = 0
    out_ptr[0] = 0
    for i in range(ptr.size - 1):
        for t in range(ptr[i], ptr[i + 1]):
            if keep[idx[t]]:
                out_idx[s] = new_id[idx[t]]
                out_val[s] = val[t]
                s += 1
        out_ptr[i + 1] = s
