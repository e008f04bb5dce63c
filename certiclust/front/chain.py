"""Every number of clusters on one space: each size from a neighbour, or all from one run of GSEMO."""

from __future__ import annotations

import warnings
from collections import Counter
from copy import copy
from dataclasses import replace
from numbers import Integral
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, check_scalar

from certiclust.estimators import KTMM, FairKMedian, KCenter, KMeans, KMedian
from certiclust.estimators._base import CertifiedClusterer
from certiclust.estimators._progress import shown_progress
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.front.front import Front
from certiclust.problems import FairKMedianProblem, Problem
from certiclust.solver import Budget, Result, Start, solve
from certiclust.solver.grow import at_least_as_good, grown, shrunk

if TYPE_CHECKING:
    from certiclust.space.lists import Ranking

#: Part of the usual work of a fit that the first size gets, which has nothing to start from, and part of what it took
#: that each other size gets, from so many rows on; fewer rows get more of it, up to a limit.
SHARES: dict[type, tuple[float, float]] = {
    KMedian: (0.25, 0.05),
    FairKMedian: (0.2, 0.05),
    KMeans: (0.5, 0.1),
    KCenter: (0.25, 0.075),
    KTMM: (1.0, 0.055),
}
#: What the first size took counts as this part of its share at least.
LEAST = 0.4
MANY_ROWS, MOST = 2000, 0.15
#: Problems whose sizes are solved from the largest one down: multipliers and partitions carry over better that way.
DOWN = KMedian, FairKMedian, KTMM


def sweep(estimator: CertifiedClusterer, X: Any, k_max: int, *, k_min: int = 1, sample_weight: Any = None) -> Front:
    """Cluster with every number of clusters from `k_min` to `k_max`, and prove how good each answer is.

    The distances are computed once, and every size starts from the solution and the multipliers of a neighbouring
    size; searches and bounds get about a tenth of the work of a fit, the largest size more. A size that would cost more
    than a smaller one starts from that one with a centre more (or a cluster split): costs never rise with k, but for
    fair k-median, whose constraint changes with k. ``algorithm="gsemo"`` is one run of GSEMO for all sizes; for fair
    k-median it is one for each.

    Parameters
    ----------
    estimator : estimator
        One of `KMedian`, `KMeans`, `KCenter`, `KTMM`, `FairKMedian`; it is cloned, and its `n_clusters` is not used.
        Its `time_limit` is for all sizes together.
    X : array-like of shape (n_samples, n_features)
        Rows, or the distance matrix for ``metric="precomputed"``.
    k_max, k_min : int
        The largest and the least number of clusters; `k_min` is 1 by default.
    sample_weight : array-like of shape (n_samples,), default=None
        As in `fit`.

    Returns
    -------
    Front
        Costs, lower bounds, and a fitted estimator for every size.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust import KCenter, sweep
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> sweep(KCenter(random_state=0), X, 3).costs
    array([10.,  1.,  1.])
    """
    if not isinstance(estimator, CertifiedClusterer):
        kind = f"the class {estimator.__name__}, not an instance" if isinstance(estimator, type) else None
        raise TypeError(f"sweep needs an estimator of certiclust; got {kind or type(estimator).__name__}.")
    check_scalar(k_max, "k_max", Integral, min_val=1)
    check_scalar(k_min, "k_min", Integral, min_val=1, max_val=k_max)
    sizes = range(int(k_min), int(k_max) + 1)
    with warnings.catch_warnings(record=True) as caught, catch_interrupt():
        warnings.simplefilter("always")
        fitted = _Chain(clone(estimator), X, sizes, sample_weight).run()
    _pass_on(caught)
    return Front(fitted)


class _Chain:
    """Sizes solved one after the other on one space, each from a neighbour."""

    def __init__(self, base: CertifiedClusterer, X: Any, sizes: range, sample_weight: Any) -> None:
        self.start, self.base, self.sizes = perf_counter(), base, sizes
        base.set_params(n_clusters=sizes[-1])
        base._validate_params()
        self.X, self.weights, self.space, self.sites = base._posed(X, sample_weight, self.start)
        base._check_memory(base._problem(self.space))
        self.seed = int(check_random_state(base.random_state).randint(2**31))
        self.ranking, self.pace = self._ranked(), 1.0
        self.results: dict[int, Result] = {}
        self.fitted: dict[int, CertifiedClusterer] = {}

    def run(self) -> list[CertifiedClusterer]:
        """Return an estimator for every size; none costs more than a smaller one."""
        if self._one_run:
            self._run_once()
            return [self.fitted[k] for k in self.sizes]
        for done, (k, step) in enumerate(self._order()):
            left = self.base._time_left(self.start)
            seconds = None if left is None else left / (len(self.sizes) - done)
            self._solve(k, seconds, self._begin(k, step))
        for k in () if isinstance(self.base, FairKMedian) else self.sizes[1:]:
            if self.fitted[k].cost_ > self.fitted[k - 1].cost_:
                self._solve(k, self.base._time_left(self.start), self._begin(k, 1))
        return [self.fitted[k] for k in self.sizes]

    @property
    def _one_run(self) -> bool:
        """Whether one run of GSEMO is for all sizes."""
        plain = self.base.algorithm == "gsemo" and self.base.mutation == "bitwise"
        return plain and not isinstance(self.base, FairKMedian)

    def _run_once(self) -> None:
        """Solve all sizes by one run of GSEMO, and fit their estimators."""
        from certiclust.solver.every_size import solve_every_size

        base = self.base
        largest = base._problem(self.space)
        base._check_memory(largest, every_size=True)
        with shown_progress(base.verbose, f"{largest.name}, k = 1 to {largest.k}") as callbacks:
            results = solve_every_size(
                self._problem,
                self.sizes,
                Budget(base._every_size_iterations(largest), base._time_left(self.start)),
                random_state=self.seed,
                certify=base.certify,
                callbacks=callbacks,
            )
        for k, result in results.items():
            self._fit(self._problem(k), result)

    def _order(self) -> list[tuple[int, int]]:
        """Return the sizes in the order in which they are solved, each with the direction that it comes from."""
        if self.base.algorithm != "auto":
            return [(k, 1) for k in self.sizes]
        if isinstance(self.base, DOWN) and not self._anywhere:
            return [(k, -1) for k in reversed(self.sizes)]
        if isinstance(self.base, KCenter):  # the largest size is the hardest: it is not left to what others pass on
            return [(self.sizes[-1], 1), *((k, 1) for k in self.sizes[:-1])]
        return [(k, 1) for k in self.sizes]

    def _ranked(self) -> Ranking | None:
        """Return the sorted distances that all sizes of k-median share."""
        if not isinstance(self.base, (KMedian, FairKMedian)) or self.base.algorithm != "auto":
            return None
        from certiclust.solver.kmedian_run import ranked

        return ranked(self.space)

    @property
    def _anywhere(self) -> bool:
        """Whether centres of k-median may be anywhere."""
        return getattr(self.base, "centers", None) == "continuous"

    def _begin(self, k: int, step: int) -> Start | None:
        """Return where size k starts, coming from the size before it in this direction."""
        neighbour = self.results.get(k - step)
        if neighbour is None or self.base.algorithm != "auto":
            return None
        problem = self._problem(k)
        if step < 0:
            return replace(shrunk(problem, neighbour, self.seed), ranking=self.ranking)
        return grown(problem, neighbour, self.seed)

    def _problem(self, k: int) -> Problem:
        """Return the problem of one size; sorted distances have the fair radii of points of equal weight."""
        problem = self._member(k)._problem(self.space)
        if isinstance(problem, FairKMedianProblem) and self.ranking is not None and np.ptp(self.space.weights) == 0:
            radii = np.ascontiguousarray(self.ranking.distance[:, -(-self.space.n // k) - 1])
            return replace(problem, known_radii=radii)
        return problem

    def _member(self, k: int) -> CertifiedClusterer:
        member = copy(self.base)
        member.n_clusters = k
        return member

    def _solve(self, k: int, seconds: float | None, begin: Start | None) -> None:
        """Solve one size, and fit its estimator."""
        member, problem = self._member(k), self._problem(k)
        first, other = next(shares for kind, shares in SHARES.items() if isinstance(member, kind))
        few = max(1.0, MANY_ROWS / self.space.n)
        share = min(1.0, few * first) if begin is None else min(MOST, few * other * self.pace)
        with shown_progress(member.verbose, f"{problem.name}, k = {k}") as callbacks:
            result = solve(
                problem,
                member.algorithm,
                Budget(member._iterations(problem), seconds, member.gap_tol, share=share),
                random_state=self.seed,
                certify=member.certify,
                callbacks=callbacks,
                begin=begin or Start(ranking=self.ranking),
                mutation=member.mutation,
            )
        if not self.results:
            self.pace = max(LEAST, min(1.0, result.spent / share))
        smaller = self.results.get(k - 1)
        if member.algorithm != "auto" and smaller is not None and not isinstance(member, FairKMedian):
            result = at_least_as_good(problem, result, smaller, self.seed)
        self._fit(problem, result)

    def _fit(self, problem: Problem, result: Result) -> None:
        """Fit the estimator of one size."""
        k = problem.k
        member = self._member(k)
        if self._anywhere and k - 1 in self.fitted:
            member._smaller_centers = self.fitted[k - 1].cluster_centers_
        member._set_attributes(self.X, self.weights, problem, result, self.sites)
        member._warn(problem, result)
        self.results[k], self.fitted[k] = result, member


def _pass_on(caught: list[warnings.WarningMessage]) -> None:
    """Warn once of what several sizes warned of, in the words of the first."""
    kinds = Counter(item.category for item in caught)
    for category, number in kinds.items():
        first = next(str(item.message) for item in caught if item.category is category)
        more = f" ({number - 1} more such warnings from other sizes)" if number > 1 else ""
        warnings.warn(first + more, category, stacklevel=3)
