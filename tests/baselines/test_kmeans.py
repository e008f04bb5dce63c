"""Baselines of k-means against definitions and brute force."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from certiclust.baselines import kmeans_plus_plus, lloyd, local_search_plus_plus, swap_search


def data(seed, n=40):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.uniform(0.5, 3, n), rng


def cost(X, w, centers):
    return float(w @ cdist(X, centers, "sqeuclidean").min(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_lloyd_ends_at_means_of_nearest_points(seed):
    X, w, _ = data(seed)
    centers = lloyd(X, w, X[:4])
    labels = cdist(X, centers).argmin(axis=1)
    for j in range(4):
        np.testing.assert_allclose(centers[j], np.average(X[labels == j], axis=0, weights=w[labels == j]))
    assert cost(X, w, centers) < cost(X, w, X[:4])


def test_kmeans_plus_plus_follows_its_law():
    """The second centre: with probability as weight times squared distance to the first."""
    X, w = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 1.0])
    rng = np.random.default_rng(0)
    pairs = [tuple(kmeans_plus_plus(X, w, 2, rng).ravel()) for _ in range(20_000)]
    first = np.array([p[0] for p in pairs])
    assert abs((first == 1).mean() - 0.5) < 0.02
    second = np.array([p[1] for p in pairs])[first == 0]
    assert abs((second == 3).mean() - 9 / 11) < 0.03
    assert not (second == 0).any()


@pytest.mark.parametrize("seed", range(5))
def test_local_search_never_loses_and_often_wins(seed):
    X, w, rng = data(seed)
    start = X[:5]
    found = local_search_plus_plus(X, w, start, 50, rng)
    assert cost(X, w, found) < cost(X, w, start)
    assert all((row == X).all(axis=1).any() for row in found)
    np.testing.assert_array_equal(local_search_plus_plus(X, w, start, 0, rng), start)


@pytest.mark.parametrize("k", [1, 3])
def test_swap_search_leaves_no_swap(k):
    X, w, _ = data(7, 15)
    rows = swap_search(X, w, np.arange(k))
    reached = cost(X, w, X[rows])
    for out in rows:
        for new in range(15):
            assert cost(X, w, X[[*(set(rows) - {out}), new]]) >= reached * (1 - 1e-9)
    best = min(cost(X, w, X[list(c)]) for c in combinations(range(15), k))
    assert best * (1 - 1e-9) <= reached <= 25 * best


def test_duplicates():
    X = np.zeros((4, 2))
    assert cost(X, np.ones(4), kmeans_plus_plus(X, np.ones(4), 3, np.random.default_rng(0))) == 0
    assert cost(X, np.ones(4), lloyd(X, np.ones(4), X[:2])) == 0
