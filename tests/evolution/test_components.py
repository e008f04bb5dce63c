"""The laws of the components: what a generation really draws, against what is declared and against exact probabilities.

A generation that is never completed keeps all its offspring in the brood, so the loop itself can be watched. False
alarms as in test_law: each chi-square test fails a correct program with probability 1e-6, and seeds are fixed.
"""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from numba import njit

from certiclust.evolution import (
    Algorithm,
    BalancedCrossover,
    BestBiasedSelection,
    BitwiseMutation,
    CrowdingSelection,
    CrowdingSurvival,
    HeavyTailedMutation,
    HypervolumeSelection,
    OneBitMutation,
    SwapMutation,
    UniformSelection,
    UnionCrossover,
)
from certiclust.evolution.engines import Limits
from certiclust.evolution.kernels.archive import new_archive
from certiclust.evolution.kernels.choice import flips_of
from certiclust.evolution.kernels.population import BROOD, PEOPLE
from certiclust.evolution.kernels.rng import seeded, uniform
from certiclust.evolution.laws import LARGEST_HEAVY, heavy_tailed_law
from tests.evolution import plain_survival as plain
from tests.evolution.test_law import FALSE_ALARM, fits
from tests.instances import instance, pose

# ------------------------------------------------------------------------------------------- heavy-tailed mutation


def power_law_flips(m, beta):
    """Probabilities of 0..m flips, straight from the definition: a power-law rate, then independent bits."""
    rates = range(1, max(1, m // 2) + 1)
    total = sum(alpha**-beta for alpha in rates)
    return [
        sum(alpha**-beta / total * comb(m, j) * (alpha / m) ** j * (1 - alpha / m) ** (m - j) for alpha in rates)
        for j in range(m + 1)
    ]


@pytest.mark.parametrize("beta", [1.1, 1.5, 3.0])
@pytest.mark.parametrize(("m", "k"), [(1, 1), (2, 2), (7, 3), (12, 12), (40, 9)])
def test_heavy_tailed_table_is_the_mixture_of_binomials(m, k, beta):
    flips = power_law_flips(m, beta)
    for pure_removals in (False, True):
        law = heavy_tailed_law(m, k, beta, pure_removals=pure_removals)
        for s in range(k + 1):
            exact = {
                (a, b): flips[a + b] * comb(s, a) * comb(m - s, b) / comb(m, a + b)
                for a in range(s + 1)
                for b in range(m - s + 1)
                if a + b >= 1 and s - a + b <= k and (pure_removals or b >= 1)
            }
            total = sum(exact.values())
            assert law.idle[s] == pytest.approx(flips[0], rel=1e-12)
            assert law.relevant[s] == pytest.approx(total, rel=1e-11)
            steps = np.diff(law.cumulative[s], prepend=0.0)
            for (a, b), p in exact.items():
                here = (law.removals[s] == a) & (law.additions[s] == b)
                assert steps[here].sum() == pytest.approx(p / total, abs=1e-12)


@njit
def _flip_counts(archive, law, s, state, draws, counts, removed, added):
    for _ in range(draws):
        a, b = flips_of(archive.members, archive.inside, law, 0, s, uniform(state), state, removed, added)
        counts[a + b] += 1


@pytest.mark.parametrize("beta", [1.5, 2.5])
def test_drawn_flip_counts_follow_the_power_law(beta):
    m = k = 60  # no offspring is too large, so the counts are the whole law
    s = 25
    law = heavy_tailed_law(m, k, beta, pure_removals=True)
    archive = new_archive(m, k, 2, 0.0, 0)
    archive.members[0, :s] = np.arange(s)
    archive.inside[0, :s] = 1
    counts = np.zeros(m + 1, dtype=np.int64)
    _flip_counts(archive, law, s, seeded(3), 300_000, counts, np.empty(k + 1, np.int64), np.empty(k + 1, np.int64))
    flips = power_law_flips(m, beta)
    assert counts[0] == 0  # the table is about offspring that differ from their parents
    assert fits(counts[1:], np.array(flips[1:]) / (1 - flips[0])) > FALSE_ALARM
    assert counts[10:].sum() > 300_000 * 30 * sum(power_law_flips(m, 60.0)[10:])  # a tail that bit-wise has not


def test_heavy_tailed_mutation_says_how_far_its_table_goes():
    with pytest.raises(ValueError, match=rf"up to k = {LARGEST_HEAVY}; got k = 151"):
        heavy_tailed_law(1000, 151, 1.5, pure_removals=True)
    with pytest.raises(ValueError, match="must be above 1; got 1"):
        HeavyTailedMutation(1.0)


# ---------------------------------------------------------------------------------------------------- reproduction

MUTATIONS = [BitwiseMutation(), HeavyTailedMutation(), OneBitMutation(), SwapMutation()]


def offspring_of_one(algorithm, m, k, draws, size):
    """Offspring (as sets) of the single member of P, once that has the size asked for, and that member."""
    case = instance(np.random.default_rng(5), "k-median", m, kind="uniform", k=k, metric="euclidean", other_sites=False)
    engine = algorithm.engine(pose("k-median", case.space(), k), 11)
    for generation in range(1, 20):
        engine.advance(Limits(last=generation * (draws + 1)))
        (parent,) = engine.population
        if len(parent.centers) == size:
            break
    engine.advance(Limits(last=engine.iteration + draws))
    population = engine._population
    brood = population.lists.brood[: population.lists.tally[BROOD]]
    sizes = population.objectives.size
    made = Counter(frozenset(engine._archive.members[z, : sizes[z]].tolist()) for z in brood)
    return made, frozenset(parent.centers.tolist())


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_declared_reproduction_against_measured_frequencies(mutation, rate):
    m, k, draws = 7, 3, 60_000
    crossover = UnionCrossover(rate)  # of twins: a clone
    algorithm = Algorithm(
        mutation=mutation, crossover=crossover, survival=CrowdingSurvival(), members=1, offspring=draws + 1
    )
    made, parent = offspring_of_one(algorithm, m, k, draws, k)
    sets = [frozenset(c) for size in range(k + 1) for c in combinations(range(m), size)]
    if isinstance(mutation, SwapMutation):
        chance = {0: 0.0, 1: 0.5 / m}
        law = {x: chance.get(len(x ^ parent), 0.0) for x in sets}
        law.update({x: 0.5 / (k * (m - k)) for x in sets if len(x ^ parent) == 2 and len(x) == k})
    else:
        flips = mutation.flips(m, m)
        law = {x: flips[len(x ^ parent)] / comb(m, len(x ^ parent)) for x in sets}
    law = {x: (1 - rate) * p for x, p in law.items()}
    law[parent] += rate
    counts = [made[x] for x in sets] + [draws - made.total()]
    assert fits(counts, [law[x] for x in sets] + [1 - sum(law.values())]) > FALSE_ALARM
    for p, q in ((0, 1), (1, 0), (1, 1), (2, 2), (3, 3)):
        declared = (1 - rate) * mutation.neighbour(m, k, p, q)
        near = [x for x in sets if x != parent and len(parent - x) <= p and len(x - parent) <= q]
        assert all(law[x] >= declared * (1 - 1e-12) for x in near)  # a lower bound of the exact law
        sigma = np.sqrt(declared / draws)
        assert all(made[x] / draws >= declared - 6 * sigma for x in near)  # and of what was seen
    assert (mutation.neighbour(m, k, 1, 1) == 0) == isinstance(mutation, OneBitMutation)
    assert mutation.neighbour(m, k, 0, 1) > 0


def test_bitwise_reproduction_is_the_papers_and_a_swap_is_far_likelier():
    for m, k in ((10, 3), (1000, 20)):
        exact = (1 / m) ** 2 * (1 - 1 / m) ** (m - 2)
        assert BitwiseMutation().neighbour(m, k, 1, 1) == pytest.approx(exact, rel=1e-9)
        assert exact >= 1 / (np.e * m**2)
        assert SwapMutation().neighbour(m, k, 1, 1) > exact


# ------------------------------------------------------------------------------------------------------- crossover


@pytest.mark.parametrize("crossover", [UnionCrossover(0.999), BalancedCrossover(0.999)], ids=lambda c: c.name)
def test_crossover_is_uniform_over_what_it_may_make(crossover):
    from certiclust.evolution.kernels.reproduction import cross

    @njit
    def draw(population, balanced, state, count, out):
        removed, added = np.empty(8, np.int64), np.empty(8, np.int64)
        for t in range(count):
            lists, sizes = population.lists, population.objectives.size
            a, b = cross(population.archive, lists, sizes, 0, balanced, state, removed, added)
            code = 0
            for i in range(3):
                code |= 1 << population.archive.members[0, i]
            for i in range(a):
                code ^= 1 << removed[i]
            for i in range(b):
                code |= 1 << added[i]
            out[t] = code

    k, x, y = 4, {0, 1, 2}, {2, 3, 4, 5}
    algorithm = Algorithm(crossover=crossover, survival=CrowdingSurvival(), members=2)
    case = instance(np.random.default_rng(5), "k-median", 8, kind="uniform", k=k, metric="euclidean", other_sites=False)
    engine = algorithm.engine(pose("k-median", case.space(), k), 0)
    population = engine._population
    for slot, members in enumerate((x, y)):
        population.archive.members[slot, : len(members)] = sorted(members)
        population.archive.inside[slot, sorted(members)] = 1
        population.objectives.size[slot] = len(members)
    population.lists.people[:2] = 0, 1
    codes = np.zeros(40_000, dtype=np.int64)
    draw(population, isinstance(crossover, BalancedCrossover), seeded(1), len(codes), codes)
    made = Counter(frozenset(i for i in range(8) if code >> i & 1) for code in codes.tolist())
    if isinstance(crossover, BalancedCrossover):
        may = [frozenset({2, *c}) for c in combinations([0, 1, 3, 4, 5], 2)]
    else:
        may = [frozenset(c) for c in combinations(range(6), k)]
    twins = 0.5  # half of the mates are the parent itself
    law = Counter({child: (1 - twins) / len(may) for child in may})
    law[frozenset(x)] += twins
    assert set(made) <= set(law)
    assert fits([made[c] for c in law], [law[c] for c in law]) > FALSE_ALARM


# ------------------------------------------------------------------------------------------------- parent selection


@pytest.mark.parametrize(
    "selection",
    [UniformSelection(), BestBiasedSelection(0.4), CrowdingSelection(), HypervolumeSelection()],
    ids=lambda selection: selection.name,
)
@pytest.mark.parametrize("problem", ["k-median", "k-center"])
def test_declared_selection_against_measured_frequencies(selection, problem):
    m = k = 6  # nothing is too large, so every offspring is in the brood
    members, draws = 10, 40_000
    case = instance(np.random.default_rng(8), problem, m, kind="uniform", k=k, metric="euclidean", other_sites=False)
    algorithm = Algorithm(
        selection=selection, mutation=OneBitMutation(), survival=CrowdingSurvival(), members=members, offspring=8
    )
    engine = algorithm.engine(pose(problem, case.space(), k), 4)
    engine.advance(Limits(last=8 * 5))  # a few generations, so that P has several sizes
    population = engine._population
    assert population.lists.tally[PEOPLE] == members
    slots = population.lists.people[:members].copy()
    parents = np.concatenate([watched(engine, 7) for _ in range(draws // 7)])
    counts = Counter(parents.tolist())
    f = population.objectives
    vector = {z: (int(f.size[z]), (-int(f.violations[z]), float(f.value[z]))) for z in set(slots.tolist())}
    share = Counter(slots.tolist())
    threshold = 0.0 if problem == "k-center" else -np.inf
    best = max((z for z in vector if vector[z][1][1] >= threshold), key=lambda z: vector[z])
    if isinstance(selection, UniformSelection):
        law = {z: share[z] / members for z in vector}
    elif isinstance(selection, BestBiasedSelection):
        assert vector[population.room.line[0]] == vector[best]
        best = int(population.room.line[0])  # of slots with one vector, any
        law = {z: 0.6 * share[z] / members + 0.4 * (z == best) for z in vector}
    else:
        order = sorted(slots.tolist(), key=lambda z: vector[z], reverse=True)
        vectors = [vector[z] for z in order]
        front, level = plain.fronts(vectors), plain.levels(vectors)
        score = {}
        for number in set(front):
            line = [t for t in range(members) if front[t] == number]
            points = [(float(vectors[t][0]), level[t]) for t in line]
            reference = (-1.0, min(y for _, y in points) - 1.0)
            measure = plain.crowding if isinstance(selection, CrowdingSelection) else plain.contributions
            values = measure(points) if measure is plain.crowding else measure(points, reference)
            score.update({t: (-number, value) for t, value in zip(line, values, strict=True)})
        ranked = [score[t] for t in sorted(range(members), key=lambda t: score[t], reverse=True)]
        line = population.room.line[:members].tolist()
        assert sorted(line) == sorted(slots.tolist())
        mine = {}
        for t, z in enumerate(order):
            mine.setdefault(vector[z], []).append(score[t])
        for z, (number, value) in zip(line, ranked, strict=True):  # every rank has someone with the score of that rank
            assert any(v[0] == number and np.isclose(v[1], value) for v in mine[vector[z]])
        chances = 1.0 / np.arange(1, members + 1) ** 2
        law = Counter()
        for z, chance in zip(line, chances / chances.sum(), strict=True):
            law[z] += chance
    assert set(counts) <= set(law)
    assert fits([counts[z] for z in law], [law[z] for z in law]) > FALSE_ALARM
    declared = selection.best(members)
    assert law[best] >= declared * (1 - 1e-12)
    assert counts[best] / len(parents) >= declared - 6 * np.sqrt(declared / len(parents))


def watched(engine, count):
    """Parents of the next `count` offspring, which are then forgotten: P stays as it is."""
    population = engine._population
    lists, archive = population.lists, engine._archive
    engine.advance(Limits(last=engine.iteration + count))
    brood = lists.brood[: lists.tally[BROOD]].tolist()
    assert len(brood) == count
    parents = [population.parent[z] if population.parent[z] >= 0 else z for z in brood]
    for z in brood:
        population.holders[z] -= 1
        if population.parent[z] >= 0:
            population.parent[z] = -1
            archive.counters[5] += 1
            archive.free[archive.counters[5]] = z
    lists.tally[2:4] = 0
    return np.array(parents)
