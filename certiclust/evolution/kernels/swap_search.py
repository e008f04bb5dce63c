"""Compiled swap local search: all k swaps of one candidate in one pass over its costs.

``State`` is a NamedTuple of arrays, so that a kernel call carries one argument and a state is saved or restored by
plain copies. Costs are weighted: ``cost[j, i] = w_i * d_ij``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from certiclust.space.compiled import INNER, KERNEL, PART, VIEWS

BIG = 1e300
#: A swap must gain more than this share of the cost: rounding noise must never make the search cycle.
TOLERANCE = 1e-12
#: Evaluations by which a first improving swap over lists waits for a better one: fewer, longer moves.
WAIT = 10


class State(NamedTuple):
    """A solution with its caches.

    Attributes
    ----------
    centers : (k,) int64, candidate of every slot
    slot : (m,) int32, slot of a candidate or -1
    near, second : (n,) int32, slots of the nearest and second-nearest centre of every client
    c1, c2 : (n,) float64, their weighted costs (c2 = BIG if k = 1)
    loss : (k,) float64, rise of the cost if the slot is emptied
    stamp : (k,) int64, time the surroundings of the slot last changed
    seen : (m,) int64, time the candidate was last evaluated
    gain : (m,) float64, gain of adding the candidate, at its last evaluation
    clock : (4,) int64, time, scan position, candidates scanned without success, work (entries read; never copied)
    total : (1,) float64, cost
    lost : (n,) int64, room for clients
    delta : (k,) float64, room for changes of the cost
    """

    centers: Any
    slot: Any
    near: Any
    second: Any
    c1: Any
    c2: Any
    loss: Any
    stamp: Any
    seen: Any
    gain: Any
    clock: Any
    total: Any
    lost: Any
    delta: Any


@njit(**INNER, **VIEWS)
def _rescan(cost: Any, centers: Any, c1: Any, c2: Any, near: Any, second: Any, clients: Any, count: int) -> None:
    """Recompute the two nearest centres of ``clients[:count]``, one cost row after the other."""
    for t in range(count):
        i = clients[t]
        c1[i] = BIG
        c2[i] = BIG
        near[i] = 0
        second[i] = 0
    for a in range(centers.size):
        row = cost[centers[a]]
        for t in range(count):
            i = clients[t]
            c = row[i]
            if c < c2[i]:
                if c < c1[i]:
                    c2[i] = c1[i]
                    second[i] = near[i]
                    c1[i] = c
                    near[i] = a
                else:
                    c2[i] = c
                    second[i] = a


@njit(**INNER, **VIEWS)
def _sum_up(c1: Any, c2: Any, near: Any, loss: Any, total: Any) -> None:
    """Recompute total and removal losses from the caches."""
    cost = 0.0
    for a in range(loss.size):
        loss[a] = 0.0
    for i in range(c1.size):
        cost += c1[i]
        loss[near[i]] += c2[i] - c1[i]
    total[0] = cost


@njit(**KERNEL, **VIEWS)
def reset(cost: Any, state: State) -> None:
    """Fill all caches for ``state.centers``; every candidate counts as never evaluated."""
    c1, c2, near = state.c1, state.c2, state.near
    centers, slot, clock = state.centers, state.slot, state.clock
    seen, gain, everyone = state.seen, state.gain, state.lost
    n = cost.shape[1]
    for j in range(slot.size):
        slot[j] = -1
        seen[j] = 0
        gain[j] = 0.0
    for a in range(centers.size):
        slot[centers[a]] = a
        state.stamp[a] = 1
    for i in range(n):
        everyone[i] = i
    _rescan(cost, centers, c1, c2, near, state.second, everyone, n)
    _sum_up(c1, c2, near, state.loss, state.total)
    clock[0] = 1
    clock[1] = clock[2] = 0
    clock[3] += n * centers.size


@njit(**KERNEL, **VIEWS)
def exchange(cost: Any, state: State, out: int, new: int) -> None:
    """Replace the centre in slot ``out`` by candidate ``new`` and repair the caches."""
    c1, c2 = state.c1, state.c2
    near, second, lost = state.near, state.second, state.lost
    centers, slot, stamp = state.centers, state.slot, state.stamp
    clock = state.clock
    slot[centers[out]] = -1
    centers[out] = new
    slot[new] = out
    clock[0] += 1
    now = clock[0]
    row = cost[new]
    n = row.size
    count = np.int64(0)  # a plain 0 would be a literal at first, and `_rescan` be compiled for that as well
    for i in range(n):
        if near[i] == out or second[i] == out:
            stamp[near[i]] = now
            stamp[second[i]] = now
            lost[count] = i
            count += 1
        else:
            c = row[i]
            if c < c2[i]:
                stamp[near[i]] = now
                stamp[second[i]] = now
                if c < c1[i]:
                    c2[i] = c1[i]
                    second[i] = near[i]
                    c1[i] = c
                    near[i] = out
                else:
                    c2[i] = c
                    second[i] = out
    clock[3] += 2 * n + count * centers.size
    _rescan(cost, centers, c1, c2, near, second, lost, count)
    for t in range(count):
        stamp[near[lost[t]]] = now
        stamp[second[lost[t]]] = now
    stamp[out] = now
    _sum_up(c1, c2, near, state.loss, state.total)


@njit(**PART)
def exchanged_for_better(cost: Any, state: State, out: int, new: int) -> bool:
    """Swap, and take it back unless the cost really fell: what a sum of differences promises may be rounding alone."""
    centers, total = state.centers, state.total
    old, before = centers[out], total[0]
    entering, better = new, False
    while centers[out] != entering:  # one call in a loop: two would be compiled one by one
        exchange(cost, state, out, entering)
        better = entering == new and total[0] < before
        if not better:
            entering = old
    return better


@njit(**INNER)
def _cheapest(values: Any) -> int:
    """Position of the smallest value (first of equals)."""
    best = 0
    for a in range(1, values.size):
        if values[a] < values[best]:
            best = a
    return best


@njit(**INNER)
def _unchanged(state: State, j: int, home: int, cheapest: float) -> bool:
    """Return whether candidate j need not be looked at again.

    If nothing changed around its ``home`` client since it was evaluated, it can only improve together with the removal
    of the globally cheapest centre, which its stored gain decides in O(1).
    """
    seen = state.seen[j]
    if state.stamp[state.near[home]] > seen or state.stamp[state.second[home]] > seen:
        return False
    return bool(state.gain[j] <= cheapest + TOLERANCE * state.total[0])


@njit(**KERNEL, **VIEWS)
def swap_dense(cost: Any, state: State, order: Any, budget: int) -> bool:
    """Eager swaps over full cost rows (FasterPAM's pass), at most ``budget`` evaluations; True if locally optimal.

    ``order`` lists the candidates that may enter. Scanning resumes where the last call stopped.
    """
    c1, c2, near = state.c1, state.c2, state.near
    loss, clock, delta = state.loss, state.clock, state.delta
    slot, total = state.slot, state.total
    n = c1.size
    k = loss.size
    while clock[2] < order.size and budget > 0:
        if clock[1] >= order.size:
            clock[1] = 0
        j = order[clock[1]]
        clock[1] += 1
        clock[2] += 1
        if slot[j] < 0:
            budget -= 1
            clock[3] += n
            for a in range(k):
                delta[a] = loss[a]
            gain = 0.0
            row = cost[j]
            for i in range(n):  # without branches: they are hard to predict when few centres share the clients
                c = row[i]
                gain += max(c1[i] - c, 0.0)
                delta[near[i]] += min(max(c, c1[i]), c2[i]) - c2[i]
            state.gain[j] = gain
            state.seen[j] = clock[0]
            out = _cheapest(delta)
            if delta[out] - gain < -TOLERANCE * total[0] and exchanged_for_better(cost, state, out, j):
                clock[2] = 0
    return bool(clock[2] >= order.size)


@njit(**KERNEL)
def swap_sparse(cost: Any, lists: Any, state: State, order: Any, home: Any, budget: int) -> bool:
    """Eager swaps over neighbour lists, skipping candidates whose surroundings did not change.

    Pairs beyond the radius are ignored: that underestimates a gain, so an accepted swap is a true improvement.
    ``budget`` counts list entries.
    """
    c1, c2, near, loss, clock = state.c1, state.c2, state.near, state.loss, state.clock
    extra = np.zeros(loss.size)
    touched = np.empty(loss.size + 1, np.int64)
    listed = np.zeros(loss.size, np.int64)
    turn = 0
    cheapest = _cheapest(loss)
    promise, leaving, entering, waited = 0.0, 0, 0, 0
    while budget > 0 and (clock[2] < order.size or promise < 0.0):
        if promise < 0.0 and (waited >= WAIT or clock[2] >= order.size):
            if exchanged_for_better(cost, state, leaving, entering):
                clock[2] = 0
            cheapest = _cheapest(loss)
            promise, waited = 0.0, 0
            continue
        if clock[1] >= order.size:
            clock[1] = 0
        j = order[clock[1]]
        clock[1] += 1
        clock[2] += 1
        if state.slot[j] >= 0 or _unchanged(state, j, home[j], loss[cheapest]):
            continue
        first, last = lists.col_ptr[j], lists.col_ptr[j + 1]
        budget -= last - first + 8
        clock[3] += last - first + 8
        gain = 0.0
        count = 0
        turn += 1
        for t in range(first, last):  # without branches: every other pair is beyond c2, in no order
            i = lists.col_idx[t]
            c = lists.col_val[t]
            a = near[i]
            touched[count] = a
            count += listed[a] != turn
            listed[a] = turn
            gain += max(c1[i] - c, 0.0)
            extra[a] += max(c2[i] - max(c, c1[i]), 0.0)
        out = cheapest
        best = loss[cheapest]
        for s in range(count):
            a = touched[s]
            if loss[a] - extra[a] < best:
                best = loss[a] - extra[a]
                out = a
            extra[a] = 0.0
        state.gain[j] = gain
        state.seen[j] = clock[0]
        if best - gain < -TOLERANCE * state.total[0]:
            state.seen[j] = 0  # if another swap comes first, this one is to be looked at again
            if best - gain < promise:
                promise, leaving, entering = best - gain, out, j
        if promise < 0.0:
            waited += 1
    if promise < 0.0 and exchanged_for_better(cost, state, leaving, entering):
        clock[2] = 0
    return bool(clock[2] >= order.size)


@njit(**KERNEL)
def greedy_removal(cost: Any, union: Any, k: int) -> Any:
    """Shrink ``union`` to k candidates, each time dropping the one whose loss is smallest."""
    size = union.size
    n = cost.shape[1]
    alive = np.ones(size, np.bool_)
    near = np.zeros(n, np.int64)
    second = np.zeros(n, np.int64)
    c1 = np.empty(n)
    c2 = np.empty(n)
    for i in range(n):
        c1[i] = BIG
        c2[i] = BIG
    for a in range(size):
        row = cost[union[a]]
        for i in range(n):
            c = row[i]
            if c < c2[i]:
                if c < c1[i]:
                    c2[i], second[i] = c1[i], near[i]
                    c1[i], near[i] = c, a
                else:
                    c2[i], second[i] = c, a
    loss = np.zeros(size)
    for i in range(n):
        loss[near[i]] += c2[i] - c1[i]
    left = size
    while left > k:
        out = -1
        for a in range(size):
            if alive[a] and (out < 0 or loss[a] < loss[out]):
                out = a
        alive[out] = False
        left -= 1
        for i in range(n):
            if near[i] != out and second[i] != out:
                continue
            loss[near[i]] -= c2[i] - c1[i]
            if near[i] == out:
                c1[i], near[i] = c2[i], second[i]
            c2[i] = BIG
            for a in range(size):
                if alive[a] and a != near[i]:
                    c = cost[union[a], i]
                    if c < c2[i]:
                        c2[i], second[i] = c, a
            loss[near[i]] += c2[i] - c1[i]
    result = np.empty(k, np.int64)
    s = 0
    for a in range(size):
        if alive[a]:
            result[s] = union[a]
            s += 1
    return result
