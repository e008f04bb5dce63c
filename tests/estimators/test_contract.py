"""The public contract, line by line: names, labels, centres, costs, weights, stopping, warnings."""

import inspect
import warnings
from math import ceil, e, inf, log, log1p
from time import perf_counter, process_time

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from certiclust import KTMM, Certificate, FairKMedian, KCenter, KMeans, KMedian
from certiclust.estimators import _base

ALL = [KTMM, KCenter, KMedian, KMeans, FairKMedian]
WITH_METRIC = [KTMM, KCenter, KMedian, FairKMedian]
SUMS = [KMedian, KMeans, FairKMedian]
NEAREST = [KCenter, KMedian, KMeans, FairKMedian]  # labels_ by nearest centre; KTMM's are a partition

CLOUD = np.random.default_rng(11).normal(size=(40, 3))
GRID = np.random.default_rng(12).integers(0, 4, size=(30, 2)).astype(float)  # ties and duplicates


def squared(estimator):
    return estimator is KMeans


def distances(A, B, metric="euclidean", fitted_on=None):
    """Return distances by SciPy, or by the formula where SciPy has none."""
    if metric == "haversine":
        lat, lon = A[:, None, 0] - B[:, 0], A[:, None, 1] - B[:, 1]
        half = np.sin(lat / 2) ** 2 + np.cos(A[:, None, 0]) * np.cos(B[:, 0]) * np.sin(lon / 2) ** 2
        return 2 * np.arcsin(np.sqrt(half))
    if metric == "seuclidean":
        return cdist(A, B, metric, V=np.var(fitted_on, axis=0, ddof=1))
    if metric == "mahalanobis":
        return cdist(A, B, metric, VI=np.linalg.inv(np.cov(fitted_on, rowvar=False)))
    names = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean", "matching": "hamming"}
    return cdist(A, B, names.get(metric, metric))


def to_centers(est, X, rows=None):
    """Return the distances of rows to the fitted centres, in the measure of the problem."""
    metric = "sqeuclidean" if isinstance(est, KMeans) else est.metric
    return distances(X, est.cluster_centers_ if rows is None else rows, metric, X)


def diameter(D, labels):
    return max(D[np.ix_(labels == label, labels == label)].max() for label in np.unique(labels))


def recomputed_cost(est, X, weights=None):
    """Return the cost from labels_ and centres alone."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    if isinstance(est, KTMM):
        D = distances(X, X, est.metric, X)
        return diameter(D[np.ix_(w > 0, w > 0)], est.labels_[w > 0])
    nearest = to_centers(est, X).min(axis=1)
    return nearest[w > 0].max() if isinstance(est, KCenter) else w @ nearest


# ------------------------------------------------------------------------------------------------------ signatures

COMMON = {
    "n_clusters": 8,
    "algorithm": "auto",
    "mutation": "bitwise",
    "max_iter": None,
    "time_limit": None,
    "gap_tol": 0.0,
    "ls_epsilon": 0.5,
    "certify": True,
    "random_state": None,
    "n_jobs": None,
    "verbose": 0,
}
OWN = {
    KTMM: {"metric": "euclidean", "check_metric": None},
    KCenter: {"metric": "euclidean", "check_metric": None},
    KMedian: {
        "metric": "euclidean",
        "check_metric": None,
        "candidates": None,
        "centers": "candidates",
        "epsilon": 0.5,
        "max_candidates": 50_000,
    },
    KMeans: {"candidates": "data", "epsilon": 0.5, "max_candidates": 50_000},
    FairKMedian: {
        "metric": "euclidean",
        "check_metric": None,
        "beta": 1.5,
        "mode": "tight",
        "on_infeasible": "raise",
    },
}


@pytest.mark.parametrize("estimator", ALL)
def test_signature(estimator):
    parameters = inspect.signature(estimator).parameters
    assert {name: p.default for name, p in parameters.items()} == {**COMMON, **OWN[estimator]}
    positional = [name for name, p in parameters.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert positional == ["n_clusters"]
    assert list(inspect.signature(estimator.fit).parameters) == ["self", "X", "y", "sample_weight"]
    assert list(inspect.signature(estimator.score).parameters) == ["self", "X", "y", "sample_weight"]


@pytest.mark.parametrize("estimator", ALL)
def test_every_parameter_and_attribute_is_documented(estimator):
    text = inspect.getdoc(estimator)
    for name in inspect.signature(estimator).parameters:
        assert f"\n{name} : " in text, name
    est = estimator(3, random_state=0).fit(CLOUD)
    own = [name for name in vars(est) if name.endswith("_") and not name.startswith("_")]
    for name in set(own) - {"n_features_in_", "feature_names_in_"}:
        assert name in text, name


# --------------------------------------------------------------------------------------- labels, centres and costs


@pytest.mark.parametrize("algorithm", ["auto", "gsemo"])
@pytest.mark.parametrize("X", [CLOUD, GRID], ids=["cloud", "grid"])
@pytest.mark.parametrize("estimator", ALL)
def test_types_and_shapes(estimator, X, algorithm):
    est = estimator(5, algorithm=algorithm, random_state=0).fit(X)
    assert est.labels_.dtype == np.int32
    assert est.labels_.shape == (len(X),)
    assert set(est.labels_) == set(range(5))  # every label is used when F = D
    if estimator is KMeans and algorithm == "auto":  # centres anywhere
        assert not hasattr(est, "center_indices_")
        assert not hasattr(est, "medoid_indices_")
        means = [X[est.labels_ == label].mean(axis=0) for label in range(5)]
        assert_allclose(est.cluster_centers_, means, rtol=1e-12, atol=1e-12)
    else:
        assert est.center_indices_.shape == (5,)
        assert np.all(np.diff(est.center_indices_) > 0)
        assert est.medoid_indices_ is est.center_indices_
        assert_array_equal(est.cluster_centers_, X[est.center_indices_])
        assert_array_equal(est.labels_[est.center_indices_], np.arange(5))  # a centre has its own label
    assert type(est.cost_) is float
    assert est.inertia_ == est.cost_
    assert type(est.n_iter_) is int
    assert est.n_iter_ >= 1
    assert isinstance(est.certificate_, Certificate)
    assert est.certificate_.cost == est.cost_
    assert est.certificate_.n_clusters == 5
    assert est.certificate_.n_samples == len(X)
    assert est.cost_ == pytest.approx(recomputed_cost(est, X), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("estimator", NEAREST)
def test_labels_are_nearest_ties_to_the_lower_label(estimator, seed):
    X = np.random.default_rng(seed).integers(0, 4, size=(40, 2)).astype(float)
    est = estimator(6, random_state=seed).fit(X)
    D = to_centers(est, X)
    expected = D.argmin(axis=1)
    assert_array_equal(est.predict(X), expected)
    if estimator is not KMeans:  # its centres are anywhere, and ties are rare
        assert (np.sort(D, axis=1)[:, 0] == np.sort(D, axis=1)[:, 1]).any()
        expected[est.center_indices_] = np.arange(6)
    assert_array_equal(est.labels_, expected)


def test_a_centre_among_duplicates_has_its_own_label():
    X = np.array([[0.0], [0.0], [0.0], [5.0]])
    with pytest.warns(ConvergenceWarning, match="distinct points"):
        est = KMedian(3, random_state=0).fit(X)
    assert_array_equal(est.labels_[est.center_indices_], [0, 1, 2])
    assert set(est.labels_) == {0, 1, 2}


@pytest.mark.parametrize("estimator", ALL)
def test_predict_transform_score_on_new_rows(estimator):
    new = np.random.default_rng(5).normal(size=(17, 3))
    est = estimator(4, random_state=0).fit(CLOUD)
    D = to_centers(est, new)
    assert_array_equal(est.predict(new), D.argmin(axis=1))
    assert_allclose(est.transform(new), np.sqrt(D) if squared(estimator) else D, rtol=1e-12)
    if estimator is KTMM:
        expected = diameter(distances(new, new), est.predict(new))
    else:
        expected = D.min(axis=1).max() if estimator is KCenter else D.min(axis=1).sum()
    assert est.score(new) == pytest.approx(-expected, rel=1e-12)


@pytest.mark.parametrize("estimator", NEAREST)
def test_score_of_the_training_rows_is_minus_cost(estimator):
    est = estimator(4, random_state=0).fit(CLOUD)
    assert est.score(CLOUD) == pytest.approx(-est.cost_, rel=1e-12)


@pytest.mark.parametrize("n_clusters", [1, 2, 7])
@pytest.mark.parametrize("X", [CLOUD, GRID], ids=["cloud", "grid"])
def test_ktmm_centres_are_most_central(X, n_clusters):
    est = KTMM(n_clusters, random_state=1).fit(X)
    D = distances(X, X)
    assert est.cost_ == diameter(D, est.labels_)
    for j, center in enumerate(est.center_indices_):
        members = np.flatnonzero(est.labels_ == j)
        assert center in members
        reach = D[np.ix_(members, members)].max(axis=1)
        assert D[center, members].max() == reach.min()
    assert est.score(X) == -diameter(D, est.predict(X))


@pytest.mark.parametrize("estimator", ALL)
def test_one_cluster(estimator):
    est = estimator(1, random_state=0).fit(CLOUD)
    D = distances(CLOUD, CLOUD, "sqeuclidean" if squared(estimator) else "euclidean")
    best = {KTMM: D.max(), KCenter: D.max(axis=0).min()}.get(estimator, D.sum(axis=0).min())
    if estimator is KMeans:  # the mean is the best centre
        best = ((CLOUD - CLOUD.mean(axis=0)) ** 2).sum()
    assert est.cost_ == pytest.approx(best, rel=1e-12)
    assert_array_equal(est.labels_, 0)
    est.certificate_.verify(CLOUD)
    if estimator in (KMedian, FairKMedian):
        assert est.certificate_.gap < 1e-9  # all solutions are one swap away


@pytest.mark.parametrize("algorithm", ["auto", "gsemo"])
@pytest.mark.parametrize("estimator", ALL)
def test_as_many_clusters_as_points(estimator, algorithm):
    est = estimator(9, algorithm=algorithm, random_state=0).fit(CLOUD[:9])
    assert est.cost_ == 0
    if estimator is KMeans and algorithm == "auto":
        assert_array_equal(est.cluster_centers_[est.labels_], CLOUD[:9])
    else:
        assert_array_equal(est.center_indices_, np.arange(9))
        assert_array_equal(est.labels_, np.arange(9))
    assert est.certificate_.optimal
    assert est.certificate_.gap == 0
    est.certificate_.verify(CLOUD[:9])


@pytest.mark.parametrize("estimator", ALL)
def test_one_row(estimator):
    est = estimator(1, random_state=0).fit([[3.0, 4.0]])
    assert est.cost_ == 0
    assert_array_equal(est.labels_, [0])
    est.certificate_.verify([[3.0, 4.0]])


# --------------------------------------------------------------------------------------------------------- metrics

METRICS = ["euclidean", "l2", "sqeuclidean", "manhattan", "l1", "chebyshev", "cosine", "correlation", "canberra"]
METRICS += ["hamming", "matching", "jaccard", "haversine", "mahalanobis", "seuclidean", "braycurtis", "minkowski"]
METRICS += ["dice", "rogerstanimoto", "sokalsneath"]
BOOLEAN = ("jaccard", "dice", "rogerstanimoto", "sokalsneath")


def rows_for(metric):
    rng = np.random.default_rng(21)
    if metric == "haversine":
        return rng.uniform(-1.2, 1.2, size=(30, 2))
    if metric in BOOLEAN:
        rows = (rng.random((30, 8)) < 0.5).astype(float)
        rows[:, 0] = 1
        return rows
    if metric in ("hamming", "matching"):
        return rng.integers(0, 3, size=(30, 6)).astype(float)
    return rng.normal(size=(30, 4)) if metric != "braycurtis" else rng.uniform(1, 2, size=(30, 4))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_metric(estimator, metric):
    X = rows_for(metric)
    est = estimator(4, metric=metric, random_state=0).fit(X)
    rows = X.astype(bool) if metric in BOOLEAN else X
    D = distances(rows, rows, metric, X)
    assert_allclose(est.transform(X), D[:, est.center_indices_], rtol=1e-9, atol=1e-12)
    if estimator is KTMM:
        cost = diameter(D, est.labels_)
    else:
        nearest = D[:, est.center_indices_].min(axis=1)
        cost = nearest.max() if estimator is KCenter else nearest.sum()
    assert est.cost_ == pytest.approx(cost, rel=1e-9)
    est.certificate_.verify(X)
    est.certificate_.verify(X, metric=metric)


@pytest.mark.parametrize(
    ("metric", "center", "median"),
    [
        ("euclidean", 2, 5),
        ("manhattan", 2, 5),
        ("chebyshev", 2, 5),
        ("canberra", 2, 5),
        ("hamming", 2, 5),
        ("jaccard", 2, 5),
        ("haversine", 2, 5),
        ("mahalanobis", 2, 5),
        ("seuclidean", 2, 5),
        ("minkowski", 2, 5),
        ("sqeuclidean", 4, 25),
        ("cosine", 4, 25),
        ("correlation", 4, 25),
    ],
)
def test_claimed_ratios(metric, center, median):
    """PROOFS.md part 4: 2 and 5 for metrics, 4 and 25 for their squares."""
    X = rows_for(metric)
    for estimator, ratio in ((KCenter, center), (KTMM, center), (KMedian, median)):
        guarantee = estimator(4, metric=metric, random_state=0).fit(X).certificate_.guarantee
        assert guarantee.ratio == pytest.approx(ratio, rel=1e-9)
        assert guarantee.ratio >= ratio
    assert KMedian(1, metric=metric, random_state=0).fit(X).certificate_.guarantee.ratio == pytest.approx(1, rel=1e-9)


def test_claimed_ratios_of_kmeans():
    X = rows_for("sqeuclidean")
    assert KMeans(4, random_state=0).fit(X).certificate_.guarantee.ratio == pytest.approx((2 + np.sqrt(10)) ** 2)
    candidates = X[:20] + 0.25
    given = KMeans(4, candidates=candidates, random_state=0).fit(X).certificate_
    assert given.guarantee.ratio == pytest.approx(25, rel=1e-9)
    assert "candidates" in given.note


def test_a_ratio_over_given_candidates_says_so():
    """Candidates high above the rows: their best centres cost much more than 25 times the best ones anywhere."""
    X, far = np.insert(CLOUD, 0, 0.0, axis=1), np.insert(CLOUD[:10], 0, 100.0, axis=1)
    anywhere = KMeans(3, random_state=0).fit(X)
    chosen = KMeans(3, candidates=far, algorithm="gsemo", random_state=0).fit(X)
    certificate = chosen.certificate_
    assert chosen.cost_ > certificate.guarantee.ratio * anywhere.cost_
    against = "(against the best centres among the given candidates)"
    assert str(certificate).splitlines()[1].endswith(f"because {certificate.guarantee.because} {against}.")
    assert "among" not in str(anywhere.certificate_)
    certificate.verify(X, candidates=far)


@pytest.mark.parametrize("mode", ["proven", "tight"])
def test_claimed_fairness(mode):
    certificate = FairKMedian(4, beta=1.25, mode=mode, random_state=0).fit(CLOUD).certificate_
    assert certificate.guarantee.ratio is None
    assert certificate.guarantee.fairness == {"proven": 7, "tight": 3}[mode] * 1.25
    assert "in every critical ball" in certificate.note
    assert certificate.theory["ratio"] == {"proven": 84, "tight": None}[mode]  # the theorem's own figure
    assert certificate.fair_lower_bound >= certificate.lower_bound


def test_no_ratio_without_a_checked_metric():
    """Rounded distances are no metric (PROOFS.md part 4), and no ratio is claimed for them."""
    rounded = np.round(distances(CLOUD, CLOUD))
    np.fill_diagonal(rounded, 0)
    rounded[0, 1] = rounded[1, 0] = 9 * rounded.max()
    for estimator in WITH_METRIC:
        certificate = estimator(4, metric="precomputed", random_state=0).fit(rounded).certificate_
        assert certificate.guarantee is None
        assert "triangle inequality" in certificate.note
        assert "no guarantee reached" in str(certificate)
        # OPT_tMM >= h needs no metric, nor do the Lagrangian bound and the packing bound.
        assert (certificate.lower_bound > 0) == (estimator in (KTMM, KMedian, KCenter, FairKMedian))
        certificate.verify(rounded)


def test_check_metric_on_request():
    D = distances(CLOUD, CLOUD, "manhattan")
    for estimator in WITH_METRIC:
        assert estimator(4, metric="precomputed", random_state=0).fit(D).certificate_.guarantee is not None
        unchecked = estimator(4, metric="precomputed", check_metric=False, random_state=0).fit(D).certificate_
        assert unchecked.guarantee is None
        unchecked.verify(D)


def taxicab(a, b):
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_callable_metric(estimator):
    est = estimator(4, metric=taxicab, random_state=0).fit(CLOUD)
    named = estimator(4, metric="manhattan", random_state=0).fit(CLOUD)
    assert_array_equal(est.labels_, named.labels_)
    assert est.cost_ == pytest.approx(named.cost_, rel=1e-12)
    assert "taxicab" in est.certificate_.metric
    est.certificate_.verify(CLOUD, metric=taxicab)
    assert est.certificate_.guarantee.ratio == pytest.approx(named.certificate_.guarantee.ratio or 0, rel=1e-9) or (
        estimator is FairKMedian
    )


def test_asymmetric_callable_is_client_to_site():
    """k-median needs no symmetry; a distance is from the client (first) to the site (second), everywhere."""

    def uphill(client, site):
        return float(np.maximum(site - client, 0).sum() + 3 * np.maximum(client - site, 0).sum())

    est = KMedian(4, metric=uphill, random_state=0).fit(CLOUD)
    D = np.array([[uphill(a, b) for b in CLOUD] for a in CLOUD])
    assert_allclose(est.transform(CLOUD), D[:, est.center_indices_], rtol=1e-12)
    assert est.cost_ == pytest.approx(D[:, est.center_indices_].min(axis=1).sum(), rel=1e-12)
    assert est.score(CLOUD) == pytest.approx(-est.cost_, rel=1e-12)
    assert_array_equal(est.labels_, est.predict(CLOUD))
    est.certificate_.verify(CLOUD, metric=uphill)
    assert est.certificate_.guarantee is None  # the theorem is about metrics


@pytest.mark.parametrize("name", ["precomputed", "euclidean", "cosine"])
def test_a_callable_is_not_mistaken_for_a_name(name):
    def metric(a, b):
        return float(np.abs(a - b).sum())

    metric.__name__ = metric.__qualname__ = name
    est = KMedian(4, metric=metric, random_state=0).fit(CLOUD)
    expected = KMedian(4, metric="manhattan", random_state=0).fit(CLOUD)
    assert_array_equal(est.predict(CLOUD), expected.predict(CLOUD))
    assert_array_equal(est.cluster_centers_, expected.cluster_centers_)
    est.certificate_.verify(CLOUD, metric=metric)
    with pytest.raises(ValueError, match="metric"):
        est.certificate_.verify(CLOUD)


# ---------------------------------------------------------------------------------------- precomputed, candidates


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean"])
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_precomputed_is_the_same_problem(estimator, metric):
    D = distances(CLOUD, CLOUD, metric)
    est = estimator(4, metric="precomputed", random_state=0).fit(D)
    named = estimator(4, metric=metric, random_state=0).fit(CLOUD)
    assert_array_equal(est.labels_, named.labels_)
    assert_array_equal(est.center_indices_, named.center_indices_)
    assert est.cost_ == pytest.approx(named.cost_, rel=1e-12)
    assert not hasattr(est, "cluster_centers_")
    new = distances(CLOUD[:7] + 0.3, CLOUD, metric)
    assert_array_equal(est.predict(new), new[:, est.center_indices_].argmin(axis=1))
    assert_array_equal(est.transform(new), new[:, est.center_indices_])
    if estimator is not KTMM:
        assert est.score(new) == pytest.approx(named.score(CLOUD[:7] + 0.3), rel=1e-12)
    est.certificate_.verify(D)


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_fitting_again_with_precomputed_forgets_the_centres(estimator):
    est = estimator(4, random_state=0).fit(CLOUD)
    assert hasattr(est, "cluster_centers_")
    est.set_params(metric="precomputed").fit(distances(CLOUD, CLOUD))
    assert not hasattr(est, "cluster_centers_")


def test_fitting_again_without_certify_forgets_the_certificate():
    est = KMedian(4, random_state=0).fit(CLOUD)
    assert est.certificate_ is not None
    assert est.set_params(certify=False).fit(CLOUD).certificate_ is None


def test_clients_by_sites():
    rng = np.random.default_rng(4)
    sites = rng.normal(size=(9, 3))
    D = distances(CLOUD, sites)
    est = KMedian(4, metric="precomputed", random_state=0).fit(D)
    same = KMedian(4, candidates=sites, random_state=0).fit(CLOUD)
    assert_array_equal(est.center_indices_, same.center_indices_)
    assert_array_equal(est.labels_, same.labels_)
    assert est.cost_ == pytest.approx(D[:, est.center_indices_].min(axis=1).sum(), rel=1e-12)
    assert_array_equal(same.cluster_centers_, sites[same.center_indices_])
    assert_array_equal(est.labels_, D[:, est.center_indices_].argmin(axis=1))
    new = distances(rng.normal(size=(5, 3)), sites)
    assert_array_equal(est.predict(new), new[:, est.center_indices_].argmin(axis=1))
    assert_array_equal(est.transform(new), new[:, est.center_indices_])
    assert est.score(new) == pytest.approx(-new[:, est.center_indices_].min(axis=1).sum(), rel=1e-12)
    est.certificate_.verify(D)
    same.certificate_.verify(CLOUD, candidates=sites)
    with pytest.raises(ValueError, match="X has 40 features, but KMedian is expecting 9"):
        est.predict(distances(CLOUD, CLOUD))


def test_more_sites_than_clients():
    D = np.random.default_rng(0).uniform(1, 2, size=(5, 20))
    est = KMedian(7, metric="precomputed", random_state=0)
    with pytest.warns(ConvergenceWarning, match="centres have no point"):
        est.fit(D)
    assert est.cost_ == pytest.approx(D.min(axis=1).sum(), rel=1e-12)
    est.certificate_.verify(D)


def among(estimator):
    """Return what keeps the centres among the candidates."""
    return {"algorithm": "gsemo"} if estimator is KMeans else {}


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_candidates(estimator):
    candidates = np.random.default_rng(6).normal(size=(15, 3))
    est = estimator(4, candidates=candidates, random_state=0, **among(estimator)).fit(CLOUD)
    assert est.center_indices_.max() < 15
    assert_array_equal(est.cluster_centers_, candidates[est.center_indices_])
    D = to_centers(est, CLOUD)
    assert_array_equal(est.labels_, D.argmin(axis=1))
    assert est.cost_ == pytest.approx(D.min(axis=1).sum(), rel=1e-12)
    est.certificate_.verify(CLOUD, candidates=candidates)
    assert est.get_feature_names_out().tolist() == [f"{estimator.__name__.lower()}{j}" for j in range(4)]


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_empty_centre_is_warned_about(estimator):
    candidates = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1e6, 0.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="1 of the 3 centres have no point"):
        est = estimator(3, candidates=candidates, random_state=0, **among(estimator)).fit(CLOUD)
    assert set(est.labels_) == {0, 1}
    est.certificate_.verify(CLOUD, candidates=candidates)


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_candidates_equal_to_the_rows_change_nothing_but_the_claim(estimator):
    default = estimator(4, random_state=0, **among(estimator)).fit(CLOUD)
    given = estimator(4, candidates=CLOUD, random_state=0, **among(estimator)).fit(CLOUD)
    assert_array_equal(given.center_indices_, default.center_indices_)
    assert given.cost_ == default.cost_
    given.certificate_.verify(CLOUD, candidates=CLOUD)
    with pytest.raises(ValueError, match="data_sha256"):
        given.certificate_.verify(CLOUD)


# --------------------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("estimator", SUMS)
def test_weight_w_is_w_copies(estimator):
    weights = np.random.default_rng(3).integers(1, 4, len(CLOUD))
    est = estimator(4, random_state=0).fit(CLOUD, sample_weight=weights)
    copies = np.repeat(CLOUD, weights, axis=0)
    assert est.cost_ == pytest.approx(to_centers(est, copies).min(axis=1).sum(), rel=1e-12)
    assert est.score(copies) == pytest.approx(est.score(CLOUD, sample_weight=weights), rel=1e-12)
    assert est.score(CLOUD, sample_weight=weights) == pytest.approx(-est.cost_, rel=1e-12)
    est.certificate_.verify(CLOUD, weights)


@pytest.mark.parametrize("estimator", [KTMM, KCenter])
def test_positive_weights_do_not_matter_for_the_max_problems(estimator):
    weights = np.random.default_rng(3).uniform(0.1, 9, len(CLOUD))
    weighted = estimator(4, random_state=0).fit(CLOUD, sample_weight=weights)
    plain = estimator(4, random_state=0).fit(CLOUD)
    assert_array_equal(weighted.labels_, plain.labels_)
    assert weighted.cost_ == plain.cost_
    assert weighted.score(CLOUD, sample_weight=weights) == plain.score(CLOUD)
    weighted.certificate_.verify(CLOUD, weights)


@pytest.mark.parametrize("precomputed", [False, True])
@pytest.mark.parametrize("estimator", ALL)
def test_weight_zero_is_no_client_no_centre_and_still_labelled(estimator, precomputed):
    """The same run as on the rows of positive weight alone; the others go to their nearest centre."""
    if precomputed and estimator is KMeans:
        pytest.skip("KMeans has no metric")
    rng = np.random.default_rng(9)
    weights = rng.integers(0, 3, len(CLOUD)).astype(float)
    far = np.flatnonzero(weights == 0)
    X = CLOUD.copy()
    X[far[0]] = 50.0  # an outlier that would be a centre
    kept = np.flatnonzero(weights > 0)
    D = distances(X, X)
    parameters = {"metric": "precomputed"} if precomputed else {}
    whole, part = (D, D[np.ix_(kept, kept)]) if precomputed else (X, X[kept])
    est = estimator(5, random_state=0, **parameters).fit(whole, sample_weight=weights)
    alone = estimator(5, random_state=0, **parameters).fit(part, sample_weight=weights[kept])
    if estimator is KMeans:
        assert_array_equal(est.cluster_centers_, alone.cluster_centers_)
    else:
        assert_array_equal(est.center_indices_, kept[alone.center_indices_])
    assert_array_equal(est.labels_[kept], alone.labels_)
    assert est.cost_ == alone.cost_
    assert est.n_iter_ == alone.n_iter_
    to_center = to_centers(est, X) if estimator is KMeans else D[:, est.center_indices_]
    assert_array_equal(est.labels_[far], to_center[far].argmin(axis=1))
    assert est.certificate_.n_samples == len(X)
    est.certificate_.verify(whole, weights)
    if not (precomputed and estimator is KTMM):
        score = est.score(whole, sample_weight=weights)
        assert score == pytest.approx(-recomputed_score(est, D, to_center, weights), rel=1e-12)


def recomputed_score(est, D, to_center, weights):
    labels, nearest = to_center.argmin(axis=1), to_center.min(axis=1)
    if isinstance(est, KTMM):
        return diameter(D[np.ix_(weights > 0, weights > 0)], labels[weights > 0])
    return nearest[weights > 0].max() if isinstance(est, KCenter) else weights @ nearest


def test_weight_zero_row_may_be_a_given_candidate():
    """Only default candidates are restricted: a user's candidates all count."""
    weights = np.ones(len(CLOUD))
    weights[0] = 0
    est = KMedian(1, candidates=CLOUD[:1], random_state=0).fit(CLOUD, sample_weight=weights)
    assert_array_equal(est.center_indices_, [0])
    est.certificate_.verify(CLOUD, weights, candidates=CLOUD[:1])


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
@pytest.mark.parametrize("estimator", SUMS)
def test_scaling_all_weights_scales_the_cost(estimator, scale):
    weights = np.random.default_rng(3).integers(1, 4, len(CLOUD)).astype(float)
    est = estimator(4, random_state=0).fit(CLOUD, sample_weight=weights)
    scaled = estimator(4, random_state=0).fit(CLOUD, sample_weight=weights * scale)
    assert_array_equal(scaled.cluster_centers_, est.cluster_centers_)
    assert scaled.cost_ == est.cost_ * scale


def test_scalar_weight():
    est = KMedian(4, random_state=0).fit(CLOUD, sample_weight=2.0)
    assert est.cost_ == pytest.approx(2 * to_centers(est, CLOUD).min(axis=1).sum(), rel=1e-12)
    est.certificate_.verify(CLOUD, 2.0)


# -------------------------------------------------------------------------------------------------------- fairness


def fair_radius(D, k, weights):
    """Return r(v) by adding neighbours one distance at a time."""
    radii = []
    for row in D:
        for radius in np.unique(row):
            if k * weights[row <= radius].sum() >= weights.sum():
                radii.append(radius)
                break
    return np.array(radii)


@pytest.mark.parametrize("mode", ["proven", "tight"])
@pytest.mark.parametrize("beta", [1.0, 1.5, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_fairness_attributes(mode, beta, weighted):
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(25, 2)), 4 + 0.3 * rng.normal(size=(15, 2)), [[40.0, 0.0]]])
    weights = rng.integers(0, 4, len(X)) if weighted else np.ones(len(X), dtype=int)
    kept = weights > 0
    est = FairKMedian(5, beta=beta, mode=mode, random_state=0).fit(X, sample_weight=weights)
    D = distances(X, X)
    expected = np.full(len(X), np.nan)
    expected[kept] = fair_radius(D[np.ix_(kept, kept)], 5, weights[kept])
    assert_allclose(est.radii_, expected, rtol=1e-12)
    nearest = D[:, est.center_indices_].min(axis=1)
    assert est.fairness_ratio_ == pytest.approx((nearest[kept] / expected[kept]).max(), rel=1e-12)
    factor = {"proven": 6, "tight": 2}[mode]
    uncovered, balls = set(np.flatnonzero(kept)), []
    while uncovered:  # the greedy: least radius first, ties by index
        c = min(uncovered, key=lambda v: (expected[v], v))
        balls.append(c)
        uncovered -= {v for v in uncovered if D[v, c] <= factor * beta * expected[v]}
    assert_array_equal(est.ball_centers_, balls)
    assert len(balls) <= 5
    for c in balls:
        assert D[c, est.center_indices_].min() <= beta * expected[c]
    assert est.fairness_ratio_ <= (factor + 1) * beta
    est.certificate_.verify(X, weights)


def test_fairness_costs_something():
    """Four points at A, one far at B, k = 2 (PROOFS.md part 7): nothing is promised to the one at B."""
    X = np.array([[0.0], [0.0], [0.0], [0.0], [100.0]])
    est = FairKMedian(2, random_state=0).fit(X)
    assert est.cost_ == 0
    assert est.fairness_ratio_ == 0
    three = np.array([[0.0], [0.1], [10.0], [10.1], [10.2], [10.3], [10.4], [10.5], [10.6], [30.0]])
    fair = FairKMedian(3, beta=1.0, random_state=0).fit(three)
    assert np.isfinite(fair.fairness_ratio_)


def test_no_fairness_is_promised_while_a_ball_is_missed():
    rng = np.random.default_rng(5)
    X = np.concatenate([10 * c + 0.1 * rng.normal(size=(8, 2)) for c in rng.normal(size=(5, 2))])
    D, missed, met = distances(X, X), 0, 0
    for seed in range(30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            est = FairKMedian(5, beta=1.0, algorithm="gsemo", max_iter=150, random_state=seed).fit(X)
        balls = est.ball_centers_
        near = D[np.ix_(balls, est.center_indices_)].min(axis=1) <= est.radii_[balls]
        if near.all():
            met += est.certificate_.guarantee is not None
        else:
            missed += 1
            assert est.certificate_.guarantee is None
            assert f"{np.sum(~near)} of {len(balls)} critical balls have no centre" in est.certificate_.note or (
                "filled up" in est.certificate_.note
            )
        est.certificate_.verify(X)
        assert est.history_["upper"][-1] == est.cost_
    assert missed > 3
    assert met > 3


def test_fairness_without_a_metric_ends():
    """Without the triangle inequality there may be more critical balls than centres; the search still stops."""
    D = np.full((8, 8), 50.0)
    for a, b in [(0, 1), (2, 3), (4, 5), (6, 7), (0, 3), (0, 5), (2, 5), (2, 7), (4, 7), (4, 1), (6, 1), (6, 3)]:
        D[a, b] = D[b, a] = 1.0
    np.fill_diagonal(D, 0.0)
    for algorithm in ("auto", "gsemo"):
        # A fit that only the time limit ends warns, and a warning is an error here.
        est = FairKMedian(2, beta=1.0, metric="precomputed", algorithm=algorithm, time_limit=9, random_state=0).fit(D)
        assert_array_equal(est.ball_centers_, [0, 2, 4, 6])
        assert est.certificate_.guarantee is None
        est.certificate_.verify(D)


def test_duplicated_points_have_radius_zero():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]], [5, 5, 5], axis=0)
    est = FairKMedian(3, random_state=0).fit(X)
    assert_array_equal(est.radii_, 0)
    assert est.fairness_ratio_ == 0
    est.certificate_.verify(X)


# ---------------------------------------------------------------------------------------------- iterations and stops


@pytest.mark.parametrize("max_iter", [1, 7, 1000, 4321])
@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_is_kept_exactly(estimator, max_iter):
    for algorithm in ("auto", "gsemo"):
        est = estimator(6, algorithm=algorithm, max_iter=max_iter, random_state=0).fit(CLOUD)
        if estimator is KMeans and algorithm == "auto":  # ends earlier with a proof, or after long without progress
            assert est.n_iter_ == max_iter or est.certificate_.optimal or (400 + 200 * 6 <= est.n_iter_ < max_iter)
            continue
        if estimator in (KMedian, KCenter, FairKMedian) and algorithm == "auto":  # ends once the optimum is proved
            assert est.n_iter_ <= max_iter
            assert est.n_iter_ == max_iter or est.certificate_.optimal
            continue
        assert est.n_iter_ == max_iter
        assert est.history_["iteration"][-1] == max_iter
        assert f"{max_iter:,} iteration" in est.certificate_.method


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("estimator", [KTMM, KCenter])
def test_theorem_of_the_max_problems(estimator, k):
    n = len(CLOUD)
    est = estimator(k, algorithm="gsemo", max_iter="theorem", random_state=0).fit(CLOUD)
    assert est.n_iter_ == ceil(e * k**2 * n - e * k * (n - 1))
    assert est.certificate_.theory["iterations"] == pytest.approx(e * k**2 * n - e * k * (n - 1))


def phase_one(k, m):
    return e * k * m * log(m / (m - k))


@pytest.mark.parametrize("epsilon", [0.5, 0.25])
def test_theorem_of_k_median(epsilon):
    X, k = CLOUD[:12], 2
    D = distances(X, X)
    largest, least = D.max(axis=1), (D + np.diag(np.full(12, inf))).min(axis=1)
    spread = largest.sum() / np.sort(least)[: 12 - k].sum()
    bound = phase_one(k, 12) + e * k * 12**2 * log(spread) / -log1p(-epsilon / k)
    est = KMedian(k, algorithm="gsemo", max_iter="theorem", ls_epsilon=epsilon, random_state=0).fit(X)
    assert est.n_iter_ == ceil(bound)
    assert est.certificate_.theory["iterations"] == pytest.approx(bound, rel=1e-12)
    assert est.certificate_.theory["ratio"] == pytest.approx(5 / (1 - epsilon))


def test_theorem_of_k_means():
    X, k, epsilon = CLOUD[:12], 2, 0.5
    D = distances(X, X, "sqeuclidean")
    largest, least = D.max(axis=1), (D + np.diag(np.full(12, inf))).min(axis=1)
    spread = largest.sum() / np.sort(least)[: 12 - k].sum()
    delta = (1 + (1 - epsilon) / 5) * epsilon / k
    bound = phase_one(k, 12) + e * k * 12**2 * log(spread) / -log1p(-delta)
    est = KMeans(k, algorithm="gsemo", max_iter="theorem", random_state=0).fit(X)
    assert est.n_iter_ == ceil(bound)


def test_theorem_above_the_limit_says_the_number():
    X = np.random.default_rng(0).normal(size=(300, 2))
    D = distances(X, X)
    k = 100
    largest, least = D.max(axis=1), (D + np.diag(np.full(300, inf))).min(axis=1)
    spread = largest.sum() / np.sort(least)[: 300 - k].sum()
    bound = phase_one(k, 300) + e * k * 300**2 * log(spread) / -log1p(-0.5 / k)
    assert bound > 1e9
    with pytest.raises(ValueError, match="1e9") as caught:
        KMedian(k, max_iter="theorem").fit(X)
    assert f"{bound:.3g}" in str(caught.value)
    with pytest.raises(ValueError, match=r"infinite \(as with duplicated points\)"):
        KMedian(3, max_iter="theorem").fit(np.repeat(X[:10], 2, axis=0))


@pytest.mark.parametrize("estimator", [KTMM, KCenter])
def test_no_max_iter_stops_when_the_condition_holds(estimator):
    est = estimator(4, algorithm="gsemo", random_state=0).fit(CLOUD)
    assert est.certificate_.guarantee.ratio == pytest.approx(2, rel=1e-9)
    assert est.certificate_.guarantee.because == "f1 >= 0 at size k"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        before = estimator(4, algorithm="gsemo", max_iter=est.n_iter_ - 1, random_state=0).fit(CLOUD)
    assert before.certificate_.guarantee is None  # one iteration earlier it did not hold
    assert "f1 >= 0" in before.certificate_.note
    before.certificate_.verify(CLOUD)


@pytest.mark.parametrize("estimator", SUMS)
def test_no_max_iter_stops_after_10_m_k_iterations_without_progress(estimator):
    k, patience = 4, 10 * len(CLOUD) * 4
    whole = estimator(k, algorithm="gsemo", random_state=3).fit(CLOUD)
    last = whole.n_iter_ - patience
    assert last > 0
    then = estimator(k, algorithm="gsemo", max_iter=last, random_state=3).fit(CLOUD)
    assert then.cost_ == whole.cost_
    assert_array_equal(then.center_indices_, whole.center_indices_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        before = estimator(k, algorithm="gsemo", max_iter=last - 1, random_state=3).fit(CLOUD)
    assert before.cost_ > whole.cost_


@pytest.mark.parametrize("estimator", ALL)
def test_no_solution_of_size_k(estimator):
    """One iteration of Algorithm 1 cannot reach size 6: the largest member is filled up by index."""
    exact = 0
    for seed in range(8):
        with pytest.warns(ConvergenceWarning, match=r"no solution of size 6 .* 1 iteration;.*filled up by index"):
            est = estimator(6, algorithm="gsemo", max_iter=1, random_state=seed).fit(CLOUD)
        assert est.certificate_.guarantee is None
        assert "no guarantee reached" in str(est.certificate_)
        est.certificate_.verify(CLOUD)
        assert est.cost_ == pytest.approx(recomputed_cost(est, CLOUD), rel=1e-12)
        assert set(est.labels_) == set(range(6))
        if estimator is not KTMM:  # whose centres are the most central members instead
            beyond = int((est.center_indices_ >= 6).sum())
            assert set(range(6 - beyond - 1)) <= set(est.center_indices_.tolist())
            exact += beyond == 0
    assert exact > 0 or estimator is KTMM


WORDS = {
    KTMM: "recolouring",
    KCenter: "tabu search",
    KMedian: "reduction",
    KMeans: "anywhere",
    FairKMedian: "penalised",
}


@pytest.mark.parametrize("estimator", ALL)
def test_auto_is_never_worse_than_its_gsemo(estimator):
    for seed in range(4):
        plain = estimator(5, algorithm="gsemo", random_state=seed).fit(CLOUD)
        polished = estimator(5, random_state=seed).fit(CLOUD)
        assert polished.cost_ <= plain.cost_ * (1 + 1e-12)
        assert WORDS[estimator] in polished.certificate_.method
        assert "swap polish" not in plain.certificate_.method


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_auto_ends_with_no_swap_left(estimator):
    est = estimator(4, random_state=0, max_iter=300).fit(CLOUD)
    D = distances(CLOUD, CLOUD, "sqeuclidean" if squared(estimator) else "euclidean")
    centers = est.certificate_.witness["centers"]
    cost = D[:, centers].min(axis=1).sum()
    assert est.cost_ <= cost * (1 + 1e-12)
    for out in centers:
        rest = np.setdiff1d(centers, [out])
        costs = np.minimum(D[:, rest].min(axis=1)[:, None], D).sum(axis=0)
        assert costs.min() >= cost * (1 - 1e-12)
    assert est.certificate_.guarantee.because == "1-swap optimal"


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("algorithm", ["auto", "gsemo"])
@pytest.mark.parametrize("estimator", ALL)
def test_history(estimator, algorithm, certify):
    est = estimator(5, algorithm=algorithm, certify=certify, max_iter=3000, random_state=1).fit(CLOUD)
    history = est.history_
    assert history.dtype.names == ("time", "iteration", "upper", "lower", "candidates")
    assert len(history) >= 1
    assert np.all(np.diff(history["time"]) >= 0)
    assert np.all(np.diff(history["iteration"]) >= 0)
    assert np.all(np.diff(history["upper"]) <= 0)
    assert np.all(np.diff(history["lower"]) >= 0)
    assert np.all(history["lower"] <= history["upper"])
    assert history["iteration"][-1] == est.n_iter_
    assert history["upper"][-1] == est.cost_
    if certify:
        assert history["lower"][-1] == pytest.approx(est.certificate_.lower_bound, rel=1e-9)
        assert history["lower"][-1] > 0


@pytest.mark.parametrize("estimator", ALL)
def test_no_certificate_without_certify(estimator):
    est = estimator(4, certify=False, random_state=0).fit(CLOUD)
    assert est.certificate_ is None
    with_certificate = estimator(4, random_state=0).fit(CLOUD)
    assert_array_equal(est.labels_, with_certificate.labels_)
    assert est.cost_ == with_certificate.cost_


@pytest.mark.parametrize("gap_tol", [1.0, 1.5])
@pytest.mark.parametrize("estimator", [KTMM, KCenter])
def test_gap_tol_stops(estimator, gap_tol):
    est = estimator(4, algorithm="gsemo", max_iter=10**12, gap_tol=gap_tol, random_state=0).fit(CLOUD)
    assert est.n_iter_ < 10**12
    assert est.certificate_.gap <= gap_tol + 1e-9


@pytest.mark.parametrize("estimator", ALL)
def test_a_proved_optimum_stops(estimator):
    X = np.array([[0.0], [0.0], [5.0], [5.0], [9.0]])
    est = estimator(3, algorithm="gsemo", max_iter=10**12, random_state=0).fit(X)
    assert est.cost_ == 0
    assert est.n_iter_ < 10**12


@pytest.mark.parametrize("estimator", ALL)
def test_time_limit(estimator):
    # k-median, fair or not, is proved optimal in less than the limit on small data.
    medians = estimator in (KMedian, FairKMedian)
    X = np.random.default_rng(0).normal(size=(2000 if medians else 300, 3))
    estimator(5, max_iter=10, certify=False, algorithm="auto", random_state=0).fit(X[:60])  # compiled
    start, used = perf_counter(), process_time()
    with pytest.warns(ConvergenceWarning, match=r"time_limit=0.2 s after [\d,]+ iterations?; the best solution so far"):
        est = estimator(10, max_iter=10**12, time_limit=0.2, random_state=0).fit(X)
    assert perf_counter() - start >= 0.2
    assert process_time() - used < 10  # kernels that only the bound needs may have to be compiled
    assert est.n_iter_ < 10**12
    assert est.n_iter_ > 0 or medians  # their first swaps may take all the time
    assert est.cost_ == pytest.approx(recomputed_cost(est, X), rel=1e-12)
    est.certificate_.verify(X)


@pytest.mark.parametrize("estimator", ALL)
def test_time_limit_that_is_over_at_once(estimator):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est = estimator(5, time_limit=1e-9, random_state=0).fit(CLOUD)
    assert {w.category for w in caught} == {ConvergenceWarning}
    assert any("time_limit" in str(w.message) for w in caught)
    assert set(est.labels_) == set(range(5))
    est.certificate_.verify(CLOUD)


def test_a_generous_time_limit_does_not_warn():
    KMedian(4, time_limit=1000, random_state=0).fit(CLOUD)


@pytest.mark.parametrize("estimator", ALL)
def test_warnings_point_to_the_caller(estimator):
    with pytest.warns(ConvergenceWarning) as caught:
        estimator(6, algorithm="gsemo", max_iter=1, random_state=0).fit(CLOUD)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("estimator", ALL)
def test_verbose_prints_to_stderr(estimator, capfd):
    for _ in range(3):
        estimator(4, verbose=1, random_state=0).fit(CLOUD)
        printed = capfd.readouterr()
        assert printed.out == ""
        assert "iteration" in printed.err
        assert "cost" in printed.err
    estimator(4, random_state=0).fit(CLOUD)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("estimator", ALL)
def test_auto_stops_by_itself_on_2000_rows(estimator):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    est = estimator(random_state=0).fit(X)
    est.certificate_.verify(X)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"])
@pytest.mark.parametrize("estimator", ALL)
def test_rows_on_the_fly_give_the_answer_of_the_matrix(estimator, metric):
    """Above the memory budget the kernels compute distances themselves; the answer does not depend on it."""
    if estimator is KMeans and metric != "sqeuclidean":
        pytest.skip("KMeans has no metric")
    X = np.random.default_rng(0).normal(size=(400, 2))  # 400 x 400 x 8 bytes are 1.22 MiB
    parameters = {} if estimator is KMeans else {"metric": metric}
    held = estimator(3, random_state=0, **parameters).fit(X)
    with sklearn.config_context(working_memory=1):
        fly = estimator(3, random_state=0, **parameters).fit(X)
    if estimator in (KMedian, FairKMedian):  # another strategy: it ends at the root, with a gap
        assert held.certificate_.lower_bound * (1 - 1e-9) <= fly.cost_ <= held.cost_ * 1.02
        assert held.cost_ * 0.98 <= fly.certificate_.lower_bound <= held.cost_
    else:
        assert_array_equal(fly.cluster_centers_, held.cluster_centers_)
        assert fly.cost_ == pytest.approx(held.cost_, rel=1e-12)
        assert fly.certificate_.lower_bound == pytest.approx(held.certificate_.lower_bound, rel=1e-9)
    fly.certificate_.verify(X)
    held.certificate_.verify(X)


def test_no_matrix_is_begun_that_cannot_be_ready(monkeypatch):
    held = []
    monkeypatch.setattr(_base, "build_space", lambda *a, hold_matrix, **b: held.append(hold_matrix) or 1 / 0)
    for limit, expected in ((None, True), (60.0, True), (1e-9, False)):
        with pytest.raises(ZeroDivisionError):
            KMedian(3, time_limit=limit).fit(CLOUD)
        assert held.pop() is expected
