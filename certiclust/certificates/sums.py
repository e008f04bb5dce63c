"""What proves k-median and k-means: swaps, trees, boxes and semidefinite bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.candidates import named_candidates
from certiclust.certificates.errors import CertificateError
from certiclust.certificates.instance import Instance, between_rows, power_of, site_indices
from certiclust.certificates.kmeans import boxes_bound, sdp_bound, single_bound
from certiclust.certificates.kmeans_cases import cases_bound
from certiclust.certificates.replay import Scale, replay, unpack

if TYPE_CHECKING:
    from certiclust.certificates.certificate import Certificate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


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


def cost_anywhere(certificate: Certificate, instance: Instance) -> float:
    """Return the cost of centres that need not be candidates."""
    if certificate.problem == "k-means" and certificate.metric != "sqeuclidean":
        raise CertificateError("metric: k-means is about squared Euclidean distances.")
    if (certificate.problem, certificate.metric) not in (("k-means", "sqeuclidean"), ("k-median", "euclidean")):
        raise CertificateError(f"witness: 'cluster_centers' is not for {certificate.problem} ({certificate.metric}).")
    places = _placed(certificate, instance)
    size = max(1, 4_000_000 // len(places))
    cost = 0.0
    for start in range(0, instance.n, size):
        nearest = between_rows(instance.clients[start : start + size], places, instance.metric, None, {}).min(axis=1)
        cost += float(instance.weights[start : start + size] @ nearest)
    return cost


def sites_of(certificate: Certificate, instance: Instance, anywhere: bool) -> Instance:
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


def bound_anywhere(certificate: Certificate, instance: Instance) -> float:
    """Return the lower bound with centres anywhere that the witness proves, for k-means and k-median."""
    witness, k, problem = certificate.witness, certificate.n_clusters, certificate.problem
    points, weights, bound = instance.clients, instance.weights, 0.0
    euclidean = instance.function is None and certificate.metric == "euclidean"
    power = 2 if problem == "k-means" else 1 if problem == "k-median" and euclidean else None
    if power == 2 and certificate.metric != "sqeuclidean":
        raise CertificateError("metric: k-means is about squared Euclidean distances.")
    if ("boxes" in witness and power is None) or ({"cases", "sdp"} & set(witness) and power != 2):
        named = " and ".join(repr(key) for key in ("boxes", "cases", "sdp") if key in witness)
        raise CertificateError(f"witness: {named} proves nothing about {problem} ({certificate.metric}).")
    if power == 2 and k == 1:
        bound = single_bound(points, weights)
    if power is not None and "boxes" in witness:
        bound = max(bound, boxes_bound(witness["boxes"], points, weights, k, power))
    if "cases" in witness:
        bound = max(bound, cases_bound(witness["cases"], points, weights, k))
    if "sdp" in witness:
        bound = max(bound, sdp_bound(witness["sdp"], points, weights, k))
    return bound


def swap_optimal(
    certificate: Certificate, instance: Instance, rows: IntArray, anywhere: bool
) -> tuple[float, float | None]:
    """Return the bound and the ratio that a swap-optimal solution proves, all swaps looked at."""
    # Centres anywhere come with candidates that cost no less, for the sake of their swaps.
    key = "swap_optimal" if "swap_optimal" in certificate.witness else "centers"
    if key == "centers" and not (anywhere and key in certificate.witness):
        return 0.0, 1.0 if certificate.cost == 0 else None
    centers = site_indices(certificate, instance, rows, key)
    cost, change, scale = _least_swap_change(instance, centers)
    k = certificate.n_clusters
    relative, absolute = instance.errors(instance.n)
    if cost == 0 or certificate.cost == 0:
        return 0.0, 1.0 if certificate.cost == 0 else None
    claimed = certificate.lower_bound > 0 or certificate.guarantee is not None
    power = (power_of(instance) if k > 1 else 1) if claimed else None
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
    return bound, own


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


def tree_bound(certificate: Certificate, instance: Instance, upper: float) -> float:
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
