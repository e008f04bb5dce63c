"""What proves k-center and k-tMM: points far apart, points that cannot be coloured, covers that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.colouring import MAX_POINTS, is_uncolourable
from certiclust.certificates.cover import proved_threshold
from certiclust.certificates.errors import CertificateError
from certiclust.certificates.instance import Instance, power_of, site_indices, symmetric

if TYPE_CHECKING:
    from certiclust.certificates.certificate import Certificate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Metrics computed by direct differences: relative rounding, and the triangle inequality beyond doubt.
_DIRECT = {"euclidean", "manhattan", "chebyshev"}


def diameter(certificate: Certificate, instance: Instance, centers: IntArray) -> float:
    """Return the largest distance inside a cluster of the stored labels, one label per client."""
    listed = certificate.witness.get("labels")
    if not isinstance(listed, list) or any(type(v) is not int for v in listed) or len(listed) != instance.n:
        raise CertificateError(f"witness: 'labels' must give each of {instance.n} points a cluster.")
    labels = np.array(listed)
    if not np.array_equal(labels[centers], np.arange(certificate.n_clusters)) or labels.max() >= certificate.n_clusters:
        raise CertificateError(f"witness: 'labels' must be 0..{certificate.n_clusters - 1}, and center j have label j.")
    if labels.min() < 0:
        raise CertificateError("witness: 'labels' must not be negative.")
    clusters = [(np.flatnonzero(labels == label), centers[[label]]) for label in range(certificate.n_clusters)]
    largest = 0.0
    for members, center in clusters:
        far = members[[int(instance.between(members, center)[:, 0].argmax())]]
        largest = max(largest, float(instance.between(members, far).max()))
    for every, center in clusters:
        members = _far_apart(instance, every, center, largest)
        for start in range(0, len(members), 1024):
            largest = max(largest, float(instance.between(members[start : start + 1024], members).max()))
    return largest


def _far_apart(instance: Instance, members: IntArray, center: IntArray, largest: float) -> IntArray:
    """Return the members that may be farther than `largest` from another: d(x, y) <= d(x, center) + d(center, y).

    The inequality holds for these three distances, and their rounding is far below what is added; others keep all.
    """
    if instance.matrix is not None or instance.function is not None or instance.metric not in _DIRECT:
        return members
    radius = instance.between(members, center)[:, 0]
    near = (radius + radius.max()) * (1 + 1e-9) + 1e-150 <= largest
    return np.asarray(members[~near])


def separation(certificate: Certificate, instance: Instance, rows: IntArray) -> tuple[float, float | None]:
    """Return the bound and the ratio that k + 1 points far apart prove."""
    if not instance.own:
        raise CertificateError(f"data: {certificate.problem} needs a symmetric matrix with zero diagonal.")
    if instance.function is not None and not symmetric(instance.between(slice(None), slice(None))):
        raise CertificateError(f"metric: {certificate.problem} needs a symmetric distance with d(x, x) = 0.")
    if certificate.cost == 0:
        return 0.0, 1.0
    if "apart" not in certificate.witness:
        return 0.0, None
    points = site_indices(certificate, instance, rows, "apart", certificate.n_clusters + 1)
    between = instance.between(points, points).copy()
    np.fill_diagonal(between, np.inf)
    h = float(between.min())
    relative, absolute = instance.errors(1)
    if certificate.problem == "k-tMM":
        bound = h * (1 - relative) - absolute
        power = power_of(instance) if certificate.guarantee is not None else None
    else:
        claimed = certificate.lower_bound > 0 or certificate.guarantee is not None
        power = power_of(instance) if claimed else None
        bound = 0.0 if power is None else h / 2**power * (1 - relative) - absolute
    if power is None:
        return bound, None
    # The ratio needs a solution of radius at most h; the stored one is at least as good if its cost says so.
    limit = h * (1 if certificate.problem == "k-center" else 2**power)
    holds = certificate.cost <= limit * (1 + 4 * relative) + 4 * absolute
    return bound, float(2**power) if holds else None


def colouring(certificate: Certificate, instance: Instance, rows: IntArray) -> float:
    """Return the claimed bound of k-tMM if the points of the witness, coloured exactly, prove it, else 0."""
    if certificate.problem != "k-tMM":
        raise CertificateError(f"witness: 'uncolourable' proves nothing about {certificate.problem}.")
    listed = certificate.witness["uncolourable"]
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_POINTS:
        raise CertificateError(f"witness: 'uncolourable' must list at most {MAX_POINTS} points.")
    points = site_indices(certificate, instance, rows, "uncolourable", len(listed))
    distances = instance.between(points, points)
    claimed = certificate.lower_bound
    return claimed if is_uncolourable(distances, certificate.n_clusters, claimed, instance.errors(1)) else 0.0


def cover_bound(certificate: Certificate, instance: Instance) -> float:
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
