"""k-median as a scikit-learn estimator: centres among candidates, or anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from certiclust.certificates import Certificate
from certiclust.estimators._base import CertifiedClusterer, FloatArray, IntArray
from certiclust.estimators._rows import validated_candidates
from certiclust.problems import KMedianProblem, Problem
from certiclust.solver import Result
from certiclust.solver.kmedian_anywhere import Anywhere, anywhere
from certiclust.space import Space
from certiclust.space.candidates import universal
from certiclust.space.metrics import MetricLike


class KMedian(CertifiedClusterer):
    r"""Discrete k-median clustering with a proof: the sum of distances to the centres, as small as possible.

    Minimises :math:`\sum_i w_i\, d(v_i, X)` over sets X of k candidates (by default the data points). The solver
    evolves solutions, proves a Lagrangian lower bound, drops candidates that no better solution contains, and branches,
    until the optimum is proved or its budget is spent. GSEMO reaches ratio :math:`5/(1 - \varepsilon)` in expected
    polynomial time [1]_; the certificate looks at all single swaps of the solution: if none improves it, it is at most
    5 times the optimum.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : str or callable, default="euclidean"
        Any name that scikit-learn's pairwise distances accept, a callable of two rows, or ``"precomputed"``: then X
        holds the distances of clients (rows) to sites (columns), square or not.
    candidates : array-like of shape (n_candidates, n_features) or None, default=None
        Where centres may be; None for the data points. Must be None for ``metric="precomputed"``.
    centers : {"candidates", "continuous"}, default="candidates"
        ``"continuous"`` puts centres anywhere (``metric="euclidean"`` only): a set of candidates is built among which
        every place has one at most ``1 + epsilon`` times as far from every row, the best of them are found and then
        moved to the geometric medians of their clusters.
    epsilon : float, default=0.5
        How much worse than the best place the best candidate may be, for ``centers="continuous"``; from 1e-6 to 1e6.
    max_candidates : int, default=50000
        Largest number of such candidates; if more are needed the fit is refused, with their number.
    algorithm : {"auto", "gsemo", "nsga2", "nsga3", "sms-emoa", "moead"}, default="auto"
        ``"gsemo"`` is Algorithm 1 of the paper and nothing else; ``"auto"`` is the loop of evolution, bound and
        reduction.
        The other names are evolutionary algorithms and nothing else, too; their iterations are offspring.
    mutation : {"bitwise", "heavy-tailed"}, default="bitwise"
        Mutation of the evolutionary algorithms; ``"auto"`` has operators of its own and takes the default only.
    max_iter : int, "theorem" or None, default=None
        For ``"gsemo"`` iterations, counted as in the paper; for ``"auto"`` offspring. ``"theorem"``: the ceiling of the
        expected iteration bound (an expectation: its condition is still checked). None: ``"gsemo"`` stops after
        ``10 * n_candidates * k`` iterations without progress, ``"auto"`` when the gap is closed or its work, counted in
        distances, is done.
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
        Rows of the candidates (of X by default) that are centres, ascending; absent for ``centers="continuous"``.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres; absent for ``metric="precomputed"``.
    cost_, inertia_ : float
        The weighted sum of distances to the nearest centre.
    n_iter_ : int
        Iterations of GSEMO, counted as in the paper, or offspring of ``"auto"``.
    certificate_ : Certificate or None
        How far from optimal the answer can be at most, with the evidence.
    history_ : ndarray
        Time, iteration, upper and lower bound, candidates left: one row per round.

    References
    ----------
    .. [1] C. Qian, "Can Evolutionary Clustering Have Theoretical Guarantees?", IEEE TEVC, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust import KMedian
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    >>> est = KMedian(n_clusters=2, random_state=0).fit(X)
    >>> est.cost_
    4.0
    >>> est.certificate_.verify(X)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CertifiedClusterer._parameter_constraints,
        "candidates": ["array-like", None],
        "centers": [StrOptions({"candidates", "continuous"})],
        "epsilon": [Interval(Real, 1e-6, 1e6, closed="both")],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
    }
    _square = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        candidates: Any = None,
        centers: str = "candidates",
        epsilon: float = 0.5,
        max_candidates: int = 50_000,
        algorithm: str = "auto",
        mutation: str = "bitwise",
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
        self.metric = metric
        self.candidates = candidates
        self.centers = centers
        self.epsilon = epsilon
        self.max_candidates = max_candidates
        self.algorithm = algorithm
        self.mutation = mutation
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.gap_tol = gap_tol
        self.ls_epsilon = ls_epsilon
        self.certify = certify
        self.check_metric = check_metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _problem(self, space: Space) -> KMedianProblem:
        return KMedianProblem(space, self.n_clusters)

    def _cost(self, labels: NDArray[np.int32], distances: FloatArray, weights: FloatArray, X: FloatArray) -> float:
        return float(weights @ distances)

    def _candidates(self, X: FloatArray) -> FloatArray | None:
        if self.centers == "continuous":
            return self.candidate_set_.points
        return validated_candidates(self.candidates, X, self.metric)

    def _given(self, X: FloatArray) -> FloatArray | None:
        return None if self.centers == "continuous" else self._candidates(X)

    def _space(
        self, X: FloatArray, weights: FloatArray, clients: IntArray, out_of_time: Callable[[], bool]
    ) -> tuple[Space, IntArray | None]:
        self.__dict__.pop("candidate_set_", None)
        if self.centers != "continuous":
            return super()._space(X, weights, clients, out_of_time)
        if self.metric != "euclidean" or self.candidates is not None:
            raise ValueError("centers='continuous' needs metric='euclidean' and candidates=None.")
        self._check_size(len(clients), True)
        self.candidate_set_ = universal(X[clients], float(self.epsilon), int(self.max_candidates))
        if len(self.candidate_set_.points) < self.n_clusters:  # one row, many times: it costs nothing
            self.candidate_set_ = self.candidate_set_._replace(points=X[clients])
        space, sites = super()._space(X, weights, clients, out_of_time)
        return replace(space, excess=self.candidate_set_.epsilon), sites

    def _set_attributes(
        self, X: FloatArray, weights: FloatArray, problem: Problem, result: Result, sites: IntArray | None
    ) -> None:
        super()._set_attributes(X, weights, problem, result, sites)
        if self.centers != "continuous":
            return
        deadline, start = self.__dict__.pop("_deadline"), perf_counter()
        found = anywhere(
            problem.space,
            self.cluster_centers_,
            self.gap_tol,
            lambda: perf_counter() >= deadline,
            certify=self.certify,
            smaller=self.__dict__.pop("_smaller_centers", None),
        )
        del self.center_indices_, self.medoid_indices_
        self.cluster_centers_, self.cost_ = found.positions, found.cost
        self.inertia_ = found.cost
        self.labels_ = self._nearest(X)[0]
        if self.certificate_ is not None:
            self.certificate_ = self._moved(self.certificate_, found)
        self._note_move(perf_counter() - start)

    def _note_move(self, seconds: float) -> None:
        """Add a row to the history: what moving the centres gained, and the bound that the certificate states."""
        row = self.history_[-1:].copy()
        row["time"] += seconds
        row["upper"] = self.cost_
        if self.certificate_ is not None:
            row["lower"] = self.certificate_.lower_bound
        self.history_ = np.concatenate([self.history_, row])

    def _moved(self, certificate: Certificate, found: Anywhere) -> Certificate:
        """Return the certificate of the polished centres, with the evidence of the better bound."""
        witness = {**certificate.witness, "cluster_centers": found.positions.tolist()}
        lower = certificate.lower_bound
        if found.cost == 0:
            witness = {"cluster_centers": witness["cluster_centers"]}
        elif found.bound.value > lower:
            lower = found.bound.value
            witness.pop("tree", None)
            witness.update(found.bound.witness)
        return replace(certificate, cost=found.cost, lower_bound=min(lower, found.cost), witness=witness)

    def _posed(self, X: Any, sample_weight: Any, start: float) -> tuple[FloatArray, FloatArray, Space, IntArray | None]:
        if self.centers == "continuous":
            self._deadline = inf if self.time_limit is None else start + self.time_limit
        return super()._posed(X, sample_weight, start)
