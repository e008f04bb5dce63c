"""Lower bounds with centres anywhere: by boxes where few directions matter, for k-means by a semidefinite program else.

Many points are split into blocks: the cost of all points under any centres is the sum of the blocks' costs, so lower
bounds of the blocks add up. Blocks in which every cluster of the solution has the same mean lose little.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from certiclust.bounds.bound import Bound
from certiclust.bounds.kmeans_evidence import packed_boxes, packed_cases, packed_sdp
from certiclust.bounds.kmeans_rows import Rows, centred, cluster_means, nearest, split

if TYPE_CHECKING:
    from certiclust.bounds.kmeans_boxes import Boxes, BoxSearch, Improve

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

THEOREM = "k-means theorem, p = 1"
#: Rows up to which bounds are followed to their ends; up to more there is a coarse one, with few columns.
MAX_POINTS, MAX_COARSE = 20_000, 250_000
#: Costs above this, or below one over it, could overflow on the way to a bound; scaled data have one.
EXTREME = 1e60
#: Points of one block of the boxes, and of the semidefinite bound.
BOX_POINTS, SDP_POINTS = 2000, 300
#: Work of all boxes together (about 2 ns each): for few points, for more with many columns, for more with few columns
#: and few centres, and with more than these.
BOX_WORK, WIDE_BOX_WORK, LARGE_BOX_WORK, LARGEST_BOX_WORK = 6.0e8, 4.0e8, 1.2e9, 3.0e9
FEW_POINTS, FEW_CENTERS = 250, 20
#: Work of the cases into which a bound by boxes is split: with a gap that is narrow already, and with one up to which
#: it is split.
CASES_WORK = {1e-3: 3.0e8, 0.02: 8.0e8}
#: Share of that work for a second call with a better solution.
SECOND_SHARE = 0.25
#: Iterations of the semidefinite bound for one block, of all blocks together unless their gaps are narrow, and their
#: cost together in n^3: alone, and after boxes.
SDP_ITERATIONS, ALL_ITERATIONS, SDP_WORK, SECOND_SDP_WORK = 100, 400, 1.2e10, 5.0e9
#: Blocks up to which that bound is followed to the end of its iterations, even if its gap stays wide.
FEW_BLOCKS = 4
#: Columns up to which boxes are tried in any case; more, with the directions inside the clusters (participation ratio
#: of the variances) up to which they are tried then.
FEW_COLUMNS, MAX_DIRECTIONS = 4, {8: 5.0, 16: 3.0}
#: A gap above which the other bound is tried as well, for few points and for many.
WIDE, VERY_WIDE = 0.02, 0.1


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
    """Return a lower bound on the cost of any k centres, with its witness: all that `KMeansBounds` can do at once.

    Parameters
    ----------
    points, weights, k, gap_tol, should_stop, used
        As for `KMeansBounds`.
    centers, upper
        A good solution and its cost: it says where to look; the bound holds whatever it is.
    """
    bounds = KMeansBounds(points, weights, k, gap_tol, should_stop, used)
    bounds.boxes(centers, upper)
    bounds.sdp(centers, upper)
    return bounds.best


class KMeansBounds:
    """Lower bounds on the cost of any k centres, by boxes first; a better solution may come in between.

    Parameters
    ----------
    points, weights
        Clients and their positive weights.
    k
        Number of centres.
    gap_tol
        Stop once ``upper / bound - 1`` is at most this.
    should_stop
        Polled every few milliseconds.
    used
        The share of the time that is over, 0 where it is not limited.

    Attributes
    ----------
    best : Bound
        Without a ratio. `because` says how the value was proved, or why it is 0.
    """

    def __init__(
        self,
        points: Floats,
        weights: Floats,
        k: int,
        gap_tol: float = 0.0,
        should_stop: Callable[[], bool] = lambda: False,
        used: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.points, self.weights, self.k = points, weights, k
        self.gap_tol, self.should_stop, self.used = gap_tol, should_stop, used
        self.best = Bound(0.0, None, THEOREM, "it was stopped before a bound was tried")
        self._boxed = False
        self._search: tuple[Rows, BoxSearch] | None = None

    def boxes(self, centers: Floats, upper: float, end: float = 1.0, improve: Improve | None = None) -> None:
        """Bound by boxes where that is worth a try, or by a formula; a second call goes on from the first.

        Parameters
        ----------
        centers, upper
            A good solution and its cost.
        end
            Share of the time at which to give up.
        improve
            Called with centres that the multipliers suggest; returns a better solution and its cost, or None.
        """
        if self._plain(centers, upper):
            return
        with one_thread():
            if self._search is not None:
                rows, search = self._search
                search.adopt(rows.inside(centers, self.points[0]), upper, SECOND_SHARE * search.max_work)
                parts = [(np.arange(len(self.points)), search.run(self.gap_tol))]
                proved = self._by_cases(rows, search, _boxes_of(rows, parts))
            elif len(self.points) > MAX_POINTS:
                proved = self._coarse(centers, end)
            elif self._few_directions(nearest(self.points, centers)):
                self._boxed = True
                proved = self._boxes(centers, end, improve or _never)
            else:
                return
        self.best = proved if proved.value > self.best.value else self.best

    def sdp(self, centers: Floats, upper: float) -> None:
        """Bound by the semidefinite program where boxes are not tried or leave a wide gap."""
        if self._plain(centers, upper) or len(self.points) > MAX_POINTS:
            return
        # Boxes that were not cut off are nearly always the better bound.
        wide = WIDE if len(self.points) <= SDP_POINTS else VERY_WIDE
        if upper - self.best.value > max(wide, self.gap_tol) * self.best.value and not self.should_stop():
            work = SECOND_SDP_WORK if self._boxed else SDP_WORK
            with one_thread():
                labels = nearest(self.points, centers)
                other = _sdp(self.points, self.weights, self.k, labels, self.gap_tol, self.should_stop, work)
            self.best = other if other.value > self.best.value or not self._boxed else self.best

    def _plain(self, centers: Floats, upper: float) -> bool:
        """Return whether there is nothing to search for: the bound is a formula, or none is tried."""
        n, why = len(self.points), ""
        if not upper > 0.0:
            why = "the cost is zero"
        elif self.k >= n:
            why = "as many centres as points"
        elif self.k == 1:
            self.best = _single(self.points, self.weights)
            return True
        elif not 1.0 / EXTREME < upper < EXTREME:
            why = f"no bound is tried for costs outside {1.0 / EXTREME:g} to {EXTREME:g}"
        elif n > (MAX_COARSE if self.points.shape[1] <= FEW_COLUMNS else MAX_POINTS):
            why = f"no bound is tried above {MAX_POINTS} points ({MAX_COARSE} with up to {FEW_COLUMNS} columns)"
        if why:
            self.best = Bound(0.0, None, THEOREM, why)
        return why != ""

    def _few_directions(self, labels: Ints) -> bool:
        """Return whether boxes are worth a try: few columns, or few directions inside the clusters."""
        width = self.points.shape[1]
        most = [limit for columns, limit in MAX_DIRECTIONS.items() if width <= columns]
        if width <= FEW_COLUMNS or not most:
            return bool(width <= FEW_COLUMNS)
        rows = centred(self.points, self.weights)
        spread = rows.points - cluster_means(rows.points, self.weights, labels, self.k)[labels]
        variances = np.linalg.eigvalsh((self.weights[:, None] * spread).T @ spread)
        directions = float(variances.sum()) ** 2 / max(float(np.square(variances).sum()), np.finfo(float).tiny)
        return bool(directions <= most[0])

    def _boxes(self, centers: Floats, end: float, improve: Improve) -> Bound:
        rows = centred(self.points, self.weights, turn=True)
        first = self.points[0]

        def inside(suggested: Floats) -> tuple[Floats, float] | None:
            better = improve(rows.outside(suggested, first))
            return None if better is None else (rows.inside(better[0], first), better[1])

        parts, search = _box_searches(
            self.points, self.weights, self.k, centers, rows, self.gap_tol, self.should_stop, self.used, end, inside
        )
        self._search = None if search is None else (rows, search)
        proved = _boxes_of(rows, parts)
        return proved if search is None else self._by_cases(rows, search, proved)

    def _coarse(self, centers: Floats, end: float) -> Bound:
        from certiclust.bounds.kmeans_coarse import coarse_boxes

        rows = centred(self.points, self.weights, turn=True)
        labels, inside = nearest(self.points, centers), rows.inside(centers, self.points[0])
        proved = coarse_boxes(rows.points, self.weights, self.k, inside, labels, self.should_stop, self.used, end)
        return _boxes_of(rows, [(np.arange(len(self.points)), proved)])

    def _by_cases(self, rows: Rows, search: BoxSearch, proved: Bound) -> Bound:
        """Return a better bound by cases, where there are few columns and the gap is neither wide nor closed."""
        from certiclust.bounds.kmeans_boxes import CLOSE
        from certiclust.bounds.kmeans_branch import branch

        gap = search.upper - search.proved.lower
        least = max(self.gap_tol * search.proved.lower, CLOSE * search.upper)
        work = [work for share, work in CASES_WORK.items() if least < gap <= share * search.upper]
        if self.points.shape[1] > FEW_COLUMNS or not work:
            return proved
        root = branch(search, self.gap_tol, CLOSE, work[0])
        if not root.parts or root.lower <= search.proved.lower:
            return proved
        why = "multipliers and boxes, by cases"
        return Bound(rows.safe(root.lower), None, THEOREM, why, {"cases": packed_cases(root, rows.axes)})


def _single(points: Floats, weights: Floats) -> Bound:
    """Return the optimum of one centre, rounding subtracted."""
    rows = centred(points, weights)
    total = float(weights @ np.square(rows.points).sum(axis=1))
    off = float(np.square(weights @ rows.points).sum()) / float(weights.sum())
    value = rows.safe(total * (1.0 - 4.0 * 2.0**-52 * (len(points) + points.shape[1] + 16)) - 2.0 * off)
    return Bound(value, None, THEOREM, "a single centre: the mean")


def one_thread() -> Any:
    """Return a context with one thread for matrices: more cost more than they gain here, and round differently."""
    return threadpool_limits(limits=1, user_api="blas")


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
        rows = centred(points, weights, turn=True)
        parts, _ = _box_searches(points, weights, k, centers, rows, gap_tol, should_stop, power=1)
    return _boxes_of(rows, parts, 1)


def _box_searches(
    points: Floats,
    weights: Floats,
    k: int,
    centers: Floats,
    rows: Rows,
    gap_tol: float,
    should_stop: Callable[[], bool],
    used: Callable[[], float] = lambda: 0.0,
    end: float = 1.0,
    improve: Improve | None = None,
    power: int = 2,
) -> tuple[list[tuple[Ints, Boxes]], BoxSearch | None]:
    """Return what boxes prove about every block, and the search itself where all points are one block."""
    from certiclust.bounds.kmeans_boxes import BoxSearch

    n, labels, improve = len(points), nearest(points, centers), improve or _never
    count = -(-n // BOX_POINTS)
    narrow = LARGE_BOX_WORK if k <= FEW_CENTERS else LARGEST_BOX_WORK
    many = narrow if points.shape[1] <= FEW_COLUMNS else WIDE_BOX_WORK
    budget = (BOX_WORK if n <= FEW_POINTS else many) / count
    parts, search = [], None
    for done, members in enumerate(split(rows.points, weights, labels, k, count)):
        block, mass = rows.points[members], weights[members]
        middles = rows.inside(centers, points[0]) if power == 1 else cluster_means(block, mass, labels[members], k)
        cost = float(mass @ np.linalg.norm(block - middles[labels[members]], axis=1) ** power)
        if not cost > 0.0 or should_stop() or used() >= end:
            continue
        until = used() + (end - used()) / (count - done)
        hook = improve if count == 1 else _told(improve) if done == 0 else _never
        search = BoxSearch(block, mass, k, middles, cost, budget, should_stop, power, used, until, hook)
        proved = search.run(gap_tol)
        if proved.lower > 0.0:
            parts.append((members, proved))
    return parts, search if count == 1 else None


def _never(_: Floats) -> None:
    """Know no better solution."""


def _told(improve: Improve) -> Improve:
    """Return `improve` for a block, whose own solution stays: the cost that it returns is that of all points."""

    def tell(suggested: Floats) -> None:
        improve(suggested)

    return tell


def _boxes_of(rows: Rows, parts: list[tuple[Ints, Boxes]], power: int = 2) -> Bound:
    """Return the bound of all blocks together, with its evidence."""
    parts = [(members, proved) for members, proved in parts if proved.lower > 0.0]
    if not parts:
        return Bound(0.0, None, THEOREM, "nothing was proved by boxes")
    value = sum(proved.lower for _, proved in parts)
    evidence = {"boxes": packed_boxes([(members, proved.u, proved.bits) for members, proved in parts], rows.axes)}
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
    hasty = max(30, ALL_ITERATIONS // count) if count > FEW_BLOCKS else None
    value, witness = 0.0, []
    for members in split(rows.points, weights, labels, k, count):
        if should_stop():
            break
        block, mass = rows.points[members], weights[members]
        means = cluster_means(block, mass, labels[members], k)
        cost = float(mass @ np.square(block - means[labels[members]]).sum(axis=1))
        if not cost > 0.0:
            continue
        proved = sdp_bound(block, mass, k, labels[members], cost, SDP_ITERATIONS, gap_tol, should_stop, hasty)
        if not proved.lower > 0.0:
            continue
        value += proved.lower
        witness.append((members, proved.unit, proved.entries))
    if not value > 0.0:
        return Bound(0.0, None, THEOREM, "nothing was proved by the semidefinite relaxation")
    return Bound(rows.safe(value), None, THEOREM, "semidefinite relaxation", {"sdp": packed_sdp(witness)})
