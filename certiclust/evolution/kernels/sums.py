"""Algorithm 1 for the sum problems: k-median, k-means, fair k-median."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.archive import (
    EVALUATIONS,
    FREE,
    IMPROVED,
    ITERATIONS,
    VERSION,
    Archive,
    Tables,
    dominated,
    ending,
    fill_tables,
    insert,
    offspring,
    same_set,
    without,
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
from certiclust.space.compiled import INNER, KERNEL, PART, VIEWS
from certiclust.space.kernels import Rows, row

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Sums(NamedTuple):
    """A sum problem and P.

    `groups` says which critical ball a candidate lies in (-1: none) and `hits` counts the centres per ball and slot.
    Swaps of the size-k member are judged once per version v of P: ``judged[j]`` is 4v + 1 if candidate j was met,
    4v + 2 if some swap for it may improve, 4v + 3 if none can. `loss` is what the removal of each centre costs, and in
    its last place of all together, valid for the version in ``judged[m]``.
    """

    rows: Rows
    weights: FloatArray
    groups: IntArray
    hits: IntArray
    archive: Archive
    tables: Tables
    loss: FloatArray
    judged: IntArray
    scratch: FloatArray
    buffers: FloatArray
    flips: IntArray


@njit(**INNER, **VIEWS)
def swap_total(
    near: NDArray[np.int32], d1: FloatArray, d2: FloatArray, gone: int, d: FloatArray, w: FloatArray, lanes: FloatArray
) -> float:
    """Return the cost without centre `gone` and with one at distances `d`, in a single pass.

    Added in a fixed order of eight lanes, so that one set has one cost, on every machine and whatever its parent was.
    """
    for lane in range(8):
        lanes[lane] = 0.0
    n = w.size
    whole = n - n % 8
    for i in range(0, whole, 8):
        for lane in range(8):
            t = i + lane
            lanes[lane] += w[t] * min(d2[t] if near[t] == gone else d1[t], d[t])
    for i in range(whole, n):
        lanes[i - whole] += w[i] * min(d2[i] if near[i] == gone else d1[i], d[i])
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))


@njit(**PART)
def evaluate(
    rows: Rows,
    weights: FloatArray,
    near: NDArray[np.int32],
    d1: FloatArray,
    second: NDArray[np.int32],
    d2: FloatArray,
    buffers: FloatArray,
    lanes: FloatArray,
    members: IntArray,
    inside: NDArray[np.uint8],
    removed: IntArray,
    added: IntArray,
) -> float:
    """Return the cost of a member, whose tables these are, without `removed` and with `added`."""
    best, buffer = buffers[0], buffers[1]
    swap = removed.size <= 1 and added.size == 1
    gone = removed[0] if swap and removed.size == 1 else -2
    if not swap:
        without(rows, members, inside, near, d1, second, d2, removed, best)
    d = best
    for c in added:
        d = row(rows, c, buffer)
        if not swap:
            for i in range(best.size):
                best[i] = min(best[i], d[i])
    if not swap:
        d1 = d2 = d = best
    return swap_total(near, d1, d2, gone, d, weights, lanes)


@njit(**INNER)
def count_hits(groups: IntArray, hits: IntArray, removed: IntArray, added: IntArray) -> None:
    """Count centres out of and into the balls that they hit."""
    for c in removed:
        if groups[c] >= 0:
            hits[groups[c]] -= 1
    for c in added:
        if groups[c] >= 0:
            hits[groups[c]] += 1


@njit(**PART)
def violations_after(groups: IntArray, hits: IntArray, removed: IntArray, added: IntArray) -> int:
    """Return how many critical balls the offspring misses; `hits` are those of its parent, before and after."""
    count_hits(groups, hits, removed, added)
    missed: Any = np.int64(0)  # a literal would be compiled once more, with whatever it is given to
    for h in hits:
        missed += h == 0
    count_hits(groups, hits, added, removed)
    return missed


@njit(**PART)
def least_change(
    weights: FloatArray,
    near: NDArray[np.int32],
    d1: FloatArray,
    d2: FloatArray,
    members: IntArray,
    loss: FloatArray,
    delta: FloatArray,
    judged: IntArray,
    version: int,
    d: FloatArray,
) -> float:
    """Return the least change of the cost over all swaps of the size-k member for the candidate at distances `d`.

    One pass for all k swaps, as FasterPAM evaluates them. Second distances are added and taken away again, so the
    value errs in proportion to their sum, and is used only where it is clear of that.
    """
    if judged[-1] != version:
        judged[-1] = version
        for t in range(members.size):
            loss[members[t]] = 0.0
        loss[-1] = 0.0
        for i in range(weights.size):
            loss[near[i]] += weights[i] * (d2[i] - d1[i])
            loss[-1] += weights[i] * (d2[i] - d1[i])
    gained = 0.0
    for i in range(weights.size):
        if d[i] < d1[i]:
            gained += weights[i] * (d[i] - d1[i])
            delta[near[i]] += weights[i] * (d1[i] - d2[i])
        elif d[i] < d2[i]:
            delta[near[i]] += weights[i] * (d[i] - d2[i])
    least = np.inf
    for t in range(members.size):
        c = members[t]
        least = min(least, loss[c] + delta[c])
        delta[c] = 0.0
    return least + gained


@njit(**INNER)
def rejects_swap(sums: Sums, out: int, new: int) -> bool:
    """Return whether the size-k member strictly dominates itself with centre `out` swapped for `new`.

    Once P has settled, nearly all relevant offspring are such swaps, and nearly all are rejected. A candidate that is
    met a second time while P stays the same is looked at with all centres at once; if no swap for it can help, that
    is remembered until P changes.
    """
    archive, tables = sums.archive, sums.tables
    groups, judged, weights = sums.groups, sums.judged, sums.weights
    counters, slot, loss = archive.counters, archive.slot, sums.loss
    k = slot.size - 1
    z = slot[k]
    hits = sums.hits[z]
    version = 4 * counters[VERSION]
    lost, won = groups[out], groups[new]
    missed = 0
    if lost != won:
        missed = int(lost >= 0 and hits[lost] == 1) - int(won >= 0 and hits[won] == 0)
    rejected = missed > 0
    if missed == 0:
        near, d1, d2 = tables.near[z], tables.d1[z], tables.d2[z]
        cost = -archive.value[z]
        d = row(sums.rows, new, sums.buffers[1])
        if judged[new] == version + 1 and k > 1:
            members = archive.members[z]
            change = least_change(weights, near, d1, d2, members, loss, sums.scratch, judged, counters[VERSION], d)
            rejected = change > 2.0**-48 * (d.size + 16) * (cost + loss[-1])
            judged[new] = version + (3 if rejected else 2)
        elif judged[new] < version:
            judged[new] = version + 1
        if not rejected:
            counters[EVALUATIONS] += 1
            rejected = swap_total(near, d1, d2, out, d, weights, tables.lanes) > cost
    return rejected


@njit(**INNER)
def step(sums: Sums, s: int, removed: IntArray, added: IntArray) -> bool:
    """Offer one offspring of the size-`s` member to P; return whether P changed."""
    archive, tables, rows = sums.archive, sums.tables, sums.rows
    slot, counters, groups = archive.slot, archive.counters, sums.groups
    k = slot.size - 1
    z = slot[s]
    parents = sums.hits[z]
    size = s - removed.size + added.size
    if size > k or size == 0:
        return False
    missed = violations_after(groups, parents, removed, added)
    if dominated(archive, size, missed, 0.0):  # worse even at cost 0: too many missed balls
        return False
    near, d1 = tables.near[z], tables.d1[z]
    second, d2 = tables.second[z], tables.d2[z]
    held, inside = archive.members[z, :s], archive.inside[z]
    weights, buffers, lanes = sums.weights, sums.buffers, tables.lanes
    cost = evaluate(rows, weights, near, d1, second, d2, buffers, lanes, held, inside, removed, added)
    counters[EVALUATIONS] += 1
    if dominated(archive, size, missed, -cost):
        return False
    members = archive.members[archive.free[counters[FREE]], :size]  # in place already, should it enter P
    offspring(archive.members, z, s, removed, added, members)
    if same_set(archive, size, members):
        return False
    old = slot[k]
    better = size == k and (
        old < 0
        or missed < archive.violations[old]
        or (missed == archive.violations[old] and -cost > archive.value[old])
    )
    new = insert(archive, size, missed, -cost, members)
    hits = sums.hits[new]
    for g in range(hits.size):
        hits[g] = parents[g]
    count_hits(groups, hits, removed, added)
    fill_tables(rows, tables, z, new, members, removed, added)
    if better:
        counters[IMPROVED] = counters[ITERATIONS]
    return True


@njit(**KERNEL, **VIEWS)
def advance(
    sums: Sums,
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

    Ends in the very iteration in which a feasible size-k solution costs at most `target` or, with `certified`, exists;
    with `sized`, in which the first size-k solution is found.
    """
    archive, groups, judged = sums.archive, sums.groups, sums.judged
    counters, slot, population = archive.counters, archive.slot, archive.sizes
    removed, added, hits = sums.flips[0], sums.flips[1], sums.hits
    k = slot.size - 1
    mean, count = relevant_probability(archive, law)
    z = slot[k]
    end = ending(counters, z >= 0, last, patience)
    while work > 0 and (mean > 0.0 or end < NEVER):  # one way out: every other costs compile time
        work -= 1
        wait = end if mean == 0.0 else skipped(state, mean)
        wait = min(wait, end - counters[ITERATIONS])
        population[0] += count * float(wait)
        counters[ITERATIONS] += wait
        if counters[ITERATIONS] == end:
            work = 0
        else:
            counters[ITERATIONS] += 1
            population[0] += count
            s = choose_parent(archive, law, mean, count, state)
            a, b = choose_flips(archive, law, s, state, removed, added)
            rejected = False
            if s == k and a == 1 and b == 1:
                new = added[0]
                group = groups[new]
                rejected = judged[new] == 4 * counters[VERSION] + 3 and (group < 0 or hits[z, group] > 0)
                if not rejected:
                    rejected = rejects_swap(sums, removed[0], new)
            if not rejected and step(sums, s, removed[:a], added[:b]):
                mean, count = relevant_probability(archive, law)
                z = slot[k]
                feasible = z >= 0 and archive.violations[z] == 0
                end = ending(counters, z >= 0, last, patience)
                if (sized and z >= 0) or (feasible and (certified or -archive.value[z] <= target)):
                    work = 0


@njit(**KERNEL)
def replay(sums: Sums, ranks: IntArray, starts: IntArray, flips: IntArray) -> None:
    """Run Algorithm 1 with given choices: the parent's rank by size, and the positions flipped."""
    archive = sums.archive
    for t in range(ranks.size):
        archive.counters[ITERATIONS] += 1
        s = ranked_parent(archive, ranks[t])
        positions = flips[starts[t] : starts[t + 1]]
        removed, added = given_flips(archive, s, positions)
        swap = s == archive.slot.size - 1 and removed.size == 1 and added.size == 1
        if added.size > 0 and not (swap and rejects_swap(sums, removed[0], added[0])):
            step(sums, s, removed, added)
