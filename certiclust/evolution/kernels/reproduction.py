"""Which parent, and how two parents are crossed, on a population of slots."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.archive import Archive
from certiclust.evolution.kernels.population import PEOPLE, READY, Lists, Objectives, Room, larger_f1
from certiclust.evolution.kernels.ranking import contributions, crowding, flatten, fronts, line_of, shuffle, sort_down
from certiclust.evolution.kernels.rng import State, below, uniform
from certiclust.evolution.recipe import BEST_BIASED, BY_CROWDING, UNIFORM, Recipe
from certiclust.space.compiled import INNER, PART

IntArray = NDArray[np.int64]


@njit(**PART)
def find_best(f: Objectives, lists: Lists, room: Room, threshold: float) -> None:
    """Put the best member first in `line`: the largest with f1 of at least the threshold, of those the best in f1."""
    people = lists.people
    best = -1
    for t in range(lists.tally[PEOPLE]):
        z = people[t]
        if f.value[z] < threshold:
            continue
        if best < 0 or f.size[z] > f.size[best] or (f.size[z] == f.size[best] and larger_f1(f, z, best)):
            best = z
    room.line[0] = best


@njit(**PART)
def rank_by_diversity(f: Objectives, lists: Lists, room: Room, by_crowding: bool, state: State) -> None:
    """Sort P in `line` by front, then diversity, ties at random, and write the power-law chances of the ranks."""
    order, front, line = room.order, room.front, room.line
    count = lists.tally[PEOPLE]
    for t in range(count):
        order[t] = lists.people[t]
    shuffle(order, count, state)
    sort_down(order, count, f.major, f.value, room.buffer)
    number = fronts(f, order, count, front, room.buffer)
    flatten(f, order, count, room.level)
    for which in range(number):
        length = line_of(front, count, which, line)
        if by_crowding:
            crowding(f, order, line, length, room.level, room.score)
        else:
            contributions(f, order, line, length, room.level, room.score)
    for t in range(count):
        line[t] = t
        front[t] = -front[t]
    shuffle(line, count, state)
    sort_down(line, count, front, room.score, room.buffer)
    total = 0.0
    for t in range(count):
        line[t] = order[line[t]]
        total += 1.0 / (t + 1.0) ** 2
        room.chances[t] = total


@njit(**INNER)
def choose(f: Objectives, lists: Lists, room: Room, recipe: Recipe, state: State) -> int:
    """Draw a parent and return its slot.

    What the rule needs to know of P is computed once for as long as P stays.
    """
    count = lists.tally[PEOPLE]
    if recipe.selection == UNIFORM:
        return lists.people[below(state, count)]
    if lists.tally[READY] == 0:
        lists.tally[READY] = 1
        if recipe.selection == BEST_BIASED:
            find_best(f, lists, room, recipe.threshold)
        else:
            rank_by_diversity(f, lists, room, recipe.selection == BY_CROWDING, state)
    if recipe.selection == BEST_BIASED:
        if uniform(state) < recipe.bias:
            return room.line[0]
        return lists.people[below(state, count)]
    u = uniform(state) * room.chances[count - 1]
    rank = 0
    while rank < count - 1 and u >= room.chances[rank]:
        rank += 1
    return room.line[rank]


@njit(**INNER)
def cross(
    archive: Archive,
    lists: Lists,
    size: IntArray,
    x: int,
    balanced: bool,
    state: State,
    removed: IntArray,
    added: IntArray,
) -> tuple[int, int]:
    """Write how a child of slot `x` and a uniform mate differs from `x`; return how many centres it loses and gains.

    Balanced crossover keeps what both have and draws the rest uniformly from what one of them has, to the size of `x`.
    Union crossover takes everything, and draws k uniformly if that is more.
    """
    y = lists.people[below(state, lists.tally[PEOPLE])]
    if x == y:
        return 0, 0
    sizes = size[x], size[y]
    k = archive.members.shape[1]
    own = 0
    for i in range(sizes[0]):
        own += archive.inside[y, archive.members[x, i]] == 0
    other = sizes[1] - sizes[0] + own
    left = own + other if balanced else sizes[0] + other
    wanted = own if balanced else min(k, left)
    a = b = 0
    for i in range(sizes[0]):
        c = archive.members[x, i]
        if balanced and archive.inside[y, c] == 1:
            continue
        if uniform(state) * left < wanted:
            wanted -= 1
        else:
            removed[a] = c
            a += 1
        left -= 1
    for i in range(sizes[1]):
        c = archive.members[y, i]
        if archive.inside[x, c] == 1:
            continue
        if uniform(state) * left < wanted:
            wanted -= 1
            added[b] = c
            b += 1
        left -= 1
    return a, b
