"""k-means with centres anywhere: evolution, swap-optimal candidates, and a lower bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, swap_bound
from certiclust.bounds.kmeans import KMeansBounds
from certiclust.evolution.coreset import lightweight_coreset
from certiclust.evolution.descent import Descent, Stopped, centred
from certiclust.evolution.filtered import descent_of
from certiclust.evolution.kmeans_search import KMeansSearch
from certiclust.evolution.kmeans_swaps import swap_optimal
from certiclust.problems import KMeansProblem
from certiclust.solver.loop import Strategy

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Labels = NDArray[np.int32]

#: What a guarantee rests on.
THEOREM = "k-means theorem, p = 1"
#: Coordinates that a search looks at without limits of the user's: up to 20 centres, and above.
SEARCH_WORK = 0.45e9, 5.0e9
#: A gap so narrow that little can be gained, and the share of that work that the search then has in all.
NARROW, NARROW_SHARE = 0.005, 0.5
#: Offspring without success, a constant and per centre, after which a bound is tried before the search goes on.
EARLY = 20, 5
#: Columns up to which it is, and the share of a time limit at which it gives way to the search.
EARLY_COLUMNS, EARLY_END = 16, 0.25
#: Rows of a coreset at least, and per centre; up to twice as many points are searched themselves.
CORESET = 20_000, 500
#: Work of the search on coresets of very many points, as passes of all distances between points and centres: at least,
#: and times the share of the total sum of squares that is left, since clusters far apart are soon found.
CORESET_PASSES = 1.0, 5.0
#: How that work is shared: a sample by distance to the mean, then one by distance to the centres found.
CORESET_SHARES = 0.7, 0.3
#: Gain per pass at which the descent on a large set ends: this share of the cost, times a power of total / cost, so
#: that clusters far apart, where little is left to gain, are not followed for long.
LARGE_TOL, LARGE_POWER = 5.5e-7, 1.5
#: Passes of that descent at most.
LARGE_PASSES = 110
#: A gap that counts as closed.
CLOSED = 1e-9
#: Coordinates of all distances between points and candidates up to which all swaps are looked at.
SWAP_WORK = 1.0e9


@dataclass(frozen=True)
class Limits:
    """What ends the loop besides its own end: the search stops before the rest does.

    `used` is the share of the time limit that is over, 0 without one.
    """

    gap_tol: float
    max_iter: float
    certify: bool
    search_stop: Callable[[], bool]
    should_stop: Callable[[], bool]
    checks_stop: Callable[[], bool]
    used: Callable[[], float] = lambda: 0.0


class KMeansStrategy(Strategy):
    """Evolution and bound of k-means with centres anywhere.

    Parameters
    ----------
    problem
        Points, weights, candidates, k.
    limits
        When to end.
    seed
        Seed of all random decisions.
    """

    def __init__(self, problem: KMeansProblem, limits: Limits, seed: int) -> None:
        self.problem, self.limits = problem, limits
        self.rng = np.random.default_rng(seed)
        space = problem.space
        inside, self.frame = centred(space.points, space.weights)
        # Powers of two change no digit, and keep squares of sums away from the ends of float64.
        mass = 2.0 ** np.frexp(space.weights.max())[1]
        self.descent = descent_of(inside, space.weights / mass, problem.k, limits.search_stop)
        #: Offspring made by the search.
        self.iterations = 0
        #: Cost, centres and labels of the best solution.
        self.upper = np.inf
        self.positions: FloatArray = np.empty((0, space.points.shape[1]))
        self.labels: Labels = np.empty(0, dtype=np.int32)
        #: Candidates that no single swap improves, if that was checked.
        self.rows: IntArray = np.empty(0, dtype=np.intp)
        self.bounds = Bound(0.0, None, THEOREM, "it was stopped before all swaps were checked")
        #: Whether the search was stopped before its own end.
        self.cut = False
        self._search: KMeansSearch | None = None
        self._proofs = KMeansBounds(
            space.points, space.weights, problem.k, limits.gap_tol, limits.should_stop, limits.used
        )
        #: The cost that the last bound by boxes was about.
        self._bounded = np.inf
        self._done = False

    @property
    def large(self) -> bool:
        """Whether the search starts on a sample."""
        return self.problem.space.n > 2 * self._sample_size

    @property
    def _sample_size(self) -> int:
        return max(CORESET[0], CORESET[1] * self.problem.k)

    @property
    def early(self) -> bool:
        """Whether a bound may end the search: it suggests centres, and often closes the gap."""
        space = self.problem.space
        return self.limits.certify and not self.large and space.points.shape[1] <= EARLY_COLUMNS

    def finished(self) -> bool:
        """Return whether search and bound came to their ends, the gap is closed, or there is no time."""
        return self._done or self.upper == 0.0 or self.limits.should_stop()

    def evolve(self) -> None:
        """Search for centres anywhere; what is found is settled by the definitions.

        The first round is short where a bound may follow, the second goes to the end of the counted work.
        """
        if self.problem.k == 1:
            self._settle(np.zeros(self.problem.space.n, dtype=np.int32))
        elif self.large:
            self._evolve_sample()
        else:
            narrow = self.upper - self.bounds.value <= NARROW * self.upper < np.inf
            work = SEARCH_WORK[self.problem.k > 20] * (NARROW_SHARE if narrow else 1.0) - self.descent.work
            patience = EARLY[0] + EARLY[1] * self.problem.k if self.early and self._search is None else np.inf
            search = self._searched(self.descent, work, patience)
            if search.best is not None:
                self.descent.should_stop = self.limits.should_stop
                self._settle(search.finish())
                self.descent.should_stop = self.limits.search_stop

    def _searched(self, descent: Descent, work: float, patience: float = np.inf) -> KMeansSearch:
        """Return a search after about `work`, or after as many offspring as were asked for."""
        if self._search is None:
            self._search = KMeansSearch(descent, self.rng, self.limits.max_iter)
            self._search.start()
        search = self._search
        if search.best is not None:
            search.evolve(work if self.limits.max_iter == np.inf else np.inf, patience)
        self.iterations, self.cut = search.iterations, search.stopped
        return search

    def _evolve_sample(self) -> None:
        """Search on a lightweight coreset, then on one by distance to what was found, then descend on all points."""
        centers: FloatArray | None = None
        squares: FloatArray | None = None
        for share in CORESET_SHARES:
            rows, weights = lightweight_coreset(self.descent, self._sample_size, self.rng, squares)
            sample = descent_of(self.descent.cloud.points[rows], weights, self.problem.k, self.limits.search_stop)
            search = self._sampled(sample, share, centers)
            if search.best is None:
                break
            centers = search.best.state.centers
            squares = self._squares(centers) if share is not CORESET_SHARES[-1] else None
            if squares is None:
                break
        if centers is not None:
            self.descent.should_stop = self.limits.should_stop
            self._descend(centers)

    def _sampled(self, sample: Descent, share: float, centers: FloatArray | None) -> KMeansSearch:
        """Return a search on a sample, from given centres, after a share of the work or of the offspring asked for."""
        left = self.limits.max_iter - self.iterations
        first = centers is None and left < np.inf
        search = KMeansSearch(sample, self.rng, np.ceil(share * left) if first else left)
        search.start(centers)
        if search.best is not None:
            unexplained = search.best.cost / sample.total if sample.total > 0 else 0.0
            search.evolve(share * self._sample_work(unexplained) if left == np.inf else np.inf)
        self.iterations, self.cut = self.iterations + search.iterations, self.cut or search.stopped
        return search

    def _sample_work(self, unexplained: float) -> float:
        """Return the work of the search on samples: that on all points, falling with n, or some passes over these."""
        most = SEARCH_WORK[self.problem.k > 20]
        passes = CORESET_PASSES[0] + CORESET_PASSES[1] * unexplained
        falling = most * 2 * self._sample_size / self.problem.space.n
        return min(most, max(falling, passes * self.descent.cloud.points.size * self.problem.k))

    def _squares(self, centers: FloatArray) -> FloatArray | None:
        """Return the squared distances of all points to their nearest of some centres, None if there is no time."""
        state = self.descent.empty()
        try:
            self.descent.assign(state, centers)
        except Stopped:
            return None
        return np.square(state.upper)

    def _descend(self, centers: FloatArray) -> None:
        """Run Lloyd's iteration on all points, as far as time allows, and settle what is reached."""
        state = self.descent.empty()
        try:
            self.descent.assign(state, centers)
        except Stopped:
            return
        try:
            cost = self.descent.direct_cost(state)
            tol = LARGE_TOL * (self.descent.total / cost) ** LARGE_POWER if cost > 0 else 0.0
            self.descent.lloyd(state, tol, LARGE_PASSES)
        except Stopped:
            pass  # labels are whole at any time, only bounds are not
        self._settle(state.labels)

    def bound(self) -> None:
        """Prove what can be proved: a bound on the optimum itself, then all swaps of candidates near the centres."""
        last = not self.early or self._search is None or self._search.settled or self._bounded < np.inf
        self.fall_back()
        if self.limits.certify:
            if self.upper < self._bounded:
                self._proofs.boxes(self.positions, self.upper, 1.0 if last else EARLY_END, self._improve)
                self._bounded = self.upper
            closed = self.upper - self._proofs.best.value <= max(self.limits.gap_tol, CLOSED) * self.upper
            last = last or closed
            if last:
                self._proofs.sdp(self.positions, self.upper)
                self.bounds = self._together(self._swap_optimal())
            else:
                self.bounds = self._proofs.best
        self._done = last

    def _together(self, swaps: Bound) -> Bound:
        """Return what swaps and bounds prove together, or why neither proves anything."""
        both = swaps.stronger(self._proofs.best)
        if both.value > 0.0 or both.ratio is not None:
            return both
        return replace(both, because=f"{swaps.because}, and {self._proofs.best.because}")

    def _improve(self, centers: FloatArray) -> tuple[FloatArray, float] | None:
        """Descend from centres that a bound suggests; return the solution and its cost if it is better."""
        before = self.upper
        if self._search is not None and not self.large and self._search.offer(self._inside(centers)):
            self._settle(self._search.finish())
        return (self.positions, self.upper) if self.upper < before else None

    def _inside(self, positions: FloatArray) -> FloatArray:
        """Return places in the coordinates of the descent."""
        return np.asarray((positions - self.frame.origin - self.frame.shift) / self.frame.unit)

    def reduce(self) -> None:
        """Drop nothing: centres may be anywhere, so there is no finite set to drop candidates from."""

    def fall_back(self) -> None:
        """Have some solution where there was no time for any: random points as centres."""
        if self.upper == np.inf:
            rows = self.rng.choice(self.problem.space.n, self.problem.k, replace=False)
            self._settle(self.problem.assign_positions(self.problem.space.points[rows])[0])

    def _settle(self, labels: Labels) -> None:
        """Keep the means of a partition if they are the best so far; labels are numbered as they first occur."""
        first = np.full(self.problem.k, len(labels))
        first[labels[::-1]] = np.arange(len(labels))[::-1]
        numbers = np.empty(self.problem.k, dtype=np.int32)
        numbers[np.argsort(first, kind="stable")] = np.arange(self.problem.k)
        positions, labels, cost = self.problem.settle(numbers[labels])
        if cost < self.upper:
            self.positions, self.labels, self.upper = positions, labels, cost

    def _swap_optimal(self) -> Bound:
        """Return the bound from candidates that no single swap improves; the centres cost no more than these.

        The centres are snapped to candidates, and these swapped until none improves. Should their means be better than
        the centres found, they replace them.
        """
        problem, space = self.problem, self.problem.space
        if space.n * space.m * (space.points.shape[1] + 4) > SWAP_WORK:
            return Bound(0.0, None, THEOREM, f"{space.n} x {space.m} distances are too many to look at all swaps")
        rows, change = swap_optimal(problem, self._snapped(), self.limits.should_stop, self.limits.checks_stop)
        bound = swap_bound(problem, rows, change)
        if bound.ratio is None:
            return bound
        if problem.k > 1:
            self._descend_from(rows)
        self.rows = rows
        assert self.upper <= problem.cost(rows) * (1 + 1e-9)
        # Given candidates bound the best choice among themselves, which centres anywhere may undercut.
        value = bound.value if space.own or space.excess is not None else 0.0
        return Bound(value, bound.ratio, bound.theorem, bound.because)

    def _snapped(self) -> IntArray:
        """Return the nearest candidate of every centre, each taken once, ascending."""
        space = self.problem.space
        distances = space.metric.block(self.positions, space.candidates)
        taken = np.empty(self.problem.k, dtype=np.intp)
        for j, row in enumerate(distances):
            row[taken[:j]] = np.inf
            taken[j] = np.argmin(row)
        return np.sort(taken)

    def _descend_from(self, rows: IntArray) -> None:
        """Settle what a descent from candidates leads to, or the candidates' own partition if there is no time."""
        space = self.problem.space
        labels = space.assign(rows)[0]
        self._settle(labels)
        self.descent.should_stop = self.limits.should_stop
        try:
            state = self.descent.empty()
            self.descent.assign(state, self._inside(space.candidates[rows]))
            self.descent.improve(state, tol=0.0)
            self._settle(state.labels)
        except Stopped:
            pass
