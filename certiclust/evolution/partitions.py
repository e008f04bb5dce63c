"""Evolution of partitions: a small pool of partial colourings, crossed class by class and repaired by recolouring.

The hybrid evolutionary algorithm of graph colouring (Galinier & Hao 1999, Moalic & Gondran 2018), here on
the graph {d >= t} whose colour classes are clusters of diameter below t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certiclust.evolution.recolouring import Labels, Recolouring

#: Partitions kept.
POOL_SIZE = 5
#: Probability that an offspring replaces the worse parent although it leaves more points without a cluster.
ACCEPT = 0.2


class Partitions:
    """A pool of partitions that are bred at one threshold after another.

    Parameters
    ----------
    search
        The tabu search that repairs an offspring.
    seed
        Seed of all random decisions.
    """

    def __init__(self, search: Recolouring, seed: int) -> None:
        self.search = search
        self._rng = np.random.default_rng(seed)
        self._pool: list[tuple[int, Labels]] = []

    def add(self, labels: Labels, missing: int) -> None:
        """Add a partition that leaves so many points without a cluster; the worst one goes if there are too many."""
        self._pool.append((missing, labels.copy()))
        if len(self._pool) > POOL_SIZE:
            worst = max(range(len(self._pool) - 1), key=lambda t: self._pool[t][0])
            del self._pool[worst]

    def breed(self, threshold: float, budget: float) -> Labels | None:
        """Cross two members of the pool and search from there; return a partition below `threshold` if one is met.

        Parameters
        ----------
        threshold : float
            Clusters must have diameters below it.
        budget : float
            Distances to read.
        """
        one, two = self._rng.choice(len(self._pool), 2, replace=False).tolist()
        child = crossed(self._pool[one][1], self._pool[two][1], self.search.k)
        found = self.search.search(child, threshold, budget)
        missing = len(self.search.pending)
        worse = one if self._pool[one][0] >= self._pool[two][0] else two
        if found is not None:
            self._pool[worse] = (0, found.copy())
        elif missing <= self._pool[worse][0] or self._rng.random() < ACCEPT:
            self._pool[worse] = (missing, self.search.partial)
        return found

    @property
    def size(self) -> int:
        """Number of partitions kept."""
        return len(self._pool)


def crossed(one: Labels, two: Labels, k: int) -> Labels:
    """Return the greedy partition crossover of two partitions: the largest class of each in turn, k of them in all.

    What was taken is taken out of the other parent; points in none of the k classes get label -1.
    """
    child: NDArray[np.int32] = np.full(one.size, -1, dtype=np.int32)
    parents = [one.copy(), two.copy()]
    for label in range(k):
        parent = parents[label % 2]
        sizes = np.bincount(parent[parent >= 0], minlength=k)
        members = np.flatnonzero(parent == sizes.argmax()) if sizes.any() else np.zeros(0, dtype=np.intp)
        child[members] = label
        for other in parents:
            other[members] = -1
    return child
