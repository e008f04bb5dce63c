"""Fair k-median against all subsets: three modes, existence of fair sets, lower bounds, with and without a matrix."""

import warnings
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from sklearn import config_context

from certiclust.problems import FairKMedianProblem
from certiclust.solver import Budget, fair, solve
from certiclust.solver.fair import fair_costs, reaches
from certiclust.solver.fair_cover import Clock, greedy_cover, least_beta, reach_sets, refute, search_cover
from certiclust.space import Metric, build_space
from certiclust.space.cover import reduced_cover
from tests import naive

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
TWO_SQUARES = np.concatenate([SQUARE, SQUARE + 100.0])
NEVER = Clock(lambda: False, lambda: np.inf)


def space_of(X, w=None, metric="euclidean"):
    X = np.asarray(X, dtype=float)
    return build_space(X, None, Metric.of(metric), np.ones(len(X)) if w is None else np.asarray(w, dtype=float))


@st.composite
def cases(draw):
    """Return rows, weights, k and beta: grids, ties, duplicates, offsets, and squares without a fair set."""
    kind = draw(st.sampled_from(["grid", "line", "plane", "offset", "copies", "squares", "squares"]))
    n = draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    k = draw(st.integers(1, min(n, 4)))
    if kind == "squares":
        X, k = TWO_SQUARES + draw(st.sampled_from([0.0, 1e-6, 1e-2])) * rng.normal(size=(8, 2)), 3
    elif kind == "copies":
        X = np.repeat(rng.integers(0, 5, size=(-(-n // 3), 2)).astype(float), 3, axis=0)
        k = min(k, len(X))
    else:
        width = 1 if kind == "line" else 2
        X = rng.integers(0, 5, size=(n, width)).astype(float) if kind != "plane" else rng.normal(size=(n, 2))
        X = X + (1e8 if kind == "offset" else 0.0)
    w = np.ones(len(X))
    if draw(st.booleans()):
        w = rng.integers(1, 4, size=len(X)).astype(float) if draw(st.booleans()) else rng.random(len(X)) + 0.1
    return X, w, k, draw(st.sampled_from([1.0, 1.1, 1.25, 1.5, 2.0, 3.0]))


class Truth:
    """Everything about an instance, by looking at all subsets."""

    def __init__(self, space, k, beta):
        D, w = space.matrix, space.weights
        self.D, self.w, self.k, self.beta = D, w, k, beta
        self.radii = naive.fair_radii(D, w, k)
        self.sets = [list(c) for c in combinations(range(len(D)), k)]
        self.nearest = np.array([D[c].min(axis=0) for c in self.sets])
        self.costs = self.nearest @ w
        self.fair = np.all(self.nearest <= beta * self.radii, axis=1)

    def ratios(self):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.nearest == 0, 0.0, self.nearest / self.radii).max(axis=1)

    def met(self, factor):
        balls = naive.critical_balls(self.D, self.radii, self.beta, factor)
        members = naive.ball_members(self.D, self.radii, self.beta, balls)
        return np.array([all(ball & set(c) for ball in members) for c in self.sets])


def test_strict_finds_a_fair_set_or_proves_that_there_is_none():
    seen = {"fair": 0, "none": 0}

    @settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(cases(), st.integers(0, 99))
    def check(case, seed):
        X, w, k, beta = case
        space = space_of(X, w)
        truth = Truth(space, k, beta)
        posed = FairKMedianProblem(space, k, beta, 2.0, strict=True)
        result = solve(posed, "auto", Budget(), random_state=seed)
        said = result.fairness
        if truth.fair.any():
            best = truth.costs[truth.fair].min()
            assert posed.violations(result.centers) == 0
            assert said.found
            assert said.infeasible is None
            assert result.cost == pytest.approx(best, rel=1e-9, abs=1e-300)
            assert result.bound.value <= best
            assert said.fair_lower_bound <= best
            seen["fair"] += 1
        else:
            assert said.infeasible is not None
            assert not said.found
            assert said.problem.beta == pytest.approx(truth.ratios().min(), rel=1e-3)
            assert said.problem.violations(result.centers) == 0
            seen["none"] += 1

    check()
    assert min(seen.values()) > 10, seen


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.integers(0, 99))
def test_linear_programs_alone_prove_the_least_cost(case, seed):
    """Without ascents before them, on sets that the whole loop would prove at once."""
    X, w, k, beta = case
    space = space_of(X, w)
    truth = Truth(space, k, beta)
    assume(truth.fair.any())
    with mock.patch.object(fair, "ASCENTS", 0):
        result = solve(FairKMedianProblem(space, k, beta, 2.0, strict=True), "auto", Budget(), random_state=seed)
    best = truth.costs[truth.fair].min()
    assert result.cost == pytest.approx(best, rel=1e-9, abs=1e-300)
    assert result.bound.value <= best
    assert result.fairness.fair_lower_bound <= best


def test_branching_on_sets_proves_a_tight_instance():
    """1.02 fair radii on 150 points: the certificate has sets, can be replayed, and the cost is that of HiGHS."""
    X = np.random.default_rng(2).exponential(size=(150, 2))
    posed = FairKMedianProblem(space_of(X), 8, 1.02, 2.0, strict=True)
    result = solve(posed, "auto", Budget(), random_state=0)
    assert "sets" in result.bound.witness["tree"]
    assert result.bound.value == pytest.approx(_mip(posed), rel=1e-6)
    assert result.cost == pytest.approx(result.bound.value, rel=1e-9)


def _mip(posed):
    """The least cost of a strictly fair set, by HiGHS's integer solver on the textbook program."""
    D, reach = posed.space.matrix, posed.beta * posed.radii
    n = len(D)
    client, site = np.nonzero(D.T - reach[:, None] <= 0.0)
    pairs, number = client.size, np.arange(client.size)
    ones = np.ones(pairs)
    serve = csr_array((ones, (client, n + number)), shape=(n, n + pairs))
    link = csr_array((np.append(ones, -ones), (np.append(number, number), np.append(n + number, site))))
    total = np.append(np.ones(n), np.zeros(pairs))
    rules = [LinearConstraint(serve, 1, 1), LinearConstraint(link, ub=0.0), LinearConstraint(total, posed.k, posed.k)]
    cost = np.append(np.zeros(n), D[site, client])
    whole = np.append(np.ones(n), np.zeros(pairs))
    return milp(cost, integrality=whole, bounds=Bounds(0, 1), constraints=rules).fun


@pytest.mark.parametrize(("factor", "promise"), [(6.0, 7.0), (2.0, 3.0)])
def test_balls_are_met_at_the_least_cost(factor, promise):
    @settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(cases(), st.integers(0, 99))
    def check(case, seed):
        X, w, k, beta = case
        space = space_of(X, w)
        truth = Truth(space, k, beta)
        posed = FairKMedianProblem(space, k, beta, factor)
        result = solve(posed, "auto", Budget(), random_state=seed)
        best = truth.costs[truth.met(factor)].min()
        assert posed.violations(result.centers) == 0
        assert result.cost == pytest.approx(best, rel=1e-9, abs=1e-300)
        assert result.bound.value <= best
        fair = truth.costs[truth.fair].min() if truth.fair.any() else np.inf
        assert result.bound.value <= result.fairness.fair_lower_bound <= fair
        assert posed.fairness(result.centers).max() <= promise * beta * (1 + 1e-12)

    check()


@pytest.mark.parametrize("beta", [1.0, 1.2, 1.414])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6])
def test_two_squares_have_no_fair_set_below_the_diagonal(beta, scale):
    """PROOFS.md part 7: one square has one centre only; a fair radius is a side, and the far corner a diagonal away."""
    posed = FairKMedianProblem(space_of(TWO_SQUARES * scale), 3, beta, 2.0, strict=True)
    proof, found = refute(posed, NEVER)
    assert found is None
    assert proof["beta"] == beta
    least, centers = least_beta(posed, 0, NEVER)
    assert least == pytest.approx(np.sqrt(2), rel=1e-12)
    assert len(centers) <= 3
    assert refute(FairKMedianProblem(posed.space, 3, 1.4143, 2.0, strict=True), NEVER)[0] is None


def test_a_relaxed_answer_is_optimal_for_its_beta():
    posed = FairKMedianProblem(space_of(TWO_SQUARES), 3, 1.0, 2.0, strict=True, relax=True)
    result = solve(posed, "auto", Budget(), random_state=0)
    truth = Truth(posed.space, 3, result.fairness.problem.beta)
    assert result.cost == pytest.approx(truth.costs[truth.fair].min())
    assert result.bound.value >= result.cost * (1 - 1e-9)


def test_covers():
    rng = np.random.default_rng(3)
    space = space_of(rng.normal(size=(60, 2)))
    posed = FairKMedianProblem(space, 6, 1.3, 2.0, strict=True)
    reach = posed.beta * posed.radii
    sets = reach_sets(space, reach)
    inside = reach[:, None] >= space.matrix.T
    for i in range(60):
        assert sets.member[sets.start[i] : sets.start[i + 1]].tolist() == np.flatnonzero(inside[i]).tolist()
    cover = reduced_cover(np.arange(60), sets)
    found = search_cover(space, 6, cover, 0, NEVER)
    assert len(found) <= 6
    assert inside[:, found].any(axis=1).all()
    chosen = greedy_cover(cover, 6)
    covered = [inside[:, cover.columns[chosen[:t]]].any(axis=1).sum() for t in range(1, 7)]
    assert len(set(chosen.tolist())) == 6
    assert covered == sorted(covered)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_costs_with_penalties(strict, weighted):
    rng = np.random.default_rng(1)
    w = rng.integers(1, 4, size=12).astype(float) if weighted else np.ones(12)
    space = space_of(rng.normal(size=(12, 2)), w)
    posed = FairKMedianProblem(space, 4, 1.1, 2.0, strict=strict)
    costs = fair_costs(posed, w, strict)
    for centers in combinations(range(12), 4):
        total = costs.search[list(centers)].min(axis=0).sum()
        missed = posed.violations(np.array(centers))
        assert (total >= costs.penalty) == (missed > 0)
        if not missed:
            assert total == pytest.approx(posed.cost(np.array(centers)), rel=1e-12)
        else:
            assert missed * costs.penalty <= total < (missed + 1) * costs.penalty
    reach, loose = reaches(posed)
    assert np.all(loose > reach)
    assert np.all(loose <= reach * (1 + 1e-11))


@pytest.mark.parametrize(("strict", "beta"), [(True, 1.3), (False, 1.1)])
def test_without_a_matrix(strict, beta):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), 6 + 0.2 * rng.normal(size=(100, 2))])
    with config_context(working_memory=1):
        space = space_of(X)
        assert space.matrix is None
        posed = FairKMedianProblem(space, 8, beta, 2.0, strict=strict)
        result = solve(posed, "auto", Budget(), random_state=0)
    held = solve(FairKMedianProblem(space_of(X), 8, beta, 2.0, strict=strict), "auto", Budget(), random_state=0)
    assert posed.violations(result.centers) == 0
    assert held.bound.value <= result.cost * (1 + 1e-9)
    assert result.cost <= held.cost * 1.03
    assert result.bound.value <= held.cost
    assert result.bound.value >= held.cost * 0.97


def test_one_centre_and_all_of_them():
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(9, 2)), np.array([1.0, 1, 1, 1, 1, 1, 1, 1, 50])
    for k in (1, 9):
        for strict in (True, False):
            space = space_of(X, w)
            truth = Truth(space, k, 1.0)
            posed = FairKMedianProblem(space, k, 1.0, 2.0, strict=strict)
            result = solve(posed, "auto", Budget(), random_state=0)
            kept = truth.fair if strict else truth.met(2.0)
            assert result.cost == pytest.approx(truth.costs[kept].min(), abs=1e-12)
            assert result.bound.value >= result.cost * (1 - 1e-9)


def test_a_tiny_weight_may_be_out_of_reach_of_everyone():
    """A heavy point alone weighs W/k up to 1e-12, so its radius is 0, and k = 1 leaves no choice."""
    X, w = np.array([[0.0], [1.0], [5.0]]), np.array([1e13, 1.5, 1.5])
    posed = FairKMedianProblem(space_of(X, w), 1, 1.0, 2.0, strict=True)
    assert posed.radii[0] == 0
    result = solve(posed, "auto", Budget(), random_state=0)
    assert result.centers.tolist() == [0]
    assert result.bound.value == pytest.approx(result.cost, rel=1e-9)


def test_the_same_seed_gives_the_same_answer():
    X = np.random.default_rng(7).normal(size=(120, 3))
    found = []
    for _ in range(2):
        posed = FairKMedianProblem(space_of(X), 7, 1.15, 2.0, strict=True, relax=True)
        found.append(solve(posed, "auto", Budget(max_iter=200), random_state=5))
    assert found[0].centers.tolist() == found[1].centers.tolist()
    assert found[0].bound.value == found[1].bound.value


@pytest.mark.parametrize("strict", [True, False])
def test_algorithm_one_alone(strict):
    """Algorithm 1 orders by violations, then cost: it ends at a fair set where swaps lead to one."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    posed = FairKMedianProblem(space_of(X), 4, 1.5, 2.0, strict=strict)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(posed, "gsemo", Budget(max_iter=60_000), random_state=0)
    truth = Truth(posed.space, 4, 1.5)
    best = truth.costs[truth.fair if strict else truth.met(2.0)].min()
    assert posed.violations(result.centers) == 0
    assert best * (1 - 1e-12) <= result.cost <= 1.1 * best
    assert result.bound.value <= best
    assert result.n_iter == 60_000
