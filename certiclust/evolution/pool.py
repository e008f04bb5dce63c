"""Evolution for k-median: a small pool of diverse good solutions, varied by mutation and crossover, polished by swaps.

Work is counted in cost entries read (about a nanosecond each), never by the clock, so a run depends on its seed alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from certiclust.evolution.kernels import swap_search as kernels
from certiclust.evolution.swap_search import copy_state, home_clients, load, new_state, rewind, swap_dense, swap_sparse
from certiclust.space.lists import Floats, Ints, Lists, Ranking, build_lists, choose_radius

#: Exponent of the heavy-tailed number of swaps in a perturbation.
TAIL = 1.5
#: Share of crossovers among the variations.
CROSSOVER = 0.05
#: Share of entering centres drawn from the support of the relaxation.
FAVOUR = 0.7
#: Share of perturbations whose swaps are all in one neighbourhood.
NEARBY = 0.5
#: A leaving centre that is not near the entering one is the cheapest of so many in half of the cases.
CONTEST = 8
#: Work charged for the overhead of one variation.
STEP_WORK = 20_000
#: Solutions kept.
POOL_SIZE = 8
#: A solution polished by the core is polished by all candidates if it is not worse than the best one by this share.
PROMISING = 1e-4
#: Neighbour lists reach this many times the second-nearest centre: multipliers practically never want more.
RADIUS_FACTOR = 1.4
#: Starts that end at the least cost found before no more are made.
HITS = 4
#: Times that the search looks elsewhere without success before little is expected of it.
FRESH = 3
#: Centres from which on swaps look at neighbour lists instead of full rows.
SPARSE_FROM = 20
#: Largest number of listed pairs (24 bytes each).
MAX_PAIRS = 16_000_000


class Search:
    """Incumbent, pool and variation operators on one instance.

    Parameters
    ----------
    cost
        Weighted costs, shape (candidates, clients), C-contiguous.
    k
        Number of centres.
    rng
        Source of all random decisions.
    should_stop
        Polled between blocks of about 20 ms.
    max_iter
        Offspring to make at most.
    ranking
        The candidates of every client by distance, where they were sorted before.
    """

    def __init__(
        self,
        cost: Floats,
        k: int,
        rng: np.random.Generator,
        should_stop: Callable[[], bool] | None = None,
        max_iter: float = np.inf,
        ranking: Ranking | None = None,
    ) -> None:
        m, n = cost.shape
        self.cost, self.k, self.rng, self.should_stop = cost, k, rng, should_stop
        self.max_iter = max_iter
        self.ranking = ranking
        self.order: Ints = np.arange(m)
        self.best = new_state(m, n, k)
        self.pool: list[tuple[float, Ints]] = []
        self.idle = 0
        #: Offspring without success after which the search looks elsewhere.
        self.patience = 60 + k
        self._starts = 0
        #: Offspring made so far, by mutation or crossover.
        self.iterations = 0
        #: Candidates the relaxation uses; the solver sets them.
        self.favoured: Ints = np.zeros(0, np.int64)
        self.lists: Lists | None = None
        #: Neighbour lists reach this many times the second-nearest centre.
        self.reach = RADIUS_FACTOR
        self._trial = new_state(m, n, k)
        #: Nearest client of every candidate: where its surroundings are looked up.
        self.home = home_clients(cost)
        self.best.total[0] = np.inf

    @property
    def upper(self) -> float:
        """Cost of the incumbent."""
        return float(self.best.total[0])

    @property
    def centers(self) -> Ints:
        """The incumbent, ascending."""
        return np.sort(self.best.centers)

    @property
    def work(self) -> int:
        """Cost entries read so far."""
        return int(self._trial.clock[3])

    @property
    def fresh(self) -> bool:
        """Whether the search may still be expected to find better solutions soon."""
        return self.idle < FRESH * self.patience

    def start(self, centers: Ints | None = None) -> None:
        """Swap over full rows of the live candidates, from given centres or from drawn ones."""
        load(self.cost, self._trial, self._drawn() if centers is None else centers)
        swap_dense(self.cost, self._trial, self.rng.permutation(self.order), self.should_stop)
        self._keep()

    def _drawn(self) -> Ints:
        """Return centres drawn one by one, each the nearest to a client chosen with probability as its cost so far.

        Arthur & Vassilvitskii's seeding with distances in place of squares: swaps have less to repair. Every other
        start is uniform instead, because seeding never ends in some basins.
        """
        self._starts += 1
        if self._starts % 2 == 0:
            return self.rng.choice(self.cost.shape[0], self.k, replace=False)
        centers = [int(self.rng.integers(self.cost.shape[0]))]
        nearest = self.cost[centers[0]].copy()
        while len(centers) < self.k:
            shares = np.cumsum(nearest)
            client = int(np.searchsorted(shares, self.rng.random() * shares[-1], side="right"))
            new = int(np.argmin(self.cost[:, min(client, nearest.size - 1)]))
            if new in centers:  # all that is left to gain is ties, or nothing
                free = np.setdiff1d(np.arange(self.cost.shape[0]), centers)
                new = int(free[self.rng.integers(free.size)])
            centers.append(new)
            np.minimum(nearest, self.cost[new], out=nearest)
        return np.array(centers)

    def restart(self, work: int) -> None:
        """Make new starts until about ``work`` entries are read, or several of them ended at the least cost found."""
        limit, hits = self.work + work, 1
        while self.work < limit and hits < HITS and self.iterations < self.max_iter and not self._stopped():
            self.iterations += 1
            before = self.upper
            self.start()
            hits = 1 if self.upper < before else hits + int(self._trial.total[0] == self.upper)
        if hits >= HITS:
            self.idle = FRESH * self.patience  # the best basin is most likely found: no need to look around it for long

    def list_neighbours(self) -> Lists | None:
        """Return the neighbour lists around the incumbent, built when first asked for; None if stopped on the way."""
        if self.lists is None and not self._stopped():
            radius, _ = choose_radius(self.cost, self.best.c2, MAX_PAIRS, self.reach)
            self.lists = build_lists(self.cost, radius, self.should_stop, self.ranking)
        return self.lists

    def polish(self, centers: Ints) -> float:
        """Swap from ``centers`` (filled up or cut to k at random if need be); returns the cost reached."""
        centers = np.unique(centers)
        if centers.size > self.k:
            centers = kernels.greedy_removal(self.cost, centers, self.k)
        elif centers.size < self.k:
            rest = np.setdiff1d(np.arange(self.cost.shape[0]), centers)
            centers = np.concatenate([centers, self.rng.choice(rest, self.k - centers.size, replace=False)])
        load(self.cost, self._trial, centers)
        return self._improve() if self._promising() else float(self._trial.total[0])

    def evolve(self, work: int) -> bool:
        """Vary and polish until about ``work`` entries are read; True if the incumbent improved."""
        before, limit = self.upper, self.work + work
        if self.k >= self.order.size:
            return False
        while self.work < limit and self.iterations < self.max_iter:
            if self._stopped():
                break
            upper = self.upper
            self.idle += 1
            self.iterations += 1
            if self.idle % self.patience == 0:
                self.start()
                self.crossover(newest=True)
            elif len(self.pool) >= 2 and self.rng.random() < CROSSOVER:
                self.crossover()
            else:
                self.perturb()
            self.idle = 0 if self.upper < upper else self.idle
        return self.upper < before

    def _stopped(self) -> bool:
        return self.should_stop is not None and self.should_stop()

    def perturb(self) -> float:
        """Mutate the incumbent by a heavy-tailed number of random swaps, half of them near the entering candidate."""
        trial, rng = self._trial, self.rng
        copy_state(trial, self.best)
        trial.clock[3] += STEP_WORK
        swaps = min(int((1.0 - rng.random()) ** (-1.0 / TAIL)), max(1, self.k // 2))
        nearby = self.lists if rng.random() < NEARBY else None
        new = -1
        for _ in range(swaps):
            source = self.favoured if self.favoured.size and rng.random() < FAVOUR else self.order
            if nearby is not None and new >= 0:
                client = self.home[new]
                source = nearby.row_idx[nearby.row_ptr[client] : nearby.row_ptr[client + 1]].astype(np.int64)
                source = source if source.size else self.order  # a client with two free centres has an empty list
            new = int(source[rng.integers(source.size)])
            if trial.slot[new] >= 0:
                continue
            kind = rng.random()
            client = self.home[new]
            if kind < 0.25:
                out = int(rng.integers(self.k))
            elif kind < 0.5:
                few = rng.integers(self.k, size=CONTEST)
                out = int(few[np.argmin(trial.loss[few])])
            else:
                out = int(trial.near[client] if kind < 0.75 else trial.second[client])
            kernels.exchange(self.cost, trial, out, new)
        return self._improve() if self._promising() else float(trial.total[0])

    def _promising(self) -> bool:
        """Polish the trial by the core alone: a tenth of the work, and few solutions deserve the rest.

        The core is what the relaxation opens and what good solutions have open: nearly all of the optimum. Before there
        is a relaxation every solution deserves it.
        """
        if self.favoured.size == 0:
            return True
        core = np.union1d(self.favoured, np.concatenate([centers for _, centers in self.pool]))
        self._swap(core)
        if self._trial.total[0] == self.upper:
            return not np.array_equal(np.sort(self._trial.centers), self.centers)
        return bool(self._trial.total[0] <= self.upper * (1.0 + PROMISING))

    def crossover(self, newest: bool = False) -> float:
        """Union of two solutions, greedy removal down to k, polish; ``newest``: the incumbent and the last start."""
        if newest:
            one, two = self.best.centers, self._trial.centers
        else:
            first, second = self.rng.choice(len(self.pool), 2, replace=False)
            one, two = self.pool[first][1], self.pool[second][1]
        union = np.union1d(one, two)
        self._trial.clock[3] += 3 * union.size * self.cost.shape[1] + STEP_WORK
        load(self.cost, self._trial, kernels.greedy_removal(self.cost, union, self.k))
        return self._improve()

    def _improve(self) -> float:
        """Polish the trial and offer it to the pool."""
        self._swap(self.order)
        return self._keep()

    def _swap(self, order: Ints) -> None:
        """Swap while a candidate in ``order`` improves the trial."""
        rewind(self._trial, int(self.rng.integers(max(1, order.size))))
        # With few centres the lists hold so large a share of all pairs that full rows are read faster.
        lists = self.list_neighbours() if self.k >= SPARSE_FROM else None
        if lists is None:
            swap_dense(self.cost, self._trial, order, self.should_stop)
        else:
            swap_sparse(self.cost, lists, self._trial, order, self.home, self.should_stop)

    def _keep(self) -> float:
        """Update incumbent and pool by the trial; an equally good incumbent is replaced too, to cross plateaus."""
        total = float(self._trial.total[0])
        if total <= self.upper:
            copy_state(self.best, self._trial)
        if len(self.pool) >= POOL_SIZE and total >= self.pool[-1][0]:
            return total
        centers = np.sort(self._trial.centers)
        # One member per basin: of solutions that share nearly all centres only the best stays.
        same = self.k - max(1, self.k // 12)
        close = [
            p
            for p in range(len(self.pool))
            if np.intersect1d(self.pool[p][1], centers, assume_unique=True).size >= same
        ]
        if any(self.pool[p][0] <= total for p in close):
            return total
        for p in reversed(close):
            self.pool.pop(p)
        self.pool.append((total, centers))
        self.pool.sort(key=lambda item: item[0])
        del self.pool[POOL_SIZE:]
        return total
