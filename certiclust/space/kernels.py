"""Compiled rows of distances: from the matrix where one is held, else computed on the fly.

Importing this module imports numba, so nothing imports it before a fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from certiclust.space.compiled import ARRAYS, KERNEL

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class MatrixRows(NamedTuple):
    """Distances that are held: ``(m, n)``, one row per candidate."""

    matrix: FloatArray


class PointRows(NamedTuple):
    """Distances computed when they are asked for.

    `columns` holds the points as ``(l, n)``, so that a row is computed in vector instructions; `code` names the
    distance as in `KERNEL_CODES`.
    """

    columns: FloatArray
    candidates: FloatArray
    code: int


Rows = MatrixRows | PointRows


def row(rows: Rows, j: int, out: FloatArray) -> FloatArray:
    """Return the distances of all clients to candidate `j`, in `out` unless a matrix holds them."""
    return read_row(rows, j, out)


def distance(rows: Rows, j: int, i: int) -> float:
    """Return the distance of client `i` to candidate `j`: the same number, to the bit, as ``row(rows, j)[i]``."""
    return read_distance(rows, j, i)


def some(rows: Rows, j: int, clients: IntArray, count: int, out: FloatArray) -> None:
    """Write the distances of the first `count` of some clients to candidate `j`."""
    for t in range(count):
        out[t] = read_distance(rows, j, clients[t])


# The kernels are compiled for one kind of rows at a time: with a matrix, nothing of the on-the-fly code is compiled.
# A row of a matrix is a part of whoever reads it: a kernel that counts no references may not return a view.
@overload(row, strict=False, inline="always", jit_options=ARRAYS)
def _row(rows: Any, j: Any, out: Any) -> Any:
    return (lambda rows, j, out: rows.matrix[j]) if rows.instance_class is MatrixRows else None


@overload(row, strict=False)
def _other_row(rows: Any, j: Any, out: Any) -> Any:
    return None if rows.instance_class is MatrixRows else _computed_row


@overload(distance, strict=False)
def _distance(rows: Any, j: Any, i: Any) -> Any:
    if rows.instance_class is MatrixRows:
        return lambda rows, j, i: rows.matrix[j, i]
    return _computed_distance


@overload(some, strict=False)
def _some(rows: Any, j: Any, clients: Any, count: Any, out: Any) -> Any:
    if rows.instance_class is MatrixRows:
        return _held_some
    return _computed_some


def _held_some(rows: MatrixRows, j: int, clients: IntArray, count: int, out: FloatArray) -> None:
    held = rows.matrix[j]
    for t in range(count):
        out[t] = held[clients[t]]


def _computed_some(rows: PointRows, j: int, clients: IntArray, count: int, out: FloatArray) -> None:
    for t in range(count):
        out[t] = distance(rows, j, clients[t])


def _computed_row(rows: PointRows, j: int, out: FloatArray) -> FloatArray:
    out[:] = 0.0
    for t in range(rows.columns.shape[0]):
        x = rows.columns[t]
        c = rows.candidates[j, t]
        if rows.code == 3:
            for i in range(out.size):
                out[i] += abs(x[i] - c)
        elif rows.code == 4:
            for i in range(out.size):
                out[i] = max(out[i], abs(x[i] - c))
        else:
            for i in range(out.size):
                out[i] += (x[i] - c) * (x[i] - c)
    if rows.code == 1:
        for i in range(out.size):
            out[i] = np.sqrt(out[i])
    elif rows.code == 5:
        for i in range(out.size):
            out[i] *= 0.5
    return out


def _computed_distance(rows: PointRows, j: int, i: int) -> float:
    total = 0.0
    for t in range(rows.columns.shape[0]):
        gap = abs(rows.columns[t, i] - rows.candidates[j, t])
        if rows.code == 3:
            total += gap
        elif rows.code == 4:
            total = max(total, gap)
        else:
            total += gap * gap
    if rows.code == 1:
        return np.sqrt(total)
    return 0.5 * total if rows.code == 5 else total


@njit(**KERNEL)
def read_row(rows: Rows, j: int, out: FloatArray) -> FloatArray:
    """Let Python call the compiled `row`."""
    return row(rows, j, out)


@njit(**KERNEL)
def read_distance(rows: Rows, j: int, i: int) -> float:
    """Let Python call the compiled `distance`."""
    return distance(rows, j, i)


@njit(**KERNEL)
def triangle_defect(matrix: FloatArray, slack: float, start: int, stop: int) -> bool:
    """Return whether some d_ij, `i` in a range, exceeds (1 + slack)(d_il + d_lj) in a square symmetric `matrix`."""
    n = matrix.shape[0]
    for i in range(start, stop):
        for via in range(n):
            first = matrix[i, via]
            bad = False
            for j in range(n):
                bad |= matrix[i, j] > (1.0 + slack) * (first + matrix[via, j])
            if bad:
                return True
    return False


@njit(**KERNEL)
def quadrangle_defect(matrix: FloatArray, slack: float, start: int, stop: int) -> bool:
    """Return whether some d_ij, `i` in a range, exceeds (1 + slack)(d_ij' + d_i'j' + d_i'j): clients x sites."""
    n, m = matrix.shape
    for i in range(start, stop):
        for via in range(n):
            detour = np.inf
            for j in range(m):
                detour = min(detour, matrix[i, j] + matrix[via, j])
            bad = False
            for j in range(m):
                bad |= matrix[i, j] > (1.0 + slack) * (detour + matrix[via, j])
            if bad:
                return True
    return False
