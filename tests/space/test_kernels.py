"""Compiled rows of distances against their plain twins, to the bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiclust.space import Metric
from certiclust.space.kernels import (
    MatrixRows,
    PointRows,
    distance,
    quadrangle_defect,
    read_distance,
    read_row,
    row,
    triangle_defect,
)
from certiclust.space.metrics import KERNEL_CODES
from tests import naive
from tests.instances import COMPILED, GRAPH_KINDS, POINT_KINDS, metric_matrix, points, quick


def point_rows(name, X, F):
    metric = Metric.of(name)
    columns = np.ascontiguousarray(metric.prepare(X).T)
    return PointRows(columns, np.ascontiguousarray(metric.prepare(F)), KERNEL_CODES[name])


def twin_row(name, X, f):
    """The twin on prepared rows: for cosine half the squared difference of unit vectors."""
    if name != "cosine":
        return naive.row(name, f, X)
    metric = Metric.of("cosine")
    return 0.5 * naive.row("sqeuclidean", metric.prepare(f[None])[0], metric.prepare(X))


def test_the_kernels_know_the_five_distances_by_these_codes():
    assert sorted(KERNEL_CODES) == sorted(COMPILED)
    assert len(set(KERNEL_CODES.values())) == 5


@pytest.mark.parametrize("name", COMPILED)
def test_row_and_distance_against_the_twin(name):
    rng = np.random.default_rng(0)
    for kind in POINT_KINDS:
        for n, m, width in ((1, 1, 1), (7, 4, 3), (16, 5, 2), (33, 3, 11)):
            X, F = points(rng, n, kind, width) + 0.5, points(rng, m, kind, width) + 0.5
            rows = point_rows(name, X, F)
            for j in range(m):
                out = np.full(n, np.nan)
                got = read_row(rows, j, out)
                expected = twin_row(name, X, F[j])
                assert got.tolist() == expected.tolist()
                assert np.array_equal(got, out)  # written where it was asked for
                assert [read_distance(rows, j, i) for i in range(n)] == expected.tolist()
                # outside compiled code the two public names are the same functions
                assert row(rows, j, np.empty(n)).tolist() == expected.tolist()
                assert distance(rows, j, n - 1) == expected[-1]


@pytest.mark.parametrize("name", COMPILED)
def test_rows_equal_the_blocks_that_scipy_computes_to_the_bit(name):
    # The plain Algorithm 1 reads blocks, the compiled one rows: with another last bit ties would fall differently.
    rng = np.random.default_rng(1)
    metric = Metric.of(name)
    for kind in POINT_KINDS:
        for n, m, width in ((9, 9, 1), (20, 6, 3), (50, 7, 17), (11, 3, 64)):
            X, F = points(rng, n, kind, width) + 0.5, points(rng, m, kind, width) + 0.5
            rows, block = point_rows(name, X, F), metric.block(F, X)
            assert block.shape == (m, n)
            for j in range(m):
                assert read_row(rows, j, np.empty(n)).tolist() == block[j].tolist()


def test_matrix_rows_are_the_matrix():
    matrix = np.random.default_rng(2).random((4, 6))
    rows = MatrixRows(matrix)
    for j in range(4):
        assert read_row(rows, j, np.empty(6)).tolist() == matrix[j].tolist()
        assert [read_distance(rows, j, i) for i in range(6)] == matrix[j].tolist()


@quick
@given(st.integers(1, 7), st.sampled_from([*GRAPH_KINDS, "noise", "integers"]), st.integers(0, 2**32 - 1))
def test_triangle_and_quadrangle_defects_against_the_twins(n, kind, seed):
    rng = np.random.default_rng(seed)
    if kind in GRAPH_KINDS:
        D = metric_matrix(rng, n, kind)
        if rng.random() < 0.5:  # one wrong entry
            i, j = rng.integers(0, n, 2)
            D[i, j] = D[j, i] = D[i, j] * rng.choice([0.5, 1.5, 3.0])
    else:
        D = rng.random((n, n)) + 0.3 if kind == "noise" else rng.integers(1, 4, (n, n)).astype(float)
        D = np.minimum(D, D.T)
        np.fill_diagonal(D, 0.0)
    for slack in (0.0, 0.25):
        assert triangle_defect(np.ascontiguousarray(D), slack, 0, n) == naive.breaks_triangle(D, slack)
        half = np.ascontiguousarray(D[:, : max(1, n // 2)])
        assert quadrangle_defect(half, slack, 0, n) == naive.breaks_quadrangle(half, slack)
