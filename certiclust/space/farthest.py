"""Farthest-first points (Gonzalez 1985): where the max problems start, and what proves ratio 2 for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from certiclust.space.space import FloatArray, IntArray, Space


def farthest_first(
    space: Space, count: int, start: int, *, floor: float = 0.0, should_stop: Callable[[], bool] = lambda: False
) -> tuple[IntArray, FloatArray, NDArray[np.float64]]:
    """Return `count` points, each the farthest from those before, how far it is from them, and what is left.

    The first k are a solution with f1 >= 0: the next one is as far from all of them as any point is from the nearest.

    Parameters
    ----------
    space : Space
        Points that are their own candidates.
    count : int
        Points wanted; there are fewer where no other point is farther than `floor`, or a stop was asked for.
    start : int
        The first of them.
    floor : float, default=0.0
        A distance that is near enough.
    should_stop : callable, default never
        Polled after every point.

    Examples
    --------
    >>> from certiclust.space import Metric, build_space
    >>> space = build_space(np.array([[0.0], [1.0], [5.0]]), None, Metric.of("euclidean"), np.ones(3))
    >>> points, gaps, nearest = farthest_first(space, 2, 0)
    >>> points.tolist(), gaps.tolist(), nearest.tolist()
    ([0, 2], [inf, 5.0], [0.0, 1.0, 0.0])
    """
    chosen, gaps = [start], [np.inf]
    nearest = space.distances(np.array([start]))[0].copy()
    while len(chosen) < count and not should_stop():
        far = int(nearest.argmax())
        if nearest[far] <= floor:
            break
        chosen.append(far)
        gaps.append(float(nearest[far]))
        np.minimum(nearest, space.distances(np.array([far]))[0], out=nearest)
    return np.array(chosen, dtype=np.intp), np.array(gaps), nearest
