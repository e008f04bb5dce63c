"""The five problems: objectives, costs, fair radii and critical balls against brute force."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context

from certiclust.problems import FairKMedianProblem, KMeansProblem, KMedianProblem, critical_balls, fair_radii
from certiclust.space import Metric, build_space, precomputed_space
from tests import naive
from tests.instances import (
    GRAPH_KINDS,
    POINT_KINDS,
    PROBLEMS,
    WEIGHT_KINDS,
    instances,
    metric_matrix,
    points,
    pose,
    quick,
    thorough,
    weights,
)

METRICS = ["euclidean", "manhattan", "chebyshev"]


def subsets(m, k, seed, count=8):
    """Some solutions of every size up to k."""
    rng = np.random.default_rng(seed)
    return [np.sort(rng.permutation(m)[:size]) for size in range(1, k + 1) for _ in range(count // k + 1)]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_objectives_and_cost_against_the_oracle(problem):
    @quick
    @given(instances(problem), st.integers(0, 2**32 - 1))
    def check(case, seed):
        space = case.space()
        posed = pose(problem, space, case.k)
        D, w = space.distances(np.arange(space.m)).T, case.w
        balls = ()
        if problem == "fair k-median":
            r = naive.fair_radii(D, w, case.k)
            balls = naive.ball_members(D, r, 1.0, naive.critical_balls(D, r, 1.0))
        for centers in subsets(space.m, case.k, seed):
            assert posed.cost(centers) == naive.cost(problem, D, w, centers.tolist())
            assert posed.f1(centers) == naive.f1(problem, D, w, centers.tolist(), balls)
            assert posed.f2(centers) == len(centers)
            assert posed.nearest(centers).tolist() == naive.nearest(D, centers).tolist()
            if problem in ("k-center", "k-tMM"):
                assert posed.radius(centers) == naive.radius(D, centers)
                assert posed.separation(centers) == naive.separation(D, centers.tolist())
        nothing = np.empty(0, dtype=np.intp)
        assert posed.f1(nothing) == naive.f1(problem, D, w, (), balls)
        assert posed.cost(nothing) == np.inf

    check()


def test_degenerate_solutions_have_the_objectives_of_the_paper():
    space = precomputed_space(1.0 - np.eye(4), np.ones(4), own=True)
    nothing, one = np.empty(0, dtype=np.intp), np.array([2])
    for problem in ("k-center", "k-tMM"):
        assert pose(problem, space, 2).f1(nothing) == (0, np.inf)
        assert pose(problem, space, 2).f1(one) == (0, np.inf)
    assert pose("k-median", space, 2).f1(nothing) == (0, -np.inf)
    assert pose("k-median", space, 2).f1(one) == (0, -3.0)


def test_hand_computed_objectives():
    X = np.array([[0.0], [1.0], [4.0], [10.0]])
    w = np.array([1.0, 2.0, 3.0, 4.0])
    euclid = build_space(X, None, Metric.of("euclidean"), w)
    squares = build_space(X, None, Metric.of("sqeuclidean"), w)
    centers = np.array([1, 3])
    assert pose("k-median", euclid, 2).cost(centers) == 1 * 1 + 3 * 3
    assert pose("k-means", squares, 2).cost(centers) == 1 * 1 + 3 * 9
    assert pose("k-center", euclid, 2).cost(centers) == 3  # weights do not count
    assert pose("k-center", euclid, 2).f1(centers) == (0, 9.0 - 3.0)
    assert pose("k-tMM", euclid, 2).cost(centers) == 4  # from 0 to 4
    assert pose("k-tMM", euclid, 2).diameter(np.array([0, 0, 1, 1], dtype=np.int32)) == 6
    assert pose("k-tMM", euclid, 4).diameter(np.arange(4, dtype=np.int32)) == 0


def test_large_clusters_are_measured_in_parts():
    X = np.random.default_rng(0).normal(size=(600, 2))
    posed = pose("k-tMM", build_space(X, None, Metric.of("euclidean"), np.ones(600)), 1)
    D = posed.space.matrix
    assert posed.cost(np.array([7])) == D.max()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_impossible_problems_are_refused(problem):
    metric = "sqeuclidean" if problem == "k-means" else "euclidean"
    X = np.arange(4.0)[:, None]
    space = build_space(X, None, Metric.of(metric), np.ones(4))
    for k in (0, -1, 5):
        with pytest.raises(ValueError, match="k must be between 1 and the number of candidates, 4"):
            pose(problem, space, k)
    other = build_space(X, X[:2] + 0.5, Metric.of(metric), np.ones(4))
    if problem in ("k-median", "k-means"):
        assert pose(problem, other, 2).space.m == 2
    else:
        with pytest.raises(ValueError, match="from the points themselves"):
            pose(problem, other, 2)
    if problem == "k-means":
        with pytest.raises(ValueError, match="squared Euclidean"):
            KMeansProblem(build_space(X, None, Metric.of("euclidean"), np.ones(4)), 2)
    if problem == "fair k-median":
        for beta in (0.99, 0.0, -1.0, np.nan):
            with pytest.raises(ValueError, match="beta must be at least 1"):
                FairKMedianProblem(space, 2, beta)


# ------------------------------------------------------------------------------------------------------ fairness


@thorough
@given(instances("fair k-median"))
def test_fair_radii_against_the_oracle(case):
    space = case.space()
    D = space.distances(np.arange(space.m)).T
    assert fair_radii(space, case.k).tolist() == naive.fair_radii(D, case.w, case.k).tolist()


@quick
@given(st.sampled_from(POINT_KINDS), st.integers(1, 12), st.data())
def test_unit_weights_count_ceil_n_over_k_points_and_integers_are_copies(kind, n, data):
    k = data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = points(rng, n, kind)
    metric = Metric.of("euclidean")
    radii = fair_radii(build_space(X, None, metric, np.ones(n)), k)
    D = naive.matrix("euclidean", X, X)
    count = -(-n // k)
    assert radii.tolist() == np.sort(D, axis=1)[:, count - 1].tolist()
    # equal weights of any size are unit weights
    assert fair_radii(build_space(X, None, metric, np.full(n, 0.1)), k).tolist() == radii.tolist()
    copies = rng.integers(1, 4, n)
    weighted = fair_radii(build_space(X, None, metric, copies.astype(float)), k)
    repeated = np.repeat(X, copies, axis=0)
    plain = fair_radii(build_space(repeated, None, metric, np.ones(len(repeated))), k)
    assert weighted[np.repeat(np.arange(n), copies)].tolist() == plain.tolist()


def test_radii_do_not_depend_on_the_blocks():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(30, 2)), weights(rng, 30, "wild")
    for k in (1, 4, 30):
        for weight in (w, np.ones(30)):
            held = fair_radii(build_space(X, None, Metric.of("euclidean"), weight), k)
            with config_context(working_memory=1e-5):
                assert fair_radii(build_space(X, None, Metric.of("euclidean"), weight), k).tolist() == held.tolist()


def test_duplicates_have_radius_0_and_balls_of_radius_0():
    X = np.array([[0.0], [0.0], [0.0], [5.0], [5.0], [9.0]])
    posed = FairKMedianProblem(build_space(X, None, Metric.of("euclidean"), np.ones(6)), 3, 1.0)
    assert posed.radii.tolist() == [0, 0, 0, 0, 0, 4]
    assert posed.ball_centers.tolist() == [0, 3]
    assert posed.groups.tolist() == [0, 0, 0, 1, 1, -1]
    assert posed.violations(np.array([0, 1, 5])) == 1
    assert posed.violations(np.array([2, 4])) == 0
    assert posed.fairness(np.array([0, 5])).tolist() == [0, 0, 0, np.inf, np.inf, 0]


@thorough
@given(
    st.sampled_from(POINT_KINDS + GRAPH_KINDS),
    st.sampled_from(WEIGHT_KINDS),
    st.integers(2, 9),
    st.sampled_from([1.0, 1.3, 2.0]),
    st.sampled_from([2.0, 3.0, 6.0]),
    st.integers(0, 2**32 - 1),
)
def test_critical_balls_are_the_greedy_ones_disjoint_few_and_enough(kind, weight, n, beta, factor, seed):
    rng = np.random.default_rng(seed)
    w = weights(rng, n, weight)
    k = int(rng.integers(1, n + 1))
    if kind in GRAPH_KINDS:
        space = precomputed_space(metric_matrix(rng, n, kind), w, own=True)
    else:
        space = build_space(points(rng, n, kind), None, Metric.of(str(rng.choice(METRICS))), w)
    posed = FairKMedianProblem(space, k, beta, factor)
    D, r = space.distances(np.arange(n)).T, posed.radii
    expected = naive.critical_balls(D, r, beta, factor)
    assert critical_balls(space, r, beta, factor).tolist() == posed.ball_centers.tolist() == expected
    balls = naive.ball_members(D, r, beta, expected)
    assert sum(len(ball) for ball in balls) == len(set().union(*balls))  # disjoint
    assert len(balls) <= k
    for v, group in enumerate(posed.groups):
        assert [v in ball for ball in balls] == [b == group for b in range(len(balls))]
    for c, d in combinations(expected, 2):  # the paper's second property, for whichever was taken first
        assert D[c, d] > factor * beta * r[d]
    for centers in combinations(range(n), k):
        assert posed.violations(np.array(centers)) == naive.missed(balls, centers)
        if naive.missed(balls, centers) == 0:
            nearest = naive.nearest(D, centers)
            assert np.all(nearest <= (factor + 1) * beta * r * (1 + 1e-12) + 1e-300)
            ratio = posed.fairness(np.array(centers))
            assert np.all(ratio <= (factor + 1) * beta * (1 + 1e-12))


def test_only_the_ascending_order_gives_the_guarantee():
    # METHODS.md part 1. Four points A pairwise 1 apart (r = 1), c at 6 from each of them (r = 6), three points at 6
    # beyond c. The single ball around c has both properties that the paper states: every v has c within 6 r(v), and
    # there is no second ball. But two points beyond c meet it, and A is 12 radii away from them.
    n, k = 8, 2
    D = np.full((n, n), 12.0)
    D[:4, :4] = 1.0
    D[4] = D[:, 4] = 6.0
    np.fill_diagonal(D, 0.0)
    assert not naive.breaks_triangle(D)
    posed = FairKMedianProblem(precomputed_space(D, np.ones(n), own=True), k, 1.0)
    r = posed.radii
    assert r.tolist() == [1, 1, 1, 1, 6, 12, 12, 12]
    assert np.all(D[:, 4] <= 6 * r)
    (loose,) = naive.ball_members(D, r, 1.0, [4])
    assert naive.missed([loose], (5, 6)) == 0
    assert (naive.nearest(D, (5, 6)) / r).max() == 12
    # the greedy starts with the smallest radius, and then every set that meets all balls is 7-fair
    assert posed.ball_centers.tolist() == [0]
    assert posed.violations(np.array([5, 6])) == 1
    for centers in combinations(range(n), k):
        if posed.violations(np.array(centers)) == 0:
            assert posed.fairness(np.array(centers)).max() <= 7


def test_meeting_all_balls_says_nothing_about_the_cost():
    # PROOFS.md part 7: four points at A, one at B, k = 2; {A, A} is fair and infinitely more expensive than {A, B}.
    X = np.array([[0.0]] * 4 + [[1.0]])
    posed = FairKMedianProblem(build_space(X, None, Metric.of("euclidean"), np.ones(5)), 2, 1.0)
    assert posed.violations(np.array([0, 1])) == 0
    assert posed.cost(np.array([0, 1])) == 1.0
    assert posed.cost(np.array([0, 4])) == 0.0


def test_the_lexicographic_pair_orders_as_the_papers_penalty():
    @quick
    @given(
        instances("fair k-median", kinds=["clusters", "far", "duplicates", "graph"], max_n=7), st.integers(0, 2**32 - 1)
    )
    def check(case, seed):
        space = case.space()
        posed = pose("fair k-median", space, case.k)
        D, w = space.distances(np.arange(space.m)).T, case.w
        penalty = float((w * D.max(axis=1)).sum())
        if penalty == 0:
            return
        solutions = subsets(space.m, case.k, seed)
        for x, y in combinations(solutions, 2):
            ours = posed.f1(x) > posed.f1(y)
            papers = [-posed.cost(z) - penalty * posed.violations(z) for z in (x, y)]
            if abs(papers[0] - papers[1]) > 1e-9 * penalty:
                assert ours == (papers[0] > papers[1])

    check()


def test_k_median_takes_any_sites():
    D = np.array([[1.0, 5.0], [2.0, 1.0], [4.0, 4.0]])
    posed = KMedianProblem(precomputed_space(D, np.array([1.0, 1.0, 2.0]), own=False), 1)
    assert posed.cost(np.array([0])) == 1 + 2 + 8
    assert posed.cost(np.array([1])) == 5 + 1 + 8
    assert posed.violations(np.array([0])) == 0
    assert posed.groups.tolist() == [-1, -1]
