"""Distances by name: all accepted ones work or refuse clearly, and what is claimed about them holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import _VALID_METRICS

from certiclust.space import Metric, build_space
from certiclust.space.metrics import METRIC_NAMES
from tests import naive
from tests.instances import COMPILED, POINT_KINDS, points, quick

BOOLEAN = ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]
CLAIMED = [name for name in METRIC_NAMES if Metric.of(name).power is not None]


def sample(rng, name, n, kind="uniform"):
    """Rows on which the distance is defined."""
    if name == "haversine":
        return np.column_stack([rng.uniform(-np.pi / 2, np.pi / 2, n), rng.uniform(-np.pi, np.pi, n)])
    if name in BOOLEAN:
        X = rng.integers(0, 2, (n, 5)).astype(float)
        X[:, 0] = 1.0
        return X
    X = points(rng, n, kind, 3)
    if name in ("cosine", "correlation"):
        X = X + np.array([0.25, 0.5, 1.0])
    if name in ("mahalanobis", "seuclidean"):  # full rank, whatever was drawn
        X = np.vstack([X, np.eye(3) * (1.0 + np.abs(X).max()), np.zeros(3)])
    return X


def test_every_name_that_scikit_learn_knows_is_accepted():
    assert set(_VALID_METRICS) - {"wminkowski", "sokalmichener", "kulsinski", "kulczynski1"} <= set(METRIC_NAMES)
    assert "precomputed" not in METRIC_NAMES
    assert Metric.of("precomputed").power is None


@pytest.mark.parametrize("name", METRIC_NAMES)
def test_blocks_are_the_distances_of_scikit_learn(name):
    rng = np.random.default_rng(0)
    A, B = sample(rng, name, 9), sample(rng, name, 7)
    metric = Metric.of(name, A)
    metric.check(A)
    params = {}
    if name == "seuclidean":
        params = {"V": np.var(A, axis=0, ddof=1)}
    elif name == "mahalanobis":
        params = {"VI": np.linalg.inv(np.cov(A, rowvar=False))}
    if name in BOOLEAN:
        expected = pairwise_distances(A.astype(bool), B.astype(bool), metric=name)
    else:
        expected = pairwise_distances(A, B, metric=name, **params)
    assert metric.block(A, B) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    space = build_space(A, None, metric, np.ones(len(A)))
    assert np.array_equal(space.matrix, space.matrix.T)
    if name != "russellrao":  # the one whose d(x, x) is not 0
        assert not np.diagonal(space.matrix).any()


def test_aliases_are_one_distance():
    for alias, name in {
        "l2": "euclidean",
        "minkowski": "euclidean",
        "nan_euclidean": "euclidean",
        "l1": "manhattan",
        "cityblock": "manhattan",
    }.items():
        assert Metric.of(alias).name == name


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_distances_against_the_twin(name):
    rng = np.random.default_rng(1)
    for kind in POINT_KINDS:
        X, F = points(rng, 8, kind, 3) + 0.5, points(rng, 5, kind, 3) + 0.5
        # cosine at an offset of 1e8 is about angles of 1e-8: unit vectors carry them to 1e-16 absolutely
        expected = naive.matrix(name, X, F).T
        assert Metric.of(name).block(F, X) == pytest.approx(expected, rel=1e-13, abs=1e-22 if name == "cosine" else 0)


@pytest.mark.parametrize("name", CLAIMED)
@quick
@given(st.sampled_from(POINT_KINDS), st.integers(0, 2**32 - 1))
def test_a_claimed_metric_never_breaks_the_triangle_inequality_beyond_rounding(name, kind, seed):
    X = sample(np.random.default_rng(seed), name, 7, kind)
    metric = Metric.of(name, X)
    if name == "correlation" and not np.ptp(X, axis=1).all():  # undefined, and refused
        with pytest.raises(ValueError, match="constant"):
            metric.check(X)
        return
    metric.check(X)
    D = metric.block(X, X)
    if metric.power == 2:
        D = np.sqrt(D)
    # One rounding error of the largest coordinate of what is subtracted, times the width, for the mapped ones
    rough = name in ("mahalanobis", "haversine", "cosine", "correlation")
    scale = np.abs(metric.prepare(X)).max() if rough else 0.0
    excess = D[:, None, :] - (D[:, :, None] + D[None, :, :])
    assert excess.max() <= 64 * 2.0**-52 * (D.max() + scale)


def test_squared_distances_are_not_claimed_to_be_metrics():
    assert {name for name in CLAIMED if Metric.of(name).power == 2} == {"sqeuclidean", "cosine", "correlation"}
    assert all(Metric.of(name).power is None for name in ["braycurtis", *BOOLEAN] if name != "jaccard")
    lines = {"sqeuclidean": [[0.0], [1.0], [2.0]], "cosine": [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]}
    for name, rows in lines.items():
        x = np.array(rows)
        assert naive.breaks_triangle(Metric.of(name).block(x, x), 0.5)


def test_haversine_is_right_near_the_antipode():
    # arcsin(sqrt(h)) loses half the digits there: 1e-8 is enough for a false lower bound.
    eps = 1e-9
    X = np.array([[0.0, 0.0], [0.0, np.pi / 2], [0.0, np.pi - eps], [0.0, np.pi]])
    D = Metric.of("haversine").block(X, X)
    assert D[0, 2] == pytest.approx(np.pi - eps, abs=1e-14)
    assert D[2, 3] == pytest.approx(eps, rel=1e-6)
    assert D[0, 1] + D[1, 2] >= D[0, 2] - 1e-15


@pytest.mark.parametrize("seed", range(10))
def test_mahalanobis_of_nearly_collinear_rows_stays_a_metric(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 1)) * np.ones((1, 3)) + 1e-6 * rng.normal(size=(12, 3))
    metric = Metric.of("mahalanobis", X)
    D = metric.block(X, X)
    excess = D[:, None, :] - (D[:, :, None] + D[None, :, :])
    assert excess.max() <= 64 * 2.0**-52 * np.abs(metric.prepare(X)).max()


@pytest.mark.parametrize("name", ["mahalanobis", "cosine", "correlation", "euclidean", "seuclidean"])
def test_a_distance_does_not_depend_on_the_block_it_is_computed_in(name):
    # Otherwise duplicates come out apart, and a matrix filled in parts is not symmetric with a zero diagonal.
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 6)) * 3 + 10
    X[31] = X[2]
    metric = Metric.of(name, X)
    whole = metric.block(X, X)
    assert not np.diagonal(whole).any()
    assert whole[2, 31] == 0
    for size in (1, 2, 3, 7, 33):
        for start in range(0, 40, size):
            assert np.array_equal(metric.block(X[start : start + size], X), whole[start : start + size])
            assert np.array_equal(metric.block(X, X[start : start + size]), whole[:, start : start + size])


@pytest.mark.parametrize("name", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "seuclidean"])
def test_duplicates_far_from_the_origin_are_exactly_0_apart(name):
    rng = np.random.default_rng(3)
    X = 1e8 + rng.random((6, 4))
    X = np.vstack([X, X[::-1]])
    D = build_space(X, None, Metric.of(name, X), np.ones(12)).matrix
    for i in range(6):
        assert D[i, 11 - i] == 0.0
    # and the expanded square would not do: this test can fail
    square = (X**2).sum(axis=1)
    assert np.abs(square[:, None] + square - 2 * X @ X.T)[np.arange(6), 11 - np.arange(6)].max() > 0


def test_points_1e8_away_keep_their_small_distances():
    X = np.array([[1e8, 1e8], [1e8 + 0.25, 1e8], [1e8, 1e8 + 0.5]])
    D = Metric.of("euclidean").block(X, X)
    assert D[0].tolist() == [0.0, 0.25, 0.5]


@pytest.mark.parametrize(
    ("name", "X", "message"),
    [
        ("cosine", [[1.0, 2.0], [0.0, 0.0]], "row 1 of X, which is zero"),
        ("correlation", [[1.0, 2.0], [0.1, 0.1]], "row 1 of X, which is constant"),
        ("correlation", [[0.1, 0.1, 0.1], [1.0, 2.0, 3.0]], "row 0 of X, which is constant"),
        ("haversine", [[1.0, 2.0, 3.0]], "haversine needs 2 columns"),
        ("euclidean", [[1e200], [-1e200]], "overflow"),
        ("manhattan", [[1e308], [-1e308]], "overflow"),
    ],
)
def test_rows_on_which_a_distance_is_undefined_are_named(name, X, message):
    with pytest.raises(ValueError, match=message):
        Metric.of(name).check(np.array(X))


@pytest.mark.parametrize(
    ("name", "X", "message"),
    [
        ("mahalanobis", [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], "full rank 2"),
        ("mahalanobis", [[0.0]], "at least 2 rows"),
        ("seuclidean", [[0.0, 1.0], [1.0, 1.0]], "column 1 has none"),
        ("no such", [[0.0]], "unknown metric 'no such'"),
    ],
)
def test_distances_that_cannot_be_learnt_say_why(name, X, message):
    with pytest.raises(ValueError, match=message):
        Metric.of(name, np.array(X))


def test_cosine_neither_overflows_nor_underflows():
    X = np.array([[1e150, 1e150], [1e-160, 1e-160], [1.0, 0.0], [0.0, 1e-300]])
    D = Metric.of("cosine").block(X, X)
    assert D[0, 1] == pytest.approx(0.0, abs=1e-15)
    assert D[2, 3] == pytest.approx(1.0)
    assert D[0, 2] == pytest.approx(1 - np.sqrt(0.5))


def test_a_callable_gets_the_client_first():
    X, F = np.array([[1.0], [2.0]]), np.array([[10.0], [20.0], [30.0]])
    metric = Metric.of(lambda client, site: site[0] + 100 * client[0])
    assert metric.power is None
    assert not metric.compiled
    assert metric.block(F, X).tolist() == [[110.0, 210.0], [120.0, 220.0], [130.0, 230.0]]


def test_correlation_is_cosine_of_centred_rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5, 6))
    expected = cdist(X, X, "correlation")
    assert Metric.of("correlation").block(X, X) == pytest.approx(expected, abs=1e-14)
