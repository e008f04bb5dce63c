"""From the solution of a neighbouring size to a start: one cluster more that costs no more, or one less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import swap_bound
from certiclust.evolution.swaps import least_swap_change
from certiclust.problems import KCenterProblem, KMeansProblem, KMedianProblem, KTMMProblem, Problem, SumProblem
from certiclust.solver.ktmm_run import split
from certiclust.solver.result import Result
from certiclust.solver.start import Start

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]

#: Distances looked at for the best additional centre; where all are more, candidates are drawn.
MAX_DISTANCES = 8_000_000
#: Distances held at a time.
BLOCK = 2_000_000


def grown(problem: Problem, smaller: Result, seed: int) -> Start:
    """Return where the search for k clusters starts, given a result for k - 1.

    One centre is added, or one cluster split: no client pays more than before, so the start costs no more than the
    smaller solution, and what a search makes of it neither.

    Parameters
    ----------
    problem : Problem
        The problem with k clusters.
    smaller : Result
        What was found for k - 1 on the same space.
    seed : int
        Seed of the candidates that are drawn where there are too many.
    """
    if isinstance(problem, KTMMProblem):
        labels = problem.space.assign(smaller.centers)[0] if smaller.labels is None else smaller.labels
        return Start(labels=_split_widest(problem, labels))
    if isinstance(problem, KCenterProblem):
        farthest = int(np.argmax(problem.nearest(smaller.centers)))
        return Start(centers=_with(problem, smaller.centers, farthest))
    if isinstance(problem, KMeansProblem) and smaller.positions is not None:
        paid = problem.assign_positions(smaller.positions)[1]
        rows = _drawn(problem.space.weights * paid, problem.space.n, seed)
        best = rows[np.argmax(_gains(problem, rows, paid, problem.space.points))]
        positions = np.concatenate([smaller.positions, problem.space.points[[best]]])
        return Start(positions=positions, multipliers=smaller.multipliers, columns=smaller.columns)
    if isinstance(problem, (KMedianProblem, KMeansProblem)):
        paid = problem.nearest(smaller.centers)
        rows = _drawn(problem.space.weights * paid if problem.space.own else np.ones(problem.space.m), len(paid), seed)
        best = int(rows[np.argmax(_gains(problem, rows, paid, None))])
        return Start(centers=_with(problem, smaller.centers, best), multipliers=smaller.multipliers)
    return Start()


def at_least_as_good(problem: Problem, result: Result, smaller: Result, seed: int) -> Result:
    """Return what an algorithm found for k, or a smaller solution with one cluster more, if that costs less.

    What was proved about the optimum still holds, and the ratio for a lower cost all the more; which swaps improve a
    set of centres is looked at again.
    """
    begin = grown(problem, smaller, seed)
    bound, labels = result.bound, None
    if isinstance(problem, KTMMProblem):
        assert begin.labels is not None
        parted = split(begin.labels, problem.k)
        reach = problem.reach(parted)
        centers, labels = problem.central(parted, reach)
        cost = float(reach.max())
    else:
        assert begin.centers is not None
        centers, cost = begin.centers, problem.cost(begin.centers)
    if cost >= result.cost:
        return result
    if isinstance(problem, SumProblem) and bound is not None:
        bound = swap_bound(problem, centers, least_swap_change(problem, centers))
    method = f"{result.method}; taken from k = {problem.k - 1} with one cluster more, which costs less"
    history = result.history.copy()
    history["upper"][-1] = cost
    return replace(
        result, centers=centers, labels=labels, cost=cost, bound=bound, history=history, method=method, complete=True
    )


def shrunk(problem: Problem, larger: Result, seed: int) -> Start:
    """Return where the search for k clusters starts, given a result for k + 1.

    Without the centre that is missed least; for k-tMM with those two clusters merged whose union is least wide.
    """
    if isinstance(problem, KTMMProblem):
        assert larger.labels is not None
        witness = {} if larger.bound is None else larger.bound.witness
        return Start(labels=_merge_closest(problem, larger.labels, seed), hard=witness.get("uncolourable"))
    near = problem.space.distances(larger.centers)
    owner = near.argmin(axis=0)
    nearest, second = np.partition(near, 1, axis=0)[:2]
    losses = np.bincount(owner, problem.space.weights * (second - nearest), len(larger.centers))
    return Start(centers=np.delete(larger.centers, losses.argmin()), multipliers=larger.multipliers)


def _with(problem: Problem, centers: IntArray, added: int) -> IntArray:
    """Return centres with one more; the first candidate that is none where the one to add is one already."""
    if added in centers:
        added = int(np.setdiff1d(np.arange(problem.space.m), centers)[0])
    return np.sort(np.append(centers, added)).astype(np.intp)


def _drawn(shares: FloatArray, n: int, seed: int) -> IntArray:
    """Return all rows, or where those are too many some, drawn with probability as their shares."""
    most = max(1, MAX_DISTANCES // n)
    if len(shares) <= most:
        return np.arange(len(shares))
    ends = np.cumsum(shares)
    places = np.searchsorted(ends, np.random.default_rng(seed).random(most) * ends[-1], side="right")
    return np.unique(np.minimum(places, len(shares) - 1))


def _gains(problem: Problem, rows: IntArray, paid: FloatArray, points: FloatArray | None) -> FloatArray:
    """Return what each row saves as an additional centre: of `points`, or of the candidates."""
    space = problem.space
    gains = np.empty(len(rows))
    size = max(1, BLOCK // space.n)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        block = space.distances(part) if points is None else space.metric.block(points[part], points)
        gains[start : start + size] = np.maximum(paid - block, 0.0) @ space.weights
    return gains


def _split_widest(problem: KTMMProblem, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a partition whose widest cluster is split: its members go to the nearer of two that are far apart."""
    reach = problem.reach(labels)
    one = int(np.argmax(reach))
    members = np.flatnonzero(labels == labels[one])
    from_one = problem.space.between(np.array([one]), members)[0]
    other = members[int(np.argmax(from_one))]
    nearer = problem.space.between(np.array([other]), members)[0] < from_one
    parted = labels.copy()
    parted[members[nearer]] = labels.max() + 1
    return parted


def _merge_closest(problem: KTMMProblem, labels: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """Return a partition with two clusters merged: those with the least distance between their farthest members.

    Of many points only some, drawn, are looked at from.
    """
    space, count = problem.space, int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count))
    rows = _drawn(np.ones(space.n), space.n, seed)
    width = np.empty((count, count))
    size = max(1, BLOCK // space.n)
    for c in range(count):
        members, farthest = rows[labels[rows] == c], np.zeros(space.n)
        for first in range(0, len(members), size):
            np.maximum(farthest, space.distances(members[first : first + size]).max(axis=0), out=farthest)
        width[c] = np.maximum.reduceat(farthest[order], starts)
    width = np.maximum(width, width.T)
    np.fill_diagonal(width, np.inf)
    one, other = sorted(np.unravel_index(int(np.argmin(width)), width.shape))
    merged = np.where(labels == other, one, labels)
    return np.asarray(merged - (merged > other), dtype=np.int32)
