"""k-center as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from certiclust.estimators._base import CertifiedClusterer, FloatArray
from certiclust.estimators._fewest import fit_fewest
from certiclust.problems import KCenterProblem
from certiclust.space import Space
from certiclust.space.metrics import MetricLike


class KCenter(CertifiedClusterer):
    r"""k-center clustering with a proof: the largest distance of a point to its centre, as small as possible.

    Minimises :math:`\max_i d(v_i, X)` over sets X of k data points. GSEMO reaches ratio 2 within
    :math:`e k^2 n - e k (n-1)` expected iterations [1]_, and the certificate carries k + 1 points pairwise at least
    h apart, which prove that no solution is better than h/2. Beyond that the solver proves that no k balls of a smaller
    radius cover the points: by weights that no k balls can hold, or by a branch tree with such weights on its leaves.
    When that meets the radius found, the answer is optimal, and the certificate lets anyone replay why.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : str or callable, default="euclidean"
        Any name that scikit-learn's pairwise distances accept, a callable of two rows, or ``"precomputed"``: then X is
        a square symmetric matrix with a zero diagonal.
    algorithm : {"auto", "gsemo", "nsga2", "nsga3", "sms-emoa", "moead"}, default="auto"
        ``"gsemo"`` is Algorithm 1 of the paper and nothing else; ``"auto"`` is the loop of evolution, bound and
        reduction: GSEMO from farthest-first points mixed with a tabu search for covers below the best radius, a packing
        bound, and a branch tree.
        The other names are evolutionary algorithms and nothing else, too; their iterations are offspring.
    mutation : {"bitwise", "heavy-tailed"}, default="bitwise"
        Mutation of the evolutionary algorithms; ``"auto"`` has operators of its own and takes the default only.
    max_iter : int, "theorem" or None, default=None
        Iterations of GSEMO, counted as in the paper, for ``"auto"`` with the steps of the tabu search.
        ``"theorem"`` is the ceiling of the expected iteration bound (an expectation: its condition is still checked).
        None: ``"gsemo"`` stops when its condition, f1 >= 0 at size k, holds; ``"auto"`` starts from farthest-first
        points instead, for which it holds, and ends when the gap is closed or its work, which is counted and not
        timed, is done.
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
        Nearest centre, ties to the lower label; a row that is a centre has its own.
    center_indices_, medoid_indices_ : ndarray of shape (n_clusters,)
        Rows of X that are centres, ascending.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres; absent for ``metric="precomputed"``.
    cost_, inertia_ : float
        The radius.
    n_iter_ : int
        GSEMO iterations, counted as in the paper, and for ``"auto"`` steps of the tabu search.
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
    >>> from certiclust import KCenter
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    >>> est = KCenter(n_clusters=2, random_state=0).fit(X)
    >>> est.cost_
    2.0
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

    def min_clusters(self, X: Any, radius: float, sample_weight: Any = None) -> KCenter:
        """Find the fewest clusters for which every row has a centre within `radius`, with the proof.

        Depots and sensors are planned that way round: the distance is given, their number is the answer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or the distance matrix for ``metric="precomputed"``.
        radius : float
            The distance within which every row must have a centre, at least 0.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`; only whether a weight is zero matters.

        Returns
        -------
        KCenter
            A fitted clone of this estimator whose ``n_clusters`` is the answer and whose ``cost_`` is at most `radius`
            (it is not made as small as possible). Besides the attributes of `fit` it has
            ``n_clusters_lower_bound_``, a number below which the radius is impossible (equal to ``n_clusters`` unless a
            limit ended the proof, which is warned about), and ``min_clusters_certificate_``: the certificate for one
            cluster fewer, whose ``lower_bound`` is above `radius`; None for a single cluster or without proof. The
            parameters `n_clusters` and `algorithm` of this estimator play no part.

        Examples
        --------
        >>> import numpy as np
        >>> from certiclust import KCenter
        >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
        >>> est = KCenter(random_state=0).min_clusters(X, 1.0)
        >>> est.n_clusters, est.cost_, est.min_clusters_certificate_.lower_bound > 1.0
        (3, 1.0, True)
        >>> est.min_clusters_certificate_.verify(X)
        """
        if not isinstance(radius, Real) or not 0 <= radius < np.inf:
            raise ValueError(f"radius must be a finite number of at least 0; got {radius!r}.")
        from certiclust.solver.fewest import fewest_for_radius

        self._validate_params()
        estimator: KCenter = clone(self)
        answer, _ = fit_fewest(estimator, X, float(radius), sample_weight, None, fewest_for_radius)
        if answer.lower < answer.k:
            message = f"{answer.k} clusters suffice, but only that fewer than {answer.lower} do not was proved."
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return estimator

    def _problem(self, space: Space) -> KCenterProblem:
        return KCenterProblem(space, self.n_clusters)

    def _cost(self, labels: NDArray[np.int32], distances: FloatArray, weights: FloatArray, X: FloatArray) -> float:
        return float(distances[weights > 0].max(initial=0.0))
