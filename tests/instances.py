"""Small instances of every awkward kind: NumPy generators, and hypothesis strategies on top of them."""

from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from certiclust.problems import FairKMedianProblem, KCenterProblem, KMeansProblem, KMedianProblem, KTMMProblem
from certiclust.space import Metric, build_space, precomputed_space
from tests import naive

#: One profile for all property tests: the same examples on every machine, no clock.
quick = settings(derandomize=True, deadline=None, max_examples=60)
thorough = settings(derandomize=True, deadline=None, max_examples=150)

POINT_KINDS = ["uniform", "grid", "wild", "clusters", "collinear", "duplicates", "offset", "far"]
GRAPH_KINDS = ["graph", "star", "one-two"]
WEIGHT_KINDS = ["unit", "integer", "wild"]
COMPILED = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"]
PROBLEMS = ["k-median", "k-means", "fair k-median", "k-center", "k-tMM"]


def points(rng, n, kind, width=None):
    width = int(rng.integers(1, 4)) if width is None else width
    if kind == "uniform":
        return rng.random((n, width))
    if kind == "grid":  # ties everywhere
        return rng.integers(0, 4, (n, width)).astype(float)
    if kind == "wild":
        return 10.0 ** rng.uniform(-3, 3, (n, 1)) * rng.normal(size=(n, width))
    if kind == "clusters":
        return rng.integers(0, 3, (n, width)) * 10.0 + rng.random((n, width))
    if kind == "collinear":
        return rng.integers(0, 6, (n, 1)) * rng.normal(size=(1, width))
    if kind == "duplicates":
        return rng.normal(size=(max(1, n // 2), width))[rng.integers(0, max(1, n // 2), n)]
    if kind == "offset":  # a squared norm of 1e16 hides differences of 1 from the expanded square
        return rng.integers(0, 4, (n, width)) * 0.25 + 1e8
    if kind == "far":  # gains of 0.1 beside distances of 1e9: what is added and subtracted again must not count
        return rng.integers(0, 3, (n, 1)) * 1e9 + rng.integers(0, 4, (n, width)) * 0.1
    raise ValueError(kind)


def metric_matrix(rng, n, kind):
    """A square metric that is not Euclidean; a quarter of the time with two points at distance 0."""
    if kind == "graph":
        D = _shortest_paths(rng, n)
    elif kind == "star":
        arm = rng.random(n) ** 3 * 3
        D = arm[:, None] + arm
    elif kind == "one-two":
        D = np.triu(rng.choice([1.0, 2.0], (n, n)), 1)
        D = D + D.T
    else:
        raise ValueError(kind)
    np.fill_diagonal(D, 0.0)
    if n > 1 and rng.random() < 0.25:
        a, b = rng.choice(n, 2, replace=False)
        D[a] = D[b]
        D[:, a] = D[:, b]
        D[a, a] = D[a, b] = D[b, a] = 0.0
    return D


def _shortest_paths(rng, n):
    length = (
        (lambda: float(rng.integers(1, 6))) if rng.random() < 0.5 else (lambda: float(rng.random() ** 2 * 5 + 1e-3))
    )
    D = np.full((n, n), np.inf)
    for i in range(1, n):  # a random tree, so that everything is connected
        j = int(rng.integers(i))
        D[i, j] = D[j, i] = length()
    for _ in range(int(rng.integers(0, n + 1))):
        i, j = (int(v) for v in rng.integers(0, n, 2))
        D[i, j] = D[j, i] = min(D[i, j], length())
    np.fill_diagonal(D, 0.0)
    for via in range(n):
        D = np.minimum(D, D[:, via : via + 1] + D[via])
    return np.minimum(D, D.T)


def weights(rng, n, kind):
    if kind == "unit":
        return np.ones(n)
    if kind == "integer":
        return rng.integers(1, 5, n).astype(float)
    if kind == "wild":
        return 10.0 ** rng.uniform(-3, 3, n)
    raise ValueError(kind)


def from_python(kernel):
    """A kernel as Python may call it: inner kernels are compiled without an entry for Python, and calling them crashes.

    Their Python source is the same code; that it compiles to the same numbers is what the replay tests show.
    """
    return kernel.py_func if kernel.targetoptions.get("no_cpython_wrapper") else kernel


@dataclass
class Instance:
    """Data from which both the package's space and the oracle's matrix are made."""

    label: str
    metric: str
    points: np.ndarray | None
    candidates: np.ndarray | None
    D: np.ndarray
    w: np.ndarray
    k: int
    own: bool

    def space(self):
        if self.points is None:
            return precomputed_space(self.D, self.w, own=self.own)
        metric = Metric.of(self.metric, self.points)
        return build_space(self.points, self.candidates, metric, self.w)

    def __repr__(self):
        rows = "" if self.points is None else f", points={self.points.tolist()}"
        sites = "" if self.candidates is None else f", candidates={self.candidates.tolist()}"
        return f"<{self.label}, {self.metric}, k={self.k}, w={self.w.tolist()}, D={self.D.tolist()}{rows}{sites}>"


def instance(rng, problem, n, *, kind=None, weight=None, k=None, metric=None, other_sites=None):
    """A random instance on which `problem` may be posed; what is not given is drawn."""
    kind = kind or str(rng.choice(POINT_KINDS if problem == "k-means" else POINT_KINDS + GRAPH_KINDS))
    weight = weight or str(rng.choice(WEIGHT_KINDS))
    w = weights(rng, n, weight)
    if other_sites is None:
        other_sites = problem in ("k-median", "k-means") and rng.random() < 0.4
    m = int(rng.integers(1, n + 2)) if other_sites else n
    X = F = None
    if kind in GRAPH_KINDS:
        metric = "precomputed"
        D = metric_matrix(rng, n + m if other_sites else n, kind)
        D = D[:n, n:] if other_sites else D
    else:
        if metric is None:
            metric = "sqeuclidean" if problem == "k-means" else str(rng.choice(COMPILED))
        X = points(rng, n, kind)
        F = points(rng, m, kind, X.shape[1]) if other_sites else None
        if metric == "cosine":  # no zero rows
            X = X + 1.0
            F = None if F is None else F + 1.0
        D = naive.matrix(metric, X, X if F is None else F)
    k = int(rng.choice([1, m, int(rng.integers(1, m + 1))])) if k is None else min(k, m)
    return Instance(f"{kind}/{weight}", metric, X, F, D, w, k, not other_sites)


def pose(problem, space, k, beta=1.0, **more):
    """The package's problem of this name."""
    if problem == "fair k-median":
        return FairKMedianProblem(space, k, beta, **more)
    kinds = {"k-median": KMedianProblem, "k-means": KMeansProblem, "k-center": KCenterProblem, "k-tMM": KTMMProblem}
    return kinds[problem](space, k)


@st.composite
def instances(draw, problem="k-median", max_n=9, kinds=None, metrics=None, min_n=1, min_k=1, other_sites=None):
    """Hypothesis strategy for `instance`: kind, weights, size and k shrink; the numbers come from a drawn seed."""
    n = draw(st.integers(max(min_n, min_k), max_n))
    if kinds is None:
        kinds = POINT_KINDS if problem == "k-means" or metrics else POINT_KINDS + GRAPH_KINDS
    kind = draw(st.sampled_from(kinds))
    weight = draw(st.sampled_from(WEIGHT_KINDS))
    metric = None if metrics is None else draw(st.sampled_from(metrics))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(min_k, n))
    return instance(rng, problem, n, kind=kind, weight=weight, k=k, metric=metric, other_sites=other_sites)
