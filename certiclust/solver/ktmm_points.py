"""k-tMM on many points: the loop on a sample, whose partition is extended to all points and then improved there."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from certiclust.evolution.recolouring import Labels, Recolouring
from certiclust.problems import KTMMProblem
from certiclust.solver.ktmm import KTMMStrategy, Limits, Proof
from certiclust.solver.loop import Strategy
from certiclust.space import precomputed_space
from certiclust.space.farthest import farthest_first

#: Points of the sample, and distances read there.
SAMPLE, SAMPLE_WORK = 2000, 1.5e9
#: Distances read by all searches on all points, and by one of them in the first round.
POINTS_WORK, FIRST_WORK = 5e9, 2e8


class SampledStrategy(Strategy):
    """k-tMM (k >= 2) where no matrix of all points is at hand.

    The sample is farthest-first, so that every point is close to one of it. What is proved for the sample holds for
    all points; a partition of the sample is extended by putting each point where its largest distance is least, and a
    tabu search, with rows computed on the fly, lowers the diameter.

    Parameters
    ----------
    problem
        Points, with or without a matrix.
    limits
        When to end.
    seed
        Seed of all random decisions.
    first
        What is known at the start.
    """

    def __init__(self, problem: KTMMProblem, limits: Limits, seed: int, first: Proof) -> None:
        self.problem, self.limits, self.first = problem, limits, first
        space, k = problem.space, problem.k
        self.labels, self.upper = first.labels, first.upper
        self._reach = first.reach
        size = max(SAMPLE, 4 * k)
        sampled = farthest_first(space, min(space.n, size), 0, should_stop=limits.should_stop)[0]
        # The k + 1 points known so far come first: they are a proof already.
        self.sample = np.concatenate([first.apart, np.setdiff1d(sampled, first.apart)])
        matrix = space.between(self.sample, self.sample)
        core = precomputed_space(matrix, np.ones(len(self.sample)), own=True, check_metric=False)
        inside = KTMMProblem(core, k)
        labels = first.labels[self.sample]
        reach, apart = inside.reach(labels), np.arange(len(first.apart))
        start = replace(first, labels=labels, reach=reach, upper=float(reach.max()), apart=apart)
        self.inner = KTMMStrategy(inside, replace(limits, work=limits.share * SAMPLE_WORK), seed, start)
        self.search = Recolouring(space.rows(), space.n, k, seed, limits.should_stop)
        self._extended = inf
        self._searched = -inf
        self._effort = 1.0

    @property
    def lower(self) -> float:
        """What was proved for the sample."""
        return min(self.upper, self.inner.lower)

    def proof(self) -> Proof:
        """Return what was found and proved."""
        inner = self.inner.proof()
        points = None if inner.points is None else self.sample[inner.points]
        return Proof(
            labels=self.labels,
            reach=self._reach,
            upper=self.upper,
            lower=self.lower,
            h=inner.h,
            apart=self.sample[inner.apart],
            points=points,
            steps=inner.steps + self.search.steps,
            nodes=inner.nodes,
        )

    def finished(self) -> bool:
        """Return whether gap, goal, budget or user end the loop."""
        spent = self._spent and self.inner.finished()
        return self.limits.met(self.upper, self.lower) or spent or self.limits.should_stop()

    @property
    def _spent(self) -> bool:
        """Whether the searches on all points have had their share."""
        return self.search.work >= self.limits.share * POINTS_WORK

    def evolve(self) -> None:
        """Search on the sample, extend to all points, and search there below the incumbent."""
        self.inner.evolve()
        if self.inner.upper < self._extended and not self.limits.should_stop():
            self._extended = self.inner.upper
            self._extend()
        while not (self._spent or self.finished()):
            floor = max(self.inner.upper, self._searched)
            if self.upper - floor <= 0.02 * (self.upper - self.lower):
                return
            target = self.limits.aim or 0.5 * (floor + self.upper)
            if target <= self._searched:
                return
            found = self.search.search(self.labels, target, self._effort * FIRST_WORK, self._reach)
            if found is None or not self._keep(found):
                self._searched = target

    def bound(self) -> None:
        """Prove more about the sample."""
        if not self.inner.finished():
            self.inner.bound()

    def reduce(self) -> None:
        """Keep of the working set what matters, and put more effort into the next round."""
        self.inner.reduce()
        self._effort *= 2.0
        self._searched = -inf

    def _extend(self) -> None:
        """Put every point into the cluster of the sample to whose members its largest distance is least."""
        space = self.problem.space
        labels, nearest = np.zeros(space.n, dtype=np.int32), np.full(space.n, inf)
        size = max(1, 10_000_000 // space.n)
        for c in np.unique(self.inner.labels):
            members = self.sample[self.inner.labels == c]
            reach = np.zeros(space.n)
            for start in range(0, len(members), size):
                if self.limits.should_stop():
                    return
                np.maximum(reach, space.distances(members[start : start + size]).max(axis=0), out=reach)
            closer = reach < nearest
            labels[closer], nearest[closer] = c, reach[closer]
        labels[self.sample] = self.inner.labels
        self._keep(labels)

    def _keep(self, labels: Labels) -> bool:
        """Take a partition over if it is better."""
        reach = self.problem.reach(labels)
        if reach.max() >= self.upper:
            return False
        self.labels, self.upper, self._reach = labels, float(reach.max()), reach
        return True
