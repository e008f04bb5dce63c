"""The compiled Algorithm 1 against plain ones: the same choices must give the same population, to the bit."""

import numpy as np
import pytest
from sklearn import config_context

from certiclust.evolution import engine_for, plain_gsemo
from certiclust.evolution.engines import Limits
from tests import naive
from tests.instances import COMPILED, GRAPH_KINDS, PROBLEMS, instance, pose
from tests.solver import brute

MAX = ("k-center", "k-tMM")


def oracle(problem, refresh):
    """naive.Gsemo on the numbers of the problem's space, whose distances are tested elsewhere."""
    space, k = problem.space, problem.k
    D, w = space.distances(np.arange(space.m)).T, space.weights
    balls = ()
    if problem.name == "fair k-median":
        r = naive.fair_radii(D, w, k)
        balls = naive.ball_members(D, r, problem.beta, naive.critical_balls(D, r, problem.beta))
    memo = {}

    def f1(centers):
        key = tuple(sorted(centers))
        if key not in memo:
            memo[key] = naive.f1(problem.name, D, w, key, balls)
        return memo[key]

    if problem.name not in MAX:
        return naive.Gsemo(f1, k, refresh=refresh), D
    costs = lambda centers: naive.cost(problem.name, D, w, centers)  # noqa: E731
    return naive.Gsemo(f1, k, cost=costs, h=lambda centers: naive.radius(D, centers), refresh=refresh), D


def choice_maker(rng, m):
    """Uniform parents; flips at rate 1/m, often at 3/m and sometimes more, so that rare offspring are met as well."""

    def choose(size):
        rate = min(1.0, rng.choice([1.0, 1.0, 3.0, 0.3 * m]) / m)
        return int(rng.integers(size)), np.flatnonzero(rng.random(m) < rate)

    return choose


def listed(population):
    return [(tuple(int(c) for c in z.centers), (z.f1[0], z.f1[1])) for z in population]


def check_replay(problem, rng, iterations, chunk=20):
    process, D = oracle(problem, refresh=True)
    draw = choice_maker(rng, problem.space.m)
    engine = engine_for(problem, 0)
    choices = []
    while len(choices) < iterations:
        part = []
        for _ in range(chunk):
            rank, flips = draw(len(process.population))
            process.step(process.sizes[rank], flips.tolist())
            part.append((rank, flips))
        choices += part
        engine.replay(part)
        assert listed(engine.population) == process.members()
    assert engine.iteration == iterations == process.iteration
    replayed = iter(choices)
    plain = plain_gsemo(problem, iterations, lambda size: next(replayed))
    assert listed(plain) == process.members()
    assert engine.improved == process.improved
    check_records(problem, engine, process, D)


def check_records(problem, engine, process, D):
    size_k = process.population.get(problem.k)
    if problem.name in MAX:
        assert engine.upper == process.best_cost
        assert engine.h == process.best_h
        assert engine.certified == (process.best_h >= 0)
        if process.best is None:
            assert engine.best is None
        else:
            assert tuple(engine.best) == process.best
        if engine.h > 0:
            assert len(set(engine.apart.tolist())) == problem.k + 1
            assert naive.separation(D, engine.apart) == engine.h
        else:
            assert engine.apart is None
    elif size_k is None:
        assert engine.best is None
        assert engine.upper == np.inf
        assert not engine.certified
    else:
        assert tuple(engine.best) == tuple(sorted(size_k[0]))
        assert engine.upper == (-size_k[1][1] if size_k[1][0] == 0 else np.inf)  # a set that misses a ball is none
        assert engine.certified == (size_k[1][0] == 0)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_replay_gives_the_same_population_on_every_kind_of_instance(problem):
    rng = np.random.default_rng(PROBLEMS.index(problem))
    seen = set()
    for _ in range(45):
        case = instance(rng, problem, int(rng.integers(1, 10)))
        posed = pose(problem, case.space(), case.k, beta=float(rng.choice([1.0, 1.5])))
        seen |= {*case.label.split("/"), "k=1" if case.k == 1 else "k=m" if case.k == case.D.shape[1] else "between"}
        seen |= set() if case.own else {"other sites"}
        check_replay(posed, rng, 160)
    # what the brief of this test promises was really drawn
    assert {"duplicates", "grid", "offset", "far", "unit", "integer", "wild", "k=1", "k=m", "between"} <= seen
    assert ("other sites" in seen) == (problem in ("k-median", "k-means"))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_replay_on_larger_instances_with_ties(problem):
    # More centres than the two nearest that the tables keep: removals of several centres at once must rescan.
    rng = np.random.default_rng(100 + PROBLEMS.index(problem))
    for n, k in ((17, 6), (26, 11), (40, 8)):
        kind = "grid" if problem == "k-means" else str(rng.choice(["grid", "duplicates", "one-two"]))
        case = instance(rng, problem, n, kind=kind, k=k, other_sites=False)
        check_replay(pose(problem, case.space(), case.k), rng, 400, chunk=50)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_replay_with_distances_computed_on_the_fly(problem):
    rng = np.random.default_rng(200 + PROBLEMS.index(problem))
    metrics = ["sqeuclidean"] if problem == "k-means" else COMPILED
    for metric in metrics:
        for kind in ("grid", "clusters", "offset"):
            case = instance(rng, problem, 12, kind=kind, k=4, metric=metric, other_sites=False)
            with config_context(working_memory=1e-5):
                space = case.space()
                assert space.matrix is None
                check_replay(pose(problem, space, case.k), rng, 120)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_advance_follows_its_own_draws_through_algorithm_1(problem):
    # The same generator state drives a plain Algorithm 1 here and `advance` there: shortcuts that only `advance` takes
    # (additions rejected by bounds, swaps remembered) must never change the outcome.
    rng = np.random.default_rng(300 + PROBLEMS.index(problem))
    for trial in range(25):
        n = int(rng.integers(2, 10)) if trial < 18 else 20
        case = instance(rng, problem, n, k=int(rng.integers(1, min(n, 7) + 1)))
        posed = pose(problem, case.space(), case.k)
        process, D = oracle(posed, refresh=problem in MAX)
        engine = engine_for(posed, trial)
        state = engine._state.copy()
        for last in (1, 7, 400, 3000):  # each limit cuts one waiting time short, as memorylessness allows
            engine.advance(Limits(last=last))
            rng_state = naive.follow(process, engine._law, state, case.D.shape[1], last)
            state = np.array([rng_state.rng.a, rng_state.rng.b], dtype=np.uint64)
            assert np.array_equal(state, engine._state)
            assert listed(engine.population) == process.members()
            assert engine.iteration == process.iteration == last
            assert engine.mean_population * last == pytest.approx(process.total_size, rel=1e-12)
            assert engine.improved == process.improved
            check_records(posed, engine, process, D)


@pytest.mark.parametrize("problem", ["k-median", "k-means", "fair k-median"])
def test_equal_swaps_beside_huge_distances_are_not_lost_to_rounding(problem):
    # Clusters 1e9 apart on a grid of 0.1: many swaps leave the cost exactly as it is, and the newer set must stay. A
    # shortcut that adds and subtracts second distances of 1e9 is wrong by 1e-7, and would reject them.
    rng = np.random.default_rng(400)
    for trial in range(12):
        metric = "sqeuclidean" if problem == "k-means" else "euclidean"
        case = instance(rng, problem, 10, kind="far", weight="unit", k=3, metric=metric, other_sites=False)
        posed = pose(problem, case.space(), case.k)
        process, _ = oracle(posed, refresh=False)
        engine = engine_for(posed, trial)
        state = engine._state.copy()
        for last in range(250, 2001, 250):
            engine.advance(Limits(last=last))
            naive.follow(process, engine._law, state, 10, last)
            state = np.array([process.rng.a, process.rng.b], dtype=np.uint64)
            assert listed(engine.population) == process.members()


@pytest.mark.parametrize("problem", ["k-median", "fair k-median"])
def test_what_is_remembered_about_swaps_is_forgotten_when_the_population_changes(problem):
    # Long enough, with enough centres, for candidates to be judged, P to change, and the same ones to be met again.
    rng = np.random.default_rng(500)
    for trial in range(3):
        case = instance(rng, problem, 40, kind="uniform", weight="wild", k=6, metric="euclidean", other_sites=False)
        posed = pose(problem, case.space(), 6)
        process = naive.Gsemo(lambda c, posed=posed: posed.f1(np.array(sorted(c), dtype=np.intp)), 6, refresh=False)
        engine = engine_for(posed, trial)
        naive.follow(process, engine._law, engine._state.copy(), 40, 20_000)
        engine.advance(Limits(last=20_000))
        assert listed(engine.population) == process.members()
        assert engine.improved == process.improved


def test_replay_counts_an_iteration_without_flips_and_changes_nothing():
    case = instance(np.random.default_rng(0), "k-median", 6, kind="grid", k=2, other_sites=False)
    for problem in ("k-median", "k-center"):
        engine = engine_for(pose(problem, case.space(), 2), 0)
        engine.replay([(0, [1]), (0, [])])
        before = listed(engine.population)
        engine.replay([(0, [])] * 5)
        assert engine.iteration == 7
        assert listed(engine.population) == before


def test_newer_solution_stays_on_equal_objectives_and_oversize_is_rejected():
    # Four corners of a square: every single centre has the same cost, every f1 of two opposite corners too.
    D = naive.matrix("manhattan", *[np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])] * 2)
    from certiclust.space import precomputed_space

    space = precomputed_space(D, np.ones(4), own=True)
    for problem in PROBLEMS[:1] + PROBLEMS[2:]:
        engine = engine_for(pose(problem, space, 1), 0)
        engine.replay([(0, [2])])
        engine.replay([(0, [2, 3])])
        assert [z for z, _ in listed(engine.population)][-1] == (3,)
        engine.replay([(0, [0])])  # two centres: more than k
        assert [z for z, _ in listed(engine.population)][-1] == (3,)


def test_sum_kernels_add_as_the_definition_says():
    from certiclust.evolution.kernels.sums import swap_total
    from certiclust.problems.base import weighted_sum

    rng, total = np.random.default_rng(5), brute.compiled(swap_total)
    for n in [*range(1, 20), 40, 129]:
        w, d = 10.0 ** rng.uniform(-8, 8, n), 10.0 ** rng.uniform(-8, 8, n)
        expected = naive.eight_lane_sum(w, d)
        assert weighted_sum(w, d) == expected
        near, d1 = rng.integers(0, 3, n).astype(np.int32), rng.random(n)
        d2 = d1 + rng.random(n)
        for gone in (-2, 0, 1):
            kept = np.minimum(np.where(near == gone, d2, d1), d)
            assert total(near, d1, d2, gone, d, w, np.empty(8)) == naive.eight_lane_sum(w, kept)


def test_diameter_kernel_against_the_twin():
    from certiclust.evolution.kernels.maxima import diameter_below
    from certiclust.space.kernels import MatrixRows

    rng = np.random.default_rng(6)
    for kind in ("grid", "duplicates", "uniform", "no metric", "no metric", *GRAPH_KINDS):
        for n in (1, 2, 5, 9, 9, 15):
            if kind == "no metric":  # where a centre and its duplicate see the others differently
                D = np.triu(rng.choice([0.0, 1.0, 2.0, 3.0], (n, n)), 1)
                D = D + D.T
            else:
                D = instance(rng, "k-tMM", n, kind=kind, metric="euclidean").D
            members = rng.permutation(n)[: rng.integers(1, n + 1)].astype(np.int64)
            expected = naive.diameter(D, members.tolist())
            rows, buffer = MatrixRows(np.ascontiguousarray(D)), np.empty(n)
            assert diameter_below(rows, members, n, np.inf, buffer) == expected
            assert diameter_below(rows, members, n, np.nextafter(expected, np.inf), buffer) == expected
            if expected > 0:  # the limit is strict: only a smaller diameter is of use
                assert diameter_below(rows, members, n, expected, buffer) == np.inf
