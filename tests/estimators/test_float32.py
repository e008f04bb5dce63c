"""Rows of float32 in KMeans: what scikit-learn keeps in float32 is float32, and nothing is lost on the way."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans as SklearnKMeans

from certiclust import KMeans


def cloud(offset=0.0):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(120, 3)) + 4.0 * rng.integers(0, 3, (120, 1)) + offset).astype(np.float32)


def fit(X, **options):
    return KMeans(4, random_state=0, **options).fit(X)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("candidates", ["data", "auto"])
def test_the_answer_is_that_of_the_same_numbers_in_float64(offset, candidates):
    X = cloud(offset)
    single, double = fit(X, candidates=candidates), fit(X.astype(np.float64), candidates=candidates)
    assert single.cost_ == double.cost_
    assert_array_equal(single.labels_, double.labels_)
    assert_array_equal(single.cluster_centers_, double.cluster_centers_.astype(np.float32))
    assert single.certificate_ == double.certificate_
    assert_array_equal(single.predict(X), single.labels_)
    assert single.score(X) == pytest.approx(-single.cost_, rel=1e-12)
    single.certificate_.verify(X)


def test_types_are_those_of_scikit_learn():
    X = cloud()
    for rows in (X, X.astype(np.float64), X.astype(np.int32)):
        ours, theirs = fit(rows), SklearnKMeans(4, random_state=0).fit(rows)
        assert ours.cluster_centers_.dtype == theirs.cluster_centers_.dtype
        assert ours.transform(rows).dtype == theirs.transform(rows).dtype
        assert ours.predict(rows).dtype == theirs.predict(rows).dtype
    mixed = fit(X).transform(X.astype(np.float64))
    assert mixed.dtype == np.float64
    np.testing.assert_allclose(mixed, fit(X).transform(X), rtol=1e-6)


def test_the_paper_s_algorithm_works_in_float64():
    est = fit(cloud(), algorithm="gsemo", max_iter=100)
    assert est.cluster_centers_.dtype == np.float64


def test_rows_are_not_copied(monkeypatch):
    """The space of the clients holds the very rows that were given."""
    X, seen = cloud(), []
    original = KMeans._problem
    monkeypatch.setattr(KMeans, "_problem", lambda self, space: seen.append(space.points) or original(self, space))
    fit(X)
    assert seen[0].dtype == np.float32
    assert np.shares_memory(seen[0], X)
