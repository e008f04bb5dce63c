"""Bounds of k-means by cases: regions and demands against plain loops, trees of any cases against exact brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.bounds import kmeans
from certiclust.bounds.bound import Bound
from certiclust.bounds.kmeans_boxes import BoxSearch
from certiclust.bounds.kmeans_branch import Case, _either, _part, branch
from certiclust.bounds.kmeans_counts import GRID, Count, cells, doubtful_regions, inside, prizes, served
from certiclust.bounds.kmeans_evidence import packed_cases
from certiclust.bounds.kmeans_price import price
from certiclust.bounds.kmeans_rows import centred, cluster_means, nearest
from certiclust.certificates.kmeans_cases import cases_bound
from tests.bounds.kmeans_truth import optimum
from tests.instances import quick

seeds = st.integers(0, 10**6)
#: Points and centres of an instance on which the relaxation leaves a gap of 0.2 %.
SIZE, CENTERS = 60, 6


def never():
    return False


def region(rng, width):
    low, high = np.sort([rng.choice(GRID + 1, 2, replace=False) for _ in range(width)], axis=1).T
    free = rng.random(width) < 0.4
    return Count(
        tuple(map(int, np.where(free, 0, low))),
        tuple(map(int, np.where(free, GRID, high))),
        bool(rng.random() < 0.5),
        1,
    )


def contains(count, place):
    """Return whether a region contains a place, by its definition."""
    sides = zip(count.low, count.high, place, strict=True)
    return all((lo == 0 or lo / GRID <= x) and (hi == GRID or x < hi / GRID) for lo, hi, x in sides)


@quick
@given(seeds)
def test_regions(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    counts = [region(rng, width) for _ in range(int(rng.integers(1, 4)))]
    places = np.where(
        rng.random((20, width)) < 0.3, rng.integers(0, GRID + 1, (20, width)) / GRID, rng.random((20, width))
    )
    expected = np.array([[contains(count, place) for count in counts] for place in places])
    np.testing.assert_array_equal(inside(counts, places), expected)
    np.testing.assert_array_equal(served(counts, places), expected == [count.inside for count in counts])
    low, high = cells(counts, places)
    for place, lo, hi, here in zip(places, np.maximum(low, 0.0), np.minimum(high, 1.0), expected, strict=True):
        for _ in range(5):
            other = lo + rng.random(width) * (hi - lo)
            if np.all(lo < hi):
                assert [contains(count, other) for count in counts] == here.tolist()
        assert np.all((place >= lo - 2e-9) & (place <= hi + 2e-9))


@quick
@given(seeds)
def test_prizes(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 3))
    counts, v = [region(rng, width) for _ in range(3)], rng.random(3)
    level = 2.0 ** -rng.integers(0, 8, (10, width))
    low = np.floor(rng.random((10, width)) / level) * level
    most, settled = prizes(counts, v, low, low + level)
    for lo, side, prize, sure in zip(low, level, most, settled, strict=True):
        gains = []
        for _ in range(30):
            place = lo + rng.random(width) * side
            gains.append(sum(x for x, count in zip(v, counts, strict=True) if contains(count, place) == count.inside))
        assert max(gains) <= prize + 1e-12
        if sure:
            assert min(gains) == pytest.approx(prize)


def test_doubtful_regions_have_a_broken_number_of_centres():
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.random((6, 2)), rng.random((6, 2))])
    found = doubtful_regions(places, np.full(12, 0.5), 1, 5)
    assert 0 < len(found) <= 5
    for count in found:
        number = 0.5 * sum(contains(count, place) for place in places)
        assert number % 1.0 == 0.5
        assert count.least == math.ceil(number)
    assert doubtful_regions(places[:6], np.ones(6), 1, 5) == []


@quick
@given(seeds)
def test_priced_with_demands(seed):
    """No centre, on either side of any face, is below what the boxes say."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 3))
    X, w = rng.normal(size=(8, width)), rng.random(8) + 0.1
    u, v = w * rng.random(8) * 3, rng.random(2)
    counts = [region(rng, width) for _ in range(2)]
    priced = price(X, w, np.append(u, v), 2, -0.3 * u.sum(), 1e5, never, counts)
    side = np.ptp(X, axis=0)
    assert len(priced.centers) == 0 or priced.lower == -math.inf
    for _ in range(100):
        place = rng.random(width)
        if rng.random() < 0.3:
            place = rng.integers(0, GRID + 1, width) / GRID
        phi = np.minimum(w * np.square(X - (X.min(axis=0) + place * side)).sum(axis=1) - u, 0.0).sum()
        gain = sum(x for x, count in zip(v, counts, strict=True) if contains(count, place) == count.inside)
        assert priced.lower <= phi - gain + 1e-9


def forced(X, w, k, centers, rng, splits):
    """Return a bound by a tree of arbitrary cases."""
    rows, labels = centred(X, w, turn=True), nearest(X, centers)
    upper = float(w @ np.square(X - centers[labels]).sum(axis=1))
    search = BoxSearch(rows.points, w, k, rows.inside(centers, X[0]), upper, 2e6, never)
    search.run(0.0)
    root = Case(search, search.proved)
    leaves = [root]
    for _ in range(splits):
        case = leaves.pop(int(rng.integers(len(leaves))))
        case.region = region(rng, X.shape[1])._replace(inside=True, least=int(rng.integers(1, k + 1)))
        case.parts = tuple(_part(search, case, count, 2e6, 0.0) for count in _either(case.region, k))
        leaves += case.parts
    return Bound(rows.safe(max(root.lower, 0.0)), None, "", "", {"cases": packed_cases(root, rows.axes)})


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seeds)
def test_no_tree_of_cases_is_above_the_optimum(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    k = int(rng.integers(2, n))
    X = rng.normal(size=(n, int(rng.integers(1, 4)))) if seed % 3 else rng.integers(0, 3, (n, 2)) * 1.0
    X = X + (1e8 if seed % 5 == 0 else 0.0)
    w = np.ones(n) if seed % 2 else rng.integers(1, 4, n) * 1.0
    labels = rng.permutation(np.arange(n) % k)
    centers = cluster_means(X, w, labels, k)
    if not np.square(X[:, None] - centers).sum(axis=2).min(axis=1).sum() > 0:
        return
    bound = forced(X, w, k, centers, rng, int(rng.integers(1, 4)))
    best = optimum(X, w, k)
    assert bound.value <= cases_bound(bound.witness["cases"], X, w, k) <= best * (1 + 1e-12)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds)
def test_any_demands_with_any_multipliers_are_valid(seed):
    """What `verify` derives from one split by any region, with good u and any v and any halvings, is true."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(4, 7)), int(rng.integers(1, 3))
    k = int(rng.integers(2, n))
    X, w = rng.normal(size=(n, width)), rng.integers(1, 3, n) * 1.0
    rows, centers = centred(X, w), X[:k]
    upper = float(w @ np.square(X - centers[nearest(X, centers)]).sum(axis=1))
    search = BoxSearch(rows.points, w, k, rows.inside(centers, X[0]), upper, 2e6, never)
    search.run(0.0)
    u, best = search.best_u, optimum(X, w, k)
    gain = max(0.0, u.sum() - search.proved.lower) / k  # about what the best centre earns
    unit = 2.0 ** np.floor(np.log2(upper) - 40)
    for _ in range(6):
        split = region(rng, width)._replace(inside=True, least=int(rng.choice([1, 1, k, rng.integers(1, k + 1)])))
        multipliers, bits = [], []
        for _ in range(2):
            v = gain * rng.choice([0.0, 0.3, 0.9, 3.0])
            whole = np.round(np.append(u, v) / unit).astype(np.int64)
            multipliers.append(whole)
            bits.append(np.repeat([1, 0], 2 ** rng.integers(0, 12) - np.array([1, 0])).astype(np.uint8))
        evidence = {
            "cases": [split.least, 0, 0],
            "regions": [*split.low, *split.high],
            "axes": np.eye(width).ravel(),
            "units": [unit, unit],
            "u": np.concatenate(multipliers),
            "tree": np.packbits(np.concatenate(bits)),
            "tree_ends": np.cumsum([len(tree) for tree in bits]),
        }
        assert cases_bound(evidence, X, w, k) <= best


def test_cases_close_a_gap_that_multipliers_leave():
    X = np.random.default_rng(8).random((SIZE, 2))
    from certiclust import KMeans

    fitted = KMeans(CENTERS, random_state=0, certify=False).fit(X)
    rows = centred(X, np.ones(SIZE), turn=True)
    problem = rows.points, np.ones(SIZE), CENTERS, rows.inside(fitted.cluster_centers_, X[0]), fitted.cost_
    search = BoxSearch(*problem, 1e9, never)
    alone = search.run(0.0).lower
    assert alone < fitted.cost_ * (1 - 1e-4)
    root = branch(search, 0.0, 1e-9, 1e9)
    assert root.lower >= fitted.cost_ * (1 - 2e-9)
    bounds = kmeans.KMeansBounds(X, np.ones(SIZE), CENTERS)
    bounds.boxes(fitted.cluster_centers_, fitted.cost_)
    assert "cases" in bounds.best.witness
    replayed = cases_bound(bounds.best.witness["cases"], X, np.ones(SIZE), CENTERS)
    assert fitted.cost_ * (1 - 1e-8) <= bounds.best.value <= replayed <= fitted.cost_ * (1 + 1e-12)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(seeds)
def test_the_coarse_bound_is_true(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    X, w = rng.normal(size=(n, 2)), rng.integers(1, 4, n) * 1.0
    centers = X[:k]
    upper = float(w @ np.square(X - centers[nearest(X, centers)]).sum(axis=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeans, "MAX_POINTS", 3)
        patch.setattr("certiclust.bounds.kmeans_coarse.SAMPLE", int(rng.integers(2, n)))
        bound = kmeans.kmeans_bound(X, w, k, centers, upper)
    best = optimum(X, w, k)
    assert bound.value <= best
    for evidence in bound.witness.values():
        from certiclust.certificates.kmeans import boxes_bound

        assert bound.value <= boxes_bound(evidence, X, w, k) <= best * (1 + 1e-12)


def test_the_coarse_bound_says_something():
    rng = np.random.default_rng(0)
    labels = np.arange(3000) % 4
    X = 6.0 * rng.random((4, 2))[labels] + rng.normal(size=(3000, 2)) * 0.3
    means = cluster_means(X, np.ones(3000), labels, 4)
    upper = float(np.square(X - means[nearest(X, means)]).sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeans, "MAX_POINTS", 2500)
        patch.setattr("certiclust.bounds.kmeans_coarse.SAMPLE", 300)
        bound = kmeans.kmeans_bound(X, np.ones(3000), 4, means, upper)
    assert 0.8 * upper <= bound.value <= upper
