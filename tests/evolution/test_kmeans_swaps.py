"""All swaps of k-means candidates, against a loop over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiclust.evolution import kmeans_swaps
from certiclust.evolution.kmeans_swaps import swap_optimal
from certiclust.problems import KMeansProblem
from certiclust.space import build_space
from certiclust.space.metrics import Metric
from tests.instances import POINT_KINDS, points, quick


def never():
    return False


def instance(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    X = points(rng, n, POINT_KINDS[seed % len(POINT_KINDS)])
    candidates = None if rng.random() < 0.5 else rng.normal(size=(int(rng.integers(1, 15)), X.shape[1]))
    space = build_space(X, candidates, Metric.of("sqeuclidean"), rng.random(n) + 0.1, hold_matrix=False)
    k = int(rng.integers(1, min(space.m, n) + 1))
    return KMeansProblem(space, k), rng.choice(space.m, k, replace=False)


def least_change(problem, centers):
    """Return the cost, its least change by a swap, one at a time, and the size of the numbers in it."""
    space = problem.space
    D = ((space.points[:, None] - space.candidates) ** 2).sum(axis=2)
    cost = space.weights @ D[:, centers].min(axis=1)
    least = np.inf
    for place in range(problem.k):
        for new in np.setdiff1d(np.arange(space.m), centers):
            swapped = np.append(np.delete(centers, place), new)
            least = min(least, space.weights @ D[:, swapped].min(axis=1) - cost)
    return cost, least, space.weights @ np.sort(D[:, centers], axis=1)[:, :2][:, -1]


@pytest.mark.parametrize("block", [1, 250_000])
@quick
@given(seed=st.integers(0, 10**6))
def test_no_swap_is_left_and_the_least_change_is_right(block, seed):
    problem, start = instance(seed)
    before, *_ = least_change(problem, start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeans_swaps, "BLOCK", block)
        centers, change = swap_optimal(problem, start, never, never)
    cost, least, scale = least_change(problem, centers)
    noise = 1e-12 * (1 + before) + 1e-13 * scale
    assert cost <= before + noise
    assert least >= -noise
    assert change <= least + noise  # rounded down
    assert change == least == np.inf or change >= least - noise


def test_without_time_for_swaps_what_there_is_is_checked():
    rng = np.random.default_rng(0)
    problem = KMeansProblem(
        build_space(rng.normal(size=(30, 2)), None, Metric.of("sqeuclidean"), np.ones(30), hold_matrix=False), 3
    )
    start = np.arange(3)
    centers, change = swap_optimal(problem, start, lambda: True, never)
    np.testing.assert_array_equal(centers, start)
    _, least, _ = least_change(problem, start)
    assert least < 0
    assert change == pytest.approx(least)
    assert swap_optimal(problem, start, never, lambda: True)[1] is None
