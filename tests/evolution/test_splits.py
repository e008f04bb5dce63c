"""Clusters divided in two, against plain loops."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.evolution.descent import Descent
from certiclust.evolution.splits import STEPS, _one_of_each, split_clusters


def clustering(seed):
    """A clustering with weights, duplicates, clusters of one point and of equal points."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(6, 40)), int(rng.integers(1, 6)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) if seed % 2 else rng.integers(0, 3, (n, d)).astype(float)
    w = rng.uniform(0.1, 3, n) if seed % 3 else np.ones(n)
    descent = Descent(X - X.mean(axis=0), w, k, lambda: False)
    state = descent.empty()
    descent.assign(state, descent.cloud.points[:k])
    return descent.cloud, state


def spread(X, w):
    return float(w @ ((X - np.average(X, axis=0, weights=w)) ** 2).sum(axis=1)) if len(X) else 0.0


def twin(cloud, state, starts):
    """The same by loops over clusters: gains and the two centres."""
    gains, left, right = [], [], []
    for j, start in enumerate(starts):
        X, w = cloud.points[state.labels == j], cloud.weights[state.labels == j]
        mean = np.average(X, axis=0, weights=w) if len(X) else state.sums[j]
        a, b = cloud.points[start], 2 * mean - cloud.points[start]
        side = np.zeros(len(X), dtype=bool)
        for _ in range(STEPS):
            side = ((X - a) ** 2).sum(axis=1) < ((X - b) ** 2).sum(axis=1) * (1 - 1e-12) - 1e-12
            a, b = mean, mean
            if side.any() and not side.all():
                a, b = (np.average(X[part], axis=0, weights=w[part]) for part in (side, ~side))
        gains.append(spread(X, w) - spread(X[side], w[side]) - spread(X[~side], w[~side]))
        left.append(a)
        right.append(b)
    return np.array(gains), np.array(left), np.array(right)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1).map(lambda seed: seed | 1))  # odd: no ties, which rounding would break either way
def test_splits_are_those_of_two_means(seed):
    cloud, state = clustering(seed)
    away = cloud.points - (state.sums / np.maximum(state.masses, 1e-300)[:, None])[state.labels]
    order = np.argsort(state.labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(state.sizes)])
    shares = cloud.weights * (away**2).sum(axis=1)
    starts = _one_of_each(shares, order, bounds, np.random.default_rng(3))
    gains, left, right = twin(cloud, state, starts)
    found = split_clusters(cloud, state, np.random.default_rng(3))
    np.testing.assert_allclose(found.gains, gains, atol=1e-9)
    np.testing.assert_allclose(found.left, left, atol=1e-9)
    np.testing.assert_allclose(found.right, right, atol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_a_gain_is_one_that_the_two_centres_have(seed):
    cloud, state = clustering(seed)
    found = split_clusters(cloud, state, np.random.default_rng(0))
    for j in range(len(state.sizes)):
        X, w = cloud.points[state.labels == j], cloud.weights[state.labels == j]
        both = np.stack([((X - c) ** 2).sum(axis=1) for c in (found.left[j], found.right[j])])
        assert w @ both.min(axis=0) <= spread(X, w) - found.gains[j] + 1e-9
        assert found.gains[j] >= 0.0
        if len(np.unique(X, axis=0)) < 2:
            assert found.gains[j] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(found.gains[found.ranked]) <= 0).all()
    assert set(found.ranked) == set(np.flatnonzero(found.gains > 0))


def test_starts_are_drawn_by_their_share_in_every_cluster():
    """20 000 draws: a count leaves its mean by more than 5 standard deviations with probability below 1e-6."""
    shares = np.array([1.0, 5.0, 0.0, 2.0, 3.0, 4.0])
    labels = np.array([0, 1, 0, 0, 1, 1])
    order, bounds, rng = np.argsort(labels, kind="stable"), np.array([0, 3, 6]), np.random.default_rng(1)
    draws = 20_000
    seen: Counter[int] = Counter()
    for _ in range(draws):
        seen.update(_one_of_each(shares, order, bounds, rng).tolist())
    for point, share in enumerate(shares):
        p = share / shares[labels == labels[point]].sum()
        assert abs(seen[point] - p * draws) <= 5 * np.sqrt(draws * p * (1 - p))
