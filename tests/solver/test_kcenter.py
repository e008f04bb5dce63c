"""k-center through the loop, against brute force; covers, packings and trees against plain Python."""

import itertools
import time
import warnings
from dataclasses import replace
from math import inf

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from certiclust import Certificate, CertificateError, KCenter
from certiclust.bounds import cover_solver
from certiclust.bounds.cover_solver import ask_solver
from certiclust.bounds.cover_tree import CoverTree
from certiclust.bounds.odd_rows import violated_triples
from certiclust.bounds.packing import Packing, new_highs, relaxed_cover, whole
from certiclust.certificates.cover import proved_threshold
from certiclust.evolution.cover_search import CoverSearch
from certiclust.evolution.kernels import cover as kernels
from certiclust.evolution.kernels.rng import seeded
from certiclust.problems import KCenterProblem
from certiclust.solver.kcenter import Limits
from certiclust.solver.kcenter_run import run_kcenter
from certiclust.space import Metric, build_space, precomputed_space
from certiclust.space.cover import ClientLists, Cover, maximal, minimal, sets_of
from certiclust.space.farthest import farthest_first
from tests import naive
from tests.instances import quick, thorough

seeds = st.integers(0, 2**32 - 1)


def optimum(D, k):
    return min(D[list(s)].min(axis=0).max() for s in itertools.combinations(range(len(D)), k))


def instance(rng, most=10):
    """Points or a symmetric matrix, metric or not, with ties and duplicates; weights, some of them zero; k."""
    n = int(rng.integers(1, most + 1))
    kind = str(rng.choice(["uniform", "grid", "duplicates", "same", "rotated", "integer", "exponential"]))
    weights = None
    if rng.random() < 0.3:
        weights = rng.integers(0, 3, n).astype(float)
        weights[rng.integers(n)] = 1.0
    if kind in ("integer", "exponential"):
        D = rng.integers(0, 9, (n, n)).astype(float) if kind == "integer" else rng.exponential(size=(n, n))
        D = np.triu(D, 1)
        X, options = D + D.T, {"metric": "precomputed"}
    else:
        X = {
            "uniform": lambda: rng.random((n, 2)),
            "grid": lambda: rng.integers(0, 4, (n, 2)).astype(float),
            "duplicates": lambda: rng.random((max(1, n // 2), 2))[rng.integers(0, max(1, n // 2), n)],
            "same": lambda: np.ones((n, 2)),
            # Distances that are equal in truth and differ in the last bits.
            "rotated": lambda: rng.integers(0, 4, (n, 2)) @ np.array([[0.6, 0.8], [-0.8, 0.6]]) / 3 + 1e3,
        }[kind]()
        options = {"metric": str(rng.choice(["euclidean", "manhattan", "chebyshev", "sqeuclidean", "haversine"]))}
    clients = np.arange(n) if weights is None else np.flatnonzero(weights)
    if options["metric"] == "precomputed":
        D = X[np.ix_(clients, clients)]
    else:
        D = Metric.of(options["metric"]).block(X[clients], X[clients])
    return X, weights, options, D, int(rng.choice([1, len(clients), rng.integers(1, len(clients) + 1)]))


def fitted(X, weights=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KCenter(**{"random_state": 0, **options}).fit(X, sample_weight=weights)


@thorough
@given(seed=seeds)
def test_optimal_and_proved_on_tiny_instances(seed):
    X, weights, options, D, k = instance(np.random.default_rng(seed))
    est = fitted(X, weights, n_clusters=k, **options)
    best = optimum(D, k)
    certificate = est.certificate_
    assert est.cost_ == pytest.approx(best, rel=1e-12, abs=1e-15)
    assert certificate.lower_bound <= best * (1 + 1e-12) + 1e-15
    assert certificate.optimal or options["metric"] == "haversine"  # where an absolute error drowns tiny distances
    certificate.verify(X, weights)


def cover_problem(rng, rows=12, columns=10):
    """A random cover problem in which every row can be covered, as a matrix and as a `Cover`."""
    inside = rng.random((int(rng.integers(1, rows)), int(rng.integers(1, columns)))) < rng.uniform(0.1, 0.6)
    inside[np.arange(len(inside)), rng.integers(0, inside.shape[1], len(inside))] = True
    return inside, as_cover(inside)


def as_sets(inside):
    from scipy.sparse import csr_array

    return sets_of(csr_array(inside.astype(np.int8)))


def as_cover(inside):
    return Cover(np.arange(len(inside)), np.arange(inside.shape[1]), as_sets(inside), as_sets(inside.T))


def coverable(inside, k):
    return any(inside[:, list(s)].any(axis=1).all() for s in itertools.combinations(range(inside.shape[1]), k))


@quick
@given(seed=seeds)
def test_dominance_twins(seed):
    """Maximal columns and minimal rows, one of equal ones each, the first in the order of looking."""
    inside, cover = cover_problem(np.random.default_rng(seed))
    columns = [frozenset(np.flatnonzero(c)) for c in inside.T]
    kept = []
    for j in sorted(range(len(columns)), key=lambda j: -len(columns[j])):
        if columns[j] and not any(columns[j] <= columns[i] for i in kept):
            kept.append(j)
    np.testing.assert_array_equal(maximal(cover.by_column), sorted(kept))
    rows = [frozenset(np.flatnonzero(r)) for r in inside]
    kept = []
    for a in sorted(range(len(rows)), key=lambda a: len(rows[a])):
        if not any(rows[b] <= rows[a] for b in kept):
            kept.append(a)
    np.testing.assert_array_equal(minimal(cover.by_client), sorted(kept))
    forced = np.arange(len(columns))[:2]
    assert set(forced) <= set(maximal(cover.by_column, forced))


def test_bit_sets_beyond_one_word():
    """The same with more rows and columns than bits in a word."""
    for seed in range(5):
        inside = np.random.default_rng(seed).random((150, 140)) < 0.05
        inside[:, :70] |= inside[:, 70:]
        inside[np.arange(150), np.arange(150) % 140] = True
        columns = inside.T
        within = (columns.astype(int) @ ~columns.T) == 0  # [j, i]: j inside i
        largest = [
            j for j in range(140) if not any(within[j, i] and (not within[i, j] or i < j) for i in range(140) if i != j)
        ]
        np.testing.assert_array_equal(maximal(as_sets(columns)), largest)


class NaiveTabu:
    """The search of `kernels.advance` by recounting everything, from the same random numbers."""

    def __init__(self, inside, chosen, state):
        self.inside, self.chosen, self.rng = inside, list(chosen), naive.Xoroshiro(state)
        self.weight = np.ones(len(inside), dtype=int)
        self.free = np.zeros(inside.shape[1], dtype=int)
        self.uncovered = [a for a in range(len(inside)) if not inside[a, self.chosen].any()]

    def left(self, chosen):
        return int(self.weight[~self.inside[:, chosen].any(axis=1)].sum())

    def step(self, number, tenure):
        before = self.left(self.chosen)
        a = self.uncovered[self.rng.below(len(self.uncovered))]
        waiting = [j for j in np.flatnonzero(self.inside[a]) if self.free[j] <= number]
        best, move, ties = inf, None, 0
        while waiting:
            gains = [before - self.left([*self.chosen, j]) for j in waiting]
            top = int(np.argmax(gains))
            j, gain = waiting[top], gains[top]
            last = waiting.pop()
            if top < len(waiting):
                waiting[top] = last
            if before - gain > best:
                break
            for t, c in enumerate(self.chosen):
                if self.free[c] > number:
                    continue
                value = self.left([*self.chosen[:t], *self.chosen[t + 1 :], j])
                ties = 1 if value < best else ties + (value == best)
                if value < best or (value == best and self.rng.below(ties) == 0):
                    best, move = value, (j, t)
        if move is None:
            return
        j, t = move
        gone = self.chosen[t]
        self.cover_once_more(j)
        self.chosen[t] = j
        for b in np.flatnonzero(self.inside[:, gone]):
            if not self.inside[b, self.chosen].any():
                self.uncovered.append(int(b))
        self.free[[gone, j]] = number + 2 + self.rng.below(tenure)
        if self.left(self.chosen) >= before:
            self.weight[self.uncovered] += 1

    def cover_once_more(self, j):
        for b in np.flatnonzero(self.inside[:, j]):
            if b in self.uncovered:
                place = self.uncovered.index(b)
                last = self.uncovered.pop()
                if place < len(self.uncovered):
                    self.uncovered[place] = last


def new_trial(cover, chosen):
    n_rows, n_columns = cover.by_client.number, cover.by_column.number
    rows = [np.zeros(n_rows, np.int64) for _ in range(4)]
    columns = [np.zeros(n_columns, np.int64) for _ in range(3)]
    return kernels.Trial(
        np.array(chosen, np.int64), columns[0], np.ones(n_rows, np.int64), rows[0], rows[1], columns[1], rows[2],
        rows[3], columns[2], np.zeros(4, np.int64),
    )  # fmt: skip


@quick
@given(seed=seeds)
def test_tabu_twin(seed):
    """Step by step the same columns, weights and uncovered rows as by recounting."""
    rng = np.random.default_rng(seed)
    inside, cover = cover_problem(rng, rows=20, columns=14)
    k = int(rng.integers(1, inside.shape[1] + 1))
    chosen = rng.choice(inside.shape[1], k, replace=False)
    lists = kernels.Lists(cover.by_client.start, cover.by_client.member, cover.by_column.start, cover.by_column.member)
    state, trial = seeded(seed), new_trial(cover, chosen)
    kernels.load(lists, trial)
    twin = NaiveTabu(inside, chosen, state)
    for number in range(1, 16):
        assert trial.tally[0] == len(twin.uncovered)
        done = kernels.advance(lists, trial, state, 10**9, 1, 3)
        assert done == (trial.tally[0] == 0)
        if twin.uncovered:
            twin.step(number, 3)
        np.testing.assert_array_equal(trial.chosen, twin.chosen)
        np.testing.assert_array_equal(trial.weight, twin.weight)
        np.testing.assert_array_equal(trial.uncovered[: trial.tally[0]], twin.uncovered)
        assert trial.tally[1] == twin.left(twin.chosen)


@thorough
@given(seed=seeds)
def test_trees_prove_exactly_what_is_true(seed):
    """A tree ends with a proof if no k columns cover all rows, and with a cover otherwise."""
    rng = np.random.default_rng(seed)
    inside, cover = cover_problem(rng, rows=14, columns=12)
    k = int(rng.integers(1, inside.shape[1] + 1))
    tree = CoverTree(cover, k, np.arange(0, len(inside), 2), lambda: False, lambda: inf)
    proved = tree.run(1e12)
    assert proved == (not coverable(inside, k))
    if not proved:
        assert tree.found is not None
        assert tree.found.size <= k
        assert inside[:, tree.found].any(axis=1).all()


def odd_cycles(count):
    """Rows and columns of 5-cycles: each needs 3 columns, its relaxation only 2.5, so weights alone prove nothing."""
    cycle = np.eye(5, dtype=bool) | np.roll(np.eye(5, dtype=bool), 1, axis=1)
    return np.kron(np.eye(count, dtype=bool), cycle)


@pytest.mark.parametrize("count", [2, 3])
def test_trees_where_weights_do_not_suffice(count):
    inside = odd_cycles(count)
    k = 3 * count - 1
    tree = CoverTree(as_cover(inside), k, np.arange(len(inside)), lambda: False, lambda: inf)
    assert tree.run(1e12)
    assert len(tree.nodes) > 1
    assert not CoverTree(as_cover(inside), k + 1, np.arange(len(inside)), lambda: False, lambda: inf).run(1e12)


def cycle_matrix(count):
    """A symmetric matrix in which k-center below 2 is to cover odd cycles: distance 1 along them, 2 elsewhere."""
    n = 5 * count
    D = np.full((n, n), 2.0)
    for c in range(count):
        for i in range(5):
            a, b = 5 * c + i, 5 * c + (i + 1) % 5
            D[a, b] = D[b, a] = 1.0
    np.fill_diagonal(D, 0.0)
    return D


def hard_matrix(seed=0, n=40, density=0.13):
    """Distances 1 and 2 at random: whether 1 is possible is a dominating-set problem."""
    D = np.where(np.random.default_rng(seed).random((n, n)) < density, 1.0, 2.0)
    D = np.triu(D, 1)
    return D + D.T


def tree_case():
    """An instance whose certificate needs a tree."""
    for seed in range(20):
        D = hard_matrix(seed)
        for k in range(5, 12):
            certificate = fitted(D, n_clusters=k, metric="precomputed").certificate_
            if certificate.witness.get("cover", {}).get("proof") == "tree":
                return D, k, certificate
    raise AssertionError("no instance needs a tree")


def refused(certificate, X, weights=None):
    with pytest.raises(CertificateError) as caught:
        Certificate.from_dict(certificate.to_dict()).verify(X, weights)
    return str(caught.value)


def altered(certificate, **changes):
    return replace(certificate, witness={**certificate.witness, "cover": {**certificate.witness["cover"], **changes}})


def test_a_tree_is_verified_and_every_corruption_refused(tmp_path):
    D, k, certificate = tree_case()
    certificate.verify(D)
    certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == certificate
    cover = {key: np.asarray(v).tolist() for key, v in certificate.witness["cover"].items()}
    assert "do" in refused(altered(certificate, y=[0] * len(cover["y"])), D)
    refused(altered(certificate, y=[-v for v in cover["y"]]), D)
    refused(altered(certificate, side=[0] * len(cover["side"])), D)
    refused(altered(certificate, parent=[-1] * len(cover["parent"])), D)
    refused(altered(certificate, columns=cover["columns"][: len(cover["columns"]) // 2]), D)
    refused(altered(certificate, clients=cover["clients"][1:]), D)
    refused(altered(certificate, threshold=1e9), D)
    refused(altered(certificate, threshold=float("nan")), D)
    refused(altered(certificate, proof="faith"), D)
    refused(altered(certificate, y_row=[10**6] * len(cover["y_row"])), D)
    refused(replace(certificate, n_clusters=k + 1), D)
    truncated = {key: cover[key][:1] for key in ("parent", "side", "first", "second")}
    ends = cover["y_end"][:1]
    refused(altered(certificate, **truncated, y_end=ends, y_row=cover["y_row"][: ends[0]], y=cover["y"][: ends[0]]), D)


def test_corrupted_packings_are_refused():
    X = np.random.default_rng(0).random((60, 2))
    certificate = fitted(X, n_clusters=6).certificate_
    cover = certificate.witness["cover"]
    assert cover["proof"] == "packing"
    assert certificate.optimal
    certificate.verify(X)
    clients, y = np.array(cover["clients"]), np.array(cover["y"])
    moved = clients.copy()
    moved[np.argmax(y)] = np.setdiff1d(np.arange(60), clients)[0]
    refused(altered(certificate, clients=moved.tolist()), X)
    refused(altered(certificate, clients=[*clients[:-1].tolist(), int(clients[0])]), X)
    refused(altered(certificate, threshold=certificate.cost * 1.01), X)
    refused(replace(certificate, cost=certificate.cost * 0.99), X)
    refused(replace(certificate, lower_bound=certificate.cost * (1 + 1e-9)), X)
    others = certificate.witness["centers"]
    refused(replace(certificate, n_clusters=7, witness={**certificate.witness, "centers": [*others, 0]}), X)
    assert refused(certificate, X + 1e-9).startswith("data")
    refused(altered(certificate, y=(y + 0.5).tolist()), X)


def test_the_word_of_a_solver_is_checked_by_solving_again():
    D = cycle_matrix(1)
    certificate = fitted(D, n_clusters=2, metric="precomputed").certificate_
    assert certificate.cost == 1.0
    trusted = {"proof": "solver", "threshold": 1.0, "clients": np.arange(5), "columns": np.arange(5)}
    replace(certificate, witness={**certificate.witness, "cover": trusted}).verify(D)
    refused(replace(certificate, witness={**certificate.witness, "cover": {**trusted, "threshold": 1.5}}), D)
    refused(replace(certificate, witness={**certificate.witness, "cover": {**trusted, "columns": np.arange(3)}}), D)


@quick
@given(seed=seeds)
def test_the_solver_says_what_is_true(seed):
    rng = np.random.default_rng(seed)
    inside, cover = cover_problem(rng, rows=14, columns=12)
    k = int(rng.integers(1, inside.shape[1] + 1))
    answer = ask_solver(cover, k, lambda: False, inf)
    assert answer.impossible == (not coverable(inside, k))
    if not answer.impossible:
        assert answer.found.size <= k
        assert inside[:, answer.found].any(axis=1).all()


@pytest.fixture
def no_tree(monkeypatch):
    """Trees that always come to their end without an answer, and a problem that needs one."""
    D, k, _ = tree_case()

    def run(tree, work):
        tree._pair_work += work
        return False

    monkeypatch.setattr(CoverTree, "run", run)
    return D, k


def test_the_solver_is_asked_where_a_tree_failed(no_tree, tmp_path):
    D, k = no_tree
    certificate = fitted(D, n_clusters=k, metric="precomputed").certificate_
    assert certificate.optimal
    assert certificate.witness["cover"]["proof"] == "solver"
    assert "the word of the solver HiGHS" in str(certificate)
    assert "optimal, proved" not in str(certificate)
    certificate.verify(D)
    certificate.save(tmp_path / "c.json")
    Certificate.load(tmp_path / "c.json").verify(D)
    refused(replace(certificate, n_clusters=k + 1), D)
    refused(altered(certificate, clients=certificate.witness["cover"]["clients"][:3]), D)


def test_a_solver_at_its_limit_proves_nothing(no_tree, monkeypatch):
    D, k = no_tree
    monkeypatch.setattr(cover_solver, "MOST_NODES", 0)
    monkeypatch.setattr(cover_solver, "new_highs", lambda seconds, **options: new_highs(1e-9, **options))
    certificate = fitted(D, n_clusters=k, metric="precomputed").certificate_
    assert not certificate.optimal
    assert certificate.witness.get("cover", {}).get("proof") != "solver"
    certificate.verify(D)


def joint_row(inside, triple):
    return np.ceil(inside[list(triple)].sum(axis=0) / 2)


@quick
@given(seed=seeds)
def test_joint_rows_hold_for_every_cover_and_violated_ones_are_found(seed):
    rng = np.random.default_rng(seed)
    inside, cover = cover_problem(rng, rows=9, columns=8)
    triples = list(itertools.combinations(range(len(inside)), 3))
    for size in range(1, inside.shape[1] + 1):
        for chosen in itertools.combinations(range(inside.shape[1]), size):
            if inside[:, list(chosen)].any(axis=1).all():
                assert all(joint_row(inside, triple)[list(chosen)].sum() >= 2 for triple in triples)
    x = relaxed_cover(cover, inf, vertex=True).x
    worst = {triple: 2 - joint_row(inside, triple) @ x for triple in triples}
    found = [tuple(sorted(triple)) for triple in violated_triples(inside, x, 1000).rows.tolist()]
    assert all(worst[triple] > 0.02 for triple in found)
    # A triple that shares nothing in some pair cannot be violated; the others are looked at if their rows are tight.
    tight = inside @ x <= 1.19
    if any(gain > 0.04 and tight[list(triple)].all() for triple, gain in worst.items()):
        assert found


def test_triples_prove_what_rows_alone_do_not():
    """Three rows and a column for each pair of them: 1.5 columns in the relaxation, 2 in truth, and no split."""
    inside = np.kron(np.eye(3, dtype=bool), ~np.eye(3, dtype=bool))
    tree = CoverTree(as_cover(inside), 5, np.arange(len(inside)), lambda: False, lambda: inf)
    assert tree.run(1e12)
    assert len(tree.nodes) == 1


def triple_case():
    """Three times three points, with a fourth, fifth and sixth near two of them each: 5 centres at distance 1 fail.

    The relaxation needs only 3 * 3/2 centres.
    """
    part = np.full((6, 6), 2.0)
    part[3:, 3:] = 1.0
    for i in range(3):
        for j in range(3):
            if i != j:
                part[i, 3 + j] = part[3 + j, i] = 1.0
    np.fill_diagonal(part, 0.0)
    D = np.full((18, 18), 3.0)
    for c in range(0, 18, 6):
        D[c : c + 6, c : c + 6] = part
    certificate = fitted(D, n_clusters=5, metric="precomputed").certificate_
    assert certificate.witness["cover"]["proof"] == "packing"
    assert certificate.optimal
    return D, certificate


def test_corrupted_triples_are_refused():
    X, certificate = triple_case()
    certificate.verify(X)
    triples = np.array(certificate.witness["cover"]["triples"])
    refused(altered(certificate, triples=triples[:-1].tolist()), X)
    refused(altered(certificate, triples=triples[:-3].tolist()), X)
    refused(altered(certificate, triples=(triples + 10**6).tolist()), X)
    refused(altered(certificate, triples=(-1 - triples).tolist()), X)
    refused(altered(certificate, triples=np.roll(triples, 1).tolist()), X)
    refused(altered(certificate, threshold=3.0), X)


@quick
@given(seed=seeds)
def test_packings_never_prove_too_much(seed):
    """Any weights: what is proved is true, and the largest threshold proved is found."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 9)), int(rng.integers(1, 3))
    D = naive.matrix("euclidean", *[rng.integers(0, 5, (n, 2)).astype(float)] * 2)
    space = precomputed_space(D, np.ones(n), own=True)
    some = rng.permutation(n)[: int(rng.integers(1, n + 1))]
    lists = ClientLists(space, some, float(D.max()) + 1)
    y = whole(rng.random(some.size) * (rng.random(some.size) < 0.7))
    triples = rng.integers(0, some.size, (int(rng.integers(0, 4)), 3))
    packing = Packing(lists, y, k, triples, whole(rng.random(len(triples))))
    best = optimum(D, k)
    thresholds = [*np.unique(D[some]), float(D.max()) + 1]
    proved = [t for t in thresholds if packing.proves(t)]
    assert all(t <= best for t in proved)
    if proved and proved[0] < proved[-1]:
        assert packing.stretched(proved[0], thresholds[-1]) == proved[-1]
    for t in proved:
        if t > 0:
            assert proved_threshold(packing.witness(float(t)), lambda clients: iter([D[clients]]), n, k) == t


@quick
@given(seed=seeds)
def test_lists_hold_what_is_nearer_than_the_limit(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    X = rng.integers(0, 5, (n, 2)).astype(float)
    with sklearn.config_context(working_memory=1024 if rng.random() < 0.5 else 1e-5):
        space = build_space(X, None, Metric.of("manhattan"), np.ones(n))
    D = naive.matrix("manhattan", X, X)
    pool = None if rng.random() < 0.5 else np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    lists = ClientLists(space, rng.permutation(n)[: n // 2], 6.0, pool)
    lists.add(rng.integers(0, n, 3))
    lists.shrink(float(rng.choice([6.0, 3.0])))
    seen = np.arange(n) if pool is None else pool
    for threshold in (0.5, 1.0, 2.0, 3.0):
        sets = lists.within(threshold)
        for a, client in enumerate(lists.clients):
            members = sets.member[sets.start[a] : sets.start[a + 1]]
            np.testing.assert_array_equal(members, seen[D[client, seen] < threshold])
    np.testing.assert_array_equal(lists.place[lists.clients], np.arange(lists.clients.size))
    assert lists.complete == (lists.clients.size == n)


def test_gaps_keep_clear_of_nearly_equal_distances():
    space = precomputed_space(np.zeros((2, 2)), np.ones(2), own=True)
    lists = ClientLists(space, np.array([0]), 2.0)
    lists.distance = np.array([0.5, 1.0 - 2.5e-12, 1.0 - 1e-12, 1.0, 1.5])
    threshold = lists.gap_below(1.0, 1e-12, 0.0)
    assert threshold < 1.0 - 2.5e-12
    assert not np.any(np.abs(lists.distance / threshold - 1) < 1e-12)
    assert lists.gap_below(1.5, 1e-12, 0.0) == pytest.approx(1.5, rel=1e-11)
    assert lists.gap_below(1.0, 0.0, 0.0) == 1.0


def test_farthest_first_proves_its_own_ratio():
    rng = np.random.default_rng(1)
    for _ in range(20):
        X = rng.random((12, 2))
        space = build_space(X, None, Metric.of("euclidean"), np.ones(12))
        problem = KCenterProblem(space, 4)
        order, at, nearest = farthest_first(problem.space, 4, int(rng.integers(12)))
        assert problem.f1(np.sort(order))[1] >= 0
        assert at[-1] >= nearest.max() == problem.cost(order)
        search = CoverSearch(problem, 0, lambda: False)
        search.start()
        assert search.h >= search.upper
        points = np.asarray(search.apart)
        assert naive.separation(naive.matrix("euclidean", X, X), points) >= search.h


def test_middling_instances_without_a_matrix(monkeypatch):
    """The path from coordinates, with a pool of candidates, proves the same optimum."""
    from certiclust.evolution import cover_search

    X = np.random.default_rng(5).random((150, 2))
    held = fitted(X, n_clusters=6)
    monkeypatch.setattr(cover_search, "POOL_FROM", 100)
    monkeypatch.setattr(cover_search, "POOL", 40)
    with sklearn.config_context(working_memory=0.02):
        fly = fitted(X, n_clusters=6)
    assert held.certificate_.optimal
    assert fly.certificate_.lower_bound <= held.cost_
    assert fly.cost_ <= 1.1 * held.cost_
    fly.certificate_.verify(X)


def test_the_same_seed_gives_the_same_answer():
    X = np.random.default_rng(2).random((300, 2))
    one, two = (fitted(X, n_clusters=12) for _ in range(2))
    assert one.certificate_ == two.certificate_
    assert one.n_iter_ == two.n_iter_
    assert one.certificate_.guarantee.ratio == 2.0


def test_limits_are_kept():
    X = np.random.default_rng(3).random((1500, 2))
    start = time.process_time()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        est = KCenter(40, time_limit=0.5, random_state=0).fit(X)
    assert time.process_time() - start < 1.2 * 0.5 + 0.1 + 0.3  # CPU seconds: the machine may be busy
    est.certificate_.verify(X)
    few = KCenter(40, max_iter=50, random_state=0).fit(X)
    assert few.n_iter_ <= 50
    rough = KCenter(40, gap_tol=1.0, random_state=0).fit(X)
    assert rough.certificate_.gap <= 1.0


def test_stopping_at_any_moment_leaves_a_true_certificate():
    D = hard_matrix(3, n=30)
    space = precomputed_space(D, np.ones(30), own=True)
    best = KCenter(5, metric="precomputed", random_state=0).fit(D).cost_
    for moment in (*range(0, 40, 3), 60, 100):
        calls = itertools.count()
        limits = Limits(0.0, inf, lambda calls=calls, moment=moment: next(calls) > moment)
        run = run_kcenter(KCenterProblem(space, 5), limits, 0, lambda *_: None)
        assert run.bound.value <= best <= KCenterProblem(space, 5).cost(run.centers)


def test_the_relaxation_is_solved():
    cover = as_cover(odd_cycles(2))
    for vertex in (False, True):
        solution = relaxed_cover(cover, inf, vertex=vertex)
        assert solution.value == pytest.approx(5.0, abs=1e-4)
        assert solution.y.sum() == pytest.approx(5.0, abs=1e-3)


@thorough
@given(seed=seeds)
def test_the_fewest_clusters_for_a_radius(seed):
    rng = np.random.default_rng(seed)
    X, weights, options, D, _ = instance(rng, most=8)
    if options["metric"] == "haversine":
        options["metric"] = "euclidean"
        D = (
            Metric.of("euclidean").block(X, X)
            if weights is None
            else Metric.of("euclidean").block(*[X[weights > 0]] * 2)
        )
    optima = [optimum(D, k) for k in range(1, len(D) + 1)]
    radius = float(rng.choice([*np.unique(D), 0.5 * D.max(), 2 * D.max()]))
    least = next(k for k, best in enumerate(optima, 1) if best <= radius)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = KCenter(random_state=0, **options).min_clusters(X, radius, weights)
    assert est.n_clusters == least
    assert est.cost_ <= radius
    assert len(est.center_indices_) == least
    est.certificate_.verify(X, weights)
    nearly = least > 1 and optima[least - 2] <= radius * (1 + 1e-12) + 1e-15  # rounding is larger than the difference
    assert nearly or est.n_clusters_lower_bound_ == least
    if least > 1 and not nearly:
        fewer = est.min_clusters_certificate_
        assert fewer.n_clusters == least - 1
        assert radius < fewer.lower_bound <= optima[least - 2] * (1 + 1e-12)
        fewer.verify(X, weights)
    else:
        assert est.min_clusters_certificate_ is None or nearly


def test_the_fewest_clusters_of_more_points():
    X = np.random.default_rng(4).random((300, 2))
    est = KCenter(random_state=0).min_clusters(X, 0.15)
    assert est.n_clusters_lower_bound_ == est.n_clusters
    assert est.min_clusters_certificate_.lower_bound > 0.15 >= est.cost_
    est.min_clusters_certificate_.verify(X)
    assert KCenter().min_clusters(X, 0.0).n_clusters == 300
    assert KCenter().min_clusters(X, 2.0).n_clusters == 1
    for wrong in (-1.0, float("nan"), float("inf"), "far"):
        with pytest.raises(ValueError, match="radius"):
            KCenter().min_clusters(X, wrong)


@settings(quick, max_examples=20)
@given(seeds)
def test_gsemo_goes_on_from_farthest_first_points_and_keeps_its_condition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    k = int(rng.integers(2, min(n, 9)))
    points = rng.integers(0, 6, (n, 2)).astype(float) if seed % 2 else rng.random((n, 2))
    if len(np.unique(points, axis=0)) <= k:
        return
    problem = KCenterProblem(build_space(points, None, Metric.of("euclidean"), np.ones(n)), k)
    search = CoverSearch(problem, seed % 1000, lambda: False, 1200)
    search.start()
    for _ in range(4):
        for member in search.population:
            assert member.f1 == pytest.approx(problem.f1(member.centers), abs=1e-12)
        # P holds no dominated solution: f1 falls strictly as the size grows. The condition is met and not lost.
        values = [member.f1 for member in search.population]
        sizes = [member.centers.size for member in search.population]
        assert sorted(set(sizes)) == sizes
        assert sorted(set(values), reverse=True) == values
        assert sizes[-1] == k
        assert values[-1][1] >= -1e-12
        assert search.upper <= problem.radius(search.population[-1].centers)
        assert search.generations <= 1200
        before = values[-1]
        search.breed()
        assert search.population[-1].f1 >= before
    assert search.generations == 1200
    apart = points[search.apart]
    assert len(apart) == k + 1
    gaps = np.linalg.norm(apart[:, None] - apart[None], axis=2)[np.triu_indices(k + 1, 1)]
    assert gaps.min() >= search.h * (1 - 1e-12)


def test_offspring_of_the_tabu_search_enter_the_population():
    """Two upright triples: the middle points have the least radius and the largest f1; no prefix holds both."""
    points = np.array([[0.0, -5.0], [0.0, 0.0], [0.0, 5.0], [100.0, -5.0], [100.0, 0.0], [100.0, 5.0]])
    problem = KCenterProblem(build_space(points, None, Metric.of("euclidean"), np.ones(6)), 2)
    search = CoverSearch(problem, 0, lambda: False)
    search.start()
    assert search.population[-1].f1[1] < 95.0
    search.offer(np.array([1, 4]))
    assert search.population[-1].centers.tolist() == [1, 4]
    assert search.population[-1].f1 == (0, 95.0)
