"""k-tMM as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_scalar

from certiclust.estimators._base import CertifiedClusterer, FloatArray, IntArray
from certiclust.estimators._fewest import fit_fewest
from certiclust.problems import KTMMProblem, Problem
from certiclust.solver import Result
from certiclust.space import Space
from certiclust.space.metrics import MetricLike
from certiclust.space.symmetry import symmetrised


class KTMM(CertifiedClusterer):
    r"""k-tMM clustering with a proof: the largest distance inside a cluster, as small as possible.

    Minimises :math:`\max_m \max_{v, v' \in S_m} d(v, v')` over all partitions. GSEMO searches partitions by nearest
    centre and reaches ratio 2 within :math:`e k^2 n - e k (n-1)` expected iterations [1]_. The optimum is the least D
    for which the graph of the pairs farther apart than D can be coloured with k colours; ``"auto"`` searches such
    colourings and proves, by exact colouring of a few points, that there are none below. The certificate carries k + 1
    points pairwise at least h apart, and where they do not prove the bound a set of points without a colouring.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : str or callable, default="euclidean"
        Any name that scikit-learn's pairwise distances accept, a callable of two rows, or ``"precomputed"``: then X is
        a square symmetric matrix with a zero diagonal.
    algorithm : {"auto", "gsemo", "nsga2", "nsga3", "sms-emoa", "moead"}, default="auto"
        ``"gsemo"`` is Algorithm 1 of the paper and nothing else; ``"auto"`` goes on with the search over
        all partitions and the proof.
        The other names are evolutionary algorithms and nothing else, too; their iterations are offspring.
    mutation : {"bitwise", "heavy-tailed"}, default="bitwise"
        Mutation of the evolutionary algorithms; ``"auto"`` has operators of its own and takes the default only.
    max_iter : int, "theorem" or None, default=None
        Iterations of GSEMO, counted as in the paper. ``"theorem"`` is the ceiling of the expected iteration bound (an
        expectation: its condition is still checked). None: ``"gsemo"`` stops when its condition, f1 >= 0 at size k,
        holds; ``"auto"`` starts from farthest-first points instead, for which it holds, and ends when the gap is
        closed or its work, counted in distances, is done.
    time_limit : float or None, default=None
        Seconds after which the best solution so far is returned, with a warning.
    gap_tol : float, default=0.0
        Stop once ``cost / lower_bound - 1`` is at most this; looked at every few milliseconds.
    ls_epsilon : float, default=0.5
        Not used by this problem, whose theorem has no such tolerance; there so that one set of parameters fits all
        five estimators.
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
        The partition found; all labels occur, clusters are split where fewer would do. `predict` assigns a row to the
        nearest of `cluster_centers_` and may differ from it, for the rows of fit as well: the best partition need not
        be one by nearest centre, and only `labels_` keeps the diameter `cost_`.
    center_indices_, medoid_indices_ : ndarray of shape (n_clusters,)
        Of each cluster the row whose largest distance to the others is least, ascending.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres; absent for ``metric="precomputed"``.
    cost_, inertia_ : float
        The largest diameter of a cluster of `labels_`.
    n_iter_ : int
        GSEMO iterations, counted as in the paper; for ``"auto"`` without `max_iter` steps of the search.
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
    >>> from certiclust import KTMM
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    >>> est = KTMM(n_clusters=2, random_state=0).fit(X)
    >>> est.cost_
    2.0
    >>> est.labels_
    array([0, 0, 0, 1, 1], dtype=int32)
    >>> est.certificate_.verify(X)
    """

    _parameter_constraints = CertifiedClusterer._parameter_constraints

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
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

    def min_clusters(self, X: Any, diameter: float, sample_weight: Any = None) -> KTMM:
        """Find the fewest clusters whose diameters are at most `diameter`, with the proof that fewer do not suffice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or the distance matrix for ``metric="precomputed"``.
        diameter : float
            The largest distance allowed inside a cluster, not negative.
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 need no cluster.

        Returns
        -------
        KTMM
            A copy of this estimator, fitted with `n_clusters` set to the answer: ``cost_ <= diameter``. Besides the
            attributes of `fit` it has ``n_clusters_lower_bound_``, the proved least number of clusters (equal to
            ``n_clusters`` unless the proof was out of reach), and ``min_clusters_certificate_``, a certificate for one
            cluster less than that, whose ``lower_bound`` exceeds `diameter`; None where that would be no cluster, or
            with ``certify=False``. This estimator itself is not changed; its ``n_clusters`` is not used.

        Examples
        --------
        >>> import numpy as np
        >>> from certiclust import KTMM
        >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
        >>> est = KTMM(random_state=0).min_clusters(X, diameter=2.0)
        >>> est.n_clusters, est.n_clusters_lower_bound_, est.cost_
        (2, 2, 2.0)
        >>> est.min_clusters_certificate_.verify(X)
        >>> est.min_clusters_certificate_.n_clusters, est.min_clusters_certificate_.lower_bound > 2.0
        (1, True)
        """
        from certiclust.solver.fewest import fewest_for_diameter

        self._validate_params()
        check_scalar(diameter, "diameter", Real, min_val=0)
        if not np.isfinite(diameter):
            raise ValueError(f"diameter == {diameter}, must be finite.")
        if self.algorithm != "auto" or self.max_iter == "theorem":
            raise ValueError("min_clusters needs algorithm='auto' and max_iter an int or None.")
        estimator: KTMM = clone(self)
        max_iter: Any = self.max_iter
        answer, problem = fit_fewest(estimator, X, float(diameter), sample_weight, max_iter, fewest_for_diameter)
        estimator._warn(problem, answer.result)
        return estimator

    def _problem(self, space: Space) -> KTMMProblem:
        return KTMMProblem(space, self.n_clusters)

    def _partition(self, problem: Problem, result: Result) -> tuple[IntArray, NDArray[np.int32]]:
        """Return the most central member of each cluster, and the labels in their order."""
        assert isinstance(problem, KTMMProblem)
        if result.labels is not None:
            return result.centers, result.labels
        labels = problem.space.assign(result.centers)[0]
        return problem.central(labels, problem.reach(labels))

    def _cost(self, labels: NDArray[np.int32], distances: FloatArray, weights: FloatArray, X: FloatArray) -> float:
        between = symmetrised(X) if self.metric == "precomputed" else None
        if self.metric == "precomputed" and between is None:
            raise ValueError(
                "score needs the distances between the rows: for metric='precomputed' a square symmetric matrix with a "
                f"zero diagonal; got {X.shape[0]} x {X.shape[1]}."
            )
        largest = 0.0
        for label in np.unique(labels):
            members = np.flatnonzero((labels == label) & (weights > 0))
            for start in range(0, len(members), 256):
                part = members[start : start + 256]
                d = self._fitted_metric.block(X[part], X[members]) if between is None else between[part][:, members]
                largest = max(largest, float(d.max()))
        return largest
