"""Fair k-median from coordinates without a matrix: search over a core of candidates, bound from lists."""

from __future__ import annotations

import numpy as np

from certiclust.bounds.branch_and_bound import Node, Stage
from certiclust.bounds.lagrangian import Bound, Instance
from certiclust.evolution.pool import Search
from certiclust.evolution.swap_search import rewind
from certiclust.problems import FairKMedianProblem
from certiclust.solver.fair import fair_costs, list_radius, reaches
from certiclust.solver.kmedian import Limits, Proof
from certiclust.solver.kmedian_points import PointsStrategy
from certiclust.space.lists import Floats, Ints, Lists, build_lists, sorted_lists, with_rows
from certiclust.space.space import matrix_budget

#: Listed pairs at most (24 bytes each, twice that while they are cut).
MAX_PAIRS = 12_000_000
#: Candidates of the core: at most so many, of which so many around each centre, and in each ball.
CORE, NEAR, IN_BALL = 2000, 24, 12
#: Work of the search over a core, in passes over its costs.
PASSES = 16.0
#: Distances computed by the first swaps, without constraints.
SWAP_WORK = 600_000_000
#: Share of the budget of a matrix that the costs of a core may take.
SHARE = 0.4


class FairPointsStrategy(PointsStrategy):
    """The loop for fair k-median (k >= 2) where the matrix would not fit.

    The swaps of k-median lead to good places; the constraints are kept by a search over a core of candidates: around
    the centres, in the balls, and what the relaxation opens. The bound is about all candidates.

    Parameters
    ----------
    problem
        What is asked, with a distance that the kernels compute on the fly.
    strict
        Whether the points or the balls are the constraints.
    weights, instance, limits, seed
        As for k-median.
    """

    steps = 200

    def __init__(
        self,
        problem: FairKMedianProblem,
        strict: bool,
        weights: Floats,
        instance: Instance,
        limits: Limits,
        seed: int,
    ) -> None:
        self.problem, self.strict, self.penalty = problem, strict, np.inf
        self.fair_centers: Ints = np.zeros(0, np.int64)
        self._fair_upper = np.inf
        self._given = weights
        super().__init__(problem.space, weights, instance, limits, seed)

    def most_pairs(self) -> int:
        """Return how many pairs may be listed."""
        return MAX_PAIRS

    @property
    def upper(self) -> float:
        """Cost of the incumbent, with penalties."""
        return self._fair_upper

    @property
    def fair(self) -> bool:
        """Whether the incumbent pays no penalty."""
        return self.upper < self.penalty

    def evolve(self) -> None:
        """At first swap as for k-median, without constraints; then search a core of candidates for a fair set."""
        if self._rounds == 0:
            rewind(self.best)
            self._swap(self.best, SWAP_WORK)
        self.offer(self.by_site[self.best.centers])

    def offer(self, start: Ints) -> None:
        """Search for a fair set over a core of candidates, from given ones (numbers of the space) and the incumbent."""
        k = self.problem.k
        core = np.unique(np.concatenate([self._core(), start, self.fair_centers]))
        costs = fair_costs(self.problem, self._given, self.strict, core)
        self.penalty = max(costs.penalty, self.penalty if np.isfinite(self.penalty) else 0.0)
        search = Search(costs.search, k, self.rng, self.limits.should_stop, self.limits.max_iter - self.iterations)
        starts = [self.fair_centers] if self.fair_centers.size == k else []
        for centers in (start, *starts):
            search.polish(np.searchsorted(core, centers))
        best = search.best
        second = np.maximum(np.minimum(best.c1, costs.far), np.minimum(best.c2, costs.far))
        search.lists = build_lists(costs.search, list_radius(costs, second), self.limits.should_stop)
        if self._share is not None:
            order = self.by_site[np.flatnonzero(self._share > 0.01)]
            search.favoured = np.searchsorted(core, np.intersect1d(order, core))
        search.evolve(int(PASSES * costs.search.size))
        self.iterations += search.iterations
        if search.upper < self._fair_upper:
            self._fair_upper, self.fair_centers = search.upper, core[search.centers]

    def _core(self) -> Ints:
        """Return candidates around the centres, in the balls, of the relaxation, and some anywhere."""
        space, rng = self.problem.space, self.rng
        most = max(4 * self.problem.k, min(CORE, int(SHARE * matrix_budget() / (space.n + self.problem.k))))
        centers = np.unique(np.concatenate([self.by_site[self.best.centers], self.fair_centers]))
        parts = [centers]
        if not self.strict:
            for members in self.problem.balls:
                inside = np.flatnonzero(members)
                parts.append(rng.choice(inside, min(inside.size, IN_BALL), replace=False))
        if self._share is not None:
            opened = self.by_site[np.argsort(-self._share, kind="stable")[: most // 2]]
            parts.append(opened)
        near = min(NEAR, max(1, most // (2 * centers.size)))
        for center in centers:
            away = space.distances(np.array([center]))[0]
            parts.append(np.argpartition(away, min(near, away.size - 1))[:near])
        core = np.unique(np.concatenate(parts))
        spare = np.setdiff1d(np.arange(space.m), core)
        free = max(0, most - core.size)
        return np.union1d(core, rng.choice(spare, min(spare.size, free), replace=False))

    def _target(self) -> float:
        """Return the cost that the ascent aims at: that of the incumbent if it is fair."""
        return self.upper if self.fair else float(self.best.total[0]) * 1.05

    def _drop(self, proved: Bound) -> None:
        """Drop nothing: the cores are small already."""

    def reduce(self) -> None:
        """Nothing is dropped: the cores are small already."""

    def proof(self) -> Proof:
        """Return what was found and proved, in the numbers of the space; balls are the last clients."""
        n = self.weights.size
        back = np.argsort(self.by_client)
        stages = [Stage(np.concatenate([s.u[:n][back], s.u[n:]]), s.dropped, s.opened) for s in self.root.stages]
        root = Node(-1, -1, 0, stages, self.root.lower)
        if self.fair_centers.size == 0:  # stopped before the first search
            centers = np.sort(self.by_site[self.best.centers])
            return Proof(centers, float(self.best.total[0]), 0.0, [root], 0.0, self.iterations)
        lower = max(0.0, min(self.upper, self.lower))
        return Proof(np.sort(self.fair_centers), self.upper, lower, [root], 0.0, self.iterations)

    def _prepare(self) -> None:
        """Build the lists and where the ascent starts."""
        trial = self._loaded(np.flatnonzero(np.isin(self.by_site, self.fair_centers)))
        first, second = trial.c1, trial.c2
        loose = (self._given * reaches(self.problem)[1])[self.by_client]
        if self.strict:
            first, second = np.minimum(first, loose), np.minimum(second, loose)
            self._lists = self._cut(self._build_lists(self._cut_radius(second, loose)), loose)
        else:
            self._lists = self._extended(self._build_lists(self._radius()))
        self.u = 0.5 * (first + second)
        if not self.strict:
            self.u = np.concatenate([self.u, np.zeros(len(self.problem.balls))])

    def _cut_radius(self, second: Floats, loose: Floats) -> Floats | None:
        """Return the whole reach if its lists fit, else as much of it as does."""
        widest = np.nextafter(loose, np.inf)
        clients = np.sort(self.rng.choice(loose.size, min(loose.size, 200), replace=False))
        part = self._costs(clients, np.arange(self.sites.columns.shape[1]))
        if part is None:
            return None
        for factor in (np.inf, 2.0, 1.4, 1.2, 1.0, 0.8, 0.6, 0.4):
            radius = widest if factor == np.inf else np.minimum(widest, factor * second)
            if np.count_nonzero(part < radius[clients]) / clients.size * loose.size <= self.most_pairs():
                break
        return np.ascontiguousarray(radius)

    def _cut(self, lists: Lists | None, loose: Floats) -> Lists | None:
        """Return lists without what is out of reach; only the penalty limits a client whose whole reach is listed."""
        if lists is None:
            return None
        keep = lists.col_val <= loose[lists.col_idx]
        ptr = np.concatenate([[0], np.cumsum(keep)])[lists.col_ptr].astype(np.int64)
        radius = np.where(lists.radius > loose, self.penalty, lists.radius)
        return sorted_lists(ptr, lists.col_idx[keep], lists.col_val[keep], radius, self.limits.should_stop)

    def _extended(self, lists: Lists | None) -> Lists | None:
        """Return lists with a client for every ball at the end, served for nothing inside it."""
        if lists is None:
            return None
        members = self.problem.inside_balls(reaches(self.problem)[1])[:, self.by_site]
        return with_rows(lists, [np.flatnonzero(row) for row in members], self.penalty)
