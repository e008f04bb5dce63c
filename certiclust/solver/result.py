"""What the solver is given and hands back: a budget, and a solution with its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound
from certiclust.evolution.gsemo import HistoryRow

if TYPE_CHECKING:
    from certiclust.solver.fair_run import Fairness

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Budget:
    """When to end: iterations, seconds, or a gap that is small enough; None means no such limit.

    `goal` is a diameter of k-tMM: reaching it, or proving that it cannot be reached, is enough. `share` is the part of
    the usual counted work that search and bound may take, where nothing else limits them.
    """

    max_iter: int | None = None
    time_limit: float | None = None
    gap_tol: float = 0.0
    goal: float | None = None
    share: float = 1.0


@dataclass(frozen=True)
class Result:
    """What the solver hands back.

    Attributes
    ----------
    centers : ndarray of k candidate indices, ascending
        The solution; where it is `positions`, candidates that cost no less and that no single swap improves, or none if
        that was not checked.
    labels : ndarray or None
        The partition, where it is not the one by nearest candidate in `centers`.
    cost : float
        Its cost.
    bound : Bound or None
        What was proved about the optimum; None if nothing was asked for.
    n_iter : int
        Iterations of the evolution.
    history : ndarray
        Time, iteration, upper and lower bound, candidates left.
    method : str
        What was done, in words.
    complete : bool
        Whether the search itself met a size-k solution; otherwise its largest one was filled up by index.
    interrupted, timed_out : bool
        What ended it early, if anything did.
    positions : ndarray of shape (k, l) or None
        The centres, where they are not candidates.
    fairness : Fairness or None
        What there is to say about fairness, for fair k-median.
    multipliers, columns : ndarray or None
        The last ones of the bound of k-median, or of a chained one of k-means: a start for another k.
    spent : float
        Part of the usual work that k-center or k-tMM did; 1 for the others.
    """

    centers: IntArray
    labels: NDArray[np.int32] | None
    cost: float
    bound: Bound | None
    n_iter: int
    history: NDArray[np.void]
    method: str
    complete: bool
    interrupted: bool
    timed_out: bool
    positions: FloatArray | None = None
    fairness: Fairness | None = None
    multipliers: FloatArray | None = None
    columns: FloatArray | None = None
    spent: float = 1.0


@dataclass(frozen=True)
class Found:
    """What a search found, before the last checks."""

    centers: IntArray
    bound: Bound | None
    n_iter: int
    history: list[HistoryRow]
    method: str
    complete: bool = True
    labels: NDArray[np.int32] | None = None
    positions: FloatArray | None = None
    cost: float | None = None
    cut: bool = False  # whether the search ended by the clock, before its own end
    fairness: Fairness | None = None
    multipliers: FloatArray | None = None
    columns: FloatArray | None = None
    spent: float = 1.0
