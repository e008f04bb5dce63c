"""Move every centre of a k-center solution to the best place in its own cluster: Lloyd's step for the radius."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from certiclust.problems import KCenterProblem
from certiclust.space.space import FloatArray, IntArray, Space

#: Points looked at for one cluster before the best centre so far is taken.
LOOKS = 32


def one_center(space: Space, members: IntArray, start: int) -> tuple[int, float]:
    """Return the member whose farthest other member is nearest, and that distance, from a first guess.

    Only few members decide: a member that is the best for the far ones met so far is the centre if none lies farther,
    and otherwise the one that does is met next. So a few rows of distances take the place of all pairs. After so many
    looks the best member met is returned, which is never worse than `start`.

    Parameters
    ----------
    space : Space
        Points that are their own candidates.
    members : ndarray
        A cluster, at least one point.
    start : int
        The first guess, a point of the cluster or not.

    Examples
    --------
    >>> from certiclust.space import Metric, build_space
    >>> space = build_space(np.array([[0.0], [1.0], [3.0], [5.0]]), None, Metric.of("euclidean"), np.ones(4))
    >>> one_center(space, np.arange(4), 0)
    (2, 3.0)
    """
    center, best, radius = start, start, inf
    least = np.zeros(members.size)  # what each member would have as its radius, at least
    for _ in range(LOOKS):
        distance = space.between(np.array([center]), members)[0]
        far = int(distance.argmax())
        if distance[far] < radius:
            best, radius = center, float(distance[far])
        np.maximum(least, space.between(members, members[far : far + 1])[:, 0], out=least)
        promising = int(least.argmin())
        if least[promising] >= radius:
            break
        center = int(members[promising])
    return best, radius


def recenter(
    problem: KCenterProblem, centers: IntArray, should_stop: Callable[[], bool]
) -> tuple[IntArray, FloatArray]:
    """Move centres and reassign points in turn while the radius falls; returns the centres and all distances."""
    space = problem.space
    labels, nearest = space.assign(centers)
    while not should_stop():
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(centers.size + 1))
        clusters = [order[ends[j] : ends[j + 1]] for j in range(centers.size)]
        moved = [one_center(space, c, int(j))[0] if c.size else int(j) for c, j in zip(clusters, centers, strict=True)]
        candidates = np.sort(np.array(moved, dtype=np.intp))
        labels, distance = space.assign(candidates)
        if distance.max() >= nearest.max() or np.unique(candidates).size < centers.size:
            break
        centers, nearest = candidates, distance
    return centers, nearest
