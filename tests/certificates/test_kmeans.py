"""Certificates of k-means with centres anywhere: what is stored proves the bound, and what was changed is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust import Certificate, CertificateError, KMeans
from certiclust.bounds import kmeans
from certiclust.bounds.kmeans import kmeans_bound
from certiclust.bounds.kmeans_rows import cluster_means, nearest
from certiclust.certificates import data_fingerprint
from certiclust.certificates.candidates import named_candidates
from certiclust.space.candidates import ladder, midpoints, universal
from tests.bounds.kmeans_truth import optimum
from tests.bounds.test_kmeans_cases import forced
from tests.space.test_candidates import FAMILIES, family


def issued(X, w, centers, bound):
    """Return the certificate of centres anywhere with a given bound."""
    cost = float(w @ np.square(X[:, None] - centers).sum(axis=2).min(axis=1))
    return Certificate(
        problem="k-means",
        n_samples=len(X),
        n_clusters=len(centers),
        cost=cost,
        lower_bound=min(cost, bound.value),
        data_sha256=data_fingerprint(X, w, None),
        metric="sqeuclidean",
        method="a test",
        guarantee=None,
        witness={"cluster_centers": centers.tolist(), **bound.witness},
    )


def example(kind, n=9, k=3):
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(n, 2)).round(3), rng.integers(1, 4, n) * 1.0
    labels = np.arange(n) % k
    centers = cluster_means(X, w, labels, k)
    labels = nearest(X, centers)
    centers = cluster_means(X, w, labels, k)
    if kind == "sdp":
        return X, w, issued(X, w, centers, kmeans._sdp(X, w, k, labels, 0.0, lambda: False))
    if kind == "cases":
        return X, w, issued(X, w, centers, forced(X, w, k, centers, rng, 2))
    bounds = kmeans.KMeansBounds(X, w, k)
    bounds.boxes(centers, float(w @ np.square(X - centers[labels]).sum(axis=1)))
    return X, w, issued(X, w, centers, bounds.best)


@pytest.mark.parametrize("kind", ["boxes", "cases", "sdp"])
def test_round_trip(kind, tmp_path):
    X, w, certificate = example(kind)
    assert certificate.lower_bound > 0.1 * certificate.cost
    certificate.verify(X, w)
    certificate.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    assert loaded == certificate
    loaded.verify(X, w)


@pytest.mark.parametrize("kind", ["boxes", "cases", "sdp"])
def test_a_large_witness_goes_to_a_file_of_its_own(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("certiclust.certificates.certificate.MAX_JSON", 1000)
    X, w, certificate = example(kind)
    certificate.save(tmp_path / "c.json")
    assert len(list(tmp_path.glob("*.npz"))) == 1
    Certificate.load(tmp_path / "c.json").verify(X, w)


@pytest.mark.parametrize("kind", ["boxes", "cases", "sdp"])
@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_a_changed_certificate_is_refused_or_still_true(kind, data):
    X, w, certificate = EXAMPLES[kind]
    content = json.loads(json.dumps(certificate.to_dict()))
    where = data.draw(
        st.sampled_from(["cost", "lower_bound", "n_clusters", "cluster_centers", *certificate.witness[kind]])
    )
    if where in ("cost", "lower_bound"):
        content[where] *= data.draw(st.sampled_from([0.5, 1 - 1e-6, 1 + 1e-6, 1.3, 2.0]))
    elif where == "n_clusters":
        content[where] = data.draw(st.integers(1, 9))
    else:
        values = (
            content["witness"]["cluster_centers"] if where == "cluster_centers" else content["witness"][kind][where]
        )
        spot = data.draw(st.integers(0, len(values) - 1))
        new = data.draw(st.sampled_from([0, 1, -1, 3, 255, 2**40, 0.5, 1e300, -1e-3, None, "x", [1], 10**30, True]))
        action = data.draw(st.sampled_from(["set", "drop", "double", "all"]))
        if action == "set":
            values[spot] = new
        elif action == "drop":
            del values[spot]
        elif action == "double":
            values.insert(spot, values[spot])
        else:
            values[:] = [new] * len(values)
    content["optimal"] = content["lower_bound"] >= content["cost"] * (1 - 1e-9)
    content["gap"] = max(0.0, content["cost"] / content["lower_bound"] - 1)
    try:
        changed = Certificate.from_dict(content)
        changed.verify(X, w)
    except CertificateError:
        return
    centers = np.array(changed.witness["cluster_centers"], dtype=float)
    assert centers.shape == (changed.n_clusters, 2)
    cost = float(w @ np.square(X[:, None] - centers).sum(axis=2).min(axis=1))
    assert changed.cost == pytest.approx(cost, rel=1e-12)
    assert changed.lower_bound <= optimum(X, w, changed.n_clusters)


EXAMPLES = {kind: example(kind) for kind in ("boxes", "cases", "sdp")}


@pytest.mark.parametrize("kind", ["boxes", "cases", "sdp"])
def test_a_bound_raised_beyond_its_witness_is_refused(kind):
    X, w, certificate = EXAMPLES[kind]
    certificate.verify(X, w)
    with pytest.raises(CertificateError, match="lower_bound"):
        replace(certificate, lower_bound=certificate.lower_bound * (1 + 1e-6)).verify(X, w)
    for key in list(certificate.witness[kind]):
        missing = {name: array for name, array in certificate.witness[kind].items() if name != key}
        with pytest.raises(CertificateError, match="malformed"):
            replace(certificate, witness={**certificate.witness, kind: missing}).verify(X, w)
    for nonsense in (None, 3, "x", [], [1, 2], {"members": {}}):
        with pytest.raises(CertificateError):
            replace(certificate, witness={**certificate.witness, kind: nonsense}).verify(X, w)


def boxes_with(certificate, **changes):
    return replace(certificate, witness={**certificate.witness, "boxes": {**certificate.witness["boxes"], **changes}})


def test_malicious_boxes():
    X, w, certificate = EXAMPLES["boxes"]
    n = len(X)
    deep = np.array([1, *([1, 0] * 5000), 0, 0], np.uint8)
    for bits in (np.ones(64, np.uint8), np.array([0, 1], np.uint8), deep):
        with pytest.raises(CertificateError, match="tree"):
            boxes_with(certificate, tree=np.packbits(bits), tree_ends=[len(bits)]).verify(X, w)
    for changes, words in (
        ({"tree_ends": [10**12]}, "boxes"),
        ({"tree_ends": [-5]}, "boxes"),
        ({"units": [9.9e279], "u": [2**62] * n}, "too large"),
        ({"units": [float("nan")]}, "malformed"),
        ({"axes": [1.0, 0.5, 0.0, 1.0]}, "orthonormal"),
        ({"axes": [1.0, 0.0, 0.0]}, "lengths"),
        ({"members": [0] * n}, "at most one block"),
        ({"members": list(range(1, n + 1))}, "at most one block"),
        ({"u": [-1] * n}, "not negative"),
        ({"ends": [n + 1]}, "one after the other"),
    ):
        with pytest.raises(CertificateError, match=words):
            boxes_with(certificate, **changes).verify(X, w)


def test_malicious_cases():
    X, w, certificate = EXAMPLES["cases"]
    evidence = certificate.witness["cases"]
    size = len(evidence["u"])
    for changes, words in (
        ({"cases": []}, "between 1 and"),
        ({"cases": [4, 0, 0]}, "between 1 and"),
        ({"cases": [1, 0], "regions": evidence["regions"][:4]}, "too early"),
        ({"cases": [0, 0], "regions": []}, "belong nowhere"),
        ({"regions": [33] * len(evidence["regions"])}, "outside of the bounding box"),
        ({"regions": [-1] * len(evidence["regions"])}, "outside of the bounding box"),
        ({"regions": evidence["regions"][:-1]}, "with their regions"),
        ({"u": [-1] * size}, "not negative"),
        ({"u": [1] * (size - 1)}, "lengths"),
        ({"units": [9.9e279] * 3, "u": [2**62] * size}, "too large"),
        ({"axes": [1.0, 0.5, 0.0, 1.0]}, "orthonormal"),
        ({"axes": [1.0, 0.0, 0.0]}, "lengths"),
        ({"tree_ends": [10**12] * 3}, "boxes"),
    ):
        changed = {**certificate.witness, "cases": {**evidence, **changes}}
        with pytest.raises(CertificateError, match=words):
            replace(certificate, witness=changed).verify(X, w)


def test_malicious_matrices():
    X, w, certificate = EXAMPLES["sdp"]
    size = len(certificate.witness["sdp"]["entries"])
    for changes, words in (
        ({"entries": [-1] * size}, "not negative"),
        ({"entries": [2**31] * size}, "not negative"),
        ({"entries": [2**30] * size, "units": [9e279]}, "too large"),
        ({"entries": [1] * (size - 1)}, "lengths"),
        ({"units": [float("inf")]}, "malformed"),
        ({"units": [-1.0]}, "not negative"),
    ):
        evidence = {**certificate.witness["sdp"], **changes}
        with pytest.raises(CertificateError, match=words):
            replace(certificate, witness={**certificate.witness, "sdp": evidence}).verify(X, w)


def test_centres_that_are_none():
    X, w, certificate = EXAMPLES["boxes"]
    for centers in (None, "x", [[1.0]], [[1.0, float("nan")]] * 3, [["a", "b"]] * 3, [[1.0, 2.0], [1.0]], {}):
        with pytest.raises(CertificateError, match="cluster_centers"):
            replace(certificate, witness={**certificate.witness, "cluster_centers": centers}).verify(X, w)
    with pytest.raises(CertificateError, match="cluster_centers"):
        replace(certificate, problem="k-center").verify(X, w)
    with pytest.raises(CertificateError, match="cluster_centers"):
        replace(certificate, problem="k-median").verify(X, w)


def test_one_centre_needs_no_witness():
    X = np.random.default_rng(0).normal(size=(7, 3)) + 1e4
    w = np.arange(1.0, 8.0)
    mean = (w @ X / w.sum())[None]
    cost = float(w @ np.square(X - mean).sum(axis=1))
    certificate = issued(X, w, mean, kmeans_bound(X, w, 1, mean, cost))
    assert certificate.lower_bound >= cost * (1 - 1e-9)
    certificate.verify(X, w)


@pytest.mark.parametrize("scale", [1e-80, 1e-100, 1e-140])
def test_a_wrong_cost_of_tiny_data_is_refused(scale):
    X = np.random.default_rng(0).normal(size=(20, 2)) * scale
    certificate = KMeans(3, random_state=0).fit(X).certificate_
    certificate.verify(X)
    with pytest.raises(CertificateError, match="cost"):
        replace(certificate, cost=certificate.cost * (1 + 1e-6)).verify(X)
    moved = np.array(certificate.witness["cluster_centers"]) + scale
    with pytest.raises(CertificateError, match="cost"):
        replace(certificate, witness={**certificate.witness, "cluster_centers": moved.tolist()}).verify(X)


# ------------------------------------------------------------------------------------------------------ candidates


@pytest.mark.parametrize("name", FAMILIES)
def test_named_sets_are_built_again_to_the_last_bit(name):
    for trial in range(4):
        rng = np.random.default_rng([trial, FAMILIES.index(name)])
        n, width = int(rng.integers(4, 20)), int(rng.integers(1, 4))
        X = family(name, n, width, rng)
        w = np.ones(n) if trial % 2 else rng.random(n) + 0.1
        epsilon = float(rng.choice([1.0, 0.5, 0.3]))
        sets = [midpoints(X, 10**6), ladder(X, w, epsilon, 10**6)]
        sets += [universal(X, epsilon, 10**6)] if width < 3 else []
        for chosen in sets:
            points, excess = named_candidates({"name": chosen.name, "epsilon": epsilon}, X, w)
            np.testing.assert_array_equal(points, chosen.points)
            assert excess == chosen.epsilon


@pytest.mark.parametrize("width", [5, 7])
def test_sets_of_many_columns_are_built_again(width):
    X = np.random.default_rng(width).normal(size=(9, width))
    chosen = ladder(X, np.ones(9), 4.0, 10**6)
    points, _ = named_candidates({"name": "ladder", "epsilon": 4.0}, X, np.ones(9))
    np.testing.assert_array_equal(points, chosen.points)


@pytest.mark.parametrize("candidates", ["auto", "midpoints", "ladder"])
def test_a_guarantee_over_a_named_set(candidates):
    rng = np.random.default_rng(8)
    X, w = rng.normal(size=(20, 2)), rng.integers(0, 3, 20)
    est = KMeans(3, candidates=candidates, algorithm="gsemo", max_iter=10**7, random_state=0).fit(X, sample_weight=w)
    certificate = est.certificate_
    assert certificate.witness["candidates"] == {"name": est.candidate_set_.name, "epsilon": 0.5}
    assert certificate.guarantee.ratio == pytest.approx((2 + np.sqrt(9.5)) ** 2, rel=1e-6)
    certificate.verify(X, w)
    with pytest.raises(CertificateError, match="ratio"):
        replace(certificate, guarantee=replace(certificate.guarantee, ratio=25.7)).verify(X, w)
    for name, epsilon in (("data", 0.5), ("universal", 0.5), ("ladder", 1e-9), ("ladder", "x"), (None, None)):
        changed = {**certificate.witness, "candidates": {"name": name, "epsilon": epsilon}}
        with pytest.raises(CertificateError, match="candidates"):
            replace(certificate, witness=changed).verify(X, w)
    bad = {**certificate.witness, "cluster_centers": X[:3].tolist()}
    with pytest.raises(CertificateError, match="cost"):
        replace(certificate, witness=bad).verify(X, w)


def test_a_set_too_large_to_build_again_is_refused():
    X = np.random.default_rng(0).random((300, 4))
    with pytest.raises(CertificateError, match="too large"):
        named_candidates({"name": "ladder", "epsilon": 1e-4}, X, np.ones(300))
    X = np.random.default_rng(0).random((300, 12))
    for epsilon in (1e-6, 0.5):
        with pytest.raises(CertificateError, match="too large"):
            named_candidates({"name": "ladder", "epsilon": epsilon}, X, np.ones(300))
