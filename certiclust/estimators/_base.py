"""What the five estimators share: parameters, and the way from data to problem to attributes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from math import inf
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_non_negative, validate_data

from certiclust.certificates import Certificate, data_fingerprint
from certiclust.estimators._certify import certify
from certiclust.estimators._fitted import FittedCenters
from certiclust.estimators._progress import shown_progress
from certiclust.estimators._rows import check_total, why_not_square
from certiclust.evolution.algorithms import ALGORITHMS, MUTATIONS, named
from certiclust.problems import MaxProblem, Problem
from certiclust.solver import Budget, Result, solve
from certiclust.solver.words import counted
from certiclust.space import Metric, Space, build_space, precomputed_space
from certiclust.space.metrics import METRIC_NAMES, MetricLike
from certiclust.space.space import matrix_budget
from certiclust.space.symmetry import symmetrised
from certiclust.theory import curve_bound, iteration_bound

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


#: Share of a time limit after which the search starts without a distance matrix, if it can.
MATRIX_SHARE = 0.4
#: Seconds that a distance takes at the very least: a matrix that cannot be ready in its share is not begun.
FASTEST = 2e-10


class CertifiedClusterer(FittedCenters):
    """Base of the five estimators; see their own documentation."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions({*METRIC_NAMES, "precomputed"}), callable],
        "algorithm": [StrOptions({"auto", *ALGORITHMS})],
        "mutation": [StrOptions(set(MUTATIONS))],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"theorem"}), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "gap_tol": [Interval(Real, 0, None, closed="left")],
        "ls_epsilon": [Interval(Real, 0, 1, closed="neither")],
        "certify": ["boolean"],
        "check_metric": ["boolean", None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    n_clusters: int
    algorithm: str
    mutation: str
    max_iter: int | str | None
    time_limit: float | None
    gap_tol: float
    ls_epsilon: float
    certify: bool
    random_state: Any
    n_jobs: int | None
    verbose: int

    # What differs from problem to problem.

    @abstractmethod
    def _problem(self, space: Space) -> Problem:
        """Return the problem on a space."""

    def _metric(self) -> MetricLike:
        """Return the distance asked for."""
        return self.metric  # type: ignore[no-any-return]

    def _candidates(self, X: FloatArray) -> FloatArray | None:
        """Return the candidate centres, None for the rows themselves."""
        return None

    def _hold_matrix(self) -> bool:
        """Return whether a distance matrix is worth its time and memory."""
        return True

    def _given(self, X: FloatArray) -> FloatArray | None:
        """Return the candidates that the user gave and a verifier has to be given, None if there are none."""
        return self._candidates(X)

    def _partition(self, problem: Problem, result: Result) -> tuple[IntArray, NDArray[np.int32]]:
        """Return centres and labels of the clients; label j belongs to centre j, centres ascending."""
        return result.centers, problem.space.assign(result.centers)[0]

    # What scikit-learn calls.

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find a clustering and prove how good it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or the distance matrix for ``metric="precomputed"``.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            A row with weight w counts as w copies; a row with weight 0 is no client, no centre, and still labelled.

        Returns
        -------
        self
            The fitted estimator.
        """
        start = perf_counter()
        self._check_mutation()
        X, weights, space, sites = self._posed(X, sample_weight, start)
        problem = self._problem(space)
        self._check_memory(problem)
        with shown_progress(self.verbose, f"{problem.name}, k = {problem.k}") as callbacks:
            result = solve(
                problem,
                self.algorithm,
                Budget(self._iterations(problem), self._time_left(start), self.gap_tol),
                random_state=int(check_random_state(self.random_state).randint(2**31)),
                certify=self.certify,
                callbacks=callbacks,
                mutation=self.mutation,
            )
        self._set_attributes(X, weights, problem, result, sites)
        self._warn(problem, result)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Say that a precomputed matrix is pairwise, and never negative."""
        tags = super().__sklearn_tags__()
        if getattr(self, "metric", None) == "precomputed":
            tags.input_tags.pairwise = self._square
            tags.input_tags.positive_only = True
        return tags

    #: Whether a precomputed matrix must be square and symmetric with a zero diagonal.
    _square: ClassVar[bool] = True

    # The steps of fit.

    def _check_mutation(self) -> None:
        if self.algorithm == "auto" and self.mutation != "bitwise":
            raise ValueError(
                f"mutation={self.mutation!r} needs an evolutionary algorithm, such as algorithm='gsemo'; "
                "algorithm='auto' has operators of its own."
            )

    def _time_left(self, start: float) -> float | None:
        """Return the seconds left of the time limit that `start` began; None without one."""
        return None if self.time_limit is None else max(0.0, start + self.time_limit - perf_counter())

    def _posed(self, X: Any, sample_weight: Any, start: float) -> tuple[FloatArray, FloatArray, Space, IntArray | None]:
        """Return rows and weights, validated, the space of the clients, and the rows that its candidates are."""
        X = validate_data(self, X, dtype=self._dtypes(), order="C")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        clients = np.flatnonzero(weights > 0)
        if len(clients) == 0:
            raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
        limit = inf if self.time_limit is None else MATRIX_SHARE * self.time_limit
        space, sites = self._space(X, weights, clients, lambda: perf_counter() - start >= limit)
        check_total(space)
        return X, weights, space, sites

    def _space(
        self, X: FloatArray, weights: FloatArray, clients: IntArray, out_of_time: Callable[[], bool]
    ) -> tuple[Space, IntArray | None]:
        """Return the space of the clients, and the rows that its candidates are (None: the user's candidates)."""
        check_metric = getattr(self, "check_metric", None)
        candidates = self._candidates(X)
        if self._metric() == "precomputed":
            check_non_negative(X, type(self).__name__)
            square = symmetrised(X)
            if square is None and self._square:
                raise ValueError(why_not_square(X))
            self._check_size(len(clients) if square is not None else X.shape[1], square is not None)
            distances = X if square is None else square
            if len(clients) < len(X):
                distances = distances[clients] if square is None else distances[np.ix_(clients, clients)]
            own = square is not None
            space = precomputed_space(
                distances, weights[clients], own=own, check_metric=check_metric, out_of_time=out_of_time
            )
            return space, clients if own else None
        self._check_size(len(clients) if candidates is None else len(candidates), candidates is None)
        points = X if len(clients) == len(X) else X[clients]
        metric = Metric.of(self._metric(), points)
        metric.check(X)
        if candidates is not None:
            metric.check(candidates, "candidates", points)
        space = build_space(
            points,
            candidates,
            metric,
            weights[clients],
            check_metric=check_metric,
            n_jobs=self.n_jobs,
            out_of_time=out_of_time,
            hold_matrix=self._hold_matrix() and self._time_for(points, candidates),
        )
        if self._square and space.matrix is not None and symmetrised(space.matrix) is None:
            raise ValueError(f"metric {metric.name!r} must be symmetric with d(x, x) = 0 for {type(self).__name__}.")
        return space, clients if candidates is None else None

    def _time_for(self, points: FloatArray, candidates: FloatArray | None) -> bool:
        """Return whether a distance matrix may be ready within its share of the time limit."""
        pairs = len(points) * len(points if candidates is None else candidates)
        return self.time_limit is None or FASTEST * pairs <= MATRIX_SHARE * self.time_limit

    def _check_size(self, available: int, own: bool) -> None:
        if self.n_clusters > available:
            name = "n_samples" if own else "the number of candidates"
            remark = " (rows of weight 0 do not count)" if own else ""
            raise ValueError(f"{name}={available} should be >= n_clusters={self.n_clusters}{remark}.")

    def _iterations(self, problem: Problem) -> int | None:
        if self.max_iter != "theorem":
            return self.max_iter  # type: ignore[return-value]
        return self._counted(self._expected(problem))

    def _every_size_iterations(self, problem: Problem) -> int | None:
        """Return the iterations of one run for all sizes up to the problem's."""
        if self.max_iter != "theorem":
            return self.max_iter  # type: ignore[return-value]
        return self._counted(curve_bound(problem, epsilon=self.ls_epsilon))

    def _counted(self, bound: float) -> int:
        """Return an expected number of iterations as a limit."""
        if not bound < 1e9:
            text = "infinite (as with duplicated points)" if np.isinf(bound) else f"{bound:.3g}"
            raise ValueError(f"max_iter='theorem': the expected iteration bound is {text}, above the limit of 1e9.")
        return max(1, int(np.ceil(bound)))

    def _expected(self, problem: Problem) -> float:
        """Return the expected iterations of the theorem, or of the algorithm's contract where it is not Algorithm 1."""
        if self.algorithm in ("auto", "gsemo") and self.mutation == "bitwise":
            return iteration_bound(problem, epsilon=self.ls_epsilon).iterations
        contract = named(self.algorithm, self.mutation).contract(problem, epsilon=self.ls_epsilon)
        if contract.ratio is None:
            raise ValueError(f"max_iter='theorem': {contract.algorithm} guarantees nothing here, {contract.reason}.")
        return contract.expected_offspring

    def _check_memory(self, problem: Problem, every_size: bool = False) -> None:
        """Refuse before any work if the tables of k solutions could outgrow the memory that may be held.

        The sum problems keep about one solution at a time, the max problems and runs for all sizes one of every size.
        """
        need = (problem.k + 2) * problem.space.n * 3
        limit = 4 * matrix_budget()
        if (every_size or isinstance(problem, MaxProblem)) and need > limit:
            raise ValueError(
                f"n_clusters={problem.k} on {problem.space.n} rows needs up to {need * 8 // 2**20} MiB for the "
                f"population, above {limit * 8 // 2**20} MiB (4 times sklearn's working_memory); raise "
                "sklearn.set_config(working_memory=...) or use fewer clusters."
            )

    def _set_attributes(
        self, X: FloatArray, weights: FloatArray, problem: Problem, result: Result, sites: IntArray | None
    ) -> None:
        centers, labels = self._partition(problem, result)
        self._fitted_metric = problem.space.metric
        rows = centers if sites is None else sites[centers]
        for name in ("center_indices_", "medoid_indices_", "cluster_centers_"):
            self.__dict__.pop(name, None)
        if result.positions is not None:
            self.cluster_centers_ = result.positions
        else:
            self.center_indices_ = self.medoid_indices_ = rows
            if problem.space.metric.name != "precomputed":
                self.cluster_centers_ = problem.space.candidates[centers].copy()
        self.labels_ = self._all_labels(X, weights, labels)
        self.cost_ = self.inertia_ = result.cost
        self.n_iter_ = result.n_iter
        self.history_ = result.history
        self.certificate_: Certificate | None = None
        if result.bound is not None:
            self.certificate_ = certify(
                problem,
                result,
                centers=rows,
                labels=labels,
                rows=sites,
                n_samples=len(X),
                fingerprint=data_fingerprint(X, weights, None if sites is not None else self._given(X)),
                epsilon=self.ls_epsilon,
                named=getattr(self, "candidate_set_", None),
            )

    def _all_labels(self, X: FloatArray, weights: FloatArray, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a label for every row: rows of weight 0 go to their nearest centre."""
        if len(labels) == len(X):
            return labels
        everyone = self._nearest(X)[0]
        everyone[weights > 0] = labels
        return everyone

    def _warn(self, problem: Problem, result: Result) -> None:
        if result.interrupted or result.timed_out:
            what = "interrupted" if result.interrupted else f"stopped by time_limit={self.time_limit} s"
            message = f"{what} after {counted(result.n_iter, 'iteration')}; the best solution so far is returned."
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        if not result.complete:
            warnings.warn(
                f"no solution of size {problem.k} was met in {counted(result.n_iter, 'iteration')}; the largest one "
                "was filled up by index, without a guarantee from the theorem.",
                ConvergenceWarning,
                stacklevel=4,
            )
        distinct = problem.k
        if result.cost == 0:
            places = problem.space.distances(result.centers) if result.positions is None else result.positions
            distinct = len(np.unique(places, axis=0))
        empty = problem.k - len(np.unique(self.labels_))
        if problem.space.own and distinct < problem.k:
            message = f"the number of distinct points ({distinct}) is below n_clusters={problem.k}."
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        elif empty:
            warnings.warn(f"{empty} of the {problem.k} centres have no point.", ConvergenceWarning, stacklevel=4)
