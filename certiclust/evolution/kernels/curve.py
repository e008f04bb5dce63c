"""GSEMO for every size at once: one run whose population is the curve of costs against sizes.

The sum problems minimise cost and size together; k-center and k-tMM compare sets of equal size only, by f1. Either way
P holds at most one member of each size, in the archive of Algorithm 1 with another rule of survival.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.archive import (
    EVALUATIONS,
    IMPROVED,
    ITERATIONS,
    Archive,
    Tables,
    drop,
    enter,
    fill_tables,
    nearest_after,
    offspring,
    take_slot,
)
from certiclust.evolution.kernels.choice import (
    choose_flips,
    choose_parent,
    given_flips,
    ranked_parent,
    relevant_probability,
)
from certiclust.evolution.kernels.maxima import diameter_below
from certiclust.evolution.kernels.rng import State, skipped
from certiclust.evolution.kernels.sums import swap_total
from certiclust.evolution.laws import FlipLaw
from certiclust.space.compiled import INNER, KERNEL, PART
from certiclust.space.kernels import Rows, distance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Curve(NamedTuple):
    """A problem and P, with what was seen at every size.

    `maximum` says which of the two families it is, `diameter` whether records are k-tMM costs instead of radii. Per
    size: `met`, whether an offspring of that size was evaluated; for the max problems `cost` and `best`, the least
    cost seen with its set, and `h` and `apart`, the largest radius of a set with f1 >= 0 and its centres with the
    farthest point, pairwise at least h apart.
    """

    rows: Rows
    weights: FloatArray
    archive: Archive
    tables: Tables
    maximum: bool
    diameter: bool
    met: IntArray
    cost: FloatArray
    best: IntArray
    h: FloatArray
    apart: IntArray
    buffers: FloatArray


@njit(**INNER)
def dominated(archive: Archive, size: int, value: float, maximum: bool) -> bool:
    """Return whether some member strictly dominates an offspring of this size and f1.

    Sums: among members of at most that size the largest has the best f1, so it alone decides. Maxima: only the member
    of that very size is compared.
    """
    for s in range(size, -1, -1):
        z = archive.slot[s]
        if z >= 0:
            return archive.value[z] > value or (s < size and archive.value[z] == value)
        if maximum:
            break
    return False


@njit(**INNER)
def insert(archive: Archive, size: int, value: float, members: IntArray, maximum: bool) -> int:
    """Put an offspring into P, drop the members it weakly dominates, and return its slot."""
    new = take_slot(archive)
    for s in range(size, size + 1 if maximum else archive.slot.size):
        z = archive.slot[s]
        if z >= 0 and archive.value[z] <= value:
            drop(archive, s)
    enter(archive, new, size, value, members)
    return new


@njit(**INNER)
def separation(rows: Rows, members: IntArray) -> float:
    """Return the least distance between two centres."""
    least = np.inf
    for t in range(members.size):
        for earlier in members[:t]:
            least = min(least, distance(rows, earlier, members[t]))
    return least


@njit(**PART)
def note_records(curve: Curve, members: IntArray, apart: float, radius: float, farthest: int) -> None:
    """Remember an offspring if its cost is the least seen at its size, or its radius the largest with f1 >= 0."""
    size = members.size
    if radius < curve.cost[size]:
        cost = radius
        if curve.diameter:
            cost = diameter_below(curve.rows, members, curve.weights.size, curve.cost[size], curve.buffers[1])
        if cost < curve.cost[size]:
            curve.cost[size] = cost
            for t in range(size):
                curve.best[size, t] = members[t]
            curve.archive.counters[IMPROVED] = curve.archive.counters[ITERATIONS]
    if radius <= apart and radius > curve.h[size]:
        curve.h[size] = radius
        for t in range(size):
            curve.apart[size, t] = members[t]
        curve.apart[size, size] = farthest


@njit(**INNER)
def step(curve: Curve, s: int, removed: IntArray, added: IntArray) -> bool:
    """Offer one offspring of the size-`s` member to P; return whether P changed."""
    archive, tables = curve.archive, curve.tables
    z = archive.slot[s]
    size = s - removed.size + added.size
    if size >= archive.slot.size or size == 0:  # the empty set never leaves P
        return False
    members = np.empty(size, dtype=np.int64)
    offspring(archive.members, z, s, removed, added, members)
    near, d1, second, d2 = tables.near[z], tables.d1[z], tables.second[z], tables.d2[z]
    inside = archive.inside[z]
    held = archive.members[z, :s]
    best = nearest_after(curve.rows, held, inside, near, d1, second, d2, removed, added, curve.buffers)
    archive.counters[EVALUATIONS] += 1
    curve.met[size] = 1
    if curve.maximum:
        farthest = 0
        for i in range(best.size):
            if best[i] > best[farthest]:
                farthest = i
        apart = separation(curve.rows, members)
        note_records(curve, members, apart, best[farthest], farthest)
        value = np.inf if size == 1 else apart - best[farthest]
    else:
        value = -swap_total(near, best, best, np.int64(-2), best, curve.weights, tables.lanes)
    if dominated(archive, size, value, curve.maximum):
        return False
    old = archive.slot[size]
    if old < 0 or archive.value[old] < value:
        archive.counters[IMPROVED] = archive.counters[ITERATIONS]
    new = insert(archive, size, value, members, curve.maximum)
    fill_tables(curve.rows, tables, z, new, members, removed, added)
    return True


@njit(**KERNEL)
def advance(curve: Curve, law: FlipLaw, state: State, work: int, last: int, patience: int, certified: bool) -> None:
    """Run for `work` relevant offspring, to iteration `last`, or `patience` iterations without progress at any size.

    With `certified` it ends as soon as f1 >= 0 was seen at every size.
    """
    archive = curve.archive
    counters = archive.counters
    k = archive.slot.size - 1
    removed, added = np.empty(k + 1, dtype=np.int64), np.empty(k + 1, dtype=np.int64)
    mean, count = relevant_probability(archive, law)
    for _ in range(work):
        end = min(last, counters[IMPROVED] + patience)
        wait = min(skipped(state, mean), end - counters[ITERATIONS])
        archive.sizes[0] += count * float(wait)
        counters[ITERATIONS] += wait
        if counters[ITERATIONS] == end:
            break
        counters[ITERATIONS] += 1
        archive.sizes[0] += count
        s = choose_parent(archive, law, mean, count, state)
        a, b = choose_flips(archive, law, s, state, removed, added)
        if step(curve, s, removed[:a], added[:b]):
            mean, count = relevant_probability(archive, law)
        if certified and curve.h[k] >= 0.0 and curve.h[1:].min() >= 0.0:
            break


@njit(**KERNEL)
def replay(curve: Curve, ranks: IntArray, starts: IntArray, flips: IntArray) -> None:
    """Run with given choices: the parent's rank by size, and the positions flipped."""
    archive = curve.archive
    for t in range(ranks.size):
        archive.counters[ITERATIONS] += 1
        s = ranked_parent(archive, ranks[t])
        positions = flips[starts[t] : starts[t + 1]]
        removed, added = given_flips(archive, s, positions)
        if positions.size > 0:
            step(curve, s, removed, added)
