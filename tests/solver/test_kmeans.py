"""k-means through KMeans().fit, against brute force over partitions, with its certificate and limits."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from certiclust import KMeans
from certiclust.problems import KMeansProblem
from certiclust.solver import Budget, solve
from certiclust.solver import kmeans as strategy
from certiclust.space import Metric, build_space
from tests import naive

seeds = st.integers(0, 2**32 - 1)


def fit(X, k, w=None, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the number of distinct points", ConvergenceWarning)
        return KMeans(k, random_state=0, **options).fit(X, sample_weight=w)


@settings(derandomize=True, deadline=None, max_examples=70)
@given(seeds)
def test_any_small_instance_is_solved(seed):
    """Weights, duplicates, ties, collinear points, k = 1 and k = n, offsets of 1e8: the least of all partitions."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) if seed % 2 else rng.integers(0, 3, (n, d)).astype(float)
    offset = 1e8 if seed % 3 == 0 else 0.0
    w = rng.uniform(0.1, 5, n) if seed % 5 else np.ones(n)
    k = int(rng.integers(1, n + 1))
    est = fit(X + offset, k, w)
    best = naive.best_kmeans((X + offset) - offset, w, k)
    noise = 1e-13 * w.sum() * (1 + offset * 1e-2)
    assert est.cost_ == pytest.approx(best, rel=1e-9, abs=noise)
    assert est.certificate_.lower_bound <= best * (1 + 1e-9) + noise
    assert est.certificate_.guarantee.ratio <= 26.7
    est.certificate_.verify(X + offset, w)
    if len(np.unique(X + offset, axis=0)) >= k:
        assert set(est.labels_) == set(range(k))


@settings(derandomize=True, deadline=None, max_examples=20)
@given(seeds)
def test_weight_w_equals_w_copies(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    X, w = rng.normal(size=(n, 2)), rng.integers(1, 4, n)
    k = int(rng.integers(1, n + 1))
    assert fit(X, k, w).cost_ == pytest.approx(fit(np.repeat(X, w, axis=0), k).cost_, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1e100, 1e140])
def test_extreme_scales(scale):
    X = np.random.default_rng(0).normal(size=(40, 2))
    est, other = fit(X, 4), fit(X * scale, 4)
    assert other.cost_ == pytest.approx(est.cost_ * scale**2, rel=1e-9)
    other.certificate_.verify(X * scale)


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_extreme_weights(weight):
    X = np.random.default_rng(0).normal(size=(40, 2))
    est = fit(X, 4, np.full(40, weight))
    assert est.cost_ == pytest.approx(fit(X, 4).cost_ * weight, rel=1e-9)
    est.certificate_.verify(X, np.full(40, weight))


def test_given_candidates_bound_only_the_guarantee():
    """Centres anywhere beat the best candidates, so no lower bound may come from these."""
    X = np.random.default_rng(1).normal(size=(60, 2))
    candidates = X[:8] + 5.0
    est = fit(X, 3, candidates=candidates)
    assert est.cost_ < cdist(X, candidates, "sqeuclidean").min(axis=1).sum()
    assert est.certificate_.guarantee.ratio == pytest.approx(25)
    assert "among the given candidates" in est.certificate_.note
    assert est.certificate_.lower_bound <= fit(X, 3).cost_
    est.certificate_.verify(X, candidates=candidates)


def test_means_of_swap_optimal_candidates_are_taken_if_better(monkeypatch):
    """A search that finds nothing good must not spoil the claim: the cost is at most that of the checked rows."""
    X = np.random.default_rng(2).normal(size=(80, 2))
    monkeypatch.setattr(strategy.KMeansStrategy, "evolve", lambda self: self._settle(np.arange(80, dtype=np.int32) % 6))
    est = fit(X, 6)
    rows = est.certificate_.witness["centers"]
    assert est.cost_ <= cdist(X, X[rows], "sqeuclidean").min(axis=1).sum()
    est.certificate_.verify(X)


def test_too_many_distances_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(strategy, "SWAP_WORK", 100)
    X = np.random.default_rng(3).normal(size=(50, 2))
    certificate = fit(X, 4).certificate_
    assert certificate.guarantee is None
    assert "too many" in certificate.note
    assert "centers" not in certificate.witness
    certificate.verify(X)


def test_many_points_go_through_a_coreset(monkeypatch):
    monkeypatch.setattr(strategy, "CORESET", (300, 10))
    rng = np.random.default_rng(4)
    middles = rng.normal(size=(6, 3)) * 20
    X = middles[rng.integers(6, size=1200)] + rng.normal(size=(1200, 3))
    est = fit(X, 6)
    assert len(set(np.round(cdist(est.cluster_centers_, middles).argmin(axis=1)).tolist())) == 6
    assert est.cost_ == pytest.approx(fit(X[::-1], 6, certify=False).cost_, rel=1e-6)
    est.certificate_.verify(X)


def test_many_equal_points_are_no_cluster_to_sample(monkeypatch):
    """Nothing is left to explain: the work of the search on a sample is not divided by zero."""
    monkeypatch.setattr(strategy, "CORESET", (300, 10))
    with pytest.warns(ConvergenceWarning, match=r"distinct points \(1\)"):
        est = KMeans(2, random_state=0).fit(np.ones((1000, 2)))
    assert est.cost_ == 0.0
    assert est.certificate_.optimal


def test_no_matrix_is_held(monkeypatch):
    monkeypatch.setattr("certiclust.space.space._fill", lambda *args: pytest.fail("a matrix was computed"))
    fit(np.random.default_rng(5).normal(size=(50, 2)), 4)


@pytest.mark.parametrize("polls", [0, 1, 3, 10, 40, 200, 1000])
def test_a_stop_anywhere_leaves_a_valid_solution(polls):
    X = np.random.default_rng(6).normal(size=(200, 3))
    problem = KMeansProblem(build_space(X, None, Metric.of("sqeuclidean"), np.ones(200), hold_matrix=False), 7)
    asked = []
    stop = lambda: asked.append(1) or len(asked) > polls  # noqa: E731
    from certiclust.solver.kmeans_run import run_kmeans

    run = run_kmeans(problem, strategy.Limits(0.0, np.inf, True, stop, stop, stop), 0, lambda *row: None)
    squares = cdist(X, run.positions, "sqeuclidean")
    np.testing.assert_array_equal(run.labels, squares.argmin(axis=1))
    assert set(run.labels.tolist()) == set(range(7))
    assert run.cost == pytest.approx(squares.min(axis=1).sum())


def test_the_rest_of_the_search_runs_only_while_the_gap_is_open():
    """Separated clusters are proved optimal after the short search; other data are searched to the end."""
    rng = np.random.default_rng(10)
    labels = np.arange(90) % 3
    apart = fit(rng.normal(size=(90, 2)) + 30.0 * labels[:, None], 3)
    assert apart.certificate_.optimal
    assert apart.n_iter_ < 100
    cloud = rng.normal(size=(60, 17))  # too many columns for boxes
    est = fit(cloud, 3)
    assert not est.certificate_.optimal
    assert est.n_iter_ >= 1000
    assert fit(cloud, 3, certify=False).cost_ == est.cost_


def test_a_bound_mends_a_poor_search(monkeypatch):
    """Whatever the first round found, the multipliers lead to the optimum where the relaxation is tight."""
    X = np.random.default_rng(11).normal(size=(120, 2)) + 8.0 * np.column_stack(
        [np.arange(120) % 4, np.arange(120) % 3]
    )
    best = fit(X, 12)
    monkeypatch.setattr(strategy, "EARLY", (0, 0))
    monkeypatch.setattr(strategy, "SEARCH_WORK", (1.0, 1.0))
    est = fit(X, 12)
    assert est.cost_ == pytest.approx(best.cost_, rel=1e-12)
    est.certificate_.verify(X)


@pytest.mark.parametrize(("candidates", "factor"), [("data", 2.0), ("midpoints", 1.5), ("ladder", 1.5), ("auto", 1.5)])
def test_the_certificate_names_the_candidates_and_their_factor(candidates, factor):
    X = np.random.default_rng(12).normal(size=(30, 2))
    est = fit(X, 3, candidates=candidates)
    name = est.candidate_set_.name
    assert est.certificate_.theory == {"candidates": name, "candidate_factor": factor}
    assert f"a factor {factor:.4g} for the candidates, the {name}," in est.certificate_.note
    est.certificate_.verify(X)


def test_nothing_is_said_about_candidates_that_were_not_checked(monkeypatch):
    monkeypatch.setattr(strategy, "SWAP_WORK", 100)
    assert fit(np.random.default_rng(3).normal(size=(50, 2)), 4).certificate_.theory == {}
    given = fit(np.random.default_rng(3).normal(size=(5, 1)), 2, candidates=np.arange(4.0)[:, None])
    assert given.certificate_.theory == {"candidates": "array", "candidate_factor": None}


def test_gsemo_stays_the_papers():
    X = np.random.default_rng(7).normal(size=(60, 2))
    est = fit(X, 4, algorithm="gsemo")
    np.testing.assert_array_equal(est.cluster_centers_, X[est.center_indices_])
    assert "cluster_centers" not in est.certificate_.witness


def test_a_result_has_its_positions():
    X = np.random.default_rng(8).normal(size=(60, 2))
    problem = KMeansProblem(build_space(X, None, Metric.of("sqeuclidean"), np.ones(60)), 4)
    result = solve(problem, "auto", Budget(max_iter=30), random_state=0)
    assert result.positions.shape == (4, 2)
    assert result.n_iter == 30
    assert problem.cost(result.centers) >= result.cost
    assert solve(problem, "gsemo", Budget(max_iter=30), random_state=0).positions is None
