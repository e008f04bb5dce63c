"""The space of one instance: n clients with weights, m candidate centres, and the distances between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import gen_batches
from sklearn.utils.parallel import Parallel, delayed

from certiclust.space.metrics import KERNEL_CODES, Metric
from certiclust.space.symmetry import largest_asymmetry

if TYPE_CHECKING:
    from certiclust.space.kernels import Rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


def matrix_budget() -> int:
    """Return how many float64 distances may be held: scikit-learn's ``working_memory`` in MiB, divided by 8 bytes.

    The default of 1024 MiB holds a square matrix up to n = 11585.
    """
    return int(get_config()["working_memory"] * 2**20 // 8)


@dataclass(frozen=True, eq=False)
class Space:
    """Clients, candidates and distances.

    Attributes
    ----------
    metric : Metric
        The distance.
    weights : ndarray of shape (n,)
        Positive weights of the clients.
    points, candidates : ndarray of shape (n, l) and (m, l)
        Rows; of width 0 for a precomputed matrix.
    matrix : ndarray of shape (m, n) or None
        Distances, one row per candidate, or None when they are computed on the fly.
    own : bool
        Whether the candidates are the clients themselves, in the same order (F = D).
    power : int or None
        1 if the distance is a metric, 2 if it is the square of one, None if neither is known: no ratio can then be
        claimed.
    excess : float or None
        Every cluster has a candidate that costs at most 1 + excess times its best centre anywhere; None if that is not
        known.
    """

    metric: Metric
    weights: FloatArray
    points: FloatArray
    candidates: FloatArray
    matrix: FloatArray | None
    own: bool
    power: int | None
    excess: float | None = None

    @property
    def n(self) -> int:
        """Number of clients."""
        return int(self.weights.size)

    @property
    def m(self) -> int:
        """Number of candidate centres, |F|."""
        return int(self.matrix.shape[0] if self.matrix is not None else self.candidates.shape[0])

    def distances(self, centers: IntArray) -> FloatArray:
        """Return the ``(len(centers), n)`` distances of all clients to some candidates."""
        if self.matrix is not None:
            return self.matrix[centers]
        return self.metric.block(self.candidates[centers], self.points)

    def between(self, centers: IntArray, clients: IntArray) -> FloatArray:
        """Return the ``(len(centers), len(clients))`` distances of some clients to some candidates."""
        if self.matrix is not None:
            return self.matrix[np.ix_(centers, clients)]
        return self.metric.block(self.candidates[centers], self.points[clients])

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield all distances in blocks of candidates that fit the memory budget."""
        size = max(1, matrix_budget() // (4 * max(1, self.n)))
        for part in gen_batches(self.m, size):
            held = None if self.matrix is None else self.matrix[part]
            yield part, self.metric.block(self.candidates[part], self.points) if held is None else held

    def rows(self) -> Rows:
        """Return the arrays from which the compiled kernels read distances."""
        from certiclust.space.kernels import MatrixRows, PointRows

        if self.matrix is not None:
            return MatrixRows(self.matrix)
        columns = np.ascontiguousarray(self.metric.prepare(self.points).T)
        candidates = np.ascontiguousarray(self.metric.prepare(self.candidates))
        return PointRows(columns, candidates, KERNEL_CODES[self.metric.name])

    @cached_property
    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """The d_i^max and d_i^min of the paper; for F = D a client is not its own nearest candidate."""
        largest, least = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        for part in gen_batches(self.m, 256):
            d = self.distances(np.arange(part.start, part.stop))
            np.maximum(largest, d.max(axis=0), out=largest)
            if self.own:
                np.fill_diagonal(d[:, part], np.inf)
            np.minimum(least, d.min(axis=0), out=least)
        return largest, least

    def assign(self, centers: IntArray) -> tuple[NDArray[np.int32], FloatArray]:
        """Return each client's label and distance: the nearest centre, ties to the lower label, a centre its own."""
        labels = np.zeros(self.n, dtype=np.int32)
        nearest = np.full(self.n, np.inf)
        for part in gen_batches(len(centers), max(1, 4_000_000 // max(1, self.n))):
            d = self.distances(centers[part])
            for label, row in enumerate(d, part.start):
                np.copyto(labels, label, where=row < nearest)
                np.minimum(nearest, row, out=nearest)
        if self.own:
            labels[centers] = np.arange(len(centers))
        return labels, nearest


def build_space(
    points: FloatArray,
    candidates: FloatArray | None,
    metric: Metric,
    weights: FloatArray,
    *,
    check_metric: bool | None = None,
    n_jobs: int | None = None,
    out_of_time: Callable[[], bool] = lambda: False,
    hold_matrix: bool = True,
) -> Space:
    """Return the space of rows `points`, with the matrix held only if it is wanted and fits the memory budget.

    Parameters
    ----------
    points, candidates : ndarray
        Rows; ``candidates=None`` means the points themselves.
    metric : Metric
        The distance.
    weights : ndarray of shape (n,)
        Positive weights.
    check_metric : bool or None, default=None
        Whether to check the triangle inequality of a distance about which nothing is known: None does so up to
        1000 rows.
    n_jobs : int or None, default=None
        Threads that compute the matrix.
    out_of_time : callable, default never
        Polled while the matrix is computed: it is given up then if the kernels can do without it, and so is a check of
        the triangle inequality that was not asked for.
    hold_matrix : bool, default=True
        Whether a matrix that fits shall be held; a compiled distance can do without.

    Raises
    ------
    ValueError
        If the matrix does not fit and the kernels do not know the distance, or if a distance is not finite.
    """
    own = candidates is None
    rows = points if candidates is None else candidates
    n, m = len(points), len(rows)
    matrix = None
    if n * m <= matrix_budget() and (hold_matrix or not metric.compiled):
        matrix = _fill(rows, points, metric, n_jobs, out_of_time if metric.compiled else lambda: False)
    elif not metric.compiled:
        need = -(-n * m * 8 // 2**20)
        raise ValueError(
            f"metric {metric.name!r} needs the {n} x {m} distance matrix, {need} MiB, above the working memory of "
            f"{get_config()['working_memory']} MiB; raise it with sklearn.set_config(working_memory={need}), or use "
            f"one of {sorted(KERNEL_CODES)}, which are computed on the fly."
        )
    if matrix is not None:
        if own and metric.function is None and largest_asymmetry(matrix) > 0:
            matrix = np.minimum(matrix, matrix.T)  # a named distance is symmetric; its rounding need not be
        _check_distances(matrix, metric.name)
    power = metric.power
    if power is None and matrix is not None and _wanted(check_metric, n, m):
        power = _measured_power(matrix, own, out_of_time if check_metric is None else lambda: False)
    return Space(metric, weights, points, rows, matrix, own, power)


def precomputed_space(
    distances: FloatArray,
    weights: FloatArray,
    *,
    own: bool,
    check_metric: bool | None = None,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Space:
    """Return the space of a given ``(n, m)`` clients x sites matrix; `own` says that it is symmetric, on one set."""
    # Kernels are compiled for arrays that may be written to, though they do not write to this one.
    matrix = np.require(distances if own else distances.T, requirements=["C", "A", "W"])
    n, m = distances.shape
    power = None
    if _wanted(check_metric, n, m):
        power = _measured_power(matrix, own, out_of_time if check_metric is None else lambda: False)
    points, candidates = np.empty((n, 0)), np.empty((m, 0))
    return Space(Metric.of("precomputed"), weights, points, candidates, matrix, own, power)


def _fill(
    rows: FloatArray, points: FloatArray, metric: Metric, n_jobs: int | None, out_of_time: Callable[[], bool]
) -> FloatArray | None:
    """Compute the matrix in blocks of rows, by threads: SciPy releases the lock, and the answer is the same."""
    matrix = np.empty((len(rows), len(points)))

    def compute(part: slice) -> bool:
        if out_of_time():
            return False
        matrix[part] = metric.block(rows[part], points)
        return True

    parts = gen_batches(len(rows), max(1, 2_000_000 // len(points)))
    done = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(compute)(part) for part in parts)
    return matrix if all(done) else None


def _check_distances(matrix: FloatArray, name: str) -> None:
    if not np.isfinite(matrix).all():
        j, i = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(f"{name} distances must be finite; that of row {i} to candidate {j} is {matrix[j, i]}.")
    if matrix.size and matrix.min() < 0:
        raise ValueError(f"{name} distances must not be negative; the least is {matrix.min():.6g}.")


def _wanted(check_metric: bool | None, n: int, m: int) -> bool:
    return max(n, m) <= 1000 if check_metric is None else check_metric


def _measured_power(matrix: FloatArray, own: bool, should_stop: Callable[[], bool]) -> int | None:
    from certiclust.space.triangle import holds_triangle_inequality

    symmetric = own and largest_asymmetry(matrix) == 0 and not np.diagonal(matrix).any()
    return 1 if holds_triangle_inequality(matrix.T, square=symmetric, should_stop=should_stop) else None
