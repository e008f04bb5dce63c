"""KMedian with centres anywhere, and KMeans over its candidate sets, as users call them."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from certiclust import Certificate, CertificateError, KMeans, KMedian
from certiclust.evolution.weiszfeld import weiszfeld_polish
from tests.certificates.brute import partitions
from tests.instances import POINT_KINDS, points


def geometric_median(X, w):
    """Return the least weighted sum of distances to one place, by a general method and all points as places."""
    sums = [w @ np.linalg.norm(X - x, axis=1) for x in X]
    start = X[int(np.argmin(sums))] + 1e-3 * np.ptp(X, axis=0)
    found = minimize(lambda c: w @ np.linalg.norm(X - c, axis=1), start, method="Nelder-Mead", options={"xatol": 1e-12})
    return min(float(found.fun), *map(float, sums))


def continuous_optimum(X, w, k):
    best = np.inf
    known = {}
    for labels in partitions(len(X), k):
        total = 0.0
        for label in np.unique(labels):
            mask = labels == label
            key = mask.tobytes()
            if key not in known:
                known[key] = geometric_median(X[mask], w[mask]) if mask.sum() > 1 else 0.0
            total += known[key]
        best = min(best, total)
    return best


@pytest.mark.parametrize("seed", range(16))
def test_continuous_k_median_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    X = points(
        rng, n, ["uniform", "grid", "clusters", "collinear", "duplicates"][seed % 5], width=int(rng.integers(1, 3))
    )
    w = np.ones(n) if seed % 2 else rng.integers(1, 4, n) * 1.0
    k = int(rng.integers(1, n + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = KMedian(k, centers="continuous", random_state=0).fit(X, sample_weight=w)
    best = continuous_optimum(X, w, k)
    certificate = est.certificate_
    assert certificate.lower_bound <= best * (1 + 1e-9) + 1e-12
    assert est.cost_ >= best * (1 - 1e-6) - 1e-9
    assert est.cost_ <= 1.5 * best + 1e-9
    certificate.verify(X, w)
    assert est.cost_ == pytest.approx(w @ np.linalg.norm(X - est.cluster_centers_[est.labels_], axis=1))


def test_continuous_is_no_worse_than_the_rows_and_often_proved():
    X = np.concatenate([np.random.default_rng(j).normal(j * 8.0, 1.0, (15, 2)) for j in range(3)])
    rows = KMedian(3, random_state=0).fit(X)
    est = KMedian(3, centers="continuous", random_state=0).fit(X)
    assert est.cost_ < rows.cost_
    assert est.certificate_.optimal
    assert est.certificate_.guarantee.ratio == pytest.approx(5.5, rel=1e-6)
    assert not hasattr(est, "center_indices_")
    assert est.predict(X).tolist() == est.labels_.tolist()
    assert est.transform(X).shape == (45, 3)
    assert est.score(X) == pytest.approx(-est.cost_)
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(again.cluster_centers_, clone(est).fit(X).cluster_centers_)
    assert clone(est).set_params(centers="candidates").fit(X).cost_ == rows.cost_


def test_continuous_certificates_are_files_too(tmp_path):
    X = np.random.default_rng(1).random((30, 2))
    certificate = KMedian(4, centers="continuous", random_state=0).fit(X).certificate_
    certificate.save(tmp_path / "c.json")
    Certificate.load(tmp_path / "c.json").verify(X)
    content = certificate.to_dict()
    content["witness"]["cluster_centers"][0][0] += 0.01
    with pytest.raises(CertificateError, match="cost"):
        Certificate.from_dict(content).verify(X)
    with pytest.raises(CertificateError, match="data"):
        certificate.verify(X + 1e-9)


def test_without_few_columns_the_bound_is_that_of_the_candidates():
    X = np.random.default_rng(2).random((9, 5))
    est = KMedian(2, centers="continuous", epsilon=2.0, max_candidates=200_000, random_state=0).fit(X)
    assert "tree" in est.certificate_.witness
    assert 0 < est.certificate_.lower_bound <= est.cost_ / 1.5
    est.certificate_.verify(X)


def test_continuous_says_what_it_cannot_do():
    X = np.random.default_rng(0).random((40, 2))
    with pytest.raises(ValueError, match="needs metric='euclidean' and candidates=None"):
        KMedian(2, centers="continuous", metric="manhattan").fit(X)
    with pytest.raises(ValueError, match="needs metric='euclidean' and candidates=None"):
        KMedian(2, centers="continuous", candidates=X).fit(X)
    with pytest.raises(
        ValueError, match=r"centers='continuous' needs .* raise max_candidates, or use centers='candidates'"
    ):
        KMedian(2, centers="continuous", max_candidates=100).fit(X)
    with pytest.raises(ValueError, match="n_samples=40 should be >= n_clusters=41"):
        KMedian(41, centers="continuous").fit(X)


@pytest.mark.parametrize("kind", POINT_KINDS)
def test_weiszfeld_never_gets_worse(kind):
    rng = np.random.default_rng(POINT_KINDS.index(kind))
    X, w = points(rng, 20, kind), rng.random(20) + 0.1
    start = X[:3]
    before = float(w @ np.linalg.norm(X[:, None] - start, axis=2).min(axis=1))
    centers, cost = weiszfeld_polish(X, w, start, lambda: False)
    assert cost <= before
    assert cost == pytest.approx(float(w @ np.linalg.norm(X[:, None] - centers, axis=2).min(axis=1)), rel=1e-12)


def test_weiszfeld_leaves_a_point_that_is_not_the_median():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0], [1.0, 1.0]])
    centers, cost = weiszfeld_polish(X, np.ones(5), X[:1], lambda: False)
    assert cost == pytest.approx(geometric_median(X, np.ones(5)), rel=1e-7)
    assert cost < np.linalg.norm(X - X[0], axis=1).sum()
    assert centers.shape == (1, 2)


@pytest.mark.parametrize("candidates", ["auto", "midpoints", "ladder"])
def test_k_means_with_few_distinct_rows_takes_the_rows(candidates):
    X = np.array([[1.0, 2.0]] * 4)
    with pytest.warns(UserWarning, match="distinct"):
        est = KMeans(2, candidates=candidates, algorithm="gsemo", random_state=0).fit(X)
    assert (est.cost_, est.candidate_set_.name) == (0.0, "data")
    est.certificate_.verify(X)


def test_k_means_over_a_set_that_is_too_large():
    X = np.random.default_rng(0).random((30, 2))
    with pytest.raises(ValueError, match="needs 465 candidates, above max_candidates=400"):
        KMeans(2, candidates="midpoints", max_candidates=400).fit(X)
    with pytest.raises(ValueError, match="take a larger epsilon, raise max_candidates, or use candidates='data'"):
        KMeans(2, candidates="ladder", epsilon=0.01, max_candidates=400).fit(X)


@pytest.mark.parametrize("width", [2, 5])
def test_the_history_of_continuous_k_median_ends_with_the_certificate(width):
    """No bound on the way is above the optimum anywhere: what candidates prove is divided by their factor."""
    X = np.random.default_rng(3).normal(size=(14, width)).round(1)
    est = KMedian(3, centers="continuous", epsilon=0.9, random_state=0).fit(X)
    history = est.history_
    assert history["lower"][-1] == est.certificate_.lower_bound
    assert history["upper"][-1] == est.cost_
    assert (history["lower"] <= est.cost_ * (1 + 1e-12)).all()
    assert (np.diff(history["time"]) >= 0).all()
