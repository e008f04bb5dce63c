"""Lower bound of k-means (p = 2) and k-median (p = 1) with centres anywhere, where few directions matter.

For any u >= 0 every k centres cost at least ``sum(u) + k min_c phi(c)`` with ``phi(c) = sum_i min(0, w_i |x_i - c|^p -
u_i)``. The minimum over the whole space is bounded by halving boxes. This is the dual of the set-partition relaxation,
which is nearly tight. It is concave in u; on a set of columns (centres) its minimum over them is smoothed
and climbed by L-BFGS, and the set grows by local minima of phi until the boxes show that none is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from certiclust.bounds import kmeans_kernels as kernels
from certiclust.bounds.kmeans_columns import descend, smooth

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]

#: Smoothing of the least reduced cost, in shares of cost / k, from coarse to fine.
SMOOTHING = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
#: Where climbing goes on after the boxes have found a column that was missing.
AGAIN = (1e-4, 3e-5)
#: Evaluations of one climb, and climbs at one smoothing while columns are missing.
STEPS, CLIMBS = 60, 4
#: Columns at most, and columns per centre that a round adds or keeps.
MAX_COLUMNS, FRESH = 3000, 25
#: Points from which descents to local minima of phi start, while climbing and before a proof.
STARTS, MAX_STARTS = 1000, 2000
#: Levels of halved boxes, points listed for the boxes of one level, and rounds of boxes at most.
MAX_LEVELS, MAX_ENTRIES, ROUNDS = 120, 10_000_000, 30
#: Rounds that hardly help before it ends; a gap that counts as closed.
IDLE, CLOSE = 6, 2.5e-10
#: Work that k-median spends on the last millionth.
CLOSING = 1e7
#: Local minima below all columns that become columns at once.
MISSED = 100
#: Times that boxes are tried again with a lower goal.
RETRIES = 6
#: Share of the time left that a climb may take, where time is limited.
CLIMB_SHARE = 0.6
#: Bits of u below its mean that are kept: few, or enough to prove 1e-9.
COARSE, FINE = 22, 42


class _Stopped(Exception):  # noqa: N818 - not an error: the climb was asked to end
    """Raised inside a climb, which then leaves the multipliers as they were."""


class Priced(NamedTuple):
    """What the boxes say about phi.

    Attributes
    ----------
    lower
        Least bound of a leaf; -inf if a centre below the goal was met before.
    load
        Largest sum of multipliers on a leaf: rounding errors are relative to it.
    bits
        The tree of halvings, level by level: 1 for a halved box, 0 for a leaf.
    centers
        Centres below the goal.
    work
        Points looked at.
    """

    lower: float
    load: float
    bits: Bits
    centers: Floats
    work: float


class Boxes(NamedTuple):
    """A proven bound with its evidence: multipliers and the tree of halvings."""

    lower: float
    u: Floats
    bits: Bits
    work: float


def price(
    points: Floats,
    weights: Floats,
    u: Floats,
    power: int,
    goal: float,
    max_work: float,
    should_stop: Callable[[], bool] = lambda: False,
) -> Priced:
    """Bound phi from below over the bounding box of the points (no centre outside is better than one inside).

    Boxes are halved while their bound is below `goal` and the work lasts; a centre below the goal ends it.
    """
    n, width = points.shape
    low, high = points.min(axis=0)[None], points.max(axis=0)[None]
    lists, ends = np.arange(n, dtype=np.int32), np.array([n])
    lower, least, load, work = math.inf, -float(u.sum()), float(u.sum()), 0.0
    opened = np.ones(1, dtype=bool)
    bits: list[NDArray[np.bool_]] = []
    while (
        len(low)
        and len(bits) < MAX_LEVELS
        and len(lists) <= MAX_ENTRIES
        and work + 4.0 * width * len(lists) <= max_work
        and not should_stop()
    ):
        half, kept = np.empty((2 * len(low), 2 * width + 4)), np.empty(2 * len(lists), np.int32)
        inside, ends, read = kernels.halve(points, weights, u, power, low, high, lists, ends, goal, half, kept)
        bits.append(opened)
        opened, bounds = half[:, -1] == 1.0, half[:, 2 * width]
        work += 2.0 * width * read + 30.0 * len(half)
        below = opened & (half[:, 2 * width + 2] < goal)
        if below.any():
            best = np.argsort(np.where(below, half[:, 2 * width + 2], np.inf), kind="stable")[
                : min(50, int(below.sum()))
            ]
            return Priced(-math.inf, load, np.concatenate(bits).astype(np.uint8), inside[best], work)
        load = float(half[:, 2 * width + 1].max()) if len(bits) == 1 else load
        lower = min(lower, float(bounds[~opened].min(initial=math.inf)))
        least = float(bounds[opened].min(initial=math.inf))
        low, high, lists = half[opened, :width], half[opened, width : 2 * width], kept[: ends[-1] if len(ends) else 0]
    bits.append(np.zeros(len(opened), dtype=bool))
    return Priced(min(lower, least), load, np.concatenate(bits).astype(np.uint8), np.empty((0, width)), work)


def rounded(u: Floats, bits: int) -> Floats:
    """Return u on a power-of-two grid `bits` below its mean, and not negative."""
    mean = float(u.mean())
    if not mean > 0.0:
        return np.zeros_like(u)
    grid = 2.0 ** (math.frexp(mean)[1] - bits)
    return np.maximum(np.round(u / grid), 0.0) * grid


def box_margin(n: int, k: int, width: int, power: int, total: float, load: float) -> float:
    """Return what ``sum(u) + k min phi`` may err by in floating point, four times over.

    A verifier whose last bits differ may take a point for covered everywhere that just is not: hence 2^-43. Tangent
    planes (power 1) add a term per column. Points that are left out because no centre in a box covers them may just be
    covered, each by the error of one distance, for each of k centres.
    """
    wide = 1 if power == 2 else width + 2
    summed = (2.0**-52 * (n + k + width + 16) + 2.0**-43) * (total + wide * k * load)
    return 4.0 * (summed + 2.0**-52 * (width + 8) * k * total)


class BoxSearch:
    """The climb to good multipliers, and their proof.

    Parameters
    ----------
    points, weights
        Clients: centred coordinates, positive weights.
    k
        Number of centres.
    centers
        A good solution: its clusters are the first columns.
    upper
        Its cost.
    max_work
        When to end; counted in distances (about 2 ns each).
    should_stop
        Polled every few milliseconds.
    power
        2 for k-means, 1 for k-median.
    used, end
        The share of the time that is over (0 without a limit), and the one at which this search ends. Whenever most of
        what is left was spent on a climb, the rest is for a proof.
    """

    def __init__(
        self,
        points: Floats,
        weights: Floats,
        k: int,
        centers: Floats,
        upper: float,
        max_work: float,
        should_stop: Callable[[], bool],
        power: int = 2,
        used: Callable[[], float] = lambda: 0.0,
        end: float = 1.0,
    ) -> None:
        self.points, self.weights, self.k = points, weights, k
        self.centers, self.upper, self.max_work = centers, upper, max_work
        self.work, self.power, self.used, self.end = 0.0, power, used, end
        self.should_stop: Callable[[], bool] = lambda: should_stop() or used() >= end
        self._set_off()
        near = np.stack([self._costs(c) for c in centers])
        self.labels = near.argmin(axis=0)
        near = np.partition(near, min(1, len(centers) - 1), axis=0)
        # A single centre serves everyone: multipliers above all costs. Otherwise a little above the nearest.
        self.u: Floats = 4.0 * near[0] + near[0].max() if k == 1 else near[0] + 0.3 * (near[1] - near[0])
        self.columns = np.empty((0, points.shape[1]))
        #: Where descents to new columns start, while climbing and before a proof.
        self.probes = points[:: -(-len(points) // STARTS)]
        self.last_probes = points[:: -(-len(points) // MAX_STARTS)]
        self.costs = np.empty((0, len(points)))
        self.best, self.best_u = -math.inf, self.u
        self.proved = Boxes(0.0, np.zeros(len(points)), np.zeros(1, np.uint8), 0.0)

    def run(self, gap_tol: float, shares: tuple[float, ...] = SMOOTHING) -> Boxes:
        """Return the best bound that was proved within the work, after a climb with `shares` as smoothing.

        Multipliers and columns may be set before, where they are known from another k.
        """
        more = self._minima(self.points)[0] if len(self.columns) == 0 else self.columns
        self._fill(np.concatenate([self.centers, more]))
        self._climb(shares)
        idle = 0
        for _ in range(ROUNDS):
            before = self.proved.lower
            found = self._prove()
            gap = self.upper - self.proved.lower
            idle = 0 if self.proved.lower - before > 0.1 * gap else idle + 1 if len(found) else IDLE
            if self._spent or idle >= IDLE or gap <= max(gap_tol * self.proved.lower, CLOSE * self.upper):
                break
            self._set_off()
            if len(found):
                self._fill(np.concatenate([self._minima(found)[0], self.columns]))
            self._climb(AGAIN)
        return self.proved

    def _set_off(self) -> None:
        """Say when the next climb has to end."""
        now = self.used()
        self._proof_due = now + CLIMB_SHARE * (self.end - now)

    def _climb_over(self) -> bool:
        return self.should_stop() or self.used() >= self._proof_due

    @property
    def _spent(self) -> bool:
        return self.work >= self.max_work or self.should_stop()

    def _costs(self, center: Floats) -> Floats:
        """Return the weighted costs of all points to one centre."""
        d = np.square(self.points - center).sum(axis=1)
        return np.asarray(self.weights * (d if self.power == 2 else np.sqrt(d)))

    def _minima(self, starts: Floats) -> tuple[Floats, Floats]:
        """Return local minima of phi near some starts, and their values."""
        self.work += 12.0 * len(starts) * self.points.size
        return descend(self.points, self.weights, self.u, starts, self.power, self.should_stop)

    def _fill(self, centers: Floats) -> None:
        """Make these the columns, each once and the first ones first; what does not fit is left out."""
        scale = float(np.abs(self.points).max(initial=1e-300))
        _, first = np.unique(np.round(centers / scale, 9), axis=0, return_index=True)
        self.columns = centers[np.sort(first)][:MAX_COLUMNS]
        self.costs = np.empty((len(self.columns), len(self.points)))
        for j, c in enumerate(self.columns):
            self.costs[j] = self._costs(c)
        self.work += 2.0 * len(self.columns) * self.points.size

    def _climb(self, shares: tuple[float, ...]) -> None:
        """Climb at smaller and smaller smoothing, each time until no column seems to be missing."""
        for share in shares:
            mu = share * self.upper / self.k
            for _ in range(CLIMBS):
                if self._spent or self._climb_over():
                    return
                self._ascend(mu)
                if not self._enriched(mu):
                    break

    def _ascend(self, mu: float) -> None:
        """Climb the smoothed dual over the columns."""
        n = len(self.u)
        unit = self.upper / n

        def dual(v: Floats) -> tuple[float, Floats]:
            if self._climb_over():
                raise _Stopped
            u, gradient = v * unit, np.zeros(n)
            value = smooth(self.costs, u, mu, gradient)
            self.work += 1.5 * self.costs.size
            return -(float(u.sum()) + self.k * value) / self.upper, -(1.0 + self.k * gradient) / n

        options: Any = {"maxfun": STEPS, "ftol": 1e-13, "gtol": 1e-12}
        start: Any = self.u / unit
        try:
            result = minimize(dual, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n, options=options)
        except _Stopped:
            return
        self.u = np.asarray(result.x) * unit

    def _enriched(self, mu: float) -> bool:
        """Look for local minima of phi at the new u, take them as columns; return whether some were missing."""
        rho = np.minimum(self.costs - self.u, 0.0).sum(axis=1)
        order = np.argsort(rho, kind="stable")
        centers, values = self._minima(np.concatenate([self.columns[order[:200]], self.probes]))
        value = float(self.u.sum()) + self.k * float(values.min())
        if value > self.best:
            self.best, self.best_u = value, self.u
        near = np.argsort(values, kind="stable")
        most = FRESH * (self.k + 8)
        near = near[values[near] <= values[near[0]] + 12.0 * mu][:most]
        wide = order[: min(most, max(10 * self.k, int((rho <= rho[order[0]] + 30.0 * mu).sum())))]
        self._fill(np.concatenate([self.centers, centers[near], self.columns[wide]]))
        return bool(values.min() < rho[order[0]] - 2.0 * mu)

    def _prove(self) -> Floats:
        """Bound phi at the best u by boxes; return the centres that were missing, none if it succeeded."""
        candidates = [self._level(self.best_u), self.best_u]
        tried = [(self._value(u), u) for u in candidates]
        value, u = max(tried, key=lambda pair: pair[0])
        closing = self.upper - value < 1e-6 * self.upper
        u = rounded(u, FINE if closing else COARSE)
        self.u = u
        centers, values = self._minima(np.concatenate([self.centers, self.columns, self.last_probes]))
        least = float(values.min())
        unit = self.upper / self.k
        unknown = np.flatnonzero(values < (value - float(u.sum())) / self.k - 1e-7 * unit)
        unknown = unknown[np.argsort(values[unknown], kind="stable")][:MISSED]
        if len(unknown):
            self.best = -math.inf
        slack = (1e-11 if self.power == 2 else 1e-6) if closing else min(1e-4, 0.02 * (1.0 - value / self.upper))
        found = self._priced(u, least - slack * unit).centers
        missing = found
        for _ in range(RETRIES):
            if not len(missing):
                break
            # A column was missing. The bound is proved with it all the same, if it can be better than what there is.
            self.best = -math.inf
            least = min(least, float(self._minima(missing)[1].min()))
            slack = max(4.0 * slack, 1e-5)
            if float(u.sum()) + self.k * least - slack * self.upper <= self.proved.lower:
                break
            missing = self._priced(u, least - slack * unit).centers
            found = np.concatenate([found, missing])
        if not len(found) and closing and self.power == 1:
            # Sums of distances may be least along whole segments: closing the gap then takes too many boxes.
            self._priced(u, least - 1e-10 * unit, CLOSING)
        return np.concatenate([centers[unknown], found])

    def _priced(self, u: Floats, goal: float, most: float = math.inf) -> Priced:
        """Bound phi at u by boxes, and keep the bound if it is the best."""
        most = min(most, max(self.max_work - self.work, 0.2 * self.max_work))
        priced = price(self.points, self.weights, u, self.power, goal, most, self.should_stop)
        self.work += priced.work
        n, width = self.points.shape
        total = float(u.sum())
        lower = total + self.k * priced.lower - box_margin(n, self.k, width, self.power, total, priced.load)
        if lower > self.proved.lower:
            self.proved = Boxes(lower, u, priced.bits, self.work)
        return priced

    def _value(self, u: Floats) -> float:
        """Return the dual at u as far as the columns know."""
        return float(u.sum()) + self.k * smooth(self.costs, u, 0.0, u)

    def _level(self, u: Floats) -> Floats:
        """Return u moved so that all clusters of the solution have the same reduced cost.

        If the relaxation is tight, its optimal u are of this kind, and the bound is then the cost itself.
        """
        own = np.stack([self._costs(c) for c in self.centers]).min(axis=0)
        rho = np.bincount(self.labels, own - u, minlength=self.k)
        size = np.maximum(np.bincount(self.labels, minlength=self.k), 1)
        return np.asarray(np.maximum(u + ((rho - rho.mean()) / size)[self.labels], 0.0))
