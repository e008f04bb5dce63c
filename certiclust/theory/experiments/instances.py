"""Instances for the experiments: three kinds of points, and a problem posed on rows in one call."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

from certiclust.problems import (
    FairKMedianProblem,
    KCenterProblem,
    KMeansProblem,
    KMedianProblem,
    KTMMProblem,
    Problem,
)
from certiclust.space import Metric, build_space

Kind = Literal["blobs", "uniform", "exponential", "separated"]
#: Points of the exponential kind that stand out from the dust.
TOWER = 40

PROBLEMS: dict[str, Any] = {
    kind.name: kind for kind in (KCenterProblem, KTMMProblem, KMedianProblem, KMeansProblem, FairKMedianProblem)
}


def points(kind: Kind, n: int, random_state: int = 0, *, clusters: int = 10) -> NDArray[np.float64]:
    r"""Return n points to experiment with.

    ``"blobs"`` are `clusters` Gaussians in the plane, ``"uniform"`` points of the unit square. The other two make the
    theorems work hard:

    ``"exponential"``
        The numbers :math:`2^{40}, 2^{39}, \dots`, forty of them or n/2, and dust in [0, 1]. As long as the largest
        number is not chosen, the radius is at least half of it, and no other point is as far from all centres; then
        comes the second, and so on: only one of n points makes f1 >= 0 at the next size, as in the worst case of the
        proof. For the sums, too, each of the largest numbers must be found by itself before the cost is near the
        optimum.
    ``"separated"``
        `clusters` far clusters of equal size. With k = `clusters` there are k critical balls, as many as there can be,
        of n/k points each, as few as there can be.

    Examples
    --------
    >>> float(points("exponential", 50).max()) == 2.0**40
    True
    """
    rng = np.random.default_rng(random_state)
    if kind == "uniform":
        return rng.random((n, 2))
    if kind == "blobs":
        centers = 10 * rng.random((clusters, 2))
        return np.asarray(centers[rng.integers(clusters, size=n)] + 0.5 * rng.normal(size=(n, 2)))
    if kind == "separated":
        return np.asarray(np.column_stack([100.0 * (np.arange(n) % clusters), rng.random(n)]))
    if kind == "exponential":
        tower = min(TOWER, n // 2)
        return np.concatenate([2.0 ** np.arange(TOWER - tower + 1, TOWER + 1), rng.random(n - tower)])[:, None]
    raise ValueError(f"kind must be 'blobs', 'uniform', 'exponential' or 'separated'; got {kind!r}.")


def pose(
    problem: str,
    X: ArrayLike,
    k: int,
    *,
    metric: str = "euclidean",
    sample_weight: ArrayLike | None = None,
    candidates: ArrayLike | None = None,
    beta: float = 1.0,
    factor: float = 6.0,
) -> Problem:
    """Return one of the five problems on rows of numbers.

    Parameters
    ----------
    problem : {"k-center", "k-tMM", "k-median", "k-means", "fair k-median"}
        Which.
    X : array-like of shape (n, l)
        The clients.
    k : int
        Number of centres.
    metric : str, default="euclidean"
        The distance; k-means has the squared Euclidean one always.
    sample_weight : array-like or None
        Weights of the clients, all positive.
    candidates : array-like or None
        Where centres may be (k-median, k-means); the clients by default.
    beta, factor : float
        Of fair k-median, as in the paper by default.

    Examples
    --------
    >>> pose("k-median", [[0.0], [1.0], [5.0]], 2).cost([0, 2])
    1.0
    """
    if problem not in PROBLEMS:
        raise ValueError(f"problem must be one of {', '.join(map(repr, PROBLEMS))}; got {problem!r}.")
    rows = check_array(X, dtype=np.float64)
    sites = None if candidates is None else check_array(candidates, dtype=np.float64)
    weights = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64), dtype=np.float64)
    if not (weights > 0).all():
        raise ValueError(f"sample_weight must be positive; got {weights.min():g}.")
    distance = Metric.of("sqeuclidean" if problem == "k-means" else metric, rows)
    more = {"beta": beta, "factor": factor} if problem == "fair k-median" else {}
    posed: Problem = PROBLEMS[problem](build_space(rows, sites, distance, weights), k, **more)
    return posed
