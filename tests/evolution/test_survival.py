"""Survivor selection against its definition: the same draws must give the same survivors."""

import numpy as np
import pytest
from numba import njit

from certiclust.evolution.algorithms import ALGORITHMS, Algorithm
from certiclust.evolution.components import CommaSurvival
from certiclust.evolution.kernels.archive import new_archive
from certiclust.evolution.kernels.population import ASIDE, BROOD, PEOPLE, new_population
from certiclust.evolution.kernels.ranking import contributions, crowding, flatten, fronts, sort_down
from certiclust.evolution.kernels.rng import seeded
from certiclust.evolution.kernels.survival import survivor_rule
from tests import naive
from tests.evolution import plain_survival as plain


@njit
def call(survive, f, lists, room, recipe, k, state):
    survive(f, lists, room, recipe, k, state)


def call_survive(*given):
    """Call the rule of a recipe as the loop over generations does: by its address."""
    call(survivor_rule(*given), *given)


@njit
def call_ranking(f, order, buffer, front, line, level, crowd, alone):
    """Sort, make fronts, and write both scores of every front."""
    count = order.size
    sort_down(order, count, f.major, f.value, buffer)
    number = fronts(f, order, count, front, buffer)
    flatten(f, order, count, level)
    for which in range(number):
        length = 0
        for t in range(count):
            if front[t] == which:
                line[length] = t
                length += 1
        crowding(f, order, line, length, level, crowd)
        contributions(f, order, line, length, level, alone)
    return number


def random_vectors(rng, count, k, kind):
    """(size, (-violations, value)) of some slots, with ties of every sort."""
    vectors = []
    for _ in range(count):
        size = int(rng.integers(0, k + 1))
        violations = int(rng.integers(0, 3)) if kind == "constrained" else 0
        if kind == "ties":
            value = float(rng.integers(-3, 4))
        elif kind == "front":  # mutually non-dominated but for twins
            value = float(-size) + (0.0 if rng.random() < 0.5 else 0.25 * rng.random())
        else:
            value = float(rng.normal())
        if kind == "maxima" and size <= 1:
            value = np.inf
        if kind in ("constrained", "sums") and size == 0:
            value = -np.inf
        vectors.append((size, (-violations, value)))
    return vectors


KINDS = ["ties", "front", "sums", "maxima", "constrained", "real"]


def filled(recipe, k, vectors, people, brood, aside=()):
    archive = new_archive(3, k, len(vectors) + 1, 0.0, 0)
    population = new_population(archive, k, recipe, k + 1)
    f, lists = population.objectives, population.lists
    for slot, (size, (violations, value)) in enumerate(vectors):
        f.size[slot], f.violations[slot], f.value[slot] = size, -violations, value
        f.major[slot] = (size << 32) + violations
    lists.people[: len(people) + len(aside)] = [*people, *aside]
    lists.brood[: len(brood)] = brood
    lists.tally[[PEOPLE, ASIDE, BROOD]] = len(people), len(aside), len(brood)
    return population


@pytest.mark.parametrize("kind", KINDS)
def test_fronts_crowding_and_contributions_against_the_definitions(kind):
    rng = np.random.default_rng(0)
    recipe = ALGORITHMS["nsga2"].recipe(6)
    for trial in range(120):
        vectors = random_vectors(rng, int(rng.integers(1, 15)), 6, kind)
        entries = rng.integers(0, len(vectors), 14)  # clones
        room = filled(recipe, 6, vectors, [], []).room
        f = filled(recipe, 6, vectors, [], []).objectives
        order, crowd, alone = entries.astype(np.int64), np.zeros(14), np.zeros(14)
        number = call_ranking(f, order, room.buffer, room.front, room.line, room.level, crowd, alone)
        listed = [vectors[slot] for slot in order]
        assert listed == sorted(listed, reverse=True)
        expected = plain.fronts(listed)
        assert room.front[:14].tolist() == expected
        assert number == max(expected) + 1
        level = plain.levels(listed)
        assert room.level[:14].tolist() == level
        ranked = sorted(set(zip(level, [v[1] for v in listed], strict=True)))  # the scale keeps the order of f1
        assert [v for _, v in ranked] == sorted({v[1] for v in listed}), trial
        for which in range(number):
            line = [t for t in range(14) if expected[t] == which]
            points = [(float(listed[t][0]), level[t]) for t in line]
            np.testing.assert_allclose(crowd[line], plain.crowding(points), rtol=1e-12)
            exact = plain.contributions(points, (-1.0, min(y for _, y in points) - 1.0))
            np.testing.assert_allclose(alone[line], exact, rtol=1e-9, atol=1e-9)
            twins = [points.count(point) > 1 for point in points]
            assert [v == 0.0 for v in alone[line]] == twins


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["gsemo", "nsga2", "nsga3", "sms-emoa", "moead", "comma"])
def test_one_generation_of_every_survivor_rule_against_its_plain_twin(name, kind):
    rng = np.random.default_rng(1)
    algorithm = Algorithm(survival=CommaSurvival()) if name == "comma" else ALGORITHMS[name]
    k = 5
    for trial in range(60):
        recipe = algorithm.recipe(k)
        recipe = recipe._replace(offspring=int(rng.integers(1, 16)))
        vectors = random_vectors(rng, 20, k, kind)
        people = rng.integers(0, 20, recipe.members).tolist()
        brood = rng.integers(0, 20, recipe.offspring).tolist()
        vector = dict(enumerate(vectors))
        aside = []
        if name == "gsemo":
            people = plain.gsemo([], people, vector)
        if name == "sms-emoa":  # its own order
            people.sort(key=lambda e: vector[e], reverse=True)
        if name == "moead":
            aside = plain.gsemo([], people, vector)
        population = filled(recipe, k, vectors, people, brood, aside)
        seen = (-0.5, 0.5) if rng.random() < 0.5 else (np.inf, -np.inf)
        population.room.seen[:] = seen
        state = seeded(trial)
        twin = naive.Xoroshiro(state)
        call_survive(population.objectives, population.lists, population.room, recipe, k, state)
        lists = population.lists
        chosen = lists.chosen[: lists.tally[PEOPLE]].tolist()
        if name == "gsemo":
            assert sorted(chosen) == sorted(plain.gsemo(people, brood, vector))
        elif name == "moead":
            expected, outside, seen = plain.moead(people, aside, brood, vector, k, seen)
            assert chosen == expected
            after = lists.chosen[recipe.members : recipe.members + lists.tally[ASIDE]]
            assert sorted(after.tolist()) == sorted(outside)
            assert tuple(population.room.seen) == seen
        elif name == "sms-emoa":
            assert chosen == plain.sms(people, brood, vector, recipe.members, twin)
        else:
            fill = plain.by_niches(recipe.references) if name == "nsga3" else plain.by_crowding
            parents = [] if name == "comma" else people
            expected = plain.fronts_then(parents, brood, vector, recipe.members, twin, fill)
            assert sorted(chosen) == sorted(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_what_the_survivors_promise_to_keep_is_kept(name, kind):
    rng = np.random.default_rng(2)
    for trial in range(150):
        k = int(rng.integers(1, 6))
        recipe = ALGORITHMS[name].recipe(k)
        vectors = random_vectors(rng, 12, k, kind)
        vector = dict(enumerate(vectors))
        people = rng.integers(0, 12, recipe.members).tolist()
        brood = rng.integers(0, 12, recipe.offspring).tolist()
        if name == "gsemo":
            people = plain.gsemo([], people, vector)
        if name == "sms-emoa":
            people.sort(key=lambda e: vector[e], reverse=True)
        if name == "moead":  # the last subproblem has the best of the largest
            people[-1] = max(people, key=lambda e: vector[e])
        population = filled(recipe, k, vectors, people, brood)
        call_survive(population.objectives, population.lists, population.room, recipe, k, seeded(trial))
        chosen = {vectors[slot] for slot in population.lists.chosen[: population.lists.tally[PEOPLE]]}
        every = {vectors[slot] for slot in people + brood}
        survival = ALGORITHMS[name].survival
        if not survival.loses(recipe.members, k, every_size=False):
            assert max(every) in chosen
        if not survival.loses(recipe.members, k, every_size=True):
            assert {v for v in every if not any(plain.dominates(z, v) for z in every)} <= chosen
