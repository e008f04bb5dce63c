"""Whether a strictly fair set exists: a cover problem, with a search for a cover and a tree that proves there is none.

A candidate covers the points whose reach it is in, and k candidates must cover all. For beta >= 1 the linear relaxation
is always feasible (PROOFS.md part 7), so only a branch tree can show that there is no cover.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from certiclust.bounds.cover_tree import CoverTree
from certiclust.bounds.packing import relaxed_cover
from certiclust.evolution.cover_search import CoverSearch
from certiclust.problems import FairKMedianProblem, KCenterProblem, critical_balls
from certiclust.solver.fair import reaches
from certiclust.space import Space
from certiclust.space.cover import Cover, Floats, Ints, Sets, reduced_cover, sets_of

#: Work (of about 5 ns) of the tree that looks for a proof.
TREE_WORK = 1.2e9
#: Rows of the first linear program of the tree.
FIRST_ROWS = 300
#: Entries of a cover problem up to which its relaxation is solved, and the size up to which a tree is tried.
MOST_ENTRIES, MOST_DENSE = 2_000_000, 30_000_000
#: Effort of the tabu search where a set must be found, and while the least beta is looked for.
EFFORT, QUICK = 20.0, 4.0
#: Halvings of the interval in which the least beta is looked for.
HALVINGS = 12


class Clock(NamedTuple):
    """When to end: polled by what can be polled, and the seconds left for what cannot."""

    should_stop: Callable[[], bool]
    seconds: Callable[[], float]


def reach_sets(space: Space, reach: Floats) -> Sets:
    """Return, for each point, the candidates within its reach."""
    blocks = [csr_array(distances <= reach, dtype=np.int8) for _, distances in space.blocks()]
    return sets_of(vstack(blocks, format="csr").T.tocsr())


def search_cover(space: Space, k: int, cover: Cover, seed: int, clock: Clock, effort: float = EFFORT) -> Ints | None:
    """Return at most k candidates that cover everything, or None: rounded relaxation and greedy, then tabu search."""
    columns = cover.columns
    if columns.size <= k:
        return columns
    search = CoverSearch(KCenterProblem(space, k), seed, clock.should_stop)
    starts = [greedy_cover(cover, k)]
    if cover.by_client.member.size <= MOST_ENTRIES:
        starts.append(np.sort(np.argsort(-relaxed_cover(cover, clock.seconds()).x, kind="stable")[:k]))
    for start in starts:
        weight = np.ones(cover.clients.size, dtype=np.int64)
        chosen, covered = search.cover(cover.by_client, cover.by_column, start, weight, effort)
        if covered:
            return columns[chosen]
        if clock.should_stop():
            break
    return None


def greedy_cover(cover: Cover, k: int) -> Ints:
    """Return k columns, each the one that covers most of what is left (ties by index)."""
    inside = cover.by_column.matrix().astype(np.int64)
    left = np.ones(cover.clients.size, dtype=np.int64)
    free = np.ones(cover.columns.size, dtype=bool)
    for _ in range(k):
        best = int(np.argmax(np.where(free, inside @ left, -1)))
        free[best] = False
        left[cover.by_column.member[cover.by_column.start[best] : cover.by_column.start[best + 1]]] = 0
    return np.flatnonzero(~free)


def refute(problem: FairKMedianProblem, clock: Clock) -> tuple[dict[str, object] | None, Ints | None]:
    """Return a proof that no k candidates are in everyone's reach, or candidates that are, or neither."""
    space, k = problem.space, problem.k
    cover = reduced_cover(np.arange(space.n), reach_sets(space, reaches(problem)[1]))
    if cover.columns.size <= k:
        return None, cover.columns
    if cover.columns.size * cover.clients.size > MOST_DENSE:
        return None, None
    first = np.linspace(0, cover.clients.size - 1, min(cover.clients.size, FIRST_ROWS)).astype(np.int64)
    tree = CoverTree(cover, k, np.unique(first), clock.should_stop, clock.seconds)
    if not tree.run(TREE_WORK):
        return None, None if tree.found is None else cover.columns[tree.found]
    proof = tree.packed(0.0)
    del proof["threshold"]
    return {**proof, "beta": problem.beta}, None


def least_beta(problem: FairKMedianProblem, seed: int, clock: Clock) -> tuple[float, Ints]:
    """Return the least beta above the problem's for which a fair set was found, and that set, of at most k points.

    Halvings between what was found and what was not. The first set is the greedy's, 2-fair in every metric (Jung,
    Kannan & Lutz 2019), filled up with the points that are worst off.
    """
    space, k = problem.space, problem.k
    centers = critical_balls(space, problem.radii, 1.0, 2.0)[:k]
    while centers.size < k:
        worst = int(np.argmax(problem.fairness(centers)))
        if worst in centers:
            break
        centers = np.append(centers, worst)
    low, high = problem.beta, reached(problem, centers)
    for _ in range(HALVINGS):
        if clock.should_stop() or not high < np.inf or high <= low * (1 + 1e-4):
            break
        middle = 0.5 * (low + high)
        cover = reduced_cover(np.arange(space.n), reach_sets(space, middle * problem.radii))
        found = search_cover(space, k, cover, seed, clock, QUICK)
        if found is None:
            low = middle
        else:
            centers, high = found, reached(problem, found)
    return high, centers


def reached(problem: FairKMedianProblem, centers: Ints) -> float:
    """Return the least float64 beta with d(v, X) <= beta * r(v) for all v, as the product is rounded."""
    nearest, radii = problem.nearest(np.asarray(centers, dtype=np.intp)), problem.radii
    beta = float(problem.fairness(np.asarray(centers, dtype=np.intp)).max())
    while np.isfinite(beta) and np.any(nearest > beta * radii):
        beta = float(np.nextafter(beta, np.inf))
    return max(1.0, beta)
