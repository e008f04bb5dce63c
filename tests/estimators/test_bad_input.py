"""The bad input table, line by line: the right exception, one clear sentence with the value and the limit, no work."""

import re
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.utils._param_validation import InvalidParameterError

import certiclust.estimators._base
from certiclust import KTMM, FairKMedian, KCenter, KMeans, KMedian

ALL = [KTMM, KCenter, KMedian, KMeans, FairKMedian]
WITH_METRIC = [KTMM, KCenter, KMedian, FairKMedian]
SQUARE_ONLY = [KTMM, KCenter, FairKMedian]
ROWS = np.random.default_rng(0).normal(size=(12, 2))
MATRIX = np.abs(ROWS[:, None] - ROWS).sum(axis=2)


@pytest.fixture(params=ALL, ids=lambda estimator: estimator.__name__)
def fitted(request):
    return request.param(3, random_state=0).fit(ROWS)


def refusal(estimator, *args, expected=ValueError, **kwargs):
    """Return the words with which fit refuses: before the search, without a warning, nothing left behind."""
    started = pytest.fail.Exception("the search was started on bad input")
    with (
        mock.patch.object(certiclust.estimators._base, "solve", side_effect=started),
        pytest.raises(expected) as caught,
    ):
        estimator.fit(*args, **kwargs)
    assert not hasattr(estimator, "labels_")
    return str(caught.value)


def edited(matrix, entries):
    changed = np.array(matrix)
    for (i, j), value in entries.items():
        changed[i, j] = value
    return changed


# ---------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, [3]], ids=repr)
@pytest.mark.parametrize("estimator", ALL)
def test_n_clusters(estimator, value):
    message = refusal(estimator(value), ROWS, expected=InvalidParameterError)
    assert "'n_clusters'" in message
    assert "int in the range [1, inf)" in message
    assert f"Got {value!r} instead" in message


@pytest.mark.parametrize("estimator", ALL)
def test_n_clusters_above_the_number_of_rows(estimator):
    message = refusal(estimator(13), ROWS)
    assert "12" in message
    assert "n_clusters=13" in message
    assert "n_samples=12" in message


@pytest.mark.parametrize("estimator", ALL)
def test_n_clusters_above_the_number_of_rows_with_positive_weight(estimator):
    weights = np.repeat([0.0, 1.0], [9, 3])
    message = refusal(estimator(4), ROWS, sample_weight=weights)
    assert "n_clusters=4" in message
    assert "3" in message
    assert "weight 0" in message


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_n_clusters_above_the_number_of_candidates(estimator):
    message = refusal(estimator(4, candidates=ROWS[:3]), ROWS)
    assert "n_clusters=4" in message
    assert "candidates=3" in message


def test_n_clusters_above_the_number_of_sites():
    message = refusal(KMedian(4, metric="precomputed"), MATRIX[:, :3])
    assert "n_clusters=4" in message
    assert "candidates=3" in message


@pytest.mark.parametrize("estimator", [KMeans, KMedian])
@pytest.mark.parametrize("value", [0.0, 9e-7, 1.1e6, np.nan, "fine"], ids=repr)
def test_epsilon(estimator, value):
    """What `verify` would refuse is refused before."""
    message = refusal(estimator(3, epsilon=value), ROWS, expected=InvalidParameterError)
    assert "'epsilon'" in message
    assert "[1e-06, 1000000.0]" in message
    assert f"Got {value!r} instead" in message


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_n_clusters_is_looked_at_before_any_distance(estimator):
    def metric(a, b):
        pytest.fail("a distance was computed")

    assert "n_clusters=13" in refusal(estimator(13, metric=metric), ROWS)


@pytest.mark.parametrize("value", ["gesmo", "GSEMO", None, 3], ids=repr)
@pytest.mark.parametrize("estimator", ALL)
def test_algorithm(estimator, value):
    message = refusal(estimator(3, algorithm=value), ROWS, expected=InvalidParameterError)
    assert "'algorithm'" in message
    assert "'auto'" in message
    assert "'gsemo'" in message
    assert f"Got {value!r} instead" in message


@pytest.mark.parametrize("value", ["euclid", "Euclidean", None, 2], ids=repr)
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_metric(estimator, value):
    message = refusal(estimator(3, metric=value), ROWS, expected=InvalidParameterError)
    assert "'metric'" in message
    assert "'euclidean'" in message
    assert "precomputed" in message
    assert "callable" in message
    assert f"Got {value!r} instead" in message


def test_kmeans_has_no_metric():
    with pytest.raises(TypeError, match="metric"):
        KMeans(3, metric="manhattan")


@pytest.mark.parametrize("value", [0, 0.999, -1, np.nan, np.inf, "1.5", None], ids=repr)
def test_beta(value):
    message = refusal(FairKMedian(3, beta=value), ROWS, expected=InvalidParameterError)
    assert "'beta'" in message
    assert "[1.0, inf)" in message
    assert f"Got {value!r} instead" in message


@pytest.mark.parametrize("value", ["loose", None, 6], ids=repr)
def test_mode(value):
    message = refusal(FairKMedian(3, mode=value), ROWS, expected=InvalidParameterError)
    assert "'mode'" in message
    assert "'proven'" in message
    assert "'tight'" in message
    assert f"Got {value!r} instead" in message


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("max_iter", 0, r"\[1, inf\)"),
        ("max_iter", -5, r"\[1, inf\)"),
        ("max_iter", 10.5, r"\[1, inf\)"),
        ("max_iter", "theory", "'theorem'"),
        ("time_limit", 0, r"\(0.0, inf\)"),
        ("time_limit", -1.0, r"\(0.0, inf\)"),
        ("time_limit", np.nan, r"\(0.0, inf\)"),
        ("time_limit", "1", r"\(0.0, inf\)"),
        ("gap_tol", -0.1, r"\[0.0, inf\)"),
        ("gap_tol", np.nan, r"\[0.0, inf\)"),
        ("gap_tol", None, r"\[0.0, inf\)"),
        ("ls_epsilon", 0.0, r"\(0.0, 1.0\)"),
        ("ls_epsilon", 1.0, r"\(0.0, 1.0\)"),
        ("certify", "yes", "bool"),
        ("certify", None, "bool"),
        ("random_state", -1, r"\[0, 4294967295\]"),
        ("random_state", "seed", "RandomState"),
        ("n_jobs", 1.5, "int"),
        ("verbose", -1, r"\[0, inf\)"),
        ("verbose", "loud", "bool"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("estimator", ALL)
def test_other_parameters(estimator, name, value, limit):
    message = refusal(estimator(3, **{name: value}), ROWS, expected=InvalidParameterError)
    assert f"'{name}'" in message
    assert f"Got {value!r} instead" in message
    assert re.search(limit, message)


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_check_metric(estimator):
    message = refusal(estimator(3, check_metric="yes"), ROWS, expected=InvalidParameterError)
    assert "'check_metric'" in message
    assert "Got 'yes' instead" in message


# ---------------------------------------------------------------------------------------------------------- data

BAD_ROWS = {
    "NaN": (edited(ROWS, {(4, 1): np.nan}), ValueError, "Input X contains NaN"),
    "inf": (edited(ROWS, {(4, 1): np.inf}), ValueError, "Input X contains infinity"),
    "-inf": (edited(ROWS, {(4, 1): -np.inf}), ValueError, "Input X contains infinity"),
    "no rows": (np.empty((0, 2)), ValueError, r"0 sample\(s\) .*minimum of 1 is required"),
    "no columns": (np.empty((12, 0)), ValueError, r"0 feature\(s\) .*minimum of 1 is required"),
    "empty list": ([], ValueError, "Expected 2D array, got 1D array"),
    "1-D": (ROWS[:, 0], ValueError, "Expected 2D array, got 1D array"),
    "scalar": (3.0, ValueError, "Expected 2D array, got scalar"),
    "3-D": (ROWS[:, :, None], ValueError, "Found array with dim 3"),
    "strings": ([["a", "b"]] * 12, ValueError, "could not convert string to float: '?a'?"),
    "mixed": ([[1.0, "b"]] * 12, ValueError, "could not convert string to float: '?b'?"),
    "complex": (ROWS + 1j, ValueError, "Complex data not supported"),
    "sparse": (scipy.sparse.csr_array(ROWS), TypeError, "Sparse data was passed"),
    "None": (None, ValueError, "Expected 2D array, got scalar"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "inhomogeneous"),
    "objects": (np.array([[{}, 1]] * 12, dtype=object), TypeError, "must be a string or a real number, not 'dict'"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
@pytest.mark.parametrize("estimator", ALL)
def test_rows(estimator, kind):
    rows, expected, pattern = BAD_ROWS[kind]
    assert re.search(pattern, refusal(estimator(3), rows, expected=expected))


@pytest.mark.parametrize("values", [[1e200, -1e200], [1e308, -1e308], [1e155, 0.0]], ids=repr)
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "mahalanobis"])
@pytest.mark.parametrize("estimator", ALL)
def test_values_whose_distances_overflow(estimator, metric, values):
    rows = ROWS.copy()
    rows[:2, 0] = values
    parameters = {} if estimator is KMeans else {"metric": metric}
    message = refusal(estimator(3, **parameters), rows)
    assert "overflow" in message
    assert "1e154" in message
    assert "scale" in message


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_zero_row_with_cosine(estimator):
    message = refusal(estimator(3, metric="cosine"), edited(ROWS, {(5, 0): 0.0, (5, 1): 0.0}))
    assert "cosine" in message
    assert "row 5" in message
    assert "zero" in message


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e-300, -1e100])
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_constant_row_with_correlation(estimator, value):
    rows = np.random.default_rng(1).normal(size=(12, 3))
    rows[7] = value
    message = refusal(estimator(3, metric="correlation"), rows)
    assert "correlation" in message
    assert "row 7" in message
    assert "constant" in message


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_row_number_counts_all_rows(estimator):
    """A row of weight 0 in front does not shift the number in the sentence."""
    rows = edited(ROWS, {(5, 0): 0.0, (5, 1): 0.0})
    weights = np.ones(12)
    weights[:3] = 0
    assert "row 5" in refusal(estimator(3, metric="cosine"), rows, sample_weight=weights)


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_a_row_of_weight_zero_needs_a_distance_too(estimator):
    """It is no client, but it is labelled."""
    weights = np.ones(12)
    weights[5] = 0
    message = refusal(estimator(3, metric="cosine"), edited(ROWS, {(5, 0): 0.0, (5, 1): 0.0}), sample_weight=weights)
    assert "row 5" in message
    assert "overflow" in refusal(estimator(3), edited(ROWS, {(5, 0): 1e200}), sample_weight=weights)


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_haversine_needs_two_columns(estimator):
    message = refusal(estimator(3, metric="haversine"), np.ones((12, 3)))
    assert "haversine needs 2 columns" in message
    assert "has 3" in message


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_seuclidean_needs_variance(estimator):
    message = refusal(estimator(3, metric="seuclidean"), np.column_stack([ROWS, np.ones(12)]))
    assert "seuclidean" in message
    assert "column 2" in message


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_mahalanobis_needs_full_rank(estimator):
    message = refusal(estimator(3, metric="mahalanobis"), np.column_stack([ROWS, ROWS.sum(axis=1)]))
    assert "mahalanobis" in message
    assert "rank 3" in message


@pytest.mark.parametrize("result", [np.nan, np.inf], ids=repr)
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_callable_that_returns_no_number(estimator, result):
    def odd(a, b):
        return 0.0 if np.array_equal(a, b) else result

    message = refusal(estimator(3, metric=odd), ROWS)
    assert "odd" in message
    assert "finite" in message


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_callable_that_returns_negative_distances(estimator):
    def below(a, b):
        return -float(np.abs(a - b).sum())

    message = refusal(estimator(3, metric=below), ROWS)
    assert "below" in message
    assert "negative" in message
    assert f"{-MATRIX.max():.6g}" in message


@pytest.mark.parametrize("estimator", SQUARE_ONLY)
def test_callable_that_is_no_dissimilarity(estimator):
    def directed(a, b):
        return float(np.maximum(a - b, 0).sum())

    def shifted(a, b):
        return 1.0 + float(np.abs(a - b).sum())

    for metric in (directed, shifted):
        message = refusal(estimator(3, metric=metric), ROWS)
        assert metric.__name__ in message
        assert "symmetric" in message
        assert estimator.__name__ in message


# --------------------------------------------------------------------------------------------------- precomputed


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_negative_precomputed(estimator):
    message = refusal(estimator(3, metric="precomputed"), edited(MATRIX, {(2, 5): -0.25, (5, 2): -0.25}))
    assert "egative" in message


@pytest.mark.parametrize("estimator", SQUARE_ONLY)
def test_asymmetric_precomputed(estimator):
    message = refusal(estimator(3, metric="precomputed"), edited(MATRIX, {(2, 5): MATRIX[2, 5] + 0.25}))
    assert "symmetric" in message
    assert "0.25" in message


@pytest.mark.parametrize("estimator", SQUARE_ONLY)
def test_non_square_precomputed(estimator):
    message = refusal(estimator(3, metric="precomputed"), MATRIX[:, :7])
    assert "square" in message
    assert "12 x 7" in message


@pytest.mark.parametrize("estimator", SQUARE_ONLY)
def test_precomputed_with_a_diagonal(estimator):
    message = refusal(estimator(3, metric="precomputed"), edited(MATRIX, {(4, 4): 0.5}))
    assert "diagonal" in message
    assert "0.5" in message


@pytest.mark.parametrize(
    ("value", "pattern"), [(np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")], ids=repr
)
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_precomputed_that_is_not_finite(estimator, value, pattern):
    assert pattern in refusal(estimator(3, metric="precomputed"), edited(MATRIX, {(2, 5): value, (5, 2): value}))


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_precomputed_symmetric_up_to_rounding_works(estimator):
    """What scikit-learn's own pairwise_distances returns is symmetric up to the last bits only."""
    rows = np.random.default_rng(3).normal(size=(60, 5))
    D = pairwise_distances(rows)
    assert not np.array_equal(D, D.T)
    est = estimator(3, metric="precomputed", random_state=0).fit(D)
    assert est.cost_ == pytest.approx(estimator(3, random_state=0).fit(rows).cost_, rel=1e-9)
    est.certificate_.verify(D)


# ------------------------------------------------------------------------------------------------------- weights

BAD_WEIGHTS = {
    "negative": (
        edited(np.ones((12, 1)), {(3, 0): -2.0})[:, 0],
        "[Nn]egative values in data passed to .?sample_weight",
    ),
    "all zero": (np.zeros(12), "sample_weight is zero for every sample|at least one non-zero"),
    "NaN": (edited(np.ones((12, 1)), {(3, 0): np.nan})[:, 0], "sample_weight contains NaN"),
    "inf": (edited(np.ones((12, 1)), {(3, 0): np.inf})[:, 0], "sample_weight contains infinity"),
    "too short": (np.ones(11), r"sample_weight.shape == \(11,\), expected \(12,\)"),
    "too long": (np.ones(13), r"sample_weight.shape == \(13,\), expected \(12,\)"),
    "2-D": (np.ones((12, 1)), "1D array or scalar"),
    "strings": (["a"] * 12, "could not convert string to float: '?a'?"),
}


@pytest.mark.parametrize("kind", BAD_WEIGHTS)
@pytest.mark.parametrize("estimator", ALL)
def test_weights(estimator, kind):
    weights, pattern = BAD_WEIGHTS[kind]
    assert re.search(pattern, refusal(estimator(3), ROWS, sample_weight=weights, expected=ValueError))


@pytest.mark.parametrize("kind", sorted(set(BAD_WEIGHTS) - {"all zero"}))
def test_weights_of_score(fitted, kind):
    weights, pattern = BAD_WEIGHTS[kind]
    with pytest.raises(ValueError, match=pattern):
        fitted.score(ROWS, sample_weight=weights)


def test_weights_whose_sum_overflows():
    for estimator in (KMedian, KMeans, FairKMedian):
        message = refusal(estimator(3), ROWS, sample_weight=np.full(12, 1e308))
        assert "sample_weight" in message
        assert "overflow" in message


# ---------------------------------------------------------------------------------------------------- candidates


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_candidates_of_wrong_width(estimator):
    message = refusal(estimator(3, candidates=np.ones((5, 3))), ROWS)
    assert "candidates" in message
    assert "3 features" in message
    assert "X has 2" in message


@pytest.mark.parametrize(
    ("candidates", "expected", "pattern"),
    [
        (np.full((5, 2), np.nan), ValueError, "candidates contains NaN"),
        (np.full((5, 2), np.inf), ValueError, "candidates contains infinity"),
        (np.empty((0, 2)), ValueError, r"0 sample\(s\)"),
        (np.ones(5), ValueError, "Expected 2D array, got 1D array"),
        ([["a", "b"]], ValueError, "could not convert string to float"),
        (ROWS + 1j, ValueError, "Complex data not supported"),
        (scipy.sparse.csr_array(ROWS), TypeError, "'candidates' .*array-like.*Got .*sparse"),
        ("midpoint", InvalidParameterError, "'candidates' .*Got 'midpoint' instead"),
        (3, InvalidParameterError, "'candidates' .*Got 3 instead"),
    ],
    ids=["NaN", "inf", "empty", "1-D", "strings", "complex", "sparse", "unknown name", "number"],
)
@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_candidates(estimator, candidates, expected, pattern):
    assert re.search(pattern, refusal(estimator(1, candidates=candidates), ROWS, expected=expected))


@pytest.mark.parametrize("matrix", [MATRIX, MATRIX[:, :7]], ids=["square", "rectangular"])
def test_candidates_with_precomputed(matrix):
    message = refusal(KMedian(3, metric="precomputed", candidates=np.ones((5, 2))), matrix)
    assert "candidates must be None" in message
    assert "precomputed" in message


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_candidates_whose_distances_overflow(estimator):
    message = refusal(estimator(1, candidates=np.full((2, 2), 1e200)), ROWS)
    assert "candidates" in message
    assert "overflow" in message


def test_zero_candidate_with_cosine():
    message = refusal(KMedian(1, metric="cosine", candidates=[[1.0, 2.0], [0.0, 0.0]]), ROWS)
    assert "cosine" in message
    assert "row 1 of candidates" in message


@pytest.mark.parametrize("estimator", SQUARE_ONLY)
def test_no_candidates_where_centres_are_points(estimator):
    with pytest.raises(TypeError, match="candidates"):
        estimator(3, candidates=ROWS)


# -------------------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_matrix_above_the_memory_budget(estimator):
    rows = np.random.default_rng(0).normal(size=(400, 2))  # 400 x 400 x 8 bytes are 1.22 MiB
    with sklearn.config_context(working_memory=1):
        for metric in ("canberra", "mahalanobis", lambda a, b: pytest.fail("a distance was computed")):
            message = refusal(estimator(3, metric=metric), rows)
            assert "400 x 400" in message
            assert "2 MiB" in message
            assert "working_memory=2" in message
            assert "working memory of 1 MiB" in message
            for name in ("euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"):
                assert name in message


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"])
def test_compiled_metrics_work_above_the_memory_budget(metric):
    rows = np.random.default_rng(0).normal(size=(400, 2))
    with sklearn.config_context(working_memory=1):
        above = KMedian(3, metric=metric, random_state=0).fit(rows)
    within = KMedian(3, metric=metric, random_state=0).fit(rows)
    assert above.cost_ == pytest.approx(within.cost_, rel=1e-12)
    above.certificate_.verify(rows)


@pytest.mark.parametrize("estimator", [KTMM, KCenter])
def test_population_above_the_memory_budget(estimator):
    rows = np.random.default_rng(0).normal(size=(1000, 2))
    with sklearn.config_context(working_memory=1):
        message = refusal(estimator(500), rows)
    assert "n_clusters=500" in message
    assert "1000 rows" in message
    assert "4 MiB" in message
    assert "11 MiB" in message


# -------------------------------------------------------------------------------------------------------- theorem


def test_theorem_that_is_too_large():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    message = refusal(KMedian(100, max_iter="theorem"), rows)
    assert "1e9" in message or "1e+09" in message
    assert re.search(r"\d\.?\d*e\+\d\d", message)


@pytest.mark.parametrize("estimator", [KMedian, KMeans, FairKMedian])
def test_theorem_that_is_infinite(estimator):
    # Of fair k-median only the proven mode has such a theorem.
    options = {"mode": "proven"} if estimator is FairKMedian else {}
    message = refusal(estimator(3, max_iter="theorem", **options), np.repeat(ROWS, 2, axis=0))
    assert "infinite" in message
    assert "duplicated points" in message


# ------------------------------------------------------------------------------------------------- after the fit


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
@pytest.mark.parametrize("estimator", ALL)
def test_before_fit(estimator, method):
    with pytest.raises(NotFittedError, match=f"This {estimator.__name__} instance is not fitted yet"):
        getattr(estimator(3), method)(ROWS)


@pytest.mark.parametrize("estimator", ALL)
def test_feature_names_before_fit(estimator):
    with pytest.raises(NotFittedError, match=estimator.__name__):
        estimator(3).get_feature_names_out()


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_wrong_width_after_fit(fitted, method, width):
    name = type(fitted).__name__
    with pytest.raises(ValueError, match=f"X has {width} features, but {name} is expecting 2 features"):
        getattr(fitted, method)(np.ones((4, width)))


@pytest.mark.parametrize("kind", BAD_ROWS)
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_bad_rows_after_fit(fitted, method, kind):
    rows, expected, pattern = BAD_ROWS[kind]
    with pytest.raises(expected, match=pattern):
        getattr(fitted, method)(rows)


@pytest.mark.parametrize("rows", [[[1e200, 0.0]], [[1e200, 0.0], [-1e200, 0.0]]], ids=["one row", "two rows"])
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_overflow_after_fit(fitted, method, rows):
    with pytest.raises(ValueError, match="overflow"):
        getattr(fitted, method)(rows)


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_precomputed_after_fit(estimator):
    est = estimator(3, metric="precomputed", random_state=0).fit(MATRIX)
    with pytest.raises(ValueError, match="egative"):
        est.predict(-MATRIX[:2])
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 12 features"):
        est.predict(MATRIX[:, :5])


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_zero_row_with_cosine_after_fit(estimator):
    est = estimator(3, metric="cosine", random_state=0).fit(ROWS)
    with pytest.raises(ValueError, match="cosine distance is undefined for row 1"):
        est.predict([[1.0, 1.0], [0.0, 0.0]])


def test_ktmm_score_of_a_rectangular_matrix_is_never_a_number():
    est = KTMM(3, metric="precomputed", random_state=0).fit(MATRIX)
    with pytest.raises((ValueError, AttributeError), match="score"):
        est.score(MATRIX[:5])


# ------------------------------------------------------------------------------------------------- it simply works


@pytest.mark.parametrize("algorithm", ["auto", "gsemo"])
@pytest.mark.parametrize("estimator", ALL)
def test_fewer_distinct_points_than_clusters(estimator, algorithm):
    rows = np.repeat(ROWS[:3], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct points \(3\) is below n_clusters=5"):
        est = estimator(5, algorithm=algorithm, random_state=0).fit(rows)
    assert est.cost_ == 0
    assert est.certificate_.optimal
    if estimator is KMeans and algorithm == "auto":  # centres anywhere: two of them coincide with others
        assert len(set(est.labels_)) == 3
    else:
        assert set(est.labels_) == set(range(5))
    est.certificate_.verify(rows)


@pytest.mark.parametrize("estimator", ALL)
def test_as_many_distinct_points_as_clusters_is_no_reason_to_warn(estimator):
    rows = np.repeat(ROWS[:3], 4, axis=0)
    assert estimator(3, random_state=0).fit(rows).cost_ == 0
