"""Lower bounds of k-means for one k after another: each starts from the multipliers of the one before.

The multipliers that prove a bound for k - 1 centres are nearly right for k, and so are the columns on which they were
climbed: what is left is a short climb and one proof by boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from certiclust.bounds.bound import Bound
from certiclust.bounds.kmeans import (
    BOX_POINTS,
    FEW_COLUMNS,
    LARGE_BOX_WORK,
    MAX_POINTS,
    SDP_WORK,
    THEOREM,
    _sdp,
    kmeans_bound,
    one_thread,
)
from certiclust.bounds.kmeans_boxes import BoxSearch
from certiclust.bounds.kmeans_evidence import packed_boxes
from certiclust.bounds.kmeans_rows import Floats, centred, cluster_means, nearest, split

#: Every so-manieth point is where a descent to a new column starts, others at the next size.
PROBE = 16
#: Smoothing of the climb from known multipliers.
SHARES = (3e-3, 1e-3, 3e-4)
#: Columns handed on.
KEPT = 600


class Dual(NamedTuple):
    """Multipliers of the points, and the centres at which the least reduced costs were found."""

    u: Floats
    columns: Floats


def chained_bound(
    points: Floats,
    weights: Floats,
    k: int,
    centers: Floats,
    upper: float,
    *,
    before: Dual | None,
    share: float,
    gap_tol: float,
    should_stop: Callable[[], bool],
    used: Callable[[], float] = lambda: 0.0,
) -> tuple[Bound, Dual | None]:
    """Return a lower bound on the cost of any k centres, and the multipliers for the next k.

    Parameters
    ----------
    points, weights, k, centers, upper, gap_tol, should_stop, used
        As for `kmeans_bound`.
    before
        The multipliers of a neighbouring size, or None.
    share
        The part of the work of a single fit that may be done.
    """
    n, width = points.shape
    if k == 1 or not upper > 0.0 or k >= n or n > MAX_POINTS:
        return kmeans_bound(points, weights, k, centers, upper, gap_tol=gap_tol, should_stop=should_stop), None
    with one_thread():
        if width > FEW_COLUMNS:
            return _sdp(points, weights, k, nearest(points, centers), gap_tol, should_stop, share * SDP_WORK), None
        return _boxes(points, weights, k, centers, before, share, gap_tol, should_stop, used)


def _boxes(
    points: Floats,
    weights: Floats,
    k: int,
    centers: Floats,
    before: Dual | None,
    share: float,
    gap_tol: float,
    should_stop: Callable[[], bool],
    used: Callable[[], float],
) -> tuple[Bound, Dual | None]:
    rows = centred(points, weights, turn=True)
    labels, n = nearest(points, centers), len(points)
    count = -(-n // BOX_POINTS)
    work = share * LARGE_BOX_WORK / count
    value, witness, u, columns = 0.0, [], np.zeros(n), []
    for done, members in enumerate(split(rows.points, weights, labels, k, count)):
        block, mass = rows.points[members], weights[members]
        middles = cluster_means(block, mass, labels[members], k)
        cost = float(mass @ np.square(block - middles[labels[members]]).sum(axis=1))
        if not cost > 0.0 or should_stop():
            return Bound(0.0, None, THEOREM, "nothing was proved by boxes"), None
        end = used() + (1.0 - used()) / (count - done)
        search = BoxSearch(block, mass, k, middles, cost, work, should_stop, 2, used, end)
        if before is not None:
            search.u, search.columns = before.u[members], before.columns
            search.probes, search.last_probes = block[k % PROBE :: PROBE], block[:: PROBE // 4]
        proved = search.run(gap_tol, None if before is None else SHARES)
        u[members] = search.best_u
        columns.append(search.columns[: KEPT // count])
        if proved.lower > 0.0:
            value += proved.lower
            witness.append((members, proved.u, proved.bits))
    dual = Dual(u, np.concatenate(columns))
    if not value > 0.0:
        return Bound(0.0, None, THEOREM, "nothing was proved by boxes"), dual
    evidence = {"boxes": packed_boxes(witness, rows.axes)}
    return Bound(rows.safe(value), None, THEOREM, "multipliers and boxes", evidence), dual
