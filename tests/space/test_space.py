"""Space: matrix or on the fly, budgets, blocks, nearest centres."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context

from certiclust.space import Metric, build_space, precomputed_space
from certiclust.space.metrics import METRIC_NAMES
from certiclust.space.space import matrix_budget
from tests import naive
from tests.instances import COMPILED, POINT_KINDS, instances, points, quick

TINY = 1e-5  # MiB: one distance


@pytest.mark.parametrize("name", COMPILED)
def test_on_the_fly_gives_the_numbers_of_the_matrix(name):
    rng = np.random.default_rng(0)
    for kind in POINT_KINDS:
        for own in (True, False):
            X = points(rng, 12, kind, 3) + 0.5
            F = None if own else points(rng, 5, kind, 3) + 0.5
            w = rng.random(12) + 0.1
            metric = Metric.of(name)
            held = build_space(X, F, metric, w)
            with config_context(working_memory=TINY):
                computed = build_space(X, F, metric, w)
                assert held.matrix is not None
                assert computed.matrix is None
                assert (computed.n, computed.m, computed.own, computed.power) == (held.n, held.m, own, held.power)
                everyone = np.arange(held.m)
                assert np.array_equal(computed.distances(everyone), held.matrix)
                parts = list(computed.blocks())
                assert len(parts) == held.m  # one candidate at a time, so small is the budget
                assert np.array_equal(np.concatenate([d for _, d in parts]), held.matrix)
                for a, b in zip(computed.extremes, held.extremes, strict=True):
                    assert np.array_equal(a, b)
                centers = rng.permutation(held.m)[:3]
                for a, b in zip(computed.assign(centers), held.assign(centers), strict=True):
                    assert np.array_equal(a, b)


@pytest.mark.parametrize("name", sorted(set(METRIC_NAMES) - set(COMPILED)))
def test_above_the_budget_other_metrics_say_what_they_need(name):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (400, 2)).astype(float) if name != "mahalanobis" else rng.random((400, 2))
    X[:, 0] = rng.random(400)
    metric = Metric.of(name, X)
    if metric.compiled:  # an alias of a compiled one
        assert Metric.of(name).name in COMPILED
        return
    # 400 x 400 x 8 bytes = 1.22 MiB
    with (
        config_context(working_memory=1),
        pytest.raises(ValueError, match=r"400 x 400 .*\b2 MiB.*working memory of 1 "),
    ):
        build_space(X, None, metric, np.ones(400))
    with config_context(working_memory=2):
        assert build_space(X, None, metric, np.ones(400), check_metric=False).matrix.shape == (400, 400)


def test_a_callable_above_the_budget_says_what_it_needs():
    X = np.zeros((400, 1))
    with config_context(working_memory=1), pytest.raises(ValueError, match="2 MiB"):
        build_space(X, None, Metric.of(lambda a, b: 0.0), np.ones(400))


def test_the_budget_is_scikit_learns_working_memory():
    with config_context(working_memory=1024):
        assert matrix_budget() == 2**27
        assert 11585**2 <= matrix_budget() < 11586**2  # the n that the documentation names
    with config_context(working_memory=1):
        assert matrix_budget() == 2**17
        held = build_space(np.zeros((362, 1)), None, Metric.of("euclidean"), np.ones(362))
        computed = build_space(np.zeros((363, 1)), None, Metric.of("euclidean"), np.ones(363))
    assert held.matrix is not None
    assert computed.matrix is None


def test_blocks_stay_within_a_quarter_of_the_budget():
    X = np.random.default_rng(3).random((50, 2))
    with config_context(working_memory=1000 * 8 / 2**20):  # 1000 distances
        space = build_space(X, None, Metric.of("euclidean"), np.ones(50))
        sizes = [d.shape for _, d in space.blocks()]
    assert sizes == [(5, 50)] * 10


@quick
@given(instances("k-median"), st.integers(0, 2**32 - 1))
def test_nearest_centres_against_the_twin(case, seed):
    space = case.space()
    D = space.distances(np.arange(space.m)).T
    np.testing.assert_allclose(D, case.D, rtol=1e-12, atol=1e-15)
    centers = np.sort(np.random.default_rng(seed).permutation(space.m)[: case.k])
    labels, nearest = space.assign(centers)
    assert labels.dtype == np.int32
    assert nearest.tolist() == naive.nearest(D, centers).tolist()
    assert labels.tolist() == naive.labels(D, centers, own=space.own).tolist()
    largest, least = space.extremes
    expected = naive.extremes(D, space.own)
    assert largest.tolist() == expected[0].tolist()
    assert least.tolist() == expected[1].tolist()


def test_a_centre_among_duplicates_is_its_own():
    D = np.zeros((3, 3))
    space = precomputed_space(D, np.ones(3), own=True)
    assert space.assign(np.array([0, 1, 2]))[0].tolist() == [0, 1, 2]
    assert space.assign(np.array([1, 2]))[0].tolist() == [0, 0, 1]


def test_a_precomputed_matrix_is_clients_by_sites():
    D = np.arange(1.0, 7.0).reshape(2, 3)
    space = precomputed_space(D, np.ones(2), own=False, check_metric=False)
    assert (space.n, space.m) == (2, 3)
    assert space.distances(np.array([2])).tolist() == [[3.0, 6.0]]


@pytest.mark.parametrize(("value", "message"), [(np.nan, "finite"), (np.inf, "finite"), (-1.0, "must not be negative")])
def test_impossible_distances_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        build_space(np.arange(3.0)[:, None], None, Metric.of(lambda a, b: value), np.ones(3))


def test_threads_fill_the_same_matrix():
    X = np.random.default_rng(2).normal(size=(1100, 3))
    metric = Metric.of("euclidean")
    one = build_space(X, None, metric, np.ones(1100)).matrix
    two = build_space(X, None, metric, np.ones(1100), n_jobs=2).matrix
    assert np.array_equal(one, two)
    assert np.array_equal(one[:40], naive.matrix("euclidean", X, X[:40]).T)
