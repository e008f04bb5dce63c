"""Windows of a k-median solution: what they promise is what the whole solution gains."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certiclust.bounds.lagrangian import Instance
from certiclust.solver import kmedian as module
from certiclust.solver.kmedian import KMedianStrategy, Limits
from certiclust.solver.windows import cut_window

WINDOW = 16


def grid(seed, m=60, n=80, side=12):
    """Rounded distances between points of a grid: ties everywhere."""
    rng = np.random.default_rng(seed)
    sites, clients = rng.integers(side, size=(m, 2)), rng.integers(side, size=(n, 2))
    weights = rng.integers(1, 4, size=n)
    return np.ascontiguousarray(np.floor(np.linalg.norm(sites[:, None] - clients[None], axis=2)) * weights)


@pytest.mark.parametrize("seed", range(40))
def test_a_window_never_promises_more_than_the_whole_solution_gains(seed):
    cost, rng = grid(seed), np.random.default_rng(seed)
    centers = np.sort(rng.choice(60, 25, replace=False))
    live = np.union1d(centers[:20], rng.choice(60, 40, replace=False))
    window = cut_window(cost, centers, live, cost.argmin(axis=1), int(rng.integers(25)), WINDOW, rng)
    assert 2 <= window.start.size <= WINDOW
    inside = window.candidates[window.start]
    np.testing.assert_array_equal(np.sort(np.concatenate([inside, window.outside])), centers)
    assert window.cost[window.start].min(axis=0).sum() == pytest.approx(window.before)
    assert np.isin(window.candidates, np.union1d(live, centers)).all()
    total = cost[centers].min(axis=0).sum()
    for _ in range(30):
        new = rng.choice(window.candidates.size, window.start.size, replace=False)
        changed = cost[np.concatenate([window.outside, window.candidates[new]])].min(axis=0).sum()
        promised = window.cost[new].min(axis=0).sum() - window.before
        assert changed - total <= promised + 1e-9


def test_half_of_the_windows_lie_around_two_centres():
    """600 windows: the share is 1/2 within 5 standard deviations, a false alarm in 1.7 million."""
    points = np.arange(300.0)
    cost = np.abs(points[:, None] - points[None])
    centers, rng = np.arange(0, 300, 3), np.random.default_rng(0)
    apart = 0
    for t in range(600):
        window = cut_window(cost, centers, np.arange(300), np.arange(300), t % 100, WINDOW, rng)
        apart += np.ptp(window.candidates[window.start]) > 3 * WINDOW
    assert abs(apart - 300 * (1 - 2 * WINDOW / 100)) < 5 * np.sqrt(150) + 300 * WINDOW / 100


def test_windows_find_what_single_swaps_do_not(monkeypatch):
    """The start is swap-optimal; windows improve it, and end once none did for long."""
    monkeypatch.setattr(module, "MAX_EXTENSION", 1e9)
    monkeypatch.setattr(module, "WINDOWS", ((16, 2e6, 0.15), (32, 1e7, 0.1)))
    rng = np.random.default_rng(3)
    sites = rng.integers(20, size=(400, 2)) + np.outer(np.arange(400) % 13, [1000, 0])
    cost = np.ascontiguousarray(np.floor(np.linalg.norm(sites[:, None] - sites[None], axis=2)))
    strategy = KMedianStrategy(cost, Instance(104, 1.0, 2, 0.0), Limits(0.0, np.inf, lambda: False), 0)
    strategy._budget = strategy._work
    start, rounds = strategy.upper, 0
    while not strategy.finished():
        before = strategy.upper
        strategy.evolve()
        strategy.bound()
        strategy.reduce()
        rounds += 1
        assert strategy.upper == cost[strategy.search.centers].min(axis=0).sum() <= before
    assert strategy.upper < start
    assert strategy._size == 2
    assert rounds > 0.25 * 104 // module.BATCH


@pytest.mark.parametrize("seed", range(5))
def test_a_solved_window_is_optimal(seed):
    cost, rng = grid(seed, m=24, n=30), np.random.default_rng(seed)
    centers = np.sort(rng.choice(24, 10, replace=False))
    window = cut_window(cost, centers, np.arange(24), cost.argmin(axis=1), 0, 5, rng)
    strategy = KMedianStrategy(cost, Instance(10, 1.0, 2, 0.0), Limits(0.0, np.inf, lambda: False), seed)
    part = strategy._part(window, 2e6)
    module.evolve_bound_reduce(part, lambda: None)
    k = window.start.size
    best = min(window.cost[list(s)].min(axis=0).sum() for s in itertools.combinations(range(len(window.cost)), k))
    assert part.upper == best


def test_windows_keep_max_iter():
    """The offspring of the windows count, and end at the limit."""
    rng = np.random.default_rng(4)
    sites = rng.integers(20, size=(400, 2)) + np.outer(np.arange(400) % 13, [1000, 0])
    cost = np.ascontiguousarray(np.floor(np.linalg.norm(sites[:, None] - sites[None], axis=2)))
    strategy = KMedianStrategy(cost, Instance(104, 1.0, 2, 0.0), Limits(0.0, 60, lambda: False), 0)
    strategy._budget = strategy._work
    module.evolve_bound_reduce(strategy, lambda: None)
    assert strategy._bound_work > 0  # there were windows
    assert 0 < strategy.search.iterations <= 60
