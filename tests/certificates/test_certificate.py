"""The certificate as an object and as a file, and verify, which names what is wrong."""

import json
import math
import os
import subprocess
import sys
import warnings
from dataclasses import FrozenInstanceError, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import scipy.spatial
import sklearn
from sklearn.exceptions import ConvergenceWarning

import certiclust.certificates
from certiclust import KTMM, Certificate, CertificateError, FairKMedian, KCenter, KMeans, KMedian
from certiclust.certificates import Guarantee, data_fingerprint

ALL = [KTMM, KCenter, KMedian, KMeans, FairKMedian]
WITH_METRIC = [KTMM, KCenter, KMedian, FairKMedian]
X = np.random.default_rng(31).normal(size=(40, 3))
WEIGHTS = np.random.default_rng(32).integers(0, 4, len(X)).astype(float)


@cache
def certified(estimator, weighted=False, n_clusters=4):
    return estimator(n_clusters, random_state=0).fit(X, sample_weight=WEIGHTS if weighted else None).certificate_


def plain(**changes):
    fields = {
        "problem": "k-median",
        "n_samples": 5,
        "n_clusters": 2,
        "cost": 4.0,
        "lower_bound": 1.0,
        "data_sha256": "00",
        "metric": "euclidean",
        "method": "GSEMO, 10 iterations",
        "guarantee": None,
        "note": "the check of all swaps was not finished",
    }
    return Certificate(**{**fields, **changes})


# ------------------------------------------------------------------------------------------------- gap and optimal


@pytest.mark.parametrize(
    ("cost", "lower_bound", "gap", "optimal"),
    [
        (4.0, 2.0, 1.0, False),
        (4.0, 4.0, 0.0, True),
        (4.0, 4.0 * (1 - 0.9e-9), pytest.approx(0.9e-9, rel=1e-5), True),
        (4.0, 4.0 * (1 - 1.1e-9), pytest.approx(1.1e-9, rel=1e-5), False),
        (4.0, 0.0, math.inf, False),
        (0.0, 0.0, 0.0, True),
        (1e-300, 0.0, math.inf, False),
    ],
)
def test_gap_and_optimal(cost, lower_bound, gap, optimal):
    certificate = plain(cost=cost, lower_bound=lower_bound)
    assert certificate.gap == gap
    assert certificate.optimal is optimal


def test_infinite_gap_is_null(tmp_path):
    certificate = plain(lower_bound=0.0)
    certificate.save(tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text())["gap"] is None
    assert Certificate.load(tmp_path / "c.json") == certificate
    assert Certificate.load(tmp_path / "c.json").gap == math.inf


def test_a_certificate_does_not_change():
    with pytest.raises(FrozenInstanceError):
        plain().cost = 3.0


# -------------------------------------------------------------------------------------------------------- the words


def unusual_certificates():
    yield plain()
    yield plain(lower_bound=0.0)
    yield plain(cost=0.0, lower_bound=0.0, guarantee=Guarantee(1.0, "k-median theorem", "the cost is zero"), note="")
    yield plain(theory={"theorem": "k-median theorem", "ratio": 10.0, "iterations": None})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for estimator in ALL:
            yield certified(estimator)
            yield certified(estimator, True)
            yield estimator(4, algorithm="gsemo", max_iter=1, random_state=0).fit(X).certificate_
            yield estimator(4, random_state=0).fit(np.repeat(X[:5], 3, axis=0)).certificate_
            yield estimator(9, random_state=0).fit(np.repeat(X[:5], 3, axis=0)).certificate_


def test_three_readable_lines():
    certificates = list(unusual_certificates())
    assert len(certificates) == 29
    for certificate in certificates:
        first, second, third, *more = str(certificate).split("\n")
        assert len(more) == (certificate.problem == "fair k-median")
        assert all(line.startswith("fairness: the largest distance to a centre, in fair radii, ") for line in more)
        assert first.startswith(f"{certificate.problem}, k = {certificate.n_clusters}, n = {certificate.n_samples}: ")
        assert f"cost {certificate.cost:.8g}" in first
        if certificate.optimal:
            assert "optimal, proved" in first
        elif certificate.lower_bound > 0:
            assert f"within a factor {1 + certificate.gap:.4g} of optimal" in first
        else:
            assert "no lower bound was proved" in first
        if certificate.guarantee is None:
            assert second == f"no guarantee reached: {certificate.note}."
            assert certificate.note
        else:
            assert second.startswith("guarantee: ")
            assert certificate.guarantee.theorem in second
            assert certificate.guarantee.because in second
        assert third.startswith(f"found by {certificate.method}")
        for line in (first, second, third):
            assert line.endswith(".")
            assert not line.endswith("..")
            assert "None" not in line
            assert "nan" not in line


def test_the_theorem_is_printed():
    """It is about plain GSEMO, whatever was run, and says what is reached."""
    for algorithm in ("auto", "gsemo", "nsga2", "moead"):
        certificate = KCenter(3, algorithm=algorithm, random_state=0).fit(X).certificate_
        expected = f"{np.e * 9 * len(X) - np.e * 3 * (len(X) - 1):,.0f}"
        words = f"; by the theorem plain GSEMO reaches a factor 2 within {expected} expected iterations."
        assert str(certificate).split("\n")[2] == f"found by {certificate.method}{words}"
    duplicated = KMedian(3, random_state=0).fit(np.repeat(X[:5], 3, axis=0)).certificate_
    assert "; the theorem has no finite bound on the iterations of plain GSEMO here." in str(duplicated)
    tight = FairKMedian(3, random_state=0).fit(X).certificate_
    assert "plain GSEMO reaches a centre in every critical ball within" in str(tight)
    anything = KMedian(2, metric="precomputed", random_state=0).fit([[0, 1, 9.0], [1, 0, 1], [9, 1, 0]]).certificate_
    assert "plain GSEMO reaches its condition within" in str(anything)
    given = KMeans(3, candidates=X[:6] + 0.1, algorithm="gsemo", random_state=0).fit(X).certificate_
    assert "a factor 100, against the best centres among the given candidates, within" in str(given)


def test_one_node_is_no_nodes():
    assert certified(KMedian).method.endswith(" offspring, 1 node")
    with pytest.warns(ConvergenceWarning, match="met in 1 iteration; "):
        once = KMedian(3, algorithm="gsemo", max_iter=1, random_state=0).fit(X).certificate_
    assert once.method == "GSEMO, 1 iteration"


# --------------------------------------------------------------------------------------------------------- the file

NAMES = {"format", "problem", "n_samples", "n_clusters", "cost", "lower_bound", "gap", "optimal", "data_sha256"}
NAMES |= {"guarantee", "method", "witness", "metric", "note", "theory"}
NAMES |= {"fair_lower_bound", "fairness_ratio", "infeasible_beta"}


def test_round_trip(tmp_path):
    path = tmp_path / "certificate.json"
    for certificate in unusual_certificates():
        certificate.save(path)
        loaded = Certificate.load(path)
        assert loaded == certificate
        assert str(loaded) == str(certificate)
        assert loaded.gap == certificate.gap
        assert loaded.optimal is certificate.optimal
        content = json.loads(path.read_text(encoding="utf-8"))
        assert set(content) == NAMES
        assert content["cost"] == certificate.cost
        assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert os.listdir(tmp_path) == ["certificate.json"]


@pytest.mark.parametrize("estimator", ALL)
def test_loaded_certificate_verifies(estimator, tmp_path):
    certified(estimator, True).save(str(tmp_path / "c.json"))
    Certificate.load(str(tmp_path / "c.json")).verify(X, WEIGHTS)


@pytest.mark.parametrize("failing", ["os.fsync", "os.replace", "os.chmod"])
def test_failing_save_leaves_the_old_file(failing, tmp_path, monkeypatch):
    path = tmp_path / "c.json"
    plain().save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failing, fail)
    with pytest.raises(OSError, match="No space left"):
        plain(cost=9.0).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c.json"]


def test_save_of_what_json_cannot_hold_leaves_the_old_file(tmp_path):
    path = tmp_path / "c.json"
    plain().save(path)
    before = path.read_bytes()
    with pytest.raises((TypeError, ValueError)):
        plain(witness={"centers": object()}).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c.json"]


def test_save_into_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        plain().save(tmp_path / "missing" / "c.json")


def test_save_replaces_the_file(tmp_path):
    path = tmp_path / "c.json"
    plain().save(path)
    plain(cost=9.0).save(path)
    assert Certificate.load(path).cost == 9.0


CONTENT = plain(witness={"centers": [0, 1]}).to_dict()
NOT_CERTIFICATES = {
    "empty": "",
    "text": "hello",
    "a list": "[1, 2]",
    "a number": "3",
    "null": "null",
    "cut": json.dumps(CONTENT)[:-5],
    "no format": json.dumps({k: v for k, v in CONTENT.items() if k != "format"}),
    "other format": json.dumps({**CONTENT, "format": "certiclust certificate 99"}),
    "field missing": json.dumps({k: v for k, v in CONTENT.items() if k != "cost"}),
    "unknown field": json.dumps({**CONTENT, "bonus": 1}),
    "NaN": json.dumps({**CONTENT, "cost": math.nan}),
    "Infinity": json.dumps({**CONTENT, "cost": math.inf}),
    "too large": json.dumps(CONTENT).replace('"cost": 4.0', '"cost": 1e999'),
    "endless integer": json.dumps(CONTENT).replace('"cost": 4.0', '"cost": ' + "9" * 5000),
    "large integer": json.dumps(CONTENT).replace('"cost": 4.0', '"cost": ' + "9" * 400),
    "deep": "[" * 100_000,
    "n_samples text": json.dumps({**CONTENT, "n_samples": "5"}),
    "n_samples half": json.dumps({**CONTENT, "n_samples": 5.5}),
    "n_clusters true": json.dumps({**CONTENT, "n_clusters": True}),
    "witness null": json.dumps({**CONTENT, "witness": None}),
    "witness list": json.dumps({**CONTENT, "witness": [1]}),
    "theory list": json.dumps({**CONTENT, "theory": [1]}),
    "theory text": json.dumps({**CONTENT, "theory": {"iterations": "many"}}),
    "theory ratio": json.dumps({**CONTENT, "theory": {"iterations": 9, "ratio": "two"}}),
    "metric list": json.dumps({**CONTENT, "metric": ["euclidean"]}),
    "problem null": json.dumps({**CONTENT, "problem": None}),
    "method null": json.dumps({**CONTENT, "method": None}),
    "note number": json.dumps({**CONTENT, "note": 5}),
    "hash number": json.dumps({**CONTENT, "data_sha256": 5}),
    "guarantee list": json.dumps({**CONTENT, "guarantee": [5]}),
    "guarantee cut": json.dumps({**CONTENT, "guarantee": {"ratio": 5}}),
    "ratio text": json.dumps(
        {**CONTENT, "guarantee": {"ratio": "5", "theorem": "a", "because": "b", "fairness": None}}
    ),
    "fairness text": json.dumps(
        {**CONTENT, "guarantee": {"ratio": 5, "theorem": "a", "because": "b", "fairness": "3"}}
    ),
    "because null": json.dumps({**CONTENT, "guarantee": {"ratio": 5, "theorem": "a", "because": None, "fairness": 3}}),
}


@pytest.mark.parametrize("kind", NOT_CERTIFICATES)
def test_load_refuses_what_is_no_certificate(kind, tmp_path):
    path = tmp_path / "odd.json"
    path.write_text(NOT_CERTIFICATES[kind], encoding="utf-8")
    with pytest.raises(CertificateError) as caught:
        Certificate.load(path)
    assert len(str(caught.value)) > 20


def test_load_names_the_file_and_the_field(tmp_path):
    path = tmp_path / "odd.json"
    path.write_text("hello")
    with pytest.raises(CertificateError, match=r"odd\.json is not a certificate"):
        Certificate.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CertificateError, match=r"odd\.json is not a certificate"):
        Certificate.load(path)
    for kind, word in (("field missing", "cost"), ("unknown field", "bonus"), ("n_samples text", "n_samples")):
        path.write_text(NOT_CERTIFICATES[kind])
        with pytest.raises(CertificateError, match=word):
            Certificate.load(path)
    with pytest.raises(FileNotFoundError):
        Certificate.load(tmp_path / "none.json")


@pytest.mark.parametrize(("key", "value"), [("gap", 0.0), ("gap", None), ("optimal", True), ("gap", 2.9999)])
def test_stored_gap_and_optimal_must_follow(key, value, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({**CONTENT, key: value}))
    with pytest.raises(CertificateError, match=f"the stored {key} does not follow"):
        Certificate.load(path)


# -------------------------------------------------------------------------------------------- verify: what holds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("algorithm", ["auto", "gsemo"])
@pytest.mark.parametrize("k", [1, 2, 7, 20])
@pytest.mark.parametrize("estimator", ALL)
def test_verify_passes(estimator, k, algorithm, weighted):
    weights = WEIGHTS if weighted else None
    certificate = estimator(k, algorithm=algorithm, random_state=k).fit(X, sample_weight=weights).certificate_
    assert certificate.guarantee is not None
    assert certificate.verify(X, weights) is None


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "sqeuclidean", "cosine", "haversine"])
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_verify_passes_for_any_metric_with_weights(estimator, metric):
    rows = X[:, :2] / 4 if metric == "haversine" else X
    certificate = estimator(4, metric=metric, random_state=1).fit(rows, sample_weight=WEIGHTS).certificate_
    certificate.verify(rows, WEIGHTS)
    certificate.verify(rows, WEIGHTS, metric=metric)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("estimator", ALL)
def test_verify_passes_for_small_large_and_distant_data(estimator, scale, shift):
    rows = (X + shift) * scale
    if estimator is KMeans and scale in (1e-150, 1e150):
        scale = math.sqrt(scale)
        rows = (X + shift) * scale
    certificate = estimator(4, random_state=0).fit(rows).certificate_
    certificate.verify(rows)
    assert certificate.guarantee is not None
    assert 0 <= certificate.lower_bound <= certificate.cost
    # A tenth of a per mille is lost to underflowing squares there, and the Lagrangian bound is not tried.
    assert certificate.lower_bound > 0 or (estimator is FairKMedian and scale == 1e-150)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_verify_passes_for_nearly_parallel_rows(estimator, metric):
    """Distances of 1e-16 and less: nothing may be claimed beyond the rounding error, and it is still consistent."""
    rng = np.random.default_rng(0)
    rows = np.array([1.0, 2.0, 4.0]) * rng.uniform(1, 2, size=(30, 1)) + 1e-8 * rng.normal(size=(30, 3))
    certificate = estimator(4, metric=metric, random_state=0).fit(rows).certificate_
    certificate.verify(rows)


def test_verify_takes_any_container():
    certificate = certified(KMedian, True)
    certificate.verify(X.tolist(), WEIGHTS.tolist())
    certificate.verify(pd.DataFrame(X), pd.Series(WEIGHTS))
    certificate.verify(pl.DataFrame(X), pl.Series(WEIGHTS))
    certificate.verify(np.asfortranarray(X), WEIGHTS.astype(int))


def test_weights_of_one_are_no_weights():
    certified(KMedian).verify(X, np.ones(len(X)))
    KMedian(4, random_state=0).fit(X, sample_weight=np.ones(len(X))).certificate_.verify(X)


def test_cost_zero_needs_no_witness():
    """Without the triangle inequality the radius can be 0 although two points are apart."""
    D = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 5.0], [0.0, 5.0, 0.0]])
    for seed in range(6):
        certificate = KCenter(1, metric="precomputed", random_state=seed).fit(D).certificate_
        assert certificate.cost == 0
        assert certificate.guarantee.ratio == 1
        certificate.verify(D)


def test_minus_zero_is_zero():
    rows = X.copy()
    rows[0, 0] = 0.0
    certificate = KMedian(4, random_state=0).fit(rows).certificate_
    rows[0, 0] = -0.0
    certificate.verify(rows)


def test_verify_above_4000_rows_with_a_checked_matrix():
    rng = np.random.default_rng(0)
    D = np.abs(rng.normal(size=(4001, 1)) - rng.normal(size=(1, 3)))
    certificate = KMedian(2, metric="precomputed", check_metric=True, random_state=0).fit(D).certificate_
    assert certificate.guarantee is not None
    certificate.verify(D)


def test_no_metric_guarantee_above_1000_rows_without_request():
    rng = np.random.default_rng(0)
    D = np.abs(rng.normal(size=(1001, 1)) - rng.normal(size=(1, 3)))
    certificate = KMedian(2, metric="precomputed", random_state=0).fit(D).certificate_
    assert certificate.guarantee is None
    assert "triangle inequality" in certificate.note
    certificate.verify(D)
    certificate = KMedian(2, metric="precomputed", random_state=0).fit(D[:1000]).certificate_
    assert certificate.guarantee is not None


# ------------------------------------------------------------------------------- verify: what does not hold, by name


def refused(certificate, word, rows=X, weights=None, **kwargs):
    with pytest.raises(CertificateError, match=f"^{word}") as caught:
        certificate.verify(rows, weights, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", ALL)
def test_other_data(estimator, weighted):
    certificate, weights = certified(estimator, weighted), WEIGHTS if weighted else None
    certificate.verify(X, weights)
    other = X.copy()
    other[17, 1] = np.nextafter(other[17, 1], 9)
    assert "data_sha256" in refused(certificate, "data", other, weights)
    assert "data_sha256" in refused(certificate, "data", X[::-1], weights)
    assert "39 rows" in refused(certificate, "data", X[:-1], None if weights is None else weights[:-1])
    refused(certificate, "data", X[:, :2], weights)
    assert "data_sha256" in refused(certificate, "data", X, np.full(len(X), 2.0))
    assert "weight" in refused(certificate, "data", X, np.ones(7))
    assert "data_sha256" in refused(certificate, "data", X, weights, candidates=X)


@pytest.mark.parametrize(
    "rows", [[["a", "b"]], X[0], 3.0, None, scipy.sparse.csr_array(X), np.full_like(X, np.nan), X[None]], ids=str
)
def test_data_that_are_none(rows):
    refused(certified(KMedian), "data", rows)


@pytest.mark.parametrize("weights", [["a"] * 40, np.ones((40, 2)), np.full(40, np.nan), -np.ones(40)], ids=str)
def test_weights_that_are_none(weights):
    refused(certified(KMedian), "data", X, weights)


@pytest.mark.parametrize("estimator", WITH_METRIC)
def test_other_metric(estimator):
    message = refused(certified(estimator), "metric", metric="manhattan")
    assert "'euclidean'" in message
    assert "'manhattan'" in message
    refused(replace(certified(estimator), metric="unheard"), "metric")
    # The name in the file changed: the cost does not fit any more.
    refused(replace(certified(estimator), metric="manhattan"), "cost")


def first(a, b):
    return float(np.abs(a - b).sum())


def second(a, b):
    return float(np.abs(a - b).max())


def test_other_callable():
    certificate = KMedian(4, metric=first, random_state=0).fit(X).certificate_
    certificate.verify(X, metric=first)
    assert "first" in refused(certificate, "metric", metric=second)
    assert "first" in refused(certificate, "metric")
    assert "callable" in refused(certified(KMedian), "metric", metric=first)
    impostor = {"first": lambda a, b: second(a, b)}["first"]
    impostor.__qualname__ = "first"
    refused(certificate, "cost", metric=impostor)


def uphill(client, site):
    """Return an asymmetric norm of the difference: the triangle inequality holds, symmetry does not."""
    return float(np.maximum(site - client, 0).sum() + 3 * np.maximum(client - site, 0).sum())


def test_no_ratio_follows_for_a_directed_distance():
    """The theorem about swaps is one about metrics; a triangle inequality alone is not enough."""
    certificate = KMedian(4, metric=uphill, random_state=0).fit(X).certificate_
    certificate.verify(X, metric=uphill)
    assert certificate.guarantee is None
    witness = {"centers": certificate.witness["centers"], "swap_optimal": certificate.witness["centers"]}
    claimed = Guarantee(5.5, "k-median theorem", "1-swap optimal")
    refused(replace(certificate, guarantee=claimed, witness=witness, lower_bound=0.0), "guarantee", metric=uphill)
    small = certificate.cost / 6
    refused(replace(certificate, lower_bound=small, witness=witness), "lower_bound", metric=uphill)


def test_kmeans_is_about_squares():
    refused(replace(certified(KMeans), metric="euclidean"), "metric")


@pytest.mark.parametrize("estimator", ALL)
def test_other_k(estimator):
    certificate = certified(estimator)
    for k in (3, 5):
        refused(replace(certificate, n_clusters=k), "witness")
    for k in (0, -1, 41, 10**12):
        refused(replace(certificate, n_clusters=k), "n_clusters|witness")


@pytest.mark.parametrize("estimator", ALL)
def test_other_n(estimator):
    assert "41" in refused(replace(certified(estimator), n_samples=41), "data")


@pytest.mark.parametrize("factor", [0, 0.5, 1 - 1e-10, 1 + 1e-10, 2, math.nan, math.inf])
@pytest.mark.parametrize("estimator", ALL)
def test_tampered_cost(estimator, factor):
    certificate = certified(estimator)
    message = refused(replace(certificate, cost=certificate.cost * factor), "cost")
    assert repr(certificate.cost * factor) in message


@pytest.mark.parametrize("factor", [-1, 1 + 1e-10, 1.5, math.nan, math.inf])
@pytest.mark.parametrize("estimator", ALL)
def test_tampered_lower_bound(estimator, factor):
    certificate = certified(estimator)
    message = refused(replace(certificate, lower_bound=certificate.lower_bound * factor), "lower_bound")
    assert "claimed" in message


@pytest.mark.parametrize("estimator", ALL)
def test_a_weaker_claim_is_still_true(estimator):
    certificate = certified(estimator)
    replace(certificate, lower_bound=certificate.lower_bound / 2).verify(X)
    replace(certificate, lower_bound=0.0).verify(X)
    replace(certificate, guarantee=None).verify(X)


@pytest.mark.parametrize("factor", [0, -1, 0.5, 1 - 1e-10, math.nan])
@pytest.mark.parametrize("estimator", [KTMM, KCenter, KMedian, KMeans])
def test_tampered_ratio(estimator, factor):
    certificate = certified(estimator)
    better = replace(certificate.guarantee, ratio=certificate.guarantee.ratio * factor)
    assert "ratio" in refused(replace(certificate, guarantee=better), "guarantee")


def test_a_ratio_for_fair_k_median_is_refused():
    certificate = certified(FairKMedian)
    for ratio in (1.0, 5.0, 84.0, 1e9):
        claimed = replace(certificate.guarantee, ratio=ratio)
        assert "ratio" in refused(replace(certificate, guarantee=claimed), "guarantee")


@pytest.mark.parametrize("fairness", [-1.0, 0.0, 0.5, math.nan])
def test_tampered_fairness(fairness):
    certificate = certified(FairKMedian)
    claimed = replace(certificate.guarantee, fairness=fairness)
    assert "fair radius" in refused(replace(certificate, guarantee=claimed), "guarantee")


def test_fairness_is_checked_for_every_point():
    est = FairKMedian(4, random_state=0).fit(X)
    true = est.fairness_ratio_
    certificate = est.certificate_
    replace(certificate, guarantee=replace(certificate.guarantee, fairness=true * (1 + 1e-12))).verify(X)
    refused(replace(certificate, guarantee=replace(certificate.guarantee, fairness=true * (1 - 1e-12))), "guarantee")


def test_a_guarantee_of_nothing():
    certificate = certified(FairKMedian)
    empty = replace(certificate.guarantee, fairness=None)
    assert "nothing" in refused(replace(certificate, guarantee=empty), "guarantee")


@pytest.mark.parametrize("change", [{"theorem": "law of the jungle"}, {"because": "I say so"}], ids=str)
@pytest.mark.parametrize("estimator", ALL)
def test_tampered_reason(estimator, change):
    certificate = certified(estimator)
    words = replace(certificate.guarantee, **change)
    refused(replace(certificate, guarantee=words), "guarantee")


@pytest.mark.parametrize("estimator", ALL)
def test_tampered_problem(estimator):
    certificate = certified(estimator)
    assert "'k-medoids'" in refused(replace(certificate, problem="k-medoids"), "problem")
    for problem in {"k-tMM", "k-center", "k-median", "k-means", "fair k-median"} - {certificate.problem}:
        with pytest.raises(CertificateError):
            replace(certificate, problem=problem).verify(X)


def with_witness(certificate, key, values):
    return replace(certificate, witness={**certificate.witness, key: values})


@pytest.mark.parametrize("key", ["centers", "apart", "swap_optimal"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tampered_indices(key, weighted):
    weights = WEIGHTS if weighted else None
    for estimator in ALL:
        certificate = certified(estimator, weighted)
        if key not in certificate.witness:
            continue
        listed = certificate.witness[key]
        rest = listed[1:]
        for values in (
            rest,
            [*listed, listed[0]],
            [rest[0], *rest],  # a row twice
            [len(X), *rest],
            [-1, *rest],
            [2**64, *rest],
            [0.5, *rest],
            [str(listed[0]), *rest],
            [None, *rest],
            [listed],
            "0123",
            3,
            None,
        ):
            message = refused(with_witness(certificate, key, values), "witness", X, weights)
            assert f"'{key}'" in message
        if weighted:
            absent = int(np.flatnonzero(WEIGHTS == 0)[0])
            assert "weight 0" in refused(with_witness(certificate, key, [absent, *rest]), "witness", X, weights)


@pytest.mark.parametrize("estimator", [KCenter, KMedian, KMeans, FairKMedian])
def test_other_centers(estimator):
    certificate = certified(estimator)
    if estimator is KMeans:  # centres anywhere
        places = np.array(certificate.witness["cluster_centers"])
        for moved in (places + 1e-3, places[::-1] * 1.01, np.zeros_like(places)):
            refused(with_witness(certificate, "cluster_centers", moved.tolist()), "cost")
        for wrong in ([], places[:-1].tolist(), places[:, :-1].tolist(), "x", None, (places * np.inf).tolist()):
            with pytest.raises(CertificateError):
                with_witness(certificate, "cluster_centers", wrong).verify(X)
        return
    for row in set(range(len(X))) - set(certificate.witness["centers"]):
        changed = with_witness(certificate, "centers", sorted([row, *certificate.witness["centers"][1:]]))
        with pytest.raises(CertificateError, match=r"^cost"):
            changed.verify(X)


@pytest.mark.parametrize("estimator", [KTMM, KCenter])
def test_moved_apart_points(estimator):
    """Every point of the witness counts: next to any other row it proves less."""
    certificate = certified(estimator)
    apart = certificate.witness["apart"]
    alone = {"uncolourable", "cover"} & set(certificate.witness)  # proves the bound without them
    claim = "guarantee" if alone else "lower_bound"
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    for place, point in enumerate(apart):
        rest = apart[:place] + apart[place + 1 :]
        near = next(int(j) for j in np.argsort(D[rest[0]]) if j not in apart)
        changed = with_witness(certificate, "apart", [near, *rest])
        assert "follow" in refused(changed, claim), point
    without = {key: value for key, value in certificate.witness.items() if key != "apart"}
    refused(replace(certificate, witness=without), claim)
    refused(replace(certificate, witness=without, lower_bound=0.0), "guarantee")


@pytest.mark.parametrize("estimator", [KMedian, KMeans])
def test_moved_swap_optimal(estimator):
    certificate = certified(estimator)
    key = "centers" if estimator is KMeans else "swap_optimal"
    listed = certificate.witness[key]
    others = [j for j in range(len(X)) if j not in listed]
    alone = {"tree", "boxes", "cases", "sdp"} & set(certificate.witness)  # these prove the bound by themselves
    claim = "guarantee" if alone else "lower_bound"
    refused(with_witness(certificate, key, sorted(others[:4])), claim)
    without = {name: value for name, value in certificate.witness.items() if name != key}
    refused(replace(certificate, witness=without), claim)
    refused(replace(certificate, witness=without, lower_bound=0.0), "guarantee")


def test_tampered_labels():
    certificate = certified(KTMM)
    labels = certificate.witness["labels"]
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    a, b = np.unravel_index(D.argmax(), D.shape)
    assert labels[a] != labels[b]
    together = [labels[b] if i == a else label for i, label in enumerate(labels)]
    with pytest.raises(CertificateError, match=r"^(cost|witness)"):
        with_witness(certificate, "labels", together).verify(X)
    free = next(i for i in range(len(X)) if i not in certificate.witness["centers"])
    for odd in (4, -1, 2**64, 1.0, "1", None, True):
        changed = [odd if i == free else label for i, label in enumerate(labels)]
        assert "'labels'" in refused(with_witness(certificate, "labels", changed), "witness")
    for odd in (labels[:-1], [*labels, 0], [labels], None, "0" * 40, {}):
        assert "'labels'" in refused(with_witness(certificate, "labels", odd), "witness")


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "sqeuclidean"])
@pytest.mark.parametrize("line", [False, True])
def test_the_diameter_of_any_partition_is_the_largest_of_all_pairs(metric, line):
    """The verifier leaves out pairs that are near by the triangle inequality: never the farthest one."""
    rng = np.random.default_rng(7)
    for _ in range(10):
        points = np.outer(rng.random(60), [1.0, 0.3]) if line else rng.normal(size=(60, 2))
        certificate = KTMM(4, metric=metric, random_state=0).fit(points).certificate_
        labels = rng.integers(4, size=60)
        labels[certificate.witness["centers"]] = range(4)
        between = scipy.spatial.distance.cdist(points, points, metric.replace("manhattan", "cityblock"))
        diameter = between[labels[:, None] == labels].max()
        other = replace(with_witness(certificate, "labels", labels.tolist()), cost=diameter, guarantee=None)
        other.verify(points)
        with pytest.raises(CertificateError, match="cost: "):
            replace(other, cost=diameter * (1 - 1e-9)).verify(points)


def test_centres_of_ktmm_lie_in_their_clusters():
    certificate = certified(KTMM)
    centers = certificate.witness["centers"]
    assert "label" in refused(with_witness(certificate, "centers", centers[::-1]), "witness")


def test_candidates_are_part_of_the_data():
    candidates = np.random.default_rng(0).normal(size=(12, 3))
    certificate = KMedian(3, candidates=candidates, random_state=0).fit(X).certificate_
    certificate.verify(X, candidates=candidates)
    refused(certificate, "data")
    refused(certificate, "data", candidates=candidates[::-1])
    refused(certificate, "data", candidates=candidates[:, :2])
    beyond = with_witness(certificate, "centers", [0, 1, 12])
    with pytest.raises(CertificateError, match=r"^witness: 'centers' names a candidate outside 0\.\.11"):
        beyond.verify(X, candidates=candidates)


# ------------------------------------------------------------------------------------------------------ independence

ALONE = """
import sys, types
package = types.ModuleType("certiclust")
package.__path__ = [sys.argv[1]]
sys.modules["certiclust"] = package  # the package itself, without running its __init__
from certiclust.certificates import Certificate
import numpy as np
Certificate.load(sys.argv[2]).verify(np.load(sys.argv[3]), np.load(sys.argv[4]))
ours = {name for name in sys.modules if name.startswith("certiclust")}
foreign = {name.split(".")[0] for name in sys.modules} & {"numba", "sklearn", "pandas", "joblib", "highspy"}
print(sorted(name for name in ours if not name.startswith("certiclust.certificates") and name != "certiclust"))
print(sorted(foreign))
"""


@pytest.mark.parametrize("estimator", ALL)
def test_verify_needs_nothing_of_the_package_but_its_own_room(estimator, tmp_path):
    certified(estimator, True).save(tmp_path / "c.json")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "w.npy", WEIGHTS)
    folder = Path(certiclust.certificates.__file__).parents[1]
    files = [str(folder), *(str(tmp_path / name) for name in ("c.json", "x.npy", "w.npy"))]
    done = subprocess.run([sys.executable, "-c", ALONE, *files], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


def test_verify_works_under_any_configuration():
    with sklearn.config_context(working_memory=1, transform_output="pandas"):
        certified(KMedian).verify(X)


def test_fingerprint():
    """Shapes, weights and candidates all count, and the bytes do not depend on the machine."""
    ones = np.ones(4)
    prints = {
        data_fingerprint(np.zeros((4, 1)), ones, None),
        data_fingerprint(np.zeros((4, 2)), ones, None),
        data_fingerprint(np.zeros((4, 1)), ones * 2, None),
        data_fingerprint(np.zeros((4, 1)), ones, np.zeros((1, 1))),
        data_fingerprint(np.zeros((4, 1)), ones, np.zeros((4, 1))),
        data_fingerprint(np.ones((4, 1)), ones, None),
    }
    assert len(prints) == 6
    assert all(len(p) == 64 for p in prints)
    big_endian = np.arange(4.0)[:, None].astype(">f8")
    assert data_fingerprint(big_endian, ones, None) == data_fingerprint(np.arange(4.0)[:, None], ones, None)
    rows = np.arange(6.0).reshape(3, 2)
    assert data_fingerprint(rows, ones[:3], None) == data_fingerprint(np.asfortranarray(rows), ones[:3], None)
