"""Centres moved within their clusters, against all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiclust.evolution.recenter import LOOKS, one_center, recenter
from certiclust.problems import KCenterProblem
from certiclust.space import Metric, build_space, precomputed_space
from tests.instances import quick

seeds = st.integers(0, 2**32 - 1)


def space_of(rng, n):
    kind = rng.integers(4)
    if kind == 3:  # no metric
        D = np.triu(rng.integers(0, 9, (n, n)).astype(float), 1)
        return precomputed_space(D + D.T, np.ones(n), own=True)
    points = rng.integers(0, 5, (n, 2)).astype(float) if kind == 0 else rng.random((n, 2)) + 1e8 * (kind == 1)
    return build_space(points, None, Metric.of("euclidean"), np.ones(n))


@quick
@given(seeds)
def test_one_center_is_the_best_member(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    space = space_of(rng, n)
    members = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    start = int(rng.integers(n))
    center, radius = one_center(space, members, start)
    D = space.distances(np.arange(n))
    reach = D[:, members].max(axis=1)
    assert radius == pytest.approx(reach[center])
    assert radius <= reach[start]
    if len(members) <= LOOKS:
        assert radius <= reach[members].min()
    assert center == start or center in members


@quick
@given(seeds)
def test_recentering_only_improves(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    k = int(rng.integers(1, n))
    space = space_of(rng, n)
    problem = KCenterProblem(space, k)
    start = np.sort(rng.choice(n, k, replace=False))
    centers, distance = recenter(problem, start, lambda: False)
    np.testing.assert_allclose(distance, problem.nearest(centers))
    assert np.unique(centers).size == k
    assert distance.max() <= problem.radius(start)


def test_recentering_finds_the_middle_of_each_cluster():
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [13.0], [14.0]])
    problem = KCenterProblem(build_space(points, None, Metric.of("euclidean"), np.ones(8)), 2)
    centers, distance = recenter(problem, np.array([0, 3]), lambda: False)
    assert centers.tolist() == [1, 5]
    assert distance.tolist() == [1, 0, 1, 2, 1, 0, 1, 2]
    kept, _ = recenter(problem, np.array([0, 3]), lambda: True)
    assert kept.tolist() == [0, 3]
