"""Windows of a k-median solution: a few neighbouring centres and their clients, all else held fixed.

A large instance with many centres is locally small: sixteen centres with their clients are mostly solved to the
optimum in milliseconds, by the same loop. Where single swaps are stuck on plateaus (rounded distances), windows still
improve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certiclust.space.lists import Floats, Ints


class Window(NamedTuple):
    """A part of an instance.

    Attributes
    ----------
    cost
        Costs of its candidates (rows) and clients (columns); no client pays more than at the nearest centre outside.
    candidates
        The candidates, as the whole instance counts them.
    start
        Rows of `cost` that are centres now.
    outside
        The centres that stay.
    before
        What the clients of the window pay now.
    """

    cost: Floats
    candidates: Ints
    start: Ints
    outside: Ints
    before: float


def cut_window(
    cost: Floats, centers: Ints, live: Ints, home: Ints, middle: int, size: int, rng: np.random.Generator
) -> Window:
    """Return the window around a centre; every other time half of it lies around another one, drawn at random.

    Parameters
    ----------
    cost
        Weighted costs, shape (candidates, clients).
    centers
        The solution.
    live
        Candidates that a better solution may contain.
    home
        Nearest client of every candidate.
    middle
        Position in `centers` of the centre in the middle.
    size
        Centres of the window.
    rng
        Source of the random decisions.
    """
    k, (m, n) = centers.size, cost.shape
    middles = [middle, int(rng.integers(k))] if rng.random() < 0.5 else [middle]
    nearest = [np.argsort(cost[centers, home[centers[j]]], kind="stable")[: size // len(middles)] for j in middles]
    inside = np.zeros(k, bool)
    inside[np.concatenate(nearest)] = True
    paid = cost[centers]
    server = np.argmin(paid, axis=0)
    clients = np.flatnonzero(inside[server])
    is_client, is_candidate = np.zeros(n, bool), np.zeros(m, bool)
    is_client[clients] = True
    is_candidate[live[is_client[home[live]]]] = True
    is_candidate[centers[inside]] = True
    candidates = np.flatnonzero(is_candidate)
    elsewhere = paid[~inside][:, clients].min(axis=0)
    return Window(
        np.minimum(cost[np.ix_(candidates, clients)], elsewhere),
        candidates,
        np.searchsorted(candidates, np.sort(centers[inside])),
        centers[~inside],
        float(paid[server[clients], clients].sum()),
    )
