"""The fewest clusters for a given radius: the steps of fit, with the number of clusters as the answer."""

from __future__ import annotations

import warnings
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from certiclust.certificates import data_fingerprint
from certiclust.estimators._certify import certify
from certiclust.evolution.gsemo import HISTORY
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.problems import KCenterProblem
from certiclust.solver import Result
from certiclust.space import Space

if TYPE_CHECKING:
    from certiclust.estimators.kcenter import KCenter
    from certiclust.solver.kcenter_run import KCenterRun


def fit_least(estimator: KCenter, X: Any, radius: float, sample_weight: Any) -> KCenter:
    """Fit an estimator with the fewest clusters for a radius, and certify that one fewer does not do."""
    from certiclust.solver.kcenter import Limits
    from certiclust.solver.kcenter_run import least_centers

    estimator._validate_params()
    start = perf_counter()
    X, weights, space, sites = estimator._posed(X, sample_weight, start)
    limit = estimator.time_limit
    with catch_interrupt() as interrupted:

        def seconds() -> float:
            return inf if limit is None else start + limit - perf_counter()

        limits = Limits(0.0, inf, lambda: interrupted() or seconds() <= 0, seconds)
        seed = int(check_random_state(estimator.random_state).randint(2**31))
        found = least_centers(space, radius, limits, seed)
        stopped = interrupted(), not interrupted() and seconds() <= 0
    estimator.set_params(n_clusters=found.k)
    result = _result(space, found.k, found.enough, perf_counter() - start, stopped)
    estimator._set_attributes(X, weights, KCenterProblem(space, found.k), result, sites)
    estimator.n_clusters_lower_bound_ = found.proved
    estimator.min_clusters_certificate_ = None
    if found.fewer is not None and estimator.certify:
        assert sites is not None
        fewer = _result(space, found.k - 1, found.fewer, perf_counter() - start, stopped)
        estimator.min_clusters_certificate_ = certify(
            KCenterProblem(space, found.k - 1),
            fewer,
            centers=sites[fewer.centers],
            labels=np.zeros(0, dtype=np.int32),
            rows=sites,
            n_samples=len(X),
            fingerprint=data_fingerprint(X, weights, None),
            epsilon=estimator.ls_epsilon,
        )
    if found.proved < found.k:
        message = f"{found.k} clusters suffice, but only that fewer than {found.proved} do not was proved."
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return estimator


def _result(space: Space, k: int, run: KCenterRun, seconds: float, stopped: tuple[bool, bool]) -> Result:
    cost = KCenterProblem(space, k).cost(run.centers)
    history = np.array([(seconds, run.iterations, cost, min(cost, run.bound.value), space.m)], dtype=HISTORY)
    return Result(run.centers, None, cost, run.bound, run.iterations, history, run.method, True, *stopped)
