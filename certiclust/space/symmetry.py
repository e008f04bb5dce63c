"""Symmetry of a square matrix, looked at in tiles: a transposed pass over a large one costs a cache miss per entry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

FloatArray = NDArray[np.float64]

#: Side of a tile; two of them fit into the cache of one core.
TILE = 128


def largest_asymmetry(matrix: FloatArray) -> float:
    """Return the largest ``|d_ij - d_ji|`` of a square matrix; nan if an entry is.

    Examples
    --------
    >>> largest_asymmetry(np.array([[0.0, 1.0], [3.0, 0.0]]))
    2.0
    """
    worst = 0.0
    for part in gen_batches(len(matrix), TILE):
        for other in gen_batches(part.stop, TILE):
            worst = np.maximum(worst, np.abs(matrix[part, other] - matrix[other, part].T).max())
    return float(worst)


def symmetrised(matrix: FloatArray) -> FloatArray | None:
    """Return a square matrix made exactly symmetric with a zero diagonal, or None if it is not so up to rounding."""
    if matrix.shape[0] != matrix.shape[1]:
        return None
    slack = 1e-12 * matrix.max(initial=0.0)
    worst = largest_asymmetry(matrix)
    if np.diagonal(matrix).max(initial=0.0) > slack or worst > slack:
        return None
    if worst > 0 or np.diagonal(matrix).any():
        matrix = np.minimum(matrix, matrix.T)
        np.fill_diagonal(matrix, 0.0)
    return matrix
