"""Survivor selection: from P and the brood to the list `chosen` of the next P, one function per rule.

The rules see slots and objectives only, never the problem, so they are compiled once for all problems.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.population import ASIDE, BROOD, PEOPLE, Objectives, Population, larger_f1
from certiclust.evolution.kernels.ranking import (
    contributions,
    crowding,
    flatten,
    fronts,
    leveled,
    line_of,
    shuffle,
    sort_down,
)
from certiclust.evolution.kernels.rng import State, below
from certiclust.evolution.recipe import ARCHIVE, COMMA, DECOMPOSITION, HYPERVOLUME, NICHING, Recipe
from certiclust.space.compiled import INNER

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@njit(**INNER)
def survive(population: Population, recipe: Recipe, k: int, state: State) -> None:
    """Write the next P to `chosen` and its numbers to `tally`; P and brood themselves are left as they are."""
    if recipe.survival == ARCHIVE:
        keep_archive(population)
    elif recipe.survival == DECOMPOSITION:
        keep_subproblems(population, recipe.members, k)
    elif recipe.survival == HYPERVOLUME:
        drop_least_contribution(population, recipe.members, state)
    else:
        keep_best_fronts(population, recipe, state)


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


@njit(**INNER)
def keep_archive(population: Population) -> None:
    """Keep the non-dominated members, the newer of equals: the survivor selection of Algorithm 1."""
    tally, chosen = population.tally, population.chosen
    count = tally[PEOPLE]
    for t in range(count):
        chosen[t] = population.people[t]
    for t in range(tally[BROOD]):
        count = offered(population.objectives, chosen, 0, count, population.brood[t])
    tally[PEOPLE] = count


@njit(**INNER)
def keep_subproblems(population: Population, members: int, k: int) -> None:
    """Let every offspring replace the solutions of the subproblems that it solves at least as well (MOEA/D).

    Subproblem i of N maximises (1 - w) f1 + w f2 / k with w = i/(N - 1), f1 on the scale between the least and the
    largest finite value seen; of two solutions that are equal in this the one with the larger f1 stays, the newer on
    ties. So the last subproblem holds the best of the largest solutions. The external archive follows them in the list.
    """
    f, seen, chosen = population.objectives, population.seen, population.chosen
    aside = population.tally[ASIDE]
    for t in range(members + aside):
        chosen[t] = population.people[t]
    for b in range(population.tally[BROOD]):
        x = population.brood[b]
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
    population.tally[ASIDE] = aside


@njit(**INNER)
def gathered(population: Population, with_people: bool, state: State) -> int:
    """List P (if asked for) and the brood in `order`, sorted by size and f1, ties in random order; return how many."""
    order, count = population.order, 0
    if with_people:
        for t in range(population.tally[PEOPLE]):
            order[count] = population.people[t]
            count += 1
    for t in range(population.tally[BROOD]):
        order[count] = population.brood[t]
        count += 1
    f = population.objectives
    shuffle(order, count, state)
    sort_down(order, count, f.major, f.value, population.buffer)
    return count


@njit(**INNER)
def drop_least_contribution(population: Population, members: int, state: State) -> None:
    """Drop from the last front the member of least hypervolume contribution, until `members` are left (SMS-EMOA)."""
    f, order, front, line = population.objectives, population.order, population.front, population.line
    score = population.score
    count = gathered(population, True, state)
    number = fronts(f, order, count, front, population.buffer)
    flatten(f, order, count, population.level)
    while count > members:
        length = line_of(front, count, number - 1, line)
        if length == 0:
            number -= 1
            continue
        contributions(f, order, line, length, population.level, score)
        least, ties = line[0], 1
        for t in range(1, length):
            here = line[t]
            if score[here] < score[least]:
                least, ties = here, 1
            elif score[here] == score[least]:
                ties += 1
                if below(state, ties) == 0:
                    least = here
        count -= 1
        for t in range(least, count):
            order[t], front[t], population.level[t] = order[t + 1], front[t + 1], population.level[t + 1]
    for t in range(count):
        population.chosen[t] = order[t]
    population.tally[PEOPLE] = count


@njit(**INNER)
def keep_best_fronts(population: Population, recipe: Recipe, state: State) -> None:
    """Keep whole fronts while there is room, then of the next one those of largest crowding distance, or by niches.

    NSGA-II and NSGA-III rank P and the brood together, (mu, lambda) survival the brood alone.
    """
    f, order, front, chosen = population.objectives, population.order, population.front, population.chosen
    count = gathered(population, recipe.survival != COMMA, state)
    number = fronts(f, order, count, front, population.buffer)
    flatten(f, order, count, population.level)
    kept, which = 0, 0
    while which < number:
        length = line_of(front, count, which, population.line)
        if kept + length > recipe.members:
            break
        for t in range(length):
            chosen[kept] = order[population.line[t]]
            kept += 1
        which += 1
    room = min(recipe.members, count) - kept
    if room > 0 and recipe.survival == NICHING:
        fill_niches(population, recipe.references, count, which, kept, room, state)
    elif room > 0:
        crowding(f, order, population.line, length, population.level, population.score)
        shuffle(population.line, length, state)
        flat = front  # one front: all equal in the first key
        for t in range(length):
            flat[population.line[t]] = 0
        sort_down(population.line, length, flat, population.score, population.buffer)
        for t in range(room):
            chosen[kept + t] = order[population.line[t]]
    population.tally[PEOPLE] = kept + room


@njit(**INNER)
def fill_niches(
    population: Population, references: int, count: int, which: int, kept: int, room: int, state: State
) -> None:
    """Choose `room` members of front `which` so that all reference directions are served alike (NSGA-III).

    Both objectives are normalised by the ends of the first front, the ideal point becoming the origin. Everyone belongs
    to the nearest of `references` directions, spread evenly from one axis to the other. In turn the direction with the
    fewest members, ties at random, takes the nearest of its own in the front if it has none yet, else a random one.
    """
    f, order, front, line = population.objectives, population.order, population.front, population.line
    level, score = population.level, population.score
    niche = population.buffer
    first, last = -1, -1
    for t in range(count):
        if front[t] == 0:
            first, last = t if first < 0 else first, t
    span = level[last] - level[first]
    spread = f.size[order[first]] - f.size[order[last]]
    served, left = population.served[0], population.served[1]
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
    for chosen in range(kept, kept + room):
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
        population.chosen[chosen] = order[line[taken]]
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
