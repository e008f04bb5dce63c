"""Algorithm 1 for the max problems: k-center and k-tMM.

f1 = separation - radius is made of single distances, so it is exact: one set has one value. An offspring is looked at
in three steps, each of which may already show that it is dominated and cannot be a record either: the separation,
two witness points whose distance bounds the radius from below, and only then all points.
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
    dominated,
    ending,
    fill_tables,
    insert,
    nearest_after,
    offspring,
)
from certiclust.evolution.kernels.choice import (
    choose_flips,
    choose_parent,
    given_flips,
    ranked_parent,
    relevant_probability,
)
from certiclust.evolution.kernels.rng import State, skipped
from certiclust.evolution.laws import FlipLaw
from certiclust.evolution.stopping import NEVER
from certiclust.space.compiled import INNER, KERNEL, PART
from certiclust.space.kernels import Rows, distance, row

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Positions in `records`: the best cost seen at size k, and the largest h of a size-k set with f1 >= 0.
COST, H = 0, 1


class Maxima(NamedTuple):
    """A max problem and P.

    Per slot: `separation`, `radius`, the `farthest` point, and for each centre (by its place in the member list)
    `loss`, the largest second distance in its cluster, reached at `lossy`: the radius once that centre is gone.
    `records` and `best`, `apart`: the best cost at size k with its set, and the k + 1 points that are pairwise at
    least h apart (the last one is the farthest point). `diameter` asks for the k-tMM cost instead of the radius.
    """

    rows: Rows
    archive: Archive
    tables: Tables
    separation: FloatArray
    radius: FloatArray
    farthest: IntArray
    loss: FloatArray
    lossy: IntArray
    records: FloatArray
    best: IntArray
    apart: IntArray
    diameter: bool
    buffers: FloatArray


@njit(**PART)
def separation_after(
    rows: Rows,
    separation: float,
    members: IntArray,
    inside: NDArray[np.uint8],
    near: NDArray[np.int32],
    d1: FloatArray,
    second: NDArray[np.int32],
    d2: FloatArray,
    removed: IntArray,
    added: IntArray,
) -> float:
    """Return the least distance between two centres of the offspring, in O(k) but for rare rescans.

    The parent has this `separation`, these `members`, which are marked, and these tables.
    """
    least = np.inf
    for r in removed:
        inside[r] = 0
    if removed.size == 0:
        least = separation
    else:
        for c in members:
            if inside[c] == 0:
                continue
            if near[c] == c and second[c] >= 0 and inside[second[c]]:
                least = min(least, d2[c])
            elif d2[c] < least:  # its nearest other centre is gone: look again
                for other in members:
                    if other != c and inside[other]:
                        least = min(least, distance(rows, other, c))
    for t in range(added.size):
        c = added[t]
        for earlier in added[:t]:
            least = min(least, distance(rows, earlier, c))
        if near[c] >= 0 and inside[near[c]]:
            least = min(least, d1[c])
        elif second[c] >= 0 and inside[second[c]]:
            least = min(least, d2[c])
        else:
            for other in members:
                if inside[other]:
                    least = min(least, distance(rows, other, c))
    for r in removed:
        inside[r] = 1
    return least


@njit(**PART)
def hopeless(maxima: Maxima, size: int, separation: float, radius: float) -> bool:
    """Return whether an offspring of at least this radius is dominated and sets no record."""
    k = maxima.archive.slot.size - 1
    if size == k and (radius < maxima.records[COST] or radius <= separation):
        return False
    return size > 1 and dominated(maxima.archive, size, 0, separation - radius)


@njit(**PART)
def radius_at_least(maxima: Maxima, z: int, s: int, removed: IntArray, added: IntArray) -> float:
    """Return a lower bound on the offspring's radius from one or two witness points; exact for one pure removal."""
    bound = 0.0
    for witness in range(2):
        if witness == 0:
            i = maxima.farthest[z]
            v = maxima.radius[z]
        elif removed.size == 1:
            t = 0
            while maxima.archive.members[z, t] != removed[0]:
                t += 1
            i = maxima.lossy[z, t]
            v = maxima.loss[z, t]
        else:
            break
        for c in added:
            v = min(v, distance(maxima.rows, c, i))
        bound = max(bound, v)
    return bound


@njit(**PART)
def evaluate(
    rows: Rows,
    buffers: FloatArray,
    members: IntArray,
    inside: NDArray[np.uint8],
    near: NDArray[np.int32],
    d1: FloatArray,
    second: NDArray[np.int32],
    d2: FloatArray,
    removed: IntArray,
    added: IntArray,
) -> tuple[float, int]:
    """Return the offspring's radius and the first point at which it is reached."""
    best = nearest_after(rows, members, inside, near, d1, second, d2, removed, added, buffers)
    farthest = 0
    for i in range(best.size):
        if best[i] > best[farthest]:
            farthest = i
    return best[farthest], farthest


@njit(**PART)
def describe(members: IntArray, near: NDArray[np.int32], d2: FloatArray, loss: FloatArray, lossy: IntArray) -> None:
    """Write what the removal of each of the `members` costs, by which later offspring are judged."""
    place = np.empty(near.size, dtype=np.int64)
    for t in range(members.size):
        place[members[t]] = t
        loss[t] = -np.inf
        lossy[t] = 0
    for i in range(near.size):
        t = place[near[i]]
        if d2[i] > loss[t]:
            loss[t] = d2[i]
            lossy[t] = i


@njit(**KERNEL)
def diameter_below(rows: Rows, members: IntArray, n: int, limit: float, buffer: FloatArray) -> float:
    """Return the diameter of the partition by nearest centre, or infinity as soon as it is not below `limit`.

    Ties go to the lower index, and a centre belongs to itself, as labels are assigned.
    """
    label = np.empty(n, dtype=np.int64)
    least = np.full(n, np.inf)
    for t in range(members.size):
        d = row(rows, members[t], buffer)
        for i in range(n):
            if d[i] < least[i] or (d[i] == least[i] and members[t] < members[label[i]]):
                least[i] = d[i]
                label[i] = t
    for t in range(members.size):
        label[members[t]] = t
    newest = np.full(members.size, -1)  # each cluster as a chain from its last point back to its first
    before = np.empty(n, dtype=np.int64)
    largest = 0.0
    for i in range(n):
        before[i] = newest[label[i]]
        newest[label[i]] = i
        other = before[i]
        while other >= 0:
            largest = max(largest, distance(rows, i, other))
            other = before[other]
        if largest >= limit:
            return np.inf
    return largest


@njit(**PART)
def note_records(maxima: Maxima, members: IntArray, separation: float, radius: float, farthest: int) -> None:
    """Remember a size-k offspring if its cost is the least seen, or its h = radius the largest with f1 >= 0."""
    records, best, apart = maxima.records, maxima.best, maxima.apart
    rows, buffers, archive = maxima.rows, maxima.buffers, maxima.archive
    counters = archive.counters
    if radius < records[COST]:
        cost = radius
        if maxima.diameter:
            cost = diameter_below(rows, members, buffers.shape[1], records[COST], buffers[1])
        if cost < records[COST]:
            records[COST] = cost
            for t in range(members.size):
                best[t] = members[t]
            counters[IMPROVED] = counters[ITERATIONS]
    if radius <= separation and radius > records[H]:
        records[H] = radius
        for t in range(members.size):
            apart[t] = members[t]
        apart[members.size] = farthest


@njit(**INNER)
def thresholds(archive: Archive, bars: FloatArray) -> None:
    """Write, for every size, the f1 below which an offspring of that size is dominated."""
    bar = -np.inf
    for s in range(archive.slot.size - 1, -1, -1):
        if archive.slot[s] >= 0:
            bar = archive.value[archive.slot[s]]
        bars[s] = bar


@njit(**INNER)
def rejects_additions(
    rows: Rows,
    d1: FloatArray,
    separation: float,
    radius: float,
    farthest: int,
    added: IntArray,
    bar: float,
    cost: float,
) -> bool:
    """Return whether a member with `added` is dominated and sets no record, judged by O(1) distances per addition.

    The separation is at most, and the radius at least, what is computed here, so a rejection is never wrong. `cost`
    is the record to beat: minus infinity below size k, where there is none.
    """
    for c in added:
        separation = min(separation, d1[c])
        radius = min(radius, distance(rows, c, farthest))
    return separation - radius < bar and radius >= cost and (cost == -np.inf or radius > separation)


@njit(**PART)
def step(maxima: Maxima, s: int, removed: IntArray, added: IntArray) -> bool:
    """Offer one offspring of the size-`s` member to P; return whether P changed."""
    rows, archive, tables = maxima.rows, maxima.archive, maxima.tables
    k = archive.slot.size - 1
    z = archive.slot[s]
    size = s - removed.size + added.size
    if size > k or size == 0:  # the empty set is in P, or dominated by a set of size 1
        return False
    held, inside = archive.members[z, :s], archive.inside[z]
    near, d1 = tables.near[z], tables.d1[z]
    second, d2 = tables.second[z], tables.d2[z]
    separation = np.inf
    if size > 1:
        separation = separation_after(rows, maxima.separation[z], held, inside, near, d1, second, d2, removed, added)
    if s > 0 and hopeless(maxima, size, separation, radius_at_least(maxima, z, s, removed, added)):
        return False
    radius, farthest = evaluate(rows, maxima.buffers, held, inside, near, d1, second, d2, removed, added)
    archive.counters[EVALUATIONS] += 1
    if hopeless(maxima, size, separation, radius):
        return False
    members = np.empty(size, dtype=np.int64)
    offspring(archive.members, z, s, removed, added, members)
    if size == k:
        note_records(maxima, members, separation, radius, farthest)
    value = np.inf if size == 1 else separation - radius
    if dominated(archive, size, 0, value):
        return False
    new = insert(archive, size, 0, value, members)
    fill_tables(rows, tables, z, new, members, removed, added)
    maxima.separation[new] = separation
    maxima.radius[new] = radius
    maxima.farthest[new] = farthest
    describe(members, tables.near[new], tables.d2[new], maxima.loss[new], maxima.lossy[new])
    return True


@njit(**KERNEL)
def advance(
    maxima: Maxima,
    law: FlipLaw,
    state: State,
    work: int,
    last: int,
    patience: int,
    target: float,
    certified: bool,
    sized: bool,
) -> None:
    """Run Algorithm 1 for `work` relevant offspring, or to iteration `last`, or `patience` iterations without progress.

    Ends in the very iteration in which a size-k solution costs at most `target` or, with `certified`, has f1 >= 0;
    with `sized`, in which the first one is found.
    """
    archive = maxima.archive
    counters = archive.counters
    k = archive.slot.size - 1
    removed, added = np.empty(k + 1, dtype=np.int64), np.empty(k + 1, dtype=np.int64)
    bars = np.empty(k + 1)
    thresholds(archive, bars)
    mean, count = relevant_probability(archive, law)
    for _ in range(work):
        end = ending(counters, maxima.records[COST] < np.inf, last, patience)
        if mean == 0.0 and end >= NEVER:
            break
        wait = end if mean == 0.0 else skipped(state, mean)
        wait = min(wait, end - counters[ITERATIONS])
        archive.sizes[0] += count * float(wait)
        counters[ITERATIONS] += wait
        if counters[ITERATIONS] == end:
            break
        counters[ITERATIONS] += 1
        archive.sizes[0] += count
        s = choose_parent(archive, law, mean, count, state)
        a, b = choose_flips(archive, law, s, state, removed, added)
        if s > 1 and a == 0:
            z = archive.slot[s]
            cost = maxima.records[COST] if s + b == k else -np.inf
            if rejects_additions(
                maxima.rows,
                maxima.tables.d1[z],
                maxima.separation[z],
                maxima.radius[z],
                maxima.farthest[z],
                added[:b],
                bars[s + b],
                cost,
            ):
                continue
        if step(maxima, s, removed[:a], added[:b]):
            mean, count = relevant_probability(archive, law)
            thresholds(archive, bars)
        cost = maxima.records[COST]
        if cost <= target or (certified and maxima.records[H] >= 0.0) or (sized and cost < np.inf):
            break


@njit(**KERNEL)
def replay(maxima: Maxima, ranks: IntArray, starts: IntArray, flips: IntArray) -> None:
    """Run Algorithm 1 with given choices: the parent's rank by size, and the positions flipped."""
    archive = maxima.archive
    for t in range(ranks.size):
        archive.counters[ITERATIONS] += 1
        s = ranked_parent(archive, ranks[t])
        positions = flips[starts[t] : starts[t + 1]]
        removed, added = given_flips(archive, s, positions)
        if positions.size > 0:
            step(maxima, s, removed, added)
