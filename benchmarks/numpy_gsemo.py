"""Algorithm 1 as a plain NumPy loop: what one writes in an afternoon, and the yardstick of gsemo_speed.py.

Objectives are computed from a full distance matrix with vectorised NumPy, dominance as in the paper (both objectives
maximised). Nothing is skipped but the evaluation of offspring with more than k centres, as Algorithm 1 itself says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

F1 = Callable[[NDArray[np.bool_]], tuple[int, float]]


def numpy_gsemo(f1: F1, m: int, k: int, iterations: int, seed: int) -> list[tuple[int, tuple[int, float]]]:
    """Return sizes and first objectives of the final population."""
    rng = np.random.default_rng(seed)
    x = np.zeros(m, dtype=bool)
    population = [(x, f1(x), 0)]
    for _ in range(iterations):
        x = population[rng.integers(len(population))][0]
        y = x ^ (rng.random(m) < 1.0 / m)
        size = int(y.sum())
        if size > k:
            continue
        f = f1(y)
        if any(g >= f and s >= size and (g > f or s > size) for _, g, s in population):
            continue
        population = [(z, g, s) for z, g, s in population if not (f >= g and size >= s)]
        population.append((y, f, size))
    return [(s, f) for _, f, s in population]


def sum_f1(matrix: NDArray[np.float64], balls: NDArray[np.bool_] | None = None) -> F1:
    """Return f1 of k-median (or k-means) over a symmetric matrix; with `balls` that of fair k-median."""

    def f1(x: NDArray[np.bool_]) -> tuple[int, float]:
        missed = 0 if balls is None else int((~balls[:, x].any(axis=1)).sum())
        return (-missed, -float(matrix[x].min(axis=0).sum())) if x.any() else (-missed, -np.inf)

    return f1


def max_f1(matrix: NDArray[np.float64]) -> F1:
    """Return f1 of k-center and k-tMM."""

    def f1(x: NDArray[np.bool_]) -> tuple[int, float]:
        centers = np.flatnonzero(x)
        if len(centers) <= 1:
            return 0, np.inf
        rows = matrix[centers]
        between = rows[:, centers]
        np.fill_diagonal(between, np.inf)
        return 0, float(between.min() - rows.min(axis=0).max())

    return f1
