"""Search for a small radius: GSEMO from a farthest-first start, and tabu search for covers below the incumbent.

Two processes share their finds. P of Algorithm 1 begins with the prefixes of a farthest-first order instead of the
empty set, so the theorem's condition, f1 >= 0 at size k, holds from the first moment; it is never lost, because of
equal sizes the larger f1 survives. The tabu search minimises the radius itself: a reproduction operator whose
offspring enter P as well.

The tabu search is after Zhang, Lü, Su, Li, Liu & Tang, "Vertex weighting-based tabu search for p-center problem",
IJCAI 2020, with the client working set of Chen & Chen (2009): only a few hundred clients are looked at, and those that
a cover of them leaves out are added.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from certiclust.evolution.engines import Member
from certiclust.evolution.gsemo import plain_gsemo, random_choices, survivors
from certiclust.evolution.kernels.rng import seeded
from certiclust.evolution.recenter import recenter
from certiclust.problems import KCenterProblem
from certiclust.space.cover import ClientLists, Floats, Ints, Sets
from certiclust.space.farthest import farthest_first

#: Farthest-first starts.
STARTS = 4
#: Iterations of Algorithm 1 in a round of search; beyond so many entries of its distances it is left out.
GENERATIONS, GSEMO_ENTRIES = 500, 3_000_000
#: Work charged for an iteration of it, besides one unit per bit.
GENERATION_WORK = 2500.0
#: Clients in the working set at the start: this many, or this many times k.
FEWEST_CLIENTS, CLIENTS_PER_CENTER = 300, 16
#: First relative step below the incumbent, and the least; after it anything strictly below is asked for.
FIRST_STEP, LAST_STEP = 0.08, 2e-4
#: From so many candidates on the search looks at a pool of them: this many at random, and this many near each centre.
POOL_FROM, POOL, POOL_NEAR = 8000, 4000, 60
#: A column that moved stays for up to so many steps.
TENURE = 3
#: List entries read between two polls of `should_stop` (about 30 ms).
BLOCK_WORK = 10_000_000
#: Work of one try: so many times the list entries, above a first amount fewer times; the last step gets more.
FIRST_PASSES, FIRST_WORK, TRY_PASSES, LAST_FACTOR = 200.0, 2e6, 40.0, 20.0


def spread(problem: KCenterProblem, distance: Floats, threshold: float, most: int, apart: float) -> Ints:
    """Return clients at least `threshold` from their centre, farthest first, mutually more than `apart` apart."""
    left = np.where(distance >= threshold, distance, -1.0)
    picked: list[int] = []
    while len(picked) < most:
        client = int(np.argmax(left))
        if left[client] < 0:
            break
        picked.append(client)
        left[problem.space.distances(np.array([client]))[0] <= apart] = -1.0
        left[client] = -1.0
    return np.array(picked, dtype=np.int64)


class CoverSearch:
    """The incumbent of a k-center problem, and the means to improve it.

    Parameters
    ----------
    problem : KCenterProblem
        What to solve.
    seed : int
        Seed of all decisions.
    should_stop : callable
        Polled every few milliseconds.
    max_steps : float
        Swaps not to be exceeded.
    """

    def __init__(
        self, problem: KCenterProblem, seed: int, should_stop: Callable[[], bool], max_steps: float = inf
    ) -> None:
        self.problem, self.should_stop, self.max_steps = problem, should_stop, max_steps
        self.upper = inf
        self.centers: Ints = np.zeros(0, dtype=np.int64)
        #: The largest h of a size-k solution with f1 >= 0 met, and its k + 1 points; -1 before the first.
        self.h = -1.0
        self.apart: Ints | None = None
        self.steps = 0
        self.work = 0.0
        self.fails = 0
        self._state = seeded(seed)
        self._rng = np.random.default_rng(seed)
        self._lists: ClientLists | None = None
        self._pooled = problem.space.m > POOL_FROM
        self._step = FIRST_STEP
        self._current: Ints = self.centers
        self._weight: Ints = np.zeros(0, dtype=np.int64)
        #: P of Algorithm 1; empty where it is left out.
        self.population: list[Member] = []
        self.generations = 0
        self._choose = random_choices(problem.space.m, seed)

    @property
    def lists(self) -> ClientLists:
        """The working set; there once `start` was called."""
        assert self._lists is not None
        return self._lists

    def start(self) -> None:
        """Take the best of a few farthest-first solutions, and its first points as the working set."""
        problem, n = self.problem, self.problem.space.n
        size = min(n, max(FEWEST_CLIENTS, CLIENTS_PER_CENTER * problem.k, problem.k + 1))
        best_first = 0
        for first in self._rng.integers(n, size=STARTS):
            before = self.upper
            order, gaps, nearest = farthest_first(problem.space, problem.k, int(first))
            self._certify(order, nearest)
            if not self.population:
                self._populate(order, gaps, float(nearest.max()))
            self.offer(order, nearest if order.size == problem.k else None)
            if self.upper < before:
                best_first = int(first)
            if self.should_stop():
                size = min(size, problem.k + 1)
                break
        clients, _, _ = farthest_first(problem.space, size, best_first, should_stop=self.should_stop)
        self.work += 1.0 * n * (STARTS * problem.k + 2 * size)
        self._recenter()
        self._look_at(clients)

    def _recenter(self) -> None:
        """Move the incumbent's centres within their clusters: the pool need not hold the best places of many points."""
        if self._pooled:
            self.offer(*recenter(self.problem, self.centers.astype(np.intp), self.should_stop))
            self.work += 10.0 * self.problem.k * self.problem.space.n

    def _look_at(self, clients: Ints) -> None:
        """Set up the working set around the incumbent; where there are many candidates, with a pool of them."""
        pool = self._draw_pool() if self._pooled else None
        self._lists = ClientLists(self.problem.space, clients, self.upper, pool, self.should_stop)
        self._current = self.centers.copy()
        self._weight = np.ones(self.lists.clients.size, dtype=np.int64)
        self.work += 1.0 * clients.size * (self.problem.space.m if pool is None else pool.size)

    def _draw_pool(self) -> Ints:
        """Return the incumbent's centres, some candidates near each of them, and some anywhere."""
        space = self.problem.space
        parts = [self.centers, self._rng.choice(space.m, POOL, replace=False)]
        for center in self.centers:
            if self.should_stop():
                break
            near = np.flatnonzero(space.distances(np.array([center]))[0] < 0.3 * self.upper)
            parts.append(self._rng.choice(near, min(near.size, POOL_NEAR), replace=False))
        self.work += 1.0 * self.problem.k * space.n
        return np.unique(np.concatenate(parts))

    def _certify(self, order: Ints, nearest: Floats) -> None:
        """Keep the k + 1 points that a farthest-first solution proves to be pairwise at least its radius apart."""
        h = float(nearest.max()) if order.size == self.problem.k else 0.0
        if h > self.h:
            self.h, self.apart = h, np.append(order, np.argmax(nearest)) if h > 0 else None

    def _populate(self, order: Ints, separations: Floats, radius: float) -> None:
        """Let P be the prefixes of a farthest-first order: each has f1 >= 0, known without any evaluation."""
        if self.problem.space.n * self.problem.k > GSEMO_ENTRIES:
            return
        radii = np.append(separations[1:], radius)
        best = -inf
        for size in range(order.size, -1, -1):  # a prefix is in P if no longer one has at least its f1
            f1 = inf if size <= 1 else float(separations[size - 1] - radii[size - 1])
            if f1 > best:
                self.population.insert(0, Member(np.sort(order[:size]).astype(np.intp), (0, f1)))
                best = f1

    def breed(self) -> None:
        """Run some iterations of Algorithm 1, and take what P has at size k as a solution and for the bound."""
        count = int(min(GENERATIONS, self.max_steps - self.steps))
        if not self.population or count <= 0:
            return
        before = self.population[-1]
        self.population = plain_gsemo(self.problem, count, self._choose, self.population)
        self.generations += count
        self.steps += count
        self.work += count * (GENERATION_WORK + self.problem.space.m)
        last = self.population[-1]
        if last is not before and last.centers.size == self.problem.k:
            distance = self.problem.nearest(last.centers)
            if last.f1[1] >= 0:
                self._certify(last.centers, distance)
            self.offer(last.centers, distance)

    def offer(self, centers: Ints, distance: Floats | None = None) -> Floats:
        """Fill up to k centres, keep them if they are the best, and return the distances of all clients to them.

        Where those are known already, for k distinct centres, they need not be computed.
        """
        k = self.problem.k
        centers = np.unique(centers)
        if centers.size < k:
            spare = np.setdiff1d(np.concatenate([self.centers, np.arange(min(self.problem.space.m, 2 * k))]), centers)
            centers = np.concatenate([centers, spare[: k - centers.size]])
        if distance is None:
            distance = self.problem.nearest(centers.astype(np.intp))
        radius = float(distance.max())
        if radius < self.upper:
            self.upper, self.centers = radius, np.sort(centers)
            if self.population:
                child = self.centers.astype(np.intp)
                self.population = survivors(self.population, Member(child, self.problem.f1(child)))
        self.work += 1.0 * k * distance.size
        return distance

    def learn(self, distance: Floats, threshold: float, most: int, apart: float) -> int:
        """Add clients that a solution leaves uncovered to the working set; returns how many are new."""
        added = self.lists.add(spread(self.problem, distance, threshold, most, apart))
        self._weight = np.concatenate([self._weight, np.ones(added, dtype=np.int64)])
        self.work += 3.0 * added * (self.problem.space.m if self.lists.pool is None else self.lists.pool.size)
        return added

    def run(self, work: float, lower: float, last_tries: int) -> None:
        """Search until about `work` more is done, the radius is down at `lower`, or `last_tries` last steps failed."""
        end = self.work + work
        while self.work < end and last_tries > 0 and lower < self.upper and self.steps < self.max_steps:
            if self.should_stop():
                return
            last = self._step < LAST_STEP
            threshold = self.upper if last else max(lower, self.upper * (1.0 - self._step))
            self.lists.shrink(self.upper)
            if self._try(threshold, LAST_FACTOR if last else 1.0):
                distance = self.offer(self._current)
                if distance.max() >= threshold:
                    self.learn(distance, threshold, max(10, self.problem.k), 0.15 * threshold)
                else:
                    self._weight[:] = 1
                    if last:
                        self._step = 8 * LAST_STEP
            else:
                self.fails += 1
                last_tries -= last
                self._step *= 0.5
                self._weight[:] = 1
                self._go_back(last)
        self._recenter()

    def _go_back(self, last: bool) -> None:
        """Choose where to start after a failure: at the incumbent, now and then at a new farthest-first solution.

        A pool is drawn anew around the incumbent after a last step, with larger steps again.
        """
        problem, pool = self.problem, self.lists.pool
        if pool is not None:
            if last or not np.isin(self.centers, pool).all():
                self._look_at(self.lists.clients)
                self._step = max(self._step, 0.25 * FIRST_STEP) if last else self._step
            self._current = self.centers.copy()
            return
        self._current = self.centers.copy()
        if last and self.fails % 8 == 0:
            order, _, _ = farthest_first(problem.space, problem.k, int(self._rng.integers(problem.space.n)))
            self.work += 1.0 * problem.k * problem.space.n
            if order.size == problem.k:
                self._current = np.sort(order)

    def _try(self, threshold: float, factor: float) -> bool:
        """Look for k columns that cover the working set at a threshold, from the current centres."""
        columns, by_client, by_column = self.lists.columns(threshold, self._current)
        self.work += 20.0 * by_client.member.size + 4.0 * self.lists.distance.size
        start = np.searchsorted(columns, self._current)
        chosen, covered = self.cover(by_client, by_column, start, self._weight, factor)
        self._current = columns[chosen]
        return covered

    def cover(
        self, by_client: Sets, by_column: Sets, start: Ints, weight: Ints, factor: float = 1.0
    ) -> tuple[Ints, bool]:
        """Run the tabu search on a cover problem; returns the columns, and whether they cover everything."""
        from certiclust.evolution.kernels.cover import Lists, Trial, advance, load

        lists = Lists(by_client.start, by_client.member, by_column.start, by_column.member)
        n_rows, n_columns = by_client.number, by_column.number
        trial = Trial(
            chosen=np.array(start, dtype=np.int64),
            slot=np.empty(n_columns, np.int64),
            weight=weight,
            covers=np.empty(n_rows, np.int64),
            owner=np.empty(n_rows, np.int64),
            gain=np.empty(n_columns, np.int64),
            uncovered=np.empty(n_rows, np.int64),
            place=np.empty(n_rows, np.int64),
            free=np.empty(n_columns, np.int64),
            tally=np.zeros(4, np.int64),
        )
        load(lists, trial)
        entries = by_client.member.size
        budget = factor * (min(FIRST_WORK, FIRST_PASSES * entries) + TRY_PASSES * entries)
        covered = bool(trial.tally[0] == 0)
        while not covered and trial.tally[3] < budget and not self.should_stop():
            steps = min(self.max_steps - self.steps - int(trial.tally[2]), 1e15)
            if steps <= 0:
                break
            work = int(min(BLOCK_WORK, budget - float(trial.tally[3])))
            covered = bool(advance(lists, trial, self._state, max(1, work), int(steps), TENURE))
        self.steps += int(trial.tally[2])
        self.work += float(trial.tally[3])
        return trial.chosen, covered
