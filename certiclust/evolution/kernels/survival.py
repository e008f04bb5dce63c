"""Survivor selection: from P and the brood to the list `chosen` of the next P, one function per rule.

A rule writes the next P to `chosen` and its length to `tally`; P and brood themselves are left as they are. The rules
see slots and objectives only, never the problem, so they are compiled once for all problems.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cfunc, njit, typeof, void
from numpy.typing import NDArray

from certiclust.evolution.kernels.population import ASIDE, BROOD, PEOPLE, Lists, Objectives, Room, larger_f1
from certiclust.evolution.kernels.ranking import (
    contributions,
    crowding,
    flatten,
    fronts,
    leveled,
    line_of,
    same,
    shuffle,
    sort_down,
)
from certiclust.evolution.kernels.rng import State, below
from certiclust.evolution.recipe import ARCHIVE, COMMA, CROWDING, DECOMPOSITION, HYPERVOLUME, NICHING, Recipe
from certiclust.space.compiled import INNER, PART, VIEWS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def survivor_rule(f: Objectives, lists: Lists, room: Room, recipe: Recipe, k: int, state: State) -> Callable[..., None]:
    """Return the rule of a recipe, compiled for arguments of these types, to be called by its address.

    So one loop over generations serves all rules, and only a rule that is used is compiled.
    """
    rules = {
        ARCHIVE: keep_archive,
        CROWDING: keep_crowded,
        COMMA: keep_crowded,
        NICHING: keep_niches,
        HYPERVOLUME: drop_least_contribution,
        DECOMPOSITION: keep_subproblems,
    }
    return _compiled(rules[recipe.survival], tuple(map(typeof, (f, lists, room, recipe, k, state))))


@cache
def _compiled(rule: Callable[..., None], types: tuple[Any, ...]) -> Callable[..., None]:
    compiled: Callable[..., None] = cfunc(void(*types), cache=True, error_model="numpy", **VIEWS)(rule)
    return compiled


@njit(**INNER)
def offered(f: Objectives, items: IntArray, start: int, count: int, x: int) -> int:
    """Offer slot `x` to the mutually non-dominated `items` from `start` on, as Algorithm 1 does; return their number.

    It enters unless one of them dominates it, and those that it weakly dominates leave.
    """
    for t in range(start, start + count):
        z = items[t]
        if f.size[z] >= f.size[x] and not larger_f1(f, x, z) and (f.size[z] > f.size[x] or larger_f1(f, z, x)):
            return count
    kept = start
    for t in range(start, start + count):
        z = items[t]
        if f.size[z] > f.size[x] or larger_f1(f, z, x):
            items[kept] = z
            kept += 1
    items[kept] = x
    return kept + 1 - start


def keep_archive(f: Objectives, lists: Lists, room: Room, recipe: Recipe, k: int, state: State) -> None:
    """Keep the non-dominated members, the newer of equals: the survivor selection of Algorithm 1."""
    tally, chosen = lists.tally, lists.chosen
    count = tally[PEOPLE]
    for t in range(count):
        chosen[t] = lists.people[t]
    for t in range(tally[BROOD]):
        count = offered(f, chosen, np.int64(0), count, lists.brood[t])
    tally[PEOPLE] = count


def keep_subproblems(f: Objectives, lists: Lists, room: Room, recipe: Recipe, k: int, state: State) -> None:
    """Let every offspring replace the solutions of the subproblems that it solves at least as well (MOEA/D).

    Subproblem i of N maximises (1 - w) f1 + w f2 / k with w = i/(N - 1), f1 on the scale between the least and the
    largest finite value seen; of two solutions that are equal in this the one with the larger f1 stays, the newer on
    ties. So the last subproblem holds the best of the largest solutions. The external archive follows them in the list.
    """
    seen, chosen, members = room.seen, lists.chosen, recipe.members
    aside = lists.tally[ASIDE]
    for t in range(members + aside):
        chosen[t] = lists.people[t]
    for b in range(lists.tally[BROOD]):
        x = lists.brood[b]
        if np.isfinite(f.value[x]):
            seen[0], seen[1] = min(seen[0], f.value[x]), max(seen[1], f.value[x])
        new = leveled(f, x, seen[0], seen[1])
        for i in range(members):
            z = chosen[i]
            w = i / (members - 1) if members > 1 else 1.0
            gain = (1.0 - w) * (new - leveled(f, z, seen[0], seen[1])) + w * (f.size[x] - f.size[z]) / k
            if gain > 0.0 or (gain == 0.0 and not larger_f1(f, z, x)):
                chosen[i] = x
        aside = offered(f, chosen, members, aside, x)
    lists.tally[ASIDE] = aside


def drop_least_contribution(f: Objectives, lists: Lists, room: Room, recipe: Recipe, k: int, state: State) -> None:
    """Drop from the last front the member of least hypervolume contribution, until |P| are left (SMS-EMOA).

    P is in the order that fronts are made from, since this is what makes it; the offspring are put in their places.
    """
    order, front, line = room.order, room.front, room.line
    score, level = room.score, room.level
    count = lists.tally[PEOPLE]
    for t in range(count):
        order[t] = lists.people[t]
    for b in range(lists.tally[BROOD]):
        x = lists.brood[b]
        place = count
        while place > 0 and later(f, order[place - 1], x):
            order[place] = order[place - 1]
            place -= 1
        order[place] = x
        count += 1
    number = fronts(f, order, count, front, room.buffer)
    while count > recipe.members:
        length = line_of(front, count, number - 1, line)
        if length == 0:
            number -= 1
            continue
        if mark_twins(f, order, line, length, score) == 0:
            flatten(f, order, count, level)
            contributions(f, order, line, length, level, score)
        least = a_least(line, length, score, state)
        count -= 1
        for t in range(least, count):
            order[t], front[t] = order[t + 1], front[t + 1]
    for t in range(count):
        lists.chosen[t] = order[t]
    lists.tally[PEOPLE] = count


@njit(**INNER)
def mark_twins(f: Objectives, order: IntArray, line: IntArray, length: int, score: FloatArray) -> int:
    """Write contribution 0 for members of a front that have a twin and 1 for others; return how many twins there are.

    Twins sit side by side, and contribute less than any other, so while there are some nothing need be computed.
    """
    twins = 0
    for t in range(length):
        x = order[line[t]]
        twin = t > 0 and same(f, x, order[line[t - 1]])
        twin = twin or (t < length - 1 and same(f, x, order[line[t + 1]]))
        score[line[t]] = 0.0 if twin else 1.0
        twins += twin
    return twins


@njit(**INNER)
def a_least(line: IntArray, length: int, score: FloatArray, state: State) -> int:
    """Return the position in the line with the least score, ties at random."""
    least, ties = np.inf, 0
    for t in range(length):
        here = score[line[t]]
        ties = ties + 1 if here == least else 1 if here < least else ties
        least = min(least, here)
    chosen = below(state, ties)
    for t in range(length):
        if score[line[t]] == least:
            if chosen == 0:
                return line[t]
            chosen -= 1
    return line[0]


@njit(**INNER)
def later(f: Objectives, x: int, y: int) -> bool:
    """Return whether slot `x` comes after slot `y` in the order by size and f1, largest first."""
    return f.major[x] < f.major[y] or (f.major[x] == f.major[y] and f.value[x] < f.value[y])


def keep_crowded(f: Objectives, lists: Lists, room: Room, recipe: Recipe, k: int, state: State) -> None:
    """Keep whole fronts while there is room, then of the next one those of largest crowding distance.

    NSGA-II ranks P and the brood together, (mu, lambda) survival the brood alone.
    """
    order, front, line, chosen = room.order, room.front, room.line, lists.chosen
    count = gathered(f, lists, room, recipe.survival != COMMA, state)
    kept, length, _ = keep_whole_fronts(f, lists, room, count, recipe.members)
    places = lists.tally[PEOPLE] - kept
    if places == 0:
        return
    crowding(f, order, line, length, room.level, room.score)
    shuffle(line, length, state)
    sort_down(line, length, front, room.score, room.buffer)
    for t in range(places):
        chosen[kept + t] = order[line[t]]


def keep_niches(f: Objectives, lists: Lists, room: Room, recipe: Recipe, k: int, state: State) -> None:
    """Keep whole fronts while there is room, then of the next one members spread over the reference directions."""
    count = gathered(f, lists, room, True, state)
    kept, _, which = keep_whole_fronts(f, lists, room, count, recipe.members)
    places = lists.tally[PEOPLE] - kept
    if places > 0:
        fill_niches(f, room, recipe.references, count, which, lists.chosen[kept : kept + places], state)


@njit(**PART)
def gathered(f: Objectives, lists: Lists, room: Room, parents: bool, state: State) -> int:
    """Put the brood, with the parents or without, in the `order` that fronts are made from; return how many."""
    order = room.order
    count: Any = np.int64(0)  # a literal would be compiled once more
    if parents:
        for t in range(lists.tally[PEOPLE]):
            order[count] = lists.people[t]
            count += 1
    for t in range(lists.tally[BROOD]):
        order[count] = lists.brood[t]
        count += 1
    shuffle(order, count, state)
    sort_down(order, count, f.major, f.value, room.buffer)
    return count


@njit(**PART)
def keep_whole_fronts(f: Objectives, lists: Lists, room: Room, count: int, members: int) -> tuple[int, int, int]:
    """Choose whole fronts while there is room; return how many that are, and the length and number of the next front.

    The next front is left in `line`; the length of the next P is already in `tally`.
    """
    number = fronts(f, room.order, count, room.front, room.buffer)
    flatten(f, room.order, count, room.level)
    kept, which, length = 0, 0, 0
    while which < number:
        length = line_of(room.front, count, which, room.line)
        if kept + length > members:
            break
        for t in range(length):
            lists.chosen[kept] = room.order[room.line[t]]
            kept += 1
        which += 1
    lists.tally[PEOPLE] = min(members, count)
    return kept, length, which


@njit(**PART)
def fill_niches(
    f: Objectives, room: Room, references: int, count: int, which: int, chosen: IntArray, state: State
) -> None:
    """Choose members of front `which` so that all reference directions are served alike (NSGA-III).

    Both objectives are normalised by the ends of the first front, the ideal point becoming the origin. Everyone belongs
    to the nearest of `references` directions, spread evenly from one axis to the other. In turn the direction with the
    fewest members, ties at random, takes the nearest of its own in the front if it has none yet, else a random one.
    """
    order, front, line, level, score = room.order, room.front, room.line, room.level, room.score
    niche = room.buffer
    first, last = -1, -1
    for t in range(count):
        if front[t] == 0:
            first, last = t if first < 0 else first, t
    span = level[last] - level[first]
    spread = f.size[order[first]] - f.size[order[last]]
    served, left = room.served[0], room.served[1]
    for r in range(references):
        served[r] = left[r] = 0
    for t in range(count):
        if front[t] > which:
            continue
        x = max(0.0, (level[last] - level[t]) / span) if span > 0.0 else 0.0
        y = max(0.0, (f.size[order[first]] - f.size[order[t]]) / spread) if spread > 0 else 0.0
        niche[t] = nearest_direction(x, y, references)
        score[t] = distance_from_direction(x, y, niche[t], references)
        if front[t] < which:
            served[niche[t]] += 1
        else:
            left[niche[t]] += 1
    length = line_of(front, count, which, line)
    for place in range(chosen.size):
        least, ties = -1, 0
        for r in range(references):
            if left[r] > 0 and (least < 0 or served[r] < served[least]):
                least, ties = r, 1
            elif left[r] > 0 and served[r] == served[least]:
                ties += 1
                if below(state, ties) == 0:
                    least = r
        taken, ties = -1, 0
        for t in range(length):
            if niche[line[t]] != least:
                continue
            if taken < 0 or (served[least] == 0 and score[line[t]] < score[line[taken]]):
                taken, ties = t, 1
            elif served[least] > 0 or score[line[t]] == score[line[taken]]:
                ties += 1
                if below(state, ties) == 0:
                    taken = t
        chosen[place] = order[line[taken]]
        served[least] += 1
        left[least] -= 1
        length -= 1
        for t in range(taken, length):
            line[t] = line[t + 1]


@njit(**INNER)
def nearest_direction(x: float, y: float, references: int) -> int:
    """Return which of the directions (i, p - i), i = 0..p, is nearest to the point in angle."""
    p = references - 1
    if p == 0 or x + y == 0.0:
        return 0
    low = min(p - 1, int(x / (x + y) * p))
    here = distance_from_direction(x, y, low, references)
    return low if here <= distance_from_direction(x, y, low + 1, references) else low + 1


@njit(**INNER)
def distance_from_direction(x: float, y: float, i: int, references: int) -> float:
    """Return the distance of the point (x, y) from the line through the origin in direction (i, p - i)."""
    p = references - 1
    if p == 0:
        return abs(x - y) / np.sqrt(2.0)
    return abs(x * (p - i) - y * i) / np.hypot(i, p - i)
