"""The law of Algorithm 1: what is drawn, how long is waited, and where the whole process stands after N iterations.

False alarms: every chi-square test below fails a correct program with probability 1e-6 (the fixed seeds make it 0 or 1
for good). There are fewer than 60 of them, so the file as a whole errs with probability below 1e-4.
"""

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from numba import njit
from scipy.stats import binom, chisquare, geom

from certiclust.evolution import (
    Certified,
    MaxIterations,
    NoImprovement,
    Sized,
    Target,
    TimeLimit,
    engine_for,
    gsemo,
    plain_gsemo,
    random_choices,
)
from certiclust.evolution.engines import Limits
from certiclust.evolution.kernels.choice import choose_flips, choose_parent, relevant_probability
from certiclust.evolution.kernels.rng import below, seeded, skipped, uniform
from certiclust.evolution.laws import bitwise_law
from certiclust.space import Metric, build_space
from tests import naive
from tests.evolution.test_gsemo_replay import MAX, listed, oracle
from tests.instances import PROBLEMS, instance, pose

FALSE_ALARM = 1e-6


def fits(counts, probabilities):
    """Chi-square test of counts against probabilities, rare outcomes pooled; returns the p-value."""
    counts, expected = np.asarray(counts, dtype=float), np.asarray(probabilities) * np.sum(counts)
    rare = expected < 8
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-3 and rare.any():  # too rare to test, but it must not happen either
        assert counts[-1] <= 2
        counts, expected = counts[:-1], expected[:-1]
    return chisquare(counts, expected * counts.sum() / expected.sum()).pvalue if len(counts) > 1 else 1.0


# --------------------------------------------------------------------------------------------------- the table


def relevant_pairs(m, k, s, pure_removals):
    law = naive.flip_law(m, s)
    keep = [(a, b) for a, b in law if a + b >= 1 and s - a + b <= k and (pure_removals or b >= 1)]
    return {pair: law[pair] for pair in keep}


def table(law, s):
    steps = np.diff(law.cumulative[s], prepend=0.0)
    pairs = zip(law.removals[s].tolist(), law.additions[s].tolist(), strict=True)
    found = {}
    for pair, p in zip(pairs, steps.tolist(), strict=True):
        if p > 0:
            assert pair not in found
            found[pair] = p
    return found


@pytest.mark.parametrize("pure_removals", [False, True])
def test_table_is_the_binomial_law_given_that_something_can_change(pure_removals):
    for m in range(1, 10):
        for k in range(1, m + 1):
            law = bitwise_law(m, k, pure_removals=pure_removals)
            assert law.relevant.shape == (k + 1,)
            assert np.all(np.isfinite(law.cumulative))
            for s in range(k + 1):
                exact = relevant_pairs(m, k, s, pure_removals)
                total = sum(exact.values())
                assert law.relevant[s] == pytest.approx(float(total), rel=1e-12, abs=1e-300)
                if total == 0:
                    continue
                found = table(law, s)
                for pair, p in exact.items():
                    assert found.get(pair, 0.0) == pytest.approx(float(p / total), abs=1e-14)
                assert set(found) <= set(exact)
                assert law.cumulative[s, -1] == 1.0


@pytest.mark.parametrize(("m", "k"), [(1000, 20), (100_000, 5), (300, 300)])
def test_table_at_real_sizes_against_scipy(m, k):
    for pure_removals in (False, True):
        law = bitwise_law(m, k, pure_removals=pure_removals)
        for s in (0, 1, k // 2, k - 1, k):
            a, b = np.arange(min(s, 60) + 1)[:, None], np.arange(min(m - s, 60) + 1)[None, :]
            joint = binom.pmf(a, s, 1 / m) * binom.pmf(b, m - s, 1 / m)
            keep = (a + b >= 1) & (s - a + b <= k) & ((b >= 1) | pure_removals)
            assert law.relevant[s] == pytest.approx(joint[keep].sum(), rel=1e-10)
            if joint[keep].sum() == 0:
                continue
            found = table(law, s)
            mean_lost = sum(p * lost for (lost, _), p in found.items())
            mean_gained = sum(p * gained for (_, gained), p in found.items())
            assert mean_lost == pytest.approx((joint * a)[keep].sum() / joint[keep].sum(), rel=1e-9, abs=1e-12)
            assert mean_gained == pytest.approx((joint * b)[keep].sum() / joint[keep].sum(), rel=1e-9)


# ------------------------------------------------------------------------------------------------- the generator


def test_generator_is_xoroshiro128plus_and_uniform():
    state = seeded(1)
    twin = naive.Xoroshiro(state)
    drawn = np.array([uniform(state) for _ in range(20_000)])
    assert drawn.tolist() == [twin.uniform() for _ in range(20_000)]
    assert np.all((drawn >= 0) & (drawn < 1))
    assert fits(np.histogram(drawn, bins=50, range=(0, 1))[0], np.full(50, 0.02)) > FALSE_ALARM
    pairs = np.histogram2d(drawn[::2], drawn[1::2], bins=10, range=((0, 1), (0, 1)))[0].ravel()
    assert fits(pairs, np.full(100, 0.01)) > FALSE_ALARM
    assert fits(np.bincount([below(state, 7) for _ in range(20_000)], minlength=7), np.full(7, 1 / 7)) > FALSE_ALARM


@pytest.mark.parametrize("p", [0.7, 0.05, 1e-3])
def test_waiting_times_are_geometric(p):
    state = seeded(2)
    waits = np.array([skipped(state, p) for _ in range(20_000)])
    edges = np.unique(geom.ppf(np.linspace(0, 1, 25)[1:-1], p, loc=-1)).astype(int)  # failures before the success
    mass = np.diff(np.concatenate([[0.0], geom.cdf(edges, p, loc=-1), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, waits, side="left"), minlength=len(edges) + 1)
    assert fits(counts, mass) > FALSE_ALARM
    assert waits.min() >= 0
    assert all(skipped(state, 1.0) == 0 for _ in range(100))


# ------------------------------------------------------------------------------- what is drawn from a population


@njit
def _draw(archive, law, state, count, sizes, lost, gained, hits):
    removed, added = np.empty(archive.slot.size, np.int64), np.empty(archive.slot.size, np.int64)
    mean, members = relevant_probability(archive, law)
    for t in range(count):
        s = choose_parent(archive, law, mean, members, state)
        a, b = choose_flips(archive, law, s, state, removed, added)
        sizes[t], lost[t], gained[t] = s, a, b
        for r in removed[:a]:
            hits[s, r] += 1
        for r in added[:b]:
            hits[s, r] += 1
    return mean


@pytest.mark.parametrize("problem", ["k-median", "k-center"])
def test_parents_and_flips_follow_the_law_given_that_something_can_change(problem):
    rng = np.random.default_rng(0)
    m, k = 9, 5
    case = instance(rng, problem, m, kind="uniform", k=k, metric="euclidean", other_sites=False)
    engine = engine_for(pose(problem, case.space(), k), 3)
    # k-median: P has one member, of size 3. k-center: sizes 1, 3 and k, of which the last has far fewer relevant
    # offspring than the others, since it cannot grow: parents are not uniform once that is given.
    if problem == "k-median":
        engine.replay([(0, [0]), (0, [4, 6])])
    else:
        posed = engine.problem
        best = {size: max(combinations(range(m), size), key=lambda c: posed.f1(np.array(c))) for size in (3, 5)}
        assert posed.f1(np.array(best[3])) > posed.f1(np.array(best[5]))
        engine.replay([(0, [0]), (0, sorted({0} ^ set(best[3])))])
        engine.replay([(1, sorted(set(best[3]) ^ set(best[5])))])
    members = {len(z.centers): z.centers.tolist() for z in engine.population}
    assert sorted(members) == ([3] if problem == "k-median" else [1, 3, 5])
    count = 200_000
    sizes, lost, gained = (np.empty(count, dtype=np.int64) for _ in range(3))
    hits = np.zeros((k + 1, m), dtype=np.int64)
    mean = _draw(engine._archive, engine._law, engine._state, count, sizes, lost, gained, hits)
    exact = {s: relevant_pairs(m, k, s, problem == "k-center") for s in members}
    total = sum(float(p) for law in exact.values() for p in law.values())
    # the waiting time's success probability: a uniform parent, then a relevant mutation
    assert mean == pytest.approx(total / len(members), rel=1e-12)
    drawn = Counter(zip(sizes.tolist(), lost.tolist(), gained.tolist(), strict=True))
    outcomes = [(s, a, b) for s in exact for a, b in exact[s]]
    assert set(drawn) <= set(outcomes)
    expected = [float(exact[s][a, b]) / total for s, a, b in outcomes]
    assert fits([drawn[o] for o in outcomes], expected) > FALSE_ALARM
    for s, z in members.items():  # within a count, every position is as likely as any other
        inside = hits[s, z]
        if inside.sum() > 100:
            assert fits(inside, np.full(len(z), 1 / len(z))) > FALSE_ALARM
        outside = np.delete(hits[s], z)
        assert fits(outside, np.full(len(outside), 1 / len(outside))) > FALSE_ALARM


def test_random_choices_of_the_plain_version():
    m = 6
    choose = random_choices(m, 0)
    drawn = [choose(3) for _ in range(20_000)]
    assert fits(np.bincount([rank for rank, _ in drawn], minlength=3), np.full(3, 1 / 3)) > FALSE_ALARM
    counts = np.bincount([len(flips) for _, flips in drawn], minlength=m + 1)
    assert fits(counts, binom.pmf(np.arange(m + 1), m, 1 / m)) > FALSE_ALARM
    positions = np.bincount(np.concatenate([flips for _, flips in drawn]), minlength=m)
    assert fits(positions, np.full(m, 1 / m)) > FALSE_ALARM


# ------------------------------------------------------------------------------------------- the whole process


def tiny(problem):
    """Five points on a line with ties; two critical balls for fair k-median."""
    X = np.array([[0.0], [1.0], [100.0], [102.0], [103.0]])
    metric = "sqeuclidean" if problem == "k-means" else "euclidean"
    posed = pose(problem, build_space(X, None, Metric.of(metric), np.ones(5)), 3)
    if problem == "fair k-median":
        assert len(posed.ball_centers) == 2
    return posed


def exact_law(posed, iterations):
    evaluate = oracle(posed, refresh=True)[0].evaluate
    return naive.population_law(evaluate, posed.space.m, posed.k, iterations)


def population_key(members):
    return tuple(frozenset(z) for z, _ in members)


RUNS = 2000


@pytest.mark.parametrize("problem", ["k-median", "fair k-median", "k-center"])
def test_population_after_n_iterations_has_the_exact_law_of_algorithm_1(problem):
    posed = tiny(problem)
    for iterations in (4, 15):
        law = Counter()
        for population, p in exact_law(posed, iterations).items():
            law[tuple(z for z, _ in population)] += p
        assert sum(law.values()) == pytest.approx(1.0)
        keys = list(law)
        compiled, plain = Counter(), Counter()
        for seed in range(RUNS):
            engine = engine_for(posed, seed)
            engine.advance(Limits(last=iterations))
            assert engine.iteration == iterations
            compiled[population_key(listed(engine.population))] += 1
        assert set(compiled) <= set(keys)
        assert fits([compiled[key] for key in keys], [law[key] for key in keys]) > FALSE_ALARM
        if iterations == 4:
            for seed in range(1000):
                members = listed(plain_gsemo(posed, iterations, random_choices(5, seed)))
                plain[population_key(members)] += 1
            assert set(plain) <= set(keys)
            assert fits([plain[key] for key in keys], [law[key] for key in keys]) > FALSE_ALARM


@pytest.mark.parametrize("problem", PROBLEMS)
def test_hitting_times_have_the_exact_law(problem):
    # First size-k solution (fair: one that meets all balls), or f1 >= 0 at size k: once in P, it never leaves.
    posed = tiny(problem)
    horizon = 30
    evaluate = oracle(posed, refresh=True)[0].evaluate
    reached = []
    law = {((frozenset(), evaluate(())),): 1.0}
    moves = {}
    for _ in range(horizon + 1):
        hit = sum(
            p for P, p in law.items() if len(P[-1][0]) == 3 and P[-1][1] >= (0, 0.0 if problem in MAX else -np.inf)
        )
        reached.append(hit)
        later = {}
        for population, mass in law.items():
            if population not in moves:
                moves[population] = naive._population_moves(evaluate, 5, 3, population)
            for after, p in moves[population]:
                later[after] = later.get(after, 0.0) + mass * p
        law = later
    mass = np.diff(reached, append=1.0)
    times = [gsemo(posed, random_state=seed, stop=Certified()).n_iter for seed in range(1500)]
    counts = np.bincount(np.minimum(times, horizon + 1) - 1, minlength=horizon + 1)
    assert fits(counts, mass) > FALSE_ALARM


# ------------------------------------------------------------------------------------------------ exact endings


def followed(posed, seed, iterations):
    """A plain Algorithm 1 on the draws of ``gsemo(posed, random_state=seed)``."""
    engine = engine_for(posed, int(np.random.RandomState(seed).randint(2**31)))
    process = oracle(posed, refresh=posed.name in MAX)[0]
    return naive.follow(process, engine._law, engine._state.copy(), posed.space.m, iterations)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_run_ends_in_exactly_the_iteration_asked_for(problem):
    rng = np.random.default_rng(7)
    for seed in range(8):
        case = instance(rng, problem, 8, kind="uniform", k=3, other_sites=False)
        posed = pose(problem, case.space(), 3)
        process = followed(posed, seed, 4000)

        for n in (1, 2, 13, 500):
            assert gsemo(posed, n, seed).n_iter == n
            assert gsemo(posed, random_state=seed, stop=MaxIterations(n) | NoImprovement(10**6)).n_iter == n

        # improvements of a feasible size-k solution; a set that misses a ball is none
        costs = [(t, v if problem in MAX else -v[1]) for t, v in process.improvements if problem in MAX or v[0] == 0]
        times = [t for t, _ in process.improvements]  # patience counts from any, balls missed or not
        for patience in (5, 60):
            end = next(t for t, later in pairwise([*times, 10**9]) if later - t > patience) + patience
            run = gsemo(posed, random_state=seed, stop=NoImprovement(patience))
            assert run.n_iter == end
            assert run.improved == end - patience

        for t, cost in costs:
            run = gsemo(posed, 10**6, seed, target=cost)  # with a limit, so that no default criterion comes first
            assert run.n_iter == t
            assert run.cost == cost
            assert gsemo(posed, random_state=seed, stop=Target(cost)).n_iter == t

        sized = gsemo(posed, random_state=seed, stop=Sized())  # feasible or not
        assert sized.n_iter == times[0]
        assert len(sized.population[-1].centers) == 3

        certified = process.first_certified if problem in MAX else costs[0][0]
        run = gsemo(posed, random_state=seed, stop=Certified())
        assert run.n_iter == certified
        assert run.certified


@pytest.mark.parametrize("problem", ["k-median", "k-center"])
def test_same_seed_same_run_and_block_size_changes_nothing(problem):
    case = instance(np.random.default_rng(8), problem, 30, kind="uniform", k=6, metric="euclidean", other_sites=False)
    posed = pose(problem, case.space(), 6)
    first, again, other = (gsemo(posed, 3000, seed) for seed in (5, 5, 6))
    assert listed(first.population) == listed(again.population)
    assert (first.cost, first.h, first.n_iter, first.evaluations) == (
        again.cost,
        again.h,
        again.n_iter,
        again.evaluations,
    )
    assert (first.mean_population, first.evaluations) != (other.mean_population, other.evaluations)
    ends = []
    for work in (1, 7, 10**6):
        engine = engine_for(posed, 5)
        engine._work = work
        while engine.iteration < 3000:
            engine.advance(Limits(last=3000))
        ends.append(
            (listed(engine.population), engine.iteration, engine.improved, engine.mean_population, engine.upper)
        )
    assert ends[0] == ends[1] == ends[2]


def test_nothing_left_to_do_ends_a_run_that_only_the_clock_would_end():
    # k = |F|: once all sites are centres no offspring can change P, and no iteration count can be waited for.
    posed = pose("k-median", tiny("k-median").space, 5)
    run = gsemo(posed, random_state=0, stop=TimeLimit(0.3))
    assert run.cost == 0
    assert run.n_iter < 10**12


def test_a_target_of_infinity_waits_for_a_solution():
    run = gsemo(tiny("fair k-median"), random_state=0, target=np.inf)
    assert run.best is not None
    assert run.certified
