"""Neighbour lists against NumPy, pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.space import list_kernels as kernels
from certiclust.space.lists import build_lists, choose_radius, columns_from_matrix, rank_candidates, restrict, transpose
from tests.solver import brute

quick = settings(derandomize=True, deadline=None, max_examples=100)


def instance(seed, max_n=12, max_m=12):
    rng = np.random.default_rng(seed)
    cost, _ = brute.weighted(rng, max_n, max_m)
    radius = rng.choice([0.0, 0.5, 1.0, 1.5], cost.shape[1]) * np.median(cost, axis=0)
    return rng, cost, radius


def pairs_by_candidate(cost, radius):
    """NumPy twin of the candidate-major lists."""
    inside = cost < radius
    j, i = np.nonzero(inside)
    return np.concatenate([[0], np.cumsum(inside.sum(axis=1))]), i, cost[j, i]


def check(lists, cost, radius):
    """Both halves hold exactly the pairs below the radius, the rows in ascending cost."""
    ptr, idx, val = pairs_by_candidate(cost, radius)
    for got, expected in zip((lists.col_ptr, lists.col_idx, lists.col_val), (ptr, idx, val), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert lists.row_ptr.tolist() == [0, *np.cumsum((cost < radius).sum(axis=0)).tolist()]
    client = np.repeat(np.arange(cost.shape[1]), np.diff(lists.row_ptr))
    i, j = np.nonzero((cost < radius).T)
    by_cost = np.lexsort((cost[j, i], i))
    np.testing.assert_array_equal(lists.row_val, cost[j, i][by_cost])
    np.testing.assert_array_equal(lists.row_val, cost[lists.row_idx, client])
    np.testing.assert_array_equal(lists.row_idx[np.lexsort((lists.row_idx, client))], j)
    assert lists.n_pairs == np.count_nonzero(cost < radius)
    assert lists.radius is radius


@quick
@given(st.integers(0, 2**32 - 1))
def test_lists_hold_exactly_the_pairs_below_the_radius(seed):
    _, cost, radius = instance(seed)
    check(build_lists(cost, radius), cost, radius)


@quick
@given(st.integers(0, 2**32 - 1))
def test_lists_from_sorted_distances_are_the_same(seed):
    """Ties, penalties beyond a reach, and clients (critical balls) that were not sorted."""
    rng = np.random.default_rng(seed)
    m, n, extra = rng.integers(1, 12, 3)
    distances = rng.integers(0, 5, (m, n)) / 3.0
    weights = rng.choice([0.3, 1.0, 7.0], n)
    ranking = rank_candidates(distances, weights)
    penalty = 100.0
    cost = np.where(distances <= rng.choice([0.5, 1.0, 9.0], n), distances * weights, penalty)
    cost = np.hstack([cost, np.where(rng.random((m, extra)) < 0.5, 0.0, penalty)])
    radius = np.minimum(rng.choice([0.0, 0.4, 2.0, 1e9], n + extra), penalty)
    check(build_lists(cost, radius, None, ranking), cost, radius)
    assert rank_candidates(distances, weights, lambda: True) is None


def test_lists_of_many_blocks_equal_those_of_one():
    """6 million pairs per block: candidates come in several parts, clients are sorted in several parts."""
    rng = np.random.default_rng(0)
    cost = rng.random((160, 40_000))
    radius = np.full(40_000, 0.05)
    check(build_lists(cost, radius), cost, radius)


@pytest.mark.parametrize("polls", range(1, 5))
def test_building_stops_when_asked(polls):
    cost = np.random.default_rng(1).random((250, 40_000))  # 150 candidates per block: two blocks
    asked = iter([False] * (polls - 1) + [True] * 99)
    assert build_lists(cost, np.full(40_000, 0.02), lambda: next(asked)) is None


@quick
@given(st.integers(0, 2**32 - 1))
def test_restricted_lists_are_the_lists_of_the_restricted_matrix(seed):
    rng, cost, radius = instance(seed)
    keep = rng.random(len(cost)) < 0.6
    part = restrict(build_lists(cost, radius), keep)
    if keep.any():
        check(part, cost[keep], radius)
    else:
        assert part.n_pairs == 0
        assert part.col_ptr.size == 1
        assert part.row_ptr.tolist() == [0] * (cost.shape[1] + 1)


@quick
@given(st.integers(0, 2**32 - 1))
def test_kernels_of_the_lists(seed):
    rng, cost, radius = instance(seed)
    n = cost.shape[1]
    for got, expected in zip(columns_from_matrix(cost, radius), pairs_by_candidate(cost, radius), strict=True):
        np.testing.assert_array_equal(got, expected)
    ptr, idx, val = columns_from_matrix(cost, radius)
    by_client = pairs_by_candidate(cost.T, radius[:, None])  # entries ascending in the candidate
    for got, expected in zip(transpose(ptr, idx, val, n), by_client, strict=True):
        np.testing.assert_array_equal(got, expected)
    row_ptr, row_idx, row_val = transpose(ptr, idx, val, n)
    keep = rng.random(len(cost)) < 0.5
    new_id = (np.cumsum(keep) - 1).astype(np.uint32)
    kept = int(keep[row_idx].sum())
    got_ptr, got_idx, got_val = np.empty_like(row_ptr), np.empty(kept, np.uint32), np.empty(kept)
    kernels.restrict_rows(row_ptr, row_idx, row_val, keep, new_id, got_ptr, got_idx, got_val)
    assert got_ptr[0] == 0
    assert got_ptr[-1] == kept
    for i in range(n):
        old = slice(row_ptr[i], row_ptr[i + 1])
        new = slice(got_ptr[i], got_ptr[i + 1])
        np.testing.assert_array_equal(got_idx[new], new_id[row_idx[old]][keep[row_idx[old]]])
        np.testing.assert_array_equal(got_val[new], row_val[old][keep[row_idx[old]]])


@pytest.mark.parametrize("n", [3, 200, 450])
def test_radius_is_the_largest_factor_that_fits(n):
    rng = np.random.default_rng(n)
    cost = rng.random((30, n))
    second = 0.3 * rng.random(n) + 0.1
    sample = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(int))
    factors = [2.5, 2.0, 1.7, 1.4, 1.2, 1.0, 0.8, 0.6]

    def pairs(factor):
        return np.count_nonzero(cost[:, sample] < factor * second[sample]) * n / len(sample)

    used = set()
    for limit in [0, *np.linspace(pairs(0.6) * 0.9, pairs(2.5) * 1.1, 25)]:
        radius, factor = choose_radius(cost, second, int(limit))
        fitting = [f for f in factors if pairs(f) <= int(limit)]
        assert factor == (max(fitting) if fitting else 0.6)
        np.testing.assert_array_equal(radius, factor * second)
        used.add(factor)
    assert len(used) >= 4
    assert choose_radius(cost, second, 10**9, 1.4)[1] == 1.4  # never more than asked for
    assert choose_radius(cost, second, int(np.ceil(pairs(1.2))), 1.4)[1] == 1.2
