"""A lower bound of k-means for many points with few columns: multipliers climbed on a sample, proved on all points.

Any multipliers prove something. Those of a sample, carried over to the points nearby, are nearly right; what is lost is
some per cent. The proof by boxes is about all points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from certiclust.bounds.kmeans_boxes import Boxes, BoxSearch
from certiclust.bounds.kmeans_rows import Floats, Ints, cluster_means

#: Points of the sample, and work of the climb on it.
SAMPLE, SAMPLE_WORK = 2000, 4.0e8
#: Points of the sample whose multipliers are averaged.
NEIGHBOURS = 5
#: Work of the proof, per point and in all at least.
PROOF_WORK, LEAST_WORK = 2.0e4, 1.0e8
#: Gap of the boxes that counts as closed, as a share of the cost.
SLACK = 3e-3
#: Centres of the sample's relaxation that are used on all points, and centres times points at most.
STARTS, COLUMNS = 60, 12_000_000
#: Other multipliers that are tried: the nearest cost, and this share of the way to the second.
SHARES = (0.1, 0.2)


def coarse_boxes(
    points: Floats,
    weights: Floats,
    k: int,
    centers: Floats,
    labels: Ints,
    should_stop: Callable[[], bool],
    used: Callable[[], float],
    end: float,
) -> Boxes:
    """Return what boxes prove about all points with the multipliers of a sample.

    Parameters
    ----------
    points, weights
        Centred rows and their positive weights.
    k, centers, labels
        A good solution: its centres, and the nearest of them for every point.
    should_stop, used, end
        As for `BoxSearch`.
    """
    near = np.square(points - centers[labels]).sum(axis=1)
    cost = float(weights @ near)
    rows = _stratified(labels)
    part, mass = points[rows], _reweighted(weights, labels, rows, k)
    means = cluster_means(part, mass, labels[rows], k)
    own = np.square(part - means[labels[rows]]).sum(axis=1)
    if not float(mass @ own) > 0.0:  # a sample of one point per cluster says nothing
        return Boxes(0.0, np.zeros(len(points)), np.zeros(1, np.uint8), 0.0)
    climb = BoxSearch(part, mass, k, means, float(mass @ own), SAMPLE_WORK, should_stop, 2, used, end)
    climb.run(0.0)
    above = climb.best_u / mass - own
    neighbours = cKDTree(part).query(points, min(NEIGHBOURS, len(part)))[1].reshape(len(points), -1)
    guesses = [weights * np.maximum(near + above[neighbours].mean(axis=1), 0.0)]
    second = _second(points, centers)
    guesses += [weights * (near + share * (second - near)) for share in SHARES]
    work = max(LEAST_WORK, PROOF_WORK * len(points))
    proof = BoxSearch(points, weights, k, centers, cost, work, should_stop, 2, used, end)
    few = max(1, min(STARTS, COLUMNS // len(points)))
    return proof.prove_at(guesses, climb.columns[:few], SLACK)


def _second(points: Floats, centers: Floats) -> Floats:
    """Return the squared distance of every point to its second nearest centre."""
    first, second = np.full(len(points), np.inf), np.full(len(points), np.inf)
    for c in centers:
        d = np.square(points - c).sum(axis=1)
        second = np.minimum(second, np.maximum(first, d))
        first = np.minimum(first, d)
    return second


def _stratified(labels: Ints) -> Ints:
    """Return a sample that has of every cluster about its share."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    return np.sort(order[:: -(-len(labels) // SAMPLE)])


def _reweighted(weights: Floats, labels: Ints, rows: Ints, k: int) -> Floats:
    """Return the weights of a sample such that its clusters weigh what they do in all points."""
    whole, part = np.bincount(labels, weights, k), np.bincount(labels[rows], weights[rows], k)
    factors = whole / np.where(part > 0, part, 1.0)
    return np.asarray(weights[rows] * factors[labels[rows]])
