"""The search of k-means: its kernels against plain NumPy, its answers against brute force, its stops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from certiclust.evolution.coreset import lightweight_coreset
from certiclust.evolution.descent import Descent, Stopped, centred, copy_clustering
from certiclust.evolution.filtered import FilteredDescent, blocks_of, tiles
from certiclust.evolution.kernels.blocks import SIZE
from certiclust.evolution.kernels.clustering import Pace
from certiclust.evolution.kernels.hartigan import insertion_gain
from certiclust.evolution.kmeans_search import KMeansSearch, Member

seeds = st.integers(0, 2**32 - 1)
#: The descents by bounds and by blocks of points.
KINDS = [Descent, FilteredDescent]


def never():
    return False


def instance(seed, smallest=2):
    """Points with weights, duplicates, ties or an offset, and k."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(max(smallest, 8), 60)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) if seed % 2 else rng.integers(0, 4, (n, d)).astype(float)
    X = X + (1e8 if seed % 5 == 0 else 0.0)
    w = rng.uniform(0.1, 3, n) if seed % 3 else np.ones(n)
    return X, w, int(rng.integers(2, 8)), rng


def descent_on(X, w, k, should_stop=never, kind=Descent):
    inside, _ = centred(X, w)
    return kind(inside, w, k, should_stop)


def check(descent, state, nearest=True):
    """Bounds hold, sums are those of the labels and, where promised, every point is at its nearest centre."""
    X, w = descent.cloud
    D = cdist(X, state.centers)
    everyone = np.arange(len(X))
    own = D[everyone, state.labels]
    D[everyone, state.labels] = np.inf
    others = D.min(axis=1)
    assert (state.upper >= own - 1e-9).all()
    assert (state.lower <= others + 1e-9).all()
    if nearest:
        assert (own <= others + 1e-9).all()
    k = descent.k
    np.testing.assert_array_equal(state.sizes, np.bincount(state.labels, minlength=k))
    np.testing.assert_allclose(state.masses, np.bincount(state.labels, w, k), atol=1e-9)
    sums = np.array([np.bincount(state.labels, w * x, k) for x in X.T]).T
    np.testing.assert_allclose(state.sums, sums, atol=1e-9)


def partition_cost(X, w, labels):
    means = {j: np.average(X[labels == j], axis=0, weights=w[labels == j]) for j in set(labels.tolist())}
    return sum(w[i] * ((X[i] - means[labels[i]]) ** 2).sum() for i in range(len(X)))


@settings(derandomize=True, deadline=None, max_examples=150)
@given(seeds)
def test_bounds_and_sums_hold_after_every_kernel(seed):
    X, w, k, rng = instance(seed)
    descent = descent_on(X, w, k)
    points = descent.cloud.points
    state = descent.empty()
    descent.assign(state, points[rng.choice(len(points), k, replace=False)])
    check(descent, state)
    for turn in range(4):
        slots = np.sort(rng.choice(k, int(rng.integers(1, k + 1)), replace=False))
        descent.relocate(state, slots, points[rng.choice(len(points), len(slots))])
        check(descent, state, nearest=turn == 0)  # Hartigan's moves need not lead to the nearest centre
        before = partition_cost(points, descent.cloud.weights, state.labels)
        passes = int(rng.integers(1, 5))
        cost = descent.lloyd(state, tol=0.0, passes=passes)
        check(descent, state)
        real = partition_cost(points, descent.cloud.weights, state.labels)
        assert cost == pytest.approx(real, rel=1e-9, abs=1e-12)
        if passes <= 2:  # later passes go ahead of the means, and may lose
            assert real <= before * (1 + 1e-9) + 1e-12
        gain = descent._hartigan(state)
        check(descent, state, nearest=False)
        after = partition_cost(points, descent.cloud.weights, state.labels)
        assert gain == pytest.approx(real - after, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_descent_never_loses_what_is_below_its_target(kind):
    """The lemma's offspring is not spoiled, although the way ahead of the means leads some of these astray."""
    astray = 0
    for seed in range(0, 1200, 6):
        rng = np.random.default_rng(seed)
        n, d, k = int(rng.integers(6, 40)), int(rng.integers(1, 4)), int(rng.integers(2, 6))
        descent = descent_on(rng.integers(0, 4, (n, d)).astype(float), np.ones(n), k, kind=kind)
        points, state = descent.cloud.points, descent.empty()
        centers = points[rng.choice(n, k, replace=False)]
        descent.assign(state, centers)
        start = partition_cost(points, np.ones(n), state.labels)
        target = start * rng.uniform(1.0 + 1e-6, 1.5) + 1e-12
        astray += descent._descend(state, Pace(100, 1e-5, target, 5.0, True)) > start * (1 + 1e-8) + 1e-12
        descent.assign(state, centers)
        cost = descent.improve(state, target)
        assert cost <= start * (1 + 1e-8) + 1e-12
        check(descent, state, nearest=False)
        assert cost == pytest.approx(partition_cost(points, np.ones(n), state.labels), rel=1e-9, abs=1e-12)
    assert astray > 0


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds, st.sampled_from(KINDS))
def test_no_single_move_is_left(seed, kind):
    """After a descent to its end neither a nearer centre nor a Hartigan move lowers the cost."""
    X, w, k, rng = instance(seed)
    descent = descent_on(X, w, k, kind=kind)
    points, w = descent.cloud
    state = descent.empty()
    descent.assign(state, points[rng.choice(len(points), k, replace=False)])
    cost = descent.improve(state, tol=0.0)
    for i in range(len(points)):
        for j in range(k):
            labels = state.labels.copy()
            labels[i] = j
            assert partition_cost(points, w, labels) >= cost * (1 - 1e-8) - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_insertion_gain_is_that_of_the_definition(seed):
    X, w, k, rng = instance(seed)
    descent = descent_on(X, w, k)
    points, w = descent.cloud
    state = descent.empty()
    descent.assign(state, points[:k])
    rows = rng.integers(len(points), size=5)
    nearest = cdist(points, state.centers, "sqeuclidean").min(axis=1)
    expected = [w @ np.maximum(0, nearest - ((points - points[r]) ** 2).sum(axis=1)) for r in rows]
    np.testing.assert_allclose(insertion_gain(descent.cloud, state, rows), expected, atol=1e-12)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(seeds)
def test_assignment_by_blocks_is_that_by_all_distances(seed):
    X, w, k, rng = instance(seed)
    X, w = np.repeat(X, 9, axis=0), np.repeat(w, 9)
    X[::2] += 0.01 * rng.normal(size=X[::2].shape)
    descent = descent_on(X, w, k, kind=FilteredDescent)
    points = descent.cloud.points
    state = descent.empty()
    descent.assign(state, points[rng.choice(len(points), k, replace=False)] + 0.01 * rng.normal(size=X.shape[1]))
    check(descent, state)
    D = np.sort(cdist(points, state.centers), axis=1)
    np.testing.assert_allclose(state.upper, D[:, 0], atol=1e-9)
    np.testing.assert_allclose(state.lower, D[:, 1], atol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds)
def test_a_descent_by_blocks_goes_where_all_distances_lead(seed):
    """The kernel's passes against plain NumPy: to the means, and from the third on ahead of them."""
    X, w, k, rng = instance(seed)
    descent = descent_on(X, w, k, kind=FilteredDescent)
    points, w = descent.cloud
    state = descent.empty()
    state.centers[:] = points[rng.choice(len(points), k, replace=False)]
    expected, cost = plain_descent(points, w, state.centers.copy())
    reached = descent._sift(state, Pace(100, 1e-3, np.inf, 5.0, True))
    assert reached == pytest.approx(cost, rel=1e-6, abs=1e-12)
    if len(np.unique(points, axis=0)) == len(points) and descent.total < 1e6:  # ties are broken by rounding
        np.testing.assert_allclose(state.centers, expected, atol=1e-6)


def plain_descent(points, w, centers, tol=1e-3):
    """Lloyd's iteration with momentum, as the kernels document it."""
    way, ahead, cost, passes = np.zeros_like(centers), False, None, 0
    while True:
        labels = cdist(points, centers).argmin(axis=1)
        before, cost = cost, partition_cost(points, w, labels)
        if before is not None:
            passes += 1
            gains = before - cost > tol * cost
            if passes >= 100 or (not ahead and not gains):
                return centers, cost
            ahead = gains and passes < 99
        old = centers.copy()
        for j in set(labels.tolist()):
            mean = np.average(points[labels == j], axis=0, weights=w[labels == j])
            centers[j] = old[j] + 2.0 * (mean - old[j]) + 0.5 * way[j] if ahead else mean
            way[j] = centers[j] - old[j]
        if (centers == old).all():
            return centers, cost


@pytest.mark.parametrize("polls", [1, 2, 3, 7])
def test_a_stop_keeps_what_lloyd_by_blocks_has_reached(polls, monkeypatch):
    """Its passes keep no labels; a stop makes them from the centres of that moment."""
    monkeypatch.setattr("certiclust.evolution.filtered.PAUSE", 1)
    left = [10**6]

    def stop():
        left[0] -= 1
        return left[0] < 0

    descent = descent_on(np.random.default_rng(6).random((3000, 2)), np.ones(3000), 30, stop, FilteredDescent)
    state = descent.empty()
    descent.assign(state, descent.cloud.points[:30])
    start = partition_cost(*descent.cloud, state.labels)
    left[0] = polls
    with pytest.raises(Stopped):
        descent.lloyd(state, 0.0)
    check(descent, state)
    assert partition_cost(*descent.cloud, state.labels) < start * (1 - 1e-3)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (127, 1), (128, 2), (129, 2), (1000, 2), (5000, 3)])
def test_blocks_hold_every_point_once_and_are_small(n, d):
    X = np.random.default_rng(n).random((n, d))
    w = np.random.default_rng(0).uniform(0.5, 2, n)
    np.testing.assert_array_equal(np.sort(tiles(X, SIZE)), np.arange(n))
    blocks = blocks_of(X, w)
    assert len(blocks.low) == -(-n // SIZE)
    real = blocks.weights > 0
    np.testing.assert_array_equal(np.sort(blocks.rows[real]), np.arange(n))
    np.testing.assert_array_equal(blocks.weights[real], w[blocks.rows[real]])
    np.testing.assert_array_equal(blocks.points.transpose(0, 2, 1)[real], X[blocks.rows[real]])
    assert (blocks.low == blocks.points.min(axis=2)).all()
    assert (blocks.high == blocks.points.max(axis=2)).all()
    assert np.prod(blocks.high - blocks.low, axis=1).sum() <= 1.0 + 1e-9  # they do not overlap


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 3, 17])
def test_pauses_change_nothing(block, kind, monkeypatch):
    X, w, k, _ = instance(11)
    results = []
    for size in (10**9, block):
        descent = descent_on(X, w, k, kind=kind)
        descent._block = size
        monkeypatch.setattr("certiclust.evolution.filtered.PAUSE", size)
        search = KMeansSearch(descent, np.random.default_rng(0), 40)
        search.start()
        search.evolve(np.inf)
        results.append((search.best.cost, search.iterations, descent.work))
    assert results[0] == pytest.approx(results[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("polls", [1, 2, 5, 20, 100, 400])
def test_a_stop_anywhere_leaves_the_best_intact(polls, kind):
    X, w, k, _ = instance(1)
    asked = []
    descent = descent_on(X, w, k, lambda: asked.append(1) or len(asked) > polls, kind)
    search = KMeansSearch(descent, np.random.default_rng(0))
    search.start()
    if search.best is not None:
        search.evolve(np.inf)
        assert search.stopped
        check(descent, search.best.state)
        real = partition_cost(*descent.cloud, search.best.state.labels)
        assert search.best.cost == pytest.approx(real, rel=1e-9)


def test_stopped_is_raised_from_a_poll():
    with pytest.raises(Stopped):
        descent_on(np.eye(3), np.ones(3), 2, lambda: True).seed(np.random.default_rng(0))


def test_costs_far_below_the_total_keep_their_digits():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 1e7])
    descent = descent_on(X, np.ones(100), 2)
    _, frame = centred(X, np.ones(100))
    search = KMeansSearch(descent, rng, 20)
    search.start()
    best = sum(((part - part.mean(axis=0)) ** 2).sum() for part in (X[:50], X[50:]))
    assert search.best.cost * frame.unit**2 == pytest.approx(best, rel=1e-6)


def test_the_way_back_from_the_centre():
    X = np.random.default_rng(0).normal(size=(30, 3)) * 1e-3 + 1e8
    inside, frame = centred(X, np.ones(30))
    np.testing.assert_allclose(frame.outside(inside), X, rtol=1e-15)
    assert np.abs(inside).max() <= 2
    np.testing.assert_allclose(inside.mean(axis=0), 0, atol=1e-12)


def test_members_of_the_pool_differ_and_hold_the_best():
    X = np.random.default_rng(3).random((300, 2))
    search = KMeansSearch(descent_on(X, np.ones(300), 12), np.random.default_rng(0))
    search.start()
    search.evolve(3e8)
    costs = sorted(member.cost for member in search.pool)
    assert len(costs) >= 2
    assert (np.diff(costs) > 1e-7 * costs[0]).all()
    assert search.best.cost == min(*costs, search._current.cost if search._current else np.inf)


def test_an_offer_is_taken_if_it_is_better():
    labels = np.arange(120) % 6
    X = np.random.default_rng(5).normal(size=(120, 2)) + 20.0 * np.column_stack([labels % 3, labels // 3])
    search = KMeansSearch(descent_on(X, np.ones(120), 6), np.random.default_rng(0))
    points = search.descent.cloud.points
    search.start(points[:1] + 1e-3 * np.arange(6)[:, None])
    before = search.best
    assert not search.offer(before.state.centers.copy())
    assert search.best is before
    good = np.stack([points[labels == j].mean(axis=0) for j in range(6)])
    taken = search.offer(good)
    assert taken == (search.best is not before)
    assert search.best.cost == pytest.approx(partition_cost(points, np.ones(120), labels))
    check(search.descent, search.best.state)


def test_patience_ends_before_the_search_has_settled():
    X = np.random.default_rng(3).random((300, 2))
    search = KMeansSearch(descent_on(X, np.ones(300), 12), np.random.default_rng(0))
    search.start()
    search.evolve(np.inf, 30)
    assert search.idle == 30
    assert not search.settled
    search.evolve(np.inf)
    assert search.settled


def test_crossover_takes_centres_of_both_parents():
    X = np.random.default_rng(4).random((200, 2))
    search = KMeansSearch(descent_on(X, np.ones(200), 10), np.random.default_rng(0))
    search.start()
    one, other, seen = search.best, search.descent.empty(), 0
    search.descent.assign(other, search.descent.seed(np.random.default_rng(1)))
    other.centers[:3] = one.state.centers[:3]
    search.descent.assign(other, other.centers.copy())
    two = Member(other, np.inf)
    for _ in range(30):
        copy_clustering(search._trial, one.state)
        if search.crossover(one, two):
            check(search.descent, search._trial)
            known = np.concatenate([one.state.centers, two.state.centers])
            assert (cdist(search._trial.centers, known).min(axis=1) == 0).all()
            assert (cdist(search._trial.centers, one.state.centers).min(axis=1) > 0).any()
            seen += 1
    assert seen > 0
    copy_clustering(search._trial, one.state)
    assert not search.crossover(one, one)


@pytest.mark.parametrize("columns", [1, 4])
def test_every_swap_has_the_probability_of_the_lemma(columns):
    """Uniform share alone: a given centre leaves and a given point enters with probability >= 0.0125 / (k n).

    With four columns the parent is always a new one, whose clusters are still to be divided: the worst case.
    """
    X = np.zeros((5, columns))
    X[:, 0] = 0.0, 0.1, 5.0, 5.1, 9.0
    search = KMeansSearch(descent_on(X, np.ones(5), 2), np.random.default_rng(0))
    search.start()
    parent, counts, draws = search.best, np.zeros((2, 5)), 20_000
    points = search.descent.cloud.points
    for _ in range(draws):
        copy_clustering(search._trial, parent.state)
        parent.pairs = None
        search.swap(parent)
        changed = np.flatnonzero((search._trial.centers != parent.state.centers).any(axis=1))
        if len(changed) == 1:
            counts[changed[0], int(np.abs(points - search._trial.centers[changed[0]]).sum(axis=1).argmin())] += 1
    floor = (0.025 if columns == 1 else 0.0125) / 10 * draws
    assert (counts[counts > 0] >= floor - 4 * np.sqrt(floor)).all()
    assert (counts > 0).sum() >= 9  # the centre that is a point itself cannot be swapped for that point


def test_moving_many_centres_never_loses_and_is_counted():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 5))[rng.integers(40, size=900)] * 8 + rng.normal(size=(900, 5))
    search = KMeansSearch(descent_on(X, np.ones(900), 30), np.random.default_rng(0))
    descent = search.descent
    descent.assign(search._trial, descent.cloud.points[:30])
    first = search._accept(descent.improve(search._trial))
    moved = search._move_many(first)
    assert 1 <= search.iterations <= 30
    assert moved.cost < 0.9 * first.cost  # 40 groups of points, and some of the first 30 points lie in the same one
    assert moved is search.best
    check(descent, moved.state, nearest=False)
    assert moved.cost == pytest.approx(partition_cost(*descent.cloud, moved.state.labels), rel=1e-9)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds)
def test_centres_to_move_are_not_those_whose_clusters_are_divided(seed):
    X, w, k, _ = instance(seed)
    search = KMeansSearch(descent_on(X, w, k), np.random.default_rng(0))
    search.descent.assign(search._trial, search.descent.cloud.points[:k])
    member = search._accept(search.descent.improve(search._trial))
    out, divided = search._gainful(member)
    assert len(out) == len(divided)
    assert len(np.unique(np.concatenate([out, divided]))) == 2 * len(out)
    pairs = list(search._pairs(member))
    assert all(leaving != halved for leaving, halved in pairs)
    net = [member.splits.gains[halved] - member.rises[leaving] for leaving, halved in pairs]
    assert net == sorted(net, reverse=True)
    assert next(search._pairs(member), None) is None


def test_the_coreset_is_unbiased():
    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(500, 3)) * [1, 3, 9], rng.uniform(0.5, 2, 500)
    descent = descent_on(X, w, 4)
    centers = descent.cloud.points[:4]
    costs = cdist(descent.cloud.points, centers, "sqeuclidean").min(axis=1)
    ratios = []
    for _ in range(300):
        rows, weights = lightweight_coreset(descent, 60, rng)
        ratios.append(weights @ costs[rows] / (w @ costs))
    assert abs(np.mean(ratios) - 1) < 4 * np.std(ratios) / np.sqrt(300)
