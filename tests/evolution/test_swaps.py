"""The swap polish and the check of all single swaps against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiclust.evolution import swaps
from certiclust.evolution.kernels import swap
from certiclust.evolution.swaps import least_swap_change
from certiclust.space import Metric, build_space
from certiclust.space.kernels import MatrixRows
from tests import naive
from tests.instances import from_python, instances, pose, quick

refresh, removal_losses = from_python(swap.refresh), from_python(swap.removal_losses)
swap_deltas = from_python(swap.swap_deltas)
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


def test_a_check_of_swaps_that_cannot_end_in_time_is_given_up_early(monkeypatch):
    X = np.random.default_rng(0).random((40, 2))
    posed = pose("k-median", build_space(X, None, Metric.of("euclidean"), np.ones(40)), 3)
    centers = np.array([0, 1, 2])
    whole = least_swap_change(posed, centers)
    for name in ("POLLED", "LAST", "FEW"):
        monkeypatch.setattr(swaps, name, 1)  # forty parts, of one candidate each
    assert least_swap_change(posed, centers) == whole
    assert least_swap_change(posed, centers, left=lambda: 1e9) == whole
    stops = []
    assert least_swap_change(posed, centers, lambda: bool(stops.append(0)), lambda: 1e-9) is None
    assert len(stops) == 4  # before the first part, of unknown pace, the second, and the third, which does not come
