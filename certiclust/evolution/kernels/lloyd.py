"""Lloyd's iteration and Hartigan's moves with distance bounds, compiled.

A clustering keeps, for every point, an upper bound on the distance to its own centre and a lower bound on the distance
to every other one (Hamerly 2010), so that a point is looked at only where these cross. The bounds survive a relocation
of centres: a variation costs what it changes, not n k distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.space.compiled import FAST, INNER, KERNEL, PART

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]


class Cloud(NamedTuple):
    """Points near the origin, and their positive weights."""

    points: Floats
    weights: Floats


class Clustering(NamedTuple):
    """Centres, labels, bounds on distances, and weighted sum, mass and number of the points of every cluster."""

    centers: Floats
    labels: Labels
    upper: Floats
    lower: Floats
    sums: Floats
    masses: Floats
    sizes: Ints


class Workspace(NamedTuple):
    """What a descent remembers from one pause to the next.

    `progress` is: next point, passes done, fast centres, distances computed, points visited, moves made.
    """

    drift: Floats
    reach: Floats
    half: Floats
    near: Floats
    slow: Floats
    outside: Floats
    between: Floats
    columns: Floats
    row: Floats
    fast: Ints
    progress: Ints
    cost: Floats


@njit(**INNER, **FAST)
def distance(x: Floats, y: Floats) -> float:
    """Return the Euclidean distance."""
    s = 0.0
    for t in range(x.shape[0]):
        v = x[t] - y[t]
        s += v * v
    return np.sqrt(s)


@njit(**INNER, **FAST)
def two_nearest(x: Floats, columns: Floats, row: Floats) -> tuple[int, float, float]:
    """Return the nearest centre and the squares of the two least distances; `row` receives all squares.

    The centres are given as columns, so that the loop over them is the one that vectorises.
    """
    d, k = columns.shape
    for j in range(k):
        row[j] = 0.0
    whole = d - d % 4
    for t in range(0, whole, 4):  # four coordinates at a time: `row` is read and written a quarter as often
        for j in range(k):
            v0, v1 = x[t] - columns[t, j], x[t + 1] - columns[t + 1, j]
            v2, v3 = x[t + 2] - columns[t + 2, j], x[t + 3] - columns[t + 3, j]
            row[j] += (v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3)
    for t in range(whole, d):
        for j in range(k):
            v = x[t] - columns[t, j]
            row[j] += v * v
    best, first, second = 0, np.inf, np.inf
    for j in range(k):
        v = row[j]
        if v < second:
            if v < first:
                best, first, second = j, v, first
            else:
                second = v
    return best, first, second


@njit(**INNER, **FAST)
def move_point(cloud: Cloud, state: Clustering, i: int, a: int, b: int) -> None:
    """Take point i from cluster a to cluster b."""
    w = cloud.weights[i]
    state.labels[i] = b
    state.sizes[a] -= 1
    state.sizes[b] += 1
    state.masses[b] += w
    state.masses[a] = state.masses[a] - w if state.sizes[a] > 0 else 0.0
    for t in range(cloud.points.shape[1]):
        v = w * cloud.points[i, t]
        state.sums[b, t] += v
        # What rounding leaves of an empty cluster must not look like a mass.
        state.sums[a, t] = state.sums[a, t] - v if state.sizes[a] > 0 else 0.0


@njit(**KERNEL, **FAST)
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
        for t in range(d):
            work.columns[t, a] = state.centers[a, t]
    for i in range(start, stop):
        a = np.int64(state.labels[i])  # type: ignore[assignment]
        b = a
        if moved[a]:
            b, first, second = two_nearest(cloud.points[i], work.columns, work.row)
            u, low = np.sqrt(first), np.sqrt(second)
            work.progress[3] += k
        else:
            u, low = state.upper[i], state.lower[i]
            if work.half[a] - u >= low:
                continue
            own = u
            for q in range(m):
                # A centre at distance D of the own one is at least D - u away, and not nearer if D >= 2 u.
                if apart[a, q] - own >= low:
                    continue
                if b == a:
                    u = own = distance(cloud.points[i], state.centers[a])
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


@njit(**INNER, **FAST)
def explained(state: Clustering) -> float:
    """Return the sum of |S_j|^2 / N_j: the cost is the total sum of squares minus this."""
    total = 0.0
    for j in range(state.sums.shape[0]):
        if state.sizes[j] > 0:
            s = 0.0
            for t in range(state.sums.shape[1]):
                s += state.sums[j, t] * state.sums[j, t]
            total += s / state.masses[j]
    return total


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
def center_means(state: Clustering, work: Workspace) -> float:
    """Put every centre at the mean of its points; returns the longest way that one went."""
    longest = 0.0
    for j in range(state.sizes.shape[0]):
        work.drift[j] = 0.0
        if state.sizes[j] > 0:
            s = 0.0
            for t in range(state.sums.shape[1]):
                v = state.sums[j, t] / state.masses[j]
                s += (v - state.centers[j, t]) ** 2
                state.centers[j, t] = v
            work.drift[j] = np.sqrt(s)
        for t in range(state.sums.shape[1]):
            work.columns[t, j] = state.centers[j, t]
        work.reach[j] += work.drift[j]
        longest = max(longest, work.drift[j])
    return longest


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
        work.reach[a] = 0.0


@njit(**PART)
def reassign(cloud: Cloud, state: Clustering, work: Workspace, start: int, stop: int) -> None:
    """Bring the points of a range to their nearest centres, as far as their bounds do not show that they are there."""
    k = state.sizes.shape[0]
    for i in range(start, stop):
        a = np.int64(state.labels[i])
        u = state.upper[i] + work.drift[a]
        # Only centres within twice the reach of the cluster can come nearer than `outside - u`.
        low = min(state.lower[i] - work.near[a], work.outside[a] - u)
        safe = max(low, work.half[a])
        if u > safe:
            u = distance(cloud.points[i], state.centers[a])
            if u > safe:
                low = min(state.lower[i] - work.slow[a], work.outside[a] - u)
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
                    b, first, second = two_nearest(cloud.points[i], work.columns, work.row)
                    u, low = np.sqrt(first), np.sqrt(second)
                if b != a:
                    move_point(cloud, state, i, a, b)
                    a = b
        state.upper[i], state.lower[i] = u, low
        work.reach[a] = max(work.reach[a], u)


@njit(**KERNEL, **FAST)
def lloyd(
    cloud: Cloud,
    state: Clustering,
    work: Workspace,
    total: float,
    passes: int,
    tol: float,
    target: float,
    horizon: float,
    block: int,
) -> bool:
    """Run Lloyd's iteration for about `block` points; returns whether it ended, else call again.

    It ends when no centre moves, when a pass gains at most `tol` times the cost, after `passes`, or when, after three
    of them, `horizon` more gains like the last would not reach `target`.
    """
    n, progress = cloud.points.shape[0], work.progress
    if progress[0] == 0 and progress[1] == 0:
        work.reach[:] = 0.0
        for i in range(n):
            work.reach[state.labels[i]] = max(work.reach[state.labels[i]], state.upper[i])
        work.cost[0] = total - explained(state)
    left = block
    while left > 0:
        if progress[0] == 0:
            if progress[1] == passes:
                return True
            refill(cloud, state, work)
            if center_means(state, work) == 0.0:
                return True
            survey(state, work, progress[1] == 0)
        stop = min(n, progress[0] + left)
        reassign(cloud, state, work, progress[0], stop)
        left -= stop - progress[0]
        progress[4] += stop - progress[0]
        progress[0] = stop
        if stop == n:
            progress[0] = 0
            progress[1] += 1
            cost = total - explained(state)
            gain = work.cost[0] - cost
            work.cost[0] = cost
            if gain <= tol * cost or (progress[1] >= 3 and cost - horizon * gain > target):
                return True
    return False


@njit(**INNER, **FAST)
def recenter(state: Clustering, work: Workspace, j: int) -> None:
    """Put a centre at the mean of its points, and add the way that it went to its drift."""
    if state.sizes[j] > 0:
        s = 0.0
        for t in range(state.sums.shape[1]):
            v = state.sums[j, t] / state.masses[j]
            s += (v - state.centers[j, t]) ** 2
            state.centers[j, t] = v
            work.columns[t, j] = v
        work.drift[j] += np.sqrt(s)
        work.near[0] = max(work.near[0], work.drift[j])


@njit(**KERNEL, **FAST)
def hartigan(cloud: Cloud, state: Clustering, work: Workspace, start: int, stop: int) -> float:
    """Move single points where that lowers the cost, centres following at once; returns the gain.

    x goes from a to b if N_b/(N_b + w) d_b^2 < N_a/(N_a - w) d_a^2 (Hartigan 1975). Bounds hold for the new centres on
    exit; `drift` and `near[0]` (the largest) say how far the centres went since the pass began at point 0.
    """
    n, d = cloud.points.shape
    k = state.sizes.shape[0]
    masses, drift = state.masses, work.drift
    if start == 0:  # Lloyd's iteration may have ended with centres that are not yet the means
        drift[:] = 0.0
        work.near[0] = 0.0
        for j in range(k):
            recenter(state, work, j)
    least = np.inf
    for j in range(k):
        least = min(least, masses[j])
        for t in range(d):
            work.columns[t, j] = state.centers[j, t]
    gain = 0.0
    for i in range(start, stop):
        a, w = np.int64(state.labels[i]), cloud.weights[i]
        if state.sizes[a] <= 1 or not masses[a] > w:
            continue
        out = masses[a] / (masses[a] - w)
        low = state.lower[i] - work.near[0]
        if low > 0.0 and low * low * (least / (least + w)) >= (state.upper[i] + drift[a]) ** 2 * out:
            continue
        work.progress[3] += k
        two_nearest(cloud.points[i], work.columns, work.row)
        here = work.row[a] * out
        best, second = here * (1.0 - 1e-12), np.inf
        b: Any = np.int64(-1)
        for j in range(k):
            if j != a:
                second = min(second, work.row[j])
                v = work.row[j] * masses[j] / (masses[j] + w)
                if v < best:
                    best, b = v, j
        # Bounds are relative to where the centres were when the pass began: `loosen` adds the whole way.
        state.upper[i], state.lower[i] = np.sqrt(work.row[a]), np.sqrt(second)
        if b >= 0:
            gain += (here - best) * w
            work.progress[5] += 1
            move_point(cloud, state, i, a, b)
            recenter(state, work, a)
            recenter(state, work, b)
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
