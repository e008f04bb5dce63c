"""k-median from coordinates without a matrix: search on a sample, swaps on everything, Lagrangian bound from lists."""

from __future__ import annotations

import numpy as np
from sklearn.utils import gen_batches

from certiclust.bounds.branch_and_bound import Node, Stage
from certiclust.bounds.lagrangian import (
    Bound,
    Instance,
    ascend,
    certify,
    is_closed,
    reduce_candidates,
    start_multipliers,
)
from certiclust.evolution.kernels import fly as kernels
from certiclust.evolution.kernels.swap_search import State
from certiclust.evolution.pool import Search
from certiclust.evolution.swap_search import new_state, rewind
from certiclust.solver.kmedian import Limits, Proof
from certiclust.solver.loop import Strategy
from certiclust.space import Space
from certiclust.space.kernels import PointRows
from certiclust.space.lists import Floats, Ints, Lists, sorted_lists
from certiclust.space.space import matrix_budget

#: Listed pairs at most (24 bytes each).
MAX_PAIRS = 36_000_000
#: Points in the sample on which the first centres are searched, and the work spent there per pair of them.
SAMPLE, SAMPLE_WORK = 4000, 38
#: Distances computed between two polls of ``should_stop`` (about 20 ms).
BLOCK = 6_000_000
#: Distances computed by the swaps of one start.
SWAP_WORK = 3e9
#: Ascents of the bound.
ROUNDS = 2


class PointsStrategy(Strategy):
    """k-median (k >= 2) where the matrix would not fit: one round of swaps on everything, ascents at the root.

    Clients and candidates are reordered by their nearest centre, because the bound is limited by cache misses
    otherwise; `proof` undoes that.

    Parameters
    ----------
    space
        Points and candidates, with a distance that the kernels compute on the fly.
    weights
        Weights of the clients, in the unit in which costs are counted.
    instance
        Number of centres and margins.
    limits
        When to end.
    seed
        Seed of all random decisions.
    centers
        Where to start; None for centres found on a sample.
    """

    #: Steps of an ascent.
    steps = 150

    def __init__(
        self,
        space: Space,
        weights: Floats,
        instance: Instance,
        limits: Limits,
        seed: int,
        centers: Ints | None = None,
    ) -> None:
        self.instance, self.limits = instance, limits
        self.rng = np.random.default_rng(seed)
        rows = space.rows()
        assert isinstance(rows, PointRows)
        self.weights = weights
        self._place(rows)
        self.best = self._loaded(self._sample_start() if centers is None else centers)
        self.by_client, self.by_site = np.arange(space.n), np.arange(space.m)
        if not limits.should_stop():
            self._sort(space.own)
        self.order = self.rng.permutation(space.m)
        self.root = Node(-1, -1, 0)
        self.live: Ints = np.arange(space.m)
        self.u = start_multipliers(self.best.c1, self.best.c2, instance.k)
        self.lower = 0.0
        self.iterations = 0
        self._rounds = 0
        self._lists: Lists | None = None
        self._share: Floats | None = None

    @property
    def upper(self) -> float:
        """Cost of the incumbent."""
        return float(self.best.total[0])

    def finished(self) -> bool:
        """Return whether gap, rounds or user end the loop."""
        if self.upper - self.lower <= self.limits.gap_tol * self.lower or is_closed(self.lower, self.upper, 0.0):
            return True
        return self._rounds >= ROUNDS or self.limits.should_stop() or self.iterations >= self.limits.max_iter

    def evolve(self) -> None:
        """Swap the incumbent, or what the relaxation opened last, to a local optimum over all candidates."""
        if self._share is None:
            trial, work = self.best, SWAP_WORK
        else:
            trial, work = self._loaded(np.argsort(-self._share, kind="stable")[: self.instance.k]), SWAP_WORK / 4
        rewind(trial)
        self._swap(trial, int(work))
        self.iterations += 1
        if trial.total[0] < self.best.total[0]:
            self.best = trial

    def bound(self) -> None:
        """Ascend from the multipliers of the last round."""
        self._rounds += 1
        if self._lists is None:
            self._prepare()
        if self._lists is None or self.limits.should_stop():
            return
        ascent = ascend(
            self._lists,
            self.instance,
            self.u,
            self._target(),
            step=1.0 / self._rounds,
            patience=10,
            iterations=self.steps,
            should_stop=self.limits.should_stop,
        )
        self.u, self._share = ascent.u, ascent.share
        proved = certify(self._lists, self.instance, ascent, self.upper, fine=True)
        if proved.lower > self.lower:
            self.lower = proved.lower
            self._drop(proved)
            none = np.zeros(0, np.int64)
            self.root = Node(-1, -1, 0, [Stage(proved.u, none, none)], self.lower)

    def _prepare(self) -> None:
        """Build the lists and where the ascent starts."""
        self._lists = self._build_lists(self._radius())
        self.u = start_multipliers(self.best.c1, self.best.c2, self.instance.k)

    def _target(self) -> float:
        """Return the cost that the ascent aims at."""
        return self.upper

    def _drop(self, proved: Bound) -> None:
        """Drop the candidates that a bound proves useless."""
        flags = np.zeros(self.sites.columns.shape[1], np.int8)
        dropped, _ = reduce_candidates(proved, flags, self.upper, 0.0)
        self.live = np.flatnonzero(~dropped)

    def reduce(self) -> None:
        """Let the swaps draw from the candidates that are left."""
        self.order = self.order[np.isin(self.order, self.live)]

    def proof(self) -> Proof:
        """Return what was found and proved, in the numbers of the space."""
        back = np.argsort(self.by_client)
        root = Node(-1, -1, 0, [Stage(s.u[back], s.dropped, s.opened) for s in self.root.stages], self.root.lower)
        centers = np.sort(self.by_site[self.best.centers])
        return Proof(centers, self.upper, min(self.upper, self.lower), [root], 0.0, self.iterations)

    # The pieces.

    def _place(self, rows: PointRows) -> None:
        """Take over coordinates, in the order in which they are from now on."""
        self.rows = rows
        self.sites = PointRows(np.ascontiguousarray(rows.candidates.T), rows.candidates, rows.code)

    def _sample_start(self) -> Ints:
        """Return centres found by the matrix search on a sample of clients and candidates; at random if stopped."""
        m, n, k = self.sites.columns.shape[1], self.weights.size, self.instance.k
        candidates = np.sort(self.rng.choice(m, min(m, max(SAMPLE, 10 * k)), replace=False))
        most = max(SAMPLE**2, matrix_budget()) // candidates.size
        clients = np.sort(self.rng.choice(n, min(n, candidates.size, most), replace=False))
        costs = self._costs(clients, candidates)
        if costs is None:
            return candidates[np.sort(self.rng.choice(candidates.size, k, replace=False))]
        search = Search(costs, k, self.rng, self.limits.should_stop)
        search.start()
        if not self.limits.should_stop():
            search.evolve(SAMPLE_WORK * costs.size)
        return np.asarray(candidates[search.centers])

    def _costs(self, clients: Ints, candidates: Ints) -> Floats | None:
        """Return a small weighted cost matrix, candidates x clients; None if stopped on the way."""
        part = PointRows(np.ascontiguousarray(self.rows.columns[:, clients]), self.rows.candidates, self.rows.code)
        costs = np.empty((candidates.size, clients.size))
        for row, j in enumerate(candidates):
            if row % 256 == 0 and self.limits.should_stop():
                return None
            kernels.fill_row(part, j, costs[row])
        costs *= self.weights[clients]
        return costs

    def _sort(self, own: bool) -> None:
        """Reorder clients and candidates by their nearest centre."""
        self.by_client = self.by_site = np.argsort(self.best.near, kind="stable")
        if not own:
            sites = PointRows(self.sites.columns, self.rows.candidates, self.rows.code)
            nearest = self._loaded(self.best.centers, sites).near
            self.by_site = np.argsort(nearest, kind="stable")
        columns = np.ascontiguousarray(self.rows.columns[:, self.by_client])
        candidates = np.ascontiguousarray(self.rows.candidates[self.by_site])
        self.weights = self.weights[self.by_client]
        self._place(PointRows(columns, candidates, self.rows.code))
        self.best = self._loaded(np.flatnonzero(np.isin(self.by_site, self.best.centers)))

    def _loaded(self, centers: Ints, rows: PointRows | None = None) -> State:
        """Return a solution with its caches, for the clients unless other ``rows`` are given."""
        weights = self.weights if rows is None else np.ones(rows.columns.shape[1])
        state = new_state(self.sites.columns.shape[1], weights.size, self.instance.k)
        state.centers[:] = centers
        for part in gen_batches(centers.size, max(1, BLOCK // weights.size)):
            kernels.load_range(self.rows if rows is None else rows, weights, state, part.start, part.stop)
        return state

    def _swap(self, state: State, work: int) -> None:
        """Swap eagerly until locally optimal, ``work`` distances, or stopped."""
        end = int(state.clock[3]) + work
        while not kernels.swap_fly(self.rows, self.sites, self.weights, state, self.order, BLOCK):
            if self.limits.should_stop() or state.clock[3] >= end:
                return

    def most_pairs(self) -> int:
        """Return how many pairs may be listed."""
        return MAX_PAIRS

    def _radius(self) -> Floats | None:
        """Return the largest multiple of the second-nearest cost whose lists fit, estimated on 200 clients."""
        m, n = self.sites.columns.shape[1], self.weights.size
        clients = np.sort(self.rng.choice(n, min(n, 200), replace=False))
        part = self._costs(clients, np.sort(self.rng.choice(m, min(m, 5000), replace=False)))
        if part is None:
            return None
        factor = 1.4
        for factor in (1.4, 1.25, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3):
            share = np.count_nonzero(part < factor * self.best.c2[clients]) / part.size
            if share * m * n <= 0.95 * self.most_pairs():
                break
        return np.ascontiguousarray(factor * self.best.c2)

    def _build_lists(self, radius: Floats | None) -> Lists | None:
        """Return neighbour lists within ``radius``; None if stopped on the way, or before."""
        if radius is None:
            return None
        m, n, k = self.sites.columns.shape[1], self.weights.size, self.instance.k
        grouped = (np.zeros(k + 1, np.int64), np.empty(n, np.int64), np.empty(k))
        kernels.group(self.best, self.weights, radius, self.rows.code, *grouped)
        ptr = np.zeros(m + 1, np.int64)
        idx, val = np.empty(0, np.uint32), np.empty(0)
        step = max(1, BLOCK // max(1, 20 * n // k + k))
        for fill in (False, True):
            if fill:
                np.cumsum(ptr, out=ptr)
                idx, val = np.empty(int(ptr[-1]), np.uint32), np.empty(int(ptr[-1]))
            for part in gen_batches(m, step):
                span = np.array([part.start, part.stop])
                kernels.near_pairs(
                    self.rows, self.sites, self.weights, self.best.centers, grouped, radius, span, ptr, idx, val
                )
                if self.limits.should_stop():
                    return None
        return sorted_lists(ptr, idx, val, radius, self.limits.should_stop)
