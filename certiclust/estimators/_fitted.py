"""What a fitted estimator answers: predict, transform and score, from the distances to its centres."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_non_negative, validate_data

from certiclust.space import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class FittedCenters(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """An estimator with centres and the metric they were fitted with."""

    cluster_centers_: FloatArray
    center_indices_: IntArray
    _fitted_metric: Metric

    @abstractmethod
    def _cost(self, labels: NDArray[np.int32], distances: FloatArray, weights: FloatArray, X: FloatArray) -> float:
        """Return the cost of rows `X` with the given labels, distances to their centres, and weights."""

    def _dtypes(self) -> list[Any]:
        """Return the types in which rows are kept as they are; others become the first of them."""
        return [np.float64]

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the nearest centre of each row, ties to the lower label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; for ``metric="precomputed"`` their distances to the columns of fit.
        """
        check_is_fitted(self)
        X = self._validated(X)
        return self._nearest(X)[0]

    def transform(self, X: Any) -> FloatArray:
        """Return the distances of each row to the k centres."""
        check_is_fitted(self)
        return self._distances(self._validated(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the cost of the rows under the fitted centres."""
        check_is_fitted(self)
        X = self._validated(X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        labels, distances = self._nearest(X)
        return -self._cost(labels, distances, weights, X)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_ if hasattr(self, "cluster_centers_") else self.center_indices_)

    # Distances to the fitted centres.

    def _validated(self, X: Any) -> FloatArray:
        X = validate_data(self, X, dtype=self._dtypes(), order="C", reset=False)
        if self._fitted_metric.name == "precomputed":
            check_non_negative(X, type(self).__name__)
        else:
            self._fitted_metric.check(X, "X", self.cluster_centers_)
        return np.asarray(X)

    def _distances(self, X: FloatArray) -> FloatArray:
        if self._fitted_metric.name == "precomputed":
            return X[:, self.center_indices_]
        return np.ascontiguousarray(self._fitted_metric.block(self.cluster_centers_, X).T)

    def _nearest(self, X: FloatArray) -> tuple[NDArray[np.int32], FloatArray]:
        """Return label and distance of each row, in blocks that keep memory small."""
        labels = np.empty(len(X), dtype=np.int32)
        nearest = np.empty(len(X))
        for part in gen_batches(len(X), max(1, 4_000_000 // self._n_features_out)):
            d = self._distances(X[part])
            labels[part] = d.argmin(axis=1)
            nearest[part] = d.min(axis=1)
        return labels, nearest
