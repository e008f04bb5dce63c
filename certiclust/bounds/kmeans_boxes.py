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
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from certiclust.bounds import kmeans_kernels as kernels
from certiclust.bounds.kmeans_counts import Count, cells, served
from certiclust.bounds.kmeans_price import Bits, Floats, Priced, box_margin, descend, price, rounded

Improve = Callable[[Floats], tuple[Floats, float] | None]

#: Smoothing of the least reduced cost, in shares of cost / k, from coarse to fine.
SMOOTHING = (3e-2, 3e-3, 3e-4, 3e-5)
#: Where climbing goes on after the boxes have found a column that was missing.
AGAIN = (1e-4, 3e-5)
#: Evaluations of one climb, and climbs at one smoothing while columns are missing.
STEPS, CLIMBS = 60, 4
#: Columns at most, and columns per centre that a round adds or keeps.
MAX_COLUMNS, FRESH = 3000, 25
#: Points from which descents to local minima of phi start, while climbing and before a proof.
STARTS, MAX_STARTS = 1000, 2000
#: Rounds of boxes at most.
ROUNDS = 30
#: Rounds that hardly help before it ends; a gap that counts as closed; one above which a climb that promises to narrow
#: it by less than a tenth is the last.
IDLE, CLOSE, HOPELESS = 6, 2.5e-10, 1e-6
#: Work that k-median spends on the last millionth.
CLOSING = 1e7
#: Local minima below all columns that become columns at once.
MISSED = 100
#: What a descent costs at a point.
DESCENT = 4.0
#: Smoothing and evaluations of a climb that shows what a demand would do.
OUTLOOK, OUTLOOK_STEPS = 3e-4, 15
#: Smoothing and evaluations of the climb from guessed multipliers.
SHORT, SHORT_STEPS = 3e-3, 30
#: The cost of not counting for a demand.
NEVER = 1e200
#: Share of the cost by which a bound above it is high enough.
ENOUGH = 1e-6
#: Times that boxes are tried again with a lower goal.
RETRIES = 6
#: Share of the time left that a climb may take, where time is limited.
CLIMB_SHARE = 0.6
#: Bits of u below its mean that are kept: few, or enough to prove 1e-9.
COARSE, FINE = 22, 42


class _Stopped(Exception):  # noqa: N818 - not an error: the climb was asked to end
    """Raised inside a climb, which then leaves the multipliers as they were."""


class Boxes(NamedTuple):
    """A proven bound with its evidence: multipliers (of points, then of demands) and the tree of halvings."""

    lower: float
    u: Floats
    bits: Bits
    work: float


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
    improve
        Is given centres that the multipliers suggest, and returns a better solution if they lead to one, with its cost.
    counts
        Demands on how many centres lie in regions: the bound is about the solutions that meet them.
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
        improve: Improve = lambda _: None,
        counts: tuple[Count, ...] = (),
    ) -> None:
        self.points, self.weights, self.k, self.counts = points, weights, k, counts
        #: How often points must be served, and how often regions.
        self.demand: Floats = np.concatenate([np.ones(len(points)), [float(count.least) for count in counts]])
        self.max_work, self.improve = max_work, improve
        self.work, self.power, self.used, self.end = 0.0, power, used, end
        self._corner, sides = points.min(axis=0), np.ptp(points, axis=0)
        self._sides = np.where(sides > 0, sides, 1.0)
        self._asked_to_stop = should_stop
        self.should_stop: Callable[[], bool] = lambda: should_stop() or used() >= self.end
        self._set_off()
        near = self.take(centers, upper)[:, : len(points)]
        near = np.partition(near, min(1, len(centers) - 1), axis=0)
        # A single centre serves everyone: multipliers above all costs. Otherwise a little above the nearest.
        u = 4.0 * near[0] + near[0].max() if k == 1 else near[0] + 0.3 * (near[1] - near[0])
        self.u: Floats = np.concatenate([u, np.zeros(len(counts))])
        self.columns = np.empty((0, points.shape[1]))
        #: Where descents to new columns start, while climbing and before a proof.
        self.probes = points[:: -(-len(points) // STARTS)]
        self.last_probes = points[:: -(-len(points) // MAX_STARTS)]
        self.costs = np.empty((0, len(self.u)))
        self.best, self.best_u = -math.inf, self.u
        self.proved = Boxes(0.0, np.zeros(len(self.u)), np.zeros(1, np.uint8), 0.0)

    def run(self, gap_tol: float, shares: tuple[float, ...] | None = None) -> Boxes:
        """Return the best bound that was proved within the work, after a climb with `shares` as smoothing.

        Multipliers and columns may be set before, where they are known from another k. Without `shares` the climb is
        smoothed as from nothing, or little where there are columns already.
        """
        fresh = len(self.columns) == 0
        more = self._minima(self.points)[0] if fresh else self.columns
        self._fill(np.concatenate([self.centers, more]))
        self._climb(shares or (SMOOTHING if fresh else AGAIN))
        idle = 0
        for _ in range(ROUNDS):
            self._suggest()
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
            if gap > HOPELESS * self.upper and self.best - self.proved.lower < 0.1 * gap:
                break
        return self.proved

    def prove_at(self, guesses: list[Floats], columns: Floats, slack: float) -> Boxes:
        """Return what is proved with the best of some multipliers from elsewhere, after one short climb.

        Parameters
        ----------
        guesses
            The multipliers.
        columns
            Centres for the climb, and from which descents to the least phi start.
        slack
            Gap of the boxes that counts as closed, as a share of the cost.
        """
        self.last_probes = columns
        self._fill(np.concatenate([self.centers, columns]))
        for u in guesses:
            self._consider(u)
            self._consider(self._level(u))
        self.u = self.best_u
        self._ascend(SHORT * self.upper / self.k, SHORT_STEPS)
        self._consider(self.u)
        self.best_u = rounded(self.best_u, COARSE)
        self._prove(slack)
        return self.proved

    def _consider(self, u: Floats) -> None:
        """Keep multipliers if they seem to be the best."""
        self.u = u
        value = float(self.demand @ u) + self.k * float(self._minima(self.columns)[1].min())
        if value > self.best:
            self.best, self.best_u = value, u

    def adopt(self, centers: Floats, upper: float, more_work: float) -> None:
        """Take a better solution, more work and all the time for another run from the multipliers reached."""
        self.max_work, self.end = self.work + more_work, 1.0
        self._set_off()
        self.take(centers, upper)

    def with_demand(self, counts: tuple[Count, ...], before: BoxSearch, max_work: float) -> BoxSearch:
        """Return a search for the solutions that meet demands, from the multipliers of one with one demand less."""
        problem = self.points, self.weights, self.k, self.centers, self.upper, max_work
        limits = self._asked_to_stop, self.power, self.used, self.end
        search = BoxSearch(*problem, *limits, self.improve, counts)
        search.u = np.append(before.best_u, 0.0)
        search.columns, search.best_u = before.columns, search.u
        return search

    def outlook(self, count: Count) -> float:
        """Return about what the bound would be with one more demand, from a short climb on the columns there are."""
        search = self.with_demand((*self.counts, count), self, math.inf)
        search._fill(search.columns)
        search._ascend(OUTLOOK * self.upper / self.k, OUTLOOK_STEPS)
        self.work += search.work
        return search._value(search.u)

    def forget(self) -> None:
        """Let go of the memory of a search that is over."""
        self.columns, self.costs = self.columns[:0], self.costs[:0]

    def take(self, centers: Floats, upper: float) -> Floats:
        """Make this the solution; returns the costs of all points to its centres."""
        self.centers, self.upper = centers, upper
        near = self._costs(centers)
        self.labels = near[:, : len(self.points)].argmin(axis=0)
        return near

    def _suggest(self) -> None:
        """Round the relaxation to disjoint columns of least reduced cost: where it is tight they are the optimum."""
        n = len(self.points)
        reduced = np.minimum(self.costs - self.u, 0.0)
        order = np.argsort(reduced.sum(axis=1), kind="stable")
        happy = np.zeros(n, dtype=bool)
        chosen: list[int] = []
        for j in order:
            covers = reduced[j, :n] < 0.0
            if 2 * int((covers & happy).sum()) < int(covers.sum()):
                chosen.append(int(j))
                happy |= covers
                if len(chosen) == self.k:
                    break
        if len(chosen) == self.k and (better := self.improve(self.columns[chosen])) is not None:
            self.take(*better)

    def _set_off(self) -> None:
        """Say when the next climb has to end."""
        now = self.used()
        self._proof_due = now + CLIMB_SHARE * (self.end - now)

    def _climb_over(self) -> bool:
        return self.should_stop() or self.used() >= self._proof_due

    @property
    def _spent(self) -> bool:
        return self.work >= self.max_work or self.should_stop()

    def _costs(self, centers: Floats) -> Floats:
        """Return the weighted costs of all points to some centres; centres in a region count for it at no cost."""
        costs = cdist(centers, self.points, "sqeuclidean" if self.power == 2 else "euclidean")
        costs *= self.weights
        if not self.counts:
            return np.asarray(costs)
        return np.concatenate([costs, np.where(served(self.counts, self.places(centers)), 0.0, NEVER)], axis=1)

    def places(self, centers: Floats) -> Floats:
        """Return centres as shares of the sides of the bounding box."""
        return np.asarray((centers - self._corner) / self._sides)

    def _minima(self, starts: Floats) -> tuple[Floats, Floats]:
        """Return local minima of phi near some starts, and their values."""
        self.work += DESCENT * len(starts) * self.points.size
        problem = self.points, self.weights, self.u[: len(self.points)]
        if not self.counts:
            return descend(*problem, starts, self.power, self.should_stop)
        low, high = cells(self.counts, self.places(starts))
        around = self._corner + low * self._sides, self._corner + high * self._sides
        centers, values = descend(*problem, starts, self.power, self.should_stop, around)
        return centers, values - served(self.counts, self.places(centers)) @ self.u[len(self.points) :]

    def _fill(self, centers: Floats) -> None:
        """Make these the columns, each once and the first ones first; what does not fit is left out."""
        scale = float(np.abs(self.points).max(initial=1e-300))
        _, first = np.unique(np.round(centers / scale, 9), axis=0, return_index=True)
        self.columns = centers[np.sort(first)][:MAX_COLUMNS]
        self.costs = self._costs(self.columns)
        self.work += 2.0 * len(self.columns) * self.points.size

    def _climb(self, shares: tuple[float, ...]) -> None:
        """Climb at smaller and smaller smoothing, each time until no column seems to be missing."""
        for share in shares:
            mu = share * self.upper / self.k
            for _ in range(CLIMBS):
                # A bound above the cost of a solution says all there is to say about other ones.
                if self._spent or self._climb_over() or self.best > (1.0 + ENOUGH) * self.upper:
                    return
                self._ascend(mu)
                if not self._enriched(mu):
                    break

    def _ascend(self, mu: float, steps: int = STEPS) -> None:
        """Climb the smoothed dual over the columns; a negative u has gradient 1, so none needs to be forbidden."""
        unit = self.upper / len(self.points)

        def dual(v: Floats) -> tuple[float, Floats]:
            if self._climb_over():
                raise _Stopped
            u, gradient = v * unit, np.zeros(len(v))
            value = kernels.smooth(self.costs, u, mu, gradient)
            self.work += 0.2 * self.costs.size
            total = float(self.demand @ u) + self.k * value
            return -total / self.upper, -(self.demand + self.k * gradient) * unit / self.upper

        options: Any = {"maxfun": steps, "ftol": 1e-13, "gtol": 1e-12}
        start: Any = self.u / unit
        try:
            result = minimize(dual, start, jac=True, method="L-BFGS-B", options=options)
        except _Stopped:
            return
        self.u = np.maximum(np.asarray(result.x) * unit, 0.0)

    def _enriched(self, mu: float) -> bool:
        """Look for local minima of phi at the new u, take them as columns; return whether some were missing."""
        rho = np.minimum(self.costs - self.u, 0.0).sum(axis=1)
        order = np.argsort(rho, kind="stable")
        centers, values = self._minima(np.concatenate([self.columns[order[:200]], self.probes]))
        value = float(self.demand @ self.u) + self.k * float(values.min())
        if value > self.best:
            self.best, self.best_u = value, self.u
        near = np.argsort(values, kind="stable")
        most = FRESH * (self.k + 8)
        near = near[values[near] <= values[near[0]] + 12.0 * mu][:most]
        wide = order[: min(most, max(10 * self.k, int((rho <= rho[order[0]] + 30.0 * mu).sum())))]
        self._fill(np.concatenate([self.centers, centers[near], self.columns[wide]]))
        return bool(values.min() < rho[order[0]] - 2.0 * mu)

    def _prove(self, slack: float | None = None) -> Floats:
        """Bound phi at the best u by boxes; return the centres that were missing, none if it succeeded."""
        candidates = [self.best_u] if self.counts else [self._level(self.best_u), self.best_u]
        tried = [(self._value(u), u) for u in candidates]
        value, u = max(tried, key=lambda pair: pair[0])
        closing = abs(self.upper - value) < 1e-6 * self.upper
        u = rounded(u, FINE if closing else COARSE)
        self.u = u
        centers, values = self._minima(np.concatenate([self.centers, self.columns, self.last_probes]))
        least = float(values.min())
        unit = self.upper / self.k
        total = float(self.demand @ u)
        unknown = np.flatnonzero(values < (value - total) / self.k - 1e-7 * unit)
        unknown = unknown[np.argsort(values[unknown], kind="stable")][:MISSED]
        if len(unknown):
            self.best = -math.inf
        if slack is None:
            tight = 1e-11 if self.power == 2 else 1e-6
            slack = tight if closing else min(1e-4, 0.02 * abs(1.0 - value / self.upper))
        goal = min(least - slack * unit, ((1.0 + 0.5 * ENOUGH) * self.upper - total) / self.k)
        found = self._priced(u, goal).centers
        missing = found
        for _ in range(RETRIES):
            if not len(missing):
                break
            # A column was missing. The bound is proved with it all the same, if it can be better than what there is.
            self.best = -math.inf
            least = min(least, float(self._minima(missing)[1].min()))
            slack = max(4.0 * slack, 1e-5)
            if total + self.k * least - slack * self.upper <= self.proved.lower:
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
        priced = price(self.points, self.weights, u, self.power, goal, most, self.should_stop, self.counts)
        self.work += priced.work
        total, width = float(self.demand @ u), self.points.shape[1]
        lower = total + self.k * priced.lower - box_margin(len(u), self.k, width, self.power, total, priced.load)
        if lower > self.proved.lower:
            self.proved = Boxes(lower, u, priced.bits, self.work)
        return priced

    def _value(self, u: Floats) -> float:
        """Return the dual at u as far as the columns know."""
        return float(self.demand @ u) + self.k * float(kernels.smooth(self.costs, u, 0.0, u))

    def _level(self, u: Floats) -> Floats:
        """Return u moved so that all clusters of the solution have the same reduced cost.

        If the relaxation is tight, its optimal u are of this kind, and the bound is then the cost itself.
        """
        own = self._costs(self.centers).min(axis=0)
        rho = np.bincount(self.labels, own - u, minlength=self.k)
        size = np.maximum(np.bincount(self.labels, minlength=self.k), 1)
        return np.asarray(np.maximum(u + ((rho - rho.mean()) / size)[self.labels], 0.0))
