"""Every k at once: against brute force, with ties and duplicates, at the ends, when stopped, with bad input."""

import itertools
import threading
import time
import warnings
from _thread import interrupt_main

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from certiclust import KTMM, FairKMedian, Front, KCenter, KMeans, KMedian, sweep
from tests.bounds import kmeans_truth
from tests.certificates import brute
from tests.instances import points

CHAINED = [KMedian, KMeans, KCenter, KTMM]
ALL = [*CHAINED, FairKMedian]
CLOUD = np.random.default_rng(5).normal(size=(40, 2))


def optima(estimator, X, w, k_max):
    """The optimum of every size, by looking at all solutions."""
    rows, mass = X[w > 0], w[w > 0]
    D = cdist(rows, rows)
    if estimator is KMeans:
        return [kmeans_truth.optimum(rows, mass, k) for k in range(1, k_max + 1)]
    if estimator is KTMM:
        return [min(brute.diameter(D, p) for p in brute.partitions(len(rows), k)) for k in range(1, k_max + 1)]

    def cost(centers):
        nearest = D[list(centers)].min(axis=0)
        return nearest.max() if estimator is KCenter else mass @ nearest

    return [min(map(cost, itertools.combinations(range(len(rows)), k))) for k in range(1, k_max + 1)]


@pytest.mark.parametrize("estimator", CHAINED)
@pytest.mark.parametrize("algorithm", ["auto", "gsemo", "nsga2"])
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["cloud", "grid", "duplicates", "line", "far"]))
def test_costs_optima_and_bounds_are_in_order(estimator, algorithm, seed, kind):
    rng = np.random.default_rng(seed)
    X = {
        "cloud": lambda: rng.normal(size=(8, 2)),
        "grid": lambda: rng.integers(0, 3, (8, 2)).astype(float),
        "duplicates": lambda: rng.normal(size=(3, 2))[rng.integers(0, 3, 8)],
        "line": lambda: np.outer(rng.integers(0, 9, 8), [1.0, 2.0]),
        "far": lambda: rng.normal(size=(8, 2)) + 1e8,
    }[kind]()
    w = rng.integers(0, 3, 8).astype(float)
    w[0] = 1.0
    k_max = int((w > 0).sum())  # as many clusters as there are clients
    options = {"algorithm": algorithm, "max_iter": 60 if algorithm != "auto" else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        front = sweep(estimator(random_state=0, **options), X, k_max, sample_weight=w)
    best = np.array(optima(estimator, X, w, k_max))
    slack = 1e-9 * (1 + np.abs(best)) + (1e-6 if kind == "far" else 0.0)
    assert_array_equal(front.sizes, np.arange(1, k_max + 1))
    assert (front.costs >= best - slack).all()
    assert (front.lower_bounds <= best + slack).all()
    assert (front.lower_bounds <= front.costs).all()
    assert (np.diff(front.costs) <= 0).all()
    assert (np.diff(front.lower_bounds) <= 0).all()
    if algorithm == "auto" and kind != "far":
        assert front.costs == pytest.approx(best, rel=1e-9, abs=1e-12)
    for k in front:
        front.certificate(k).verify(X, w)
        assert front.lower_bounds[k - 1] >= min(front.certificate(k).lower_bound, front.costs[k - 1])


@pytest.mark.parametrize("estimator", CHAINED)
def test_gsemo_is_one_run_for_all_sizes(estimator):
    front = sweep(estimator(random_state=0, algorithm="gsemo", max_iter=4000), CLOUD, 5, k_min=2)
    assert {front.estimator(k).n_iter_ for k in front} == {4000}
    for k in front:
        assert "every size up to 5 in one run, 4,000 iterations" in front.certificate(k).method
        front.certificate(k).verify(CLOUD)
        if estimator in (KCenter, KTMM):
            assert front.certificate(k).guarantee.ratio == 2.0
            assert front.lower_bounds[k - 2] > 0
    untold = sweep(estimator(random_state=0, algorithm="gsemo"), CLOUD[:12], 3)
    assert (np.diff(untold.costs) <= 0).all()
    with pytest.warns(ConvergenceWarning, match="no solution of size"):
        sweep(estimator(random_state=0, algorithm="gsemo", max_iter=2), CLOUD, 5)


def test_gsemo_for_all_sizes_runs_as_long_as_its_theorem_says():
    X = CLOUD[:12]
    front = sweep(KCenter(random_state=0, algorithm="gsemo", max_iter="theorem"), X, 3)
    assert front.estimator(2).n_iter_ == int(np.ceil(np.e * 4 * (1 + 12 * 2)))
    with pytest.raises(ValueError, match="above the limit of 1e9"):
        sweep(KMedian(algorithm="gsemo", max_iter="theorem"), np.repeat(X, 200, axis=0), 3)


def test_fair_sizes_come_from_one_space_and_keep_their_own_constraint():
    X = np.random.default_rng(9).random((60, 2))
    for mode in ("tight", "proven", "strict"):
        front = sweep(FairKMedian(random_state=0, mode=mode, beta=2.0), X, 6)
        for k in front:
            alone = FairKMedian(k, random_state=0, mode=mode, beta=2.0).fit(X)
            found = front.estimator(k)
            assert_array_equal(found.radii_, alone.radii_)
            assert found.cost_ >= alone.certificate_.lower_bound * (1 - 1e-9)
            assert found.cost_ <= alone.cost_ * 1.05
            assert found.certificate_.lower_bound <= alone.cost_ * (1 + 1e-9)
            found.certificate_.verify(X)


@pytest.mark.parametrize("estimator", ALL)
def test_each_estimator_is_as_fit_leaves_one(estimator):
    front = sweep(estimator(random_state=0), CLOUD, 3)
    for k in front:
        member = front.estimator(k)
        assert member.get_params() == estimator(n_clusters=k, random_state=0).get_params()
        assert member.n_features_in_ == 2
        assert set(vars(member)) == set(vars(estimator(k, random_state=0).fit(CLOUD)))
        assert len(np.unique(front.labels(k))) == k
        assert member.cost_ == front.costs[k - 1] == front.certificate(k).cost
        assert front.certificate(k).n_clusters == k
        if estimator is not KTMM:
            assert -member.score(CLOUD) == pytest.approx(member.cost_)
            assert_array_equal(member.predict(CLOUD), member.labels_)


@pytest.mark.parametrize("estimator", ALL)
def test_the_same_seed_gives_the_same_front_and_the_estimator_stays_as_it_is(estimator):
    given = estimator(n_clusters=77, random_state=3)
    one, two = sweep(given, CLOUD, 4, k_min=2), sweep(given, CLOUD, 4, k_min=2)
    assert_array_equal(one.sizes, [2, 3, 4])
    assert_array_equal(one.costs, two.costs)
    assert_array_equal(one.lower_bounds, two.lower_bounds)
    assert vars(given) == vars(estimator(n_clusters=77, random_state=3))


def test_a_precomputed_matrix_other_sites_and_centres_anywhere():
    sites = CLOUD[::3]
    given = sweep(KMedian(random_state=0, candidates=sites), CLOUD, len(sites))
    matrix = sweep(KMedian(random_state=0, metric="precomputed"), cdist(CLOUD, sites), len(sites))
    assert matrix.costs == pytest.approx(given.costs)
    given.certificate(4).verify(CLOUD, candidates=sites)
    anywhere = sweep(KMedian(random_state=0, centers="continuous", epsilon=0.9), CLOUD, 4)
    assert (np.diff(anywhere.costs) <= 0).all()
    assert (anywhere.costs <= sweep(KMedian(random_state=0), CLOUD, 4).costs * (1 + 1e-9)).all()
    for k in anywhere:
        anywhere.certificate(k).verify(CLOUD)


def test_without_a_matrix_and_in_many_columns():
    import sklearn

    rng = np.random.default_rng(0)
    X, wide = rng.random((400, 2)), rng.normal(size=(60, 12))
    with sklearn.config_context(working_memory=1):
        front = sweep(KMedian(random_state=0), X, 3)
        assert (np.diff(front.costs) <= 0).all()
        front.certificate(3).verify(X)
    front = sweep(KMeans(random_state=0), wide, 4)
    assert (front.lower_bounds > 0).all()
    front.certificate(4).verify(wide)


@pytest.mark.parametrize("estimator", ALL)
def test_without_certificates_there_are_costs_only(estimator):
    front = sweep(estimator(random_state=0, certify=False), CLOUD, 3)
    assert front.certificate(2) is None
    assert_array_equal(front.lower_bounds, 0.0)
    assert np.isinf(front.gaps).all()
    assert not front.suggest().proved


@pytest.mark.parametrize("estimator", ALL)
def test_a_time_limit_is_for_all_sizes_together_and_warns_once(estimator):
    X = np.random.default_rng(0).random((1200, 2))
    sweep(estimator(random_state=0), X[:50], 3)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        front = sweep(estimator(random_state=0, time_limit=0.02), X, 6)
    assert time.process_time() - start < 5
    assert len(caught) <= 1 or estimator is FairKMedian
    assert all(item.filename == __file__ for item in caught)
    assert len(front) == 6
    if estimator is not FairKMedian:
        assert (np.diff(front.costs) <= 0).all()
        assert caught
    assert front.estimator(3).time_limit == 0.02
    front.certificate(6).verify(X)


def test_ctrl_c_returns_the_best_so_far_for_every_size():
    X = np.random.default_rng(0).random((1500, 2))
    sweep(KTMM(random_state=0), X[:50], 3)
    timer = threading.Timer(0.3, interrupt_main)
    timer.start()
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        front = sweep(KTMM(random_state=0), X, 8)
    timer.join()
    assert len(front) == 8
    assert (np.diff(front.costs) <= 0).all()
    front.certificate(8).verify(X)


@pytest.mark.parametrize("estimator", ALL)
def test_more_clusters_than_distinct_points(estimator):
    X = np.repeat(np.array([[0.0], [1.0], [5.0]]), 3, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct points \(3\).* more such warnings"):
        front = sweep(estimator(random_state=0), X, 6)
    assert_array_equal(front.costs[2:], 0.0)
    assert_array_equal(front.gaps[2:], 0.0)
    assert front.optimal[2:].all()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((KMedian(), CLOUD, 0), ValueError, "k_max == 0, must be >= 1"),
        ((KMedian(), CLOUD, 2.5), TypeError, "k_max must be an instance of"),
        ((KMedian(), CLOUD, 41), ValueError, r"n_samples=40 should be >= n_clusters=41"),
        ((FairKMedian(), CLOUD, 41), ValueError, r"n_samples=40 should be >= n_clusters=41"),
        ((KMedian(gap_tol=-1), CLOUD, 3), ValueError, "gap_tol"),
        ((KMedian(), np.full((3, 2), np.nan), 2), ValueError, "NaN"),
        ((KMedian, CLOUD, 3), TypeError, "an estimator of certiclust; got the class KMedian, not an instance"),
        (("k-median", CLOUD, 3), TypeError, "an estimator of certiclust; got str"),
    ],
)
def test_bad_input_is_said_in_one_sentence_before_any_work(arguments, error, words, monkeypatch):
    monkeypatch.setattr("certiclust.front.chain.solve", None)
    with pytest.raises(error, match=words):
        sweep(*arguments)


def test_k_min_above_k_max():
    with pytest.raises(ValueError, match="k_min == 4, must be <= 3"):
        sweep(KMedian(), CLOUD, 3, k_min=4)


def test_verbose_names_the_size(capfd):
    sweep(KMedian(random_state=0, verbose=1), CLOUD, 2)
    told = capfd.readouterr()
    assert told.out == ""
    assert "k-median, k = 1  " in told.err
    assert "k-median, k = 2  " in told.err


def test_fair_bounds_are_per_size():
    front = sweep(FairKMedian(random_state=0), CLOUD, 5)
    own = [front.certificate(k).lower_bound for k in front]
    assert_array_equal(front.lower_bounds, np.minimum(own, front.costs))
    assert isinstance(front, Front)


@pytest.mark.parametrize("kind", ["collinear", "duplicates", "grid", "wild", "offset"])
def test_costs_never_rise_up_to_a_centre_for_every_point(kind):
    X = points(np.random.default_rng(1), 12, kind)
    for estimator in (KMedian, KCenter, KTMM):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            front = sweep(estimator(random_state=0), X, 12)
        assert (np.diff(front.costs) <= 0).all()
        assert front.costs[-1] == 0.0
        assert front.optimal[-1]
