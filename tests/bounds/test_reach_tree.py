"""Trees of linear programs: the relaxation is the textbook one, and recorded trees never prove more than the truth."""

from functools import cache
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from certiclust.bounds import service_program
from certiclust.bounds.branch_and_bound import Node, Stage, pack
from certiclust.bounds.lagrangian import Instance, evaluate
from certiclust.bounds.reach_tree import ReachTree
from certiclust.bounds.service_program import ServiceProgram
from certiclust.certificates import CertificateError
from certiclust.certificates.replay import Scale, replay, unpack
from certiclust.space.lists import build_lists, with_rows

seeds = st.integers(0, 2**32 - 1)
NONE = np.zeros(0, np.int64)
FAR = 1e4


def limited(seed):
    """Costs (candidates x clients), infinite out of reach, with ties and duplicates; k; and the cost of every set."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(4, 11)), int(rng.integers(4, 10))
    k = int(rng.integers(2, m))
    if rng.random() < 0.4:
        cost = rng.integers(0, 4, size=(m, n)).astype(float)
    elif rng.random() < 0.5:  # who is in reach of whom is random: fractional covers beat all others
        cost = 1.0 + 0.1 * rng.random((m, n))
    else:
        place = rng.integers(0, 5, size=(n, 2)) + 0.01 * rng.random((n, 2))
        cost = np.sqrt(((place[rng.integers(n, size=m)][:, None] - place) ** 2).sum(axis=2))
    cost[rng.random((m, n)) > rng.uniform(0.35, 0.8)] = np.inf
    if rng.random() < 0.2:
        cost[1] = cost[0]
    return rng, cost, k, {s: cost[list(s)].min(axis=0).sum() for s in combinations(range(m), k)}


def lists_of(cost):
    lists = build_lists(np.where(np.isfinite(cost), cost, FAR), np.full(cost.shape[1], FAR))
    assert lists is not None
    return lists


def program_of(cost, k, upper):
    start = np.where(np.isfinite(cost), cost, 0.0).max(axis=0)
    return ServiceProgram(lists_of(cost), k, upper, 0.5 * start, lambda: False, lambda: np.inf)


def plant(cost, k, upper, unit=0.0):
    ids, instance = np.arange(len(cost)), Instance(k, unit)
    return ReachTree(program_of(cost, k, upper), ids, NONE, instance, Node(-1, -1, 0), upper)


def textbook(cost, k, closed, opened, sets):
    """The relaxation with a variable for every pair."""
    m, n = cost.shape
    c = np.concatenate([np.zeros(m), np.where(np.isfinite(cost), cost, 0.0).ravel()])
    serve = np.zeros((n, c.size))
    link = np.zeros((m * n, c.size))
    for j in range(m):
        for i in range(n):
            at = m + j * n + i
            serve[i, at] = 1.0
            link[j * n + i, [at, j]] = 1.0, -1.0
    rows = np.zeros((len(sets), c.size))
    for t, members in enumerate(sets):
        rows[t, members] = -1.0
    total = np.concatenate([np.ones(m), np.zeros(m * n)])[None]
    limits = [(float(opened[j]), 1.0 - float(closed[j])) for j in range(m)]
    limits += [(0.0, 1.0 if np.isfinite(v) else 0.0) for v in cost.ravel()]
    upper = np.concatenate([np.zeros(m * n), -np.ones(len(sets)), [k]])
    answer = linprog(c, np.vstack([link, rows, total]), upper, serve, np.ones(n), limits)
    return answer.fun if answer.status == 0 else np.inf


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seeds)
def test_the_relaxation_is_that_of_the_textbook(seed):
    rng, cost, k, totals = limited(seed)
    upper = min(totals.values())
    assume(np.isfinite(upper) and upper > 0)
    program = program_of(cost, k, upper)
    m = len(cost)
    for _ in range(3):
        closed, opened = rng.random(m) < 0.15, rng.random(m) < 0.1
        opened &= ~closed
        assume(opened.sum() <= k)
        sets = [np.sort(rng.choice(m, 3, replace=False)) for _ in range(int(rng.integers(3)))]
        path = np.array([program.add_set(members) for members in sets], dtype=np.int64)
        program.move(closed, opened, path)
        goal = 2.0 * upper  # where no solution is left, the value is above it but finite
        with mock.patch.object(service_program, "PRECISE", 1e-9):
            found = program.relax(goal)
        truth = textbook(cost, k, closed, opened, sets)
        assert found.value >= goal or found.value == pytest.approx(truth, rel=1e-6, abs=1e-6)
        # its multipliers prove the same: the bound at them is the value
        place = np.cumsum(~closed) - 1
        kept = np.where(closed[:, None], np.inf, cost)[~closed]
        lists = with_rows(lists_of(kept), [place[s[~closed[s]]] for s in sets], FAR)
        if truth < goal and len(kept) >= k and lists.row_ptr[-1] > 0:
            u = np.minimum(np.concatenate([found.u, found.v[path]]), lists.radius)
            bound = evaluate(lists, Instance(k), u, opened[~closed].astype(np.int8))
            assert found.value - 1e-5 * upper <= bound.value <= truth * (1 + 1e-6) + 1e-6


def proved(tree, cost, k, unit, upper):
    m, n = cost.shape
    stored = unpack(pack(tree.nodes, unit, 1.0), n, m)
    return replay(stored, lambda ids: iter([cost[ids]]), Scale(n, m, k, 0, 0.0), upper)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(seeds, st.sampled_from([1, 30]), st.sampled_from([1.0, 1.3]))
def test_a_finished_tree_proves_the_optimum(seed, rounds, above):
    _, cost, k, totals = limited(seed)
    best = min(totals.values())
    assume(np.isfinite(best) and best > 0)
    whole = bool(np.all(cost[np.isfinite(cost)] == np.floor(cost[np.isfinite(cost)])))
    unit, upper = float(whole), best * above if not whole else best + round(3 * (above - 1))
    with mock.patch.object(service_program, "ROUNDS", rounds):  # unfinished programs make deep trees
        tree = plant(cost, k, upper, unit)
        for _ in range(2000):
            if tree.finished:
                break
            tree.run(1, lambda: False)
            assert tree.lower <= best * (1 + 1e-12)
            found = [totals[tuple(p)] for p in map(sorted, tree.proposals) if len(p) == k]
            tree.upper = min([tree.upper, *found])
    assert tree.finished
    assert tree.upper == pytest.approx(best, rel=1e-9)
    assert tree.lower * (1 - 1e-12) <= proved(tree, cost, k, unit, tree.upper) <= best * (1 + 1e-12)


@cache
def branched():
    """Trees that are split on sets: costs, k, the optimum, the cost at hand and the nodes."""
    found = []
    for seed in range(250):
        _, cost, k, totals = limited(seed)
        best = min(totals.values())
        if not (np.isfinite(best) and best > 0):
            continue
        with mock.patch.object(service_program, "ROUNDS", 1):
            tree = plant(cost, k, best * 1.3)
            for _ in range(8):
                tree.run(2, lambda: False)
        if any(node.members.size > 1 for node in tree.nodes):
            found.append((cost, k, best, best * 1.3, tree.nodes))
    return found


def test_trees_have_sets_and_several_levels():
    """The instances are not all solved at the root: trees branch on sets and single candidates, and rows add up."""
    nodes = [node for *_, tree in branched() for node in tree]
    assert {min(node.members.size, 2) for node in nodes} == {0, 1, 2}
    assert {min(stage.v.size, 2) for node in nodes for stage in node.stages} == {0, 1, 2}
    assert any(stage.v.max(initial=0.0) > 0 for node in nodes for stage in node.stages)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(seeds)
def test_no_corruption_is_accepted_and_false(seed):
    rng = np.random.default_rng(seed)
    cost, k, best, upper, nodes = branched()[int(rng.integers(len(branched())))]
    stored = pack(nodes, 0.0, 1.0)
    name = str(rng.choice([name for name in ("sets", "sets_end", "v", "candidate", "side", "u") if len(stored[name])]))
    values = np.array(stored[name])
    values.flat[int(rng.integers(values.size))] = rng.choice([-3, -2, -1, 0, 1, 2, 5, 100])
    m, n = cost.shape
    try:
        tree = unpack({**stored, name: values}, n, m)
        bound = replay(tree, lambda ids: iter([cost[ids]]), Scale(n, m, k, 0, 0.0), upper)
    except CertificateError:
        return
    assert bound <= best * (1 + 1e-12)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"candidate": [-1, -3, -3]}, "set that it does not list"),
        ({"candidate": [-1, -1, -1]}, "set that it does not list"),
        ({"candidate": [-1, 0, -2]}, "both sides"),
        ({"sets": [0, 9]}, "outside 0..3"),
        ({"sets": ["a", "b"]}, "malformed"),
        ({"v": []}, "multiplier for each set"),
        ({"v": [1.0, 1.0]}, "multiplier for each set"),
        ({"v": [-1.0]}, "multipliers"),
        ({"v": [float("nan")]}, "multipliers"),
        ({"parent": [-1, 2, 0]}, "no parent before it"),
    ],
)
def test_a_malformed_set_is_refused_with_the_reason(change, reason):
    cost = np.array([[1.0, 4.0, 3.0], [3.0, 1.0, 3.0], [2.0, 2.0, 5.0], [4.0, 4.0, 1.0]])
    u, pair = np.array([2.0, 2.0, 2.0]), np.array([0, 1])
    shut = Node(0, 0, -1, [Stage(u, NONE, NONE)], members=pair)
    lit = Node(0, 0, 1, [Stage(u, NONE, NONE, np.array([1.0]))], members=pair)
    stored = {key: np.asarray(v).tolist() for key, v in pack([Node(-1, -1, 0), shut, lit], 0.0, 1.0).items()}
    scale = Scale(3, 4, 2, 0, 0.0)

    def bound(tree):
        return replay(unpack(tree, 3, 4), lambda ids: iter([cost[ids]]), scale, 99.0)

    assert 0 < bound(stored) <= min(cost[list(s)].min(axis=0).sum() for s in combinations(range(4), 2))
    with pytest.raises(CertificateError, match=reason):
        bound({**stored, **change})


def test_clients_at_the_end_of_lists():
    rng = np.random.default_rng(0)
    cost = rng.random((6, 5))
    rows = [np.array([0, 3]), np.array([1, 2, 5]), NONE]
    lists = with_rows(build_lists(cost, np.full(5, 0.6)), rows, 7.0)
    more = np.vstack([cost.T, *(np.where(np.isin(np.arange(6), row), 0.0, 9.0) for row in rows)]).T
    truth = build_lists(np.ascontiguousarray(more), np.concatenate([np.full(5, 0.6), np.full(3, 7.0)]))
    for got, wanted in zip(lists, truth, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_stop_leaves_a_valid_tree():
    _, cost, k, totals = next(
        found for found in map(limited, range(1000)) if np.isfinite(min(found[3].values())) and len(found[1]) > 7
    )
    best = min(totals.values())
    tree = plant(cost, k, best * 1.1)
    count = len(tree.nodes)
    tree.run(10, lambda: True)
    assert len(tree.nodes) == count
    assert proved(tree, cost, k, 0.0, best * 1.1) <= best
