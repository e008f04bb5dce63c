"""Swaps and lists straight from coordinates, against matrices; the strategy without a matrix, against brute force."""

import itertools
import warnings
from unittest import mock

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from certiclust.bounds.lagrangian import Instance
from certiclust.evolution.kernels import fly as kernels
from certiclust.evolution.swap_search import load, new_state, swap_dense
from certiclust.solver import kmedian_points
from certiclust.solver.kmedian import Limits
from certiclust.solver.kmedian_points import PointsStrategy
from certiclust.space import Metric, build_space
from certiclust.space.kernels import PointRows
from tests.evolution.test_pool import best_swap, check_caches
from tests.solver import brute

METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"]
seeds = st.integers(0, 2**32 - 1)
TINY = 1e-5  # MiB: no matrix of even two by two points fits


def rows_of(metric, X, F, w):
    """Space without a matrix, its rows, its sites as rows, and the (m, n) weighted costs."""
    with sklearn.config_context(working_memory=TINY):
        space = build_space(X, F, Metric.of(metric, X), w)
    assert space.matrix is None
    rows = space.rows()
    sites = PointRows(np.ascontiguousarray(rows.candidates.T), rows.candidates, rows.code)
    cost = np.empty((space.m, space.n))
    for j in range(space.m):
        kernels.fill_row(rows, j, cost[j])
    return space, rows, sites, np.ascontiguousarray(cost * w)


def instance(seed, metric, max_n=30):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, max_n))
    kind = str(rng.choice(["normal", "grid", "duplicates", "offset", "groups"]))
    X = rng.integers(0, 3, (n, 1)) * 20.0 + rng.normal(size=(n, 2)) if kind == "groups" else brute.points(rng, n, kind)
    F = None if rng.random() < 0.6 else X[rng.permutation(n)[: max(4, n // 2)]] + 0.1
    if metric == "cosine":
        X = np.where(np.any(X, axis=1, keepdims=True), X, 1.0)
        F = None if F is None else np.where(np.any(F, axis=1, keepdims=True), F, 1.0)
    w = brute.weights(rng, n, str(rng.choice(["unit", "integer", "wild"])))
    m = n if F is None else len(F)
    return rng, X, F, w, int(rng.integers(2, min(m, 7)))


def fly_state(rows, w, m, centers, parts=2):
    state = new_state(m, w.size, len(centers))
    state.centers[:] = centers
    cuts = np.linspace(0, len(centers), parts + 1).astype(int)
    for start, stop in itertools.pairwise(cuts):
        kernels.load_range(rows, w, state, start, stop)
    return state


@pytest.mark.parametrize("metric", METRICS)
def test_rows_are_the_distances(metric):
    for seed in range(20):
        _, X, F, w, _ = instance(seed, metric)
        _, _, _, cost = rows_of(metric, X, F, w)
        naive = brute.distances(X, X if F is None else F, metric).T * w
        np.testing.assert_allclose(cost, naive, rtol=1e-12, atol=1e-15 * w.max())


@pytest.mark.parametrize("metric", METRICS)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(seed=seeds)
def test_state_and_swaps_from_coordinates(metric, seed):
    """Caches by ranges; then swaps: caches still right, never worse, swap-optimal in the end."""
    rng, X, F, w, k = instance(seed, metric)
    space, rows, sites, cost = rows_of(metric, X, F, w)
    centers = rng.choice(space.m, k, replace=False)
    state = fly_state(rows, w, space.m, centers, int(rng.integers(1, 4)))
    check_caches(cost, state)
    order = rng.permutation(space.m)
    total = state.total[0]
    while not kernels.swap_fly(rows, sites, w, state, order, int(rng.choice([1, 50, 10**6]))):
        check_caches(cost, state)
        assert state.total[0] <= total
        total = state.total[0]
    check_caches(cost, state)
    change, now = best_swap(cost, state.centers)
    assert change >= -4e-12 * max(now, state.c2.sum())


@pytest.mark.parametrize("metric", METRICS)
def test_swaps_from_coordinates_equal_those_from_the_matrix(metric):
    """Skipping whole groups by the triangle inequality loses no swap: the same path on data without ties."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 3, (60, 1)) * 5.0 + rng.normal(size=(60, 3))
        w = brute.weights(rng, 60, "real")
        _space, rows, sites, cost = rows_of(metric, X, None, w)
        centers, order = rng.choice(60, 6, replace=False), rng.permutation(60)
        fly = fly_state(rows, w, 60, centers)
        held = new_state(60, 60, 6)
        load(cost, held, centers)
        assert kernels.swap_fly(rows, sites, w, fly, order, 10**9)
        assert swap_dense(cost, held, order)
        np.testing.assert_array_equal(fly.centers, held.centers)


@pytest.mark.parametrize("metric", METRICS)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(seed=seeds)
def test_groups_and_near_pairs(metric, seed):
    rng, X, F, w, k = instance(seed, metric)
    _space, rows, sites, cost = rows_of(metric, X, F, w)
    m, n = cost.shape
    state = fly_state(rows, w, m, rng.choice(m, k, replace=False))
    radius = state.c2 * rng.choice([0.3, 1.0, 1.4], n)
    grouped = (np.zeros(k + 1, np.int64), np.empty(n, np.int64), np.empty(k))
    kernels.group(state, w, radius, rows.code, *grouped)
    ptr, idx, reach = grouped
    power = {"sqeuclidean": lambda v: np.sqrt(v), "cosine": lambda v: np.sqrt(2 * v)}.get(metric, lambda v: v)
    for a in range(k):
        mine = np.flatnonzero(state.near == a)
        np.testing.assert_array_equal(idx[ptr[a] : ptr[a + 1]], mine)
        far = (power(state.c1[mine] / w[mine]) + power(radius[mine] / w[mine])).max(initial=0.0)
        assert far <= reach[a] <= far * (1 + 1e-8)
    count = np.zeros(m + 1, np.int64)
    for start in range(0, m, 3):
        span = np.array([start, min(m, start + 3)])
        kernels.near_pairs(
            rows, sites, w, state.centers, grouped, radius, span, count, np.empty(0, np.uint32), np.empty(0)
        )
    np.testing.assert_array_equal(count[1:], (cost < radius).sum(axis=1))
    np.cumsum(count, out=count)
    clients, values = np.empty(int(count[-1]), np.uint32), np.empty(int(count[-1]))
    kernels.near_pairs(rows, sites, w, state.centers, grouped, radius, np.array([0, m]), count, clients, values)
    for j in range(m):
        part = slice(count[j], count[j + 1])
        np.testing.assert_array_equal(np.sort(clients[part]), np.flatnonzero(cost[j] < radius))
        np.testing.assert_array_equal(values[part], cost[j, clients[part]])


# ------------------------------------------------------------------------------------------------- the strategy


def strategy(X, F, w, k, metric="euclidean", should_stop=lambda: False, seed=0):
    with sklearn.config_context(working_memory=TINY):
        space = build_space(X, F, Metric.of(metric, X), w)
    with mock.patch.object(kmedian_points, "SAMPLE_WORK", 100):
        return PointsStrategy(space, w, Instance(k, 0.0, X.shape[1], 0.0), Limits(0.0, np.inf, should_stop), seed)


def test_the_permutations_are_undone():
    """The strategy reorders clients and sites; its proof speaks of the space's own numbers."""
    rng = np.random.default_rng(0)
    X, F = rng.normal(size=(90, 2)), rng.normal(size=(50, 2))
    w = rng.random(90) + 0.5
    run = strategy(X, F, w, 6)
    assert not np.array_equal(run.by_client, np.arange(90))  # there is something to undo
    for _ in range(2):
        run.evolve()
        run.bound()
        run.reduce()
    proof = run.proof()
    cost = np.ascontiguousarray(brute.distances(X, F, "euclidean").T * w)
    assert cost[proof.centers].min(axis=0).sum() == pytest.approx(proof.upper, rel=1e-12)
    assert np.all(np.diff(proof.centers) > 0)
    (stage,) = proof.nodes[0].stages
    assert brute.lagrangian(cost, stage.u, 6) == pytest.approx(proof.lower, rel=1e-9)
    assert proof.lower > 0.9 * proof.upper
    assert run.live.size <= 50


def test_lists_of_the_strategy_are_exact():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    run = strategy(X, None, rng.random(80) + 0.5, 5)
    radius = run._radius()
    lists = run._build_lists(radius)
    cost = run._costs(np.arange(80), np.arange(80))
    assert lists.n_pairs == (cost < radius).sum()
    client = np.repeat(np.arange(80), np.diff(lists.row_ptr))
    np.testing.assert_array_equal(lists.row_val, cost[lists.row_idx, client])
    assert np.all((np.diff(lists.row_val) >= 0) | (np.diff(client) > 0))
    site = np.repeat(np.arange(80), np.diff(lists.col_ptr))
    np.testing.assert_array_equal(lists.col_val, cost[site, lists.col_idx])


def test_a_radius_whose_lists_would_not_fit_is_cut(monkeypatch):
    rng = np.random.default_rng(1)
    run = strategy(rng.normal(size=(80, 2)), None, np.ones(80), 5)
    full = run._radius()
    monkeypatch.setattr(kmedian_points, "MAX_PAIRS", 500)
    short = run._radius()
    assert np.all(short < full)
    assert run._build_lists(short).n_pairs <= 700


@pytest.mark.parametrize("after", [0, 1, 3, 6, 10, 20])
def test_a_stop_anywhere_leaves_a_valid_proof(after):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 2))
    asked = []
    run = strategy(X, None, np.ones(12), 3, should_stop=lambda: asked.append(1) or len(asked) > after)
    while not run.finished():
        run.evolve()
        run.bound()
        run.reduce()
    proof = run.proof()
    cost = brute.distances(X, X, "euclidean")
    assert len(set(proof.centers.tolist())) == 3
    assert cost[proof.centers].min(axis=0).sum() == pytest.approx(proof.upper, rel=1e-12)
    assert proof.lower <= brute.optimum(cost, 3) * (1 + 1e-12)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds, st.sampled_from(METRICS))
def test_fit_without_a_matrix_against_brute_force(seed, metric):
    _rng, X, F, w, k = instance(seed, metric, max_n=11)
    options = {"metric": metric} if F is None else {"metric": metric, "candidates": F}
    cost = np.ascontiguousarray(brute.distances(X, X if F is None else F, metric).T * w)
    case = brute.Case(X, k, cost, options, w)
    with sklearn.config_context(working_memory=TINY), mock.patch.object(kmedian_points, "SAMPLE_WORK", 100):
        est = fit_quietly(case)
    best = brute.optimum(cost, k)
    noise = 1e-14 * w.sum() if metric == "cosine" else 0.0
    certificate = est.certificate_
    assert est.cost_ == pytest.approx(cost[sites_of(est, cost)].min(axis=0).sum(), rel=1e-12, abs=noise)
    assert certificate.lower_bound <= best * (1 + 1e-12) + noise
    if certificate.optimal:
        assert est.cost_ <= best * (1 + 1e-9) + noise
    assert certificate.guarantee is None or est.cost_ <= certificate.guarantee.ratio * best * (1 + 1e-9) + noise
    case.verify(certificate)


def sites_of(est, cost):
    assert est.center_indices_.max() < len(cost)
    return est.center_indices_


def fit_quietly(case, **options):
    """Duplicated points rightly warn that centres coincide; here that is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return case.fit(**options)


def test_one_centre_without_a_matrix():
    X = np.random.default_rng(0).normal(size=(700, 2))
    with sklearn.config_context(working_memory=0.5):
        est = brute.Case(X, 1, X).fit()
        est.certificate_.verify(X)
    totals = brute.distances(X, X, "euclidean").sum(axis=0)
    assert est.center_indices_.tolist() == [totals.argmin()]
    assert est.certificate_.optimal
