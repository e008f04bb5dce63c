"""Lower bound of k-means in any dimension: the semidefinite relaxation of Peng and Wei (2007), with a safe dual.

With s_i = sqrt(w_i), W = sum w, rows centred, G the Gram matrix of the rows s_i x_i and P the projection away from s, a
partition into at most k clusters is a matrix Z with Z s = s, trace at most k, all eigenvalues in [0, 1] and no negative
entry, and costs ``tr G - <G, Z>``. For any symmetric B >= 0 that is at least ``tr G - s'Bs/W`` minus the k - 1 largest
eigenvalues of P (G + B) P. An alternating direction method finds a good B; the bound never depends on how good it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Iterations between two looks at the bound.
LOOK = 10
#: A gap that is wide, and the share of it that iterations between two looks must close then.
WIDE, LEAST = 0.2, 0.15
#: A gap that is narrow.
NARROW = 0.02
#: Levels to which B is rounded.
LEVELS = 2**14


class Sdp(NamedTuple):
    """A proven bound with its evidence: ``B = unit * entries``, integers, symmetric."""

    lower: float
    unit: float
    entries: NDArray[np.int32]
    work: float


def dual_value(points: Floats, weights: Floats, k: int, B: Floats) -> float:
    """Return the bound that B proves, rounding subtracted (PROOFS.md part 6); rows must be centred near their mean."""
    n, width = points.shape
    s, total = np.sqrt(weights), float(weights.sum())
    Y = s[:, None] * (points - weights @ points / total)
    G = Y @ Y.T
    trace, linear = float(np.trace(G)), float(s @ B @ s) / total
    M = _projected(G + B, s, total)
    top = eigh(M, eigvals_only=True, subset_by_index=[max(0, n - k + 1), n - 1]) if k > 1 else np.zeros(1)
    size = float(np.linalg.norm(M)) + trace + linear
    margin = 3.0 * 2.0**-50 * (n + width) * k * size  # three times, for a verifier that sums in another order
    return float(trace - linear - np.maximum(top, 0.0).sum() - margin)


def sdp_bound(
    points: Floats,
    weights: Floats,
    k: int,
    labels: Ints,
    upper: float,
    max_iter: int,
    gap_tol: float = 0.0,
    should_stop: Callable[[], bool] = lambda: False,
    hasty: int | None = None,
) -> Sdp:
    """Return a bound by at most `max_iter` iterations from the clustering `labels`, whose cost is `upper`.

    With `hasty` a gap that stays wide ends it early, and one that is not narrow after so many iterations.
    """
    n = len(points)
    search = _Admm(points, weights, k, labels)
    best, kept = 0.0, np.zeros((n, n))
    checked = 0.0
    for iteration in range(1, max_iter + 1):
        search.step()
        if iteration % LOOK == 0 or iteration == max_iter or should_stop():
            value, before = search.value(), best
            if value > best:
                best, kept = value, search.signs
            gap = upper - best
            if gap <= max(gap_tol * best, 1e-10 * upper) or should_stop():
                break
            if hasty is not None and gap > WIDE * best and best - before < LEAST * gap:
                break
            if hasty is not None and iteration >= hasty and gap > NARROW * best:
                break
            if iteration % (5 * LOOK) == 0:
                if best - checked < 0.03 * gap:
                    break
                checked = best
            search.balance()
    unit = float(kept.max()) / LEVELS
    entries = np.round(kept / unit).astype(np.int32) if unit > 0 else np.zeros((n, n), np.int32)
    return Sdp(
        dual_value(points, weights, k, np.asarray(unit * entries, dtype=np.float64)),
        unit,
        entries,
        iteration * float(n) ** 3,
    )


class _Admm:
    """Two-block splitting: spectral constraints on Z, signs on its copy."""

    def __init__(self, points: Floats, weights: Floats, k: int, labels: Ints) -> None:
        n = len(points)
        self.k, self.s, self.total = k, np.sqrt(weights), float(weights.sum())
        Y = self.s[:, None] * (points - weights @ points / self.total)
        self.G = Y @ Y.T
        self.trace = float(np.trace(self.G))
        mass = np.bincount(labels, weights, minlength=int(labels.max()) + 1)
        self.copy = np.where(labels[:, None] == labels, np.outer(self.s, self.s) / mass[labels][:, None], 0.0)
        self.dual = np.zeros((n, n))
        self.rho = float(np.linalg.norm(self.G)) / np.sqrt(k)
        self.rank = min(n, 3 * k + 10)
        self.primal = self.shift = 0.0

    @property
    def signs(self) -> Floats:
        """The dual of the signs: the matrix B."""
        return np.asarray(-self.rho * self.dual)

    def value(self) -> float:
        """Return the bound of the present B, not safe."""
        M = _projected(self.G + self.signs, self.s, self.total)
        n = len(M)
        top = eigh(M, eigvals_only=True, subset_by_index=[max(0, n - self.k + 1), n - 1]) if self.k > 1 else np.zeros(1)
        return self.trace - float(self.s @ self.signs @ self.s) / self.total - float(np.maximum(top, 0.0).sum())

    def step(self) -> None:
        """One iteration."""
        n = len(self.s)
        M = _projected(self.copy - self.dual + self.G / self.rho, self.s, self.total)
        # All eigenvectors at once take no longer than a fifth of them one by one.
        some: Any = {"driver": "evd"} if 5 * self.rank > n else {"subset_by_index": [n - self.rank, n - 1]}
        values, vectors = eigh(M, overwrite_a=True, check_finite=False, **some)
        share = _capped_simplex(values, self.k - 1)
        used = share > 1e-12
        if 5 * self.rank <= n and used.sum() >= self.rank - 1:
            self.rank = min(n, 2 * self.rank)
        V = vectors[:, used]
        V = V - np.outer(self.s, self.s @ V / self.total)
        Z = (V * share[used]) @ V.T + np.outer(self.s, self.s) / self.total
        before = self.copy
        both = Z + self.dual
        self.copy, self.dual = np.maximum(both, 0.0), np.minimum(both, 0.0)
        self.primal, self.shift = float(np.linalg.norm(Z - self.copy)), float(np.linalg.norm(self.copy - before))

    def balance(self) -> None:
        """Change the penalty if one of the two residuals is much the larger."""
        factor = 1.6 if self.primal > 3 * self.shift else 1 / 1.6 if self.shift > 3 * self.primal else 1.0
        self.rho *= factor
        self.dual /= factor


def _projected(M: Floats, s: Floats, total: float) -> Floats:
    """Return P M P for the projection P away from s."""
    r = M @ s / total
    r -= 0.5 * (s @ r) / total * s
    M = M - np.outer(r, s)
    M -= np.outer(s, r)
    return M


def _capped_simplex(values: Floats, total: float) -> Floats:
    """Return the point of ``{0 <= x <= 1, sum x = total}`` nearest to `values`."""
    # The sum of what is left above a level falls piecewise linearly: exact between its breakpoints.
    levels = np.sort(np.concatenate([values, values - 1.0]))
    sums = np.clip(values - levels[:, None], 0.0, 1.0).sum(axis=1)
    return np.asarray(np.clip(values - np.interp(-total, -sums, levels), 0.0, 1.0))
