"""The data as the verifier sees them, and distances between them by SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from certiclust.certificates.errors import CertificateError
from certiclust.certificates.fingerprint import data_fingerprint

if TYPE_CHECKING:
    from certiclust.certificates.certificate import Certificate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

_METRICS = {"euclidean", "manhattan", "chebyshev", "hamming", "jaccard", "canberra", "haversine", "mahalanobis"}
_METRICS |= {"seuclidean"}
_SQUARED = {"sqeuclidean", "cosine", "correlation"}
_BOOLEAN = {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}
_ALIASES = {"l2": "euclidean", "nan_euclidean": "euclidean", "minkowski": "euclidean", "matching": "hamming"}
_ALIASES |= {"l1": "manhattan", "cityblock": "manhattan"}
#: Absolute errors: of angles by unit vectors; of squares, which vanish below that; and 2^-520 of roots of squares.
_SMALL = {"cosine": 2.0**-50, "correlation": 2.0**-50, "haversine": 2.0**-50, "sqeuclidean": 2.0**-1040}
_UNIT = 2.0**-52


@dataclass(frozen=True)
class Instance:
    """The data as the verifier sees them: clients of positive weight, candidates, and a way to ask for distances."""

    metric: str
    function: Callable[[Any, Any], float] | None
    params: dict[str, Any]
    clients: FloatArray
    sites: FloatArray
    matrix: FloatArray | None
    weights: FloatArray
    own: bool
    #: How much worse than the best place for a cluster some site is at most: None where only sites are compared with.
    excess: float | None = None

    @property
    def n(self) -> int:
        """Number of clients."""
        return len(self.weights)

    @property
    def m(self) -> int:
        """Number of sites."""
        return self.matrix.shape[1] if self.matrix is not None else len(self.sites)

    def between(self, clients: IntArray | slice, sites: IntArray | slice) -> FloatArray:
        """Return distances, clients by sites."""
        if self.matrix is not None:
            return self.matrix[clients][:, sites]
        return between_rows(self.clients[clients], self.sites[sites], self.metric, self.function, self.params)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield blocks of clients with their distances to all sites."""
        size = max(1, 4_000_000 // max(1, self.m))
        for start in range(0, self.n, size):
            part = slice(start, min(self.n, start + size))
            yield part, self.between(part, slice(None))

    def errors(self, terms: int) -> tuple[float, float]:
        """Return the relative and absolute rounding error of a sum of `terms` distances."""
        width = self.clients.shape[1] + 16
        absolute = width * (_SMALL.get(self.metric, 2.0**-520) if self.function is None else 2.0**-520)
        if self.function is None and self.metric == "mahalanobis":
            absolute += width * _UNIT * float(np.abs(self.clients).max(initial=0.0))
        return _UNIT * (terms + width), absolute


def read_instance(
    certificate: Certificate, X: Any, sample_weight: Any, metric: Any, candidates: Any
) -> tuple[Instance, IntArray]:
    """Return the instance and, for every client, its row in X; raise if the data are not the certificate's."""
    X = _matrix(X, "X")
    try:
        weights = np.ones(len(X)) * (1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise CertificateError(f"data: sample_weight does not fit {len(X)} rows.") from error
    sites = None if candidates is None else _matrix(candidates, "candidates")
    if len(X) != certificate.n_samples:
        raise CertificateError(f"data: X has {len(X)} rows, the certificate is about {certificate.n_samples}.")
    if weights.shape != (len(X),):
        raise CertificateError(f"data: sample_weight of shape {weights.shape} for {len(X)} rows.")
    if data_fingerprint(X, weights, sites) != certificate.data_sha256:
        raise CertificateError("data: X, sample_weight or candidates are not those of the certificate (data_sha256).")
    rows = np.flatnonzero(weights > 0)
    name, function = certificate.metric, None
    if callable(metric):
        function = metric
        if f"callable {getattr(metric, '__qualname__', type(metric).__name__)}" != name:
            raise CertificateError(f"metric: the certificate is about {name!r}, not this callable.")
    elif metric is not None and _ALIASES.get(metric, metric) != name:
        raise CertificateError(f"metric: the certificate is about {name!r}, not {metric!r}.")
    if name == "precomputed":
        if X.min(initial=0.0) < 0:
            raise CertificateError("data: a distance is negative.")
        square = symmetric(X)
        if square:
            X = np.minimum(X, X.T)
            np.fill_diagonal(X, 0.0)
        matrix = X[np.ix_(rows, rows)] if square else X[rows]
        nothing = np.empty((len(rows), 0))
        return Instance(name, None, {}, nothing, nothing, matrix, weights[rows], square), rows
    if function is None and name not in _METRICS | _SQUARED | _BOOLEAN | {"braycurtis"}:
        raise CertificateError(f"metric: {name!r} is a callable; pass it to verify as metric=.")
    params: dict[str, Any] = {}
    if function is None and name == "seuclidean":
        params["V"] = np.var(X[rows], axis=0, ddof=1)
    own = sites is None
    clients = X[rows]
    if function is None and name == "mahalanobis":
        # The distance is Euclidean after a linear map, and computed so it is a metric whatever the covariance.
        scales, axes = np.linalg.eigh(np.atleast_2d(np.cov(clients, rowvar=False)))
        factor = axes / np.sqrt(scales)
        middle = clients.mean(axis=0)
        clients = (clients - middle) @ factor
        sites = None if sites is None else (sites - middle) @ factor
    return Instance(
        name, function, params, clients, clients if sites is None else sites, None, weights[rows], own
    ), rows


def _matrix(values: Any, name: str) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CertificateError(f"data: {name} is not an array of numbers.") from error
    if array.ndim != 2 or not np.isfinite(array).all():
        raise CertificateError(f"data: {name} must be a finite two-dimensional array.")
    return array


def between_rows(
    A: FloatArray, B: FloatArray, metric: str, function: Callable[[Any, Any], float] | None, params: dict[str, Any]
) -> FloatArray:
    """Return the distances of rows of A to rows of B."""
    if function is not None:
        return np.asarray(cdist(A, B, function))
    if metric == "correlation":
        A, B, metric = A - A.mean(axis=1, keepdims=True), B - B.mean(axis=1, keepdims=True), "cosine"
    if metric == "cosine":
        # SciPy's own cosine is 1 - a.b, which loses all digits of a small distance.
        units = [v / np.abs(v).max(axis=1, keepdims=True) for v in (A, B)]
        units = [v / np.sqrt((v * v).sum(axis=1, keepdims=True)) for v in units]
        return np.asarray(cdist(units[0], units[1], "sqeuclidean") / 2)
    if metric == "haversine":
        # By the chord between points on the sphere: right for near and for opposite ones.
        spots = []
        for lat, lon in (A.T, B.T):
            spots.append(np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1))
        return np.asarray(2 * np.arctan2(cdist(spots[0], spots[1]), cdist(spots[0], -spots[1])))
    if metric in _BOOLEAN:
        A, B = A.astype(bool), B.astype(bool)
    name: Any = {"manhattan": "cityblock", "mahalanobis": "euclidean"}.get(metric, metric)
    return np.asarray(cdist(A, B, name, **params))


def site_indices(certificate: Certificate, instance: Instance, rows: IntArray, key: str, count: int = 0) -> IntArray:
    """Return witness indices as positions among the sites, checked to be distinct and in range."""
    count = count or certificate.n_clusters
    values = certificate.witness.get(key)
    proper = isinstance(values, list) and all(type(v) is int and 0 <= v < 2**53 for v in values)
    if values is None or not proper or len(values) != count or len(set(values)) != count:
        raise CertificateError(f"witness: {key!r} must list {count} distinct indices.")
    indices = np.array(values, dtype=np.intp)
    if not instance.own:
        positions = indices
        if not (indices.min() >= 0 and indices.max() < instance.m):
            raise CertificateError(f"witness: {key!r} names a candidate outside 0..{instance.m - 1}.")
    else:
        positions = np.searchsorted(rows, indices)
        if not np.all(positions < len(rows)) or not np.array_equal(rows[positions], indices):
            raise CertificateError(f"witness: {key!r} names a row that does not exist or has weight 0.")
    return np.asarray(positions, dtype=np.intp)


def nearest_distances(instance: Instance, centers: IntArray) -> FloatArray:
    """Return the distance of every client to its nearest centre."""
    size = max(1, 4_000_000 // len(centers))
    parts = [instance.between(slice(start, start + size), centers).min(axis=1) for start in range(0, instance.n, size)]
    return np.concatenate(parts)


def power_of(instance: Instance) -> int | None:
    """Return 1 for a metric, 2 for the square of one; for other distances after an exact check of all triples."""
    if instance.function is None and instance.metric in _METRICS:
        return 1
    if instance.function is None and instance.metric in _SQUARED:
        return 2
    d = instance.between(slice(None), slice(None))
    square = instance.own and symmetric(d)
    for i in range(instance.n):
        through = d[i] if square else (d[i] + d).min(axis=1)
        if np.any(d[i] > (1 + 2.0**-50) * (through[:, None] + d).min(axis=0)):
            return None
    return 1


def symmetric(d: FloatArray) -> bool:
    """Return whether a matrix is square and, up to rounding, symmetric with a zero diagonal."""
    if d.shape[0] != d.shape[1]:
        return False
    slack = 1e-12 * d.max(initial=0.0)
    return bool(np.diagonal(d).max(initial=0.0) <= slack and np.abs(d - d.T).max(initial=0.0) <= slack)
