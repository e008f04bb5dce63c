"""The swap polish and the check of all single swaps against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context

from certiclust.evolution.kernels import swap
from certiclust.evolution.polish import least_swap_change, solution_tables, swap_polish
from certiclust.space import Metric, build_space
from certiclust.space.kernels import MatrixRows
from tests import naive
from tests.instances import POINT_KINDS, from_python, instances, pose, quick, thorough

refresh, removal_losses = from_python(swap.refresh), from_python(swap.removal_losses)
swap_deltas, missed_balls = from_python(swap.swap_deltas), from_python(swap.missed_balls)
SUMS = ["k-median", "k-means", "fair k-median"]


def start(space, k, seed):
    return np.sort(np.random.default_rng(seed).permutation(space.m)[:k])


def numbers(posed):
    return posed.space.distances(np.arange(posed.space.m)).T, posed.space.weights


def noise(D, w, centers):
    """Rounding of the sums that the check of a swap adds and subtracts: 1e-13 of the largest of them."""
    _, d1, _, d2 = naive.nearest_two(D, centers)
    return 1e-13 * float((w * np.where(np.isfinite(d2), d1 + d2, d1)).sum() + (w * D.max(axis=1)).sum())


def balls_of(posed):
    if posed.name != "fair k-median":
        return []
    D, w = numbers(posed)
    r = naive.fair_radii(D, w, posed.k)
    return naive.ball_members(D, r, posed.beta, naive.critical_balls(D, r, posed.beta))


@quick
@given(instances("k-median"), st.integers(0, 2**32 - 1))
def test_kernels_against_their_twins(case, seed):
    D, w, k = case.D, case.w, case.k
    centers = start(case.space(), k, seed)
    n = len(D)
    solution = swap.Solution(
        centers.astype(np.int64), *(np.empty(n, dtype) for dtype in (np.int64, float, np.int64, float))
    )
    rows = MatrixRows(np.ascontiguousarray(D.T))
    refresh(rows, solution, np.empty(n))
    near, d1, second, d2 = naive.nearest_two(D, centers)
    assert centers[solution.near].tolist() == near.tolist()
    assert np.where(solution.second >= 0, centers[solution.second], -1).tolist() == second.tolist()
    assert solution.d1.tolist() == d1.tolist()
    assert solution.d2.tolist() == d2.tolist()
    losses, deltas = np.full(k, np.nan), np.full(k, np.nan)
    error = noise(D, w, centers)
    # what comes back is the size of the numbers that are added and subtracted: all second distances (k = 1: first)
    assert removal_losses(w, solution, losses) == pytest.approx((w * (d2 if k > 1 else d1)).sum(), rel=1e-12)
    if k > 1:
        for t, c in enumerate(centers):
            rest = naive.nearest(D, [z for z in centers if z != c])
            assert losses[t] == pytest.approx((w * (rest - d1)).sum(), rel=1e-12, abs=error)
    changes = naive.swap_changes(D, w, centers.tolist())
    for j in {new for _, new in changes}:
        swap_deltas(np.ascontiguousarray(D[:, j]), w, solution, losses, deltas)
        for t, c in enumerate(centers.tolist()):
            assert deltas[t] == pytest.approx(changes[c, j], rel=1e-12, abs=error)


def test_missed_balls_after_a_swap():
    hits = np.array([1, 2, 0])
    expected = {
        (0, 0): 0,
        (0, 1): 1,
        (0, 2): 0,
        (0, -1): 1,
        (1, 0): 0,
        (1, 2): -1,
        (-1, 2): -1,
        (-1, -1): 0,
        (1, -1): 0,
    }
    for (lost, won), change in expected.items():
        assert missed_balls(hits, lost, won) == change


@pytest.mark.parametrize("problem", SUMS)
def test_least_swap_change_is_the_least_of_all_swaps(problem):
    @quick
    @given(instances(problem), st.integers(0, 2**32 - 1))
    def check(case, seed):
        posed = pose(problem, case.space(), case.k)
        D, w = numbers(posed)
        centers = start(posed.space, posed.k, seed)
        changes = naive.swap_changes(D, w, centers.tolist())
        found = least_swap_change(posed, centers)
        if not changes:  # k = |F|
            assert found == np.inf
            return
        least = min(changes.values())
        assert found == pytest.approx(least, rel=1e-12, abs=noise(D, w, centers))
        assert found <= least + 2.0**-52 * posed.cost(centers)  # never hides a gain
        assert least_swap_change(posed, centers, lambda: True) is None

    check()


@pytest.mark.parametrize("problem", SUMS)
def test_polished_sums_are_swap_optimal_and_never_worse(problem):
    improved = 0

    @thorough
    @given(instances(problem, min_n=4), st.integers(0, 2**32 - 1))
    def check(case, seed):
        nonlocal improved
        posed = pose(problem, case.space(), case.k)
        D, w = numbers(posed)
        balls = balls_of(posed)
        centers = start(posed.space, posed.k, seed)
        polished = swap_polish(posed, centers)
        assert polished.tolist() == sorted(set(polished.tolist()))
        assert len(polished) == posed.k
        before, after = posed.cost(centers), posed.cost(polished)
        assert (naive.missed(balls, polished), after) <= (naive.missed(balls, centers), before)
        improved += after < before
        if posed.k == posed.space.m:
            assert polished.tolist() == centers.tolist()
        error = noise(D, w, polished)
        missed = naive.missed(balls, polished)
        for (out, new), change in naive.swap_changes(D, w, polished.tolist()).items():
            swapped = [c for c in polished if c != out] + [new]
            assert naive.missed(balls, swapped) >= missed
            if naive.missed(balls, swapped) == missed:
                assert change >= -error
        assert swap_polish(posed, centers, lambda: True).tolist() == centers.tolist()

    check()
    assert improved > 10  # the examples are not all optimal from the start


def test_fair_polish_reaches_all_balls_from_none():
    X = np.array([[0.0], [0.1], [0.2], [50.0], [50.1], [50.2], [100.0], [100.1], [100.2]])
    posed = pose("fair k-median", build_space(X, None, Metric.of("euclidean"), np.ones(9)), 3)
    assert len(posed.ball_centers) == 3
    polished = swap_polish(posed, np.array([0, 1, 2]))
    assert posed.violations(np.array([0, 1, 2])) == 2
    assert polished.tolist() == [1, 4, 7]


@pytest.mark.parametrize("problem", ["k-center", "k-tMM"])
def test_polished_radius_is_never_worse(problem):
    improved = 0

    @thorough
    @given(instances(problem, min_n=4), st.integers(0, 2**32 - 1))
    def check(case, seed):
        nonlocal improved
        posed = pose(problem, case.space(), case.k)
        D, _ = numbers(posed)
        centers = start(posed.space, posed.k, seed)
        polished = swap_polish(posed, centers)
        before, after = posed.cost(centers), posed.cost(polished)
        assert after <= before
        assert len(set(polished.tolist())) == posed.k
        improved += after < before
        if after == before:
            assert polished.tolist() == centers.tolist()
        if problem == "k-center" and after < before:
            for out in polished:
                for new in set(range(posed.space.m)) - set(polished.tolist()):
                    assert naive.radius(D, [c for c in polished if c != out] + [new]) >= after

    check()
    assert improved > 10


@quick
@given(instances("k-center", min_n=4), st.integers(0, 2**32 - 1))
def test_every_step_of_the_radius_polish_is_the_best_swap_of_its_candidate(case, seed):
    posed = pose("k-center", case.space(), case.k)
    D, n, k = numbers(posed)[0], posed.space.n, posed.k
    if k == n:
        return
    solution = solution_tables(posed, start(posed.space, k, seed))
    rows, position = posed.space.rows(), np.zeros(2, dtype=np.int64)
    while position[1] < n:  # until all candidates in turn have brought nothing
        j, before = int(position[0]), solution.centers.tolist()
        swap.polish_radius(rows, solution, position, 1)
        after = solution.centers.tolist()
        options = [naive.radius(D, [*before[:t], j, *before[t + 1 :]]) for t in range(k)]
        assert naive.radius(D, after) == min([naive.radius(D, before), *options])
        if min(options) >= naive.radius(D, before):
            assert after == before  # a swap that gains nothing could go round in circles
        assert solution.d1.max() == naive.radius(D, after)
        assert position[0] == (j + 1) % n
        assert len(set(after)) == k


def test_radius_polish_makes_no_swap_that_leaves_another_farthest_point():
    # Two centres at 0, points at 5 and -5: either point as a centre leaves the other one 5 away.
    X = np.array([[0.0], [0.0], [5.0], [-5.0]])
    posed = pose("k-center", build_space(X, None, Metric.of("euclidean"), np.ones(4)), 2)
    solution = solution_tables(posed, np.array([0, 1]))
    position = np.zeros(2, dtype=np.int64)
    swap.polish_radius(posed.space.rows(), solution, position, 100)
    assert solution.centers.tolist() == [0, 1]
    assert position[1] == 4


def test_radius_polish_finds_the_one_good_swap():
    X = np.array([[0.0], [1.0], [2.0], [100.0], [101.0], [102.0]])
    posed = pose("k-center", build_space(X, None, Metric.of("euclidean"), np.ones(6)), 2)
    assert posed.cost(swap_polish(posed, np.array([0, 1]))) == 1.0
    one = pose("k-center", posed.space, 1)
    assert swap_polish(one, np.array([0])).tolist() == [2]
    assert posed.cost(np.array([2])) == 100.0


@pytest.mark.parametrize("problem", ["k-median", "k-center"])
def test_polish_on_the_fly_is_the_polish_of_the_matrix(problem):
    @quick
    @given(instances(problem, metrics=["euclidean", "manhattan"], kinds=POINT_KINDS), st.integers(0, 2**32 - 1))
    def check(case, seed):
        held = pose(problem, case.space(), case.k)
        centers = start(held.space, held.k, seed)
        with config_context(working_memory=1e-7):
            computed = pose(problem, case.space(), case.k)
            assert computed.space.matrix is None
            assert swap_polish(computed, centers).tolist() == swap_polish(held, centers).tolist()
            if problem == "k-median":
                assert least_swap_change(computed, centers) == least_swap_change(held, centers)

    check()
