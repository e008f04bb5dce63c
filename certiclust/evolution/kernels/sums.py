"""Algorithm 1 for the sum problems: k-median, k-means, fair k-median."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.archive import (
    EVALUATIONS,
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
from certiclust.space.compiled import INNER, KERNEL, PART
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


@njit(**KERNEL)
def swap_total(
    near: NDArray[np.int32], d1: FloatArray, d2: FloatArray, gone: int, d: FloatArray, w: FloatArray
) -> float:
    """Return the cost without centre `gone` and with one at distances `d`, in a single pass.

    Added in a fixed order of eight lanes, so that one set has one cost, on every machine and whatever its parent was.
    """
    lanes = np.zeros(8)
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
    tables: Tables,
    buffers: FloatArray,
    members: IntArray,
    inside: NDArray[np.uint8],
    z: int,
    removed: IntArray,
    added: IntArray,
) -> float:
    """Return the cost of the member in slot `z` without `removed` and with `added`."""
    near, d1, d2 = tables.near[z], tables.d1[z], tables.d2[z]
    best, buffer = buffers[0], buffers[1]
    swap = removed.size <= 1 and added.size == 1
    gone = removed[0] if swap and removed.size == 1 else -2
    if not swap:
        without(rows, members, inside, near, d1, tables.second[z], d2, removed, best)
    d = best
    for c in added:
        d = row(rows, c, buffer)
        if not swap:
            for i in range(best.size):
                best[i] = min(best[i], d[i])
    if not swap:
        d1 = d2 = d = best
    return swap_total(near, d1, d2, gone, d, weights)


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
    missed = 0
    for h in hits:
        missed += h == 0
    count_hits(groups, hits, added, removed)
    return missed


@njit(**PART)
def least_change(sums: Sums, z: int, d: FloatArray) -> float:
    """Return the least change of the cost over all swaps of the size-k member for the candidate at distances `d`.

    One pass for all k swaps, as FasterPAM evaluates them. Second distances are added and taken away again, so the
    value errs in proportion to their sum, and is used only where it is clear of that.
    """
    near, d1, d2 = sums.tables.near[z], sums.tables.d1[z], sums.tables.d2[z]
    w, loss, delta = sums.weights, sums.loss, sums.scratch
    k = sums.archive.slot.size - 1
    version = sums.archive.counters[VERSION]
    if sums.judged[-1] != version:
        sums.judged[-1] = version
        for t in range(k):
            loss[sums.archive.members[z, t]] = 0.0
        loss[-1] = 0.0
        for i in range(w.size):
            loss[near[i]] += w[i] * (d2[i] - d1[i])
            loss[-1] += w[i] * (d2[i] - d1[i])
    gained = 0.0
    for i in range(w.size):
        if d[i] < d1[i]:
            gained += w[i] * (d[i] - d1[i])
            delta[near[i]] += w[i] * (d1[i] - d2[i])
        elif d[i] < d2[i]:
            delta[near[i]] += w[i] * (d[i] - d2[i])
    least = np.inf
    for t in range(k):
        c = sums.archive.members[z, t]
        least = min(least, loss[c] + delta[c])
        delta[c] = 0.0
    return least + gained


@njit(**PART)
def rejects_swap(sums: Sums, out: int, new: int) -> bool:
    """Return whether the size-k member strictly dominates itself with centre `out` swapped for `new`.

    Once P has settled, nearly all relevant offspring are such swaps, and nearly all are rejected. A candidate that is
    met a second time while P stays the same is looked at with all centres at once; if no swap for it can help, that
    is remembered until P changes.
    """
    k = sums.archive.slot.size - 1
    z = sums.archive.slot[k]
    version = 4 * sums.archive.counters[VERSION]
    lost, won = sums.groups[out], sums.groups[new]
    missed = 0
    if lost != won:
        missed = int(lost >= 0 and sums.hits[z, lost] == 1) - int(won >= 0 and sums.hits[z, won] == 0)
    if missed != 0:
        return missed > 0
    cost = -sums.archive.value[z]
    d = row(sums.rows, new, sums.buffers[1])
    if sums.judged[new] == version + 1 and k > 1:
        change = least_change(sums, z, d)
        clear = change > 2.0**-48 * (d.size + 16) * (cost + sums.loss[-1])
        sums.judged[new] = version + (3 if clear else 2)
        if clear:
            return True
    elif sums.judged[new] < version:
        sums.judged[new] = version + 1
    tables = sums.tables
    sums.archive.counters[EVALUATIONS] += 1
    return swap_total(tables.near[z], tables.d1[z], tables.d2[z], out, d, sums.weights) > cost


@njit(**PART)
def step(sums: Sums, s: int, removed: IntArray, added: IntArray) -> bool:
    """Offer one offspring of the size-`s` member to P; return whether P changed."""
    archive = sums.archive
    k = archive.slot.size - 1
    z = archive.slot[s]
    size = s - removed.size + added.size
    if size > k or size == 0:
        return False
    violations = violations_after(sums.groups, sums.hits[z], removed, added)
    if dominated(archive, size, violations, 0.0):  # worse even at cost 0: too many missed balls
        return False
    held, inside = archive.members[z, :s], archive.inside[z]
    cost = evaluate(sums.rows, sums.weights, sums.tables, sums.buffers, held, inside, z, removed, added)
    archive.counters[EVALUATIONS] += 1
    if dominated(archive, size, violations, -cost):
        return False
    members = np.empty(size, dtype=np.int64)
    offspring(archive.members, z, s, removed, added, members)
    if same_set(archive, size, members):
        return False
    old = archive.slot[k]
    better = size == k and (
        old < 0
        or violations < archive.violations[old]
        or (violations == archive.violations[old] and -cost > archive.value[old])
    )
    new = insert(archive, size, violations, -cost, members)
    hits = sums.hits[new]
    for g in range(hits.size):
        hits[g] = sums.hits[z, g]
    count_hits(sums.groups, hits, removed, added)
    fill_tables(sums.rows, sums.tables, z, new, members, removed, added)
    if better:
        archive.counters[IMPROVED] = archive.counters[ITERATIONS]
    return True


@njit(**KERNEL)
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
    archive = sums.archive
    counters = archive.counters
    k = archive.slot.size - 1
    removed, added = np.empty(k + 1, dtype=np.int64), np.empty(k + 1, dtype=np.int64)
    mean, count = relevant_probability(archive, law)
    z = archive.slot[k]
    end = ending(counters, z >= 0, last, patience)
    for _ in range(work):
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
        if s == k and a == 1 and b == 1:
            group = sums.groups[added[0]]
            if sums.judged[added[0]] == 4 * counters[VERSION] + 3 and (group < 0 or sums.hits[z, group] > 0):
                continue
            if rejects_swap(sums, removed[0], added[0]):
                continue
        if step(sums, s, removed[:a], added[:b]):
            mean, count = relevant_probability(archive, law)
            z = archive.slot[k]
            feasible = z >= 0 and archive.violations[z] == 0
            end = ending(counters, z >= 0, last, patience)
            if (sized and z >= 0) or (feasible and (certified or -archive.value[z] <= target)):
                break


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
