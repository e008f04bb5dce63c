"""k-tMM over all partitions: against brute force, its kernels against plain twins, and what verify refuses."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from certiclust import KTMM, CertificateError
from certiclust.bounds.colouring import apart_points, decide
from certiclust.bounds.colouring_kernels import colour_exactly, greedy_clique
from certiclust.certificates.colouring import tried_colours
from certiclust.evolution.kernels.recolour import uncolour
from certiclust.evolution.partitions import crossed
from certiclust.evolution.recolouring import Recolouring
from certiclust.problems import KTMMProblem
from certiclust.solver.ktmm import Limits, Proof
from certiclust.solver.ktmm_pairs import odd_cycle
from certiclust.solver.ktmm_points import SampledStrategy
from certiclust.solver.ktmm_run import split
from certiclust.space import Metric, build_space
from certiclust.space.farthest import farthest_first
from tests import naive


def space_of(X):
    return build_space(np.asarray(X, dtype=float), None, Metric.of("euclidean"), np.ones(len(X)))


def distances(X):
    return np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))


def diameter(D, labels):
    return max(D[i, j] for i in range(len(D)) for j in range(len(D)) if labels[i] == labels[j])


def random_graph(rng, n, p):
    A = np.triu(rng.random((n, n)) < p, 1)
    return A | A.T


def colourable(A, k):
    """All colourings, one by one."""
    n = len(A)
    edges = [(i, j) for i in range(n) for j in range(i) if A[i, j]]
    return any(all(c[i] != c[j] for i, j in edges) for c in product(range(k), repeat=n))


# ------------------------------------------------------------------------------------------------------ brute force


def rows(n, kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "grid":
        return rng.integers(0, 4, (n, 2)).astype(float)
    if kind == "duplicates":
        return rng.random((3, 2))[rng.integers(0, 3, n)]
    return rng.random((n, 2))


@settings(max_examples=120, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from(["real", "grid", "duplicates"]),
    st.integers(0, 10**6),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_optimum_over_all_partitions(n, k, kind, seed, zeros):
    X, k = rows(n, kind, seed), min(n, k)
    weights = np.ones(n)
    if zeros:
        weights = np.random.default_rng(seed).integers(0, 2, n).astype(float)
        weights[:k] = 1.0
    kept = weights > 0
    D = distances(X)
    best = naive.best_partition(D[np.ix_(kept, kept)], k)
    est = KTMM(k, random_state=seed % 7).fit(X, sample_weight=weights)
    certificate = est.certificate_
    certificate.verify(X, weights)
    assert est.cost_ == pytest.approx(best, rel=1e-12)
    assert certificate.optimal
    assert certificate.lower_bound <= best
    assert est.cost_ == pytest.approx(diameter(D[np.ix_(kept, kept)], est.labels_[kept]), rel=1e-12)
    assert set(est.labels_[kept]) == set(range(k))
    assert_array_equal(est.labels_[est.center_indices_], np.arange(k))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_optimum_without_a_metric(n, k, seed):
    """A symmetric matrix is enough: zeros between different points, no triangle inequality."""
    rng = np.random.default_rng(seed)
    D = np.triu(rng.integers(0, 5, (n, n)), 1).astype(float)
    D, k = D + D.T, min(n, k)
    est = KTMM(k, metric="precomputed", random_state=0).fit(D)
    assert est.cost_ == naive.best_partition(D, k)
    assert est.certificate_.optimal
    est.certificate_.verify(D)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.sampled_from(["real", "grid", "duplicates"]), st.integers(0, 10**6))
def test_min_clusters(n, kind, seed):
    X = rows(n, kind, seed)
    D = distances(X)
    limit = float(np.random.default_rng(seed).choice(D.ravel()))
    est = KTMM(random_state=0).min_clusters(X, limit)
    best = next(k for k in range(1, n + 1) if naive.best_partition(D, k) <= limit)
    assert est.n_clusters == est.n_clusters_lower_bound_ == best
    assert est.cost_ <= limit
    est.certificate_.verify(X)
    if best == 1:
        assert est.min_clusters_certificate_ is None
    else:
        est.min_clusters_certificate_.verify(X)
        assert est.min_clusters_certificate_.n_clusters == best - 1
        assert est.min_clusters_certificate_.lower_bound > limit


def test_min_clusters_leaves_the_estimator_alone_and_refuses_nonsense():
    X = rows(8, "real", 0)
    est = KTMM(3, random_state=0)
    fitted = est.min_clusters(X, 0.4, sample_weight=np.r_[0.0, np.ones(7)])
    assert est.n_clusters == 3
    assert not hasattr(est, "labels_")
    assert fitted.labels_.shape == (8,)
    assert KTMM(certify=False).min_clusters(X, 0.4).min_clusters_certificate_ is None
    for odd, error in ((-1.0, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("1", TypeError)):
        with pytest.raises(error, match="diameter"):
            est.min_clusters(X, odd)
    with pytest.raises(ValueError, match="auto"):
        KTMM(algorithm="gsemo").min_clusters(X, 0.4)


# ------------------------------------------------------------------------------------------------ larger instances


def test_hard_instance_is_proved_and_verified():
    """Uniform points, k = 5: no k + 1 points prove the optimum, a set without a colouring does."""
    X = np.random.default_rng(0).random((300, 2))
    est = KTMM(5, random_state=0).fit(X)
    assert est.certificate_.optimal
    assert est.certificate_.guarantee.ratio == 2
    again = KTMM(5, random_state=0).fit(X)
    assert_array_equal(again.labels_, est.labels_)
    assert again.certificate_ == est.certificate_
    certificate = est.certificate_
    points = certificate.witness["uncolourable"]
    assert len(points) > 6
    certificate.verify(X)
    near = int(np.argsort(distances(X)[points[1]])[1])
    moved = [near if near not in points else next(i for i in range(300) if i not in points), *points[1:]]
    for changed in (moved, points[:6]):
        with pytest.raises(CertificateError, match=r"^lower_bound"):
            replace(certificate, witness={**certificate.witness, "uncolourable": changed}).verify(X)
    for odd in (None, [], "1", [points[0]] * 7, [*points, 300], [-1, *points], list(range(2001))):
        with pytest.raises(CertificateError, match=r"^witness"):
            replace(certificate, witness={**certificate.witness, "uncolourable": odd}).verify(X)
    for changes, word in (
        ({"cost": certificate.cost * 0.99}, "cost"),
        ({"n_clusters": 6}, "witness"),
        ({"lower_bound": certificate.lower_bound * (1 + 1e-9)}, "lower_bound"),
        ({"problem": "k-center"}, "cost|witness"),
    ):
        with pytest.raises(CertificateError, match=f"^({word})"):
            replace(certificate, **changes).verify(X)
    with pytest.raises(CertificateError, match=r"^data"):
        certificate.verify(X[::-1])


@pytest.mark.parametrize("k", [1, 2, 6])
def test_from_coordinates(k, monkeypatch):
    """Without a matrix: what is proved for a sample holds for all points."""
    X = np.random.default_rng(1).random((500, 2))
    monkeypatch.setattr("certiclust.solver.ktmm_points.SAMPLE", 200)
    monkeypatch.setattr("certiclust.solver.ktmm_run.SAMPLE", 200)
    monkeypatch.setattr("certiclust.solver.ktmm_points.SAMPLE_WORK", 5e7)
    monkeypatch.setattr("certiclust.solver.ktmm_points.POINTS_WORK", 5e7)
    held = KTMM(k, random_state=0).fit(X)
    with sklearn.config_context(working_memory=1):
        est = KTMM(k, random_state=0).fit(X)
    est.certificate_.verify(X)
    assert est.certificate_.guarantee.ratio == 2
    assert est.certificate_.lower_bound <= held.cost_ * (1 + 1e-12)
    assert est.cost_ >= held.certificate_.lower_bound * (1 - 1e-12)
    assert est.certificate_.gap < 0.5
    assert k > 2 or est.certificate_.optimal


def test_a_stop_while_a_sample_is_extended_keeps_the_incumbent(monkeypatch):
    problem = KTMMProblem(space_of(np.random.default_rng(2).random((300, 2))), 6)
    centers, _, _ = farthest_first(problem.space, 7, 0)
    labels = problem.space.assign(np.sort(centers[:6]))[0]
    reach = problem.reach(labels)
    first = Proof(labels, reach, float(reach.max()), 0.0, 0.0, centers, None)
    stopped = False
    strategy = SampledStrategy(problem, Limits(0.0, lambda: stopped, work=1e6), 0, first)
    stopped = True
    monkeypatch.setattr(strategy, "_keep", lambda labels: pytest.fail("half a partition was offered"))
    strategy._extend()
    assert strategy.labels is labels
    assert strategy.upper == reach.max()


def test_time_limit_is_kept_and_nothing_is_called_optimal_without_proof():
    from time import process_time

    X = np.random.default_rng(0).random((1500, 2))
    KTMM(20, random_state=0, time_limit=2).fit(X[:100])  # compiled
    start = process_time()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        est = KTMM(25, random_state=0, time_limit=1.0).fit(X)
    assert process_time() - start < 3
    assert not est.certificate_.optimal
    est.certificate_.verify(X)


# -------------------------------------------------------------------------------------------------- parts and twins


def test_exact_colouring_and_its_plain_twin():
    rng = np.random.default_rng(0)
    for _ in range(150):
        A = random_graph(rng, int(rng.integers(1, 8)), rng.random())
        k = int(rng.integers(1, 4))
        clique = next((c for c in range(len(A)) if not A[c, :c].all()), len(A))
        labels = np.zeros(len(A), dtype=np.int64)
        status, nodes = colour_exactly(A, k, clique, 10**6, labels)
        assert (status == 1) == colourable(A, k)
        plain = tried_colours(A, k, 10**6)
        assert plain == (None if status == 1 else nodes)
        if status == 1:
            assert not np.any(A & (labels[:, None] == labels))
            assert set(labels) <= set(range(k))


def test_twin_counts_the_same_nodes_and_both_stop():
    rng = np.random.default_rng(1)
    A = random_graph(rng, 50, 0.5)
    labels = np.zeros(50, dtype=np.int64)
    clique = next(c for c in range(50) if not A[c, :c].all())
    status, nodes = colour_exactly(A, 7, clique, 10**6, labels)
    assert (status, tried_colours(A, 7, 10**6)) == (0, nodes)
    assert colour_exactly(A, 7, clique, nodes - 1, labels) == (-1, nodes)
    assert tried_colours(A, 7, nodes - 1) == nodes


def test_decide_reduces_without_changing_the_answer():
    rng = np.random.default_rng(2)
    for _ in range(100):
        D = distances(rng.integers(0, 5, (int(rng.integers(2, 9)), 2)).astype(float))
        k, t = int(rng.integers(1, 4)), float(rng.choice(D[D > 0])) if D.any() else 1.0
        points = rng.permutation(len(D))[: int(rng.integers(1, len(D) + 1))].astype(np.intp)
        decision = decide(D, points, k, t, 10**6)
        A = D[np.ix_(points, points)] >= t
        assert decision.colourable == colourable(A, k)
        if decision.labels is not None:
            assert not np.any(A & (decision.labels[:, None] == decision.labels))
        else:
            assert set(decision.core) <= set(points)
            assert not colourable(D[np.ix_(decision.core, decision.core)] >= t, k)


def test_greedy_clique_is_a_clique_that_nothing_can_join():
    rng = np.random.default_rng(3)
    for _ in range(30):
        A = random_graph(rng, 12, 0.6)
        found = np.zeros(12, dtype=np.int64)
        clique = found[: greedy_clique(A, np.arange(12), found)]
        assert len(set(clique)) == len(clique)
        assert all(A[i, j] for i in clique for j in clique if i != j)
        assert not any(A[i, clique].all() for i in range(12))


def test_farthest_first_and_apart_points():
    X = np.random.default_rng(4).random((40, 2))
    space, D = space_of(X), distances(X)
    chosen, gaps, _ = farthest_first(space, 6, 3)
    for t in range(1, 6):
        assert gaps[t] == D[chosen[:t]].min(axis=0).max() == D[chosen[:t], chosen[t]].min()
    h, points = apart_points(space.matrix, 5, [chosen], 100)
    assert h == min(D[i, j] for i in points for j in points if i != j) >= gaps[-1]
    assert len(farthest_first(space_of([[0.0], [0.0], [1.0]]), 3, 0)[0]) == 2


def test_uncolour_leaves_no_conflict():
    rng = np.random.default_rng(5)
    X = rng.random((60, 2))
    space, D = space_of(X), distances(X)
    labels = rng.integers(0, 4, 60).astype(np.int32)
    order = np.argsort(labels, kind="stable").astype(np.int64)
    starts = np.searchsorted(labels[order], np.arange(5)).astype(np.int64)
    left = labels.copy()
    uncolour(space.rows(), left, order, starts, 0.5)
    same = (left[:, None] == left) & (left >= 0)
    assert not np.any(same & (D >= 0.5))
    assert_array_equal(left[left >= 0], labels[left >= 0])
    for i in np.flatnonzero(left < 0):  # each of them was in conflict
        assert np.any((labels == labels[i]) & (D[i] >= 0.5))


def test_recolouring_returns_partitions_below_the_threshold():
    X = np.random.default_rng(6).random((150, 2))
    space = space_of(X)
    problem = KTMMProblem(space, 6)
    labels = space.assign(np.sort(farthest_first(space, 6, 0)[0]))[0]
    search = Recolouring(space.rows(), 150, 6, 0, lambda: False)
    target = 0.9 * problem.diameter(labels)
    found = search.search(labels, target, 1e7, problem.reach(labels))
    assert found is not None
    assert problem.diameter(found) < target
    assert search.search(labels, 0.05, 1e6) is None
    partial, pending = search.partial, search.pending
    assert_array_equal(np.flatnonzero(partial < 0), pending)
    same = (partial[:, None] == partial) & (partial >= 0)
    assert not np.any(same & (distances(X) >= 0.05))


def test_crossover_takes_whole_classes():
    one = np.array([0, 0, 0, 0, 1, 1, 2, 2], dtype=np.int32)
    two = np.array([0, 1, 1, 2, 2, 2, 2, 0], dtype=np.int32)
    assert_array_equal(crossed(one, two, 3), [0, 0, 0, 0, 1, 1, 1, 2])
    partial = np.array([-1, -1, 0, 0], dtype=np.int32)
    assert_array_equal(crossed(partial, partial, 2), [-1, -1, 0, 0])


def test_odd_cycles():
    D = np.zeros((7, 7))
    for i in range(5):
        D[i, (i + 1) % 5] = D[(i + 1) % 5, i] = 2.0
    est = KTMM(2, metric="precomputed", random_state=0).fit(D)
    assert est.cost_ == 2
    assert sorted(est.certificate_.witness["uncolourable"]) == list(range(5))
    est.certificate_.verify(D)
    assert odd_cycle(space_of([[0.0], [1.0], [2.0]]), 0, 2.0) is None


def test_split_uses_every_label():
    assert_array_equal(split(np.array([3, 3, 3, 7], dtype=np.int32), 4), [0, 3, 2, 1])
