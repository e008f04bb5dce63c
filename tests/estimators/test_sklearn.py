"""The estimators behave as scikit-learn's own: its checks, clone, pickle, pipelines, output containers, routing."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from certiclust import KTMM, FairKMedian, KCenter, KMeans, KMedian
from certiclust.evolution import ALGORITHMS

ALL = [KTMM, KCenter, KMedian, KMeans, FairKMedian]
SQUARE_ONLY = [KTMM, KCenter, FairKMedian]

# Checks that fail here and also for the scikit-learn estimator named, with the reason.
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": (
        SklearnKMeans(),
        "a randomised search visits other solutions when rows are repeated instead of weighted",
    ),
}
EXCUSED_PRECOMPUTED = {
    "check_clustering": (
        DBSCAN(metric="precomputed"),
        "the check passes 50 x 2 coordinates, some negative, where a distance matrix is due",
    ),
}


# Two columns are two candidate sites, and some checks pass 16 x 2 values as clients x sites: KMedian(2).
CHECKED = [estimator(algorithm=algorithm) for estimator in ALL for algorithm in ("auto", "gsemo")]
CHECKED += [KMedian(algorithm=algorithm) for algorithm in ALGORITHMS if algorithm != "gsemo"]
CHECKED += [estimator(metric="precomputed") for estimator in SQUARE_ONLY] + [KMedian(2, metric="precomputed")]


def excuses(estimator):
    return EXCUSED_PRECOMPUTED if getattr(estimator, "metric", None) == "precomputed" else EXCUSED


def failures(estimator):
    """Return the checks that an estimator fails, with the reasons, and the number of checks run."""
    results = check_estimator(estimator, on_fail=None)
    assert {result["status"] for result in results} <= {"passed", "failed", "skipped"}
    return {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}, len(results)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", CHECKED, ids=repr)
def test_every_check_passes_but_those_excused(estimator):
    failed, count = failures(estimator)
    unexpected = {name: why for name, why in failed.items() if name not in excuses(estimator)}
    assert unexpected == {}
    assert set(failed) == set(excuses(estimator))  # an excuse that is not needed any more has to go
    assert count > 50


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", [EXCUSED, EXCUSED_PRECOMPUTED])
def test_excused_checks_fail_for_scikit_learn_too(table):
    for name, (estimator, _) in table.items():
        assert name in failures(estimator)[0]


# ------------------------------------------------------------------------------------------------------ the data


@pytest.fixture(name="X", scope="module")
def four_clouds():
    rng = np.random.default_rng(7)
    centres = rng.normal(scale=6, size=(4, 3))
    return np.concatenate([c + rng.normal(size=(15, 3)) for c in centres])


@pytest.fixture(scope="module")
def new_rows():
    return np.random.default_rng(8).normal(scale=5, size=(20, 3))


def assert_same_fit(a, b):
    assert_array_equal(a.labels_, b.labels_)
    assert_array_equal(a.cluster_centers_, b.cluster_centers_.astype(a.cluster_centers_.dtype))
    assert a.cost_ == b.cost_
    assert a.n_iter_ == b.n_iter_


# ------------------------------------------------------------------------------------------- clone, pickle, seeds


@pytest.mark.parametrize("estimator", ALL)
def test_clone_copies_parameters_and_nothing_else(estimator, X):
    original = estimator(3, algorithm="gsemo", random_state=3, gap_tol=0.25).fit(X)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert_same_fit(copy.fit(X), original)


@pytest.mark.parametrize("estimator", ALL)
def test_pickle_round_trip(estimator, X, new_rows):
    original = estimator(4, random_state=0).fit(X)
    copy = pickle.loads(pickle.dumps(original))
    assert_array_equal(copy.predict(new_rows), original.predict(new_rows))
    assert_array_equal(copy.transform(new_rows), original.transform(new_rows))
    assert copy.score(new_rows) == original.score(new_rows)
    assert copy.certificate_ == original.certificate_
    copy.certificate_.verify(X)


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean", "cosine"])
def test_pickle_keeps_what_the_metric_learnt(metric, X, new_rows):
    original = KMedian(4, metric=metric, random_state=0).fit(X)
    copy = pickle.loads(pickle.dumps(original))
    assert_array_equal(copy.transform(new_rows), original.transform(new_rows))
    expected = pairwise_distances(X, X[original.center_indices_], metric=metric) if metric == "cosine" else None
    if expected is not None:
        assert_allclose(original.transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("algorithm", ["auto", "gsemo"])
@pytest.mark.parametrize("estimator", ALL)
def test_equal_random_state_equal_answer(estimator, algorithm, X):
    fits = [estimator(4, algorithm=algorithm, random_state=5).fit(X) for _ in range(2)]
    assert_same_fit(*fits)
    assert_array_equal(
        fits[0].history_[["iteration", "upper", "lower"]], fits[1].history_[["iteration", "upper", "lower"]]
    )


@pytest.mark.parametrize("estimator", ALL)
def test_random_state_object_is_drawn_from(estimator, X):
    fits = [estimator(4, random_state=np.random.RandomState(5)).fit(X) for _ in range(2)]
    assert_same_fit(*fits)
    state = np.random.RandomState(5)
    before = state.get_state()[1].copy(), state.get_state()[2]
    estimator(4, random_state=state).fit(X)
    after = state.get_state()[1], state.get_state()[2]
    assert before[1] != after[1] or not np.array_equal(before[0], after[0])


def test_another_random_state_is_another_run(X):
    """The seed matters: otherwise equality above would say nothing."""
    runs = {KMedian(4, algorithm="gsemo", random_state=seed, max_iter=2000).fit(X).cost_ for seed in range(8)}
    assert len(runs) > 1


@pytest.mark.parametrize("estimator", ALL)
def test_n_jobs_does_not_change_the_answer(estimator):
    # More than two blocks of 512 rows; in the plane, where the bound of k-means takes least.
    rows = np.random.default_rng(1).normal(size=(1100, 2))
    fits = [estimator(3, random_state=0, n_jobs=n_jobs).fit(rows) for n_jobs in (None, 1, 2)]
    assert_same_fit(fits[0], fits[1])
    assert_same_fit(fits[0], fits[2])


# ------------------------------------------------------------------------------------------------------ containers


@pytest.mark.parametrize("estimator", ALL)
def test_list_pandas_polars_and_array_give_the_same_answer(estimator, X, new_rows):
    expected = estimator(4, random_state=0).fit(X)
    columns = ["a", "b", "c"]
    containers = [
        (X.tolist(), new_rows.tolist()),
        (pd.DataFrame(X, columns=columns), pd.DataFrame(new_rows, columns=columns)),
        (pl.DataFrame(X, schema=columns), pl.DataFrame(new_rows, schema=columns)),
        (np.asfortranarray(X), np.asfortranarray(new_rows)),
    ]
    for rows, others in containers:
        fitted = estimator(4, random_state=0).fit(rows)
        assert_same_fit(fitted, expected)
        assert_array_equal(fitted.predict(others), expected.predict(new_rows))
        assert_array_equal(fitted.transform(others), expected.transform(new_rows))
        fitted.certificate_.verify(rows)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("estimator", ALL)
def test_feature_names_in(estimator, frame, X):
    fitted = estimator(2, random_state=0).fit(frame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}))
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    assert fitted.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame({"a": X[:, 0], "c": X[:, 1], "b": X[:, 2]}))
    assert not hasattr(estimator(2, random_state=0).fit(X), "feature_names_in_")


@pytest.mark.parametrize("estimator", ALL)
def test_float32_and_integers(estimator, X):
    single = X.astype(np.float32)
    fitted = estimator(3, random_state=0).fit(single)
    assert_same_fit(fitted, estimator(3, random_state=0).fit(single.astype(np.float64)))
    fitted.certificate_.verify(single)
    whole = np.round(X).astype(np.int64)
    fitted = estimator(3, random_state=0).fit(whole)
    assert_same_fit(fitted, estimator(3, random_state=0).fit(whole.astype(np.float64)))
    fitted.certificate_.verify(whole)


def test_fit_does_not_change_its_input(X):
    for estimator in ALL:
        rows, weights = X.copy(), np.arange(len(X), dtype=float)
        estimator(3, random_state=0).fit(rows, sample_weight=weights)
        assert_array_equal(rows, X)
        assert_array_equal(weights, np.arange(len(X)))


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", ALL)
def test_set_output(estimator, container, X, new_rows):
    fitted = estimator(3, random_state=0).set_output(transform=container).fit(X)
    frame = fitted.transform(new_rows)
    assert isinstance(frame, pd.DataFrame if container == "pandas" else pl.DataFrame)
    name = estimator.__name__.lower()
    assert list(frame.columns) == [f"{name}0", f"{name}1", f"{name}2"]
    assert list(fitted.get_feature_names_out()) == list(frame.columns)
    assert_array_equal(frame.to_numpy(), estimator(3, random_state=0).fit(X).transform(new_rows))
    both = clone(fitted).set_output(transform=container).fit_transform(X)
    assert_array_equal(both.to_numpy(), fitted.set_output(transform="default").transform(X))


# ---------------------------------------------------------------------------------------------- pipelines, search


@pytest.mark.parametrize("estimator", ALL)
def test_pipeline(estimator, X, new_rows):
    pipeline = make_pipeline(StandardScaler(), estimator(4, random_state=0)).fit(X)
    scaler = StandardScaler().fit(X)
    alone = estimator(4, random_state=0).fit(scaler.transform(X))
    assert_array_equal(pipeline.predict(new_rows), alone.predict(scaler.transform(new_rows)))
    assert_array_equal(pipeline.transform(new_rows), alone.transform(scaler.transform(new_rows)))
    assert pipeline.score(new_rows) == alone.score(scaler.transform(new_rows))
    assert_array_equal(make_pipeline(StandardScaler(), estimator(4, random_state=0)).fit_predict(X), alone.labels_)


@pytest.mark.parametrize("estimator", ALL)
def test_fit_predict_is_labels_and_fit_transform_is_transform(estimator, X):
    fitted = estimator(4, random_state=0).fit(X)
    assert_array_equal(estimator(4, random_state=0).fit_predict(X), fitted.labels_)
    assert_array_equal(estimator(4, random_state=0).fit_transform(X), fitted.transform(X))


@pytest.mark.parametrize("estimator", ALL)
def test_grid_search_over_n_clusters(estimator, X):
    search = GridSearchCV(estimator(random_state=0), {"n_clusters": [1, 4]}, cv=KFold(3, shuffle=True, random_state=0))
    search.fit(X)
    assert search.best_params_ == {"n_clusters": 4}
    one, four = search.cv_results_["mean_test_score"]
    assert one < four < 0
    assert search.predict(X).max() == 3


def test_grid_search_with_a_precomputed_matrix(X):
    """The pairwise tag makes scikit-learn cut rows and columns alike."""
    D = np.abs(X[:, None] - X).sum(axis=2)
    search = GridSearchCV(KCenter(metric="precomputed", random_state=0), {"n_clusters": [1, 4]}, cv=3)
    search.fit(D)
    plain = GridSearchCV(KCenter(metric="manhattan", random_state=0), {"n_clusters": [1, 4]}, cv=3).fit(X)
    assert_allclose(search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-12)


def test_pairwise_tag():
    for estimator in SQUARE_ONLY:
        assert get_tags(estimator(metric="precomputed")).input_tags.pairwise
        assert not get_tags(estimator()).input_tags.pairwise
    assert not get_tags(KMedian(metric="precomputed")).input_tags.pairwise  # clients x sites need not be square
    for estimator in ALL:
        assert not get_tags(estimator()).input_tags.sparse
        assert not get_tags(estimator()).input_tags.allow_nan


# ------------------------------------------------------------------------------------------------ metadata routing


@pytest.mark.parametrize("estimator", [KMedian, KMeans, FairKMedian])
def test_sample_weight_is_routed(estimator, X):
    weights = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
    expected = estimator(3, random_state=0).fit(StandardScaler().fit_transform(X), sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = estimator(3, random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, inner).fit(X, sample_weight=weights)
        assert_same_fit(pipeline[-1], expected)
        assert pipeline.score(X, sample_weight=weights) == pytest.approx(-expected.cost_, rel=1e-12)
        cv = KFold(2)
        search = GridSearchCV(inner, {"n_clusters": [2, 3]}, cv=cv, refit=False).fit(X, sample_weight=weights)
    by_hand = []
    for train, test in cv.split(X):
        model = estimator(3, random_state=0).fit(X[train], sample_weight=weights[train])
        by_hand.append(model.score(X[test], sample_weight=weights[test]))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(by_hand), rel=1e-12)


def test_sample_weight_must_be_requested(X):
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"),
    ):
        GridSearchCV(KMedian(2), {"n_clusters": [2]}, cv=2).fit(X, sample_weight=np.ones(len(X)))
