"""Individually fair k-median as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from certiclust.certificates import Certificate
from certiclust.estimators._base import CertifiedClusterer, FloatArray, IntArray
from certiclust.problems import FairKMedianProblem, Problem
from certiclust.solver import Result
from certiclust.space import Space
from certiclust.space.metrics import MetricLike

#: How far a critical ball reaches, in multiples of beta times the fair radius.
_FACTORS = {"proven": 6.0, "tight": 2.0, "strict": 2.0}


class InfeasibleError(ValueError):
    """No set that is as fair as asked for was found.

    Attributes
    ----------
    proved : bool
        Whether it is proved that there is none.
    beta : float
        The least beta for which a set was found; infinite if there was none at all.
    center_indices : ndarray or None
        That set, as rows of X.
    certificate : Certificate or None
        Of that set; with the proof as `infeasible_beta`, where there is one, for `Certificate.verify` to check.
    """

    def __init__(
        self, message: str, proved: bool, beta: float, center_indices: IntArray | None, certificate: Certificate | None
    ) -> None:
        super().__init__(message)
        self.proved, self.beta = proved, beta
        self.center_indices, self.certificate = center_indices, certificate


class FairKMedian(CertifiedClusterer):
    r"""Individually fair k-median with a proof: everyone has a centre within reach of its own neighbourhood.

    The fair radius r(v) of a point is the least radius whose ball around it holds n/k points, itself included.
    Minimises :math:`\sum_i w_i\, d(v_i, X)` over sets X of k data points that are fair in the sense of `mode` [1]_. The
    certificate compares the cost with a lower bound for that very constraint, and with `fair_lower_bound`, which holds
    for all sets with :math:`d(v, X) \le \beta\, r(v)`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    beta : float, default=1.5
        The fairness asked for, at least 1.
    mode : {"tight", "proven", "strict"}, default="tight"
        ``"proven"``: a centre in every critical ball of the paper, so that every point has one within 7 beta r(v).
        ``"tight"``: the same with more balls, for 3 beta r(v). ``"strict"``: every point has a centre within beta r(v).
        From beta = 2 on such a set exists in every metric; below it may not, and then that is proved where possible.
    on_infeasible : {"raise", "relax"}, default="raise"
        What to do if ``mode="strict"`` finds no fair set: raise an `InfeasibleError` with the least beta for which one
        was found, or answer for that beta, with a warning.
    metric : str or callable, default="euclidean"
        Any name that scikit-learn's pairwise distances accept, a callable of two rows, or ``"precomputed"``: then X is
        a square symmetric matrix with a zero diagonal.
    algorithm : {"auto", "gsemo", "nsga2", "nsga3", "sms-emoa", "moead"}, default="auto"
        ``"auto"`` searches by swaps and crossovers that repair fairness before they lower the cost, and bounds.
        ``"gsemo"`` is Algorithm 1 of the paper and nothing else, on the mode's balls; with ``mode="strict"`` on the
        number of points out of reach, then the cost.
        The other names are evolutionary algorithms and nothing else, too; their iterations are offspring.
    mutation : {"bitwise", "heavy-tailed"}, default="bitwise"
        Mutation of the evolutionary algorithms; ``"auto"`` has operators of its own and takes the default only.
    max_iter : int, "theorem" or None, default=None
        Offspring of the search; for ``algorithm="gsemo"`` iterations, counted as in the paper. ``"theorem"`` is the
        ceiling of the expected iteration bound (an expectation: its condition is still checked). None ends by itself.
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
        Offspring of the search, or iterations of GSEMO, counted as in the paper.
    certificate_ : Certificate or None
        How far from optimal the answer can be at most, with the evidence.
    fairness_ratio_ : float
        The largest d(v, X) / r(v) reached, with 0/0 = 0 and x/0 infinite.
    beta_ : float
        The beta that holds: `beta`, or the larger one that a strict set needs where none is fairer.
    radii_ : ndarray of shape (n_samples,)
        The fair radii; NaN for rows of weight 0, which are promised nothing.
    ball_centers_ : ndarray
        Rows of X around which the critical balls lie (``mode="strict"``: those of ``"tight"``, which a fair set meets).
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
        "on_infeasible": [StrOptions({"raise", "relax"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        beta: float = 1.5,
        mode: str = "tight",
        on_infeasible: str = "raise",
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
        self.beta = beta
        self.mode = mode
        self.on_infeasible = on_infeasible
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

    def _problem(self, space: Space) -> FairKMedianProblem:
        return FairKMedianProblem(
            space,
            self.n_clusters,
            beta=float(self.beta),
            factor=_FACTORS[self.mode],
            strict=self.mode == "strict",
            relax=self.on_infeasible == "relax",
        )

    def _cost(self, labels: NDArray[np.int32], distances: FloatArray, weights: FloatArray, X: FloatArray) -> float:
        return float(weights @ distances)

    def _set_attributes(
        self, X: FloatArray, weights: FloatArray, problem: Problem, result: Result, sites: IntArray | None
    ) -> None:
        assert isinstance(problem, FairKMedianProblem)
        assert sites is not None
        asked, said = problem, result.fairness
        if said is not None:
            problem = said.problem
        super()._set_attributes(X, weights, problem, result, sites)
        self.fairness_ratio_ = float(problem.fairness(result.centers).max())
        self.beta_ = problem.beta
        self.radii_ = np.full(len(X), np.nan)
        self.radii_[sites] = problem.radii
        self.ball_centers_ = sites[problem.ball_centers]
        unfair = problem.violations(result.centers)
        if asked.strict and (problem.beta > asked.beta or unfair):
            self._say_infeasible(asked, problem, result, unfair)

    def _say_infeasible(self, asked: FairKMedianProblem, used: FairKMedianProblem, result: Result, unfair: int) -> None:
        """Raise, or warn, that no set as fair as asked for was found; a search that was cut short only warns."""
        proved = result.fairness is not None and result.fairness.infeasible is not None
        none = f"no set of {asked.k} centres is {asked.beta:.6g}-fair" if proved else ""
        none = none or f"no {asked.beta:.6g}-fair set of {asked.k} centres was found, though none is proved impossible"
        cut = result.interrupted or result.timed_out or self.algorithm != "auto" or self.max_iter is not None
        if unfair and cut:
            warnings.warn(
                f"{none}: {unfair} points have no centre within {asked.beta:.6g} fair radii.",
                ConvergenceWarning,
                stacklevel=5,
            )
            return
        least = "none for any beta either" if unfair else f"the least beta for which one was found is {used.beta:.6g}"
        if self.on_infeasible == "relax" and not unfair:
            warnings.warn(f"{none}; {least}, and the answer is for that.", ConvergenceWarning, stacklevel=5)
            return
        certificate, rows, ratio = self.certificate_, self.center_indices_, self.beta_
        for name in [name for name in self.__dict__ if name.endswith("_") and not name.startswith("_")]:
            del self.__dict__[name]
        raise InfeasibleError(
            f"{none} (proved); {least}." if proved else f"{none}; {least}.",
            proved,
            float("inf") if unfair else ratio,
            None if unfair else rows,
            certificate,
        )
