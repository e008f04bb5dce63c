"""Lower bounds with centres anywhere: by boxes where few directions matter, for k-means by a semidefinite program else.

Many points are split into blocks: the cost of all points under any centres is the sum of the blocks' costs, so lower
bounds of the blocks add up. Blocks in which every cluster of the solution has the same mean lose little.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from certiclust.bounds.bound import Bound

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

THEOREM = "k-means theorem, p = 1"
#: Rows above which no bound is tried: it would take longer than the search.
MAX_POINTS = 20_000
#: Costs above this, or below one over it, could overflow on the way to a bound; scaled data have one.
EXTREME = 1e60
#: Points of one block of the boxes, and of the semidefinite bound.
BOX_POINTS, SDP_POINTS = 2000, 300
#: Work of all boxes together (about 2 ns each): for few points or many columns, for many points with few centres, and
#: with more than these.
BOX_WORK, LARGE_BOX_WORK, LARGEST_BOX_WORK = 6.0e8, 1.2e9, 3.0e9
FEW_CENTERS = 20
#: Iterations of the semidefinite bound for one block, of all blocks together, and their cost together in n^3: alone,
#: and after boxes.
SDP_ITERATIONS, ALL_ITERATIONS, SDP_WORK, SECOND_SDP_WORK = 100, 500, 1.2e10, 5.0e9
#: Directions inside the clusters (participation ratio of the variances) up to which boxes are tried.
MAX_DIRECTIONS = 5.0
#: Columns up to which they are tried in any case, and at most.
FEW_COLUMNS, MANY_COLUMNS = 4, 8
#: A gap above which the other bound is tried as well, for few points and for many.
WIDE, VERY_WIDE = 0.02, 0.1
#: Swaps per point that balance the blocks.
SWAPS = 200


class Rows(NamedTuple):
    """Centred and turned rows, and by how much they are off: the cost under any centres changes by no more.

    Attributes
    ----------
    points
        ``(X - X[0] - origin) axes``, origin about the mean.
    axes
        Orthonormal up to rounding.
    stretch, shift
        Squared distances are too large by this factor at most, and the root of any k-means cost is off by `shift`.
    mass
        The sum of the weights.
    """

    points: Floats
    origin: Floats
    axes: Floats
    stretch: float
    shift: float
    mass: float

    def safe(self, lower: float, power: int = 2) -> float:
        """Return the bound for the rows given, from one for these."""
        if power == 1:
            return max(0.0, lower / self.stretch - self.shift * math.sqrt(self.mass))
        return max(0.0, math.sqrt(max(0.0, lower) / self.stretch) - self.shift) ** 2


def kmeans_bound(
    points: Floats,
    weights: Floats,
    k: int,
    centers: Floats,
    upper: float,
    *,
    gap_tol: float = 0.0,
    should_stop: Callable[[], bool] = lambda: False,
    used: Callable[[], float] = lambda: 0.0,
) -> Bound:
    """Return a lower bound on the cost of any k centres, with its witness.

    Parameters
    ----------
    points, weights
        Clients and their positive weights.
    k
        Number of centres.
    centers, upper
        A good solution and its cost: it says where to look; the bound holds whatever it is.
    gap_tol
        Stop once ``upper / bound - 1`` is at most this.
    should_stop
        Polled every few milliseconds.
    used
        The share of the time that is over, 0 where it is not limited.

    Returns
    -------
    Bound
        Without a ratio. `because` says how the value was proved, or why it is 0.
    """
    n = len(points)
    if not upper > 0.0 or k >= n:
        return Bound(0.0, None, THEOREM, "the cost is zero" if not upper > 0.0 else "as many centres as points")
    if k == 1:
        rows = centred(points, weights)
        total = float(weights @ np.square(rows.points).sum(axis=1))
        off = float(np.square(weights @ rows.points).sum()) / float(weights.sum())
        value = rows.safe(total * (1.0 - 4.0 * 2.0**-52 * (n + points.shape[1] + 16)) - 2.0 * off)
        return Bound(value, None, THEOREM, "a single centre: the mean")
    if not 1.0 / EXTREME < upper < EXTREME:
        return Bound(0.0, None, THEOREM, f"no bound is tried for costs outside {1.0 / EXTREME:g} to {EXTREME:g}")
    if n > MAX_POINTS:
        return Bound(0.0, None, THEOREM, f"no bound is tried above {MAX_POINTS} points")
    with one_thread():
        return _best_bound(points, weights, k, centers, upper, gap_tol, should_stop, used)


def one_thread() -> Any:
    """Return a context with one thread for matrices: more cost more than they gain here, and round differently."""
    return threadpool_limits(limits=1, user_api="blas")


def _best_bound(
    points: Floats,
    weights: Floats,
    k: int,
    centers: Floats,
    upper: float,
    gap_tol: float,
    should_stop: Callable[[], bool],
    used: Callable[[], float],
) -> Bound:
    """Return the better of the bounds that are worth a try."""
    labels = _nearest(points, centers)
    rows = centred(points, weights)
    spread = rows.points - _means(rows.points, weights, labels, k)[labels]
    variances = np.linalg.eigvalsh((weights[:, None] * spread).T @ spread)
    if not variances.max() > 0.0:
        return Bound(0.0, None, THEOREM, "the cost is zero")
    directions = float(variances.sum()) ** 2 / float(np.square(variances).sum())
    best, sdp_work = Bound(0.0, None, THEOREM, "too many directions for boxes"), SDP_WORK
    few = points.shape[1] <= FEW_COLUMNS
    if few or (points.shape[1] <= MANY_COLUMNS and directions <= MAX_DIRECTIONS):
        sdp_work = SECOND_SDP_WORK
        best = _boxes(points, weights, k, labels, gap_tol, should_stop, used)
    # Boxes that were not cut off are nearly always the better bound.
    wide = WIDE if len(points) <= SDP_POINTS else VERY_WIDE
    if upper - best.value > max(wide, gap_tol) * best.value and not should_stop():
        other = _sdp(points, weights, k, labels, gap_tol, should_stop, sdp_work)
        best = other if other.value > best.value else best
    return best


def centred(points: Floats, weights: Floats, turn: bool = False) -> Rows:
    """Return rows near the origin; with `turn` along their principal axes, the widest first."""
    moved = points - points[0]
    origin = weights @ moved / weights.sum()
    moved = moved - origin
    width = points.shape[1]
    axes = np.eye(width)
    if turn and width > 1:
        axes = np.linalg.eigh((weights[:, None] * moved).T @ moved)[1][:, ::-1]
    turned = np.ascontiguousarray(moved @ axes) if turn else moved
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    shift = 4.0 * 2.0**-51 * (width + 4) * diagonal * math.sqrt(float(weights.sum()))
    stretch = 1.0 + 4.0 * float(np.linalg.norm(axes.T @ axes - np.eye(width))) + 2.0**-48
    return Rows(turned, origin, axes, stretch, shift, float(weights.sum()))


def kmedian_bound(
    points: Floats,
    weights: Floats,
    k: int,
    centers: Floats,
    upper: float,
    *,
    gap_tol: float = 0.0,
    should_stop: Callable[[], bool] = lambda: False,
) -> Bound:
    """Return a lower bound on the sum of distances to any k centres anywhere; parameters as for `kmeans_bound`."""
    if not upper > 0.0:
        return Bound(0.0, None, "", "the cost is zero")
    if points.shape[1] > FEW_COLUMNS or len(points) > MAX_POINTS:
        return Bound(0.0, None, "", "too many columns or points for boxes")
    with one_thread():
        return _boxes(points, weights, k, _nearest(points, centers), gap_tol, should_stop, medians=centers)


def _boxes(
    points: Floats,
    weights: Floats,
    k: int,
    labels: Ints,
    gap_tol: float,
    should_stop: Callable[[], bool],
    used: Callable[[], float] = lambda: 0.0,
    medians: Floats | None = None,
) -> Bound:
    """Return the bound by boxes; with `medians`, centres of the clusters, that of k-median."""
    from certiclust.bounds.kmeans_boxes import BoxSearch

    rows = centred(points, weights, turn=True)
    power = 2 if medians is None else 1
    n = len(points)
    count = -(-n // BOX_POINTS)
    large = LARGE_BOX_WORK if k <= FEW_CENTERS else LARGEST_BOX_WORK
    budget = (BOX_WORK if n <= 250 or points.shape[1] > FEW_COLUMNS else large) / count
    value, witness = 0.0, []
    for done, members in enumerate(split(rows.points, weights, labels, k, count)):
        block, mass = rows.points[members], weights[members]
        if medians is None:
            middles = _means(block, mass, labels[members], k)
        else:
            middles = (medians - points[0] - rows.origin) @ rows.axes
        cost = float(mass @ np.linalg.norm(block - middles[labels[members]], axis=1) ** power)
        if not cost > 0.0 or should_stop():
            continue
        end = used() + (1.0 - used()) / (count - done)
        proved = BoxSearch(block, mass, k, middles, cost, budget, should_stop, power, used, end).run(gap_tol)
        if not proved.lower > 0.0:
            continue
        value += proved.lower
        witness.append((members, proved.u, proved.bits))
    if not value > 0.0:
        return Bound(0.0, None, THEOREM, "nothing was proved by boxes")
    evidence = {"boxes": packed_boxes(witness, rows.axes)}
    return Bound(rows.safe(value, power), None, THEOREM, "multipliers and boxes", evidence)


def _sdp(
    points: Floats,
    weights: Floats,
    k: int,
    labels: Ints,
    gap_tol: float,
    should_stop: Callable[[], bool],
    work: float = SDP_WORK,
) -> Bound:
    from certiclust.bounds.kmeans_sdp import sdp_bound

    rows = centred(points, weights)
    n = len(points)
    size = min(SDP_POINTS, math.sqrt(work / (SDP_ITERATIONS * n)))
    if size < 2 * k:
        return Bound(0.0, None, THEOREM, "too many points and centres for the semidefinite bound")
    count = -(-n // int(size))
    iterations = min(SDP_ITERATIONS, max(30, ALL_ITERATIONS // count))
    value, witness = 0.0, []
    for members in split(rows.points, weights, labels, k, count):
        if should_stop():
            break
        block, mass = rows.points[members], weights[members]
        means = _means(block, mass, labels[members], k)
        cost = float(mass @ np.square(block - means[labels[members]]).sum(axis=1))
        if not cost > 0.0:
            continue
        proved = sdp_bound(block, mass, k, labels[members], cost, iterations, gap_tol, should_stop)
        if not proved.lower > 0.0:
            continue
        value += proved.lower
        witness.append((members, proved.unit, proved.entries))
    if not value > 0.0:
        return Bound(0.0, None, THEOREM, "nothing was proved by the semidefinite relaxation")
    return Bound(rows.safe(value), None, THEOREM, "semidefinite relaxation", {"sdp": packed_sdp(witness)})


def packed_boxes(parts: list[tuple[Ints, Floats, NDArray[np.uint8]]], axes: Floats) -> dict[str, Any]:
    """Return the evidence of the boxes as arrays: blocks one after the other, multipliers as integers."""
    units = [2.0 ** (math.frexp(float(u.max()))[1] - 50) if u.any() else 1.0 for _, u, _ in parts]
    units = [_coarsest(u, unit) for (_, u, _), unit in zip(parts, units, strict=True)]
    whole = [np.round(u / unit).astype(np.int64) for (_, u, _), unit in zip(parts, units, strict=True)]
    return {
        "members": np.concatenate([members for members, _, _ in parts]),
        "ends": np.cumsum([len(members) for members, _, _ in parts]),
        "axes": axes.ravel(),
        "units": np.array(units),
        "u": np.concatenate(whole),
        "tree": np.packbits(np.concatenate([bits for _, _, bits in parts])),
        "tree_ends": np.cumsum([len(bits) for _, _, bits in parts]),
    }


def _coarsest(u: Floats, unit: float) -> float:
    """Return the largest power of two times `unit` of which all u are multiples."""
    whole = np.round(u / unit).astype(np.int64)
    bits = int(np.bitwise_or.reduce(whole))
    return unit * float(bits & -bits) if bits else 1.0


def packed_sdp(parts: list[tuple[Ints, float, NDArray[np.int32]]]) -> dict[str, Any]:
    """Return the evidence of the semidefinite bound as arrays: the upper triangles of B, in units."""
    return {
        "members": np.concatenate([members for members, _, _ in parts]),
        "ends": np.cumsum([len(members) for members, _, _ in parts]),
        "units": np.array([unit for _, unit, _ in parts]),
        "entries": np.concatenate([B[np.triu_indices(len(B))] for _, _, B in parts]).astype(np.uint16),
    }


def split(points: Floats, weights: Floats, labels: Ints, k: int, count: int) -> list[Ints]:
    """Return `count` blocks of rows in which every cluster has about the same mean."""
    n = len(points)
    if count == 1:
        return [np.arange(n)]
    from certiclust.bounds import kmeans_kernels as kernels

    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    order = order[np.argsort(labels[order], kind="stable")]
    blocks = np.empty(n, dtype=np.intp)
    blocks[order] = np.arange(n) % count
    offsets = points - _means(points, weights, labels, k)[labels]
    sums, mass = np.zeros((k, count, points.shape[1])), np.zeros((k, count))
    np.add.at(mass, (labels, blocks), weights)
    np.add.at(sums, (labels, blocks), weights[:, None] * offsets)
    sizes = np.bincount(labels, minlength=k)
    starts = np.cumsum(sizes) - sizes
    first = rng.integers(n, size=SWAPS * n)
    second = order[starts[labels[first]] + (rng.random(len(first)) * sizes[labels[first]]).astype(np.intp)]
    kernels.balance(offsets, weights, labels, blocks, first, second, sums, mass)
    return [np.flatnonzero(blocks == t) for t in range(count)]


def _means(points: Floats, weights: Floats, labels: Ints, k: int) -> Floats:
    """Return the weighted mean of every cluster, 0 for one without points."""
    mass = np.bincount(labels, weights, k)
    sums = np.stack([np.bincount(labels, weights * x, k) for x in points.T], axis=1)
    return sums / np.where(mass > 0, mass, 1.0)[:, None]


def _nearest(points: Floats, centers: Floats) -> Ints:
    """Return the nearest centre of every row, by direct differences."""
    labels, nearest = np.zeros(len(points), dtype=np.intp), np.full(len(points), np.inf)
    for j, c in enumerate(centers):
        d = np.square(points - c).sum(axis=1)
        labels[d < nearest] = j
        np.minimum(nearest, d, out=nearest)
    return labels
