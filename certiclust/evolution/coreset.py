"""Lightweight coresets for k-means: a weighted sample on which every clustering costs about the same."""

from __future__ import annotations

import numpy as np

from certiclust.evolution.descent import Descent, Floats, Ints, draw


def lightweight_coreset(
    descent: Descent, size: int, rng: np.random.Generator, squares: Floats | None = None
) -> tuple[Ints, Floats]:
    """Return rows drawn with replacement, half by weight and half by squared distance to the mean, and their weights.

    Bachem, Lucic & Krause (2018): the expected cost of any centres on the sample is their cost on all points, and with
    size O(d k log k / eps^2) it deviates by at most eps (cost + the cost of the mean), with high probability.

    Parameters
    ----------
    descent
        Holds the points, centred at their mean, with their weights.
    size
        Rows to draw.
    rng
        Source of all random decisions.
    squares
        Squared distances to some centres, in place of those to the mean: small clusters far from all of these are not
        missed then. The expected cost is right all the same.
    """
    weights = descent.cloud.weights
    shares = weights / weights.sum()
    costs = weights * (descent.norms if squares is None else squares)
    total = float(costs.sum())
    if total > 0:
        shares = 0.5 * (shares + costs / total)
    rows = np.sort(draw(np.cumsum(shares), rng.random(size)))
    return rows, weights[rows] / (size * shares[rows])
