"""Compiled search for a colouring of the graph {d >= t}: partial colourings with a tabu list.

A cluster of diameter below t is a colour class without an edge. The search keeps a partial colouring in which no class
has an edge and moves one uncoloured point into a class at a time, uncolouring whom it conflicts with (PartialCol,
Bloechliger & Zufferey 2008). Only uncoloured points carry counts, so that a step costs one row of distances per point
moved and nothing of size n x n is ever needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.rng import State, below
from certiclust.space.compiled import KERNEL
from certiclust.space.kernels import Rows, distance, row

#: Uncoloured points looked at in one step, at most.
WINDOW = 64

Ints = NDArray[np.int64]


class Board(NamedTuple):
    """The partial colouring and its tables.

    `labels` holds -1 for the `free[0]` uncoloured points, which `pending` lists; `clashes[s, c]` counts the members
    of class c that ``pending[s]`` has an edge to; before step `until[i, c]` point i does not return to class c;
    `hard[i]` counts how often point i was uncoloured.
    """

    labels: NDArray[np.int32]
    pending: Ints
    free: Ints
    clashes: Ints
    until: NDArray[np.int32]
    hard: Ints
    weight: Ints
    kicked: Ints
    buffer: NDArray[np.float64]


@njit(**KERNEL)
def uncolour(rows: Rows, labels: NDArray[np.int32], order: Ints, starts: Ints, threshold: float) -> int:
    """Uncolour points, those with the most conflicts first, until no class has an edge; return the distances read.

    `order` lists the points class by class; class c is ``order[starts[c]:starts[c + 1]]``.
    """
    degree = np.zeros(order.size, dtype=np.int64)
    work = 0
    for c in range(starts.size - 1):
        first, last = starts[c], starts[c + 1]
        for a in range(first, last):
            for b in range(first, a):
                if distance(rows, order[a], order[b]) >= threshold:
                    degree[a] += 1
                    degree[b] += 1
        work += (last - first) * (last - first)
        while True:
            worst = -1
            for a in range(first, last):
                if degree[a] > 0 and (worst < 0 or degree[a] > degree[worst]):
                    worst = a
            if worst < 0:
                break
            degree[worst] = 0
            labels[order[worst]] = -1
            for a in range(first, last):
                if degree[a] > 0 and distance(rows, order[worst], order[a]) >= threshold:
                    degree[a] -= 1
            work += last - first
    return work


@njit(**KERNEL)
def enlist(rows: Rows, board: Board, i: int, threshold: float) -> None:
    """Append point i to the uncoloured ones, with its clashes counted."""
    s = board.free[0]
    board.pending[s] = i
    board.free[0] += 1
    for c in range(board.clashes.shape[1]):
        board.clashes[s, c] = 0
    d = row(rows, i, board.buffer)
    for j in range(d.size):
        if d[j] >= threshold and board.labels[j] >= 0:
            board.clashes[s, board.labels[j]] += board.weight[j]


@njit(**KERNEL)
def choose(board: Board, step: int, state: State) -> tuple[int, int]:
    """Return slot and class of the move that uncolours fewest points, ties at random; slot -1 if all are tabu."""
    k = board.clashes.shape[1]
    count = board.free[0]
    looked = min(count, WINDOW)
    offset = below(state, count) if count > WINDOW else 0
    slot, colour, fewest, ties = -1, -1, 0, 0
    for t in range(looked):
        s = (offset + t) % count
        i = board.pending[s]
        for c in range(k):
            clashes = board.clashes[s, c]
            if clashes > 0 and board.until[i, c] > step:
                continue
            cost = clashes - board.weight[i]
            if slot < 0 or cost < fewest:
                slot, colour, fewest, ties = s, c, cost, 1
            elif cost == fewest:
                ties += 1
                if below(state, ties) == 0:
                    slot, colour = s, c
    return slot, colour


@njit(**KERNEL)
def move(rows: Rows, board: Board, slot: int, colour: int, threshold: float) -> int:
    """Colour the point of a slot and uncolour the members of its class that conflict; return how many those are."""
    i = board.pending[slot]
    last = board.free[0] - 1
    board.pending[slot] = board.pending[last]
    for c in range(board.clashes.shape[1]):
        board.clashes[slot, c] = board.clashes[last, c]
    board.free[0] = last
    kicked = 0
    d = row(rows, i, board.buffer)
    for j in range(d.size):
        if board.labels[j] == colour and d[j] >= threshold:
            board.kicked[kicked] = j
            kicked += 1
    board.labels[i] = colour
    for s in range(last):
        if d[board.pending[s]] >= threshold:
            board.clashes[s, colour] += board.weight[i]
    for t in range(kicked):
        j = board.kicked[t]
        board.labels[j] = -1
        board.hard[j] += 1
        for s in range(last):
            if distance(rows, j, board.pending[s]) >= threshold:
                board.clashes[s, colour] -= board.weight[j]
    for t in range(kicked):
        enlist(rows, board, board.kicked[t], threshold)
    return kicked


@njit(**KERNEL)
def recolour(rows: Rows, board: Board, threshold: float, clock: Ints, steps: int, state: State) -> int:
    """Run up to `steps` steps of the tabu search, until all points are coloured; return the distances read.

    ``clock[0]`` is the number of the next step, ``clock[1]`` the fewest uncoloured points seen.
    """
    n = board.labels.size
    work = 0
    for _ in range(steps):
        if board.free[0] == 0:
            break
        clock[0] += 1
        slot, colour = choose(board, clock[0], state)
        work += min(board.free[0], WINDOW) * board.clashes.shape[1] + n
        if slot < 0:
            continue
        kicked = move(rows, board, slot, colour, threshold)
        work += kicked * n
        tenure = clock[0] + 3 + below(state, 10) + board.free[0] * 6 // 10
        for t in range(kicked):
            board.until[board.kicked[t], colour] = tenure
        clock[1] = min(clock[1], board.free[0])
        for s in range(board.free[0]):
            board.weight[board.pending[s]] += 1
    return work
