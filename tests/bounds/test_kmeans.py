"""Lower bounds of k-means with centres anywhere: kernels against plain NumPy, bounds against exact brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.bounds import kmeans, kmeans_boxes, kmeans_sdp
from certiclust.bounds import kmeans_kernels as kernels
from certiclust.bounds.kmeans import kmeans_bound
from certiclust.bounds.kmeans_kernels import smooth
from certiclust.bounds.kmeans_price import descend, price
from certiclust.bounds.kmeans_rows import centred, cluster_means, nearest, split
from certiclust.certificates import kmeans as replayed
from certiclust.certificates.kmeans_cases import cases_bound
from tests.bounds.kmeans_truth import optimum
from tests.instances import POINT_KINDS, points, quick

seeds = st.integers(0, 10**6)
REPLAY = {"boxes": replayed.boxes_bound, "cases": cases_bound, "sdp": replayed.sdp_bound}


def never():
    return False


def instance(seed, most=8):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most))
    X = points(rng, n, POINT_KINDS[seed % len(POINT_KINDS)])
    if rng.random() < 0.2:
        X = X + 1e8
    w = [np.ones(n), rng.integers(1, 4, n) * 1.0, rng.random(n) ** 3 * 5 + 1e-6][int(rng.integers(3))]
    k = int(rng.integers(1, n + 1))
    centers = X[np.sort(rng.permutation(n)[:k])]
    labels = nearest(X, centers)
    upper = float(w @ np.square(X - centers[labels]).sum(axis=1))
    return rng, X, w, k, centers, labels, upper


def by_boxes(X, w, k, centers):
    rows = centred(X, w, turn=True)
    return kmeans._boxes_of(rows, kmeans._box_searches(X, w, k, centers, rows, 0.0, never)[0])


def phi(X, w, u, c, power=2):
    d = np.linalg.norm(X - c, axis=1) ** power
    return math.fsum(min(0.0, wi * di - ui) for wi, di, ui in zip(w, d, u, strict=True))


# --------------------------------------------------------------------------------------------------------- kernels


@quick
@given(seeds)
def test_smooth(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 9, 2)
    costs, u = rng.random((m, n)) * 3, rng.random(n) * 2
    rho = np.array([math.fsum(min(0.0, c - v) for c, v in zip(row, u, strict=True)) for row in costs])
    assert smooth(costs, u, 0.0, u) == pytest.approx(rho.min(), rel=1e-13)
    mu = 10.0 ** rng.uniform(-3, 0)
    gradient = np.zeros(n)
    value = smooth(costs, u, mu, gradient)
    shares = np.exp((rho.min() - rho) / mu)
    assert value == pytest.approx(rho.min() - mu * np.log(shares.sum()), rel=1e-12)
    expected = -(shares / shares.sum()) @ (costs < u)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-7)


@quick
@given(seeds)
def test_descend(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(12, 2)), rng.random(12) + 0.1
    u = w * rng.random(12) * 4
    starts = rng.normal(size=(5, 2))
    inside = starts - rng.random((5, 2)), starts + rng.random((5, 2))
    for start, lo, hi, center, value in zip(starts, *inside, *descend(X, w, u, starts, 2, never, inside), strict=True):
        assert np.all((center >= lo) & (center <= hi))
        assert phi(X, w, u, center) == pytest.approx(value, abs=1e-12)
        assert value <= phi(X, w, u, start) + 1e-12
        covered = w * np.square(X - center).sum(axis=1) < u
        if covered.any():
            mean = np.average(X[covered], axis=0, weights=w[covered])
            assert phi(X, w, u, np.clip(mean, lo, hi)) >= value - 1e-9
    centers, values = descend(X, w, u, starts, 2, never)
    for start, center, value in zip(starts, centers, values, strict=True):
        assert value == pytest.approx(phi(X, w, u, center), abs=1e-12)
        assert value <= phi(X, w, u, start) + 1e-12
        covered = w * np.square(X - center).sum(axis=1) < u
        if covered.any():
            mean = np.average(X[covered], axis=0, weights=w[covered])
            assert phi(X, w, u, mean) >= value - 1e-9


@pytest.mark.parametrize("power", [1, 2])
@quick
@given(seed=seeds)
def test_halve(power, seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    X, w = rng.normal(size=(10, width)), rng.random(10) + 0.1
    u = w * rng.random(10) * 6
    low = X.min(axis=0) - rng.random((3, width)) * 0.1
    high = low + rng.random((3, width)) * 3
    everyone = np.tile(np.arange(10, dtype=np.int32), 3)
    half, kept = np.empty((6, 2 * width + 4)), np.empty(60, np.int32)
    goals = -rng.random(3) * u.sum()
    level = kernels.Level(low, high, everyone, np.array([10, 20, 30]), goals)
    inside, ends = kernels.halve(kernels.Clients(X, w, u, power), level, half, kept)
    lists = np.split(kept[: ends[-1]], ends[:-1]) if len(ends) else []
    starts = dict(zip(np.flatnonzero(half[:, -1] == 1.0), lists, strict=True))
    for t in range(6):
        lo, hi, bound, load, value, opened = (
            half[t, :width],
            half[t, width : 2 * width],
            *half[t, 2 * width : 2 * width + 3],
            half[t, -1],
        )
        axis = int(np.argmax(high[t // 2] - low[t // 2]))
        assert (hi - lo)[axis] == pytest.approx((high - low)[t // 2][axis] / 2)
        assert np.all((inside[t] >= lo - 1e-12) & (inside[t] <= hi + 1e-12))
        assert value == pytest.approx(phi(X, w, u, inside[t], power), abs=1e-12)
        for _ in range(20):
            assert bound <= phi(X, w, u, lo + rng.random(width) * (hi - lo), power) + 1e-12
        near = np.linalg.norm(np.maximum(np.maximum(lo - X, X - hi), 0.0), axis=1) ** power
        far = np.linalg.norm(np.maximum(X - lo, hi - X), axis=1) ** power
        reached = w * near < u
        covered = reached & (w * far <= u)
        expected = (w * near - u)[reached & ~covered].sum() - u[covered].sum()
        if covered.any() and power == 2:
            best = np.clip(np.average(X[covered], axis=0, weights=w[covered]), lo, hi)
            expected += w[covered] @ np.square(X[covered] - best).sum(axis=1)
        elif covered.any():
            away = (lo + hi) / 2 - X[covered]
            d = np.linalg.norm(away, axis=1)
            slope = (w[covered] / d) @ away
            expected += max(w[covered] @ d - np.abs(slope) @ (hi - lo) / 2, w[covered] @ near[covered])
        assert bound == pytest.approx(expected, abs=1e-11)
        assert load == pytest.approx(u[reached].sum())
        assert opened == (bound < goals[t // 2])
        if opened:
            np.testing.assert_array_equal(starts[t], np.flatnonzero(reached))


@quick
@given(seeds)
def test_balance_brings_the_means_of_blocks_together(seed):
    rng = np.random.default_rng(seed)
    n, k, count = 40, 3, 4
    X, w = rng.normal(size=(n, 2)), rng.random(n) + 0.2
    labels, blocks = rng.integers(0, k, n), rng.integers(0, count, n)
    offsets = X - cluster_means(X, w, labels, k)[labels]

    def tables(blocks):
        sums, mass = np.zeros((k, count, 2)), np.zeros((k, count))
        np.add.at(mass, (labels, blocks), w)
        np.add.at(sums, (labels, blocks), w[:, None] * offsets)
        return sums, mass

    def loss(blocks):
        sums, mass = tables(blocks)
        return (np.square(sums).sum(axis=2) / np.where(mass > 0, mass, 1.0)).sum()

    sums, mass = tables(blocks)
    after = blocks.copy()
    pairs = rng.integers(0, n, (2, 500))
    kernels.balance(offsets, w, labels, after, *pairs, sums, mass)
    np.testing.assert_allclose(sums, tables(after)[0], atol=1e-12)
    np.testing.assert_allclose(mass, tables(after)[1], atol=1e-12)
    assert loss(after) <= loss(blocks) + 1e-12
    np.testing.assert_array_equal(np.bincount(after, minlength=count), np.bincount(blocks, minlength=count))


# ---------------------------------------------------------------------------------------------------------- bounds


def checked(bound, X, w, k, best):
    """Assert that a bound is true, that its witness proves it, and that what the witness proves is true."""
    assert bound.value <= best
    for key, evidence in bound.witness.items():
        assert bound.value <= REPLAY[key](evidence, X, w, k) <= best


@settings(derandomize=True, deadline=None, max_examples=120)
@given(seeds)
def test_no_bound_above_the_optimum(seed):
    _, X, w, k, centers, labels, upper = instance(seed)
    best = optimum(X, w, k)
    checked(kmeans_bound(X, w, k, centers, upper), X, w, k, best)
    if k == 1:
        assert replayed.single_bound(X, w) <= best
    elif k < len(X) and upper > 0:
        checked(by_boxes(X, w, k, centers), X, w, k, best)
        checked(kmeans._sdp(X, w, k, labels, 0.0, never), X, w, k, best)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seeds)
def test_bounds_of_blocks_add_up(seed):
    _, X, w, k, centers, labels, upper = instance(seed)
    if k == 1 or k >= len(X) or upper == 0:
        return
    best = optimum(X, w, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeans, "BOX_POINTS", max(1, len(X) // 2))
        patch.setattr(kmeans, "SDP_POINTS", max(2 * k, len(X) // 2))
        checked(by_boxes(X, w, k, centers), X, w, k, best)
        checked(kmeans._sdp(X, w, k, labels, 0.0, never), X, w, k, best)


@quick
@given(seeds)
def test_any_multipliers_and_any_matrix_are_valid(seed):
    rng, X, w, k, _, _, upper = instance(seed)
    best = optimum(X, w, k)
    rows = centred(X, w)
    scale = max(upper, 1e-300) / len(X)
    u = rng.random(len(X)) * scale * 10.0 ** rng.uniform(-1, 2)
    priced = price(rows.points, w, u, 2, -math.inf if rng.random() < 0.3 else -0.1 * u.sum(), 1e5)
    if not len(priced.centers):
        assert rows.safe(u.sum() + k * priced.lower - 1e-9 * u.sum() * k) <= best
    B = rng.random((len(X), len(X))) * scale * 10.0 ** rng.uniform(-2, 1)
    assert rows.safe(kmeans_sdp.dual_value(rows.points, w, k, B + B.T)) <= best


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds)
def test_far_clusters_of_little_spread(seed):
    """The cost is far below the rounding of what it is computed from: margins alone keep the bounds true."""
    rng = np.random.default_rng(seed)
    n, k, width = 6, 2, int(rng.integers(1, 3))
    labels = np.arange(n) % k
    X = 10.0 ** rng.uniform(3, 8) * (labels[:, None] + 0.1) + 10.0 ** rng.uniform(-9, -1) * rng.normal(size=(n, width))
    w = np.ones(n) if seed % 2 else rng.integers(1, 4, n) / 3.0
    best = optimum(X, w, k)
    if best == 0:
        return
    checked(by_boxes(X, w, k, cluster_means(X, w, labels, k)), X, w, k, best)
    checked(kmeans._sdp(X, w, k, labels, 0.0, never), X, w, k, best)
    rows = centred(X, w)
    mass = np.bincount(labels, minlength=k)[labels]
    for _ in range(4):
        # Equal sums of u over both clusters: what is left of sum(u) + k phi is the cost, and rounding.
        u = np.square(np.ptp(X)) * 10.0 ** rng.uniform(-6, -1) / mass
        whole = np.round(u / (u.max() * 2.0**-48)).astype(np.int64)
        unit = float(u.max() * 2.0**-48)
        goal = -float((unit * whole).sum()) / k * (1 + rng.choice([0.0, 1e-16, 1e-12]))
        priced = price(rows.points, w, unit * whole, 2, goal, 1e5)
        if len(priced.centers):
            continue
        bits = priced.bits
        evidence = {"members": np.arange(n), "ends": [n], "axes": np.eye(width).ravel(), "units": [unit]}
        evidence |= {"u": whole, "tree": np.packbits(bits), "tree_ends": [len(bits)]}
        assert replayed.boxes_bound(evidence, X, w, k) <= best


def test_centred_rows_are_off_by_no_more_than_they_say():
    """The root of the optimum moves by at most the shift; and it does move, where clusters are far apart."""
    moved = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        spread = 10.0 ** rng.uniform(-17, -15)
        X = 1e8 * (np.arange(6)[:, None] % 2 + spread * rng.normal(size=(6, 1)))
        w = rng.integers(1, 4, 6) * 1.0
        root = math.sqrt(optimum(X, w, 2))
        theirs, shift = replayed.centred_rows(X, w)
        ours = centred(X, w, turn=True)
        for rows, most in ((theirs, shift), (ours.points, ours.shift)):
            off = abs(math.sqrt(optimum(rows, w, 2)) - root)
            assert off <= most
            moved.append(off > 0)
    assert sum(moved) > 20


@settings(derandomize=True, deadline=None, max_examples=30)
@given(seeds)
def test_a_second_call_goes_on_from_the_first(seed):
    """Any solutions, better or worse, in one block or two: what is kept is valid and never falls."""
    rng, X, w, k, centers, _, upper = instance(seed)
    best = optimum(X, w, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeans, "BOX_POINTS", 2000 if seed % 3 else max(1, len(X) // 2))
        bounds = kmeans.KMeansBounds(X, w, k)
        bounds.boxes(centers, upper)
        first = bounds.best
        checked(first, X, w, k, best)
        others = X[rng.permutation(len(X))[:k]]
        cost = float(w @ np.square(X[:, None] - others).sum(axis=2).min(axis=1))
        bounds.boxes(others, cost)
        bounds.sdp(others, cost)
        if upper > 0 and cost > 0:
            assert bounds.best.value >= first.value
        checked(bounds.best, X, w, k, best)


@pytest.mark.parametrize("improves", [False, True])
def test_multipliers_suggest_the_optimum(improves):
    """The relaxation of separated clusters is tight: whatever the solution was, its rounding is the optimum."""
    labels = np.arange(90) % 6
    X = np.array([(5.0 * (j % 3), 5.0 * (j // 3)) for j in range(6)])[labels]
    X += np.random.default_rng(0).normal(size=X.shape)
    means = cluster_means(X, np.ones(90), labels, 6)
    cost = float(np.square(X - means[labels]).sum())
    poor = means.copy()
    poor[:2] = means[0] + [[0.5, 0.0], [-0.5, 0.0]]
    upper = float(np.square(X[:, None] - poor).sum(axis=2).min(axis=1).sum())
    told = []

    def improve(centers):
        told.append(centers)
        return (means, cost) if improves else None

    bounds = kmeans.KMeansBounds(X, np.ones(90), 6)
    bounds.boxes(poor, upper, improve=improve)
    far = np.linalg.norm(told[0][:, None] - means, axis=2)
    assert sorted(far.argmin(axis=1)) == list(range(6))
    assert far.min(axis=1).max() < 0.5
    assert cost * (1 - (1e-9 if improves else 1e-3)) <= bounds.best.value <= cost


def blobs(n, width, k, seed, spread=0.1):
    rng = np.random.default_rng(seed)
    X = (
        rng.integers(0, 3, (k, width))[np.arange(n) % k]
        + spread * rng.normal(size=(n, width))
        + 2.0 * np.eye(k, width)[np.arange(n) % k]
    )
    means = np.stack([X[np.arange(n) % k == j].mean(axis=0) for j in range(k)])
    return X, means, float(np.square(X - means[np.arange(n) % k]).sum())


@pytest.mark.parametrize(("n", "width", "k", "gap"), [(60, 2, 3, 1e-9), (80, 3, 4, 1e-9), (50, 8, 3, 1e-3)])
def test_separated_clusters_are_proved(n, width, k, gap):
    X, means, cost = blobs(n, width, k, 0)
    bound = kmeans_bound(X, np.ones(n), k, means, cost)
    assert cost / bound.value - 1 <= gap
    for key, evidence in bound.witness.items():
        assert bound.value <= REPLAY[key](evidence, X, np.ones(n), k) <= cost * (1 + 1e-12)


def test_offsets_and_scales_do_not_matter():
    X, means, cost = blobs(40, 2, 3, 1)
    for shift, scale in ((0.0, 1e-6), (0.0, 1e6), (1e3, 1.0)):
        bound = kmeans_bound(X * scale + shift, np.ones(40), 3, means * scale + shift, cost * scale**2)
        assert cost * scale**2 / bound.value - 1 <= 1e-8


def test_weights_are_copies():
    X, means, cost = blobs(30, 2, 3, 2)
    twice = kmeans_bound(np.repeat(X, 2, axis=0), np.ones(60), 3, means, 2 * cost)
    weighted = kmeans_bound(X, np.full(30, 2.0), 3, means, 2 * cost)
    assert twice.value == pytest.approx(weighted.value, rel=1e-8)


def test_the_same_answer_twice():
    X = np.random.default_rng(3).random((70, 3))
    first, second = (kmeans_bound(X, np.ones(70), 5, X[:5], 20.0) for _ in range(2))
    assert first.value == second.value > 0
    for name, array in first.witness["boxes"].items():
        np.testing.assert_array_equal(array, second.witness["boxes"][name])


def test_gap_tol_ends_it_early():
    X = np.random.default_rng(4).random((80, 2))
    labels = nearest(X, X[:6])
    means = cluster_means(X, np.ones(80), labels, 6)
    cost = float(np.square(X - means[labels]).sum())
    work = []
    for tol in (0.0, 10.0):
        search = kmeans_boxes.BoxSearch(X, np.ones(80), 6, means, cost, 1e9, never)
        search.run(tol)
        work.append(search.work)
    assert work[1] < work[0]


def test_stop():
    X = np.random.default_rng(5).random((300, 2))
    bound = kmeans_bound(X, np.ones(300), 5, X[:5], 20.0, should_stop=lambda: True)
    assert 0.0 <= bound.value < 20.0


def test_what_is_not_tried_says_so():
    X = np.zeros((kmeans.MAX_POINTS + 1, kmeans.FEW_COLUMNS + 1))
    X[0] = 1.0
    bound = kmeans_bound(X, np.ones(len(X)), 3, X[:3], 1.0)
    assert (bound.value, bound.witness) == (0.0, {})
    assert "above 20000 points" in bound.because
    for k, upper in ((2, 0.0), (2, 1.0)):
        bound = kmeans_bound(X[:2], np.ones(2), k, X[:2], upper)
        assert (bound.value, bound.witness) == (0.0, {})


def test_split_is_a_partition():
    X, _, _ = blobs(101, 3, 4, 6)
    w = np.random.default_rng(0).random(101) + 0.1
    blocks = split(X, w, np.arange(101) % 4, 4, 5)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(101))
    assert {len(block) for block in blocks} <= {20, 21}
