"""Which parent, and what its offspring loses and gains: selection, mutation and crossover on a population of slots."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.archive import Archive
from certiclust.evolution.kernels.choice import flips_of
from certiclust.evolution.kernels.population import PEOPLE, READY, Population, larger_f1
from certiclust.evolution.kernels.ranking import contributions, crowding, flatten, fronts, line_of, shuffle, sort_down
from certiclust.evolution.kernels.rng import State, below, uniform
from certiclust.evolution.laws import FlipLaw
from certiclust.evolution.recipe import BALANCED, BEST_BIASED, BY_CROWDING, UNIFORM, Recipe
from certiclust.space.compiled import INNER

IntArray = NDArray[np.int64]

#: What `reproduce` says of an offspring with more than k centres.
TOO_LARGE = -1


@njit(**INNER)
def prepare(population: Population, recipe: Recipe, state: State) -> None:
    """Compute what the parent selection needs to know of the present P, once for as long as P stays."""
    population.tally[READY] = 1
    if recipe.selection == BEST_BIASED:
        find_best(population, recipe.threshold)
    elif recipe.selection != UNIFORM:
        rank_by_diversity(population, recipe.selection == BY_CROWDING, state)


@njit(**INNER)
def find_best(population: Population, threshold: float) -> None:
    """Put the best member first in `line`: the largest with f1 of at least the threshold, of those the best in f1."""
    f, people = population.objectives, population.people
    best = -1
    for t in range(population.tally[PEOPLE]):
        z = people[t]
        if f.value[z] < threshold:
            continue
        if best < 0 or f.size[z] > f.size[best] or (f.size[z] == f.size[best] and larger_f1(f, z, best)):
            best = z
    population.line[0] = best


@njit(**INNER)
def rank_by_diversity(population: Population, by_crowding: bool, state: State) -> None:
    """Sort P in `line` by front, then diversity, ties at random, and write the power-law chances of the ranks."""
    f, order, front, line = population.objectives, population.order, population.front, population.line
    count = population.tally[PEOPLE]
    for t in range(count):
        order[t] = population.people[t]
    shuffle(order, count, state)
    sort_down(order, count, f.major, f.value, population.buffer)
    number = fronts(f, order, count, front, population.buffer)
    flatten(f, order, count, population.level)
    for which in range(number):
        length = line_of(front, count, which, line)
        if by_crowding:
            crowding(f, order, line, length, population.level, population.score)
        else:
            contributions(f, order, line, length, population.level, population.score)
    for t in range(count):
        line[t] = t
        front[t] = -front[t]
    shuffle(line, count, state)
    sort_down(line, count, front, population.score, population.buffer)
    total = 0.0
    for t in range(count):
        line[t] = order[line[t]]
        total += 1.0 / (t + 1.0) ** 2
        population.chances[t] = total


@njit(**INNER)
def choose(population: Population, recipe: Recipe, state: State) -> int:
    """Draw a parent and return its slot."""
    count = population.tally[PEOPLE]
    if recipe.selection == UNIFORM:
        return population.people[below(state, count)]
    if population.tally[READY] == 0:
        prepare(population, recipe, state)
    if recipe.selection == BEST_BIASED:
        if uniform(state) < recipe.bias:
            return population.line[0]
        return population.people[below(state, count)]
    u = uniform(state) * population.chances[count - 1]
    rank = 0
    while rank < count - 1 and u >= population.chances[rank]:
        rank += 1
    return population.line[rank]


@njit(**INNER)
def reproduce(
    population: Population, recipe: Recipe, law: FlipLaw, z: int, state: State, removed: IntArray, added: IntArray
) -> tuple[int, int]:
    """Write what an offspring of slot `z` loses and gains and return how many; (TOO_LARGE, 0) for more than k."""
    s = population.objectives.size[z]
    if recipe.crossover_rate > 0.0 and uniform(state) < recipe.crossover_rate:
        mate = population.people[below(state, population.tally[PEOPLE])]
        if mate == z:
            return 0, 0
        sizes = s, population.objectives.size[mate]
        return cross(population.archive, z, mate, sizes, recipe.crossover == BALANCED, state, removed, added)
    u = uniform(state)
    idle = law.idle[s]
    if u < idle:
        return 0, 0
    u -= idle
    if u >= law.relevant[s]:
        return TOO_LARGE, 0
    return flips_of(population.archive, law, z, s, u / law.relevant[s], state, removed, added)


@njit(**INNER)
def cross(
    archive: Archive,
    x: int,
    y: int,
    sizes: tuple[int, int],
    balanced: bool,
    state: State,
    removed: IntArray,
    added: IntArray,
) -> tuple[int, int]:
    """Write how the child of slots `x` and `y` differs from `x`, and return how many centres it loses and gains.

    Balanced crossover keeps what both have and draws the rest uniformly from what one of them has, to the size of `x`.
    Union crossover takes everything, and draws k uniformly if that is more.
    """
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
