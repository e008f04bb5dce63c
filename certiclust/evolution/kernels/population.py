"""A population of slots: evaluated sets with their tables, shared by all their clones.

Algorithms other than Algorithm 1 hold many copies of few sets. A set lies in one slot of the `Archive`, with its value,
its members and the problem's tables; P and the brood are lists of slots, and a slot is given back when no list holds
it any more. An offspring is evaluated from its parent's tables. Its own are made only once it has survived.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.archive import EVALUATIONS, IMPROVED, ITERATIONS, Archive
from certiclust.evolution.recipe import ARCHIVE, Recipe
from certiclust.space.compiled import INNER, PART

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Positions in `tally`: members of P, members kept aside (MOEA/D's external archive), offspring made in this generation,
# those of them that are not too large, and whether the chances of the parents are those of the present P.
PEOPLE, ASIDE, BORN, BROOD, READY = 0, 1, 2, 3, 4
# Positions in `record`: violations and f1 of the best size-k solution seen.
VIOLATIONS, VALUE = 0, 1


class Objectives(NamedTuple):
    """What survival compares, per slot: f2 = `size`, and f1 = (minus `violations`, `value`), lexicographically.

    `major` is ``2**32 * size - violations``, so that (major, value) sorts by size and then by f1.
    """

    size: IntArray
    violations: IntArray
    value: FloatArray
    major: IntArray


class Lists(NamedTuple):
    """P, the `brood` of the present generation and `chosen`, the next P, as lists of slots; lengths are in `tally`."""

    people: IntArray
    brood: IntArray
    chosen: IntArray
    tally: IntArray


class Room(NamedTuple):
    """What ranking works in, one place for each entry of a list; `served` for each reference direction.

    `seen` is the range of the finite values of f1 so far.
    """

    order: IntArray
    buffer: IntArray
    front: IntArray
    line: IntArray
    level: FloatArray
    score: FloatArray
    chances: FloatArray
    served: IntArray
    seen: FloatArray


class Population(NamedTuple):
    """P and its slots.

    Per slot: the set itself in `archive`, its `objectives`, `holders` (how many entries of the lists are this slot),
    `parent` (the slot that a set without tables was made from, -1 once it has its own) with its `moves` (removed, then
    added) and the `counts` of those removed. What an offspring loses and gains is drawn
    into the two rows of `flips`. `best` is the best size-k set seen, with its f1 in `record`.
    """

    archive: Archive
    objectives: Objectives
    lists: Lists
    room: Room
    holders: IntArray
    parent: IntArray
    moves: IntArray
    counts: IntArray
    flips: IntArray
    best: IntArray
    record: FloatArray


def new_population(archive: Archive, k: int, recipe: Recipe, aside: int) -> Population:
    """Return P with copies of the empty set, which is in slot 0 of the archive, and so much room for others aside."""
    slots = archive.value.size
    entries = recipe.members + recipe.offspring + aside
    copies = 1 if recipe.survival == ARCHIVE else recipe.members

    def integers() -> IntArray:
        return np.zeros(entries, dtype=np.int64)

    major = np.zeros(slots, dtype=np.int64)
    major[0] = -archive.violations[0]
    population = Population(
        archive=archive,
        objectives=Objectives(np.zeros(slots, dtype=np.int64), archive.violations, archive.value, major),
        lists=Lists(integers(), integers(), integers(), np.zeros(5, dtype=np.int64)),
        room=Room(
            order=integers(),
            buffer=integers(),
            front=integers(),
            line=integers(),
            level=np.zeros(entries),
            score=np.zeros(entries),
            chances=np.zeros(entries),
            served=np.zeros((2, recipe.references), dtype=np.int64),
            seen=np.array([np.inf, -np.inf]),
        ),
        holders=np.zeros(slots, dtype=np.int64),
        parent=np.full(slots, -1, dtype=np.int64),
        moves=np.empty((slots, 2 * k), dtype=np.int64),
        counts=np.zeros(slots, dtype=np.int64),
        flips=np.empty((2, k + 1), dtype=np.int64),
        best=np.zeros(k, dtype=np.int64),
        record=np.array([np.inf, -np.inf]),
    )
    population.lists.tally[PEOPLE] = population.holders[0] = copies
    return population


@njit(**INNER)
def larger_f1(f: Objectives, x: int, y: int) -> bool:
    """Return whether f1 of slot `x` is larger than that of slot `y`."""
    if f.violations[x] != f.violations[y]:
        return f.violations[x] < f.violations[y]
    return f.value[x] > f.value[y]


@njit(**PART)
def note_best(
    archive: Archive, sizes: IntArray, best: IntArray, record: FloatArray, z: int, violations: int, value: float
) -> tuple[float, bool]:
    """Write f1 of slot `z`, and remember the set in it if it has size k and is the best such set so far, and when.

    Return the cost of the best size-k set without violations, infinite if there is none yet, and whether there is.
    """
    members, counters = archive.members, archive.counters
    archive.violations[z], archive.value[z] = violations, value
    counters[EVALUATIONS] += 1
    same = violations == record[VIOLATIONS]
    if sizes[z] == best.size and (violations < record[VIOLATIONS] or (same and value > record[VALUE])):
        record[VIOLATIONS] = violations
        record[VALUE] = value
        for t in range(best.size):
            best[t] = members[z, t]
        counters[IMPROVED] = counters[ITERATIONS]
    feasible = record[VIOLATIONS] == 0.0
    return -record[VALUE] if feasible else np.inf, feasible
