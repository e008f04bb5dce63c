"""Lower bounds against brute force: never above the optimum, ratios never below the true ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiclust.bounds import rounding_margin, separation_bound, swap_bound, swap_ratio
from certiclust.evolution import gsemo
from certiclust.evolution.swaps import least_swap_change
from certiclust.problems import KCenterProblem, KMeansProblem, KMedianProblem, KTMMProblem
from certiclust.solver import Budget, solve
from certiclust.space import Metric, build_space, precomputed_space
from tests import naive
from tests.instances import COMPILED, instances, points, pose, quick, thorough

METRICS = ["euclidean", "manhattan", "chebyshev"]


def numbers(posed):
    return posed.space.distances(np.arange(posed.space.m)).T, posed.space.weights


def optimum(posed):
    """The true optimum of the problem as it was posed (k-tMM: over all partitions)."""
    D, w = numbers(posed)
    if posed.name == "k-tMM":
        return naive.best_partition(D, posed.k)
    return naive.optimum(posed.name, D, w, posed.k)[0]


# ------------------------------------------------------------------------------------------- k-center and k-tMM


@pytest.mark.parametrize("problem", ["k-center", "k-tMM"])
def test_separation_bound_is_never_above_the_optimum(problem):
    positive = 0

    @thorough
    @given(instances(problem, max_n=8), st.integers(0, 1000))
    def check(case, seed):
        nonlocal positive
        posed = pose(problem, case.space(), case.k)
        run = gsemo(posed, 400, seed)
        bound = separation_bound(posed, run.h, run.apart)
        best = optimum(posed)
        assert bound.value <= best
        positive += bound.value > 0
        if run.h < 0:
            assert (bound.value, bound.ratio) == (0.0, None)
            assert "no size-k solution with f1 >= 0" in bound.because
            return
        assert bound.ratio == 2.0**posed.space.power
        assert run.cost <= bound.ratio * best * (1 + 1e-12) + 1e-300
        # close to what the points give, so that a bound of zero would be noticed
        factor = 1 if problem == "k-tMM" else 2**posed.space.power
        relative, absolute = rounding_margin(posed.space, 1)
        assert bound.value >= max(0.0, run.h / factor * (1 - 2 * relative) - absolute)
        assert relative < 1e-12
        if run.h > 0:
            assert bound.witness["apart"].tolist() == run.apart.tolist()
        else:
            assert bound.witness == {}
            assert run.cost == best == 0

    check()
    assert positive > 30


def test_the_k_center_factor_is_attained_and_not_more():
    # Three equidistant points around a fourth: h = 2, the optimum 1 = h/2.
    D = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0.0]])
    posed = KCenterProblem(precomputed_space(D, np.ones(4), own=True), 1)
    bound = separation_bound(posed, 2.0, np.array([1, 2]))
    assert bound.value == pytest.approx(1.0, rel=1e-12)
    assert bound.value <= 1.0
    assert bound.ratio == 2.0


def test_squared_metrics_get_factor_4():
    # On a line 0, 1, 2 the squared radius is 1 and h = 4: half of h would be above the optimum.
    X = np.array([[0.0], [1.0], [2.0]])
    squares = build_space(X, None, Metric.of("sqeuclidean"), np.ones(3))
    bound = separation_bound(KCenterProblem(squares, 1), 4.0, np.array([0, 2]))
    assert bound.value == pytest.approx(1.0)
    assert bound.value <= 1.0
    assert bound.ratio == 4.0
    diameter = separation_bound(KTMMProblem(squares, 1), 4.0, np.array([0, 2]))
    assert diameter.value == pytest.approx(4.0)
    assert diameter.ratio == 4.0
    angles = np.array([0.0, 0.3, 0.6])
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    cosine = KCenterProblem(build_space(circle, None, Metric.of("cosine"), np.ones(3)), 1)
    h = float(cosine.space.matrix[0, 2])
    bound = separation_bound(cosine, h, np.array([0, 2]))
    assert bound.value <= optimum(cosine) < h / 2
    assert bound.ratio == 4.0


def test_rounded_euclidean_distances_carry_no_guarantee():
    # PROOFS.md part 4: (0,0), (1,1), (2,2) rounded to integers, k = 1: h/2 = 1.5 > OPT = 1.
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    space = precomputed_space(np.rint(naive.matrix("euclidean", X, X)), np.ones(3), own=True)
    assert space.power is None
    center = KCenterProblem(space, 1)
    assert optimum(center) == 1.0
    bound = separation_bound(center, 3.0, np.array([0, 2]))
    assert (bound.value, bound.ratio) == (0.0, None)
    assert "triangle inequality" in bound.because
    # the diameter needs no metric: its bound stays, its ratio goes
    bound = separation_bound(KTMMProblem(space, 1), 3.0, np.array([0, 2]))
    assert bound.value == pytest.approx(3.0)
    assert bound.ratio is None
    result = solve(center, "auto", Budget(), random_state=0)
    assert result.bound.ratio is None
    assert result.bound.value == 1.0  # by a cover, which needs no metric
    two = KMedianProblem(space, 2)
    assert swap_bound(two, np.array([0, 1]), 0.0).ratio is None


@pytest.mark.parametrize("problem", ["k-center", "k-tMM"])
@quick
@given(st.integers(3, 7), st.integers(0, 2**32 - 1))
def test_no_metric_no_radius_bound(problem, n, seed):
    rng = np.random.default_rng(seed)
    D = np.triu(rng.choice([1.0, 5.0, 50.0], (n, n)), 1)
    space = precomputed_space(D + D.T, np.ones(n), own=True, check_metric=False)
    posed = pose(problem, space, int(rng.integers(1, n)))
    run = gsemo(posed, 300, int(seed % 1000))
    bound = separation_bound(posed, run.h, run.apart)
    assert bound.ratio is None
    assert bound.value <= optimum(posed)
    if problem == "k-center":
        assert bound.value == 0.0


def test_near_antipodal_points_on_the_sphere():
    rng = np.random.default_rng(0)
    for _ in range(40):
        X = np.array([[0.0, 0.0], [0.0, np.pi / 2], [0.0, np.pi]]) + rng.normal(size=(3, 2)) * 1e-9
        posed = KCenterProblem(build_space(X, None, Metric.of("haversine"), np.ones(3)), 1)
        run = gsemo(posed, 100, 0)
        assert separation_bound(posed, run.h, run.apart).value <= optimum(posed)


def test_squares_that_underflow():
    X = np.array([[0.0], [1.5e-162], [3e-162]])
    posed = KCenterProblem(build_space(X, None, Metric.of("euclidean"), np.ones(3)), 1)
    run = gsemo(posed, 100, 0)
    assert separation_bound(posed, run.h, run.apart).value <= optimum(posed)


# --------------------------------------------------------------------------------------------------- swap bound


def test_ratio_formulae():
    assert swap_ratio(7, 0.0, 1) == 5.0
    assert swap_ratio(7, 0.0, 2) == pytest.approx(25.0)
    assert swap_ratio(7, 0.0, 2, excess=1.0) == pytest.approx((2 + np.sqrt(10)) ** 2)
    assert round(swap_ratio(7, 0.0, 2, excess=1.0), 2) == 26.65
    assert round(swap_ratio(7, 0.0, 2, excess=0.5), 2) == 25.83
    assert swap_ratio(1, 0.0, 1) == swap_ratio(1, 0.0, 2) == 1.0
    assert swap_ratio(1, 0.0, 2, excess=1.0) == 2.0
    assert swap_ratio(4, 0.01, 1) == pytest.approx(5 / 0.96)
    assert swap_ratio(1, 0.25, 1) == pytest.approx(4 / 3)
    root = np.sqrt(swap_ratio(4, 0.01, 2, excess=1.0))
    assert 0.96 * root**2 - 4 * root - 6 == pytest.approx(0.0, abs=1e-9)
    assert root > 4 / 0.96  # the larger one
    assert swap_ratio(4, 0.25, 1) == swap_ratio(4, 0.3, 2) == np.inf
    assert swap_ratio(7, 0.01, 1, p=2) == pytest.approx(4 / 0.93)
    assert swap_ratio(7, 0.0, 2, p=2) == pytest.approx(16.0)
    assert swap_ratio(7, 0.0, 2, excess=0.5, p=2) == pytest.approx((1.5 + np.sqrt(2.5**2 + 0.5)) ** 2)
    assert swap_ratio(3, 0.25, 1, p=3) == pytest.approx(4 / 3)  # every solution is one swap away


def polished(problem, centers):
    """Swap while a swap improves by more than rounding, every one of them tried."""
    while True:
        swaps = (
            [*np.setdiff1d(centers, [out]), j] for out in centers for j in range(problem.space.m) if j not in centers
        )
        costs = [(problem.cost(np.sort(np.array(s, dtype=np.intp))), sorted(s)) for s in swaps]
        if not costs or min(costs)[0] >= problem.cost(centers) * (1 - 1e-14):
            return centers
        centers = np.array(min(costs)[1], dtype=np.intp)


@pytest.mark.parametrize("problem", ["k-median", "k-means"])
def test_swap_bound_is_never_above_the_optimum(problem):
    positive = 0

    @thorough
    @given(instances(problem, max_n=8), st.integers(0, 2**32 - 1), st.booleans())
    def check(case, seed, polish):
        nonlocal positive
        posed = pose(problem, case.space(), case.k)
        w = posed.space.weights
        centers = np.sort(np.random.default_rng(seed).permutation(posed.space.m)[: posed.k])
        if polish:
            centers = polished(posed, centers)
        change = least_swap_change(posed, centers)
        bound = swap_bound(posed, centers, change)
        cost = posed.cost(centers)
        among_sites = optimum(posed)
        best = among_sites
        if problem == "k-means" and posed.space.own and posed.space.n <= 7:
            best = naive.best_kmeans(case.points, w, posed.k)  # against free centres
        assert bound.value <= among_sites
        assert bound.value <= best * (1 + 1e-12) + 1e-300  # the oracle of free centres rounds as well
        if bound.ratio is not None:
            positive += bound.value > 0
            assert cost <= bound.ratio * best * (1 + 1e-9) + 1e-300
            assert bound.witness["swap_optimal"].tolist() == centers.tolist()
            if polish and cost > 0 and posed.k < posed.space.m and case.label.split("/")[0] not in ("far", "wild"):
                continuous = problem == "k-means" and posed.space.own
                power = posed.space.power
                limit = (1.0 + continuous) if posed.k == 1 else {1: 5.0, 2: 26.65 if continuous else 25.0}[power]
                assert bound.ratio <= limit * 1.001
        else:
            assert bound.value == 0.0

    check()
    assert positive > 40


@pytest.mark.parametrize("metric", COMPILED)
def test_offsets_of_1e8_do_not_break_the_bounds(metric):
    rng = np.random.default_rng(5)
    for _ in range(25):
        n = int(rng.integers(3, 9))
        space = build_space(points(rng, n, "offset", 2), None, Metric.of(metric), 10.0 ** rng.uniform(-3, 3, n))
        k = int(rng.integers(1, n))
        for problem in ("k-center", "k-tMM", "k-median"):
            posed = pose(problem, space, k)
            result = solve(posed, "auto", Budget(max_iter=500), random_state=0)
            assert result.bound.value <= optimum(posed)
            if result.bound.ratio is not None and metric != "cosine":  # cosines of 1e-17 are all rounding
                assert result.cost <= result.bound.ratio * optimum(posed) * (1 + 1e-12)


def test_k_equal_1_is_certified_optimal_only_if_it_is():
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    posed = KMedianProblem(build_space(X, None, Metric.of("euclidean"), np.ones(4)), 1)
    for center in range(4):
        centers = np.array([center])
        bound = swap_bound(posed, centers, least_swap_change(posed, centers))
        assert bound.value <= 11.0
        if center in (1, 2):
            assert bound.value == pytest.approx(11.0)
            assert bound.ratio == pytest.approx(1.0)
    # and without any metric: all other solutions were looked at
    free = KMedianProblem(
        precomputed_space(np.array([[0.0, 9.0], [1.0, 0.0]]), np.ones(2), own=False, check_metric=False), 1
    )
    assert swap_bound(free, np.array([0]), 8.0).value == pytest.approx(1.0)


def test_all_sites_open_is_the_only_solution():
    D = np.array([[1.0, 3.0], [2.0, 1.0], [4.0, 4.0]])
    posed = KMedianProblem(precomputed_space(D, np.ones(3), own=False), 2)
    bound = swap_bound(posed, np.array([0, 1]), np.inf)
    assert bound.ratio == 1.0
    assert bound.value == pytest.approx(6.0)
    assert bound.value <= 6.0


def test_without_a_metric_or_a_finished_check_nothing_is_claimed():
    D = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    posed = KMedianProblem(precomputed_space(D, np.ones(3), own=True), 2)
    assert posed.space.power is None
    bound = swap_bound(posed, np.array([0, 2]), 0.0)
    assert (bound.value, bound.ratio) == (0.0, None)
    assert "triangle inequality" in bound.because
    line = KMedianProblem(build_space(np.arange(5.0)[:, None], None, Metric.of("euclidean"), np.ones(5)), 2)
    assert swap_bound(line, np.array([0, 1]), None).ratio is None
    assert "not finished" in swap_bound(line, np.array([0, 1]), None).because
    gains = swap_bound(line, np.array([0, 1]), -3.0)  # half of the cost of 6: k * tau = 1
    assert (gains.value, gains.ratio) == (0.0, None)
    assert "still gains" in gains.because


def test_k_means_on_given_candidates_is_against_these_candidates():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    metric = Metric.of("sqeuclidean")
    sites = KMeansProblem(build_space(X, X[[0, 2, 3, 5]], metric, np.ones(6)), 2)
    data = KMeansProblem(build_space(X, None, metric, np.ones(6)), 2)
    assert swap_bound(sites, np.array([0, 2]), 0.0).ratio == pytest.approx(25.0)
    assert swap_bound(data, np.array([1, 4]), 0.0).ratio == pytest.approx(26.65, abs=0.01)
    cosine = KMedianProblem(build_space(X + 1.0 + np.eye(6)[:, :2], None, Metric.of("cosine"), np.ones(6)), 2)
    assert swap_bound(cosine, np.array([1, 4]), 0.0).ratio == pytest.approx(25.0)


@pytest.mark.parametrize("problem", ["k-median", "fair k-median", "k-center", "k-tMM", "k-means"])
def test_the_solver_never_claims_more_than_is_true(problem):
    # Certified ratio (cost over lower bound) never below the true one; a guarantee never broken.
    kinds = None if problem == "k-means" else ["uniform", "grid", "clusters", "duplicates", "offset", "graph", "star"]

    @thorough
    @given(
        instances(problem, max_n=8, kinds=kinds, metrics=None), st.integers(0, 1000), st.sampled_from(["auto", "gsemo"])
    )
    def check(case, seed, algorithm):
        posed = pose(problem, case.space(), case.k)
        D, w = numbers(posed)
        result = solve(posed, algorithm, Budget(max_iter=300), random_state=seed)
        best = optimum(posed)
        if result.positions is None:
            assert result.cost == posed.cost(result.centers)
        else:  # centres anywhere: the bound is below every cost, and this one (optima: tests/bounds/test_kmeans.py)
            nearest = np.square(posed.space.points[:, None] - result.positions).sum(axis=2).min(axis=1)
            spread = float(np.square(np.ptp(posed.space.points, axis=0)).sum())
            assert result.cost == pytest.approx(float(w @ nearest), rel=1e-12, abs=1e-30 * spread)
            assert result.bound.value <= result.cost
        if problem == "fair k-median":
            r = naive.fair_radii(D, w, case.k)
            balls = naive.ball_members(D, r, 1.0, naive.critical_balls(D, r, 1.0))
            fair = naive.optimum("fair k-median", D, w, case.k, balls)[0]
            assert best <= fair
            assert result.bound.value <= fair * (1 + 1e-12)
            return
        assert result.bound.value <= best
        if result.bound.value > 0:
            assert result.cost / result.bound.value >= result.cost / best
        if result.bound.ratio is not None:
            assert result.cost <= result.bound.ratio * best * (1 + 1e-9) + 1e-300

    check()
