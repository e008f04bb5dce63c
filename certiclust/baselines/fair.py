"""Individually fair k-median as others do it, written from the papers' ideas, for comparison.

All take a symmetric distance matrix and the fair radii, and return centres, ascending.
"""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: Swaps of several centres at a time that are looked at in one round, at most.
MOST_SWAPS = 200_000
#: Rounds of cuts of the linear relaxation, and the violation that is worth one.
ROUNDS, VIOLATED = 60, 1e-6


def jung_kannan_lutz(D: FloatArray, radii: FloatArray, k: int, halvings: int = 12) -> IntArray:
    """Return a set that is 2-fair at worst (Jung, Kannan & Lutz 2019), filled up greedily by cost.

    The greedy takes the uncovered point of least radius and covers everyone within a factor of their own radius. The
    least factor up to 2 with at most k centres is looked for by halving; it need not be the least of all.
    """
    low, high = 1.0, 2.0
    centers = _greedy(D, radii, high)
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        found = _greedy(D, radii, middle)
        if len(found) <= k:
            centers, high = found, middle
        else:
            low = middle
    return _filled(D, centers, k)


def _greedy(D: FloatArray, radii: FloatArray, factor: float) -> list[int]:
    centers: list[int] = []
    covered = np.zeros(len(D), dtype=bool)
    for v in np.argsort(radii, kind="stable"):
        if not covered[v]:
            centers.append(int(v))
            covered |= D[v] <= factor * radii
    return centers


def _filled(D: FloatArray, centers: list[int], k: int) -> IntArray:
    """Add the centres that lower the cost most, one by one."""
    centers = list(centers)
    nearest = D[centers].min(axis=0)
    while len(centers) < k:
        totals = np.minimum(D, nearest).sum(axis=1)
        totals[centers] = np.inf
        centers.append(int(np.argmin(totals)))
        nearest = np.minimum(nearest, D[centers[-1]])
    return np.sort(np.array(centers, dtype=np.intp))


def mahabadi_vakilian(D: FloatArray, balls: Mask, start: IntArray, swaps: int = 1) -> IntArray:
    """Return a local optimum of the cost among sets with a centre in every ball (Mahabadi & Vakilian 2020).

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Distances.
    balls : ndarray of shape (q, n)
        Which points lie in which ball; the start must meet them all.
    start : ndarray
        Centres to start from.
    swaps : int, default=1
        Centres exchanged at a time: the paper's proof needs 4, which is affordable for tiny instances only.
    """
    centers = np.sort(np.asarray(start, dtype=np.intp))
    if swaps > 1 and comb(len(centers), swaps) * comb(len(D), swaps) > MOST_SWAPS:
        raise ValueError(f"swaps={swaps} means more than {MOST_SWAPS} exchanges a round here; use swaps=1.")
    while True:
        better = _best_swap(D, balls, centers) if swaps == 1 else _some_swap(D, balls, centers, swaps)
        if better is None:
            return centers
        centers = better


def _best_swap(D: FloatArray, balls: Mask, centers: IntArray) -> IntArray | None:
    k = len(centers)
    to_centers = D[centers]
    order = np.argsort(to_centers, axis=0, kind="stable")
    everyone = np.arange(len(D))
    first = to_centers[order[0], everyone]
    second = to_centers[order[1], everyone] if k > 1 else np.full(len(D), np.inf)
    cost, met = float(first.sum()), balls[:, centers].sum(axis=1)
    best, change = None, cost * (1 - 1e-9)
    for t in range(k):
        needed = balls[met - balls[:, centers[t]] == 0]  # balls that only this centre meets
        allowed = needed.all(axis=0)
        allowed[centers] = False
        without = np.where(order[0] == t, second, first)
        totals = np.where(allowed, np.minimum(D, without).sum(axis=1), np.inf)
        j = int(np.argmin(totals))
        if totals[j] < change:
            best, change = (t, j), float(totals[j])
    if best is None:
        return None
    return np.sort(np.append(np.delete(centers, best[0]), best[1]))


def _some_swap(D: FloatArray, balls: Mask, centers: IntArray, swaps: int) -> IntArray | None:
    outside = np.setdiff1d(np.arange(len(D)), centers)
    cost = float(D[centers].min(axis=0).sum())
    for count in range(1, swaps + 1):
        for out, new in product(combinations(centers.tolist(), count), combinations(outside.tolist(), count)):
            trial = np.sort(np.append(np.setdiff1d(centers, out), new)).astype(np.intp)
            fair = balls[:, trial].any(axis=1).all()
            if fair and float(D[trial].min(axis=0).sum()) < cost * (1 - 1e-9):
                return trial
    return None


def lp_rounding(D: FloatArray, radii: FloatArray, k: int, beta: float) -> IntArray | None:
    """Return centres rounded from the linear relaxation, in the manner of Negahbani & Chakrabarty (2021).

    Every point is given a radius: beta fair radii, or twice what it pays in the relaxation if that is less, so that its
    ball holds half a centre. Disjoint balls, smallest first, leave at most 2k representatives; of those, k are chosen
    that serve everyone cheapest, such that each one or its neighbour is. None if the relaxation has no solution.
    """
    solved = relaxation(D, beta * radii, k)
    if solved is None:
        return None
    paid = solved[1]
    radius = np.minimum(beta * radii, 2.0 * paid)
    owner = np.full(len(D), -1)
    chosen: list[int] = []
    for v in np.argsort(radius, kind="stable"):
        if owner[v] < 0:
            owner[(owner < 0) & (D[v] <= 2.0 * radius)] = len(chosen)
            owner[v] = len(chosen)
            chosen.append(int(v))
    if len(chosen) <= k:
        return _filled(D, chosen, k)
    weight = np.bincount(owner, minlength=len(chosen)).astype(np.float64)
    between = D[np.ix_(chosen, chosen)]
    apart = between + np.diag(np.full(len(chosen), np.inf))
    neighbour = np.argmin(apart, axis=1)
    # Choosing all but a few: a representative that is not chosen costs its weight times the way to its neighbour.
    saved = weight * apart.min(axis=1)
    pairs = np.zeros((len(chosen), len(chosen)))
    pairs[np.arange(len(chosen)), np.arange(len(chosen))] = 1.0
    pairs[np.arange(len(chosen)), neighbour] = 1.0
    rules = [LinearConstraint(pairs, lb=1.0), LinearConstraint(np.ones((1, len(chosen))), ub=k)]
    outcome = milp(-saved, integrality=np.ones(len(chosen), dtype=np.int64), bounds=Bounds(0, 1), constraints=rules)
    if outcome.x is None:
        return None
    return _filled(D, [c for c, x in zip(chosen, outcome.x, strict=True) if x > 0.5], k)


def relaxation(D: FloatArray, reach: FloatArray, k: int) -> tuple[FloatArray, FloatArray] | None:
    """Solve the linear relaxation of fair k-median by cuts: shares of centres and what everyone pays; None if empty.

    t_v >= d* - sum of (d* - d(v, u)) y_u over u nearer than d*, for any distance d* of v: cuts are added where they are
    violated most, and every reach holds one centre.
    """
    import highspy

    n = len(D)
    order = np.argsort(D, axis=1, kind="stable")
    sorted_d = np.take_along_axis(D, order, axis=1)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1)):
        solver.setOptionValue(name, value)
    solver.addVars(2 * n, np.zeros(2 * n), np.append(np.ones(n), np.full(n, highspy.kHighsInf)))
    costs = np.append(np.zeros(n), np.ones(n))
    solver.changeColsCost(2 * n, np.arange(2 * n, dtype=np.int32), costs)
    solver.addRow(0.0, float(k), n, np.arange(n, dtype=np.int32), np.ones(n))
    for row in np.unique(reach[:, None] >= D, axis=0):
        inside = np.flatnonzero(row).astype(np.int32)
        solver.addRow(1.0, highspy.kHighsInf, inside.size, inside, np.ones(inside.size))

    def cut(v: int, position: int) -> None:
        far = sorted_d[v, position]
        gain = far - sorted_d[v, :position]
        near = order[v, :position][gain > 0].astype(np.int32)
        columns = np.append(near, np.int32(n + v)).astype(np.int32)
        solver.addRow(float(far), highspy.kHighsInf, columns.size, columns, np.append(gain[gain > 0], 1.0))

    share = max(1, n // k)
    for v in range(n):
        for position in sorted({min(n - 1, max(1, share // 3)), min(n - 1, share)}):
            cut(v, position)
    for _ in range(ROUNDS):
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = np.array(solver.getSolution().col_value)
        y, t = solution[:n], solution[n:]
        shares = y[order]
        full = np.argmax(np.cumsum(shares, axis=1) >= 1 - 1e-9, axis=1)
        far = sorted_d[np.arange(n), full]
        before = np.arange(n) < full[:, None]
        paid = far - np.where(before, (far[:, None] - sorted_d) * shares, 0.0).sum(axis=1)
        short = np.flatnonzero(paid - t > VIOLATED * max(1.0, float(t.mean())))
        if short.size == 0:
            break
        for late in short[full[short] > 0].tolist():
            cut(late, int(full[late]))
    return y, paid
