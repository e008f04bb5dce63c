"""Branch and bound: finished trees give the optimum, interrupted ones a bound below it, and all can be replayed."""

from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certiclust.bounds import branch_and_bound
from certiclust.bounds.branch_and_bound import Node, Stage, Tree, pack
from certiclust.bounds.lagrangian import Instance, ascend, certify, evaluate, start_multipliers
from certiclust.certificates.replay import Scale, replay, unpack
from certiclust.space.lists import build_lists
from tests.solver import brute

seeds = st.integers(0, 2**32 - 1)
NONE = np.zeros(0, np.int64)


def hard(seed, n=12, m=11, kind=None):
    """Costs, k >= 2; where the bound of the root leaves a gap there is something to branch on."""
    rng = np.random.default_rng(seed)
    kind = kind or str(rng.choice(["uniform", "integer", "grid", "wild", "cover", "cover"]))
    n, m = int(rng.integers(3, n + 1)), int(rng.integers(3, m + 1))
    if kind == "cover":  # who is served well by whom is random: fractional solutions beat all others
        cost = (rng.random((m, n)) > 0.35) + (0.01 * rng.random((m, n)) if rng.random() < 0.5 else 0.0)
    else:
        cost = np.ascontiguousarray(brute.matrix(rng, n, m, kind).T)
    if rng.random() < 0.3 and kind in ("uniform", "wild"):
        cost = cost * brute.weights(rng, n, "real")
    return rng, cost, int(rng.integers(2, m))


def plant(cost, k, upper, unit, steps=25):
    """A tree on all candidates after a short ascent at the root, as the solver starts it."""
    m, _n = cost.shape
    instance = Instance(k, unit)
    lists = build_lists(cost, 2.0 * cost.max(axis=0) + 1.0)
    best = min(brute.solutions(cost, k), key=lambda item: item[1])[0]
    _, _, c1, c2 = brute.nearest_two(cost, best)
    ascent = ascend(lists, instance, start_multipliers(c1, c2, k), upper, iterations=steps)
    bound = certify(lists, instance, ascent, upper)
    root = Node(-1, -1, 0, [Stage(bound.u, NONE, NONE)], bound.lower)
    return Tree(lists, np.arange(m), NONE, instance, root, ascent.u, ascent.share, upper, lambda s: cost[s].min(axis=0))


def proved(tree, cost, k, unit, upper):
    """The bound of the recorded tree, recomputed by the verifier's replay."""
    m, n = cost.shape
    stored = unpack(pack(tree.nodes, unit, 1.0), n, m)
    return replay(stored, lambda ids: iter([cost[ids]]), Scale(n, m, k, 0, 0.0), upper)


@contextmanager
def ascents_of(steps):
    """Short ascents make deep trees."""

    def short(*arguments, **options):
        return ascend(*arguments, **{**options, "iterations": min(steps, options["iterations"])})

    with mock.patch.object(branch_and_bound, "ascend", short):
        yield


def unit_of(cost):
    return 1.0 if np.all(cost == np.floor(cost)) else 0.0


@settings(derandomize=True, deadline=None, max_examples=150)
@given(seeds, st.sampled_from([2, 10, 300]))
def test_a_finished_tree_proves_the_optimum(seed, steps):
    _, cost, k = hard(seed)
    best, unit = brute.optimum(cost, k), unit_of(cost)
    tree = plant(cost, k, best, unit, steps=5)
    with ascents_of(steps):
        tree.run(100_000)
    assert tree.finished
    assert tree.lower <= best
    assert tree.lower >= best * (1 - 1e-9)
    assert proved(tree, cost, k, unit, best) >= tree.lower * (1 - 1e-15)
    assert proved(tree, cost, k, unit, best) <= best


@settings(derandomize=True, deadline=None, max_examples=100)
@given(seeds, st.integers(0, 12), st.floats(1.0, 1.3))
def test_a_partial_tree_gives_a_lower_bound(seed, nodes, excess):
    """Whatever the incumbent and wherever it stops; the bound never falls while it runs."""
    _, cost, k = hard(seed)
    best, unit = brute.optimum(cost, k), unit_of(cost)
    upper = float(np.ceil(best * excess)) if unit else best * excess
    tree = plant(cost, k, upper, unit, steps=5)
    lower = tree.lower
    for _ in range(3):
        with ascents_of(4):
            tree.run(nodes)
        assert tree.lower >= lower
        lower = tree.lower
        assert lower <= best * (1 + 1e-12)
        replayed = proved(tree, cost, k, unit, upper)
        assert lower * (1 - 1e-15) <= replayed <= best * (1 + 1e-12)
    if tree.finished and upper > best * (1 + 1e-9):  # the incumbent was no optimum: the tree met something better
        found = min(cost[p].min(axis=0).sum() for p in tree.proposals)
        assert found < upper * (1 - 1e-12) or lower <= best


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds)
def test_a_better_incumbent_on_the_way_keeps_the_tree_valid(seed):
    """Stages recorded under a weaker incumbent still hold under a better one."""
    _, cost, k = hard(seed)
    best, unit = brute.optimum(cost, k), unit_of(cost)
    levels = sorted({value for _, value in brute.solutions(cost, k)})
    tree = plant(cost, k, levels[min(5, len(levels) - 1)], unit, steps=5)
    with ascents_of(4):
        tree.run(4)
        tree.upper = best
        tree.run(100_000)
    assert tree.finished
    assert best * (1 - 1e-9) <= tree.lower <= best
    assert best * (1 - 1e-9) <= proved(tree, cost, k, unit, best) <= best


def test_the_tests_do_branch():
    """Without branching the tests above would say nothing about trees."""
    sizes = []
    for seed in range(40):
        _, cost, k = hard(seed, kind="cover")
        tree = plant(cost, k, brute.optimum(cost, k), 0.0, steps=5)
        with ascents_of(4):
            tree.run(100_000)
        sizes.append(len(tree.nodes))
    assert sum(size > 1 for size in sizes) >= 10
    assert max(sizes) >= 11


def test_stop_is_asked_before_every_branching():
    _, cost, k = next(
        (rng, cost, k)
        for rng, cost, k in (hard(seed, kind="uniform") for seed in range(99))
        if not plant(cost, k, brute.optimum(cost, k), 0.0, 1).finished
    )
    tree = plant(cost, k, brute.optimum(cost, k), 0.0, 1)
    before = tree.lower
    tree.run(100, lambda: True)
    assert len(tree.nodes) == 1
    assert tree.lower == before
    asked = []
    tree.run(100, lambda: asked.append(1) or len(asked) > 1)
    assert len(tree.nodes) == 3  # one branching: two children
    assert tree.lower <= brute.optimum(cost, k)


def test_the_same_tree_twice():
    _, cost, k = hard(11, kind="uniform")
    first, second = (plant(cost, k, brute.optimum(cost, k), 0.0, 1) for _ in range(2))
    for tree in (first, second):
        tree.run(9)
    assert first.lower == second.lower
    assert first.iterations == second.iterations
    for a, b in zip(first.nodes, second.nodes, strict=True):
        assert (a.parent, a.candidate, a.side, a.lower) == (b.parent, b.candidate, b.side, b.lower)


@pytest.mark.parametrize(("live", "opened"), [([0, 1, 4], []), ([0, 1, 2, 3, 4], [1, 2, 4])])
def test_one_solution_left_is_settled_by_its_cost(live, opened):
    cost = np.random.default_rng(4).random((5, 6))
    ids = np.array(live)
    lists = build_lists(cost[ids], np.full(6, 9.0))
    only = opened or live
    places = np.searchsorted(ids, opened).astype(np.int64)
    tree = Tree(
        lists, ids, places, Instance(3), Node(-1, -1, 0), np.ones(6), np.zeros(len(ids)), 9.0,
        lambda s: cost[s].min(axis=0),
    )  # fmt: skip
    assert tree.finished
    assert tree.lower == pytest.approx(cost[only].min(axis=0).sum(), rel=1e-12)
    assert tree.lower <= cost[only].min(axis=0).sum()
    assert tree.proposals[0].tolist() == only


def test_no_solution_left_leaves_the_incumbent():
    lists = build_lists(np.ones((2, 3)), np.full(3, 9.0))
    tree = Tree(
        lists, np.arange(2), NONE, Instance(3), Node(-1, -1, 0), np.ones(3), np.zeros(2), 7.0, lambda s: np.ones(3)
    )
    assert tree.finished
    assert tree.lower == 7.0


def test_pack_and_unpack_are_inverse():
    rng = np.random.default_rng(0)
    nodes = [Node(-1, -1, 0), Node(0, 3, -1), Node(0, 3, 1), Node(2, 1, -1), Node(2, 1, 1)]
    for number in (0, 0, 2, 4):
        dropped, opened = (rng.choice(6, int(rng.integers(0, 4)), replace=False) for _ in range(2))
        nodes[number].stages.append(Stage(rng.random(4), dropped, opened))
    tree = unpack(pack(nodes, 0.5, 1.0), 4, 6)
    assert tree.granularity == 0.5
    for got, node in zip(tree.nodes, nodes, strict=True):
        assert (got.parent, got.candidate, got.side) == (node.parent, node.candidate, node.side)
        assert len(got.stages) == len(node.stages)
        for a, b in zip(got.stages, node.stages, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_array_equal(x, y)
    scaled = unpack(pack(nodes, 1.0, 0.25), 4, 6)  # multipliers in quarters: no integers to round up to any more
    assert scaled.granularity == 0.0
    np.testing.assert_array_equal(scaled.nodes[0].stages[0].u, 0.25 * nodes[0].stages[0].u)
    bare = unpack(pack([Node(-1, -1, 0)], 0.0, 1.0), 4, 6)
    assert bare.nodes[0].stages == []


def test_work_is_counted_once():
    _, cost, k = hard(11, kind="uniform")
    tree = plant(cost, k, brute.optimum(cost, k), 0.0, 1)
    tree.run(3)
    assert tree.take_work() > 0
    assert tree.take_work() == 0
    assert evaluate(tree.lists, Instance(k), tree.nodes[0].stages[0].u).lower <= tree.lower
