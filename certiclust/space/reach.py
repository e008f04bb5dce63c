"""How far each point of a cluster is from the farthest other: what the diameters of k-tMM are made of."""

from __future__ import annotations

import numpy as np

from certiclust.space.space import FloatArray, IntArray, Space

#: Distances computed at a time, and members that are the first to be asked for as farthest.
BLOCK, FIRST = 1_000_000, 16
#: Factor, far above rounding, and term, above what underflows, by which a sum of two distances is taken to be larger.
SLACK, TINY = 1.0 + 1e-9, 1e-150


def reach_within(space: Space, members: IntArray) -> FloatArray:
    """Return the largest distance of each of some points to another of them.

    Where distances are computed on the fly, the members are asked for as farthest in the order of their distance to a
    pivot, farthest first. By the triangle inequality no member at distance at most r from the pivot is farther from x
    than d(x, pivot) + r, so x is done once it has met a distance above that. The answer is the same to the bit.

    Parameters
    ----------
    space : Space
        Points that are their own candidates.
    members : ndarray
        Some of them, at least one.

    Examples
    --------
    >>> from certiclust.space import Metric, build_space
    >>> space = build_space(np.array([[0.0], [1.0], [5.0]]), None, Metric.of("euclidean"), np.ones(3))
    >>> reach_within(space, np.array([0, 1, 2]))
    array([5., 4., 5.])
    """
    if space.matrix is not None:
        size = max(1, BLOCK // len(members))
        parts = [members[start : start + size] for start in range(0, len(members), size)]
        return np.concatenate([space.between(part, members).max(axis=1) for part in parts])
    radius = _root(space, space.between(_middle(space, members), members)[0])
    order = np.argsort(-radius, kind="stable")
    ranked, radius = members[order], radius[order]
    reach, left, start, size = np.zeros(len(members)), np.arange(len(members)), 0, FIRST
    while True:
        stop = start + min(size, max(1, BLOCK // left.size))
        met = space.between(ranked[start:stop], ranked[left]).max(axis=0)
        reach[left] = np.maximum(reach[left], met, out=met)
        if stop >= len(members):
            break
        left = left[(radius[left] + radius[stop]) * SLACK + TINY >= _root(space, met)]
        if left.size == 0:
            break
        start, size = stop, 2 * size
    every = np.empty(len(members))
    every[order] = reach
    return every


def _root(space: Space, distances: FloatArray) -> FloatArray:
    """Return distances for which the triangle inequality holds."""
    return np.sqrt(distances) if space.metric.power == 2 else distances


def _middle(space: Space, members: IntArray) -> IntArray:
    """Return the member nearest to the middle of the box around all of them: any would do, this one does well."""
    columns = np.ascontiguousarray(space.points[members].T)
    least = columns.min(axis=1, keepdims=True)
    middle = least + 0.5 * (columns.max(axis=1, keepdims=True) - least)
    return members[[int(np.abs(columns - middle).sum(axis=0).argmin())]]
