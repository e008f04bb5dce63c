"""The Lagrangian bound: kernels against naive sums, bounds against brute force, margins against exact fractions."""

from fractions import Fraction
from math import fsum, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.bounds import kernels, lagrangian
from certiclust.bounds.lagrangian import (
    SAFETY,
    Instance,
    ascend,
    certify,
    evaluate,
    goal_value,
    is_closed,
    lift,
    reduce_candidates,
    round_multipliers,
    start_multipliers,
)
from certiclust.space.lists import build_lists
from tests.solver import brute

quick = settings(derandomize=True, deadline=None, max_examples=100)
thorough = settings(derandomize=True, deadline=None, max_examples=300)
seeds = st.integers(0, 2**32 - 1)
reduced_costs, smallest, choose = (brute.compiled(k) for k in (kernels.reduced_costs, kernels.smallest, kernels.choose))


def instance(seed, max_n=8, max_m=7, kinds=brute.MATRIX_KINDS):
    """Costs, k, lists of a random radius, multipliers below it, and some fixings that leave a solution."""
    rng = np.random.default_rng(seed)
    cost, k = brute.weighted(rng, max_n, max_m, kinds)
    m, n = cost.shape
    scale = np.median(cost, axis=0)
    radius = rng.choice([0.0, 0.7, 1.0, 3.0], n) * scale if rng.random() < 0.5 else 2.0 * cost.max(axis=0) + 1.0
    u = radius * rng.choice([0.0, 0.3, 0.999, 1.0], n)
    if rng.random() < 0.3:
        u = np.minimum(radius, cost[rng.integers(m)])  # ties between u and a cost
    return rng, cost, k, build_lists(cost, radius), u


def fixings(rng, m, k):
    fixed = np.zeros(m, np.int8)
    opened = rng.choice(m, int(rng.integers(0, k + 1)), replace=False)
    fixed[opened] = 1
    rest = np.flatnonzero(fixed == 0)
    fixed[rng.choice(rest, int(rng.integers(0, m - k + 1)), replace=False)] = -1
    return fixed


def allowed(s, fixed):
    """Whether a solution respects the fixings."""
    return all(fixed[j] >= 0 for j in s) and all(j in s for j in np.flatnonzero(fixed == 1))


# --------------------------------------------------------------------------------------------------------- kernels


@quick
@given(seeds)
def test_reduced_costs(seed):
    rng, cost, _, lists, u = instance(seed)
    m, n = cost.shape
    end = np.array([rng.integers(lists.row_ptr[i], lists.row_ptr[i + 1] + 1) for i in range(n)])
    rho = rng.random(m)
    total, read = reduced_costs(lists.row_ptr, lists.row_idx, lists.row_val, u, rho, end)
    naive = np.minimum(0.0, cost - u).sum(axis=1)
    np.testing.assert_allclose(rho, naive, rtol=1e-12, atol=1e-14 * u.sum())
    assert total == pytest.approx(fsum(u), rel=1e-14)
    # `end` may start anywhere and ends behind the last cheaper candidate
    np.testing.assert_array_equal(end, lists.row_ptr[:-1] + (cost < np.minimum(u, lists.radius)).sum(axis=0))
    assert read == (cost < u).sum() + n


@quick
@given(seeds)
def test_smallest(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 9, 30).astype(float) if rng.random() < 0.5 else rng.normal(size=30)
    count = int(rng.integers(1, 31))
    rank = int(rng.integers(1, count + 1))
    changed = values.copy()
    assert smallest(changed, count, rank) == np.sort(values[:count])[rank - 1]
    assert sorted(changed[:count]) == sorted(values[:count])
    np.testing.assert_array_equal(changed[count:], values[count:])


def naive_choice(rho, fixed, k):
    """Chosen candidates, sum, largest chosen free rho, smallest free rho left out."""
    must = [j for j in range(len(rho)) if fixed[j] == 1]
    free = sorted((rho[j], j) for j in range(len(rho)) if fixed[j] == 0)
    need = k - len(must)
    if need < 0 or need > len(free):
        return None, kernels.BIG, kernels.BIG, kernels.BIG
    taken, left = free[:need], free[need:]
    total = fsum(rho[j] for j in must) + fsum(r for r, _ in taken)
    last = taken[-1][0] if taken else -kernels.BIG
    return {*must, *(j for _, j in taken)}, total, last, left[0][0] if left else kernels.BIG


@thorough
@given(seeds)
def test_choose(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    k = int(rng.integers(1, m + 1))
    rho = -rng.integers(0, 4, m).astype(float) if rng.random() < 0.6 else -rng.random(m)
    fixed = rng.choice([-1, 0, 0, 0, 1], m).astype(np.int8)
    chosen = np.full(m, 7, np.int8)
    total, last, low = choose(rho, fixed, k, chosen, np.empty(rho.size))
    expected, expected_total, expected_last, expected_low = naive_choice(rho, fixed, k)
    assert (total, last, low) == (pytest.approx(expected_total, rel=1e-14), expected_last, expected_low)
    if expected is not None:
        assert set(np.flatnonzero(chosen)) == expected
        assert set(chosen.tolist()) <= {0, 1}


@thorough
@given(seeds)
def test_evaluate(seed):
    rng, cost, k, lists, u = instance(seed)
    fixed = fixings(rng, len(cost), k) if rng.random() < 0.5 else None
    bound = evaluate(lists, Instance(k), u, fixed)
    flags = np.zeros(len(cost), int) if fixed is None else fixed
    rho = np.minimum(0.0, cost - u).sum(axis=1)
    slack = 1e-14 * cost.shape[1] * k * max(u.sum(), 1e-300)
    assert bound.value == pytest.approx(brute.lagrangian(cost, u, k, flags), rel=1e-13, abs=slack)
    np.testing.assert_allclose(bound.rho, rho, rtol=1e-12, atol=slack)
    assert bound.chosen.sum() == k
    assert np.all(bound.chosen[flags == 1] == 1)
    assert np.all(bound.chosen[flags == -1] == 0)
    free = flags == 0
    inside, outside = bound.rho[free & (bound.chosen == 1)], bound.rho[free & (bound.chosen == 0)]
    assert bound.last == max(inside, default=-kernels.BIG)
    assert bound.low == min(outside, default=kernels.BIG)
    assert bound.last <= bound.low
    heaviest = max(fsum(u[row < u]) for row in cost)
    m_expected = SAFETY * 2.0**-52 * (cost.shape[1] + k + 16) * (fsum(u) + k * heaviest)
    assert bound.margin == pytest.approx(m_expected, rel=1e-12)
    assert bound.lower == bound.value - bound.margin


def test_no_solution_left_is_an_infinite_bound():
    cost = np.ones((3, 2))
    lists = build_lists(cost, np.full(2, 5.0))
    fixed = np.array([-1, -1, 0], np.int8)
    assert evaluate(lists, Instance(2), np.ones(2), fixed).lower == inf
    assert evaluate(lists, Instance(2), np.ones(2), np.ones(3, np.int8)).lower == inf
    assert ascend(lists, Instance(2), np.ones(2), 2.0, fixed).value == kernels.BIG


# ---------------------------------------------------------------------------------------------- bounds and margins


@thorough
@given(seeds)
def test_any_multipliers_give_a_lower_bound(seed):
    """Whatever u below the radius: L - margin is at most the optimum, in exact arithmetic, also under fixings."""
    rng, cost, k, lists, u = instance(seed)
    fixed = fixings(rng, len(cost), k)
    costs = brute.exact_solutions(cost, k)
    for flags in (np.zeros(len(cost), np.int8), fixed):
        best = min(value for s, value in costs if allowed(s, flags))
        bound = evaluate(lists, Instance(k), u, flags)
        assert Fraction(bound.lower) <= best


@thorough
@given(seeds)
def test_the_margin_covers_the_rounding(seed):
    """A third of the margin, what the verifier keeps, is more than the exact error of the computed L."""
    rng, cost, k, lists, u = instance(seed)
    u = u * (1 - 1e-3 * rng.random(u.size))
    bound = evaluate(lists, Instance(k), u)
    error = abs(Fraction(bound.value) - brute.lagrangian(cost, u, k, number=Fraction))
    assert error <= Fraction(bound.margin) / 3
    assert bound.margin > 0 or not u.any()


@pytest.mark.parametrize("kind", ["wild", "offset", "uniform"])
def test_the_margin_covers_the_rounding_of_long_sums(kind):
    rng = np.random.default_rng(5)
    worst = 0.0
    for k in (1, 3, 20):
        cost = np.ascontiguousarray(brute.matrix(rng, 400, 20, kind).T * brute.weights(rng, 400, "real"))
        u = np.sort(cost, axis=0)[8] * (1 + 1e-3 * rng.random(400))
        bound = evaluate(build_lists(cost, u * 1.5), Instance(k), u)
        error = abs(Fraction(bound.value) - brute.lagrangian(cost, u, k, number=Fraction))
        assert error <= Fraction(bound.margin) / 3
        worst = max(worst, float(error))
        assert bound.margin < 1e-9 * abs(bound.value) + 1e-9 * u.sum()  # and it is not bought by an absurd margin
    assert worst > 0  # there was something to cover


def test_dimension_and_noise_enter_the_margin():
    plain, wide = Instance(2).margin(10, 8.0), Instance(2, 0.0, 100, 0.5).margin(10, 8.0)
    assert plain == SAFETY * 2.0**-52 * 28 * 8.0
    assert wide == SAFETY * 2.0**-52 * 128 * 8.0 + 0.5


@quick
@given(seeds)
def test_truncated_lists_are_exact_below_the_radius(seed):
    """u up to and including the radius gives the same numbers as the full matrix."""
    rng, cost, k, lists, _ = instance(seed)
    u = np.where(rng.random(cost.shape[1]) < 0.5, lists.radius, lists.radius * rng.random(cost.shape[1]))
    full = build_lists(cost, np.full(cost.shape[1], cost.max() + 1.0))
    short, long = evaluate(lists, Instance(k), u), evaluate(full, Instance(k), u)
    assert short.value == long.value
    assert short.margin == long.margin
    np.testing.assert_array_equal(short.rho, long.rho)


@quick
@given(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 0.25, 3.0]))
def test_lift(value, granularity):
    lifted = lift(value, granularity)
    if granularity == 0:
        assert lifted == value
    else:
        assert value <= lifted
        assert Fraction(lifted) < Fraction(value) + Fraction(granularity)
        assert (lifted / granularity).is_integer()
    assert lift(inf, granularity) == inf


def test_lift_leaves_multiples_alone():
    assert lift(7.0, 1.0) == 7.0
    assert lift(7.0 + 1e-9, 1.0) == 8.0
    assert lift(7.0, 0.0) == 7.0
    assert lift(7.0, 2.0) == 8.0


def test_what_closes_the_gap():
    assert is_closed(10.0, 10.0, 1.0)
    assert not is_closed(9.0, 10.0, 1.0)
    assert is_closed(10.0 * (1 - 2e-10), 10.0, 0.0)
    assert not is_closed(10.0 * (1 - 1e-9), 10.0, 0.0)
    assert is_closed(0.0, 0.0, 0.0)
    assert 9.0 < goal_value(10.0, 1.0) < 9.01  # above 9, so that it is lifted to 10
    assert 10.0 * (1 - lagrangian.CLOSE) < goal_value(10.0, 0.0) < 10.0


@quick
@given(seeds)
def test_integer_costs_lift_the_bound_and_never_above_the_optimum(seed):
    rng, cost, _, lists, u = instance(seed, kinds=["integer", "grid"])
    cost, k = np.ceil(cost), int(rng.integers(1, len(cost) + 1))
    lists = build_lists(cost, lists.radius)
    bound = evaluate(lists, Instance(k, 1.0), u)
    assert bound.lower == np.ceil(bound.value - bound.margin)
    assert bound.lower <= brute.optimum(cost, k)


# ------------------------------------------------------------------------------------------------------- reduction


@settings(derandomize=True, deadline=None, max_examples=500)
@given(seeds, st.booleans(), st.booleans())
def test_reduction_loses_no_solution_that_matters(seed, granular, with_fixings):
    """Real costs: every solution of cost <= UB survives. Integers: every one of cost < UB."""
    rng, cost, k, lists, u = instance(seed, kinds=["integer", "grid"] if granular else brute.MATRIX_KINDS)
    if granular:
        cost = np.ceil(cost)
        lists = build_lists(cost, lists.radius)
    fixed = fixings(rng, len(cost), k) if with_fixings else np.zeros(len(cost), np.int8)
    costs = [(s, value) for s, value in brute.exact_solutions(cost, k) if allowed(s, fixed)]
    levels = sorted({value for _, value in costs})
    upper = float(levels[int(rng.integers(min(2, len(levels))))])  # the optimum or the next level
    unit = 1.0 if granular else 0.0
    if rng.random() < 0.8:
        u = ascend(lists, Instance(k, unit), u, upper, fixed, iterations=int(rng.integers(1, 60))).u
    bound = evaluate(lists, Instance(k, unit), u, fixed)
    dropped, opened = reduce_candidates(bound, fixed, upper, unit)
    assert not dropped[fixed != 0].any()
    assert not opened[fixed != 0].any()
    assert not (dropped & opened).any()
    for s, value in costs:
        if value < upper or (value <= Fraction(upper) and not granular):
            assert not any(dropped[j] for j in s)
            assert all(j in s for j in np.flatnonzero(opened))


@pytest.mark.parametrize("granular", [False, True])
def test_reduction_decides_everything_on_an_easy_instance(granular):
    """The rules are not only safe, they fire: three far stars leave nothing to decide."""
    x = np.concatenate([np.array([0, -3, 3, -4, 5]) + 1000.0 * g for g in range(3)])
    cost = np.abs(x[:, None] - x)
    best, value = min(brute.solutions(cost, 3), key=lambda item: item[1])
    assert best == (0, 5, 10)
    lists = build_lists(cost, np.full(15, 50.0))
    _, _, c1, _ = brute.nearest_two(cost, best)
    unit = float(granular)
    ascent = ascend(lists, Instance(3, unit), c1 + 5.0, value + 0.5, floor=1e-9, iterations=3000)
    bound = evaluate(lists, Instance(3, unit), ascent.u)
    dropped, opened = reduce_candidates(bound, np.zeros(15, np.int8), value, unit)
    assert set(np.flatnonzero(opened)) == set(best)
    assert set(np.flatnonzero(dropped)) == set(range(15)) - set(best)


# ---------------------------------------------------------------------------------------------------------- ascent


@quick
@given(seeds)
def test_ascent_rises_and_says_what_it_reached(seed):
    rng, cost, k, lists, u = instance(seed)
    start = brute.lagrangian(cost, u, k)
    upper = brute.optimum(cost, k)
    if rng.random() < 0.3:  # a start beyond the radius is clamped to it: the lists know nothing out there
        u = np.where(rng.random(u.size) < 0.5, lists.radius * 3.0, u)
        start = brute.lagrangian(cost, np.minimum(u, lists.radius), k)
    kept = u.copy()
    ascent = ascend(lists, Instance(k), u, upper, iterations=int(rng.integers(1, 80)))
    slack = 1e-13 * cost.shape[1] * (k + 1) * max(float(lists.radius.sum()), 1e-300)
    np.testing.assert_array_equal(u, kept)  # the caller's u is not touched
    assert ascent.value >= start - slack
    assert ascent.value == pytest.approx(brute.lagrangian(cost, ascent.u, k), rel=1e-12, abs=slack)
    assert np.all((ascent.u >= 0) & (ascent.u <= lists.radius))
    assert ascent.value <= upper * (1 + 1e-12) + slack
    assert np.all((ascent.share >= 0) & (ascent.share <= 1))
    assert ascent.chosen.sum() == k


def larger(seed=0, n=60, m=40, k=5):
    rng = np.random.default_rng(seed)
    cost = np.ascontiguousarray(np.linalg.norm(rng.random((m, 1, 2)) - rng.random((1, n, 2)), axis=2))
    centers = rng.choice(m, k, replace=False)
    _, _, c1, c2 = brute.nearest_two(cost, centers)
    return cost, k, build_lists(cost, 1.4 * c2), start_multipliers(c1, c2, k), c1.sum()


def test_ascent_gains_much_from_the_usual_start():
    cost, k, lists, u, upper = larger()
    ascent = ascend(lists, Instance(k), u, upper, iterations=300)
    start = brute.lagrangian(cost, u, k)
    assert ascent.value > start + 0.3 * (upper - start)
    assert ascent.iterations <= 300
    assert ascent.work > 0


def test_ascent_is_deterministic_and_the_same_in_blocks_of_any_size(monkeypatch):
    _, k, lists, u, upper = larger()
    whole = ascend(lists, Instance(k), u, upper, iterations=100)
    again = ascend(lists, Instance(k), u, upper, iterations=100)
    monkeypatch.setattr(lagrangian, "BLOCK_WORK", 1)
    polls = []
    blocks = ascend(lists, Instance(k), u, upper, iterations=100, should_stop=lambda: bool(polls.append(1)))
    assert len(polls) == whole.iterations
    for other in (again, blocks):
        np.testing.assert_array_equal(whole.u, other.u)
        np.testing.assert_array_equal(whole.share, other.share)
        assert (whole.value, whole.iterations, whole.work) == (other.value, other.iterations, other.work)


@pytest.mark.parametrize("polls", [1, 4, 9])
def test_ascent_stops_when_asked_with_what_it_has(monkeypatch, polls):
    cost, k, lists, u, upper = larger()
    monkeypatch.setattr(lagrangian, "BLOCK_WORK", 1)  # one step between two polls
    asked = []
    ascent = ascend(lists, Instance(k), u, upper, should_stop=lambda: asked.append(1) or len(asked) >= polls)
    assert ascent.iterations == polls
    assert ascent.value == pytest.approx(brute.lagrangian(cost, ascent.u, k), rel=1e-12)
    assert ascent.value >= brute.lagrangian(cost, u, k) - 1e-12 * u.sum()


def test_ascent_stops_at_its_goal():
    """Integers: once L lies within a unit of the incumbent, no step more is made."""
    cost, k, lists, u, upper = larger()
    long = ascend(lists, Instance(k), u, upper, iterations=300)
    loose = ascend(lists, Instance(k, upper - 0.5 * (long.value + brute.lagrangian(cost, u, k))), u, upper)
    assert loose.iterations < long.iterations
    assert loose.value < long.value


def test_fixed_candidates_raise_the_ascent():
    cost, k, lists, u, upper = larger()
    fixed = np.zeros(len(cost), np.int8)
    worst = int(np.argmax(cost.sum(axis=1)))
    fixed[worst] = 1
    free, forced = (ascend(lists, Instance(k), u, upper * 2, f, iterations=400) for f in (None, fixed))
    assert forced.value > free.value
    assert forced.chosen[worst] == 1
    fixed[worst] = -1
    closed = ascend(lists, Instance(k), u, upper, fixed, iterations=50)
    assert closed.chosen[worst] == 0
    assert closed.share[worst] == 0


def test_start_of_the_ascent():
    c1, c2 = np.array([1.0, 0.0]), np.array([2.0, 6.0])
    np.testing.assert_array_equal(start_multipliers(c1, c2, 2), [1.5, 3.0])
    alone = start_multipliers(c1, c2, 1)
    np.testing.assert_array_equal(alone, c1)
    assert alone is not c1


# -------------------------------------------------------------------------------------------------------- rounding


@thorough
@given(seeds, st.sampled_from([2, 10, 18, 36]))
def test_rounded_multipliers_lie_on_a_grid_below_the_radius(seed, bits):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    radius = 10.0 ** rng.uniform(-3, 3, n)
    radius[rng.random(n) < 0.2] = 0.0
    u = radius * rng.choice([0.0, 0.5, 1.0, rng.random()], n)
    rounded = round_multipliers(u, bits, radius)
    assert np.all((rounded >= 0) & (rounded <= radius))
    if not u.any():
        assert not rounded.any()
        return
    grid = 2.0 ** (np.frexp(u.mean())[1] - bits)
    assert np.all(rounded / grid == np.floor(rounded / grid))
    assert np.all(np.abs(rounded - u) < grid)
    assert np.all((np.abs(rounded - u) <= grid / 2) | (rounded + grid > radius))  # nearest, unless that is too far


@quick
@given(seeds)
def test_certify_hands_out_the_bound_of_the_rounded_multipliers(seed):
    _, cost, k, lists, u = instance(seed)
    upper = brute.optimum(cost, k)
    ascent = ascend(lists, Instance(k), u, upper, iterations=80)
    for fine in (False, True):
        bound = certify(lists, Instance(k), ascent, upper, fine=fine)
        assert Fraction(bound.lower) <= min(value for _, value in brute.exact_solutions(cost, k))
        assert bound.value == evaluate(lists, Instance(k), bound.u).value
        bits = [b for b in lagrangian.GRIDS if np.array_equal(bound.u, round_multipliers(ascent.u, b, lists.radius))]
        assert bits
        if ascent.value < goal_value(upper, 0.0) and ascent.u.any():
            assert (lagrangian.GRIDS[2] if fine else lagrangian.GRIDS[1]) in bits


def test_certify_takes_the_coarsest_grid_that_closes():
    """Integers with a unit of room: 10 bits are enough, and the witness stays small."""
    rng = np.random.default_rng(3)
    cost = rng.integers(1, 30, (12, 15)).astype(float)
    seen = set()
    for k in range(2, 9):
        upper = brute.optimum(cost, k)
        lists = build_lists(cost, np.full(15, 60.0))
        near_two = brute.nearest_two(cost, min(brute.solutions(cost, k), key=lambda item: item[1])[0])
        ascent = ascend(lists, Instance(k, 1.0), start_multipliers(*near_two[2:], k), upper, iterations=600)
        bound = certify(lists, Instance(k, 1.0), ascent, upper)
        if ascent.value >= goal_value(upper, 1.0):
            assert bound.lower == upper
            coarse = [evaluate(lists, Instance(k, 1.0), round_multipliers(ascent.u, b, lists.radius)).lower == upper
                      for b in lagrangian.GRIDS]  # fmt: skip
            grid = lagrangian.GRIDS[coarse.index(True)]
            np.testing.assert_array_equal(bound.u, round_multipliers(ascent.u, grid, lists.radius))
            seen.add(grid)
    assert 10 in seen
