"""GSEMO for every size in one run: against plain Python choice by choice, its exact law, and what it guarantees."""

from collections import Counter
from itertools import combinations
from math import inf

import numpy as np
import pytest

from certiclust.evolution import MaxIterations, gsemo_curve, plain_curve, random_choices
from certiclust.evolution.curve import CurveEngine
from certiclust.evolution.engines import Limits
from certiclust.theory import curve_bound
from tests import naive
from tests.evolution.test_gsemo_replay import MAX, choice_maker, listed, oracle
from tests.evolution.test_law import FALSE_ALARM, fits, population_key, tiny
from tests.instances import instance, pose

PROBLEMS = ("k-median", "k-means", "k-center", "k-tMM")


def survives(population, child, value, equal_sizes):
    """P after an offspring by the definition, as {size: (set, f1)}; the empty set is no offspring."""
    size = len(child)
    for s, (_, f) in population.items():
        if (s == size if equal_sizes else s <= size) and f >= value and (f > value or s < size):
            return population
    kept = {
        s: (z, f) for s, (z, f) in population.items() if not (value >= f and (s == size if equal_sizes else s >= size))
    }
    return {**kept, size: (child, value)}


def evaluator(posed):
    return oracle(posed, refresh=True)[0].evaluate


@pytest.mark.parametrize("problem", PROBLEMS)
def test_replay_gives_the_same_population_and_the_same_records(problem):
    rng = np.random.default_rng(PROBLEMS.index(problem))
    for trial in range(30):
        case = instance(rng, problem, int(rng.integers(1, 10)) if trial else 14)
        posed = pose(problem, case.space(), case.k)
        f1, (process, D) = evaluator(posed), oracle(posed, refresh=True)
        m, k, draw = posed.space.m, posed.k, choice_maker(rng, posed.space.m)
        engine, choices = CurveEngine(posed, 0), []
        population = {0: (frozenset(), f1(()))}
        cost, h, met = {}, {}, set()
        for _ in range(150):
            rank, flips = draw(len(population))
            choices.append((rank, flips))
            child = population[sorted(population)[rank]][0] ^ set(flips.tolist())
            if len(flips) == 0 or not 0 < len(child) <= k:
                continue
            met.add(len(child))
            value = f1(tuple(child))
            population = survives(population, child, value, problem in MAX)
            if problem in MAX:
                cost[len(child)] = min(cost.get(len(child), inf), process.cost(tuple(sorted(child))))
                if value[1] >= 0:
                    h[len(child)] = max(h.get(len(child), -1.0), naive.radius(D, tuple(child)))
        engine.replay(choices)
        expected = [(tuple(sorted(population[s][0])), population[s][1]) for s in sorted(population)]
        assert listed(engine.population) == expected
        replayed = iter(choices)
        assert listed(plain_curve(posed, 150, lambda size, it=replayed: next(it))) == expected
        for size in range(1, k + 1):
            at = engine.at(size)
            assert at.met == (size in met)
            if problem in MAX and at.met:
                assert process.cost(tuple(at.centers)) == cost[size]
                assert at.h == h.get(size, -1.0)
                if at.h > 0:
                    assert len(set(at.apart.tolist())) == size + 1
                    assert naive.separation(D, at.apart) == at.h
            elif problem not in MAX:
                best = max(s for s in population if s <= size)
                assert frozenset(at.centers.tolist()) == population[best][0]
        assert m >= k


def curve_moves(f1, m, k, population, equal_sizes):
    """{population after one iteration: probability}, every flip pattern enumerated."""
    reached = Counter()
    for parent, _ in population:
        for pattern in range(1 << m):
            flips = {j for j in range(m) if pattern >> j & 1}
            p = (1 / m) ** len(flips) * (1 - 1 / m) ** (m - len(flips)) / len(population)
            child = parent ^ flips
            after = population
            if 0 < len(child) <= k:
                value = f1(tuple(sorted(child)))
                found = survives({len(z): (z, f) for z, f in population}, child, value, equal_sizes)
                after = tuple(found[s] for s in sorted(found))
            reached[after] += p
    return reached


@pytest.mark.parametrize("problem", ["k-median", "k-center"])
def test_the_population_has_the_exact_law(problem):
    posed, iterations = tiny(problem), 7
    f1, moves = evaluator(posed), {}
    law = {((frozenset(), f1(())),): 1.0}
    for _ in range(iterations):
        later = Counter()
        for population, mass in law.items():
            if population not in moves:
                moves[population] = curve_moves(f1, 5, 3, population, problem in MAX)
            for after, p in moves[population].items():
                later[after] += mass * p
        law = later
    sets = Counter()
    for population, p in law.items():
        sets[tuple(z for z, _ in population)] += p
    keys, compiled, plain = list(sets), Counter(), Counter()
    for seed in range(2000):
        engine = CurveEngine(posed, seed)
        engine.advance(Limits(last=iterations))
        assert engine.iteration == iterations
        compiled[population_key(listed(engine.population))] += 1
    for seed in range(300):
        plain[population_key(listed(plain_curve(posed, iterations, random_choices(5, seed))))] += 1
    for drawn in (compiled, plain):
        assert set(drawn) <= set(keys)
        assert fits([drawn[key] for key in keys], [sets[key] for key in keys]) > FALSE_ALARM


@pytest.mark.parametrize("problem", ["k-median", "k-means"])
def test_in_the_end_the_curve_is_that_of_the_optima(problem):
    rng = np.random.default_rng(1)
    for kind in ("uniform", "duplicates", "grid"):
        case = instance(rng, problem, 7, kind=kind, k=5, other_sites=False)
        posed = pose(problem, case.space(), 5)
        run = gsemo_curve(posed, 60_000, 0)
        for size in range(1, 6):
            best = min(posed.cost(np.array(c)) for c in combinations(range(posed.space.m), size))
            assert posed.cost(run.at[size].centers) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("problem", ["k-center", "k-tMM"])
def test_every_size_gets_its_condition_within_the_bound(problem):
    rng = np.random.default_rng(2)
    case = instance(rng, problem, 9, kind="uniform", k=4, other_sites=False)
    posed = pose(problem, case.space(), 4)
    times = []
    for seed in range(200):
        run = gsemo_curve(posed, random_state=seed)
        assert all(run.at[size].h >= 0 for size in range(1, 5))
        times.append(run.n_iter)
    error = np.std(times) / np.sqrt(len(times))
    assert np.mean(times) - 3 * error <= curve_bound(posed)


def test_it_ends_where_it_is_told_to_and_depends_on_its_seed_alone():
    posed = tiny("k-median")
    assert gsemo_curve(posed, 17, 0).n_iter == 17
    assert gsemo_curve(posed, stop=MaxIterations(23), random_state=0).n_iter == 23
    one, two = (gsemo_curve(posed, 500, 4) for _ in range(2))
    assert all(np.array_equal(one.at[s].centers, two.at[s].centers) for s in one.at)
    patient = gsemo_curve(posed, random_state=0)
    assert patient.n_iter >= 10 * 5 * 3
    with pytest.raises(TypeError, match="no common run"):
        gsemo_curve(tiny("fair k-median"), 10)
    with pytest.raises(TypeError, match="no common run"):
        curve_bound(tiny("fair k-median"))
