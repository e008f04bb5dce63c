"""Candidate sets: the factor holds for every subset of the rows, and the sizes stay what they were found to be."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from certiclust.space.candidates import budgeted, candidate_set, data_points, ladder, lattice, midpoints, universal

FAMILIES = ["uniform", "blobs", "powers", "two scales", "line", "grid", "duplicates", "far"]
MANY = 10**6


def family(name, n, width, rng):
    if name == "uniform":
        return rng.random((n, width))
    if name == "blobs":
        return (rng.random((3, width)) * 10)[rng.integers(0, 3, n)] + rng.normal(0, 0.3, (n, width))
    if name == "powers":
        return np.column_stack([2.0 ** np.arange(n), *rng.random((width - 1, n))])
    if name == "two scales":
        X = rng.normal(0, 1e-2, (n, width))
        X[-2:] = 0.0
        X[-2, 0], X[-1, -1] = 5.0, 7.0
        return X
    if name == "line":
        return np.sort(rng.random(n))[:, None] * rng.normal(size=width)
    if name == "grid":
        return rng.integers(0, 4, (n, width)).astype(float)
    if name == "duplicates":
        return rng.random((n // 2, width))[rng.integers(0, n // 2, n)]
    return rng.random((n, width)) + 1e5


def subsets(n):
    return ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(float)


def means_and_costs(X, w):
    """Return mean, cost and weight of every subset, centred first so that nothing cancels."""
    M = subsets(len(X)) * w
    Z = X - X[0]
    mass = M.sum(axis=1)
    means = M @ Z / mass[:, None]
    costs = np.zeros(len(M))
    for i, z in enumerate(Z):
        costs += M[:, i] * np.square(z - means).sum(axis=1)
    return means, costs, mass


def worst_excess(X, w, candidates):
    """Return the largest (cost with the best candidate) / cost - 1 over all subsets with a cost."""
    means, costs, mass = means_and_costs(X, w)
    extra = mass * cKDTree(candidates - X[0]).query(means)[0] ** 2
    real = costs > 1e-12 * costs.max(initial=0)
    assert np.all(extra[~real] <= 1e-9 * max(costs.max(initial=0), 1e-300))
    return float((extra[real] / costs[real]).max(initial=0.0))


def least_partition(f, n, k):
    """Return the least sum of f over partitions into at most k parts; f[mask], f[0] = 0."""
    best = f.copy()
    for _ in range(k - 1):
        after = best.copy()
        for mask in range(1, 1 << n):
            low = mask & -mask
            rest = mask ^ low
            parts = np.array([sub for sub in range(rest + 1) if sub & rest == sub]) | low
            after[mask] = min(after[mask], (f[parts] + best[mask ^ parts]).min())
        best = after
    return best[-1]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("n", "width"), [(12, 2), (10, 3), (10, 4), (10, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_subset_has_a_candidate_of_the_ladder(name, n, width, weighted):
    rng = np.random.default_rng([n, width, weighted, FAMILIES.index(name)])
    X = family(name, n, width, rng)
    w = 10.0 ** rng.uniform(-3, 3, n) if weighted else np.ones(n)
    for epsilon in (1.0, 0.5) if width > 2 else (1.0, 0.5, 0.1):
        chosen = ladder(X, w, epsilon, MANY)
        assert (chosen.name, chosen.epsilon) == ("ladder", epsilon)
        assert worst_excess(X, w, chosen.points) <= epsilon * (1 + 1e-6)


def test_the_unweighted_start_would_not_do_for_weights():
    # Two points, one of weight 1e-4: the mean is much nearer to the other than any unweighted mean would be.
    X, w = np.array([[0.0], [1.0]]), np.array([1.0, 0.02])
    assert worst_excess(X, w, ladder(X, np.ones(2), 0.01, MANY).points) > 0.01
    assert worst_excess(X, w, ladder(X, w, 0.01, MANY).points) <= 0.01


@pytest.mark.parametrize("name", FAMILIES)
def test_data_points_and_midpoints(name):
    rng = np.random.default_rng(FAMILIES.index(name))
    for w in (np.ones(9), 10.0 ** rng.uniform(-2, 2, 9)):
        X = family(name, 9, int(rng.integers(1, 4)), rng)
        # A cluster's weighted sum over its rows of the cost around them is twice its cost times its weight.
        assert worst_excess(X, w, data_points(X).points) <= 1 + 1e-9
        assert worst_excess(X, w, midpoints(X, MANY).points) <= 0.5 + 1e-9


@pytest.mark.parametrize("name", ["uniform", "blobs", "two scales", "duplicates"])
def test_the_optimum_over_the_candidates(name):
    rng = np.random.default_rng(5)
    n = 9
    X = family(name, n, 2, rng)
    for w in (np.ones(n), rng.random(n) * 3 + 0.1):
        means, costs, mass = means_and_costs(X, w)
        exact = np.concatenate([[0.0], costs])
        for epsilon in (0.5, 0.1):
            extra = mass * cKDTree(ladder(X, w, epsilon, MANY).points - X[0]).query(means)[0] ** 2
            for k in (2, 3):
                best = least_partition(exact, n, k)
                over = least_partition(np.concatenate([[0.0], costs + extra]), n, k)
                assert best <= over * (1 + 1e-12)
                assert over <= (1 + epsilon) * best * (1 + 1e-9)
                cut = budgeted(X, w, epsilon, 3 * best, 3.0, MANY)
                extra_cut = mass * cKDTree(cut.points - X[0]).query(means)[0] ** 2
                over = least_partition(np.concatenate([[0.0], costs + extra_cut]), n, k)
                assert over <= (1 + epsilon) * best * (1 + 1e-9)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("width", [1, 2, 3])
def test_universal_candidates_serve_every_place(name, width):
    rng = np.random.default_rng([7, width, FAMILIES.index(name)])
    X = family(name, 10, width, rng)
    eta = 0.4
    candidates = universal(X, eta, MANY).points - X[0]
    Z = X - X[0]
    shares = rng.dirichlet(np.full(10, 0.3), 300)
    near = Z[rng.integers(0, 10, 300)]
    between = rng.random((300, 1)) ** 8
    places = np.concatenate([shares @ Z, near + between * (near[::-1] - near)])  # inside the hull, at all scales
    own = np.linalg.norm(places[:, None] - Z, axis=2)
    reached = np.linalg.norm(candidates[:, None] - Z, axis=2)
    for q in range(len(places)):
        allowed = (1 + eta) * own[q] * (1 + 1e-6) + 1e-12
        assert (reached <= allowed).all(axis=1).any()


# (n, l, epsilon) -> sizes that the prototype gave on default_rng(0).random((n, l)), unweighted and weighted
PROTOTYPE = {
    (12, 2, 0.5): (436, 493),
    (200, 2, 0.5): (10546, 10716),
    (200, 2, 0.1): (53563, 54849),
    (60, 3, 0.5): (10008, 12604),
    (20, 4, 0.5): (9532, 11702),
}


def test_sizes():
    for (n, width, epsilon), (plain, weighted) in PROTOTYPE.items():
        X = np.random.default_rng(0).random((n, width))
        assert len(ladder(X, np.ones(n), epsilon, MANY).points) <= 1.1 * plain
        assert len(ladder(X, np.arange(1.0, n + 1), epsilon, MANY).points) <= 1.1 * weighted


def test_one_distinct_row():
    X = np.full((4, 2), 3.5)
    for chosen in (ladder(X, np.ones(4), 0.5, 9), universal(X, 0.5, 9), midpoints(X, 9)):
        assert chosen.points.tolist() == [[3.5, 3.5]]


def test_a_set_that_is_too_large_says_its_size_and_what_to_change():
    X = np.random.default_rng(0).random((40, 2))
    size = len(ladder(X, np.ones(40), 0.5, MANY).points)
    with pytest.raises(ValueError, match=rf"needs {size} candidates, above max_candidates=500; take a larger epsilon"):
        ladder(X, np.ones(40), 0.5, 500)
    with pytest.raises(ValueError, match="needs more than 800 candidates"):
        ladder(X, np.ones(40), 0.5, 40)
    with pytest.raises(
        ValueError, match="needs 820 candidates, above max_candidates=819; raise max_candidates, or use"
    ):
        midpoints(X, 819)


def test_steps_that_the_coordinates_cannot_hold_are_refused():
    X = np.array([[1e12], [1e12 + 1.0], [1e12 + 1e3]])
    with pytest.raises(ValueError, match="subtract the mean from X"):
        ladder(X, np.ones(3), 1e-4, MANY)
    assert candidate_set("auto", X, np.ones(3), 1e-4, MANY).name == "midpoints"


@pytest.mark.parametrize("width", [6, 8, 12])
def test_a_set_that_takes_too_long_to_build_is_refused_before(width):
    """Nodes near a cell: a power of the number of columns. The candidates would be counted for minutes, or never."""
    X = np.random.default_rng(0).normal(size=(10, width))
    words = rf"needs a look at more than 40000000 nodes of lattices in {width} columns; take a larger epsilon, fewer"
    with pytest.raises(ValueError, match=f"candidates='ladder' {words}.* or use candidates='data'"):
        ladder(X, np.ones(10), 0.1, 50_000)
    with pytest.raises(ValueError, match=f"centers='continuous' {words}.* or use centers='candidates'"):
        universal(X, 0.1, 50_000)
    with pytest.raises(ValueError, match="needs a look at more than"):
        ladder(X[:, :3], np.ones(10), 1e-6, 50_000)  # thousands of nodes in each direction


def test_many_columns_with_a_large_epsilon():
    """Above six columns nodes are left out by the bounding box alone."""
    X = np.random.default_rng(1).normal(size=(10, 7))
    for w in (np.ones(10), np.arange(1.0, 11.0)):
        chosen = ladder(X, w, 4.0, MANY)
        assert len(chosen.points) > 10
        assert worst_excess(X, w, chosen.points) <= 4.0


@pytest.mark.parametrize(("radius", "width"), [(0.3, 1), (2.5, 2), (1.0, 3), (1.9, 4)])
def test_offsets_are_those_of_the_ball(radius, width):
    side = np.arange(-4, 6)
    grid = np.stack(np.meshgrid(*[side] * width, indexing="ij"), axis=-1).reshape(-1, width)
    gap = np.maximum(np.maximum(-grid, grid - 1), 0)
    expected = grid[np.square(gap).sum(axis=1) <= radius * radius]
    np.testing.assert_array_equal(lattice._offsets(radius, width, len(expected)), expected)
    assert lattice._offsets(radius, width, len(expected) - 1) is None


def test_pieces_change_nothing(monkeypatch):
    X = np.random.default_rng(2).random((25, 3))
    whole = ladder(X, np.ones(25), 0.5, MANY).points
    monkeypatch.setattr(lattice, "PIECE", 300)
    monkeypatch.setattr(lattice, "PRODUCTS", 50)
    np.testing.assert_array_equal(ladder(X, np.ones(25), 0.5, MANY).points, whole)


def test_nodes_too_far_apart_for_one_number():
    nodes = np.array([[2**40, 5, -(2**40)], [0, 3, 7], [2**40, 5, -(2**40)], [0, -3, 7]])
    np.testing.assert_array_equal(lattice._distinct(nodes), np.unique(nodes, axis=0))
    np.testing.assert_array_equal(lattice._distinct(nodes % 100), np.unique(nodes % 100, axis=0))


def test_auto_takes_the_finest_set_that_fits():
    rng = np.random.default_rng(0)
    assert candidate_set("auto", rng.random((30, 2)), np.ones(30), 0.5, 50_000).name == "ladder"
    assert candidate_set("auto", rng.random((30, 2)), np.ones(30), 0.5, 600).name == "midpoints"
    assert candidate_set("auto", rng.random((30, 9)), np.ones(30), 0.5, 50_000).name == "midpoints"
    assert candidate_set("auto", rng.random((900, 2)), np.ones(900), 0.5, 50_000).name == "data"
    assert candidate_set("midpoints", rng.random((30, 2)), np.ones(30), 0.5, 600).epsilon == 0.5
