"""The peers of fair k-median: what their papers promise holds."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from certiclust.baselines import jung_kannan_lutz, lp_rounding, mahabadi_vakilian
from certiclust.baselines.fair import relaxation
from tests import naive


def drawn(seed, n=14):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) if seed % 2 else rng.integers(0, 6, size=(n, 2)).astype(float)
    D, k = cdist(X, X), int(rng.integers(2, 5))
    return D, k, naive.fair_radii(D, np.ones(n), k)


@pytest.mark.parametrize("seed", range(10))
def test_the_greedy_is_two_fair(seed):
    D, k, radii = drawn(seed)
    centers = jung_kannan_lutz(D, radii, k)
    assert len(set(centers.tolist())) == k
    assert np.all(D[centers].min(axis=0) <= 2 * radii)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("swaps", [1, 2])
def test_swaps_keep_the_balls_and_end_at_a_local_optimum(seed, swaps):
    D, k, radii = drawn(seed, 9)
    listed = naive.critical_balls(D, radii, 1.0, 2.0)
    balls = D[listed] <= radii[listed, None]
    start = np.array((listed + [v for v in range(9) if v not in listed])[:k])
    centers = mahabadi_vakilian(D, balls, start, swaps)
    cost = D[centers].min(axis=0).sum()
    assert balls[:, centers].any(axis=1).all()
    for other in combinations(range(9), k):
        if len(set(other) - set(centers.tolist())) <= swaps and balls[:, list(other)].any(axis=1).all():
            assert D[list(other)].min(axis=0).sum() >= cost * (1 - 1e-8)


def test_many_swaps_are_refused():
    D, _, _ = drawn(1, 14)
    with pytest.raises(ValueError, match="use swaps=1"):
        mahabadi_vakilian(np.tile(D, (10, 10)), np.ones((1, 140), bool), np.arange(8), 4)


@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_is_below_every_fair_set_and_rounds_to_one(seed):
    D, k, radii = drawn(seed, 10)
    beta = 1.5
    y, paid = relaxation(D, beta * radii, k)
    fair = [c for c in combinations(range(10), k) if np.all(D[list(c)].min(axis=0) <= beta * radii)]
    assert paid.sum() <= min((D[list(c)].min(axis=0).sum() for c in fair), default=np.inf) * (1 + 1e-6) + 1e-9
    assert y.sum() <= k + 1e-6
    centers = lp_rounding(D, radii, k, beta)
    assert len(centers) == k
    assert np.all(D[centers].min(axis=0) <= 4 * beta * radii + 1e-9)


def test_an_empty_relaxation():
    D = cdist(np.arange(4.0)[:, None], np.arange(4.0)[:, None])
    assert relaxation(D, np.zeros(4), 2) is None
    assert lp_rounding(D, np.zeros(4), 2, 1.0) is None
