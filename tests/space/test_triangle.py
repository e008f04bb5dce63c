"""The exact check of the triangle inequality."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiclust.space import Metric, build_space, holds_triangle_inequality, precomputed_space
from tests import naive
from tests.instances import GRAPH_KINDS, POINT_KINDS, metric_matrix, points, quick


@quick
@given(st.sampled_from([*GRAPH_KINDS, *POINT_KINDS]), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_metrics_pass_in_both_forms_and_one_long_edge_fails(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind in GRAPH_KINDS:
        D = metric_matrix(rng, n, kind)
    else:
        X = points(rng, n, kind)
        D = naive.matrix("euclidean", X, X)
    assert holds_triangle_inequality(D, square=True)
    assert holds_triangle_inequality(D, square=False)
    assert holds_triangle_inequality(D[:, : n // 2 + 1], square=False)
    if n >= 3:
        a, b, c = rng.choice(n, 3, replace=False)
        D[a, b] = D[b, a] = (D[a, c] + D[c, b]) * (1 + 1e-12) + 1e-12
        assert not holds_triangle_inequality(D, square=True)


def test_a_single_bad_triple_in_a_large_matrix_is_found():
    # A sample of triples would miss it; all are looked at.
    n = 150
    D = np.full((n, n), 1.5)
    np.fill_diagonal(D, 0.0)
    assert holds_triangle_inequality(D, square=True)
    D[140, 77] = D[77, 140] = 3.0
    assert holds_triangle_inequality(D, square=True)  # 3 = 1.5 + 1.5: still a metric
    D[140, 77] = D[77, 140] = 3.0001
    assert not holds_triangle_inequality(D, square=True)


def test_a_rectangular_matrix_needs_four_points():
    D = np.array([[1.0, 5.0], [1.0, 1.0]])  # d(0, 1) = 5 > 1 + 1 + 1
    assert not holds_triangle_inequality(D, square=False)
    assert holds_triangle_inequality(np.array([[1.0, 3.0], [1.0, 1.0]]), square=False)


def test_rounding_of_an_equality_is_forgiven_and_rounded_distances_are_not():
    x = np.array([[0.1], [0.2], [0.7], [1e8 + 0.3]])
    assert holds_triangle_inequality(np.abs(x - x.T), square=True)
    # PROOFS.md part 4: Euclidean distances rounded to integers are no metric.
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    rounded = np.rint(naive.matrix("euclidean", X, X))
    assert rounded[0, 2] == 3
    assert rounded[0, 1] == 1
    assert not holds_triangle_inequality(rounded, square=True)


def test_what_a_space_knows_about_its_distance():
    rng = np.random.default_rng(0)
    D = metric_matrix(rng, 7, "graph")
    w = np.ones(7)
    assert precomputed_space(D, w, own=True).power == 1
    assert precomputed_space(D, w, own=True, check_metric=False).power is None
    assert precomputed_space(D**3 + 1 - np.eye(7), w, own=True).power in (None, 1)
    squares = naive.matrix("sqeuclidean", *[np.arange(7.0)[:, None]] * 2)
    assert precomputed_space(squares, w, own=True).power is None
    assert precomputed_space(D[:, :3], w, own=False).power == 1
    assert precomputed_space(squares[:, ::3], w, own=False).power is None
    # above 1000 rows only on request
    x = np.arange(1001.0)[:, None]
    line = np.abs(x - x.T)
    ones = np.ones(1001)
    assert precomputed_space(line, ones, own=True).power is None
    assert precomputed_space(line[:5, :5], ones[:5], own=True, check_metric=True).power == 1
    assert precomputed_space(line[:1000, :1000], ones[:1000], own=True).power == 1


def test_a_callable_is_checked_like_a_matrix():
    X = np.array([[0.0], [1.0], [3.0]])
    w = np.ones(3)

    def gap(a, b):
        return abs(a[0] - b[0])

    def square(a, b):
        return (a[0] - b[0]) ** 2

    assert build_space(X, None, Metric.of(gap), w).power == 1
    assert build_space(X, None, Metric.of(gap), w, check_metric=False).power is None
    assert build_space(X, None, Metric.of(square), w).power is None
    assert build_space(X, X[:2], Metric.of(gap), w).power == 1


@pytest.mark.parametrize("name", ["braycurtis", "dice", "sokalsneath", "rogerstanimoto", "russellrao", "yule"])
def test_names_about_which_nothing_is_claimed_are_measured(name):
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(60):
        X = rng.integers(0, 2, (6, 4)).astype(float)
        X[:, 0] = 1.0  # dice and others are undefined between rows of zeros
        metric = Metric.of(name)
        assert metric.power is None
        space = build_space(X, None, metric, np.ones(6))
        D = space.matrix.T
        proper = np.array_equal(D, D.T) and not np.diagonal(D).any()
        broken = naive.breaks_triangle(D, 2.0**-50) if proper else naive.breaks_quadrangle(D, 2.0**-50)
        assert space.power == (None if broken else 1)
        seen.add(space.power)
    assert seen == {1, None} or name in ("rogerstanimoto", "russellrao", "sokalsneath")
