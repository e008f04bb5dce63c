"""k-median through KMedian().fit, against brute force, with its certificate, limits and record."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from certiclust import KMedian
from certiclust.bounds.lagrangian import Instance
from certiclust.problems import KMedianProblem
from certiclust.solver import Budget, solve
from certiclust.solver.kmedian import KMedianStrategy, Limits, default_budget, granularity_of
from certiclust.solver.loop import Strategy, evolve_bound_reduce
from certiclust.space import Metric, build_space, precomputed_space
from tests.solver import brute

seeds = st.integers(0, 2**32 - 1)


def fit(case, **options):
    """Fit; that centres coincide or have no point is no news on these instances."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the number of distinct points", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".* centres have no point", ConvergenceWarning)
        return case.fit(**options)


def check(case, est):
    """Everything a certificate claims, against brute force."""
    best = brute.optimum(case.cost, case.k)
    certificate = est.certificate_
    noise = 1e-14 * case.cost.shape[1] * max(1.0, case.cost.max()) if case.options.get("metric") == "cosine" else 0.0
    assert len(set(est.center_indices_.tolist())) == case.k
    assert est.cost_ >= best * (1 - 1e-12) - noise
    assert certificate.cost == est.cost_
    assert certificate.lower_bound <= best * (1 + 1e-12) + noise
    if certificate.optimal:
        assert est.cost_ <= best * (1 + 1e-9) + noise
    if certificate.guarantee is not None:
        assert est.cost_ <= certificate.guarantee.ratio * best * (1 + 1e-9) + noise
    case.verify(certificate)
    return best


# ------------------------------------------------------------------------------------------------ against brute force


@settings(derandomize=True, deadline=None, max_examples=250)
@given(seeds)
def test_any_small_instance(seed):
    """Points, matrices, metrics, weights, zeros among them, other sites, ties, duplicates, rounding; n <= 12."""
    rng = np.random.default_rng(seed)
    case = brute.case(rng)
    est = fit(case, random_state=int(rng.integers(100)))
    best = check(case, est)
    if case.options.get("metric") != "cosine":  # nothing is proved about cosine distances below their rounding
        assert est.certificate_.optimal
        assert est.cost_ == pytest.approx(best, rel=1e-9)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(seeds, st.integers(1, 40))
def test_a_stop_anywhere_leaves_a_valid_certificate(seed, polls):
    """The solver polls for a stop all the time; whenever it comes, what is returned is true."""
    rng = np.random.default_rng(seed)
    cost, k = brute.weighted(rng, 12, 11)
    space = precomputed_space(np.ascontiguousarray(cost.T), np.ones(cost.shape[1]), own=False, check_metric=False)
    asked = []
    from certiclust.solver.kmedian_run import run_kmedian

    limits = Limits(0.0, np.inf, lambda: asked.append(1) or len(asked) > polls)
    run = run_kmedian(KMedianProblem(space, k), limits, 0, lambda *row: None)
    assert len(set(run.centers.tolist())) == k
    assert run.bound.value <= brute.optimum(cost, k) * (1 + 1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev", brute.walk])
@pytest.mark.parametrize("other_sites", [False, True])
def test_metrics_and_other_sites_with_weights(metric, other_sites):
    rng = np.random.default_rng(3)
    X, F = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
    w = rng.integers(0, 4, 40).astype(float)
    clients = np.flatnonzero(w)
    name = "callable" if callable(metric) else metric
    D = brute.distances(X[clients], F if other_sites else X[clients], name)
    options = {"metric": metric, **({"candidates": F} if other_sites else {})}
    case = brute.Case(X, 4 if other_sites else 2, np.ascontiguousarray(D.T * w[clients]), options, w)
    est = case.fit()
    check(case, est)
    assert est.certificate_.optimal
    assert est.certificate_.guarantee is not None


def test_rectangular_matrix():
    rng = np.random.default_rng(4)
    D = cdist(rng.random((60, 2)), rng.random((14, 2)))
    case = brute.Case(D, 4, np.ascontiguousarray(D.T), {"metric": "precomputed"})
    est = case.fit()
    check(case, est)
    assert est.certificate_.optimal
    assert est.certificate_.guarantee.ratio <= 5.001  # clients x sites of a metric


def test_integer_distances_round_the_bound_up():
    """With a duality gap the real bound is fractional; claimed is the integer above it, and it is the optimum."""
    lifted = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        D = rng.integers(1, 40, (14, 11)).astype(float)
        case = brute.Case(D, 3, np.ascontiguousarray(D.T), {"metric": "precomputed"})
        est = case.fit()
        check(case, est)
        certificate = est.certificate_
        assert certificate.lower_bound == est.cost_
        assert certificate.witness["tree"]["granularity"] == 1.0
        halves = brute.Case(D + 0.3, 3, np.ascontiguousarray(D.T + 0.3), {"metric": "precomputed"})
        other = halves.fit().certificate_
        assert other.witness["tree"]["granularity"] == 0.0
        lifted += len(certificate.witness["tree"]["parent"]) <= len(other.witness["tree"]["parent"])
    assert lifted >= 15  # rounding up closes gaps that others have to branch for


def test_granularity():
    assert granularity_of(np.array([[1.0, 2.0], [0.0, 7.0]])) == 1.0
    assert granularity_of(np.array([[1.0, 2.5], [0.0, 7.0]])) == 0.0
    assert granularity_of(np.array([[1.0, 2.0**51]])) == 0.0  # sums of these are not exact
    assert granularity_of(np.zeros((2, 2))) == 1.0


@pytest.mark.parametrize("weights", [None, "integer"])
def test_large_integers_are_proved_as_well(weights):
    """Where the margin of rounding exceeds the unit, the bound cannot be lifted; the gap of 1e-9 is closed anyway."""
    rng = np.random.default_rng(5)
    D = rng.integers(10**9, 10**12, (25, 20)).astype(float)
    w = None if weights is None else rng.integers(1, 50, 25).astype(float)
    case = brute.Case(
        D, 3, np.ascontiguousarray((D * (1 if w is None else w[:, None])).T), {"metric": "precomputed"}, w
    )
    started = time.process_time()
    est = case.fit()
    check(case, est)
    assert est.certificate_.optimal
    assert time.process_time() - started < 10


@pytest.mark.parametrize("k", [1, 2, 5])
def test_one_row_and_equal_rows(k):
    X = np.zeros((5, 2))
    case = brute.Case(X, k, np.zeros((5, 5)))
    est = fit(case)
    assert est.cost_ == 0
    assert est.certificate_.optimal
    case.verify(est.certificate_)
    if k == 1:
        one = brute.Case(X[:1], 1, np.zeros((1, 1)))
        assert fit(one).certificate_.optimal


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds, st.integers(2, 10))
def test_more_centres_than_distinct_points(seed, k):
    """Cost 0 with duplicates and wild weights: swaps between duplicates gain nothing, and rounding must not say so."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 2))[np.concatenate([np.arange(4), rng.integers(0, 4, 9)])]
    w = 10.0 ** rng.uniform(-6, 6, 13)
    D = brute.distances(X, X, "euclidean")
    case = brute.Case(X, k, np.ascontiguousarray(D * w), {}, w)
    est = fit(case)
    best = check(case, est)
    assert est.cost_ == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_k_from_one_to_all(k):
    X = np.random.default_rng(6).normal(size=(9, 2))
    case = brute.Case(X, k, brute.distances(X, X, "euclidean"))
    est = case.fit()
    check(case, est)
    assert est.certificate_.optimal
    if k == 9:
        assert est.cost_ == 0


def test_rows_of_weight_zero_are_no_clients_and_no_centres():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(12, 2))
    w = np.array([0, 1, 1, 0, 2, 3, 0, 1, 1, 1, 0, 1.0])
    keep = np.flatnonzero(w)
    est = KMedian(3, random_state=0).fit(X, sample_weight=w)
    alone = KMedian(3, random_state=0).fit(X[keep], sample_weight=w[keep])
    assert est.cost_ == pytest.approx(alone.cost_, rel=1e-12)
    np.testing.assert_array_equal(est.center_indices_, keep[alone.center_indices_])
    est.certificate_.verify(X, w)
    assert len(est.labels_) == 12


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seeds)
def test_weight_w_equals_w_copies(seed):
    """Optimal solutions of both cost the same, to 1e-12."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    X = rng.normal(size=(n, 2)) if seed % 2 else rng.integers(0, 4, (n, 2)).astype(float)
    w = rng.integers(1, 5, n)
    k = int(rng.integers(1, n + 1))
    weighted = fit(brute.Case(X, k, X, {}, w.astype(float)))
    copies = fit(brute.Case(np.repeat(X, w, axis=0), k, X))
    assert weighted.certificate_.optimal
    assert copies.certificate_.optimal
    assert weighted.cost_ == pytest.approx(copies.cost_, rel=1e-12, abs=0)


def test_rounded_distances_are_no_metric_and_proved_without_one():
    """Bound and optimality need no triangle inequality; a guarantee does, so none is given."""
    rng = np.random.default_rng(8)
    seen = 0
    for _ in range(15):
        X = rng.random((12, 2)) * 6
        D = np.floor(cdist(X, X))
        case = brute.Case(D, int(rng.integers(2, 5)), np.ascontiguousarray(D.T), {"metric": "precomputed"})
        est = case.fit()
        check(case, est)
        broken = any(D[i, j] > D[i, v] + D[v, j] for i in range(12) for j in range(12) for v in range(12))
        if broken and est.cost_ > 0:
            seen += 1
            assert est.certificate_.guarantee is None
            assert est.certificate_.optimal
            assert "triangle" in str(est.certificate_)
    assert seen >= 10


@pytest.mark.parametrize("seed", range(8))
def test_what_a_leaf_of_the_tree_found_is_not_thrown_away(seed):
    """The optimum turns up in a leaf, and other proposals after it: it is returned all the same."""
    rng = np.random.default_rng([3, 733])
    n, m = int(rng.integers(5, 13)), int(rng.integers(4, 13))
    D = (rng.random((n, m)) > rng.choice([0.2, 0.35, 0.5])).astype(float)
    rng.integers(3)
    D = D + 0.01 * rng.random((n, m))
    case = brute.Case(D, 2, np.ascontiguousarray(D.T), {"metric": "precomputed"})
    est = case.fit(random_state=seed)
    assert est.cost_ == pytest.approx(check(case, est), rel=1e-12)
    assert est.certificate_.optimal


# --------------------------------------------------------------------------------------------------- larger instances


def points(n, seed=0):
    return np.random.default_rng(seed).random((n, 2))


def test_a_few_hundred_points_are_proved_and_verified():
    X = points(300)
    est = KMedian(12, random_state=0).fit(X)
    assert est.certificate_.optimal
    est.certificate_.verify(X)
    assert est.certificate_.guarantee.ratio < 5.0001
    cost = cdist(X, X)[est.center_indices_].min(axis=0).sum()
    assert est.cost_ == pytest.approx(cost, rel=1e-12)


def test_2000_clients_and_500_sites():
    rng = np.random.default_rng(1)
    X, F = rng.random((2000, 2)), rng.random((500, 2))
    w = rng.integers(1, 4, 2000).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = KMedian(10, candidates=F, random_state=0, time_limit=10).fit(X, sample_weight=w)
    assert est.certificate_.gap < 1e-3
    est.certificate_.verify(X, w, candidates=F)


def test_the_same_seed_the_same_answer_on_any_number_of_threads():
    X = points(250)
    runs = [KMedian(10, random_state=3, n_jobs=jobs).fit(X) for jobs in (None, 1, 2)]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].center_indices_, other.center_indices_)
        assert runs[0].certificate_ == other.certificate_
        assert runs[0].n_iter_ == other.n_iter_
        np.testing.assert_array_equal(runs[0].history_[["iteration", "upper", "lower"]][:-1],
                                      other.history_[["iteration", "upper", "lower"]][:-1])  # fmt: skip


def test_history_is_monotone_and_ends_with_what_is_returned():
    X = points(400, 2)
    est = KMedian(25, random_state=0).fit(X)
    history = est.history_
    assert history.dtype.names == ("time", "iteration", "upper", "lower", "candidates")
    assert len(history) >= 3
    assert np.all(np.diff(history["time"]) >= 0)
    assert np.all(np.diff(history["iteration"]) >= 0)
    assert np.all(np.diff(history["upper"]) <= 0)
    assert np.all(np.diff(history["lower"]) >= 0)
    assert np.all(np.diff(history["candidates"]) <= 0)
    assert history["candidates"][0] == 400
    assert history["candidates"][-1] < 400
    assert history["upper"][-1] == pytest.approx(est.cost_, rel=1e-12)
    assert history["lower"][-1] == pytest.approx(est.certificate_.lower_bound, rel=1e-9)
    assert history["iteration"][-1] == est.n_iter_
    assert np.all(history["lower"] <= history["upper"] * (1 + 1e-12))


@pytest.mark.parametrize("max_iter", [1, 2, 7])
def test_max_iter_is_kept(max_iter):
    X = points(300)
    est = KMedian(20, max_iter=max_iter, random_state=0).fit(X)
    assert est.n_iter_ == max_iter
    est.certificate_.verify(X)
    assert est.certificate_.lower_bound > 0


def test_a_gap_that_is_small_enough_ends_the_run():
    X = points(500, 4)
    loose, tight = (KMedian(30, gap_tol=tolerance, random_state=0).fit(X) for tolerance in (0.05, 0.0))
    assert 0 < loose.certificate_.gap <= 0.05
    assert not loose.certificate_.optimal
    assert len(loose.history_) < len(tight.history_)
    assert tight.certificate_.gap < 1e-3
    loose.certificate_.verify(X)


@pytest.mark.parametrize("limit", [0.01, 0.1, 0.5, 1.0])
def test_time_limits(limit):
    """Kept within 20 % + 0.1 s on a quiet machine (benchmarks); here with room for a busy one."""
    X = points(2500, 5)
    D = cdist(X, X)
    KMedian(5, random_state=0).fit(X[:50])  # compiled
    KMedian(5, random_state=0, metric="precomputed", check_metric=False).fit(D[:50, :50])
    started, used = time.perf_counter(), time.process_time()
    with pytest.warns(ConvergenceWarning, match=f"time_limit={limit}"):
        est = KMedian(100, time_limit=limit, metric="precomputed", check_metric=False, random_state=0).fit(D)
    seconds = min(time.perf_counter() - started, time.process_time() - used)
    assert seconds <= 1.5 * limit + 1.0
    assert len(set(est.center_indices_.tolist())) == 100
    assert est.cost_ == pytest.approx(D[:, est.center_indices_].min(axis=1).sum(), rel=1e-12)
    assert 0 <= est.certificate_.lower_bound <= est.cost_
    est.certificate_.verify(D)


def test_ctrl_c_ends_the_run_with_what_is_known():
    X = points(3000, 6)
    space = build_space(X, None, Metric.of("euclidean"), np.ones(3000))
    KMedian(5, random_state=0).fit(X[:50])
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        result = solve(KMedianProblem(space, 150), "auto", Budget(time_limit=60), random_state=0)
    finally:
        timer.cancel()
    assert result.interrupted
    assert not result.timed_out
    assert len(set(result.centers.tolist())) == 150
    assert result.cost == pytest.approx(cdist(X, X[result.centers]).min(axis=1).sum(), rel=1e-12)
    assert result.bound.value <= result.cost
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -------------------------------------------------------------------------------------------------------- the loop


def test_the_loop_records_before_and_after_every_round():
    log = []

    class Counting(Strategy):
        rounds = 0

        def evolve(self):
            log.append("evolve")

        def bound(self):
            log.append("bound")

        def reduce(self):
            log.append("reduce")
            self.rounds += 1

        def finished(self):
            return self.rounds >= 2

    evolve_bound_reduce(Counting(), lambda: log.append("record"))
    assert log == ["record", *["evolve", "bound", "reduce", "record"] * 2]


@pytest.mark.parametrize("seed", range(5))
def test_every_round_of_the_strategy_is_sound(seed):
    """Bounds move only inwards, live candidates only leave, and no better solution contains one that left."""
    rng = np.random.default_rng(seed)
    cost = np.ascontiguousarray(cdist(rng.random((11, 2)), rng.random((40, 2))))
    if seed % 2:
        cost = np.floor(20 * cost)
    k = int(rng.integers(2, 6))
    strategy = KMedianStrategy(cost, Instance(k, granularity_of(cost)), Limits(0.0, np.inf, lambda: False), seed)
    best = brute.optimum(cost, k)
    upper, lower, live = strategy.upper, strategy.lower, set(strategy.live.tolist())
    everything = brute.solutions(cost, k)
    while not strategy.finished():
        strategy.evolve()
        strategy.bound()
        strategy.reduce()
        assert strategy.upper <= upper
        assert lower <= strategy.lower <= best * (1 + 1e-12)
        upper, lower = strategy.upper, strategy.lower
        assert set(strategy.live.tolist()) <= live
        live = set(strategy.live.tolist())
        for s, value in everything:
            if value < upper * (1 - 1e-9):
                assert set(s) <= live
    assert strategy.proof().lower == pytest.approx(best, rel=1e-9)
    assert strategy.proof().upper == pytest.approx(best, rel=1e-12)


def test_budget_grows_with_the_matrix_but_for_small_ones_it_is_seconds():
    assert default_budget(10) == default_budget(10**6) > default_budget(2 * 10**6)
    assert default_budget(10**9) == 10 * default_budget(10**8)
