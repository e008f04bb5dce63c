"""From one size to the next: starts cost no more, and searches return nothing worse than their start."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.problems import KCenterProblem, KMeansProblem, KMedianProblem, KTMMProblem
from certiclust.solver import Budget, Start, solve
from certiclust.solver.grow import at_least_as_good, grown, shrunk
from certiclust.space import Metric, build_space
from tests.instances import points

PROBLEMS = [KMedianProblem, KMeansProblem, KCenterProblem, KTMMProblem]


def posed(problem, X, weights=None):
    name = "sqeuclidean" if problem is KMeansProblem else "euclidean"
    mass = np.ones(len(X)) if weights is None else weights
    return build_space(X, None, Metric.of(name, X), mass)


def cost_of(problem, start):
    if start.positions is not None:
        return float(problem.space.weights @ problem.assign_positions(start.positions)[1])
    return problem.diameter(start.labels) if start.labels is not None else problem.cost(start.centers)


@pytest.mark.parametrize("kind", PROBLEMS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["uniform", "grid", "duplicates", "collinear"]))
def test_one_cluster_more_costs_no_more(kind, seed, layout):
    rng = np.random.default_rng(seed)
    X = points(rng, 9, layout)
    space = posed(kind, X, rng.integers(1, 4, 9).astype(float))
    k = int(rng.integers(1, 8))
    budget = Budget(max_iter=5, share=0.01)
    smaller = solve(kind(space, k), "auto", budget, random_state=0)
    larger = kind(space, k + 1)
    start = grown(larger, smaller, 0)
    assert cost_of(larger, start) <= smaller.cost * (1 + 1e-12)
    if start.centers is not None:
        assert len(set(start.centers.tolist())) == k + 1
    if start.labels is not None:
        assert start.labels.max() <= k
    found = solve(larger, "auto", budget, random_state=0, begin=start)
    assert found.cost <= smaller.cost
    assert found.bound.value <= found.cost * (1 + 1e-9)


@pytest.mark.parametrize("kind", [KCenterProblem, KTMMProblem])
def test_algorithm_one_is_never_above_the_smaller_size(kind):
    space = posed(kind, np.random.default_rng(3).random((30, 2)))
    smaller = solve(kind(space, 5), "auto", Budget(), random_state=0)
    problem = kind(space, 6)
    poor = solve(problem, "gsemo", Budget(max_iter=40), random_state=0)
    assert poor.cost > smaller.cost
    taken = at_least_as_good(problem, poor, smaller, 0)
    assert taken.cost <= smaller.cost
    assert taken.complete
    assert "taken from k = 5" in taken.method
    assert taken.history["upper"][-1] == taken.cost
    assert len(np.unique(taken.centers)) == 6
    assert taken.bound.value <= taken.cost
    assert at_least_as_good(problem, taken, poor, 0).cost <= taken.cost


def test_the_centre_that_is_missed_least_goes():
    X = np.array([[0.0], [0.1], [5.0], [9.0]])
    space = posed(KMedianProblem, X)
    larger = solve(KMedianProblem(space, 4), "auto", Budget(), random_state=0)
    start = shrunk(KMedianProblem(space, 3), larger, 0)
    assert start.centers.tolist() in ([0, 2, 3], [1, 2, 3])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["uniform", "grid", "duplicates", "collinear"]))
def test_the_two_clusters_with_the_least_wide_union_are_merged(seed, layout):
    rng = np.random.default_rng(seed)
    X = points(rng, 10, layout)
    space, k = posed(KTMMProblem, X), int(rng.integers(2, 6))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, 10 - k)]).astype(np.int32)
    larger = replace(solve(KTMMProblem(space, k), "auto", Budget(), random_state=0), labels=labels)
    merged = shrunk(KTMMProblem(space, k - 1), larger, 0).labels
    D = space.distances(np.arange(10))
    assert sorted(set(merged.tolist())) == list(range(k - 1))
    assert all((merged[labels == c] == merged[labels == c][0]).all() for c in range(k))
    together = next(c for c in range(k - 1) if len(set(labels[merged == c].tolist())) == 2)
    one, other = sorted(set(labels[merged == together].tolist()))
    across = {(a, b): D[np.ix_(labels == a, labels == b)].max() for a in range(k) for b in range(a + 1, k)}
    assert across[one, other] == min(across.values())


def test_multipliers_of_another_size_are_only_a_start():
    """Any multipliers give a true bound: absurd ones too."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    space = posed(KMedianProblem, X)
    problem = KMedianProblem(space, 4)
    truth = solve(problem, "auto", Budget(), random_state=0)
    assert truth.bound.value >= truth.cost * (1 - 1e-9)
    for u in (np.zeros(40), np.full(40, 1e6), rng.random(40)):
        start = Start(centers=np.arange(4), multipliers=u)
        found = solve(problem, "auto", Budget(share=0.01), random_state=0, begin=start)
        assert found.bound.value <= truth.cost
        assert found.cost >= truth.cost * (1 - 1e-12)
