"""Re-checking a certificate from the data alone.

This folder is the reason to believe the others: plain NumPy and SciPy, distances by SciPy's cdist in blocks, no import
from the rest of the package. Every number a certificate claims is computed again here, with a margin for rounding on
the cautious side: a lower bound must not exceed what is re-derived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.errors import CertificateError
from certiclust.certificates.fair import check_fairness, fair_bound, fair_radii
from certiclust.certificates.instance import Instance, nearest_distances, read_instance, site_indices
from certiclust.certificates.maxima import colouring, cover_bound, diameter, separation
from certiclust.certificates.sums import (
    bound_anywhere,
    cost_anywhere,
    sites_of,
    swap_optimal,
    tree_bound,
)

if TYPE_CHECKING:
    from certiclust.certificates.certificate import Certificate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: How what a guarantee rests on may begin.
_REASONS = {
    "k-center": {"f1 >= 0 at size k", "the cost is zero"},
    "k-tMM": {"f1 >= 0 at size k", "the cost is zero"},
    "k-median": {"1-swap optimal", "no single swap gains more than", "the cost is zero"},
    "k-means": {"1-swap optimal", "no single swap gains more than", "the cost is zero"},
    "fair k-median": {"every critical ball has a centre", "every point has a centre within reach"},
}
#: What a guarantee may rest on.
_THEOREMS: dict[str, tuple[str, ...]] = {problem: (f"{problem} theorem",) for problem in _REASONS}
_THEOREMS["fair k-median"] += ("fair k-median definition",)


def verify(
    certificate: Certificate,
    X: Any,
    sample_weight: Any,
    *,
    metric: str | Callable[[Any, Any], float] | None,
    candidates: Any,
) -> None:
    """Raise CertificateError unless every claim of the certificate holds for these data."""
    instance, rows = read_instance(certificate, X, sample_weight, metric, candidates)
    if not 1 <= certificate.n_clusters <= instance.m:
        raise CertificateError(f"n_clusters: {certificate.n_clusters} is not between 1 and {instance.m}.")
    if certificate.problem not in _REASONS:
        raise CertificateError(f"problem: {certificate.problem!r} is unknown.")
    anywhere = "cluster_centers" in certificate.witness
    if anywhere:
        centers = np.zeros(0, dtype=np.intp)
        cost = cost_anywhere(certificate, instance)
    else:
        centers = site_indices(certificate, instance, rows, "centers")
        cost = _cost(certificate, instance, centers)
    relative, absolute = instance.errors(instance.n)
    slack = 4 * (relative * cost + absolute * float(instance.weights.sum()))
    if not abs(certificate.cost - cost) <= slack:
        raise CertificateError(f"cost: the centres cost {cost!r}, not {certificate.cost!r}.")
    if certificate.problem != "fair k-median" and not certificate.fair_claims <= {None}:
        raise CertificateError(f"fair_lower_bound: {certificate.problem} has no claims about fair sets.")
    radii = None
    if certificate.problem in ("k-center", "k-tMM"):
        bound, ratio = separation(certificate, instance, rows)
        if "uncolourable" in certificate.witness:
            bound = max(bound, colouring(certificate, instance, rows))
        if "cover" in certificate.witness:
            bound = max(bound, cover_bound(certificate, instance))
    elif certificate.problem == "fair k-median":
        if anywhere:
            raise CertificateError("witness: fairness is about centres that are rows.")
        radii = fair_radii(instance, certificate.n_clusters)
        bound, ratio = fair_bound(certificate, instance, centers, radii), None
    else:
        sites = sites_of(certificate, instance, anywhere)
        bound, ratio = swap_optimal(certificate, sites, rows, anywhere)
        if "tree" in certificate.witness:
            # What a tree drops it drops for the sake of candidates; centres anywhere may cost less than these.
            listed = anywhere and "centers" in certificate.witness
            upper = _cost(certificate, sites, site_indices(certificate, sites, rows, "centers")) if listed else cost
            bound = max(bound, tree_bound(certificate, sites, upper) / (1.0 + (sites.excess or 0.0)))
        if anywhere and sites.excess is None:
            bound = 0.0  # nothing follows from some sites about all places
        bound = max(bound, bound_anywhere(certificate, instance))
    if not 0 <= certificate.lower_bound <= max(0.0, bound):
        raise CertificateError(f"lower_bound: {certificate.lower_bound!r} claimed, {bound!r} follows from the witness.")
    _check_guarantee(certificate, instance, centers, ratio, radii)


def _check_guarantee(
    certificate: Certificate, instance: Instance, centers: IntArray, ratio: float | None, radii: FloatArray | None
) -> None:
    guarantee = certificate.guarantee
    if guarantee is None:
        return
    reasons = _REASONS[certificate.problem]
    known = any(guarantee.because.startswith(reason) for reason in reasons)
    if not guarantee.theorem.startswith(_THEOREMS[certificate.problem]) or not known:
        raise CertificateError(f"guarantee: no {guarantee.theorem!r} with {guarantee.because!r} is known here.")
    if guarantee.ratio is not None and (ratio is None or not guarantee.ratio >= ratio):
        raise CertificateError(f"guarantee: a ratio of {guarantee.ratio!r} does not follow; {ratio!r} does.")
    if guarantee.fairness is not None and len(centers) == 0:
        raise CertificateError("guarantee: fairness is about centres that are rows.")
    if guarantee.fairness is not None:
        if radii is None:
            raise CertificateError(f"guarantee: {certificate.problem} promises nothing about fairness.")
        check_fairness(instance, radii, centers, guarantee.fairness, "guarantee")
    elif guarantee.ratio is None:
        raise CertificateError("guarantee: it claims nothing.")


def _cost(certificate: Certificate, instance: Instance, centers: IntArray) -> float:
    if certificate.problem == "k-tMM":
        return diameter(certificate, instance, centers)
    nearest = nearest_distances(instance, centers)
    if certificate.problem == "k-center":
        return float(nearest.max())
    if certificate.problem == "k-means" and certificate.metric != "sqeuclidean":
        raise CertificateError("metric: k-means is about squared Euclidean distances.")
    return float(instance.weights @ nearest)
