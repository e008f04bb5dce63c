"""Hartigan's moves of single points, and what a further centre would gain, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from certiclust.evolution.kernels.clustering import (
    Cloud,
    Clustering,
    Floats,
    Ints,
    Workspace,
    distance,
    move_point,
    recenter,
    two_nearest,
)
from certiclust.space.compiled import FAST, KERNEL, VIEWS


@njit(**KERNEL, **VIEWS, **FAST)
def hartigan(cloud: Cloud, state: Clustering, work: Workspace, start: int, stop: int) -> float:
    """Move single points where that lowers the cost, centres following at once; returns the gain.

    x goes from a to b if N_b/(N_b + w) d_b^2 < N_a/(N_a - w) d_a^2 (Hartigan 1975). Bounds hold for the new centres on
    exit; `drift` and `near[0]` (the largest) say how far the centres went since the pass began at point 0.
    """
    n = cloud.points.shape[0]
    k = state.sizes.shape[0]
    masses, drift = state.masses, work.drift
    if start == 0:  # Lloyd's iteration may have ended with centres that are not yet the means
        work.near[0] = 0.0
        for j in range(k):
            drift[j] = 0.0
            work.near[0] = max(work.near[0], recenter(state, work, j))
    least = np.inf
    for j in range(k):
        least = min(least, masses[j])
    gain = 0.0
    for i in range(start, stop):
        a, w = np.int64(state.labels[i]), cloud.weights[i]
        if state.sizes[a] <= 1 or not masses[a] > w:
            continue
        out = masses[a] / (masses[a] - w)
        low = state.lower[i] - work.near[0]
        if low > 0.0 and low * low * (least / (least + w)) >= (state.upper[i] + drift[a]) ** 2 * out:
            continue
        # Bounds are relative to where the centres were when the pass began: at its end the whole way is added.
        state.upper[i] = distance(cloud.points[i], state.centers[a]) - drift[a]
        if low > 0.0 and low * low * (least / (least + w)) >= (state.upper[i] + drift[a]) ** 2 * out:
            continue
        work.progress[3] += k
        nearest, first, second = two_nearest(cloud.points[i], work.columns, work.row)
        if nearest != a:
            second = first
        here = work.row[a] * out
        best = here * (1.0 - 1e-12)
        b: Any = np.int64(-1)
        if second * (least / (least + w)) < best:
            for j in range(k):
                v = work.row[j] * masses[j] / (masses[j] + w)
                if v < best and j != a:
                    best, b = v, j
        state.lower[i] = np.sqrt(second)
        if b >= 0:
            gain += (here - best) * w
            work.progress[5] += 1
            move_point(cloud, state, i, a, b)
            work.near[0] = max(work.near[0], recenter(state, work, a), recenter(state, work, b))
            least = min(least, masses[a])
            state.upper[i], state.lower[i] = np.inf, -1.0
    if stop == n and work.near[0] > 0.0:
        for i in range(n):
            a = np.int64(state.labels[i])
            if state.upper[i] == np.inf:
                state.upper[i], state.lower[i] = distance(cloud.points[i], state.centers[a]), 0.0
            else:
                state.upper[i] += drift[a]
                state.lower[i] -= work.near[0]
    return gain


@njit(**KERNEL, **FAST)
def insertion_gain(cloud: Cloud, state: Clustering, rows: Ints) -> Floats:
    """Return by how much each of some points, added as a centre, lowers the cost; clusters out of reach are skipped."""
    k, m = state.sizes.shape[0], rows.shape[0]
    gains, apart, least = np.zeros(m), np.empty((k, m)), np.full(k, np.inf)
    for a in range(k):
        for q in range(m):
            apart[a, q] = distance(state.centers[a], cloud.points[rows[q]])
            least[a] = min(least[a], apart[a, q])
    for i in range(cloud.points.shape[0]):
        a, u = state.labels[i], state.upper[i]
        if least[a] < 2.0 * u:
            for q in range(m):
                if apart[a, q] < 2.0 * u:
                    v = distance(cloud.points[i], cloud.points[rows[q]])
                    if v < u:
                        gains[q] += cloud.weights[i] * (u * u - v * v)
    return gains
