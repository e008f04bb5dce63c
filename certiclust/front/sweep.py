"""Every number of clusters on one space: each size starts from the one before, with a part of the usual work."""

from __future__ import annotations

import warnings
from collections import Counter
from copy import copy
from numbers import Integral
from time import perf_counter
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state, check_scalar

from certiclust.estimators import FairKMedian
from certiclust.estimators._base import CertifiedClusterer
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.front.front import Front
from certiclust.solver import Budget, Result, solve
from certiclust.solver.grow import grown

#: Part of the usual work of a fit that a size gets.
SHARE = 0.1


def sweep(estimator: CertifiedClusterer, X: Any, k_max: int, *, k_min: int = 1, sample_weight: Any = None) -> Front:
    """Cluster with every number of clusters from `k_min` to `k_max`, and prove how good each answer is.

    The distances are computed once. Every size starts from the solution of the size before with one more centre (or a
    cluster split), so costs never rise with k; searches and bounds get a tenth of the work of a fit. Fair k-median is
    fitted size by size instead, because its constraint changes with k.

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
    array([8., 1., 1.])
    """
    if not isinstance(estimator, CertifiedClusterer):
        raise TypeError(f"sweep needs an estimator of certiclust; got {type(estimator).__name__}.")
    check_scalar(k_max, "k_max", Integral, min_val=1)
    check_scalar(k_min, "k_min", Integral, min_val=1, max_val=k_max)
    sizes = range(int(k_min), int(k_max) + 1)
    with warnings.catch_warnings(record=True) as caught, catch_interrupt():
        warnings.simplefilter("always")
        one_by_one = isinstance(estimator, FairKMedian)
        fitted = (_fits if one_by_one else _chain)(clone(estimator), X, sizes, sample_weight)
    _pass_on(caught)
    return Front(fitted)


def _chain(base: CertifiedClusterer, X: Any, sizes: range, sample_weight: Any) -> list[CertifiedClusterer]:
    """Return an estimator for every size, each started from the one before."""
    start = perf_counter()
    base.set_params(n_clusters=sizes[-1])
    base._validate_params()
    X, weights, space, sites = base._posed(X, sample_weight, start)
    base._check_memory(base._problem(space))
    seed = int(check_random_state(base.random_state).randint(2**31))
    fitted: list[CertifiedClusterer] = []
    result: Result | None = None
    for k in sizes:
        member = copy(base)
        member.n_clusters = k
        problem = member._problem(space)
        left = base._time_left(start)
        seconds = None if left is None else left / (sizes[-1] + 1 - k)
        result = solve(
            problem,
            base.algorithm,
            Budget(member._iterations(problem), seconds, base.gap_tol, share=SHARE),
            random_state=seed,
            certify=base.certify,
            callbacks=member._callbacks(),
            begin=None if result is None else grown(problem, result, seed),
        )
        member._set_attributes(X, weights, problem, result, sites)
        member._warn(problem, result)
        fitted.append(member)
    return fitted


def _fits(base: CertifiedClusterer, X: Any, sizes: range, sample_weight: Any) -> list[CertifiedClusterer]:
    """Return an estimator for every size, each fitted on its own."""
    start = perf_counter()
    fitted = []
    for k in sizes:
        member: CertifiedClusterer = clone(base).set_params(n_clusters=k)
        left = base._time_left(start)
        if left is not None:
            member.set_params(time_limit=max(1e-6, left / (sizes[-1] + 1 - k)))
        member.fit(X, sample_weight=sample_weight)
        fitted.append(member.set_params(time_limit=base.time_limit))
    return fitted


def _pass_on(caught: list[warnings.WarningMessage]) -> None:
    """Warn once of what several sizes warned of, in the words of the first."""
    kinds = Counter(item.category for item in caught)
    for category, number in kinds.items():
        first = next(str(item.message) for item in caught if item.category is category)
        more = f" ({number - 1} more such warnings from other sizes)" if number > 1 else ""
        warnings.warn(first + more, category, stacklevel=3)
