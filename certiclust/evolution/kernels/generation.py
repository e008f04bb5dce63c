"""The loop that every composed algorithm runs: choose, reproduce, evaluate, and survive once a generation is complete.

What depends on the problem is asked through two functions, which numba chooses by the type of the problem's state:
`judge` (f1 of an offspring from its parent's tables, and what is worth remembering of it) and `store` (its own tables).
`SumTables` and `Maxima` are the problems of the paper; any other state brings its own `value`, `violations` and `store`
(see `certiclust.evolution.own`).

Every field of a tuple is compiled again wherever the whole tuple is passed, copied or dropped, and this is what a first
fit waits for. So fields are taken out once, by at most three in a statement (a longer one is compiled as a tuple), and
functions get the arrays that they need.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from certiclust.evolution.kernels import maxima as max_kernels
from certiclust.evolution.kernels import sums as sum_kernels
from certiclust.evolution.kernels.archive import (
    EVALUATIONS,
    FREE,
    ITERATIONS,
    Archive,
    Tables,
    ending,
    fill_tables,
    offspring,
)
from certiclust.evolution.kernels.choice import flips_of
from certiclust.evolution.kernels.maxima import COST, H, Maxima
from certiclust.evolution.kernels.population import (
    ASIDE,
    BORN,
    BROOD,
    PEOPLE,
    READY,
    Lists,
    Population,
    note_best,
)
from certiclust.evolution.kernels.reproduction import choose, cross
from certiclust.evolution.kernels.rng import State, below, uniform
from certiclust.evolution.laws import FlipLaw
from certiclust.evolution.recipe import ARCHIVE, BALANCED, COMMA, DECOMPOSITION, Recipe
from certiclust.space.compiled import ARRAYS, KERNEL, PART, VIEWS
from certiclust.space.kernels import Rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class SumTables(NamedTuple):
    """A sum problem and what is known of the sets in slots: the part of `Sums` that any algorithm needs."""

    rows: Rows
    weights: FloatArray
    groups: IntArray
    hits: IntArray
    tables: Tables
    buffers: FloatArray


#: In place of the number of removals: more than k centres, so the offspring is not considered, as in Algorithm 1.
TOO_LARGE = -1


def judge(
    state: Any,
    archive: Archive,
    sizes: IntArray,
    best: IntArray,
    record: FloatArray,
    z: int,
    new: int,
    removed: IntArray,
    added: IntArray,
) -> tuple[float, bool]:
    """Write f1 of slot `new`: the set of slot `z` without `removed` and with `added`; remember it if it is a record.

    Its size and members are in place. Return the least cost seen of a feasible size-k solution, and whether the
    theorem's condition was: f1 >= 0 at size k for the max problems, all constraints kept for the others.
    """
    raise NotImplementedError("compiled code only")


def store(state: Any, members: IntArray, sizes: IntArray, z: int, new: int, removed: IntArray, added: IntArray) -> None:
    """Write the tables of slot `new` from those of its parent `z`."""
    raise NotImplementedError("compiled code only")


@overload(judge, strict=False, jit_options=VIEWS)
def _judge_lean(
    state: Any, archive: Any, sizes: Any, best: Any, record: Any, z: Any, new: Any, removed: Any, added: Any
) -> Any:
    return _judge_sum if state.instance_class is SumTables else None


@overload(judge, strict=False, jit_options=ARRAYS)
def _judge(
    state: Any, archive: Any, sizes: Any, best: Any, record: Any, z: Any, new: Any, removed: Any, added: Any
) -> Any:
    kind = state.instance_class
    if kind is SumTables:
        return None
    if kind is Maxima:
        return _judge_maximum
    value = njit(**PART)(kind.value)
    violations = njit(**PART)(getattr(kind, "violations", _no_violations))

    def own(
        state: Any,
        archive: Archive,
        sizes: IntArray,
        best: IntArray,
        record: FloatArray,
        z: int,
        new: int,
        removed: IntArray,
        added: IntArray,
    ) -> tuple[float, bool]:
        missed = violations(state, z, removed, added)
        return note_best(archive, sizes, best, record, new, missed, value(state, z, removed, added))

    return own


@overload(store, strict=False, jit_options=VIEWS)
def _store_lean(state: Any, members: Any, sizes: Any, z: Any, new: Any, removed: Any, added: Any) -> Any:
    return _store_sum if state.instance_class is SumTables else None


@overload(store, strict=False, jit_options=ARRAYS)
def _store(state: Any, members: Any, sizes: Any, z: Any, new: Any, removed: Any, added: Any) -> Any:
    kind = state.instance_class
    if kind is SumTables:
        return None
    if kind is Maxima:
        return _store_maximum
    tables = njit(**PART)(kind.store)
    return lambda state, members, sizes, z, new, removed, added: tables(state, z, new, removed, added)


def _no_violations(state: Any, slot: int, removed: IntArray, added: IntArray) -> int:
    return 0


def _judge_sum(
    state: SumTables,
    archive: Archive,
    sizes: IntArray,
    best: IntArray,
    record: FloatArray,
    z: int,
    new: int,
    removed: IntArray,
    added: IntArray,
) -> tuple[float, bool]:
    missed = sum_kernels.violations_after(state.groups, state.hits[z], removed, added)
    members, inside, tables = archive.members[z, : sizes[z]], archive.inside[z], state.tables
    near, d1 = tables.near[z], tables.d1[z]
    second, d2 = tables.second[z], tables.d2[z]
    rows, weights, buffers = state.rows, state.weights, state.buffers
    cost = sum_kernels.evaluate(
        rows, weights, near, d1, second, d2, buffers, tables.lanes, members, inside, removed, added
    )
    return note_best(archive, sizes, best, record, new, missed, -cost)


def _judge_maximum(
    state: Maxima,
    archive: Archive,
    sizes: IntArray,
    best: IntArray,
    record: FloatArray,
    z: int,
    new: int,
    removed: IntArray,
    added: IntArray,
) -> tuple[float, bool]:
    size, rows, tables = sizes[new], state.rows, state.tables
    members, inside = archive.members[z, : sizes[z]], archive.inside[z]
    near, d1 = tables.near[z], tables.d1[z]
    second, d2 = tables.second[z], tables.d2[z]
    separation, radius, farthest = np.inf, np.inf, 0
    if size > 1:
        separation = max_kernels.separation_after(
            rows, state.separation[z], members, inside, near, d1, second, d2, removed, added
        )
    if size > 0:
        radius, farthest = max_kernels.evaluate(
            rows, state.buffers, members, inside, near, d1, second, d2, removed, added
        )
        archive.counters[EVALUATIONS] += 1
    state.separation[new] = separation
    state.radius[new] = radius
    state.farthest[new] = farthest
    archive.value[new] = separation - radius if size > 1 else np.inf
    if size == best.size:
        max_kernels.note_records(state, archive.members[new, :size], separation, radius, farthest)
    return state.records[COST], state.records[H] >= 0.0


def _store_sum(
    state: SumTables, members: IntArray, sizes: IntArray, z: int, new: int, removed: IntArray, added: IntArray
) -> None:
    groups, hits, parents = state.groups, state.hits[new], state.hits[z]
    for g in range(hits.size):
        hits[g] = parents[g]
    sum_kernels.count_hits(groups, hits, removed, added)
    fill_tables(state.rows, state.tables, z, new, members[new, : sizes[new]], removed, added)


def _store_maximum(
    state: Maxima, members: IntArray, sizes: IntArray, z: int, new: int, removed: IntArray, added: IntArray
) -> None:
    size = sizes[new]
    fill_tables(state.rows, state.tables, z, new, members[new, :size], removed, added)
    if size > 0:
        tables = state.tables
        max_kernels.describe(members[new, :size], tables.near[new], tables.d2[new], state.loss[new], state.lossy[new])


@njit(**PART)
def deliver(
    free: IntArray,
    counters: IntArray,
    parent: IntArray,
    counts: IntArray,
    moves: IntArray,
    sizes: IntArray,
    members: IntArray,
    z: int,
    removed: IntArray,
    added: IntArray,
) -> int:
    """Put an offspring of slot `z` into a slot of its own and return the slot."""
    a, b = removed.size, added.size
    new = free[counters[FREE]]
    counters[FREE] -= 1
    parent[new] = z
    counts[new] = a
    sizes[new] = sizes[z] - a + b
    for t in range(a):
        moves[new, t] = removed[t]
    for t in range(b):
        moves[new, a + t] = added[t]
    offspring(members, z, sizes[z], removed, added, members[new])
    return new


@njit(**PART)
def release(
    lists: Lists,
    holders: IntArray,
    parent: IntArray,
    inside: NDArray[np.uint8],
    members: IntArray,
    sizes: IntArray,
    free: IntArray,
    counters: IntArray,
    before: int,
) -> None:
    """Make the chosen ones the next P, and give back the slots that nobody holds; P had `before` entries."""
    people, brood = lists.people, lists.brood
    chosen, tally = lists.chosen, lists.tally
    for t in range(before + tally[BROOD]):
        z = people[t] if t < before else brood[t - before]
        holders[z] -= 1
        if holders[z] == 0:
            if parent[z] < 0:  # it has tables, and its members are marked
                for i in range(sizes[z]):
                    inside[z, members[z, i]] = 0
            parent[z] = -1
            counters[FREE] += 1
            free[counters[FREE]] = z
    for t in range(tally[PEOPLE] + tally[ASIDE]):
        people[t] = chosen[t]
    tally[READY] = 0


@njit(**KERNEL, **VIEWS)
def advance(
    problem: Any,
    population: Population,
    recipe: Recipe,
    extras: bool | None,
    survive: Callable[..., None],
    law: FlipLaw,
    state: State,
    found: bool,
    work: int,
    last: int,
    patience: int,
    target: float,
    certified: bool,
    sized: bool,
) -> None:
    """Run a composed algorithm for `work` offspring, or to iteration `last`, or `patience` iterations without progress.

    An iteration is one offspring. Ends in the very iteration in which a feasible size-k solution costs at most `target`
    or, with `certified`, the theorem's condition is seen or, with `sized`, the first size-k solution is found; `found`
    says if one was. A generation may be left incomplete; the next call goes on with it. `extras` is None if parents
    are uniform and nothing is crossed: numba then leaves out what other compositions need. `survive` is the rule of
    survivor selection.
    """
    archive, f = population.archive, population.objectives
    lists, room = population.lists, population.room
    people, brood, chosen = lists.people, lists.brood, lists.chosen
    holders, parent, tally = population.holders, population.parent, lists.tally
    moves, counts = population.moves, population.counts
    best, record = population.best, population.record
    sizes, violations, major = f.size, f.violations, f.major
    members, inside, free = archive.members, archive.inside, archive.free
    counters, mean = archive.counters, archive.sizes
    idle, relevant = law.idle, law.relevant
    k = best.size
    removed, added = population.flips[0], population.flips[1]
    clones_matter = recipe.survival != ARCHIVE and recipe.survival != DECOMPOSITION
    end = ending(counters, found, last, patience)
    while min(work, end - counters[ITERATIONS]) > 0:  # one way out: every other costs compile time
        work -= 1
        counters[ITERATIONS] += 1
        mean[0] += tally[PEOPLE]
        a = b = 0
        crossed = False
        if extras is None:
            z = people[below(state, tally[PEOPLE])]
        else:
            z = choose(f, lists, room, recipe, state)
            crossed = uniform(state) < recipe.crossover_rate
            if crossed:
                a, b = cross(archive, lists, sizes, z, recipe.crossover == BALANCED, state, removed, added)
        s = sizes[z]
        if not crossed:
            u = uniform(state) - idle[s]
            if u >= relevant[s]:
                a = TOO_LARGE
            elif u >= 0.0:
                a, b = flips_of(members, inside, law, z, s, u / relevant[s], state, removed, added)
        tally[BORN] += 1
        child = -1
        cost, enough = np.inf, False
        if a + b > 0:
            lost, gained = removed[:a], added[:b]
            child = deliver(free, counters, parent, counts, moves, sizes, members, z, lost, gained)
            cost, enough = judge(problem, archive, sizes, best, record, z, child, lost, gained)
            major[child] = (sizes[child] << 32) - violations[child]
        elif clones_matter and a == 0:
            child = z
        if child >= 0:
            brood[tally[BROOD]] = child
            holders[child] += 1
            tally[BROOD] += 1
        if tally[BORN] == recipe.offspring:
            if tally[BROOD] > 0 and recipe.survival != COMMA and holders[brood[0]] == tally[PEOPLE] + tally[BROOD]:
                holders[brood[0]] -= tally[BROOD]  # all are one and the same set, and so is whatever survives
            elif tally[BROOD] > 0:
                before = tally[PEOPLE] + tally[ASIDE]
                survive(f, lists, room, recipe, k, state)
                for t in range(tally[PEOPLE] + tally[ASIDE]):
                    x = chosen[t]
                    holders[x] += 1
                    if parent[x] >= 0:  # it has survived, and gets tables
                        moved, gone = moves[x], counts[x]
                        more = gone + gone + sizes[x] - sizes[parent[x]]
                        store(problem, members, sizes, parent[x], x, moved[:gone], moved[gone:more])
                        parent[x] = -1
                        for i in range(sizes[x]):
                            inside[x, members[x, i]] = 1
                release(lists, holders, parent, inside, members, sizes, free, counters, before)
            tally[BORN] = tally[BROOD] = 0
        if a + b > 0 and s - a + b == k:
            end = ending(counters, True, last, patience)
            if sized or cost <= target or (certified and enough):
                work = 0


@cache
def advance_own(kind: type) -> Callable[..., None]:
    """Return the loop for the tables of a problem of one's own, not kept on disk: a changed method would be missed."""
    return njit(**{**KERNEL, **VIEWS, "cache": False})(advance.py_func)
