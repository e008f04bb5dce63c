"""Re-checking a certificate from the data alone.

This file is the reason to believe the others: plain NumPy and SciPy, distances by SciPy's cdist in blocks, no import
from the rest of the package. Every number a certificate claims is computed again here, with a margin for rounding on
the cautious side: a lower bound must not exceed what is re-derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from certiclust.certificates.candidates import named_candidates
from certiclust.certificates.colouring import MAX_POINTS, is_uncolourable
from certiclust.certificates.cover import proved_threshold
from certiclust.certificates.errors import CertificateError
from certiclust.certificates.fingerprint import data_fingerprint
from certiclust.certificates.kmeans import boxes_bound, sdp_bound, single_bound
from certiclust.certificates.replay import Scale, replay, unpack

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
_ANGLES = {"cosine", "correlation", "haversine"}
_UNIT = 2.0**-52

#: How what a guarantee rests on may begin.
_REASONS = {
    "k-center": {"f1 >= 0 at size k", "the cost is zero"},
    "k-tMM": {"f1 >= 0 at size k", "the cost is zero"},
    "k-median": {"1-swap optimal", "no single swap gains more than", "the cost is zero"},
    "k-means": {"1-swap optimal", "no single swap gains more than", "the cost is zero"},
    "fair k-median": {"every critical ball has a centre"},
}


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
        return len(self.weights)

    @property
    def m(self) -> int:
        return self.matrix.shape[1] if self.matrix is not None else len(self.sites)

    def between(self, clients: IntArray | slice, sites: IntArray | slice) -> FloatArray:
        """Return distances, clients by sites."""
        if self.matrix is not None:
            return self.matrix[clients][:, sites]
        return _cdist(self.clients[clients], self.sites[sites], self.metric, self.function, self.params)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield blocks of clients with their distances to all sites."""
        size = max(1, 4_000_000 // max(1, self.m))
        for start in range(0, self.n, size):
            part = slice(start, min(self.n, start + size))
            yield part, self.between(part, slice(None))

    def errors(self, terms: int) -> tuple[float, float]:
        """Return the relative and absolute rounding error of a sum of `terms` distances."""
        width = self.clients.shape[1] + 16
        absolute = width * (2.0**-50 if self.function is None and self.metric in _ANGLES else 2.0**-520)
        if self.function is None and self.metric == "mahalanobis":
            absolute += width * _UNIT * float(np.abs(self.clients).max(initial=0.0))
        return _UNIT * (terms + width), absolute


def verify(
    certificate: Certificate,
    X: Any,
    sample_weight: Any,
    *,
    metric: str | Callable[[Any, Any], float] | None,
    candidates: Any,
) -> None:
    """Raise CertificateError unless every claim of the certificate holds for these data."""
    instance, rows = _instance(certificate, X, sample_weight, metric, candidates)
    if not 1 <= certificate.n_clusters <= instance.m:
        raise CertificateError(f"n_clusters: {certificate.n_clusters} is not between 1 and {instance.m}.")
    if certificate.problem not in _REASONS:
        raise CertificateError(f"problem: {certificate.problem!r} is unknown.")
    anywhere = "cluster_centers" in certificate.witness
    if anywhere:
        centers = np.zeros(0, dtype=np.intp)
        cost = _cost_anywhere(certificate, instance)
    else:
        centers = _centers(certificate, instance, rows, "centers")
        cost = _cost(certificate, instance, centers)
    relative, absolute = instance.errors(instance.n)
    slack = 4 * (relative * cost + absolute * float(instance.weights.sum()))
    if not abs(certificate.cost - cost) <= slack:
        raise CertificateError(f"cost: the centres cost {cost!r}, not {certificate.cost!r}.")
    if certificate.problem in ("k-center", "k-tMM"):
        bound, ratio = _separation(certificate, instance, rows)
        if "uncolourable" in certificate.witness:
            bound = max(bound, _colouring(certificate, instance, rows))
        if "cover" in certificate.witness:
            bound = max(bound, _cover_bound(certificate, instance))
    else:
        sites = _sites(certificate, instance, anywhere)
        bound, ratio = _swap_optimal(certificate, sites, rows, anywhere)
        if "tree" in certificate.witness:
            # What a tree drops it drops for the sake of candidates; centres anywhere may cost less than these.
            listed = anywhere and "centers" in certificate.witness
            upper = _cost(certificate, sites, _centers(certificate, sites, rows, "centers")) if listed else cost
            bound = max(bound, _tree_bound(certificate, sites, upper) / (1.0 + (sites.excess or 0.0)))
        if anywhere and sites.excess is None:
            bound = 0.0  # nothing follows from some sites about all places
        bound = max(bound, _bound_anywhere(certificate, instance))
    if not 0 <= certificate.lower_bound <= max(0.0, bound):
        raise CertificateError(f"lower_bound: {certificate.lower_bound!r} claimed, {bound!r} follows from the witness.")
    _check_guarantee(certificate, instance, centers, ratio)


def _check_guarantee(certificate: Certificate, instance: Instance, centers: IntArray, ratio: float | None) -> None:
    guarantee = certificate.guarantee
    if guarantee is None:
        return
    prefix = f"{certificate.problem} theorem"
    reasons = _REASONS[certificate.problem]
    known = any(guarantee.because.startswith(reason) for reason in reasons)
    if not guarantee.theorem.startswith(prefix) or not known:
        raise CertificateError(f"guarantee: no {guarantee.theorem!r} with {guarantee.because!r} is known here.")
    if guarantee.ratio is not None and (ratio is None or not guarantee.ratio >= ratio):
        raise CertificateError(f"guarantee: a ratio of {guarantee.ratio!r} does not follow; {ratio!r} does.")
    if guarantee.fairness is not None and len(centers) == 0:
        raise CertificateError("guarantee: fairness is about centres that are rows.")
    if guarantee.fairness is not None:
        _check_fairness(certificate, instance, centers, guarantee.fairness)
    elif guarantee.ratio is None:
        raise CertificateError("guarantee: it claims nothing.")


# ---------------------------------------------------------------------------------------------------- the data


def _instance(
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
        square = _symmetric(X)
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


def _cdist(
    A: FloatArray, B: FloatArray, metric: str, function: Callable[[Any, Any], float] | None, params: dict[str, Any]
) -> FloatArray:
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


def _centers(certificate: Certificate, instance: Instance, rows: IntArray, key: str, count: int = 0) -> IntArray:
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


# ------------------------------------------------------------------------------------------------------ the cost


def _nearest(instance: Instance, centers: IntArray) -> FloatArray:
    size = max(1, 4_000_000 // len(centers))
    parts = [instance.between(slice(start, start + size), centers).min(axis=1) for start in range(0, instance.n, size)]
    return np.concatenate(parts)


def _cost(certificate: Certificate, instance: Instance, centers: IntArray) -> float:
    if certificate.problem == "k-tMM":
        return _diameter(certificate, instance, centers)
    nearest = _nearest(instance, centers)
    if certificate.problem == "k-center":
        return float(nearest.max())
    if certificate.problem == "k-means" and certificate.metric != "sqeuclidean":
        raise CertificateError("metric: k-means is about squared Euclidean distances.")
    return float(instance.weights @ nearest)


def _placed(certificate: Certificate, instance: Instance) -> FloatArray:
    """Return the k places of the witness, as rows of coordinates."""
    key = "cluster_centers"
    shape = (certificate.n_clusters, instance.clients.shape[1])
    try:
        places = np.asarray(certificate.witness[key])
        proper = places.dtype.kind in "iuf" and places.shape == shape
    except (TypeError, ValueError) as error:
        raise CertificateError(f"witness: {key!r} is not an array of numbers.") from error
    if not proper or not np.isfinite(places).all():
        raise CertificateError(f"witness: {key!r} must hold {shape[0]} rows of {shape[1]} finite coordinates.")
    return np.asarray(places, dtype=np.float64)


def _cost_anywhere(certificate: Certificate, instance: Instance) -> float:
    """Return the cost of centres that need not be candidates."""
    if (certificate.problem, certificate.metric) not in (("k-means", "sqeuclidean"), ("k-median", "euclidean")):
        raise CertificateError(f"witness: 'cluster_centers' is not for {certificate.problem} ({certificate.metric}).")
    places = _placed(certificate, instance)
    size = max(1, 4_000_000 // len(places))
    cost = 0.0
    for start in range(0, instance.n, size):
        nearest = _cdist(instance.clients[start : start + size], places, instance.metric, None, {}).min(axis=1)
        cost += float(instance.weights[start : start + size] @ nearest)
    return cost


def _diameter(certificate: Certificate, instance: Instance, centers: IntArray) -> float:
    """Return the largest distance inside a cluster of the stored labels, one label per client."""
    listed = certificate.witness.get("labels")
    if not isinstance(listed, list) or any(type(v) is not int for v in listed) or len(listed) != instance.n:
        raise CertificateError(f"witness: 'labels' must give each of {instance.n} points a cluster.")
    labels = np.array(listed)
    if not np.array_equal(labels[centers], np.arange(certificate.n_clusters)) or labels.max() >= certificate.n_clusters:
        raise CertificateError(f"witness: 'labels' must be 0..{certificate.n_clusters - 1}, and center j have label j.")
    if labels.min() < 0:
        raise CertificateError("witness: 'labels' must not be negative.")
    largest = 0.0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        for start in range(0, len(members), 1024):
            largest = max(largest, float(instance.between(members[start : start + 1024], members).max()))
    return largest


# ----------------------------------------------------------------------------------------------------- the bounds


def _power(instance: Instance) -> int | None:
    """Return 1 for a metric, 2 for the square of one; for other distances after an exact check of all triples."""
    if instance.function is None and instance.metric in _METRICS:
        return 1
    if instance.function is None and instance.metric in _SQUARED:
        return 2
    d = instance.between(slice(None), slice(None))
    square = instance.own and _symmetric(d)
    for i in range(instance.n):
        through = d[i] if square else (d[i] + d).min(axis=1)
        if np.any(d[i] > (1 + 2.0**-50) * (through[:, None] + d).min(axis=0)):
            return None
    return 1


def _symmetric(d: FloatArray) -> bool:
    """Return whether a matrix is square and, up to rounding, symmetric with a zero diagonal."""
    if d.shape[0] != d.shape[1]:
        return False
    slack = 1e-12 * d.max(initial=0.0)
    return bool(np.diagonal(d).max(initial=0.0) <= slack and np.abs(d - d.T).max(initial=0.0) <= slack)


def _separation(certificate: Certificate, instance: Instance, rows: IntArray) -> tuple[float, float | None]:
    """Return the bound and the ratio that k + 1 points far apart prove."""
    if not instance.own:
        raise CertificateError(f"data: {certificate.problem} needs a symmetric matrix with zero diagonal.")
    if instance.function is not None and not _symmetric(instance.between(slice(None), slice(None))):
        raise CertificateError(f"metric: {certificate.problem} needs a symmetric distance with d(x, x) = 0.")
    if certificate.cost == 0:
        return 0.0, 1.0
    if "apart" not in certificate.witness:
        return 0.0, None
    points = _centers(certificate, instance, rows, "apart", certificate.n_clusters + 1)
    between = instance.between(points, points).copy()
    np.fill_diagonal(between, np.inf)
    h = float(between.min())
    relative, absolute = instance.errors(1)
    if certificate.problem == "k-tMM":
        bound = h * (1 - relative) - absolute
        power = _power(instance) if certificate.guarantee is not None else None
    else:
        claimed = certificate.lower_bound > 0 or certificate.guarantee is not None
        power = _power(instance) if claimed else None
        bound = 0.0 if power is None else h / 2**power * (1 - relative) - absolute
    if power is None:
        return bound, None
    # The ratio needs a solution of radius at most h; the stored one is at least as good if its cost says so.
    limit = h * (1 if certificate.problem == "k-center" else 2**power)
    holds = certificate.cost <= limit * (1 + 4 * relative) + 4 * absolute
    return bound, float(2**power) if holds else None


def _colouring(certificate: Certificate, instance: Instance, rows: IntArray) -> float:
    """Return the claimed bound of k-tMM if the points of the witness, coloured exactly, prove it, else 0."""
    if certificate.problem != "k-tMM":
        raise CertificateError(f"witness: 'uncolourable' proves nothing about {certificate.problem}.")
    listed = certificate.witness["uncolourable"]
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_POINTS:
        raise CertificateError(f"witness: 'uncolourable' must list at most {MAX_POINTS} points.")
    points = _centers(certificate, instance, rows, "uncolourable", len(listed))
    distances = instance.between(points, points)
    claimed = certificate.lower_bound
    return claimed if is_uncolourable(distances, certificate.n_clusters, claimed, instance.errors(1)) else 0.0


def _sites(certificate: Certificate, instance: Instance, anywhere: bool) -> Instance:
    """Return the instance over the candidates that the evidence is about, with what they are worth."""
    kind = certificate.problem if certificate.problem in ("k-means", "k-median") else None
    if "candidates" not in certificate.witness:
        # A row of a cluster costs at most twice the best place for it, for k-means and for k-median.
        continuous = instance.own and (kind == "k-means" or (kind == "k-median" and anywhere))
        return replace(instance, excess=1.0 if continuous else None)
    if not instance.own or not anywhere or kind is None:
        raise CertificateError("witness: 'candidates' are named beside other ones, or where no others are possible.")
    points, excess = named_candidates(certificate.witness["candidates"], instance.clients, instance.weights)
    if (certificate.witness["candidates"]["name"] == "universal") != (kind == "k-median"):
        raise CertificateError("witness: 'candidates' names a set for another problem.")
    return replace(instance, sites=points, own=False, excess=excess)


def _bound_anywhere(certificate: Certificate, instance: Instance) -> float:
    """Return the lower bound with centres anywhere that the witness proves, for k-means and k-median."""
    witness, k, problem = certificate.witness, certificate.n_clusters, certificate.problem
    points, weights, bound = instance.clients, instance.weights, 0.0
    euclidean = instance.function is None and certificate.metric == "euclidean"
    power = 2 if problem == "k-means" else 1 if problem == "k-median" and euclidean else None
    if power == 2 and certificate.metric != "sqeuclidean":
        raise CertificateError("metric: k-means is about squared Euclidean distances.")
    if ("boxes" in witness and power is None) or ("sdp" in witness and power != 2):
        raise CertificateError(f"witness: 'boxes' or 'sdp' proves nothing about {problem} ({certificate.metric}).")
    if power == 2 and k == 1:
        bound = single_bound(points, weights)
    if power is not None and "boxes" in witness:
        bound = max(bound, boxes_bound(witness["boxes"], points, weights, k, power))
    if "sdp" in witness:
        bound = max(bound, sdp_bound(witness["sdp"], points, weights, k))
    return bound


def _swap_optimal(
    certificate: Certificate, instance: Instance, rows: IntArray, anywhere: bool
) -> tuple[float, float | None]:
    """Return the bound and the ratio that a swap-optimal solution proves, all swaps looked at."""
    # Centres anywhere come with candidates that cost no less, for the sake of their swaps.
    key = "swap_optimal" if "swap_optimal" in certificate.witness else "centers"
    if key == "centers" and not (anywhere and key in certificate.witness):
        return 0.0, 1.0 if certificate.cost == 0 else None
    centers = _centers(certificate, instance, rows, key)
    cost, change, scale = _least_swap_change(instance, centers)
    k = certificate.n_clusters
    relative, absolute = instance.errors(instance.n)
    if cost == 0 or certificate.cost == 0:
        return 0.0, 1.0 if certificate.cost == 0 else None
    claimed = certificate.lower_bound > 0 or certificate.guarantee is not None
    power = (_power(instance) if k > 1 else 1) if claimed else None
    if power is None:
        return 0.0, None
    excess = instance.excess or 0.0
    tau = max(0.0, relative * scale - change) / cost + relative
    left = 1 - k * tau
    if left <= 0:
        return 0.0, None
    if k == instance.m and excess == 0:
        ratio = 1.0
    elif k == 1:
        ratio = (1 + excess) / left
    elif power == 1:
        ratio = (5 + excess) / left
    else:
        ratio = float(((4 + np.sqrt(16 + 4 * left * (5 + excess))) / (2 * left)) ** 2)
    bound = cost / ratio * (1 - relative) - absolute * float(instance.weights.sum())
    # The factor is the solution's own only if it costs no more than the swap-optimal one.
    own = ratio if certificate.cost <= cost * (1 + 4 * relative) else None
    return bound, own if certificate.problem != "fair k-median" else None


def _least_swap_change(instance: Instance, centers: IntArray) -> tuple[float, float, float]:
    """Return the cost of `centers`, its least change by one swap, and the size of the numbers that it is a sum of.

    k x m sums, filled block by block.
    """
    k, w = len(centers), instance.weights
    to_centers = np.concatenate([d[:, centers] for _, d in instance.blocks()])
    order = np.argsort(to_centers, axis=1, kind="stable")
    everyone = np.arange(instance.n)
    near = order[:, 0]
    first = to_centers[everyone, near]
    second = to_centers[everyone, order[:, 1]] if k > 1 else np.full(instance.n, np.inf)
    swapped = np.zeros((k, instance.m))
    for part, d in instance.blocks():
        kept = np.minimum(d, first[part, None])
        without = np.minimum(d, second[part, None])
        swapped += (w[part, None] * kept).sum(axis=0)
        for t in range(k):
            mine = near[part] == t
            swapped[t] += (w[part][mine, None] * (without[mine] - kept[mine])).sum(axis=0)
    swapped[:, centers] = np.inf
    cost = float(w @ first)
    scale = float(w @ second) if k > 1 else cost
    return cost, float(swapped.min()) - cost if instance.m > k else np.inf, scale


def _tree_bound(certificate: Certificate, instance: Instance, upper: float) -> float:
    """Return the Lagrangian bound that the tree of fixings in the witness proves for k-median."""
    if certificate.problem != "k-median":
        raise CertificateError(f"witness: a 'tree' proves nothing about {certificate.problem}.")

    def costs(candidates: IntArray) -> Iterator[FloatArray]:
        size = max(1, 4_000_000 // instance.n)
        for start in range(0, len(candidates), size):
            part = candidates[start : start + size]
            yield instance.between(slice(None), part).T * instance.weights

    width = instance.clients.shape[1]
    noise = instance.errors(1)[1] * certificate.n_clusters * float(instance.weights.sum())
    tree = unpack(certificate.witness["tree"], instance.n, instance.m)
    return replay(tree, costs, Scale(instance.n, instance.m, certificate.n_clusters, width, noise), upper)


def _cover_bound(certificate: Certificate, instance: Instance) -> float:
    """Return the bound that the cover proof in the witness gives for k-center."""
    if certificate.problem != "k-center":
        raise CertificateError(f"witness: a 'cover' proves nothing about {certificate.problem}.")

    def distances(clients: IntArray) -> Iterator[FloatArray]:
        size = max(1, 4_000_000 // instance.m)
        for start in range(0, len(clients), size):
            yield instance.between(clients[start : start + size], slice(None))

    threshold = proved_threshold(certificate.witness["cover"], distances, instance.n, certificate.n_clusters)
    if instance.matrix is not None:
        return threshold  # nothing was computed: the distances are the given ones
    relative, absolute = instance.errors(1)
    return threshold * (1 - relative) - absolute


# ------------------------------------------------------------------------------------------------------- fairness


def _check_fairness(certificate: Certificate, instance: Instance, centers: IntArray, claimed: float) -> None:
    """Check d(v, X) <= claimed * r(v) for every point, r(v) computed by sorting."""
    if not instance.own:
        raise CertificateError("data: fairness needs a symmetric matrix with zero diagonal.")
    k, w = certificate.n_clusters, instance.weights
    nearest = _nearest(instance, centers)
    relative, absolute = instance.errors(1)
    for part, d in instance.blocks():
        order = np.argsort(d, axis=1, kind="stable")
        enough = k * np.cumsum(w[order], axis=1) >= w.sum() * (1 - 1e-12)
        enough[:, -1] = True
        place = np.argmax(enough, axis=1)
        radius = np.take_along_axis(d, order, axis=1)[np.arange(len(d)), place]
        if not np.all(nearest[part] <= claimed * radius * (1 + 4 * relative) + 4 * absolute):
            raise CertificateError(f"guarantee: some point has no centre within {claimed:.6g} times its fair radius.")
