"""k-means as a scikit-learn estimator: centres anywhere, or Algorithm 1 over a finite candidate set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from certiclust.estimators._base import CertifiedClusterer, FloatArray, IntArray
from certiclust.estimators._rows import validated_candidates
from certiclust.problems import KMeansProblem, Problem
from certiclust.solver import Result
from certiclust.space import Space
from certiclust.space.candidates import CANDIDATE_NAMES, CandidateSet, candidate_set, data_points
from certiclust.space.metrics import MetricLike


class KMeans(CertifiedClusterer):
    r"""k-means clustering with a proof: the sum of squared distances to the centres, as small as possible.

    Minimises :math:`\sum_i w_i \min_{u \in X} \lVert v_i - u \rVert^2` over sets X of k centres. ``algorithm="auto"``
    puts them anywhere: swaps, crossover and Lloyd's iteration as operators of an evolution, on a coreset first where
    the data are many. ``algorithm="gsemo"`` takes them from the candidates; with the data points as candidates the best
    such set costs at most twice the optimum with centres anywhere, and GSEMO reaches ratio
    :math:`(1 + \varepsilon_C)\,25/(1 - \varepsilon)^2` in expected polynomial time [1]_. The certificate has a lower
    bound on the optimum, and checks all single swaps of k candidates that cost no less than the solution: if none
    improves them, the solution is at most 26.65 times the optimum with centres anywhere (25 times the best centres
    among the candidates, where these are given). It says so where the data are too many for that check.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    candidates : {"auto", "data", "midpoints", "ladder"} or array-like, default="data"
        Where centres may be: the rows, the means of pairs of rows, a set among which every cluster has a centre at most
        ``1 + epsilon`` times as costly as its mean, or an array of shape (n_candidates, n_features). ``"auto"``: the
        finest of these that is small enough.
    epsilon : float, default=0.5
        How much worse than the mean the best candidate of a cluster may be, for the ladder; from 1e-6 to 1e6.
    max_candidates : int, default=50000
        Largest number of candidates; a set that needs more is refused, with its size.
    algorithm : {"auto", "gsemo", "nsga2", "nsga3", "sms-emoa", "moead"}, default="auto"
        ``"gsemo"`` is Algorithm 1 of the paper and nothing else: centres are candidates. ``"auto"`` searches for
        centres anywhere.
        The other names are evolutionary algorithms and nothing else, too; their iterations are offspring.
    mutation : {"bitwise", "heavy-tailed"}, default="bitwise"
        Mutation of the evolutionary algorithms; ``"auto"`` has operators of its own and takes the default only.
    max_iter : int, "theorem" or None, default=None
        Iterations of GSEMO, counted as in the paper, or offspring of the search. ``"theorem"`` is the ceiling of the
        expected iteration bound (an expectation: its condition is still checked). None stops GSEMO after
        ``10 * n_candidates * k`` iterations without progress, and the search when the gap is closed, after a counted
        amount of work (some seconds) or after ``400 + 200 * k`` offspring without progress.
    time_limit : float or None, default=None
        Seconds after which the best solution so far is returned, with a warning.
    gap_tol : float, default=0.0
        Stop once ``cost / lower_bound - 1`` is at most this. ``"auto"`` searches for a short time, bounds, and searches
        on while the gap is larger; with more than 16 columns it is the bound that ends.
    ls_epsilon : float, default=0.5
        Tolerance of the local search in the theorem: enters ``max_iter="theorem"`` and the ratio it is about.
    certify : bool, default=True
        Whether to prove a lower bound and build `certificate_`.
    random_state : int, RandomState or None, default=None
        Seed; the same seed gives the same answer on any number of threads.
    n_jobs : int or None, default=None
        Threads that compute the distance matrix of ``algorithm="gsemo"``; ``"auto"`` builds none.
    verbose : int, default=0
        Whether to print progress to stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Nearest centre, ties to the lower label; for ``algorithm="gsemo"`` a row that is a centre has its own.
    center_indices_, medoid_indices_ : ndarray of shape (n_clusters,)
        Rows of the candidates (of X by default) that are centres, ascending; only for ``algorithm="gsemo"``.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres; rounded to float32 if X is of that type. Labels, costs and predictions are those of the centres
        before that, which the certificate keeps.
    candidate_set_ : CandidateSet
        The candidates, their name, and how much worse than the mean of a cluster the best of them is at most.
    cost_, inertia_ : float
        The weighted sum of squared distances to the nearest centre.
    n_iter_ : int
        GSEMO iterations, counted as in the paper, or offspring of the search.
    certificate_ : Certificate or None
        How far from optimal the answer can be at most, with the evidence.
    history_ : ndarray
        Time, iteration, upper and lower bound: one row per change.

    References
    ----------
    .. [1] C. Qian, "Can Evolutionary Clustering Have Theoretical Guarantees?", IEEE TEVC, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust import KMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    >>> est = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> est.cost_
    4.0
    >>> est.certificate_.verify(X)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CertifiedClusterer._parameter_constraints,
        "candidates": ["array-like", StrOptions(set(CANDIDATE_NAMES))],
        "epsilon": [Interval(Real, 1e-6, 1e6, closed="both")],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
    }
    _parameter_constraints.pop("metric")
    _parameter_constraints.pop("check_metric")
    _square = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        candidates: Any = "data",
        epsilon: float = 0.5,
        max_candidates: int = 50_000,
        algorithm: str = "auto",
        mutation: str = "bitwise",
        max_iter: int | str | None = None,
        time_limit: float | None = None,
        gap_tol: float = 0.0,
        ls_epsilon: float = 0.5,
        certify: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.candidates = candidates
        self.epsilon = epsilon
        self.max_candidates = max_candidates
        self.algorithm = algorithm
        self.mutation = mutation
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.gap_tol = gap_tol
        self.ls_epsilon = ls_epsilon
        self.certify = certify
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _problem(self, space: Space) -> KMeansProblem:
        return KMeansProblem(space, self.n_clusters)

    def _cost(self, labels: NDArray[np.int32], distances: FloatArray, weights: FloatArray, X: FloatArray) -> float:
        return float(weights @ distances)

    def _hold_matrix(self) -> bool:
        return self.algorithm != "auto"

    def _dtypes(self) -> list[Any]:
        return [np.float64] if self.algorithm != "auto" else [np.float64, np.float32]

    def _set_attributes(
        self, X: FloatArray, weights: FloatArray, problem: Problem, result: Result, sites: IntArray | None
    ) -> None:
        self.__dict__.pop("_exact_centers", None)
        super()._set_attributes(X, weights, problem, result, sites)
        # Rounded to float32, as scikit-learn has them, centres cost a little more: labels and costs are not theirs.
        self._exact_centers = self.cluster_centers_
        self.cluster_centers_ = self.cluster_centers_.astype(X.dtype)

    def _distances(self, X: FloatArray) -> FloatArray:
        centers = getattr(self, "_exact_centers", self.cluster_centers_)
        return np.ascontiguousarray(self._fitted_metric.block(centers, X).T)

    def __sklearn_tags__(self) -> Tags:
        """Say that float32 rows give float32 distances."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [dtype.__name__ for dtype in self._dtypes()]
        return tags

    def _partition(self, problem: Problem, result: Result) -> tuple[IntArray, NDArray[np.int32]]:
        if result.positions is None:
            return super()._partition(problem, result)
        assert result.labels is not None
        return result.centers, result.labels

    def _candidates(self, X: FloatArray) -> FloatArray | None:
        return None if self.candidate_set_.name == "data" else self.candidate_set_.points

    def _given(self, X: FloatArray) -> FloatArray | None:
        return self.candidate_set_.points if self.candidate_set_.name == "array" else None

    def _space(
        self, X: FloatArray, weights: FloatArray, clients: IntArray, out_of_time: Callable[[], bool]
    ) -> tuple[Space, IntArray | None]:
        if isinstance(self.candidates, str):
            self._check_size(len(clients), True)
            rows, mass = (X, weights) if len(clients) == len(X) else (X[clients], weights[clients])
            if self.candidates != "data":
                rows = rows.astype(np.float64, copy=False)
            # Centres anywhere need candidates for the certificate's sake only.
            name = "data" if self.algorithm == "auto" and not self.certify else self.candidates
            self.candidate_set_ = candidate_set(name, rows, mass, float(self.epsilon), int(self.max_candidates))
            if len(self.candidate_set_.points) < self.n_clusters:  # few distinct rows: their copies count
                self.candidate_set_ = data_points(rows)
        else:
            given = validated_candidates(self.candidates, X, "sqeuclidean")
            assert given is not None
            self.candidate_set_ = CandidateSet(given, "array", None)
        space, sites = super()._space(X, weights, clients, out_of_time)
        return replace(space, excess=None if space.own else self.candidate_set_.epsilon), sites

    def _metric(self) -> MetricLike:
        return "sqeuclidean"

    def transform(self, X: Any) -> FloatArray:
        """Return the Euclidean distances of each row to the k centres, as scikit-learn's KMeans does."""
        check_is_fitted(self)
        X = self._validated(X)
        return np.sqrt(self._distances(X)).astype(X.dtype, copy=False)
