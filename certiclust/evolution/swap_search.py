"""Swap local search for k-median: eager swaps, all k exchanges of a candidate in one pass over its costs.

Two passes over the same state: ``dense`` reads full cost rows (right after a random start, and for a swap-optimality
check over all candidates), ``sparse`` reads neighbour lists and skips what did not change (repair after a mutation).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from certiclust.evolution.kernels import swap_search as kernels
from certiclust.evolution.kernels.swap_search import State
from certiclust.space.lists import Floats, Ints, Lists

#: Matrix or list entries read between two polls of ``should_stop`` (about 20 ms).
BLOCK_WORK = 10_000_000


def new_state(n_candidates: int, n_clients: int, k: int) -> State:
    """Return an empty state for ``k`` centres."""
    m, n = n_candidates, n_clients
    return State(
        np.zeros(k, np.int64),
        np.full(m, -1, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n),
        np.zeros(n),
        np.zeros(k),
        np.zeros(k, np.int64),
        np.zeros(m, np.int64),
        np.zeros(m),
        np.zeros(4, np.int64),
        np.zeros(1),
        np.zeros(n, np.int64),
        np.zeros(k),
    )


def copy_state(target: State, source: State) -> None:
    """Copy a solution with its caches; the work counted so far stays the target's own."""
    work = target.clock[3]
    for to, of in zip(target[:-2], source[:-2], strict=True):  # all but the room to work in
        np.copyto(to, of)
    target.clock[3] = work


def load(cost: Floats, state: State, centers: Ints) -> None:
    """Set the centres of a state and fill its caches."""
    state.centers[:] = centers
    kernels.reset(cost, state)


def rewind(state: State, position: int = 0) -> None:
    """Start the next scan at ``position`` of the order."""
    state.clock[1] = position
    state.clock[2] = 0


def swap_dense(cost: Floats, state: State, order: Ints, should_stop: Callable[[], bool] | None = None) -> bool:
    """Swap over full rows until no candidate in ``order`` improves; False if stopped before."""
    evaluations = max(1, BLOCK_WORK // (2 * cost.shape[1]))
    while not kernels.swap_dense(cost, state, order, evaluations):
        if should_stop is not None and should_stop():
            return False
    return True


def swap_sparse(
    cost: Floats,
    lists: Lists,
    state: State,
    order: Ints,
    home: Ints,
    should_stop: Callable[[], bool] | None = None,
) -> bool:
    """Swap over the lists until no changed candidate in ``order`` improves; False if stopped before."""
    while not kernels.swap_sparse(cost, lists, state, order, home, BLOCK_WORK):
        if should_stop is not None and should_stop():
            return False
    return True


def home_clients(cost: Floats) -> Ints:
    """Return the nearest client of every candidate: where the surroundings of a candidate are looked up."""
    return np.asarray(np.argmin(cost, axis=1), dtype=np.int64)
