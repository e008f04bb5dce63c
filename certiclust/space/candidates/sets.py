"""The sets that need no lattice: the data points, and the means of pairs of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class CandidateSet(NamedTuple):
    """Candidate centres with what they are good for.

    Attributes
    ----------
    points : ndarray of shape (m, l)
        The candidates.
    name : str
        ``"data"``, ``"midpoints"``, ``"ladder"``, ``"universal"``, ``"budgeted"`` or ``"array"`` (the user's).
    epsilon : float or None
        Every cluster has a candidate that costs at most 1 + epsilon times its best centre anywhere; None if nothing
        is known.
    """

    points: FloatArray
    name: str
    epsilon: float | None


def data_points(points: FloatArray) -> CandidateSet:
    """Return the rows themselves: some row of a cluster costs at most twice its mean (docs/candidates.md)."""
    return CandidateSet(points, "data", 1.0)


def midpoints(points: FloatArray, max_candidates: int) -> CandidateSet:
    """Return the means of all pairs of rows, a row with itself included: at most 1.5 times the mean.

    Examples
    --------
    >>> import numpy as np
    >>> midpoints(np.array([[0.0], [2.0]]), 10).points.ravel().tolist()
    [0.0, 1.0, 2.0]
    """
    distinct = np.unique(points, axis=0)
    n = len(distinct)
    check_size("midpoints", n * (n + 1) // 2, max_candidates, "")
    first, second = np.triu_indices(n)
    return CandidateSet(distinct[first] + 0.5 * (distinct[second] - distinct[first]), "midpoints", 0.5)


def check_size(name: str, size: float, max_candidates: int, how: str, *, more: bool = False) -> None:
    """Raise ValueError if a set is larger than allowed, with its size and what to change."""
    if size > max_candidates:
        what, instead = described(name)
        raise ValueError(
            f"{what} needs {'more than ' if more else ''}{size:.0f} candidates, above "
            f"max_candidates={max_candidates}; {how}raise max_candidates, or use {instead}."
        )


def described(name: str) -> tuple[str, str]:
    """Return the option that asks for a set, and the one that asks for less."""
    if name == "universal":
        return "centers='continuous'", "centers='candidates'"
    return f"candidates={name!r}", "candidates='data'"
