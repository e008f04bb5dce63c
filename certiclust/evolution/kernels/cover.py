"""Compiled vertex-weighting tabu search for k columns that cover every row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.rng import State, below
from certiclust.space.compiled import KERNEL

Ints = NDArray[np.int64]
Indices = NDArray[np.int32]


class Lists(NamedTuple):
    """The cover problem both ways: row a is covered by ``columns[row[a]:row[a + 1]]``, column j covers rows alike."""

    row: Ints
    columns: Indices
    column: Ints
    rows: Indices


class Trial(NamedTuple):
    """The state of a search.

    Attributes
    ----------
    chosen : ndarray of k columns
        The solution; `slot` says where in it a column is (-1: nowhere).
    weight : ndarray
        Weight of each row, raised while it stays uncovered.
    covers : ndarray
        How many chosen columns cover each row, and the sum of their numbers: where it is one, that is its number.
    gain : ndarray
        For a column outside, the uncovered weight that it would cover; for a chosen one, the weight it alone covers.
    uncovered, place : ndarray
        The uncovered rows, in the first ``tally[0]`` places, and the place of each (-1: covered).
    free : ndarray
        The step from which on a column may move again.
    tally : ndarray
        Uncovered rows, their weight, steps, work (list entries read).
    """

    chosen: Ints
    slot: Ints
    weight: Ints
    covers: Ints
    owner: Ints
    gain: Ints
    uncovered: Ints
    place: Ints
    free: Ints
    tally: Ints


@njit(**KERNEL)
def load(lists: Lists, trial: Trial) -> None:
    """Fill the caches for the chosen columns and weights."""
    trial.slot[:] = -1
    trial.covers[:] = 0
    trial.owner[:] = 0
    trial.gain[:] = 0
    trial.place[:] = -1
    trial.free[:] = 0
    trial.tally[:3] = 0
    for t in range(trial.chosen.size):
        j = trial.chosen[t]
        trial.slot[j] = t
        for e in range(lists.column[j], lists.column[j + 1]):
            trial.covers[lists.rows[e]] += 1
            trial.owner[lists.rows[e]] += j
    for a in range(trial.weight.size):
        if trial.covers[a] == 0:
            expose(lists, trial, a)
        elif trial.covers[a] == 1:
            trial.gain[trial.owner[a]] += trial.weight[a]


@njit(**KERNEL)
def expose(lists: Lists, trial: Trial, a: int) -> None:
    """Enter row a among the uncovered ones."""
    trial.place[a] = trial.tally[0]
    trial.uncovered[trial.tally[0]] = a
    trial.tally[0] += 1
    trial.tally[1] += trial.weight[a]
    for e in range(lists.row[a], lists.row[a + 1]):
        trial.gain[lists.columns[e]] += trial.weight[a]
    trial.tally[3] += lists.row[a + 1] - lists.row[a]


@njit(**KERNEL)
def insert(lists: Lists, trial: Trial, j: int) -> None:
    """Cover the rows of column j once more."""
    for e in range(lists.column[j], lists.column[j + 1]):
        a = lists.rows[e]
        w = trial.weight[a]
        if trial.covers[a] == 0:
            trial.tally[0] -= 1
            last = trial.uncovered[trial.tally[0]]
            trial.uncovered[trial.place[a]] = last
            trial.place[last] = trial.place[a]
            trial.place[a] = -1
            trial.tally[1] -= w
            for g in range(lists.row[a], lists.row[a + 1]):
                trial.gain[lists.columns[g]] -= w
            trial.gain[j] += w
            trial.tally[3] += lists.row[a + 1] - lists.row[a]
        elif trial.covers[a] == 1:
            trial.gain[trial.owner[a]] -= w
        trial.covers[a] += 1
        trial.owner[a] += j
    trial.tally[3] += lists.column[j + 1] - lists.column[j]


@njit(**KERNEL)
def withdraw(lists: Lists, trial: Trial, j: int) -> None:
    """Cover the rows of column j once less."""
    for e in range(lists.column[j], lists.column[j + 1]):
        a = lists.rows[e]
        trial.covers[a] -= 1
        trial.owner[a] -= j
        if trial.covers[a] == 0:
            trial.gain[j] -= trial.weight[a]
            expose(lists, trial, a)
        elif trial.covers[a] == 1:
            trial.gain[trial.owner[a]] += trial.weight[a]
    trial.tally[3] += lists.column[j + 1] - lists.column[j]


@njit(**KERNEL)
def best_swap(lists: Lists, trial: Trial, state: State, a: int, loss: Ints, waiting: Ints) -> tuple[int, int]:
    """Return the swap (column, slot) that covers row a and leaves the least weight uncovered; ties at random, or -1.

    Entering columns are taken by falling gain. A leaving one can only add to what stays uncovered, so the search ends
    at a gain that cannot beat the best swap any more.
    """
    step = trial.tally[2]
    n_waiting = 0
    for e in range(lists.row[a], lists.row[a + 1]):
        if trial.free[lists.columns[e]] <= step:
            waiting[n_waiting] = lists.columns[e]
            n_waiting += 1
    trial.tally[3] += lists.row[a + 1] - lists.row[a]
    best, entering, leaving, ties = np.int64(2**62), -1, -1, 0
    while n_waiting > 0:
        top = 0
        for q in range(1, n_waiting):
            if trial.gain[waiting[q]] > trial.gain[waiting[top]]:
                top = q
        j = waiting[top]
        n_waiting -= 1
        waiting[top] = waiting[n_waiting]
        left = trial.tally[1] - trial.gain[j]
        if left > best:
            break
        for t in range(trial.chosen.size):
            loss[t] = trial.gain[trial.chosen[t]]
        for e in range(lists.column[j], lists.column[j + 1]):
            if trial.covers[lists.rows[e]] == 1:
                loss[trial.slot[trial.owner[lists.rows[e]]]] -= trial.weight[lists.rows[e]]
        trial.tally[3] += lists.column[j + 1] - lists.column[j] + trial.chosen.size + (n_waiting >> 3)
        for t in range(trial.chosen.size):
            if trial.free[trial.chosen[t]] > step:
                continue
            value = left + loss[t]
            ties = 1 if value < best else ties + (value == best)
            if value < best or (value == best and below(state, ties) == 0):
                best, entering, leaving = value, j, t
    return entering, leaving


@njit(**KERNEL)
def advance(lists: Lists, trial: Trial, state: State, work: int, steps: int, tenure: int) -> bool:
    """Swap until every row is covered (True), or `work` list entries are read, or `steps` steps are made.

    After a step that does not lower the uncovered weight, every uncovered row gets one heavier; a column that moved
    stays for 1 to `tenure` steps.
    """
    loss = np.zeros(trial.chosen.size, np.int64)
    waiting = np.empty(trial.gain.size, np.int64)
    last_work, last_step = trial.tally[3] + work, trial.tally[2] + steps
    while trial.tally[0] > 0 and trial.tally[3] < last_work and trial.tally[2] < last_step:
        trial.tally[2] += 1
        before = trial.tally[1]
        a = trial.uncovered[below(state, trial.tally[0])]
        entering, leaving = best_swap(lists, trial, state, a, loss, waiting)
        if entering < 0:
            continue
        gone = trial.chosen[leaving]
        insert(lists, trial, entering)
        withdraw(lists, trial, gone)
        trial.slot[gone] = -1
        trial.slot[entering] = leaving
        trial.chosen[leaving] = entering
        until = trial.tally[2] + 2 + below(state, tenure)
        trial.free[gone] = until
        trial.free[entering] = until
        if trial.tally[1] >= before:
            for q in range(trial.tally[0]):
                b = trial.uncovered[q]
                trial.weight[b] += 1
                trial.tally[1] += 1
                for e in range(lists.row[b], lists.row[b + 1]):
                    trial.gain[lists.columns[e]] += 1
                trial.tally[3] += lists.row[b + 1] - lists.row[b]
    return trial.tally[0] == 0
