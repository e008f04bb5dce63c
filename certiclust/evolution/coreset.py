"""Lightweight coresets for k-means: a weighted sample on which every clustering costs about the same."""

from __future__ import annotations

import numpy as np

from certiclust.evolution.descent import Descent, Floats, Ints, draw


def lightweight_coreset(descent: Descent, size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
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
    """
    weights = descent.cloud.weights
    shares = weights / weights.sum()
    if descent.total > 0:
        shares = 0.5 * (shares + weights * descent.norms / descent.total)
    rows = np.sort(draw(np.cumsum(shares), rng.random(size)))
    return rows, weights[rows] / (size * shares[rows])
