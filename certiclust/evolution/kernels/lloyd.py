"""Lloyd's iteration with distance bounds, compiled.

The bounds survive a relocation of centres: a variation costs what it changes, not n k distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.clustering import (
    Cloud,
    Clustering,
    Ints,
    Pace,
    Workspace,
    distance,
    explained,
    gather,
    move_point,
    two_nearest,
)
from certiclust.space.compiled import FAST, KERNEL, PART, VIEWS

#: How far a centre goes ahead: times the way to the mean of its points, and times its last way. Clusters that pass
#: points on to each other along a chain take many passes to the means themselves, and end at higher costs.
OVER, MOMENTUM = 2.0, 0.5


@njit(**KERNEL, **VIEWS, **FAST)
def assign(cloud: Cloud, state: Clustering, work: Workspace, start: int, stop: int) -> None:
    """Assign points to their nearest centres from scratch; sums, masses and sizes are added to."""
    d, k = work.columns.shape
    for j in range(k):
        for t in range(d):
            work.columns[t, j] = state.centers[j, t]
    for i in range(start, stop):
        a, first, second = two_nearest(cloud.points[i], work.columns, work.row)
        w = cloud.weights[i]
        state.labels[i] = a
        state.upper[i] = np.sqrt(first)
        state.lower[i] = np.sqrt(second)
        state.sizes[a] += 1
        state.masses[a] += w
        for t in range(d):
            state.sums[a, t] += w * cloud.points[i, t]


@njit(**KERNEL, **FAST)
def relocate(
    cloud: Cloud, state: Clustering, work: Workspace, slots: Ints, moved: NDArray[np.bool_], start: int, stop: int
) -> None:
    """Repair labels and bounds of points after the centres in `slots` (flags: `moved`) were put elsewhere."""
    d, k = work.columns.shape
    m = slots.shape[0]
    apart = np.empty((k, m))
    for a in range(k):
        work.half[a] = np.inf
        for q in range(m):
            apart[a, q] = distance(state.centers[a], state.centers[slots[q]])
            work.half[a] = min(work.half[a], apart[a, q])
        if moved[a]:
            work.half[a] = -np.inf
        for t in range(d):
            work.columns[t, a] = state.centers[a, t]
    for first in range(start, stop, work.rows.size):
        last = min(stop, first + work.rows.size)
        for i in range(first, last):
            # A centre at distance D of the own one is at least D - u away, and not nearer if D >= 2 u.
            work.suspect[i - first] = work.half[np.uint32(state.labels[i])] - state.upper[i] < state.lower[i]
        for s in range(gather(work, first, last)):
            i = work.rows[s]
            a = np.int64(state.labels[i])  # type: ignore[assignment]
            b = a
            if moved[a]:
                b, nearest, second = two_nearest(cloud.points[i], work.columns, work.row)
                u, low = np.sqrt(nearest), np.sqrt(second)
                work.progress[3] += k
            else:
                u, low = distance(cloud.points[i], state.centers[a]), state.lower[i]
                own = u
                for q in range(m):
                    if apart[a, q] - own >= low:
                        continue
                    if b == a and apart[a, q] >= 2.0 * u:
                        low = min(low, apart[a, q] - u)
                        continue
                    work.progress[3] += 2
                    v = distance(cloud.points[i], state.centers[slots[q]])
                    if v < u:  # after Hartigan's moves the own centre need not have been the nearest
                        low, u, b = min(low, u), v, slots[q]
                    elif v < low:
                        low = v
            state.upper[i], state.lower[i] = u, low
            if b != a:
                move_point(cloud, state, i, a, b)


@njit(**PART)
def refill(cloud: Cloud, state: Clustering, work: Workspace) -> None:
    """Give every empty cluster the point that is farthest from its centre."""
    for j in range(state.sizes.shape[0]):
        if state.sizes[j] == 0:
            farthest = 0.0
            far: Any = np.int64(-1)  # a literal would be compiled once more
            for i in range(state.labels.shape[0]):
                if state.upper[i] > farthest and state.sizes[state.labels[i]] > 1:
                    farthest, far = state.upper[i], i
            if far >= 0:
                move_point(cloud, state, far, np.int64(state.labels[far]), j)
                state.lower[far] = 0.0
                state.upper[far] = distance(cloud.points[far], state.centers[j])
                work.reach[j] = state.upper[far]


@njit(**PART)
def move_centers(state: Clustering, work: Workspace, ahead: bool) -> float:
    """Put every centre at the mean of its points, or ahead of it; returns the longest way that one went.

    Ahead is `OVER` times the way to the mean, and `MOMENTUM` times the last way.
    """
    longest = 0.0
    for j in range(state.sizes.shape[0]):
        s = 0.0
        for t in range(state.sums.shape[1]):
            if state.sizes[j] > 0:
                old = state.centers[j, t]
                new = state.sums[j, t] / state.masses[j]
                if ahead:
                    new = old + (OVER * (new - old) + MOMENTUM * work.way[j, t])
                work.way[j, t] = new - old
                s += (new - old) ** 2
                state.centers[j, t] = new
            work.columns[t, j] = state.centers[j, t]
        work.drift[j] = np.sqrt(s)
        longest = max(longest, work.drift[j])
        work.reach[j] += work.drift[j]
    return longest


@njit(**PART)
def ended(work: Workspace, cost: float, pace: Pace) -> bool:
    """Note the cost after a pass, and return whether that was the last one; the last of all goes to the means."""
    progress = work.progress
    progress[1] += 1
    gain = work.cost[0] - cost
    work.cost[0] = cost
    at_means, gains = progress[6] == 0, gain > pace.tol * cost
    progress[6] = gains and pace.ahead and progress[1] < pace.passes - 1
    hopeless = progress[1] >= 3 and gain > 0.0 and cost - pace.horizon * gain > pace.target
    return hopeless or progress[1] >= pace.passes or (at_means and not gains)


@njit(**PART)
def survey(state: Clustering, work: Workspace, first: bool) -> None:
    """Refresh what the bounds of a pass need: distances between centres, the fast ones, and drifts of neighbours."""
    k = state.sizes.shape[0]
    drift, between = work.drift, work.between
    for a in range(k):
        for b in range(a):
            if first or drift[a] > 0 or drift[b] > 0:
                between[a, b] = between[b, a] = distance(state.centers[a], state.centers[b])
    # The fastest sixth of the centres are tested one by one, so that one jumping centre does not void every bound.
    limit = np.inf
    for _ in range(max(2, k // 6) + 1):
        fastest = 0.0
        for j in range(k):
            if fastest < drift[j] < limit:
                fastest = drift[j]
        limit = fastest
    fast = 0
    for j in range(k):
        if drift[j] > limit:
            work.fast[fast] = j
            fast += 1
    work.progress[2] = fast
    for a in range(k):
        least, near, slow, outside = np.inf, 0.0, 0.0, np.inf
        for b in range(k):
            if b == a:
                continue
            v = between[a, b]
            least = min(least, v)
            if v < 2.0 * work.reach[a]:
                near = max(near, drift[b])
                if drift[b] <= limit:
                    slow = max(slow, drift[b])
            else:
                outside = min(outside, v)
        work.half[a], work.near[a], work.slow[a], work.outside[a] = 0.5 * least, near, slow, outside


@njit(**PART)
def loosen(state: Clustering, work: Workspace, first: int, last: int) -> None:
    """Widen the bounds of some points by the ways of the centres, and mark the points whose bounds cross."""
    for i in range(first, last):
        a = np.uint32(state.labels[i])  # unsigned: no test for an index from the end, so the loop vectorises
        u = state.upper[i] + work.drift[a]
        # Only centres within twice the reach of the cluster can come nearer than `outside - u`.
        low = min(state.lower[i] - work.near[a], work.outside[a] - u)
        state.upper[i], state.lower[i] = u, low
        work.suspect[i - first] = u > max(low, work.half[a])


@njit(**PART)
def reassign(cloud: Cloud, state: Clustering, work: Workspace, start: int, stop: int) -> None:
    """Bring the points of a range to their nearest centres, as far as their bounds do not show that they are there."""
    k = state.sizes.shape[0]
    for first in range(start, stop, work.rows.size):
        last = min(stop, first + work.rows.size)
        loosen(state, work, first, last)
        for s in range(gather(work, first, last)):
            i = work.rows[s]
            a = np.int64(state.labels[i])
            u = distance(cloud.points[i], state.centers[a])
            if u > max(state.lower[i], work.half[a]):
                low = min(state.lower[i] + (work.near[a] - work.slow[a]), work.outside[a] - u)
                b = a
                if u <= low:  # only a fast centre can be nearer
                    own = u
                    for q in range(work.progress[2]):
                        j = work.fast[q]
                        if j != a and work.between[a, j] - own < low:
                            work.progress[3] += 2
                            v = distance(cloud.points[i], state.centers[j])
                            if v < u:
                                low, u, b = u, v, j
                            elif v < low:
                                low = v
                else:
                    work.progress[3] += k
                    b, nearest, second = two_nearest(cloud.points[i], work.columns, work.row)
                    u, low = np.sqrt(nearest), np.sqrt(second)
                state.lower[i] = low
                if b != a:
                    move_point(cloud, state, i, a, b)
                    work.reach[b] = max(work.reach[b], u)
            state.upper[i] = u


@njit(**KERNEL, **VIEWS, **FAST)
def lloyd(cloud: Cloud, state: Clustering, work: Workspace, total: float, pace: Pace, pause: int) -> bool:
    """Run Lloyd's iteration for about `pause` points; returns whether it ended, else call again.

    Centres go ahead of the means of their points as long as that gains more than `tol` times the cost. It ends when it
    does not and a pass to the means themselves does not either, when no centre moves, after `passes`, or when, after
    three of them, `horizon` more gains like the last would not reach `target`.
    """
    n, progress = cloud.points.shape[0], work.progress
    if progress[0] == 0 and progress[1] == 0:
        for j in range(work.reach.size):  # a loop: an array assignment takes long to compile
            work.reach[j] = 0.0
        for i in range(n):
            work.reach[state.labels[i]] = max(work.reach[state.labels[i]], state.upper[i])
        work.cost[0] = work.cost[1] = total - explained(state)
        progress[6] = 0
    left = pause
    while left > 0:
        if progress[0] == 0:
            refill(cloud, state, work)
            if move_centers(state, work, progress[6] > 0) == 0.0:
                return True
            survey(state, work, progress[1] == 0)
        stop = min(n, progress[0] + left)
        reassign(cloud, state, work, progress[0], stop)
        left -= stop - progress[0]
        progress[4] += stop - progress[0]
        progress[0] = stop
        if stop == n:
            progress[0] = 0
            if ended(work, total - explained(state), pace):
                return True
    return False
