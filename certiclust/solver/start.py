"""Where a search starts: what is known from another size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from certiclust.space.lists import Ranking

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """A solution to start from, the multipliers of a bound, and sorted distances.

    The search returns nothing worse than the solution.

    Attributes
    ----------
    centers : ndarray or None
        k candidates (k-median, k-center).
    labels : ndarray or None
        A partition into at most k clusters (k-tMM).
    hard : ndarray or None
        Points that are hard to split into few clusters (k-tMM): a working set for the bound.
    positions : ndarray or None
        k places (k-means).
    multipliers : ndarray or None
        One per client, for the Lagrangian bound of k-median and for the boxes of k-means.
    columns : ndarray or None
        Places at which the boxes of k-means had their least reduced costs.
    ranking : Ranking or None
        The candidates of every client by distance, for k-median.
    """

    centers: IntArray | None = None
    labels: NDArray[np.int32] | None = None
    hard: IntArray | None = None
    positions: FloatArray | None = None
    multipliers: FloatArray | None = None
    columns: FloatArray | None = None
    ranking: Ranking | None = None


#: Nothing is known.
NOWHERE = Start()
