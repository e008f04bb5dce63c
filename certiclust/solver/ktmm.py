"""k-tMM over all partitions: recolouring from above, exact colouring of a working set from below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.colouring import MAX_NODES, apart_points, decide
from certiclust.evolution.partitions import Partitions
from certiclust.evolution.recolouring import Labels, Recolouring
from certiclust.problems import KTMMProblem
from certiclust.solver.loop import Strategy
from certiclust.space.farthest import farthest_first

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]

#: Points of the working set at most.
MAX_WORKING_SET = 400
#: Starts and steps of the search for points far apart, and the share of the usual work below which there are few.
DISPERSIONS, DISPERSION_STEPS, FEW_DISPERSIONS = 6, 150, 0.1
#: The first searches are shortened below one part in so many of the usual work.
SHORT = 10.0
#: Colours tried and distances read in the first round.
FIRST_NODES, FIRST_WORK = 20_000, 3e7
#: Working sets tried in one round at most.
GROWTHS = 60
#: Failures of the bound, and offspring without success, that end their parts of a round.
FAILURES, BREEDS = 2, 40
#: Points that join the working set together are farther apart than this part of the incumbent.
NEAR = 0.1
#: Part of the gap by which breeding aims below the incumbent.
STEP = 0.1
#: Part of the usual work that is spent on a goal.
GOAL_SHARE = 0.3
#: Offspring in a round at least, and work of the search per work of the bound.
LEAST_BREEDS, SHARE = 4, 1.0


@dataclass(frozen=True)
class Limits:
    """What ends the loop besides a closed gap.

    `goal` is a diameter: reaching it, or proving that it cannot be reached, is enough. `work` is counted in distances
    read, about a nanosecond each, and `share` the part of the usual work that may be done.
    """

    gap_tol: float
    should_stop: Callable[[], bool]
    goal: float | None = None
    work: float | None = None
    share: float = 1.0

    @property
    def aim(self) -> float | None:
        """The threshold that separates what reaches the goal from what does not."""
        return None if self.goal is None else float(np.nextafter(self.goal, inf))

    def met(self, upper: float, lower: float) -> bool:
        """Return whether these bounds are good enough."""
        if upper <= lower or upper - lower <= self.gap_tol * lower:
            return True
        return self.goal is not None and (upper <= self.goal or lower > self.goal)


@dataclass(frozen=True)
class Proof:
    """A partition with the witness of its lower bound.

    Attributes
    ----------
    labels, reach, upper
        The partition, the largest distance of each point inside its cluster, and the largest of those: its diameter.
    lower
        No partition has a diameter below it.
    h, apart
        k + 1 points pairwise at least h apart.
    points
        Points that cannot be split into k clusters of diameter below `lower`, in the order of the search that showed
        it; None if `apart` prove as much.
    steps, nodes
        Steps of the search and colours tried by the proof.
    spent
        Part of the usual work that was done.
    """

    labels: Labels
    reach: FloatArray
    upper: float
    lower: float
    h: float
    apart: IntArray
    points: IntArray | None
    steps: int = 0
    nodes: int = 0
    spent: float = 1.0


class KTMMStrategy(Strategy):
    """Search, bound and reduction of k-tMM (k >= 2) on a matrix.

    The optimum is the least D for which {d > D} has a colouring with k colours. From above: tabu searches for a
    colouring at falling thresholds. From below: a working set of points, coloured exactly. If it has no colouring at
    threshold t, the optimum is at least t; otherwise its colouring is extended to all points, or the points that stand
    in the way join the set.

    Parameters
    ----------
    problem
        Points with their matrix.
    limits
        When to end.
    seed
        Seed of all random decisions.
    first
        What is known at the start.
    hard
        Points that join the working set at once, or None.
    """

    def __init__(
        self, problem: KTMMProblem, limits: Limits, seed: int, first: Proof, hard: IntArray | None = None
    ) -> None:
        space = problem.space
        assert space.matrix is not None
        self.problem, self.limits, self.k = problem, limits, problem.k
        self.matrix: FloatArray = space.matrix
        self.search = Recolouring(space.rows(), space.n, problem.k, seed, limits.should_stop)
        self.labels, self.upper = first.labels, first.upper
        self._reach = first.reach
        self.pool = Partitions(self.search, seed)
        self.nodes = 0
        self._bound_work = 0.0
        share = limits.share * (1.0 if limits.goal is None else GOAL_SHARE)
        self._budget = limits.work if limits.work is not None else share * default_work(space.n)
        self.pool.add(self.labels, space.n)
        # A small share of the work is better spent on colourings.
        tries = DISPERSIONS if limits.share >= FEW_DISPERSIONS else 2
        starts = [farthest_first(space, self.k + 1, s * space.n // tries)[0] for s in range(tries)]
        self.h, self.apart = apart_points(self.matrix, self.k, starts, DISPERSION_STEPS, limits.should_stop)
        for start in starts[1:]:
            self.pool.add(space.assign(np.sort(start[: self.k]))[0], space.n)
        if first.h > self.h:
            self.h, self.apart = first.h, first.apart
        self.lower = min(self.h, self.upper)
        self.witness: IntArray | None = None
        known = farthest_first(space, min(space.n, 3 * self.k), 0)[0] if hard is None else hard
        self.points = np.unique(np.concatenate([self.apart, known]))
        self._effort = 1.0
        self._searched = -inf  # no colouring was found at this threshold
        self._stride = 0.25  # part of the gap that the bound aims at
        # With a small share of the work searches are short, so that something is left for the bound.
        self._work_unit = min(FIRST_WORK, 1e4 * space.n) * min(1.0, SHORT * limits.share)

    @property
    def work(self) -> float:
        """Distances read so far."""
        return self.search.work + self._bound_work

    def proof(self) -> Proof:
        """Return what was found and proved."""
        lower, steps = min(self.lower, self.upper), self.search.steps
        spent = self.limits.share * min(1.0, self.work / self._budget)
        found = self.labels, self._reach, self.upper
        return Proof(*found, lower, self.h, self.apart, self.witness, steps, self.nodes, spent)

    def finished(self) -> bool:
        """Return whether gap, goal, budget or user end the loop."""
        return self.limits.met(self.upper, self.lower) or self.work >= self._budget or self.limits.should_stop()

    def evolve(self) -> None:
        """Lower the threshold from the incumbent while that is easy, then breed below it or, with a goal, there."""
        self._descend()
        end = self.search.work + SHARE * self._bound_work
        idle = 0
        while idle < BREEDS and not self.finished() and (idle < LEAST_BREEDS or self.search.work < end):
            target = self.limits.aim or self.upper - STEP * (self.upper - self.lower)
            found = self.pool.breed(target, self._effort * self._work_unit)
            idle += 1
            if found is not None and self._keep(found):
                idle = 0
                self._searched = -inf
                self._descend()

    def _descend(self) -> None:
        """Bisect between the incumbent and what was proved or tried in vain, each time from the incumbent."""
        while not self.finished():
            floor = max(self.lower, self._searched)
            if self.upper - floor <= 0.05 * (self.upper - self.lower):
                return
            target = self.limits.aim or 0.5 * (floor + self.upper)
            if target <= self._searched:
                return
            found = self.search.search(self.labels, target, 0.5 * self._work_unit, self._reach)
            if found is None or not self._keep(found):
                self._searched = target
                self.pool.add(self.search.partial, len(self.search.pending))

    def bound(self) -> None:
        """Prove a part of the gap, more of it after a success and less after a failure."""
        failures = 0
        while failures < FAILURES and not self.finished():
            target = self.limits.aim or min(self.upper, self.lower + self._stride * (self.upper - self.lower))
            if self._prove(target):
                self._stride = min(1.0, 2.0 * self._stride)
            else:
                self._stride *= 0.5
                failures += 1

    def reduce(self) -> None:
        """Keep of the working set what matters, and put more effort into the next round."""
        self._effort *= 2.0
        self._searched = -inf
        self._stride = min(1.0, 1.5 * self._stride)
        if len(self.points) > MAX_WORKING_SET // 2:
            keep = self.points[np.argsort(-self.search.hard[self.points], kind="stable")[: MAX_WORKING_SET // 2]]
            kept = [keep, self.apart] if self.witness is None else [keep, self.apart, self.witness]
            self.points = np.unique(np.concatenate(kept))

    def _attempt(self, labels: Labels, threshold: float, share: float = 1.0) -> bool:
        """Search for a partition below a threshold; keep it if it is better."""
        found = self.search.search(labels, threshold, share * self._effort * self._work_unit)
        return found is not None and self._keep(found)

    def _keep(self, found: Labels) -> bool:
        """Take a partition over if it is better."""
        reach = self.problem.reach(found)
        if reach.max() >= self.upper:
            return False
        self.labels, self.upper, self._reach = found, float(reach.max()), reach
        return True

    def _prove(self, threshold: float) -> bool:
        """Return whether the optimum was proved to be at least `threshold`, or the incumbent fell below it."""
        for _ in range(GROWTHS):
            if self.limits.should_stop() or self.work >= self._budget:
                return False
            limit = int(min(MAX_NODES, self._effort * FIRST_NODES))
            decision = decide(self.matrix, self.points, self.k, threshold, limit)
            self.nodes += decision.nodes
            self._bound_work += 2.0 * len(self.points) * (decision.nodes + 40 * len(self.points))
            if decision.colourable is None:
                return False
            if decision.labels is None:
                self._claim(decision.core, threshold)
                return True
            if self._extend(decision.labels, threshold):
                return True
            if len(self.points) >= MAX_WORKING_SET:
                return False
        return False

    def _claim(self, core: IntArray, threshold: float) -> None:
        """Raise the bound to the least distance at or above the threshold within the points without a colouring."""
        between = self.matrix[np.ix_(core, core)]
        self.lower = float(between[between >= threshold].min())
        self.witness = core

    def _extend(self, labels: NDArray[np.int64], threshold: float) -> bool:
        """Extend a colouring of the working set to all points, or let those in the way join the set."""
        reach = np.full((self.k, self.problem.space.n), inf)
        for c in np.unique(labels):
            reach[c] = self.matrix[self.points[labels == c]].max(axis=0)
        self._bound_work += len(self.points) * self.problem.space.n
        nearest = reach.min(axis=0)
        blocked = np.flatnonzero(nearest >= threshold)
        if len(blocked) and len(np.unique(labels)) == self.k:
            self._join(blocked[np.argsort(-nearest[blocked], kind="stable")])
            return False
        start = reach.argmin(axis=0).astype(np.int32)
        start[self.points] = labels
        if self._attempt(start, threshold, 0.2):
            self._searched = -inf
            self._descend()  # another basin: there may be more to gain than one step
            return True
        pending = self.search.pending
        hard = np.argsort(-self.search.hard, kind="stable")[: 2 * len(self.points)]
        self._join(np.concatenate([pending, hard]))
        return False

    def _join(self, ranked: IntArray) -> None:
        """Add the first few of some points that are not in the set yet and not close to each other."""
        fresh = ranked[~np.isin(ranked, self.points)]
        picked: list[int] = []
        room = min(max(4, self.k // 3), MAX_WORKING_SET - len(self.points))
        for i in fresh.tolist():
            if len(picked) >= room:
                break
            if all(self.matrix[i, j] > NEAR * self.upper for j in picked):
                picked.append(i)
        self.points = np.concatenate([self.points, np.array(picked, dtype=np.intp)])


def default_work(n: int) -> float:
    """Return the distances after which an unproved run ends: seconds, in proportion to the matrix if it is large."""
    return max(3e9, 100.0 * n * n)
