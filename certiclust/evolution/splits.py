"""Where one more centre would help: every cluster of a clustering divided in two."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from certiclust.evolution.descent import Floats, Ints

if TYPE_CHECKING:
    from certiclust.evolution.kernels.clustering import Cloud, Clustering

#: Passes of Lloyd's iteration inside a cluster.
STEPS = 3


class Splits(NamedTuple):
    """For every cluster: the gain of two centres over one, and where these are; and the clusters by gain, descending.

    Only clusters with a gain are in `ranked`.
    """

    gains: Floats
    left: Floats
    right: Floats
    ranked: Ints


def split_clusters(cloud: Cloud, state: Clustering, rng: np.random.Generator) -> Splits:
    r"""Divide every cluster by a few passes of 2-means, from a random point of it and the point opposite.

    A cluster of mass :math:`N`, mean :math:`c`, in parts of mass :math:`N_1, N_2` and means :math:`a, b` gains
    :math:`N_1 |a - c|^2 + N_2 |b - c|^2`. The random point is drawn with probability as its share of the cost.

    Parameters
    ----------
    cloud
        Points and weights.
    state
        The clustering, whose sums, masses and sizes are right.
    rng
        Source of the random points.
    """
    k, labels = len(state.sizes), state.labels
    means = state.sums / np.maximum(state.masses, np.finfo(float).tiny)[:, None]
    away = cloud.points - means[labels]
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(state.sizes)])
    axis = away[_one_of_each(cloud.weights * np.einsum("ij,ij->i", away, away), order, bounds, rng)]
    level = np.zeros(k)
    for _ in range(STEPS):
        chosen = cloud.weights * (np.einsum("ij,ij->i", away, axis[labels]) > level[labels])
        sums = csr_array((chosen[order], order, bounds), shape=(k, len(away))) @ away
        masses = np.bincount(labels, chosen, k)
        rest = state.masses - masses
        parted = (masses > 0) & (rest > 1e-12 * state.masses)
        left = np.divide(sums, masses[:, None], out=np.zeros_like(sums), where=parted[:, None])
        right = np.divide(-sums, rest[:, None], out=np.zeros_like(sums), where=parted[:, None])
        axis = left - right
        level = 0.5 * ((left**2).sum(axis=1) - (right**2).sum(axis=1))
    gains = masses * (left**2).sum(axis=1) + rest * (right**2).sum(axis=1)
    ranked = np.argsort(-gains, kind="stable")
    return Splits(gains, means + left, means + right, ranked[gains[ranked] > 0])


def _one_of_each(shares: Floats, order: Ints, bounds: Ints, rng: np.random.Generator) -> Ints:
    """Return a random point of every cluster, drawn by its share; of an empty one any point."""
    cumulated = np.concatenate([[0.0], np.cumsum(shares[order])])
    start, stop = cumulated[bounds[:-1]], cumulated[bounds[1:]]
    found = np.searchsorted(cumulated, start + rng.random(len(start)) * (stop - start), side="right") - 1
    inside = np.clip(found, bounds[:-1], np.maximum(bounds[1:] - 1, bounds[:-1]))
    return np.asarray(order[np.minimum(inside, len(order) - 1)], dtype=np.int64)
