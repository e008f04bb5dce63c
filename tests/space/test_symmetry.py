"""Symmetry of matrices, against plain NumPy."""

import numpy as np
import pytest

from certiclust.space.symmetry import TILE, largest_asymmetry, symmetrised


@pytest.mark.parametrize("n", [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
def test_largest_asymmetry_is_found_wherever_it_is(n):
    rng = np.random.default_rng(n)
    matrix = rng.random((n, n))
    matrix = matrix + matrix.T
    assert largest_asymmetry(matrix) == 0
    for _ in range(5 if n > 1 else 0):
        broken = matrix.copy()
        i, j = rng.choice(n, 2, replace=False)
        broken[i, j] += 0.25
        assert largest_asymmetry(broken) == np.abs(broken - broken.T).max() > 0


def test_symmetrised_forgives_rounding_and_nothing_else():
    matrix = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    assert symmetrised(matrix) is matrix
    noisy = matrix.copy()
    noisy[1, 3] += 1e-13
    noisy[2, 2] = 1e-13
    np.testing.assert_array_equal(symmetrised(noisy), matrix)
    for i, j in ((1, 3), (2, 2)):
        wrong = matrix.copy()
        wrong[i, j] += 1e-9
        assert symmetrised(wrong) is None
    assert symmetrised(matrix[:, :4]) is None
