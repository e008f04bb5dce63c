"""The triangle inequality of a given matrix, checked exactly: a sample of triples proves nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

#: Rounding of the entries themselves may break an equality d_ij = d_il + d_lj by this much, relatively.
SLACK = 2.0**-50


def holds_triangle_inequality(
    matrix: NDArray[np.float64], *, square: bool, should_stop: Callable[[], bool] = lambda: False
) -> bool:
    r"""Return whether a distance matrix is a metric (up to rounding), by looking at all triples.

    Parameters
    ----------
    matrix : ndarray of shape (n, m)
        Distances, clients by sites.
    square : bool
        Whether rows and columns are the same points: then :math:`d_{ij} \le d_{il} + d_{lj}` is checked; otherwise
        :math:`d_{ij} \le d_{ij'} + d_{i'j'} + d_{i'j}`, which is what a clients x sites matrix of a metric satisfies.
        Time :math:`O(n^3)` and :math:`O(n^2 m)`.
    should_stop : callable, default never
        Polled between blocks; the answer is False, "not shown", when it says so.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> holds_triangle_inequality(np.abs(x[:, None] - x), square=True)
    True
    >>> holds_triangle_inequality((x[:, None] - x) ** 2, square=True)
    False
    """
    from certiclust.space.kernels import quadrangle_defect, triangle_defect

    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    check = triangle_defect if square else quadrangle_defect
    for part in gen_batches(len(matrix), max(1, 20_000_000 // max(1, matrix.size))):
        if should_stop() or check(matrix, SLACK, part.start, part.stop):
            return False
    return True
