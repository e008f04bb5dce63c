"""The largest distance of each point inside a cluster: the same as by all pairs, and with fewer of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.space import Metric, build_space
from certiclust.space import reach as module
from certiclust.space.metrics import KERNEL_CODES
from certiclust.space.reach import reach_within
from certiclust.space.space import Space


def without_matrix(X: np.ndarray, name: str) -> Space:
    space = build_space(X, None, Metric.of(name), np.ones(len(X)), out_of_time=lambda: True)
    assert space.matrix is None
    return space


def points(kind: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    match kind:
        case "plane":
            return rng.normal(size=(n, 2))
        case "line":
            return np.outer(rng.random(n), [1.0, 0.3, -2.0])
        case "grid":
            return rng.integers(1, 4, size=(n, 2)).astype(float)
        case "far":
            return 1e8 + rng.random((n, 2))
        case "tiny":
            return 1.0e-160 * rng.integers(1, 9, size=(n, 2))
        case _:
            return np.ones((n, 2))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["plane", "line", "grid", "far", "tiny", "one point"]),
    name=st.sampled_from(sorted(KERNEL_CODES)),
    n=st.integers(1, 90),
    block=st.sampled_from([7, 200, 1_000_000]),
    seed=st.integers(0, 10**6),
)
def test_reach_is_the_largest_distance_to_the_bit(kind, name, n, block, seed):
    X = points(kind, n, seed)
    space = without_matrix(X, name)
    members = np.random.default_rng(seed).permutation(n)[: max(1, 4 * n // 5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "FIRST", 2)
        found = reach_within(space, members)
    np.testing.assert_array_equal(found, space.between(members, members).max(axis=1))


def test_reach_in_a_matrix_needs_no_triangle_inequality():
    matrix = np.array([[0.0, 9.0, 1.0, 1.0], [9.0, 0.0, 1.0, 2.0], [1.0, 1.0, 0.0, 1.0], [1.0, 2.0, 1.0, 0.0]])
    space = build_space(np.arange(4.0)[:, None], None, Metric.of(lambda a, b: matrix[int(a[0]), int(b[0])]), np.ones(4))
    np.testing.assert_array_equal(reach_within(space, np.arange(4)), [9.0, 9.0, 1.0, 2.0])
    np.testing.assert_array_equal(reach_within(space, np.array([3, 1])), [2.0, 2.0])


@pytest.mark.parametrize("name", ["euclidean", "sqeuclidean", "manhattan", "chebyshev"])
def test_few_pairs_are_looked_at_in_the_plane(name, monkeypatch):
    looked = []
    between = Space.between

    def counting(space, centers, clients):
        looked.append(len(centers) * len(clients))
        return between(space, centers, clients)

    space = without_matrix(np.random.default_rng(0).random((2000, 2)), name)
    monkeypatch.setattr(Space, "between", counting)
    reach_within(space, np.arange(2000))
    assert sum(looked) < 0.25 * 2000**2
