"""Distances by name: which are accepted, which are metrics, and how a block of them is computed.

Every distance is computed by direct differences. The expanded square ``|a|^2 + |b|^2 - 2ab`` is faster and wrong
where it matters here: exact duplicates come out apart once the data sit far from the origin, and ``f1 >= 0`` or a
fair radius of zero hangs on that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.exceptions import DataConversionWarning

FloatArray = NDArray[np.float64]
MetricLike = str | Callable[[Any, Any], float]

_ALIASES = {
    "l2": "euclidean",
    "nan_euclidean": "euclidean",
    "minkowski": "euclidean",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "matching": "hamming",
}
_BOOLEAN = frozenset({"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"})

# PROOFS.md part 4. Power 1: the triangle inequality holds. Power 2: the square root of the distance is a metric.
_TRIANGLE = frozenset(
    "euclidean manhattan chebyshev hamming jaccard canberra haversine mahalanobis seuclidean".split()  # noqa: SIM905
)
_SQUARED = frozenset({"sqeuclidean", "cosine", "correlation"})
_OTHER = frozenset({"braycurtis"}) | (_BOOLEAN - _TRIANGLE)

#: The distances whose rows the compiled kernels compute on the fly, with the code the kernels know them by.
KERNEL_CODES = {"euclidean": 1, "sqeuclidean": 2, "manhattan": 3, "chebyshev": 4, "cosine": 5}

#: Columns up to which one after the other is faster than all at once.
FEW_COLUMNS = 16

#: Every name accepted, aliases included.
METRIC_NAMES = sorted(_TRIANGLE | _SQUARED | _OTHER | set(_ALIASES))


@dataclass(frozen=True)
class Metric:
    """A distance between rows.

    Attributes
    ----------
    name : str
        Canonical name; a callable carries its qualified name and ``precomputed`` stands for a given matrix.
    power : int or None
        1 for a metric, 2 for the square of one, None where nothing is known before an exact check.
    function : callable or None
        The user's own distance, if one was given.
    params : dict
        What the distance learnt from the data it was fitted on (variances, inverse covariance).
    """

    name: str
    power: int | None
    function: Callable[[Any, Any], float] | None = None
    params: dict[str, FloatArray] = field(default_factory=dict)

    @staticmethod
    def of(metric: MetricLike, X: FloatArray | None = None) -> Metric:
        """Return the distance called `metric`, with its parameters taken from the rows `X`."""
        if callable(metric):
            return Metric(f"callable {getattr(metric, '__qualname__', type(metric).__name__)}", None, metric)
        if metric == "precomputed":
            return Metric(metric, None)
        name = _ALIASES.get(metric, metric)
        if name not in _TRIANGLE | _SQUARED | _OTHER:
            raise ValueError(f"unknown metric {metric!r}; use a callable, 'precomputed' or one of {METRIC_NAMES}.")
        power = 1 if name in _TRIANGLE else 2 if name in _SQUARED else None
        plain = Metric(name, power)
        if X is None or name not in ("seuclidean", "mahalanobis"):
            return plain
        plain.check(X)
        return Metric(name, power, params=_learn(name, X))

    @property
    def compiled(self) -> bool:
        """Whether the kernels can compute rows of this distance without a matrix."""
        return self.function is None and self.name in KERNEL_CODES

    def check(self, X: FloatArray, what: str = "X", others: FloatArray | None = None) -> None:
        """Raise ValueError where this distance is undefined or would overflow on the rows of `X`.

        Parameters
        ----------
        X : ndarray
            The rows.
        what : str, default="X"
            What to call them in the message.
        others : ndarray or None, default=None
            Rows already checked, to which distances will be computed as well.
        """
        if self.function is not None:
            return
        if self.name == "haversine" and X.shape[1] != 2:
            raise ValueError(f"haversine needs 2 columns (latitude, longitude in radians); {what} has {X.shape[1]}.")
        spread = column_spread(X if others is None else np.concatenate([X, others]))
        with np.errstate(over="ignore"):
            if not np.isfinite(np.square(spread).sum()):
                raise ValueError(
                    f"the values of {what} spread over {spread.max():.3g}, and the squared distances overflow float64 "
                    "(limit about 1e154 per column); scale the data first."
                )
        if self.name in _BOOLEAN and not np.isin(X, (0.0, 1.0)).all():
            message = f"{what} was converted to boolean for metric {self.name!r}: every value but 0 became True."
            warnings.warn(message, DataConversionWarning, stacklevel=2)
        if self.name in ("cosine", "correlation"):
            flat = np.flatnonzero(np.ptp(X, axis=1) == 0 if self.name == "correlation" else ~np.any(X, axis=1))
            if flat.size:
                kind = "zero" if self.name == "cosine" else "constant"
                raise ValueError(f"{self.name} distance is undefined for row {flat[0]} of {what}, which is {kind}.")

    def prepare(self, X: FloatArray) -> FloatArray:
        """Map rows to the form in which the distance is a plain difference, such as unit vectors for cosine."""
        if self.name == "mahalanobis":
            # Column by column: a matrix product rounds one row differently in blocks of different size.
            terms = zip((X - self.params["mean"]).T, self.params["factor"], strict=True)
            return np.asarray(sum((x[:, None] * row for x, row in terms), np.zeros_like(X)), dtype=np.float64)
        if self.name == "haversine":
            lat, lon = X[:, 0], X[:, 1]
            return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
        if self.name == "correlation":
            X = X - X.mean(axis=1, keepdims=True)
        if self.name in ("cosine", "correlation"):
            scaled = X / np.abs(X).max(axis=1, keepdims=True)  # so that the norm neither overflows nor underflows
            return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float64)
        return X

    def block(self, sites: FloatArray, clients: FloatArray) -> FloatArray:
        """Return the ``(len(sites), len(clients))`` distances; a callable gets the client first, then the site."""
        if self.function is not None:
            return np.asarray(cdist(clients, sites, self.function).T, dtype=np.float64)
        A, B = self.prepare(sites), self.prepare(clients)
        if self.name in ("cosine", "correlation"):
            return np.asarray(0.5 * cdist(A, B, "sqeuclidean"), dtype=np.float64)
        if self.name == "haversine":
            # The angle between unit vectors, right at both ends; arcsin loses half the digits near the antipode.
            return np.asarray(2 * np.arctan2(cdist(A, B), cdist(A, -B)), dtype=np.float64)
        if self.name in _BOOLEAN:
            A, B = A.astype(bool), B.astype(bool)
        names: dict[str, Any] = {"manhattan": "cityblock", "mahalanobis": "euclidean"}
        params: dict[str, Any] = self.params if self.name == "seuclidean" else {}
        return np.asarray(cdist(A, B, names.get(self.name, self.name), **params), dtype=np.float64)


def column_spread(X: FloatArray) -> FloatArray:
    """Return the largest minus the least value of each column, infinite where that overflows."""
    if not len(X):
        return np.zeros(X.shape[1])
    with np.errstate(over="ignore"):
        if X.shape[1] > FEW_COLUMNS:
            return np.asarray(np.subtract(X.max(axis=0), X.min(axis=0), dtype=np.float64))
        return np.array([float(column.max()) - float(column.min()) for column in X.T])


def _learn(name: str, X: FloatArray) -> dict[str, FloatArray]:
    """Return the parameters that a distance takes from the rows it is fitted on."""
    if len(X) < 2:
        raise ValueError(f"{name} needs at least 2 rows to estimate variances from; X has {len(X)}.")
    if name == "seuclidean":
        variance = np.asarray(np.var(X, axis=0, ddof=1), dtype=np.float64)
        if not np.all(variance > 0):
            raise ValueError(f"seuclidean divides by the variance, and column {int(np.argmin(variance))} has none.")
        return {"V": variance}
    covariance = np.asarray(np.atleast_2d(np.cov(X, rowvar=False)), dtype=np.float64)
    scales, axes = np.linalg.eigh(covariance)
    if not scales[0] > X.shape[1] * 2.0**-52 * scales[-1]:
        raise ValueError(f"mahalanobis needs a covariance of full rank {X.shape[1]}; that of X is singular.")
    # Along the principal axes, scaled to variance 1, the distance is Euclidean: a metric whatever the conditioning.
    return {"mean": X.mean(axis=0), "factor": np.asarray(axes / np.sqrt(scales), dtype=np.float64)}
