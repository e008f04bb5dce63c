"""Evolution for k-means: swaps and crossover of whole balls of centres, each offspring made better by descent.

Work is counted in coordinates looked at, never by the clock, so a run depends on its seed alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from certiclust.evolution.descent import Descent, Floats, Ints, Stopped, draw
from certiclust.evolution.splits import STEPS, Splits, split_clusters

if TYPE_CHECKING:
    from certiclust.evolution.kernels.clustering import Clustering

Labels = NDArray[np.int32]

#: Share of offspring whose parent is the best solution, whatever the phase: the lemma's first condition.
BEST_SHARE = 0.05
#: Share of entering centres drawn uniformly from the points, whatever the phase: the lemma's second condition.
UNIFORM_SHARE = 0.05
#: Entering centres scored for a swap; half of the swaps take a single one, unscored.
CONTEST = 8
#: Share of swaps that divide a cluster in two, and columns from which on; the others draw a point, which in the plane
#: finds as much.
SPLIT_SHARE, SPLIT_COLUMNS = 0.5, 4
#: Pairs of a centre to move and a cluster to divide that are tried, per centre.
PAIRS = 3
#: Of a new solution many centres are moved at once, if a division gains this share of what the centre costs: both are
#: estimates that the descent makes better.
GAINFUL = 0.5
#: Swaps without success, a constant and per centre, after which a solution joins the pool: two members that can be
#: crossed are worth more than the last swaps of one.
STALL = 8, 0.35
#: Crossovers per centre without success after which the pool gets another member.
GROW = 1
#: Crossovers per centre without success after which its worst member is replaced by a new one.
RENEW = 10
#: Solutions kept at most.
POOL_SIZE = 5
#: A better solution is better by more than this share of the cost; solutions closer than ten times it are the same.
BETTER = 1e-7
#: Centres of two solutions are shared if they are nearer than this share of the (squared) distance to the next one.
SHARED = 0.05
#: Offspring without a better best solution, a constant and per centre, after which the search has settled.
IDLE = 400, 200
#: Work charged for the overhead of one offspring.
STEP_WORK = 150_000


@dataclass(eq=False)
class Member:
    """A solution of the pool, with what its swaps need, computed when first asked for."""

    state: Clustering
    cost: float
    rises: Floats | None = None
    shares: Floats | None = None
    splits: Splits | None = None
    pairs: Iterator[Ints] | None = None


class KMeansSearch:
    """A small pool of solutions, varied and improved.

    First a solution is improved by swaps alone, many at once and then single ones, until they fail for long; then
    another one, and the two are crossed. The pool grows, and its worst member is replaced, when crossovers fail.

    Parameters
    ----------
    descent
        The points, and how clusterings of them are improved.
    rng
        Source of all random decisions.
    max_iter
        Offspring to make at most.
    """

    def __init__(self, descent: Descent, rng: np.random.Generator, max_iter: float = np.inf) -> None:
        self.descent, self.rng, self.max_iter = descent, rng, max_iter
        self.k = descent.k
        self.best: Member | None = None
        self.pool: list[Member] = []
        #: Offspring made so far.
        self.iterations = 0
        #: Offspring since the best solution last became better.
        self.idle = 0
        self.stopped = False
        self._current: Member | None = None
        self._failures = 0
        self._trial = descent.empty()
        self._splitting = descent.cloud.points.shape[1] >= SPLIT_COLUMNS

    @property
    def settled(self) -> bool:
        """Whether there is nothing left to try: stopped, out of iterations, or without success for long."""
        spent = self.iterations >= self.max_iter or self.idle >= IDLE[0] + IDLE[1] * self.k
        return self.stopped or spent or (self.best is not None and self.best.cost <= 0.0)

    def start(self, centers: Floats | None = None) -> None:
        """Make the first solution, from given centres or by k-means++."""
        try:
            self._renew(centers)
        except Stopped:
            self.stopped = True

    def evolve(self, work: float, patience: float = np.inf) -> None:
        """Make offspring until about `work` is done, `patience` offspring have failed, or nothing is left to try."""
        limit = self.descent.work + work
        try:
            while self.descent.work < limit and self.idle < patience and not self.settled:
                self.descent.poll()
                self.descent.work += STEP_WORK
                self.iterations += 1
                self.idle += 1
                self._failures += 1
                self._step()
        except Stopped:
            self.stopped = True

    def offer(self, centers: Floats) -> bool:
        """Descend from centres that somebody else found; return whether that is the best solution now."""
        assert self.best is not None
        best = self.best
        try:
            self.descent.assign(self._trial, centers)
            cost = self.descent.improve(self._trial, tol=0.0)
        except Stopped:
            return False
        if cost < best.cost * (1 - BETTER):
            self._admit(self._accept(cost))
        return self.best is not best

    def finish(self, tol: float = 0.0) -> Labels:
        """Return the labels of the best solution after a descent to its very end, if there is time for that."""
        assert self.best is not None
        best, trial = self.best, self._trial
        try:
            self.descent.assign(trial, best.state.centers)
            cost = self.descent.improve(trial, tol=tol)
        except Stopped:
            self.stopped = True
            return best.state.labels
        return trial.labels if cost <= best.cost else best.state.labels

    def _step(self) -> None:
        """Make one offspring, and let it replace its parent if it is better."""
        if self._current is None and self._wants_member():
            self._renew()
            return
        crossing: Member | None = None
        if self.rng.random() < BEST_SHARE:
            parent = self.best
        elif self._current is not None:
            parent = self._current
        else:
            first, second = self.rng.integers(len(self.pool)), self.rng.integers(1, len(self.pool))
            parent, crossing = self.pool[first], self.pool[(first + second) % len(self.pool)]
        assert parent is not None
        self.descent.vary(self._trial, parent.state)
        if crossing is None or not self.crossover(parent, crossing):
            self.swap(parent)
        cost = self.descent.improve(self._trial, parent.cost)
        if cost < parent.cost * (1 - BETTER):
            self._replace(parent, self._accept(cost))
        elif self._current is not None and self._failures >= STALL[0] + STALL[1] * self.k:
            self._retire()
        elif self._current is None and self._failures >= RENEW * self.k:
            self.pool.remove(max(self.pool, key=lambda member: member.cost))
            self._failures = 0

    def swap(self, parent: Member) -> None:
        """Move one centre of the trial, a copy of the parent.

        Out: a uniform one, or one of those that were cheap to lose in the parent. In: the second half of a cluster that
        gains by being divided, or a point.
        """
        if self._splitting and self.rng.random() < SPLIT_SHARE:
            pair = next(self._pairs(parent), None)
            if pair is not None:
                self._divide(parent, pair[:1], pair[1:])
                return
        slot = int(self.rng.integers(self.k))
        if self.rng.random() < 0.5:
            cheap = min(int(self.rng.exponential(max(1.0, 0.1 * self.k))), self.k - 1)
            slot = int(np.argsort(self._rises(parent), kind="stable")[cheap])
        row = self._entering(parent)
        self.descent.relocate(self._trial, np.array([slot]), self.descent.cloud.points[row : row + 1])

    def _divide(self, parent: Member, out: Ints, divided: Ints) -> None:
        """Move centres of the trial so that they halve other clusters."""
        splits = self._splits(parent)
        positions = np.concatenate([splits.left[divided], splits.right[divided]])
        self.descent.relocate(self._trial, np.concatenate([out, divided]), positions)

    def _entering(self, parent: Member) -> int:
        """Return a point with probability as its share of the cost, unscored or the best of eight, or a uniform one."""
        rng, points, weights = self.rng, self.descent.cloud.points, self.descent.cloud.weights
        if parent.shares is None:
            parent.shares = np.cumsum(weights * parent.state.upper**2)
        if rng.random() < UNIFORM_SHARE:
            return int(rng.integers(len(points)))
        if rng.random() < 0.5:
            return int(draw(parent.shares, rng.random(1))[0])
        return self._promising(parent, draw(parent.shares, rng.random(CONTEST)))

    def crossover(self, parent: Member, other: Member) -> bool:
        """Give the trial, a copy of `parent`, the centres of `other` inside a ball around one where they differ.

        The ball holds the m nearest centres in either, so k is kept; shared ones are not touched. Returns False where
        there is no difference.
        """
        mine, theirs = parent.state.centers, other.state.centers
        squares = cdist(mine, theirs, "sqeuclidean")
        to_theirs, to_mine = squares.argmin(axis=1), squares.argmin(axis=0)
        gaps = cdist(mine, mine, "sqeuclidean")
        np.fill_diagonal(gaps, np.inf)
        mutual = to_theirs[to_mine] == np.arange(self.k)
        shared = mutual & (squares.min(axis=0) < SHARED * gaps.min(axis=0)[to_mine])
        if shared.all():
            return False
        differing = np.flatnonzero(~shared)
        middle = theirs[differing[self.rng.integers(len(differing))]]
        size = min(2 + int(self.rng.exponential(self.k / 6)), self.k - 1)
        out, come = _ball(mine, middle, size), _ball(theirs, middle, size)
        same = np.flatnonzero(come & shared & out[to_mine])
        out[to_mine[same]] = False
        come[same] = False
        if not out.any():
            return False
        self.descent.relocate(self._trial, np.flatnonzero(out), theirs[come])
        return True

    def _promising(self, parent: Member, rows: Ints) -> int:
        """Return the one of some points that gains most as an additional centre of the parent."""
        from certiclust.evolution.kernels.hartigan import insertion_gain

        self.descent.work += 2 * len(self.descent.cloud.points) * self.descent.cloud.points.shape[1]
        return int(rows[np.argmax(insertion_gain(self.descent.cloud, parent.state, rows))])

    def _rises(self, parent: Member) -> Floats:
        """Return what the cost rises by when one of the centres is closed."""
        if parent.rises is None:
            scratch = self.descent.empty()
            self.descent.assign(scratch, parent.state.centers)
            further = self.descent.cloud.weights * (scratch.lower**2 - scratch.upper**2)
            parent.rises = np.bincount(scratch.labels, further, self.k).astype(np.float64)
        return parent.rises

    def _splits(self, parent: Member) -> Splits:
        """Return the halves of the clusters of a solution."""
        if parent.splits is None:
            self.descent.work += (2 * STEPS + 4) * self.descent.cloud.points.size
            parent.splits = split_clusters(self.descent.cloud, parent.state, self.rng)
        return parent.splits

    def _pairs(self, parent: Member) -> Iterator[Ints]:
        """Return the pairs of a centre to move and a cluster to divide that were not tried, most gainful first."""
        if parent.pairs is None:
            net = self._splits(parent).gains - self._rises(parent)[:, None]
            np.fill_diagonal(net, -np.inf)
            first = np.argsort(-net, axis=None, kind="stable")[: min(PAIRS * self.k, self.k * (self.k - 1))]
            parent.pairs = iter(np.column_stack(np.unravel_index(first, net.shape)))
        return parent.pairs

    def _wants_member(self) -> bool:
        """Return whether the next offspring is a new start."""
        return len(self.pool) < 2 or (len(self.pool) < POOL_SIZE and self._failures >= GROW * self.k)

    def _renew(self, centers: Floats | None = None) -> None:
        """Start a new solution."""
        seeds = self.descent.seed(self.rng) if centers is None else centers
        self.descent.assign(self._trial, seeds)
        self._current = self._accept(self.descent.improve(self._trial))
        self._failures = 0
        if self._splitting and centers is None:
            self._current = self._move_many(self._current)

    def _move_many(self, member: Member) -> Member:
        """Move many centres of a new solution at once, half as many after each failure; return what that leads to.

        At most k offspring: the swaps that follow, 8 + 0.35 k or more, stay a constant share of all.
        """
        most = self.k
        for _ in range(self.k):
            out, divided = self._gainful(member)
            if most == 0 or len(out) == 0 or self.iterations >= self.max_iter:
                break
            self.iterations += 1
            self.descent.vary(self._trial, member.state)
            self._divide(member, out[:most], divided[:most])
            cost = self.descent.improve(self._trial, member.cost)
            if cost < member.cost * (1 - BETTER):
                member = self._accept(cost)
            else:
                most = min(most, len(out)) // 2
        return member

    def _gainful(self, member: Member) -> tuple[Ints, Ints]:
        """Return centres to move and as many other clusters to divide, most gainful first."""
        rises, splits = self._rises(member), self._splits(member)
        cheapest = np.argsort(rises, kind="stable")[: len(splits.ranked)]
        count = int(np.count_nonzero(splits.gains[splits.ranked] >= GAINFUL * rises[cheapest]))
        out, divided = cheapest[:count], splits.ranked[:count]
        return out[~np.isin(out, divided)], divided[~np.isin(divided, out)]

    def _retire(self) -> None:
        """Put the current solution into the pool, unless it is there."""
        assert self._current is not None
        newcomer, self._current, self._failures = self._current, None, 0
        self._admit(newcomer)

    def _admit(self, newcomer: Member) -> None:
        """Add a solution to the pool; of twins the better one stays."""
        for place, member in enumerate(self.pool):
            if abs(member.cost - newcomer.cost) <= 10 * BETTER * newcomer.cost:
                if newcomer.cost < member.cost:
                    self.pool[place] = newcomer
                return
        self.pool.append(newcomer)

    def _accept(self, cost: float) -> Member:
        """Return the trial as a solution of its own, the best one if it is."""
        member = Member(self._trial, cost)
        self._trial = self.descent.empty()
        if self.best is None or cost < self.best.cost:
            self.best = member
            self.idle = 0
        return member

    def _replace(self, parent: Member, child: Member) -> None:
        """Put the child where its parent was; the best solution is a parent that may be in either place."""
        self._failures = 0
        if parent is self._current:
            self._current = child
            return
        self.pool = [member for member in self.pool if member is not parent]
        self._admit(child)


def _ball(centers: Floats, middle: Floats, size: int) -> NDArray[np.bool_]:
    """Return flags of the `size` centres nearest to a point."""
    inside = np.zeros(len(centers), dtype=np.bool_)
    inside[np.argsort(((centers - middle) ** 2).sum(axis=1), kind="stable")[:size]] = True
    return inside
