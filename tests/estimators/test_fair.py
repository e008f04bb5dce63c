"""FairKMedian as people use it: three modes, no fair set, copies and weights, and the price of fairness."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from certiclust import FairKMedian, InfeasibleError, fairness_curve

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
TWO_SQUARES = np.concatenate([SQUARE, SQUARE + 100.0])
RNG = np.random.default_rng(1)
SKEWED = RNG.exponential(size=(80, 2)) ** 2


def ratio(X, k, centers):
    D = cdist(X, X)
    count = -(-len(X) // k)
    radii = np.sort(D, axis=1)[:, count - 1]
    nearest = D[:, centers].min(axis=1)
    return max((d / r if r else np.inf) if d else 0.0 for d, r in zip(nearest, radii, strict=True))


@pytest.mark.parametrize("beta", [1.1, 1.25, 2.0])
@pytest.mark.parametrize("k", [3, 7])
def test_strict_keeps_beta_for_every_point(beta, k):
    est = FairKMedian(k, beta=beta, mode="strict", random_state=0).fit(SKEWED)
    assert est.fairness_ratio_ <= beta
    assert est.beta_ == beta
    assert est.fairness_ratio_ == pytest.approx(ratio(SKEWED, k, est.center_indices_), rel=1e-12)
    assert est.certificate_.fair_lower_bound <= est.cost_
    est.certificate_.verify(SKEWED)


def test_stricter_modes_cost_more():
    costs = [FairKMedian(7, beta=1.1, mode=m, random_state=0).fit(SKEWED).cost_ for m in ("proven", "tight", "strict")]
    assert costs == sorted(costs)
    assert costs[0] < costs[2]


def test_two_is_always_possible():
    for seed in range(8):
        X = np.random.default_rng(seed).integers(0, 4, size=(17, 2)).astype(float)
        assert FairKMedian(4, beta=2.0, mode="strict", random_state=0).fit(X).fairness_ratio_ <= 2.0


def test_no_fair_set_is_an_error_that_helps():
    est = FairKMedian(3, beta=1.2, mode="strict", random_state=0)
    with pytest.raises(
        InfeasibleError, match=r"no set of 3 centres is 1\.2-fair \(proved\); the least beta .* 1\.41421"
    ):
        est.fit(TWO_SQUARES)
    assert not hasattr(est, "labels_")
    with pytest.raises(ValueError, match="proved") as caught:
        est.fit(TWO_SQUARES)
    error = caught.value
    assert error.proved
    assert error.beta == pytest.approx(np.sqrt(2))
    assert ratio(TWO_SQUARES, 3, error.center_indices) <= error.beta * (1 + 1e-12)
    error.certificate.verify(TWO_SQUARES)
    assert FairKMedian(3, beta=error.beta, mode="strict", random_state=0).fit(TWO_SQUARES).beta_ == error.beta


def test_relaxing_answers_with_a_warning():
    est = FairKMedian(3, beta=1.2, mode="strict", on_infeasible="relax", random_state=0)
    with pytest.warns(ConvergenceWarning, match="the least beta for which one was found is 1.41421"):
        est.fit(TWO_SQUARES)
    assert est.beta_ == pytest.approx(np.sqrt(2))
    assert est.fairness_ratio_ <= est.beta_
    assert est.certificate_.infeasible_beta == 1.2
    assert est.certificate_.optimal
    est.certificate_.verify(TWO_SQUARES)


def test_without_a_metric_no_beta_need_do():
    """Two squares whose sides are 0 and whose diagonals are 50: all fair radii are 0, and three centres do not do."""
    D = np.where(cdist(TWO_SQUARES, TWO_SQUARES) > 1.1, 50.0, 0.0)
    with pytest.raises(InfeasibleError, match="none for any beta") as caught:
        FairKMedian(3, beta=1.0, mode="strict", metric="precomputed", random_state=0).fit(D)
    assert caught.value.beta == np.inf
    assert caught.value.proved
    caught.value.certificate.verify(D)


def test_a_search_that_is_cut_short_warns_and_promises_nothing():
    with pytest.warns(ConvergenceWarning, match="points have no centre within 1 fair radii"):
        est = FairKMedian(3, beta=1.0, mode="strict", algorithm="gsemo", max_iter=50, random_state=0).fit(TWO_SQUARES)
    assert est.certificate_.guarantee is None
    assert est.certificate_.lower_bound == 0
    assert not est.certificate_.optimal
    est.certificate_.verify(TWO_SQUARES)


@pytest.mark.parametrize("mode", ["strict", "tight", "proven"])
def test_weights_are_copies(mode):
    """In the cost and in the n/k count alike."""
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(20, 2)), rng.integers(0, 4, size=20)
    weighted = FairKMedian(4, beta=1.3, mode=mode, on_infeasible="relax", random_state=0).fit(X, sample_weight=w)
    copies = FairKMedian(4, beta=1.3, mode=mode, on_infeasible="relax", random_state=0).fit(np.repeat(X, w, axis=0))
    assert_array_equal(np.repeat(weighted.radii_, w), copies.radii_)
    assert weighted.cost_ == pytest.approx(copies.cost_)
    weighted.certificate_.verify(X, w)


def test_more_copies_than_a_cluster_holds():
    X = np.concatenate([np.zeros((7, 2)), [[1.0, 0.0], [1.0, 0.1], [30.0, 0.0]]])
    est = FairKMedian(3, beta=1.0, mode="strict", random_state=0).fit(X)
    assert_array_equal(est.radii_[:7], 0)
    assert ratio(X, 3, est.center_indices_) <= 1.0
    far = FairKMedian(3, mode="tight", random_state=0).fit(X)
    assert far.fairness_ratio_ <= 4.5
    with pytest.raises(ValueError, match=r"infinite \(as with duplicated points\)"):
        FairKMedian(3, mode="proven", algorithm="gsemo", max_iter="theorem").fit(X)
    proven = FairKMedian(3, mode="proven", random_state=0).fit(X)
    assert "no finite bound on the iterations of plain GSEMO" in str(proven.certificate_)


def test_what_is_refused():
    with pytest.raises(InvalidParameterError, match=r"'beta'.*\[1"):
        FairKMedian(3, beta=0.99).fit(SKEWED)
    with pytest.raises(InvalidParameterError, match="on_infeasible"):
        FairKMedian(3, on_infeasible="ignore").fit(SKEWED)
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        FairKMedian(3, mode="strict").fit(SKEWED[:2])
    with pytest.raises(ValueError, match="no theorem of the paper is about mode='strict'"):
        FairKMedian(3, mode="strict", algorithm="gsemo", max_iter="theorem").fit(SKEWED)
    with config_context(working_memory=0.01), pytest.raises(ValueError, match="needs the distance matrix"):
        FairKMedian(3, mode="strict", algorithm="gsemo").fit(SKEWED)


@pytest.mark.parametrize("mode", ["strict", "tight"])
def test_precomputed_is_the_same(mode):
    rows = FairKMedian(5, mode=mode, beta=1.2, random_state=0).fit(SKEWED)
    given = FairKMedian(5, mode=mode, beta=1.2, metric="precomputed", random_state=0).fit(cdist(SKEWED, SKEWED))
    assert_array_equal(rows.labels_, given.labels_)
    given.certificate_.verify(cdist(SKEWED, SKEWED))


@pytest.mark.parametrize("mode", ["strict", "tight"])
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_without_a_matrix(mode, metric):
    X = np.random.default_rng(0).normal(size=(250, 2))
    with config_context(working_memory=0.3):
        est = FairKMedian(6, mode=mode, beta=1.4, metric=metric, random_state=0).fit(X)
    est.certificate_.verify(X)
    assert est.certificate_.gap < 0.05
    assert est.fairness_ratio_ <= {"strict": 1.4, "tight": 4.2}[mode]


def test_a_time_limit_returns_what_there_is():
    X = np.random.default_rng(0).normal(size=(600, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for mode in ("strict", "tight"):
            est = FairKMedian(12, mode=mode, beta=1.3, time_limit=0.02, random_state=0).fit(X)
            est.certificate_.verify(X)
            assert len(est.center_indices_) == 12


def test_offsets_and_collinear_points():
    X = np.arange(12.0)[:, None] ** 1.5
    plain = FairKMedian(4, mode="strict", beta=1.3, random_state=0).fit(X)
    moved = FairKMedian(4, mode="strict", beta=1.3, random_state=0).fit(X + 1e8)
    assert moved.cost_ == pytest.approx(plain.cost_, abs=1e-5)
    moved.certificate_.verify(X + 1e8)


def test_the_price_of_fairness():
    curve = fairness_curve(SKEWED, 6, [1.5, 1.05, 1.2], random_state=0)
    assert_array_equal(curve.betas, [1.05, 1.2, 1.5])
    assert np.all(np.diff(curve.costs) <= 0)
    assert np.all(np.diff(curve.lower_bounds) <= 0)
    assert np.all(curve.lower_bounds <= curve.costs)
    assert np.all(curve.fairness_ratios <= curve.betas)
    for beta, est, cost in zip(curve.betas, curve.estimators, curve.costs, strict=True):
        assert ratio(SKEWED, 6, est.center_indices_) <= beta * (1 + 1e-12)
        assert est.cost_ == cost
    frame = curve.to_frame()
    assert list(frame.columns) == ["betas", "costs", "lower_bounds", "fairness_ratios"]
    assert len(frame) == 3


def test_the_curve_says_where_there_is_none():
    curve = fairness_curve(TWO_SQUARES, 3, [1.0, 1.5], random_state=0)
    assert_array_equal(curve.costs == np.inf, [True, False])
    assert_array_equal(curve.lower_bounds == np.inf, [True, False])
    assert np.isnan(curve.fairness_ratios[0])
    assert curve.estimators[0] is None
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = curve.plot()
    assert curve.plot(ax) is ax
    for bad in ([], [0.9], [np.nan], [np.inf]):
        with pytest.raises(ValueError, match="none below 1"):
            fairness_curve(TWO_SQUARES, 3, bad)
    with pytest.raises(ValueError, match="sets mode"):
        fairness_curve(TWO_SQUARES, 3, [1.0], mode="tight")
