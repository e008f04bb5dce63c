"""A lower bound with its evidence, and the margin by which it survives rounding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from certiclust.space import Space

#: Absolute errors: of angles by unit vectors; of squares, which vanish below that; and 2^-520 of roots of squares.
_SMALL = {"cosine": 2.0**-50, "correlation": 2.0**-50, "haversine": 2.0**-50, "sqeuclidean": 2.0**-1040}


@dataclass(frozen=True)
class Bound:
    """What was proved about the optimum.

    Attributes
    ----------
    value : float
        A lower bound on the optimum, rounding subtracted.
    ratio : float or None
        An a-priori factor within which the solution at hand lies, or None if none may be claimed.
    theorem : str
        The theorem that gives the factor.
    because : str
        What makes its condition hold here, or why it does not.
    witness : dict
        What a verifier needs besides the data.
    """

    value: float
    ratio: float | None
    theorem: str
    because: str
    witness: dict[str, Any] = field(default_factory=dict)

    def stronger(self, other: Bound) -> Bound:
        """Return this bound with the larger value of the two, its own ratio, and the evidence of both."""
        return replace(self, value=max(self.value, other.value), witness={**self.witness, **other.witness})


def rounding_margin(space: Space, terms: int) -> tuple[float, float]:
    """Return the relative and the absolute error of a sum of `terms` distances, several times over.

    A distance by direct differences is right to about l + 3 units in the last place, and a sum adds one per term.
    Distances between rounded unit vectors (cosine, haversine) or mapped rows (mahalanobis) have an absolute error as
    well, and below 1e-160 a square underflows, and with it the root of a sum of squares. The factor 4 leaves room for a
    verifier that computes the same numbers in another order.
    """
    width = space.points.shape[1] + 16
    relative = 4 * 2.0**-52 * (terms + width)
    absolute = 4 * width * (_SMALL.get(space.metric.name, 2.0**-520) if space.metric.function is None else 2.0**-520)
    if space.metric.name == "mahalanobis" and space.metric.function is None:
        absolute += 4 * width * 2.0**-52 * float(np.abs(space.metric.prepare(space.points)).max(initial=0.0))
    return relative, absolute
