"""Brute force for k-median, and tiny instances of every awkward kind; written without the package."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist


def solutions(cost, k):
    """Every k candidates with their cost; `cost` is (m, n), weighted, candidate-major."""
    return [(s, fsum(cost[list(s)].min(axis=0))) for s in combinations(range(len(cost)), k)]


def optimum(cost, k):
    return min(value for _, value in solutions(cost, k))


def exact(cost):
    """The same numbers as fractions: sums and comparisons without rounding."""
    return [[Fraction(float(c)) for c in row] for row in cost]


def exact_solutions(cost, k):
    rows = exact(cost)
    n = len(rows[0])
    return [(s, sum(min(rows[j][i] for j in s) for i in range(n))) for s in combinations(range(len(rows)), k)]


def lagrangian(cost, u, k, fixed=None, number=float):
    """L(u) over the free candidates (fixed: 1 open, 0 free, -1 closed); exact with ``number=Fraction``."""
    fixed = np.zeros(len(cost), int) if fixed is None else fixed
    rho = [sum((min(number(0), number(float(c)) - number(float(v))) for c, v in zip(row, u, strict=True)), number(0))
           for row in cost]  # fmt: skip
    must = [r for r, f in zip(rho, fixed, strict=True) if f == 1]
    free = sorted(r for r, f in zip(rho, fixed, strict=True) if f == 0)
    need = k - len(must)
    if need < 0 or need > len(free):
        return None
    return sum((number(float(v)) for v in u), number(0)) + sum(must, number(0)) + sum(free[:need], number(0))


def nearest_two(cost, centers):
    """Slots and costs of the two nearest centres of every client, the lower slot on ties."""
    part = cost[np.asarray(centers)]
    order = np.argsort(part, axis=0, kind="stable")
    clients = np.arange(cost.shape[1])
    near, second = order[0], order[min(1, len(part) - 1)]
    return near, second, part[near, clients], part[second, clients]


MATRIX_KINDS = ["uniform", "integer", "grid", "zero", "offset", "columns", "duplicates", "wild", "clustered"]
WEIGHT_KINDS = ["unit", "integer", "wild", "real"]


def matrix(rng, n, m, kind):
    """(n, m) distances, clients by sites."""
    if kind == "uniform":
        return rng.random((n, m))
    if kind == "integer":
        return rng.integers(0, 5, (n, m)).astype(float)
    if kind == "grid":
        return cdist(rng.integers(0, 4, (n, 2)), rng.integers(0, 4, (m, 2)), "cityblock")
    if kind == "zero":
        return np.zeros((n, m))
    if kind == "offset":
        return 1e8 + rng.integers(0, 4, (n, m)) * 0.25
    if kind == "columns":  # every client pays the same: all multipliers are tied
        return np.repeat(rng.random((1, m)), n, axis=0)
    if kind == "duplicates":
        return rng.random((n, max(1, m // 2)))[:, rng.integers(0, max(1, m // 2), m)]
    if kind == "wild":
        return 10.0 ** rng.uniform(-6, 6, (n, m))
    if kind == "clustered":
        return cdist(rng.integers(0, 3, (n, 1)) + 0.05 * rng.random((n, 1)), 3 * rng.random((m, 1)))
    raise ValueError(kind)


def weights(rng, n, kind):
    if kind == "unit":
        return np.ones(n)
    if kind == "integer":
        return rng.integers(1, 5, n).astype(float)
    if kind == "wild":
        return 10.0 ** rng.uniform(-6, 6, n)
    return rng.random(n) + 0.1


def weighted(rng, max_n=9, max_m=8, kinds=MATRIX_KINDS):
    """A random (m, n) matrix of weighted costs, and a k."""
    n, m = int(rng.integers(1, max_n + 1)), int(rng.integers(1, max_m + 1))
    distances = matrix(rng, n, m, str(rng.choice(kinds)))
    w = weights(rng, n, str(rng.choice(WEIGHT_KINDS)))
    return np.ascontiguousarray(distances.T * w), int(rng.integers(1, m + 1))


@dataclass
class Case:
    """What to call fit and verify with, and the (m, n) weighted costs that brute force looks at."""

    X: Any
    k: int
    cost: np.ndarray
    options: dict = field(default_factory=dict)
    weights: Any = None
    label: str = ""
    triangle: bool = True

    def fit(self, **options):
        from certiclust import KMedian

        return KMedian(self.k, **{"random_state": 0, **self.options, **options}).fit(self.X, sample_weight=self.weights)

    def verify(self, certificate):
        metric = self.options.get("metric")
        certificate.verify(
            self.X,
            self.weights,
            metric=metric if callable(metric) else None,
            candidates=self.options.get("candidates"),
        )


def walk(a, b):
    """A metric that only Python knows."""
    return float(np.abs(a - b).sum() + (0.5 if a[0] * b[0] < 0 else 0.0))


POINT_METRICS = ["euclidean", "manhattan", "cosine", "chebyshev", "sqeuclidean", "callable"]


def points(rng, n, kind):
    if kind == "grid":
        return rng.integers(0, 4, (n, 2)).astype(float)
    if kind == "duplicates":
        return rng.normal(size=(max(1, n // 2), 2))[rng.integers(0, max(1, n // 2), n)]
    if kind == "offset":
        return rng.integers(0, 4, (n, 2)) * 0.25 + 1e8
    if kind == "same":
        return np.ones((n, 2))
    return rng.normal(size=(n, 2))


def case(rng, max_n=12):
    """A random instance of KMedian: points or a matrix, own or other sites, weights, zeros among them."""
    n = int(rng.integers(1, max_n + 1))
    kind = str(rng.choice([*MATRIX_KINDS, "normal", "normal", "grid", "duplicates", "offset", "same", "rounded"]))
    w, weight = None, str(rng.choice([*WEIGHT_KINDS, "none", "some zero"]))
    if weight == "some zero" and n > 1:
        w = rng.integers(1, 4, n).astype(float)
        w[rng.choice(n, int(rng.integers(1, n)), replace=False)] = 0.0
    elif weight in WEIGHT_KINDS:
        w = weights(rng, n, weight)
    heavy = np.ones(n) if w is None else w
    clients = np.flatnonzero(heavy > 0)
    if kind in MATRIX_KINDS and rng.random() < 0.6:
        D = matrix(rng, n, int(rng.integers(1, max_n + 1)), kind)
        sites = np.arange(D.shape[1])
        if D.shape[0] == D.shape[1] and not np.diagonal(D).any() and np.array_equal(D, D.T):
            sites = clients
        return _case(rng, D, D, sites, clients, heavy, {"metric": "precomputed"}, w, f"{kind} {weight}", False)
    if kind == "rounded":
        Z = 5 * rng.random((n, 2))
        D = np.floor(cdist(Z, Z))
        return _case(rng, D, D, clients, clients, heavy, {"metric": "precomputed"}, w, f"{kind} {weight}", False)
    X = points(rng, n, kind)
    metric = str(rng.choice(POINT_METRICS))
    options: dict = {"metric": walk if metric == "callable" else metric}
    if metric == "cosine":
        X = np.where(np.any(X, axis=1, keepdims=True), X, 1.0)
    if rng.random() < 0.3:
        F = points(rng, int(rng.integers(1, max_n + 1)), kind)
        if metric == "cosine":
            F = np.where(np.any(F, axis=1, keepdims=True), F, 1.0)
        options["candidates"] = F
        sites = np.arange(len(F))
    else:
        F, sites = X, clients
    D = distances(X, F, metric)
    return _case(rng, X, D, sites, clients, heavy, options, w, f"{kind} {metric} {weight}", True)


def distances(X, F, metric):
    if metric == "callable":
        return np.array([[walk(x, f) for f in F] for x in X])
    if metric == "cosine":
        A, B = (v / np.sqrt((v * v).sum(axis=1, keepdims=True)) for v in (X, F))
        return cdist(A, B, "sqeuclidean") / 2
    return cdist(X, F, {"manhattan": "cityblock"}.get(metric, metric))


def _case(rng, X, D, sites, clients, heavy, options, w, label, triangle):
    cost = np.ascontiguousarray((D * heavy[:, None])[np.ix_(clients, sites)].T)
    k = int(rng.choice([1, len(sites), int(rng.integers(1, len(sites) + 1)), int(rng.integers(1, len(sites) + 1))]))
    if rng.random() < 0.5:
        k = min(k, 3)
    return Case(X, k, cost, options, w, label, triangle)


def compiled(kernel):
    """A kernel as Python may call it: inner kernels have no entry for Python, and calling one crashes."""
    if not kernel.targetoptions.get("no_cpython_wrapper"):
        return kernel
    from numba import njit

    @njit
    def call(*arguments):
        return kernel(*arguments)

    return call
