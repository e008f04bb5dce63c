"""Composed algorithms as a whole: values, endings, laws, contracts."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from sklearn import config_context

from certiclust.evolution import (
    ALGORITHMS,
    Algorithm,
    ArchiveSurvival,
    BalancedCrossover,
    BestBiasedSelection,
    BitwiseMutation,
    Certified,
    CommaSurvival,
    CrowdingSelection,
    CrowdingSurvival,
    HeavyTailedMutation,
    HypervolumeSelection,
    HypervolumeSurvival,
    NichingSurvival,
    NoImprovement,
    OneBitMutation,
    Sized,
    SubsetProblem,
    SwapMutation,
    UnionCrossover,
    evolve,
    general_lemma,
    gsemo,
)
from certiclust.evolution.composed import composed_engine
from certiclust.evolution.engines import Limits
from certiclust.problems import FairKMedianProblem, KCenterProblem, KMeansProblem, KMedianProblem
from certiclust.space import Metric, build_space, precomputed_space
from certiclust.space.kernels import PointRows
from certiclust.theory import iteration_bound
from tests.evolution.test_gsemo_replay import MAX, listed
from tests.evolution.test_law import FALSE_ALARM, exact_law, fits, population_key, tiny
from tests.instances import PROBLEMS, instance, pose

POPULATIONS = ["nsga2", "nsga3", "sms-emoa", "moead"]
COMPOSED = {
    **{name: ALGORITHMS[name] for name in POPULATIONS},
    "archive, two offspring, diversity, union": Algorithm(
        selection=CrowdingSelection(), crossover=UnionCrossover(0.4), offspring=2
    ),
    "crowding, hypervolume, balanced, heavy": Algorithm(
        selection=HypervolumeSelection(),
        mutation=HeavyTailedMutation(),
        crossover=BalancedCrossover(0.3),
        survival=CrowdingSurvival(),
    ),
    "hypervolume, best-biased, swaps": Algorithm(
        selection=BestBiasedSelection(0.5), mutation=SwapMutation(), survival=HypervolumeSurvival(), offspring=3
    ),
    "comma": Algorithm(survival=CommaSurvival()),
}


def check_run(run):
    """Every number of a run against the problem's own plain functions."""
    problem = run.problem
    for member in run.population:
        assert len(member.centers) <= problem.k
        assert member.f1 == problem.f1(member.centers)
    if run.best is None:
        assert run.cost == np.inf
        return
    assert len(run.best) == problem.k
    if np.isfinite(run.cost):
        assert run.cost == problem.cost(run.best)
    if problem.name in MAX:
        assert run.certified == (run.h >= 0)
        if run.h > 0:
            between = problem.space.distances(run.apart)[:, run.apart]
            assert len(set(run.apart.tolist())) == problem.k + 1
            assert between[np.triu_indices(problem.k + 1, 1)].min() >= run.h
    else:
        assert run.certified == (problem.violations(run.best) == 0)


@pytest.mark.parametrize("name", list(COMPOSED))
@pytest.mark.parametrize("problem", PROBLEMS)
def test_values_and_records_are_those_of_the_problem(problem, name):
    rng = np.random.default_rng(3)
    for trial, kind in enumerate(["uniform", "grid", "duplicates", "offset", "uniform"]):
        n = int(rng.integers(1, 12)) if trial else 9
        k = 1 if trial == 3 else n if trial == 4 else int(rng.integers(1, n + 1))
        case = instance(rng, problem, n, kind=kind, k=k, other_sites=False)
        posed = pose(problem, case.space(), k)
        engine = COMPOSED[name].engine(posed, trial)
        for last in (3, 40, 500):
            engine.advance(Limits(last=last))
            held = np.unique(engine._population.lists.people[: sum(engine._population.lists.tally[:2])])
            for slot in held:  # tables and marks belong to the set in the slot
                size = engine._population.objectives.size[slot]
                members = np.sort(engine._archive.members[slot, :size])
                assert np.flatnonzero(engine._archive.inside[slot]).tolist() == members.tolist()
            brood = engine._population.lists.brood[: engine._population.lists.tally[3]]
            free = engine._archive.free[: engine._archive.counters[5] + 1]
            assert len(set(free.tolist())) + len(np.union1d(held, brood)) == len(engine._archive.value)
        check_run(evolve(posed, COMPOSED[name], 700, trial))


UNUSUAL = "crowding, hypervolume, balanced, heavy"


@pytest.mark.parametrize(
    ("problem", "name"),
    [*product(PROBLEMS, [*POPULATIONS, "comma"]), ("k-median", UNUSUAL), ("fair k-median", UNUSUAL)],
)
def test_without_a_matrix_a_run_is_the_same_to_the_bit(problem, name):
    # Distances computed on the fly are, to the bit, those that a matrix holds (test_space), so the runs must agree.
    rng = np.random.default_rng(30)
    for trial, kind in enumerate(["uniform", "grid", "offset"]):
        case = instance(rng, problem, 18, kind=kind, k=4, other_sites=False)
        with config_context(working_memory=1e-5):
            computed = pose(problem, case.space(), 4)
        assert isinstance(computed.space.rows(), PointRows)
        runs = [evolve(posed, COMPOSED[name], 1500, trial) for posed in (pose(problem, case.space(), 4), computed)]
        check_run(runs[1])
        with_matrix, without = (
            [(member.centers.tolist(), member.f1) for member in run.population]
            + [run.best.tolist(), run.cost, run.h, run.evaluations, run.improved, run.mean_population]
            for run in runs
        )
        assert without == with_matrix


@pytest.mark.parametrize("mutation", ["bitwise", "heavy-tailed"])
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_small_optima_are_found(name, mutation):
    rng = np.random.default_rng(4)
    for trial in range(3):
        case = instance(rng, "k-median", 10, kind="uniform", k=3, metric="euclidean", other_sites=False)
        posed = pose("k-median", case.space(), 3)
        optimum = min(posed.cost(np.array(c)) for c in combinations(range(10), 3))
        run = evolve(posed, name, 200_000, trial, mutation=mutation, target=optimum)
        assert run.cost == optimum
        assert run.n_iter < 200_000


@pytest.mark.parametrize("name", ["gsemo", "nsga2", "sms-emoa"])
@pytest.mark.parametrize("problem", MAX)
def test_max_problems_reach_their_condition(problem, name):
    rng = np.random.default_rng(5)
    for trial in range(3):
        case = instance(rng, problem, 12, kind="uniform", k=4, other_sites=False)
        run = evolve(pose(problem, case.space(), 4), name, random_state=trial)
        assert run.certified
        check_run(run)


# --------------------------------------------------------------------------------------------------------- endings


@pytest.mark.parametrize("name", list(COMPOSED))
@pytest.mark.parametrize("problem", ["fair k-median", "k-center"])
def test_a_run_ends_in_exactly_the_iteration_asked_for(problem, name):
    case = instance(np.random.default_rng(6), problem, 9, kind="uniform", k=3, other_sites=False)
    posed = pose(problem, case.space(), 3)
    algorithm = COMPOSED[name]

    def after(n):
        return evolve(posed, algorithm, n, 7)

    for n in (1, 2, 13, 500):
        assert after(n).n_iter == n
    sized = evolve(posed, algorithm, 10**5, 7, stop=Sized()).n_iter
    assert after(sized).best is not None
    assert after(sized - 1).best is None
    certified = evolve(posed, algorithm, 10**5, 7, stop=Certified())
    assert after(certified.n_iter).certified
    assert not after(certified.n_iter - 1).certified
    late = after(600)
    run = evolve(posed, algorithm, 10**5, 7, target=late.cost)
    assert run.cost <= late.cost < after(run.n_iter - 1).cost
    waited = evolve(posed, algorithm, 10**5, 7, stop=NoImprovement(40))
    assert waited.n_iter == waited.improved + 40


@pytest.mark.parametrize("name", list(COMPOSED))
def test_same_seed_same_run_and_block_size_changes_nothing(name):
    case = instance(
        np.random.default_rng(8), "k-median", 20, kind="uniform", k=4, metric="euclidean", other_sites=False
    )
    posed = pose("k-median", case.space(), 4)
    ends = []
    for work in (1, 7, 10**6):
        engine = COMPOSED[name].engine(posed, 5)
        engine._work = work
        while engine.iteration < 400:
            engine.advance(Limits(last=400))
        ends.append((listed(engine.population), engine.improved, engine.mean_population, engine.upper))
    assert ends[0] == ends[1] == ends[2]
    other = COMPOSED[name].engine(posed, 6)
    other.advance(Limits(last=400))
    assert other.evaluations != engine.evaluations or listed(other.population) != ends[0][0]


def test_by_name_gsemo_is_gsemo():
    case = instance(
        np.random.default_rng(8), "k-center", 20, kind="uniform", k=4, metric="euclidean", other_sites=False
    )
    posed = pose("k-center", case.space(), 4)
    one, other = gsemo(posed, 2000, 3), evolve(posed, "gsemo", 2000, 3)
    assert (listed(one.population), one.cost, one.evaluations, one.h) == (
        listed(other.population),
        other.cost,
        other.evaluations,
        other.h,
    )


# ------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("problem", ["fair k-median", "k-center"])
def test_the_loop_with_an_archive_has_the_exact_law_of_algorithm_1(problem):
    posed = tiny(problem)
    algorithm = ALGORITHMS["gsemo"]
    threshold = 0.0 if problem in MAX else -np.inf
    recipe = algorithm.recipe(posed.k, threshold=threshold)
    for iterations in (4, 15):
        law = Counter()
        for population, p in exact_law(posed, iterations).items():
            law[tuple(z for z, _ in population)] += p
        found = Counter()
        for seed in range(1500):
            engine = composed_engine(posed, recipe, algorithm.mutation, seed)
            engine.advance(Limits(last=iterations))
            found[population_key(listed(engine.population))] += 1
        assert set(found) <= set(law)
        assert fits([found[key] for key in law], list(law.values())) > FALSE_ALARM


@pytest.mark.parametrize("mutation", [HeavyTailedMutation(), SwapMutation(), OneBitMutation()], ids=lambda m: m.name)
def test_algorithm_1_with_other_mutations_is_the_loop_with_an_archive(mutation):
    # Geometric skipping against the plain loop: hitting times of the first size-k solution in law.
    posed = tiny("k-median")
    fast = Algorithm(mutation=mutation)
    assert fast.is_gsemo
    slow = [composed_engine(posed, fast.recipe(posed.k), mutation, seed) for seed in range(1500)]
    for engine in slow:
        engine.advance(Limits(until_sized=True))
    times = [evolve(posed, fast, 10**6, seed, stop=Sized()).n_iter for seed in range(1500)]
    bins = np.quantile([engine.iteration for engine in slow], np.linspace(0, 1, 8)[1:-1])
    one = np.bincount(np.searchsorted(bins, [engine.iteration for engine in slow]), minlength=7)
    other = np.bincount(np.searchsorted(bins, times), minlength=7)
    total = one + other
    chi = (((one - total / 2) ** 2 + (other - total / 2) ** 2) / np.maximum(total / 2, 1)).sum()
    assert chi < 45  # seven classes: 1e-7


# -------------------------------------------------------------------------------------------------------- contracts


def plane(n, seed=0):
    return build_space(np.random.default_rng(seed).random((n, 2)), None, Metric.of("euclidean"), np.ones(n))


def test_contract_of_gsemo_is_the_theorem_without_its_rounding():
    k, n = 4, 30
    center = KCenterProblem(plane(n), k)
    contract = ALGORITHMS["gsemo"].contract(center)
    assert (contract.selection, contract.offspring, contract.elitist, contract.ratio) == (1 / k, 1, True, 2.0)
    theorem = iteration_bound(center).iterations  # with 1/e in place of (1 - 1/n)^(n - 1)
    assert contract.iterations == pytest.approx(theorem / np.e / (1 - 1 / n) ** (n - 1), rel=1e-12)
    median = KMedianProblem(plane(n), k)
    contract = ALGORITHMS["gsemo"].contract(median, epsilon=0.5)
    assert contract.ratio == 10.0
    chance = (1 / n) ** 2 * (1 - 1 / n) ** (n - 2)
    assert contract.reproduction(1, 1) == pytest.approx(chance, rel=1e-9)
    largest, least = median.space.extremes
    spread = largest.sum() / np.sort(least)[: n - k].sum()
    assert contract.phases["local optimum"] == pytest.approx(general_lemma(1 / k, chance, 0.5 / k, spread), rel=1e-9)
    assert contract.iterations <= iteration_bound(median, epsilon=0.5).iterations
    assert "ratio 10 within" in str(contract)
    assert "Pr_sel >= 0.25" in str(contract)


def test_contract_over_given_candidates_says_what_its_ratio_is_against():
    rng = np.random.default_rng(0)
    X, sites, metric = rng.random((12, 2)), rng.random((5, 2)), Metric.of("sqeuclidean")
    given = build_space(X, sites, metric, np.ones(12))
    contract = ALGORITHMS["gsemo"].contract(KMeansProblem(given, 2))
    assert contract.ratio == 100.0
    assert "ratio 100 against the best centres among the given candidates, within" in str(contract)
    for space, ratio in ((build_space(X, None, metric, np.ones(12)), 200.0), (replace(given, excess=0.5), 150.0)):
        contract = ALGORITHMS["gsemo"].contract(KMeansProblem(space, 2))
        assert (contract.ratio, contract.against) == (ratio, "")  # against centres anywhere
        assert f"ratio {ratio:.0f} within" in str(contract)
    zero = build_space(X, X, metric, np.ones(12))  # candidates at the rows: nothing is known below OPT
    words = "ratio 100 against the best centres among the given candidates, but no finite bound"
    assert words in str(ALGORITHMS["gsemo"].contract(KMeansProblem(zero, 2)))
    assert ALGORITHMS["gsemo"].contract(KMedianProblem(given, 2)).against == ""  # its optimum is over the candidates


def test_contracts_count_iterations_of_many_offspring():
    median = KMedianProblem(plane(30), 4)
    contract = ALGORITHMS["nsga2"].contract(median)
    assert (contract.selection, contract.offspring) == (0.1, 10)
    success = 0.1 * contract.reproduction(1, 1)
    one = ALGORITHMS["sms-emoa"].contract(median)
    assert one.selection == 0.2
    expected = one.phases["local optimum"] * 0.2 * contract.reproduction(1, 1) / (1 - (1 - success) ** 10)
    assert contract.phases["local optimum"] == pytest.approx(expected, rel=1e-9)
    assert contract.expected_offspring == 10 * contract.iterations
    assert "of 10 offspring each" in str(contract)
    crossed = Algorithm(crossover=UnionCrossover(0.25)).contract(median)
    assert crossed.reproduction(1, 1) == pytest.approx(0.75 * one.reproduction(1, 1))


@pytest.mark.parametrize(
    ("algorithm", "problem", "words"),
    [
        (Algorithm(survival=CommaSurvival()), "k-median", "non-elitist"),
        (Algorithm(survival=CommaSurvival()), "k-center", "non-elitist"),
        (Algorithm(mutation=OneBitMutation()), "k-median", "never makes every swap"),
        (ALGORITHMS["nsga3"], "k-center", "share a reference direction"),
        (ALGORITHMS["moead"], "k-center", "weighting"),
        (Algorithm(survival=CrowdingSurvival(), members=5), "k-median", "fewer than 2"),
        (Algorithm(survival=HypervolumeSurvival(), members=2), "k-median", "fewer than k"),
        (Algorithm(survival=NichingSurvival(1)), "k-median", "1 reference directions"),
        (Algorithm(mutation=SwapMutation()), "fair", "swap of up to 4"),
        (ALGORITHMS["gsemo"], "strict", "no theorem is about mode='strict'"),
        (ALGORITHMS["gsemo"], "tight", "factor 6"),
        (ALGORITHMS["gsemo"], "no metric", "triangle inequality"),
        (ALGORITHMS["gsemo"], "no metric center", "triangle inequality"),
        (ALGORITHMS["gsemo"], "own", "no theorem about own"),
    ],
)
def test_no_guarantee_comes_with_the_reason(algorithm, problem, words):
    rng = np.random.default_rng(0)
    D = rng.random((12, 12)) ** 8
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    nowhere = precomputed_space(D, np.ones(12), own=True)
    posed = {
        "k-median": lambda: KMedianProblem(plane(12), 3),
        "k-center": lambda: KCenterProblem(plane(12), 3),
        "fair": lambda: FairKMedianProblem(plane(12), 3, beta=1.0),
        "tight": lambda: FairKMedianProblem(plane(12), 3, beta=1.0, factor=2.0),
        "strict": lambda: FairKMedianProblem(plane(12), 3, beta=1.0, strict=True),
        "no metric": lambda: KMedianProblem(nowhere, 3),
        "no metric center": lambda: KCenterProblem(nowhere, 3),
        "own": lambda: SubsetProblem("own", 12, 3, lambda slots: None),
    }[problem]()
    contract = algorithm.contract(posed)
    assert contract.ratio is None
    assert contract.iterations == np.inf
    assert words in contract.reason
    assert f"none: {contract.reason}" in str(contract)
    assert contract.elitist == (
        not algorithm.survival.loses(algorithm.recipe(3).members, 3, every_size="center" in problem)
    )


def test_fair_contract_has_all_three_phases():
    posed = FairKMedianProblem(plane(40), 4, beta=1.0)
    contract = ALGORITHMS["gsemo"].contract(posed)
    assert contract.ratio == 84.0
    assert list(contract.phases) == ["size k", "all critical balls", "local optimum"]
    theorem = iteration_bound(posed)
    assert contract.phases["all critical balls"] <= theorem.phases["all critical balls"]


def test_measured_hitting_times_stay_below_the_contract():
    # k-center: the whole theorem; k-median: the first size-k solution.
    for name in ("gsemo", "nsga2", "sms-emoa"):
        center = KCenterProblem(plane(20), 4)
        times = [evolve(center, name, 10**6, seed, stop=Certified()).n_iter for seed in range(60)]
        assert np.mean(times) <= ALGORITHMS[name].contract(center).expected_offspring
    for name in ALGORITHMS:
        median = KMedianProblem(plane(20), 4)
        times = [evolve(median, name, 10**6, seed, stop=Sized()).n_iter for seed in range(60)]
        contract = ALGORITHMS[name].contract(median)
        assert np.mean(times) <= contract.phases["size k"] * contract.offspring


# ------------------------------------------------------------------------------------------------------------ errors


def test_bad_names_and_numbers_are_refused_with_one_sentence():
    posed = KMedianProblem(plane(6), 2)
    with pytest.raises(ValueError, match=r"algorithm must be one of gsemo, nsga2, .*; got 'nsga4'"):
        evolve(posed, "nsga4")
    with pytest.raises(ValueError, match="mutation must be one of bitwise, heavy-tailed or a Mutation; got 'cauchy'"):
        evolve(posed, "nsga2", mutation="cauchy")
    with pytest.raises(ValueError, match="has its own mutation"):
        evolve(posed, Algorithm(), mutation="heavy-tailed")
    with pytest.raises(ValueError, match="members must be at least 1; got 0"):
        Algorithm(survival=CrowdingSurvival(), members=0)
    with pytest.raises(ValueError, match="offspring must be at least 1; got -1"):
        Algorithm(offspring=-1)
    with pytest.raises(ValueError, match="has its own size"):
        Algorithm(survival=ArchiveSurvival(), members=3)
    with pytest.raises(ValueError, match=r"below 1; got 1\.0"):
        UnionCrossover(1.0)
    with pytest.raises(ValueError, match="between 0 and 1; got 2"):
        BestBiasedSelection(2)
    assert evolve(posed, "nsga2", 50, 0, mutation=BitwiseMutation()).n_iter == 50


def test_memory_is_refused_before_any_work():
    space = build_space(np.zeros((5000, 1)), None, Metric.of("euclidean"), np.ones(5000), hold_matrix=False)
    with config_context(working_memory=1), pytest.raises(ValueError, match=r"solutions at a time on 5000 rows need"):
        evolve(KMedianProblem(space, 40), "nsga2", 10)
