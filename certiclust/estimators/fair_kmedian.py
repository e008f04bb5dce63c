"""Individually fair k-median as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from certiclust.estimators._base import CertifiedClusterer, FloatArray, IntArray
from certiclust.problems import FairKMedianProblem, Problem
from certiclust.solver import Result
from certiclust.space import Space
from certiclust.space.metrics import MetricLike

#: How far a critical ball reaches, in multiples of beta times the fair radius.
_FACTORS = {"proven": 6.0, "tight": 2.0}


class FairKMedian(CertifiedClusterer):
    r"""Individually fair k-median with a proof: everyone has a centre within reach of its own neighbourhood.

    The fair radius r(v) of a point is the least radius whose ball around it holds n/k points. Minimises
    :math:`\sum_i w_i\, d(v_i, X)` over sets X of k data points that meet every critical ball
    :math:`B(c, \beta r(c))`, which makes :math:`d(v, X) \le (f + 1)\beta\, r(v)` for every point [1]_.
    The certificate re-checks this for every point; its lower bound on the cost is that of k-median without fairness.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    beta : float, default=1.5
        The fairness asked for, at least 1.
    mode : {"tight", "proven"}, default="tight"
        Which critical balls: ``"proven"`` takes the paper's factor f = 6, so that every point has a centre within
        7 beta r(v); ``"tight"`` takes f = 2, for 3 beta r(v).
    metric : str or callable, default="euclidean"
        Any name that scikit-learn's pairwise distances accept, a callable of two rows, or ``"precomputed"``: then X is
        a square symmetric matrix with a zero diagonal.
    algorithm : {"auto", "gsemo"}, default="auto"
        ``"gsemo"`` is Algorithm 1 of the paper and nothing else; ``"auto"`` adds a swap polish.
    max_iter : int, "theorem" or None, default=None
        Iterations of GSEMO, counted as in the paper. ``"theorem"`` is the ceiling of the expected iteration bound (an
        expectation: its condition is still checked). None stops after ``10 * n_samples * k`` iterations
        without progress.
    time_limit : float or None, default=None
        Seconds after which the best solution so far is returned, with a warning.
    gap_tol : float, default=0.0
        Stop once ``cost / lower_bound - 1`` is at most this; looked at every few milliseconds.
    ls_epsilon : float, default=0.5
        Tolerance of the local search in the theorem: enters ``max_iter="theorem"`` and the ratio it is about.
    certify : bool, default=True
        Whether to prove a lower bound and build `certificate_`.
    check_metric : bool or None, default=None
        Whether to check the triangle inequality of a matrix or callable, without which no ratio is claimed; takes
        O(n^3). None does so up to 1000 rows.
    random_state : int, RandomState or None, default=None
        Seed; the same seed gives the same answer on any number of threads.
    n_jobs : int or None, default=None
        Threads that compute the distance matrix.
    verbose : int, default=0
        Whether to print progress to stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Nearest centre, ties to the lower label; a row that is a centre has its own.
    center_indices_, medoid_indices_ : ndarray of shape (n_clusters,)
        Rows of the candidates (of X by default) that are centres, ascending.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres; absent for ``metric="precomputed"``.
    cost_, inertia_ : float
        The weighted sum of distances to the nearest centre.
    n_iter_ : int
        GSEMO iterations, counted as in the paper.
    certificate_ : Certificate or None
        How far from optimal the answer can be at most, with the evidence.
    fairness_ratio_ : float
        The largest d(v, X) / r(v) reached, with 0/0 = 0.
    radii_ : ndarray of shape (n_samples,)
        The fair radii; NaN for rows of weight 0, which are promised nothing.
    ball_centers_ : ndarray
        Rows of X around which the critical balls lie.
    history_ : ndarray
        Time, iteration, upper and lower bound: one row per change.

    References
    ----------
    .. [1] C. Qian, "Can Evolutionary Clustering Have Theoretical Guarantees?", IEEE TEVC, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust import FairKMedian
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    >>> est = FairKMedian(n_clusters=2, random_state=0).fit(X)
    >>> est.cost_
    4.0
    >>> est.fairness_ratio_ <= 3 * est.beta
    True
    >>> est.certificate_.verify(X)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CertifiedClusterer._parameter_constraints,
        "beta": [Interval(Real, 1, None, closed="left")],
        "mode": [StrOptions(set(_FACTORS))],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        beta: float = 1.5,
        mode: str = "tight",
        metric: MetricLike = "euclidean",
        algorithm: str = "auto",
        max_iter: int | str | None = None,
        time_limit: float | None = None,
        gap_tol: float = 0.0,
        ls_epsilon: float = 0.5,
        certify: bool = True,
        check_metric: bool | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.mode = mode
        self.metric = metric
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.gap_tol = gap_tol
        self.ls_epsilon = ls_epsilon
        self.certify = certify
        self.check_metric = check_metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _problem(self, space: Space) -> FairKMedianProblem:
        return FairKMedianProblem(space, self.n_clusters, beta=float(self.beta), factor=_FACTORS[self.mode])

    def _cost(self, labels: NDArray[np.int32], distances: FloatArray, weights: FloatArray, X: FloatArray) -> float:
        return float(weights @ distances)

    def _set_attributes(
        self, X: FloatArray, weights: FloatArray, problem: Problem, result: Result, sites: IntArray | None
    ) -> None:
        super()._set_attributes(X, weights, problem, result, sites)
        assert isinstance(problem, FairKMedianProblem)
        assert sites is not None
        self.fairness_ratio_ = float(problem.fairness(result.centers).max())
        self.radii_ = np.full(len(X), np.nan)
        self.radii_[sites] = problem.radii
        self.ball_centers_ = sites[problem.ball_centers]
