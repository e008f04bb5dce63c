"""Certificates against brute force: what is claimed is true, and what is false is refused."""

import json
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from certiclust import KTMM, Certificate, CertificateError, FairKMedian, InfeasibleError, KCenter, KMeans, KMedian
from certiclust.certificates import Guarantee, data_fingerprint
from tests.certificates.brute import Tiny, diameter, distances

ALL = [KTMM, KCenter, KMedian, KMeans, FairKMedian]
PROBLEMS = {KTMM: "k-tMM", KCenter: "k-center", KMedian: "k-median", KMeans: "k-means", FairKMedian: "fair k-median"}


def steady(examples):
    return settings(derandomize=True, deadline=None, max_examples=examples)


# ----------------------------------------------------------------------------------------------------- instances


@st.composite
def rows(draw, least=2, most=8):
    """Return tiny data: on a grid with ties and duplicates, or in general position."""
    n, width = draw(st.integers(least, most)), draw(st.integers(1, 2))
    if draw(st.booleans()):
        return draw(st.lists(st.lists(st.integers(0, 4), min_size=width, max_size=width), min_size=n, max_size=n))
    return np.random.default_rng(draw(st.integers(0, 10**6))).normal(size=(n, width)).tolist()


@st.composite
def weightings(draw, n):
    kind = draw(st.sampled_from(["none", "whole", "real"]))
    if kind == "none":
        return None
    values = st.integers(0, 3) if kind == "whole" else st.sampled_from([0.0, 0.1, 0.5, 1.0, 7.3])
    weights = draw(st.lists(values, min_size=n, max_size=n))
    assume(any(weights))
    return weights


@st.composite
def matrices(draw, n, m, symmetric):
    """Return a matrix that need not be a metric."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    D = rng.integers(0, 9, size=(n, m)).astype(float) if draw(st.booleans()) else rng.exponential(size=(n, m))
    if symmetric:
        D = np.triu(D, 1)
        D = D + D.T
    return D


@st.composite
def instances(draw, estimator):
    """Return a tiny instance and the parameters with which an estimator is told about it."""
    X = np.array(draw(rows()), dtype=float)
    parameters, candidates = {}, None
    metric = "sqeuclidean"
    if estimator is not KMeans:
        names = ["euclidean", "manhattan", "chebyshev", "sqeuclidean", "cosine", "precomputed"]
        metric = parameters["metric"] = draw(st.sampled_from(names))
    if metric == "cosine":
        X = X + 1.0 if X.shape[1] > 1 else np.column_stack([X, np.ones(len(X))])
        assume(np.abs(X).max(axis=1).min() > 1e-3)
    if metric == "precomputed":
        square = estimator is not KMedian or draw(st.booleans())
        m = len(X) if square else draw(st.integers(1, 7))
        metrical = square and draw(st.booleans())
        X = distances(X, X, "manhattan") if metrical else draw(matrices(len(X), m, square))
    elif estimator in (KMedian, KMeans) and draw(st.booleans()):
        width = X.shape[1]
        candidates = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(draw(st.integers(1, 7)), width))
        candidates = parameters["candidates"] = np.round(candidates * 4) / 2 + (0.25 if metric == "cosine" else 0)
    tiny = Tiny(X, draw(weightings(len(X))), metric, candidates)
    parameters["n_clusters"] = draw(st.integers(1, min(tiny.m, 5)))
    if estimator is FairKMedian:
        parameters["beta"] = draw(st.sampled_from([1.0, 1.5, 3.0]))
        parameters["mode"] = draw(st.sampled_from(["proven", "tight", "strict"]))
        parameters["on_infeasible"] = "relax"
    how = draw(st.sampled_from([("auto", None), ("gsemo", None), ("gsemo", 3), ("gsemo", 40), ("auto", 1)]))
    parameters["algorithm"], parameters["max_iter"] = how
    parameters["random_state"] = draw(st.integers(0, 5))
    return tiny, parameters


def fit(estimator, tiny, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return estimator(**parameters).fit(tiny.X, sample_weight=tiny.weights)
        except InfeasibleError:  # without the triangle inequality no beta need do
            assume(False)


# --------------------------------------------------------------------------------------------- what is issued is true


@pytest.mark.parametrize("estimator", ALL)
def test_what_is_claimed_is_true(estimator):
    seen = {"guarantee": 0, "none": 0, "optimal": 0, "ratio above 1": 0}

    @steady(120)
    @given(instances(estimator))
    def check(drawn):
        tiny, parameters = drawn
        est = fit(estimator, tiny, parameters)
        certificate = est.certificate_
        assert certificate.problem == PROBLEMS[estimator]
        assert tiny.falsehood(certificate) is None
        assert certificate.lower_bound <= certificate.cost
        certificate.verify(tiny.X, tiny.weights, candidates=tiny.candidates)
        # What seen() counts shows that the assertions above were not about nothing.
        seen["guarantee" if certificate.guarantee else "none"] += 1
        seen["optimal"] += certificate.optimal
        best = tiny.optimum(certificate.problem, certificate.n_clusters)
        seen["ratio above 1"] += best > 0 and est.cost_ > best * 1.01

    check()
    assert min(seen.values()) > 0, seen


@pytest.mark.parametrize("estimator", [KTMM, KCenter, KMedian, KMeans])
def test_lower_bounds_are_worth_something(estimator):
    """On ordinary instances the bound is at least the optimum divided by the claimed ratio (no vacuous zeros)."""
    for seed in range(20):
        tiny = Tiny(
            np.random.default_rng(seed).normal(size=(8, 2)),
            metric="sqeuclidean" if estimator is KMeans else "euclidean",
        )
        certificate = estimator(3, random_state=seed).fit(tiny.X).certificate_
        best = tiny.optimum(certificate.problem, 3)
        assert certificate.lower_bound >= best / certificate.guarantee.ratio * (1 - 1e-9)
        assert certificate.cost <= certificate.guarantee.ratio * certificate.lower_bound * (1 + 1e-9)


# ------------------------------------------------------------------------------------------- forged certificates


def forged(tiny, problem, k, rng, name="precomputed"):
    """Return a certificate with true centres and cost, a random witness, and no claim yet."""
    allowed = tiny.rows.tolist() if tiny.own else list(range(tiny.m))

    def choose(count):
        return sorted(int(i) for i in rng.choice(allowed, count, replace=False))

    witness = {"centers": choose(k)}
    positions = tiny.sites(witness["centers"])
    if problem == "k-tMM":
        labels = rng.integers(0, k, len(tiny.w))
        labels[positions] = np.arange(k)
        witness["labels"] = labels.tolist()
        cost = diameter(tiny.D, labels)
    else:
        cost = tiny.cost(problem, positions)
    if len(allowed) > k:
        witness["apart"] = choose(k + 1)
    witness["swap_optimal"] = choose(k) if rng.random() < 0.5 else best_centers(tiny, k)
    fingerprint = data_fingerprint(tiny.X, tiny.weights, tiny.candidates)
    return Certificate(problem, len(tiny.X), k, cost, 0.0, fingerprint, name, "forgery", None, witness=witness)


def best_centers(tiny, k):
    """Return a cheap set of sites: the most useful witness a forger can have."""
    centers = []
    for _ in range(k):
        costs = [tiny.cost("k-median", [*centers, j]) if j not in centers else np.inf for j in range(tiny.m)]
        centers.append(int(np.argmin(costs)))
    allowed = tiny.rows.tolist() if tiny.own else list(range(tiny.m))
    return sorted(int(allowed[j]) for j in centers)


REASON = {
    "k-tMM": "f1 >= 0 at size k",
    "k-center": "f1 >= 0 at size k",
    "fair k-median": "every critical ball has a centre",
}


def claims(certificate, tiny):
    """Yield the certificate with false claims, one at a time."""
    k, problem = certificate.n_clusters, certificate.problem
    best = tiny.optimum(problem, k)
    for factor in (1 + 1e-6, 1.5, 3, 100):
        if best > 0:
            yield replace(certificate, lower_bound=best * factor)
    if best == 0 and certificate.cost > 0:
        yield replace(certificate, lower_bound=certificate.cost / 5)
        yield replace(certificate, lower_bound=1e-9)
    theorem, because = f"{problem} theorem", REASON.get(problem, "1-swap optimal")
    if certificate.cost > best * (1 + 1e-6):
        too_small = 5.0 if best == 0 else certificate.cost / best * (1 - 1e-6)
        for reason in (because, "the cost is zero"):
            yield replace(certificate, guarantee=Guarantee(too_small, theorem, reason))
            yield replace(certificate, guarantee=Guarantee(1.0, theorem, reason))
    fairness = tiny.fairness(k, tiny.sites(certificate.witness["centers"])) if tiny.own else 1.0
    if fairness > 0:
        too_fair = 1e6 if fairness == np.inf else fairness * (1 - 1e-6)
        yield replace(certificate, guarantee=Guarantee(None, theorem, because, too_fair))


def hub(a, b):
    """Return a directed metric: cheap to the hub at 0, dear away from it."""
    if a[0] == b[0]:
        return 0.0
    return 0.125 if b[0] == 0 else 8.0 if a[0] == 0 else 8.125


def hub_reversed(a, b):
    return hub(b, a)


KINDS = ["metric", "squares", "anything", "directed", "clients x sites"]
STATED = [(problem, kind) for problem in PROBLEMS.values() for kind in KINDS]
STATED = [(p, kind) for p, kind in STATED if kind == "squares" or p != "k-means"]
STATED = [(p, kind) for p, kind in STATED if kind != "clients x sites" or p == "k-median"]


@pytest.mark.parametrize(("problem", "kind"), STATED)
def test_no_forged_claim_is_accepted(problem, kind):
    """Whatever the witness: a lower bound above the optimum, a ratio or fairness below the true one never passes."""
    tried = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 8))
        points = rng.integers(0, 5, size=(n, 2)) if seed % 2 else rng.normal(size=(n, 2))
        points = points.astype(float)
        metric, passed, X, sites = "euclidean", None, points, None
        if kind == "squares":
            metric = "sqeuclidean"
            sites = rng.normal(size=(5, 2)) if problem == "k-means" and seed % 3 == 0 else None
        elif kind == "anything":
            metric, X = "precomputed", np.triu(rng.exponential(size=(n, n)) ** 3, 1)
            X = X + X.T
        elif kind == "directed":
            passed = metric = hub if seed % 2 else hub_reversed
            X = np.arange(n, dtype=float)[:, None]
        elif kind == "clients x sites":
            metric, X = "precomputed", rng.exponential(size=(n, 5)) ** 3
        tiny = Tiny(X, rng.choice([1.0, 1.0, 2.0, 0.0], size=n) if seed % 4 == 0 else None, metric, sites)
        if len(tiny.rows) == 0:
            continue
        k = int(rng.integers(1, tiny.m)) if tiny.m > 1 else 1
        name = f"callable {metric.__qualname__}" if callable(metric) else metric
        for certificate in claims(forged(tiny, problem, k, rng, name), tiny):
            assert tiny.falsehood(certificate) is not None
            tried += 1
            with pytest.raises(CertificateError):
                certificate.verify(tiny.X, tiny.weights, metric=passed, candidates=sites)
    assert tried > 100


@pytest.mark.parametrize(
    ("problem", "metric", "excess"),
    [("k-median", "euclidean", 0), ("k-median", "sqeuclidean", 0), ("k-means", "sqeuclidean", 1)],
)
def test_what_follows_from_swaps_that_still_gain(problem, metric, excess):
    """PROOFS.md part 3, with slack: exactly that much is accepted for a set that swaps would improve, and no more."""
    tried = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 4))
        tiny = Tiny(rng.normal(size=(9, 2)), rng.choice([1.0, 2.0, 0.5], size=9), metric)
        centers = sorted(int(i) for i in rng.choice(9, k, replace=False))
        cost = tiny.cost(problem, centers)
        swaps = [tiny.cost(problem, [*centers[:t], *centers[t + 1 :], j]) for t in range(k) for j in range(9)]
        tau = 1 - min(swaps) / cost
        left = 1 - k * tau
        if not (tau > 0.01 and left > 0.05):
            continue
        tried += 1
        squared = ((4 + np.sqrt(16 + 4 * left * (5 + excess))) / (2 * left)) ** 2
        ratio = float(5 / left if metric == "euclidean" else squared)
        fingerprint = data_fingerprint(tiny.X, tiny.weights, None)
        witness = {"centers": centers, "swap_optimal": centers}
        base = Certificate(problem, 9, k, cost, 0.0, fingerprint, metric, "forgery", None, witness=witness)
        because = "no single swap gains more than something"
        for factor, holds in ((1 - 1e-9, True), (1 + 1e-9, False)):
            claims_bound = replace(base, lower_bound=cost / ratio * factor)
            claims_ratio = replace(base, guarantee=Guarantee(ratio / factor, f"{problem} theorem", because))
            for certificate in (claims_bound, claims_ratio):
                if holds:
                    certificate.verify(tiny.X, tiny.weights)
                else:
                    with pytest.raises(CertificateError, match=r"^(lower_bound|guarantee)"):
                        certificate.verify(tiny.X, tiny.weights)
    assert tried > 20


def test_zero_optimum_gives_no_ratio_to_other_centres():
    X = np.array([[0.0], [0.0], [5.0], [5.0], [9.0], [9.0]])
    honest = KMedian(3, random_state=0).fit(X).certificate_
    assert honest.cost == 0
    witness = {"centers": [0, 1, 2], "swap_optimal": honest.witness["centers"]}
    lie = replace(honest, cost=8.0, guarantee=Guarantee(1.0, "k-median theorem", "the cost is zero"), witness=witness)
    with pytest.raises(CertificateError, match="guarantee"):
        lie.verify(X)


def test_directed_distance_proves_nothing_by_separation():
    X = np.arange(3.0)[:, None]
    for metric in (hub, hub_reversed):
        witness = {"centers": [0], "apart": [1, 2]}
        cost = float(max(metric(x, X[0]) for x in X))
        name = f"callable {metric.__qualname__}"
        fingerprint = data_fingerprint(X, np.ones(3), None)
        lie = Certificate("k-center", 3, 1, cost, 4.0, fingerprint, name, "forgery", None, witness=witness)
        with pytest.raises(CertificateError, match="symmetric"):
            lie.verify(X, metric=metric)


# ---------------------------------------------------------------------------------------- corrupted certificate files


@cache
def honest(index):
    """Return tiny instances with their certificates as JSON text: all problems, weights, candidates, a matrix."""
    rng = np.random.default_rng(index)
    X = rng.integers(0, 6, size=(7, 2)).astype(float) + (0.5 * rng.random((7, 2)) if index % 2 else 0)
    estimator = ALL[index % 5]
    parameters = {"n_clusters": 2 + index % 2, "random_state": 0}
    weights = candidates = None
    metric = "sqeuclidean" if estimator is KMeans else "euclidean"
    if index >= 5:
        weights = np.array([1.0, 0.0, 2.0, 1.0, 0.5, 1.0, 3.0])
    if index >= 10 and estimator in (KMedian, KMeans):
        candidates = parameters["candidates"] = rng.normal(size=(5, 2)) * 3
    elif index >= 10:
        metric = parameters["metric"] = "precomputed"
        X = distances(X, X, "manhattan")
    tiny = Tiny(X, weights, metric, candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = estimator(**parameters).fit(X, sample_weight=weights).certificate_
    assert tiny.falsehood(certificate) is None
    return tiny, json.dumps(certificate.to_dict())


def accepted(text, tiny, path):
    """Return the certificate in `text` if load and verify accept it; anything but CertificateError is a failure."""
    path.write_bytes(text)
    try:
        certificate = Certificate.load(path)
        str(certificate)
        certificate.verify(tiny.X, tiny.weights, candidates=tiny.candidates)
    except CertificateError:
        return None
    return certificate


def paths(content, prefix=()):
    """Yield the way to every value inside JSON content."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*prefix, key)
        yield from paths(value, (*prefix, key))


ODD = [None, True, False, -1, 0, 1, 2, 3, 7, 10**6, 2**63, 10**400, 0.5, 1.0, -0.0, 1e-300, 1e308, "", "0", "x", [], {}]
ODD += [[0], [0, 1], [0, 1, 2], [[0, 1]], [None], ["0", "1"], {"ratio": 1}, [10**400, 1], [0.0, 1.0], [True, False]]


def replaced(content, path, change):
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    value = inner[path[-1]]
    if change == "delete":
        del inner[path[-1]]
    elif isinstance(change, tuple):
        inner[path[-1]] = (
            value * change[1] if isinstance(value, (int, float)) and not isinstance(value, bool) else change[1]
        )
    else:
        inner[path[-1]] = change


CHANGES = st.one_of(
    st.sampled_from(ODD),
    st.just("delete"),
    st.tuples(st.just("times"), st.sampled_from([1 + 1e-6, 1 - 1e-6, 1.01, 0.99, 0.5, 2, 5, 0.0, -1])),
    st.integers(0, 8),
    st.sampled_from(["k-tMM", "k-center", "k-median", "k-means", "fair k-median"]),
    st.sampled_from(["euclidean", "manhattan", "sqeuclidean", "precomputed", "jaccard", "callable f"]),
)


def test_a_changed_field_is_refused_or_still_true(tmp_path):
    outcomes = {"refused": 0, "accepted": 0}

    @steady(800)
    @given(st.integers(0, 14), st.data(), CHANGES)
    def check(index, data, change):
        tiny, text = honest(index)
        content = json.loads(text)
        replaced(content, data.draw(st.sampled_from(list(paths(content)))), change)
        if json.dumps(content) == text:
            return
        certificate = accepted(json.dumps(content).encode(), tiny, tmp_path / "c.json")
        outcomes["refused" if certificate is None else "accepted"] += 1
        if certificate is not None:
            assert tiny.falsehood(certificate, 2e-9) is None

    check()
    assert outcomes["refused"] > outcomes["accepted"] > 0, outcomes


def test_a_changed_byte_is_refused_or_still_true(tmp_path):
    outcomes = {"refused": 0, "accepted": 0}

    @steady(800)
    @given(st.integers(0, 14), st.integers(0, 10**6), st.integers(0, 255), st.sampled_from(["set", "insert", "delete"]))
    def check(index, place, byte, how):
        tiny, text = honest(index)
        changed = bytearray(text.encode())
        place %= len(changed)
        if how == "set":
            changed[place] = byte
        elif how == "insert":
            changed.insert(place, byte)
        else:
            del changed[place]
        certificate = accepted(bytes(changed), tiny, tmp_path / "c.json")
        outcomes["refused" if certificate is None else "accepted"] += 1
        if certificate is not None:
            assert tiny.falsehood(certificate, 2e-9) is None

    check()
    assert outcomes["refused"] > outcomes["accepted"] > 0, outcomes


@pytest.mark.parametrize("index", range(15))
def test_numbers_cannot_be_nudged_upwards(index):
    """The claims that count are tight: a little better than what was proved is refused."""
    tiny, text = honest(index)
    certificate = Certificate.from_dict(json.loads(text))

    def refused(changed):
        with pytest.raises(CertificateError):
            changed.verify(tiny.X, tiny.weights, candidates=tiny.candidates)

    if certificate.cost > 0:
        refused(replace(certificate, cost=certificate.cost * (1 - 1e-11)))
        refused(replace(certificate, cost=certificate.cost * (1 + 1e-11)))
        refused(replace(certificate, lower_bound=certificate.lower_bound * (1 + 1e-11) + 1e-13))
    guarantee = certificate.guarantee
    if guarantee is not None and guarantee.ratio is not None and guarantee.ratio > 1:
        refused(replace(certificate, guarantee=replace(guarantee, ratio=guarantee.ratio * (1 - 1e-11))))
    if guarantee is not None and guarantee.fairness is not None:
        true = tiny.fairness(certificate.n_clusters, tiny.sites(certificate.witness["centers"]))
        if true > 0:
            refused(replace(certificate, guarantee=replace(guarantee, fairness=true * (1 - 1e-11))))
            replace(certificate, guarantee=replace(guarantee, fairness=true * (1 + 1e-11))).verify(tiny.X, tiny.weights)
