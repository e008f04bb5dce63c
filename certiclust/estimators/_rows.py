"""What rows, candidates and weights must be, and the sentences that say why they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from certiclust.space import Space
from certiclust.space.metrics import MetricLike, column_spread
from certiclust.space.symmetry import largest_asymmetry

FloatArray = NDArray[np.float64]
#: Weighted sums of distances stay below this, so that nothing computed from them overflows.
MAX_TOTAL = 1e290


def validated_candidates(candidates: Any, X: FloatArray, metric: MetricLike) -> FloatArray | None:
    """Return the user's candidate centres as an array, checked against the rows they are for."""
    if candidates is None:
        return None
    if metric == "precomputed":
        raise ValueError("candidates must be None for metric='precomputed': the columns of X are the candidates.")
    array = check_array(candidates, dtype=np.float64, order="C", input_name="candidates")
    if array.shape[1] != X.shape[1]:
        raise ValueError(f"candidates have {array.shape[1]} features, but X has {X.shape[1]}.")
    return np.asarray(array, dtype=np.float64)


def check_total(space: Space) -> None:
    """Refuse weights whose weighted sum of distances could overflow."""
    if space.matrix is not None:
        largest = float(space.matrix.max())
    else:
        points = space.points if space.own else np.concatenate([space.points, space.candidates])
        largest = float(np.square(column_spread(points)).sum())
    with np.errstate(over="ignore"):
        total = float(space.weights.sum())
        overflows = not total * max(1.0, largest) <= MAX_TOTAL
    if overflows:
        raise ValueError(
            f"sample_weight sums to {total:.3g}, and times the largest distance, {largest:.3g}, it "
            f"could overflow float64 (limit {MAX_TOTAL:g}); scale the data or the weights."
        )


def why_not_square(X: FloatArray) -> str:
    """Return why a precomputed matrix is no square one of distances between the same points."""
    if X.shape[0] != X.shape[1]:
        return f"a precomputed matrix must be square; got {X.shape[0]} x {X.shape[1]}."
    worst = largest_asymmetry(X)
    if worst > 1e-12 * X.max():
        return f"a precomputed matrix must be symmetric; entries differ by up to {worst:.6g}."
    return f"a precomputed matrix must have a zero diagonal; its largest entry is {np.diagonal(X).max():.6g}."
