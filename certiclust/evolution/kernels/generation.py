"""The loop that every composed algorithm runs: choose, reproduce, evaluate, and survive once a generation is complete.

What depends on the problem is asked through three functions, which numba chooses by the type of the problem's state:
`judge` (f1 of an offspring from its parent's tables, and what is worth remembering of it), `store` (its own tables) and
`reached` (what was seen at size k). `Sums` and `Maxima` are the problems of the paper; any other state brings its own
`value`, `violations` and `store` (see `certiclust.evolution.own`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from certiclust.evolution.kernels import maxima as max_kernels
from certiclust.evolution.kernels import sums as sum_kernels
from certiclust.evolution.kernels.archive import EVALUATIONS, ITERATIONS, ending, fill_tables, offspring
from certiclust.evolution.kernels.choice import flips_of
from certiclust.evolution.kernels.maxima import COST, H, Maxima
from certiclust.evolution.kernels.population import (
    ASIDE,
    BORN,
    BROOD,
    PEOPLE,
    READY,
    VALUE,
    VIOLATIONS,
    Population,
    free_slot,
    give_back,
    note_best,
)
from certiclust.evolution.kernels.reproduction import choose, cross
from certiclust.evolution.kernels.rng import State, below, uniform
from certiclust.evolution.kernels.sums import Sums
from certiclust.evolution.kernels.survival import survive
from certiclust.evolution.laws import FlipLaw
from certiclust.evolution.recipe import ARCHIVE, BALANCED, COMMA, DECOMPOSITION, Recipe
from certiclust.space.compiled import KERNEL, PART

IntArray = NDArray[np.int64]

#: In place of the number of removals: more than k centres, so the offspring is not considered, as in Algorithm 1.
TOO_LARGE = -1


def judge(state: Any, population: Population, z: int, new: int, removed: IntArray, added: IntArray) -> None:
    """Write f1 of slot `new`: the set of slot `z` without `removed` and with `added`; remember it if it is a record.

    Its size and members are in place.
    """
    raise NotImplementedError("compiled code only")


def store(state: Any, population: Population, z: int, new: int, removed: IntArray, added: IntArray) -> None:
    """Write the tables of slot `new` from those of its parent `z`."""
    raise NotImplementedError("compiled code only")


def reached(state: Any, population: Population) -> tuple[bool, float, bool]:
    """Return whether a size-k solution was seen, the least cost of a feasible one, and if the theorem's condition was.

    The condition is f1 >= 0 at size k for the max problems, all constraints kept for the others.
    """
    raise NotImplementedError("compiled code only")


@overload(judge, strict=False)
def _judge(state: Any, population: Any, z: Any, new: Any, removed: Any, added: Any) -> Any:
    kind = state.instance_class
    if kind is Sums:
        return _judge_sum
    if kind is Maxima:
        return _judge_maximum
    value = njit(**PART)(kind.value)
    violations = njit(**PART)(getattr(kind, "violations", _no_violations))

    def own(state: Any, population: Population, z: int, new: int, removed: IntArray, added: IntArray) -> None:
        population.archive.violations[new] = violations(state, z, removed, added)
        population.archive.value[new] = value(state, z, removed, added)
        population.archive.counters[EVALUATIONS] += 1
        note_best(population.archive, population.objectives, population.best, population.record, new)

    return own


@overload(store, strict=False)
def _store(state: Any, population: Any, z: Any, new: Any, removed: Any, added: Any) -> Any:
    kind = state.instance_class
    if kind is Sums:
        return _store_sum
    if kind is Maxima:
        return _store_maximum
    tables = njit(**PART)(kind.store)
    return lambda state, population, z, new, removed, added: tables(state, z, new, removed, added)


@overload(reached, strict=False)
def _reached(state: Any, population: Any) -> Any:
    return _reached_maximum if state.instance_class is Maxima else _reached_value


def _no_violations(state: Any, slot: int, removed: IntArray, added: IntArray) -> int:
    return 0


def _judge_sum(state: Sums, population: Population, z: int, new: int, removed: IntArray, added: IntArray) -> None:
    archive = state.archive
    archive.violations[new] = sum_kernels.violations_after(state.groups, state.hits[z], removed, added)
    archive.value[new] = -sum_kernels.evaluate(state, z, population.objectives.size[z], removed, added)
    note_best(archive, population.objectives, population.best, population.record, new)


def _judge_maximum(state: Maxima, population: Population, z: int, new: int, removed: IntArray, added: IntArray) -> None:
    archive = state.archive
    s, size = population.objectives.size[z], population.objectives.size[new]
    separation, radius, farthest = np.inf, np.inf, 0
    if size > 1:
        separation = max_kernels.separation_after(state, z, s, removed, added)
    if size > 0:
        radius, farthest = max_kernels.evaluate(state, z, s, removed, added)
    state.separation[new], state.radius[new], state.farthest[new] = separation, radius, farthest
    archive.value[new] = separation - radius if size > 1 else np.inf
    if size == population.best.size:
        max_kernels.note_records(state, archive.members[new, :size], separation, radius, farthest)


def _store_sum(state: Sums, population: Population, z: int, new: int, removed: IntArray, added: IntArray) -> None:
    hits = state.hits[new]
    for g in range(hits.size):
        hits[g] = state.hits[z, g]
    sum_kernels.count_hits(state.groups, hits, removed, -1)
    sum_kernels.count_hits(state.groups, hits, added, 1)
    members = state.archive.members[new, : population.objectives.size[new]]
    fill_tables(state.rows, state.tables, z, new, members, removed, added)


def _store_maximum(state: Maxima, population: Population, z: int, new: int, removed: IntArray, added: IntArray) -> None:
    size = population.objectives.size[new]
    fill_tables(state.rows, state.tables, z, new, state.archive.members[new, :size], removed, added)
    if size > 0:
        max_kernels.describe(state, new, size, state.separation[new], state.radius[new], state.farthest[new])


def _reached_value(state: Any, population: Population) -> tuple[bool, float, bool]:
    feasible = population.record[VIOLATIONS] == 0.0
    cost = -population.record[VALUE] if feasible else np.inf
    return population.record[VIOLATIONS] < np.inf, cost, feasible


def _reached_maximum(state: Maxima, population: Population) -> tuple[bool, float, bool]:
    cost = state.records[COST]
    return cost < np.inf, cost, state.records[H] >= 0.0


@njit(**PART)
def deliver(problem: Any, population: Population, z: int, size: int, removed: IntArray, added: IntArray) -> int:
    """Put an offspring of slot `z` into a slot of its own, evaluate it and return the slot."""
    f, archive = population.objectives, population.archive
    new = free_slot(archive)
    population.parent[new] = z
    population.counts[new, 0], population.counts[new, 1] = removed.size, added.size
    for t in range(removed.size):
        population.moves[new, t] = removed[t]
    for t in range(added.size):
        population.moves[new, removed.size + t] = added[t]
    f.size[new] = size
    offspring(archive, z, f.size[z], removed, added, archive.members[new])
    judge(problem, population, z, new, removed, added)
    f.major[new] = (size << 32) - f.violations[new]
    return new


@njit(**PART)
def settle(problem: Any, population: Population, before: int) -> None:
    """Make the chosen ones the next P: those without tables get them, and slots that nobody holds are given back.

    `before` is how many entries P had.
    """
    archive, lists = population.archive, population.lists
    chosen, tally, holders, parent = lists.chosen, lists.tally, population.holders, population.parent
    after = tally[PEOPLE] + tally[ASIDE]
    for t in range(after):
        z = chosen[t]
        holders[z] += 1
        if parent[z] >= 0:
            a, b = population.counts[z, 0], population.counts[z, 1]
            moves = population.moves[z]
            store(problem, population, parent[z], z, moves[:a], moves[a : a + b])
            parent[z] = -1
            for i in range(population.objectives.size[z]):
                archive.inside[z, archive.members[z, i]] = 1
    for t in range(before + tally[BROOD]):
        z = lists.people[t] if t < before else lists.brood[t - before]
        holders[z] -= 1
        if holders[z] == 0:
            give_back(archive, parent, population.objectives.size[z], z)
    for t in range(after):
        lists.people[t] = chosen[t]
    tally[READY] = 0


@njit(**KERNEL)
def advance(
    problem: Any,
    population: Population,
    recipe: Recipe,
    extras: bool | None,
    law: FlipLaw,
    state: State,
    work: int,
    last: int,
    patience: int,
    target: float,
    certified: bool,
    sized: bool,
) -> None:
    """Run a composed algorithm for `work` offspring, or to iteration `last`, or `patience` iterations without progress.

    An iteration is one offspring. Ends in the very iteration in which a feasible size-k solution costs at most `target`
    or, with `certified`, the theorem's condition is seen or, with `sized`, the first size-k solution is found. A
    generation may be left incomplete; the next call goes on with it. `extras` is None if parents are uniform and
    nothing is crossed: numba then leaves out what other compositions need.
    """
    archive, f, lists, room = population.archive, population.objectives, population.lists, population.room
    tally, people, brood, holders, sizes = lists.tally, lists.people, lists.brood, population.holders, f.size
    counters, mean = archive.counters, archive.sizes
    idle, relevant = law.idle, law.relevant
    k = population.best.size
    removed, added = np.empty(k + 1, dtype=np.int64), np.empty(k + 1, dtype=np.int64)
    clones_matter = recipe.survival != ARCHIVE and recipe.survival != DECOMPOSITION
    end = ending(counters, reached(problem, population)[0], last, patience)
    for _ in range(work):
        if counters[ITERATIONS] >= end:
            break
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
                a, b = flips_of(archive, law, z, s, u / relevant[s], state, removed, added)
        tally[BORN] += 1
        child = -1
        if a + b > 0:
            child = deliver(problem, population, z, s - a + b, removed[:a], added[:b])
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
                settle(problem, population, before)
            tally[BORN] = tally[BROOD] = 0
        if a + b > 0 and s - a + b == k:
            found, cost, enough = reached(problem, population)
            end = ending(counters, found, last, patience)
            if sized or cost <= target or (certified and enough):
                break


@cache
def advance_own(kind: type) -> Callable[..., None]:
    """Return the loop for the tables of a problem of one's own, not kept on disk: a changed method would be missed."""
    return njit(**{**KERNEL, "cache": False})(advance.py_func)
