"""Bounds of k-means that start from the multipliers of another k: true whatever those are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.bounds.kmeans_chain import Dual, chained_bound
from tests.bounds import kmeans_truth


def never():
    return False


def bounded(X, w, k, before, share=0.1, should_stop=never):
    centers = X[:k]
    squares = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1)
    return chained_bound(
        X, w, k, centers, float(w @ squares), before=before, share=share, gap_tol=0.0, should_stop=should_stop
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_any_multipliers_give_a_true_bound(seed, k):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(8, int(rng.integers(1, 7)))), rng.integers(1, 4, 8).astype(float)
    columns = rng.normal(size=(int(rng.integers(1, 9)), X.shape[1]))
    best = kmeans_truth.optimum(X, w, k)
    for u in (np.zeros(8), rng.random(8), np.full(8, 1e4)):
        bound, _ = bounded(X, w, k, Dual(u, columns), share=0.01)
        assert 0.0 <= bound.value <= best * (1 + 1e-9)


def test_a_chain_hands_on_multipliers_that_are_nearly_right():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2)) + 8 * rng.integers(0, 3, (60, 2))
    w = np.ones(60)
    from sklearn.cluster import KMeans

    dual = None
    for k in (3, 4, 5):
        fitted = KMeans(k, n_init=20, random_state=0).fit(X)
        bound, dual = chained_bound(
            X, w, k, fitted.cluster_centers_, fitted.inertia_, before=dual, share=0.1, gap_tol=0.0, should_stop=never
        )
        assert 0.9 * fitted.inertia_ <= bound.value <= fitted.inertia_
        assert dual.u.shape == (60,)
        assert (dual.u >= 0).all()


@pytest.mark.parametrize("k", [1, 8])
def test_closed_cases_need_no_multipliers(k):
    X = np.random.default_rng(0).normal(size=(8, 2))
    bound, dual = bounded(X, np.ones(8), k, None)
    assert dual is None
    assert bound.value <= kmeans_truth.optimum(X, np.ones(8), k) + 1e-12


def test_a_stop_leaves_no_claim():
    X = np.random.default_rng(0).normal(size=(8, 2))
    bound, _ = bounded(X, np.ones(8), 3, None, should_stop=lambda: True)
    assert bound.value == 0.0
