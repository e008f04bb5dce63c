"""Fit every number of clusters on one space."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_scalar

from certiclust.estimators._base import CertifiedClusterer
from certiclust.front.front import Front


def sweep(estimator: CertifiedClusterer, X: Any, k_max: int, *, k_min: int = 1, sample_weight: Any = None) -> Front:
    """Cluster with every number of clusters from `k_min` to `k_max`, and prove how good each answer is.

    Parameters
    ----------
    estimator : estimator
        One of `KMedian`, `KMeans`, `KCenter`, `KTMM`, `FairKMedian`; it is cloned, and its `n_clusters` is not used.
    X : array-like of shape (n_samples, n_features)
        Rows, or the distance matrix for ``metric="precomputed"``.
    k_max, k_min : int
        The largest and the least number of clusters.
    sample_weight : array-like of shape (n_samples,), default=None
        As in `fit`.

    Returns
    -------
    Front
        Costs, lower bounds, and a fitted estimator for every size.
    """
    if not isinstance(estimator, CertifiedClusterer):
        raise TypeError(f"sweep needs an estimator of certiclust; got {type(estimator).__name__}.")
    check_scalar(k_max, "k_max", Integral, min_val=1)
    check_scalar(k_min, "k_min", Integral, min_val=1, max_val=k_max)
    fitted = [
        clone(estimator).set_params(n_clusters=k).fit(X, sample_weight=sample_weight) for k in range(k_min, k_max + 1)
    ]
    return Front(fitted)
