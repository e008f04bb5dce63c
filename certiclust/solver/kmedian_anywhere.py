"""k-median with centres anywhere: from good candidates to geometric medians, and a bound for all places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound
from certiclust.bounds.kmeans import kmedian_bound
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.evolution.weiszfeld import weiszfeld_polish
from certiclust.space import Space

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Anywhere:
    """Centres anywhere, their cost, and what is proved about the best ones."""

    positions: FloatArray
    cost: float
    bound: Bound


def anywhere(
    space: Space,
    centers: FloatArray,
    gap_tol: float,
    out_of_time: Callable[[], bool],
    *,
    certify: bool = True,
    smaller: FloatArray | None = None,
) -> Anywhere:
    """Polish centres and bound the optimum; both end by counted work, by Ctrl-C, or when the time is over.

    `smaller` are places of one centre less: with the client that pays most they are polished too, and taken if they
    cost less.
    """
    with catch_interrupt() as interrupted:

        def should_stop() -> bool:
            return interrupted() or out_of_time()

        points, weights, k = space.points, space.weights, len(centers)
        positions, cost = weiszfeld_polish(points, weights, centers, should_stop)
        if smaller is not None:
            paid = weights * space.metric.block(smaller, points).min(axis=0)
            more = np.concatenate([smaller, points[[int(np.argmax(paid))]]])
            others = weiszfeld_polish(points, weights, more, should_stop)
            positions, cost = min((positions, cost), others, key=lambda found: found[1])
        bound = Bound(0.0, None, "", "no bound was asked for")
        if certify:
            bound = kmedian_bound(points, weights, k, positions, cost, gap_tol=gap_tol, should_stop=should_stop)
    return Anywhere(positions, cost, bound)
