"""min_clusters: the steps of fit, with the number of clusters as the answer."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from sklearn.base import clone
from sklearn.utils import check_random_state

from certiclust.problems import Problem
from certiclust.solver import Budget
from certiclust.space import Space

if TYPE_CHECKING:
    from certiclust.estimators._base import CertifiedClusterer
    from certiclust.solver.fewest import Fewest


class Find(Protocol):
    """A function of solver/fewest.py."""

    def __call__(self, space: Space, largest: float, budget: Budget, /, *, random_state: int, certify: bool) -> Fewest:
        """Return the fewest clusters whose radius or diameter is at most `largest`."""


def fit_fewest(
    estimator: CertifiedClusterer, X: Any, largest: float, sample_weight: Any, max_iter: int | None, find: Find
) -> tuple[Fewest, Problem]:
    """Fit an estimator with the fewest clusters, and certify that fewer do not do; returns what was found, and where.

    Parameters
    ----------
    estimator : estimator
        A clone, which is changed.
    X, sample_weight
        As in `fit`.
    largest : float
        The radius or diameter allowed.
    max_iter : int or None
        Iterations of Algorithm 1 at most.
    find : callable
        What looks for the fewest clusters.
    """
    start = perf_counter()
    estimator.set_params(n_clusters=1)
    X, weights, space, sites = estimator._posed(X, sample_weight, start)
    answer = find(
        space,
        largest,
        Budget(max_iter, estimator._time_left(start), estimator.gap_tol),
        random_state=int(check_random_state(estimator.random_state).randint(2**31)),
        certify=estimator.certify,
    )
    estimator.min_clusters_certificate_ = None
    if estimator.certify and answer.refuted is not None:
        fewer = clone(estimator).set_params(n_clusters=answer.lower - 1)
        fewer._set_attributes(X, weights, fewer._problem(space), answer.refuted, sites)
        estimator.min_clusters_certificate_ = fewer.certificate_
    estimator.set_params(n_clusters=answer.k)
    problem = estimator._problem(space)
    estimator._set_attributes(X, weights, problem, answer.result, sites)
    estimator.n_clusters_lower_bound_ = answer.lower
    return answer, problem
