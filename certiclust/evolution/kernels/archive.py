"""The population P of Algorithm 1 in arrays: at most one member per size, each in a slot of its own.

f2 is the size for every problem, so P holds no two members of one size, and among its members a larger size has a
smaller f1. A member's slot also holds its nearest and second-nearest centre for every client (`Tables`); slots are
reused last-in first-out, so that memory grows with the largest |P| seen, not with k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.space.compiled import INNER, PART, VIEWS
from certiclust.space.kernels import Rows, distance, row, some

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Counters.
ITERATIONS, EVALUATIONS, ACCEPTED, IMPROVED, VERSION, FREE = 0, 1, 2, 3, 4, 5


class Archive(NamedTuple):
    """The members of P.

    `slot` maps a size to its slot, -1 where P has none of that size; `value` and `violations` are f1; `members` lists
    the centres, `inside` marks them; `free` is the stack of unused slots; `counters` as named above; `sizes` sums |P|
    over the iterations.
    """

    slot: IntArray
    value: FloatArray
    violations: IntArray
    members: IntArray
    inside: NDArray[np.uint8]
    free: IntArray
    counters: IntArray
    sizes: FloatArray


class Tables(NamedTuple):
    """Nearest and second-nearest centre, and their distances, of every client, per slot; and room to work in.

    `everyone` lists the clients, `lost` has room for some of them, `buffer` for a row, `lanes` for the parts of a sum:
    kernels that make no arrays compile in less time.
    """

    near: NDArray[np.int32]
    d1: FloatArray
    second: NDArray[np.int32]
    d2: FloatArray
    everyone: IntArray
    lost: IntArray
    buffer: FloatArray
    lanes: FloatArray


def new_archive(m: int, k: int, slots: int, empty_value: float, violations: int) -> Archive:
    """Return P = {0} with room for so many sets."""
    archive = Archive(
        slot=np.full(k + 1, -1, dtype=np.int64),
        value=np.empty(slots),
        violations=np.zeros(slots, dtype=np.int64),
        members=np.empty((slots, k), dtype=np.int64),
        inside=np.zeros((slots, m), dtype=np.uint8),
        free=np.arange(slots, dtype=np.int64)[::-1].copy(),
        counters=np.zeros(6, dtype=np.int64),
        sizes=np.zeros(1),
    )
    archive.counters[FREE] = slots - 2  # slot 0, on top of the stack, holds the empty set
    archive.slot[0] = 0
    archive.value[0] = empty_value
    archive.violations[0] = violations
    return archive


def new_tables(n: int, slots: int) -> Tables:
    """Return tables for so many slots; memory is touched only by the slots that are used."""
    tables = Tables(
        near=np.empty((slots, n), dtype=np.int32),
        d1=np.empty((slots, n)),
        second=np.empty((slots, n), dtype=np.int32),
        d2=np.empty((slots, n)),
        everyone=np.arange(n, dtype=np.int64),
        lost=np.empty(n, dtype=np.int64),
        buffer=np.empty(n),
        lanes=np.empty(8),
    )
    tables.near[0] = tables.second[0] = -1
    tables.d1[0] = tables.d2[0] = np.inf
    return tables


@njit(**INNER)
def dominated(archive: Archive, size: int, violations: int, value: float) -> bool:
    """Return whether some member strictly dominates an offspring of this size and f1.

    Among members of at least that size the smallest has the best f1, so it alone decides.
    """
    for s in range(size, archive.slot.size):
        z = archive.slot[s]
        if z >= 0:
            if archive.violations[z] != violations:
                return archive.violations[z] < violations
            return archive.value[z] > value or (s > size and archive.value[z] == value)
    return False


@njit(**INNER)
def same_set(archive: Archive, size: int, members: IntArray) -> bool:
    """Return whether P's member of this size is exactly this set."""
    z = archive.slot[size]
    if z < 0:
        return False
    for t in range(size):
        if archive.inside[z, members[t]] == 0:
            return False
    return True


@njit(**PART)
def take_slot(archive: Archive) -> int:
    """Return an unused slot, which is then no longer free."""
    new = archive.free[archive.counters[FREE]]
    archive.counters[FREE] -= 1
    return new


@njit(**PART)
def drop(archive: Archive, s: int) -> None:
    """Take the member of size `s` out of P."""
    z = archive.slot[s]
    for t in range(s):
        archive.inside[z, archive.members[z, t]] = 0
    archive.slot[s] = -1
    archive.counters[FREE] += 1
    archive.free[archive.counters[FREE]] = z


@njit(**PART)
def enter(archive: Archive, new: int, size: int, value: float, members: IntArray) -> None:
    """Put a set into P, in slot `new`."""
    archive.slot[size] = new
    archive.value[new] = value
    for t in range(size):
        archive.members[new, t] = members[t]
        archive.inside[new, members[t]] = 1
    archive.counters[ACCEPTED] += 1


@njit(**INNER)
def insert(archive: Archive, size: int, violations: int, value: float, members: IntArray) -> int:
    """Put an offspring into P, drop the members it weakly dominates, and return its slot."""
    new = take_slot(archive)
    for s in range(size + 1):
        z = archive.slot[s]
        if z < 0:
            continue
        worse = archive.violations[z] > violations
        if worse or (archive.violations[z] == violations and archive.value[z] <= value):
            drop(archive, s)
    enter(archive, new, size, value, members)
    archive.violations[new] = violations
    archive.counters[VERSION] += 1
    return new


@njit(**PART)
def offspring(members: IntArray, z: int, s: int, removed: IntArray, added: IntArray, out: IntArray) -> int:
    """Write the parent's centres without `removed` and with `added` to `out`, and return how many there are."""
    size = 0
    for t in range(s):
        c = members[z, t]
        gone = False
        for r in removed:
            gone |= r == c
        if not gone:
            out[size] = c
            size += 1
    for c in added:
        out[size] = c
        size += 1
    return size


@njit(**PART)
def merge(
    c: int,
    d: FloatArray,
    clients: IntArray,
    near: NDArray[np.int32],
    d1: FloatArray,
    second: NDArray[np.int32],
    d2: FloatArray,
) -> None:
    """Let centre `c`, at distances `d` from some clients, be among their two nearest where it is."""
    for t in range(clients.size):
        i, v = clients[t], d[t]
        if v < d1[i] or (v == d1[i] and c < near[i]):
            d2[i] = d1[i]
            second[i] = near[i]
            d1[i] = v
            near[i] = c
        elif v < d2[i] or (v == d2[i] and c < second[i]):
            d2[i] = v
            second[i] = c


@njit(**INNER, **VIEWS)
def fill_tables(
    rows: Rows, tables: Tables, parent: int, slot: int, members: IntArray, removed: IntArray, added: IntArray
) -> None:
    """Compute the tables of `slot` from those of its parent; `members` lists the kept centres first, then `added`.

    Only clients that lost their nearest or second-nearest centre look at all kept centres again. Ties go to the lower
    index, so that the tables depend on the set alone and not on the way it was reached.
    """
    near, old_near = tables.near[slot], tables.near[parent]  # in pairs: longer tuples would be compiled as such
    d1, old_d1 = tables.d1[slot], tables.d1[parent]
    second, old_second = tables.second[slot], tables.second[parent]
    d2, old_d2 = tables.d2[slot], tables.d2[parent]
    lost, buffer = tables.lost, tables.buffer
    count = 0
    for i in range(near.size):  # a loop: numba compiles an array assignment, with its error text, for two seconds
        near[i], d1[i] = old_near[i], old_d1[i]
        second[i], d2[i] = old_second[i], old_d2[i]
        gone = False
        for t in range(removed.size):
            gone |= near[i] == removed[t] or second[i] == removed[t]
        if gone:
            near[i] = second[i] = -1
            d1[i] = d2[i] = np.inf
            lost[count] = i
            count += 1
    kept = members.size - added.size
    for t in range(members.size):
        c, d, clients = members[t], buffer, lost[:count]
        if t < kept:
            some(rows, c, lost, count, buffer)
        else:
            d, clients = row(rows, c, buffer), tables.everyone
        merge(c, d, clients, near, d1, second, d2)


@njit(**PART)
def without(
    rows: Rows,
    members: IntArray,
    inside: NDArray[np.uint8],
    near: NDArray[np.int32],
    d1: FloatArray,
    second: NDArray[np.int32],
    d2: FloatArray,
    removed: IntArray,
    out: FloatArray,
) -> None:
    """Write every client's distance to the nearest of the `members` that is not `removed`, from a member's tables."""
    gone = removed[0] if removed.size == 1 else -2
    for r in removed:
        inside[r] = 0
    for i in range(out.size):
        if removed.size <= 1:
            out[i] = d2[i] if near[i] == gone else d1[i]
        elif inside[near[i]]:
            out[i] = d1[i]
        elif second[i] >= 0 and inside[second[i]]:
            out[i] = d2[i]
        else:
            out[i] = np.inf
            for t in range(members.size):
                c = members[t]
                if inside[c]:
                    out[i] = min(out[i], distance(rows, c, i))
    for r in removed:
        inside[r] = 1


@njit(**PART)
def nearest_after(
    rows: Rows,
    members: IntArray,
    inside: NDArray[np.uint8],
    near: NDArray[np.int32],
    d1: FloatArray,
    second: NDArray[np.int32],
    d2: FloatArray,
    removed: IntArray,
    added: IntArray,
    buffers: FloatArray,
) -> FloatArray:
    """Return every client's distance to the nearest centre of a member without `removed` and with `added`."""
    best, buffer = buffers[0], buffers[1]
    without(rows, members, inside, near, d1, second, d2, removed, best)
    for c in added:
        d = row(rows, c, buffer)
        for i in range(best.size):
            best[i] = min(best[i], d[i])
    return best


@njit(**PART)
def ending(counters: IntArray, found: bool, last: int, patience: int) -> int:
    """Return the iteration at which to stop: `last`, or `patience` after the last improvement of a solution `found`."""
    return min(last, counters[IMPROVED] + patience) if found else last
