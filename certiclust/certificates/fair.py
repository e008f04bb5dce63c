"""What a certificate says about fair k-median, checked again: radii, balls, bounds, and that nothing is fair."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.cover import proved_uncoverable
from certiclust.certificates.errors import CertificateError
from certiclust.certificates.instance import Instance, nearest_distances
from certiclust.certificates.replay import Costs, Scale, replay, unpack

if TYPE_CHECKING:
    from certiclust.certificates.certificate import Certificate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: How far apart the centres of critical balls are, in multiples of beta times the fair radius.
_FACTORS = {"strict": None, "tight": 2.0, "proven": 6.0}


class Statement(NamedTuple):
    """What the bound is about: the mode, beta, the centres of the balls (as clients), and all fair radii."""

    mode: str
    beta: float
    balls: IntArray
    radii: FloatArray

    def reach(self, instance: Instance, beta: float | None = None) -> FloatArray:
        """Return how far the centre of each point may be, with room for rounding."""
        relative, absolute = instance.errors(1)
        return (self.beta if beta is None else beta) * self.radii * (1 + 4 * relative) + 4 * absolute


def fair_radii(instance: Instance, k: int) -> FloatArray:
    """Return the least radius of every point whose ball weighs W/k: whole weights exactly, others up to 1e-12."""
    if not instance.own:
        raise CertificateError("data: fairness needs a symmetric matrix with zero diagonal.")
    w, radii = instance.weights, np.empty(instance.n)
    total = float(w.sum())
    whole = bool(np.all(w == np.floor(w))) and total < 2**53 / k
    if np.all(w == w[0]):
        # Copies of equal weight: the nearest ceil(n / k) points, the point itself included.
        count = -(-instance.n // k)
        for part, d in instance.blocks():
            radii[part] = np.partition(d, count - 1, axis=1)[:, count - 1]
        return radii
    for part, d in instance.blocks():
        order = np.argsort(d, axis=1, kind="stable")
        enough = k * np.cumsum(w[order], axis=1) >= total * (1.0 if whole else 1 - 1e-12)
        enough[:, -1] = True
        place = np.argmax(enough, axis=1)
        radii[part] = np.take_along_axis(d, order, axis=1)[np.arange(len(d)), place]
    return radii


def check_fairness(instance: Instance, radii: FloatArray, centers: IntArray, claimed: float, name: str) -> None:
    """Check d(v, X) <= claimed * r(v) for every point."""
    relative, absolute = instance.errors(1)
    nearest = nearest_distances(instance, centers)
    if not np.all(nearest <= claimed * radii * (1 + 4 * relative) + 4 * absolute):
        raise CertificateError(f"{name}: some point has no centre within {claimed:.6g} times its fair radius.")


def fair_bound(certificate: Certificate, instance: Instance, centers: IntArray, radii: FloatArray) -> float:
    """Return the lower bound on sets that keep the mode's constraint; raise if another claim about fairness fails."""
    if certificate.fairness_ratio is not None:
        check_fairness(instance, radii, centers, certificate.fairness_ratio, "fairness_ratio")
    fair_claim = certificate.fair_lower_bound or 0.0
    if certificate.lower_bound == 0 and fair_claim == 0 and certificate.infeasible_beta is None:
        return 0.0
    said = _statement(certificate, instance, radii)
    if certificate.infeasible_beta is not None:
        _check_infeasible(certificate, instance, said)
    if certificate.lower_bound > 0:
        _check_kept(said, instance, centers)
    bound = _replayed(certificate, instance, said, "tree", said.mode == "strict")
    fair = max(bound, _replayed(certificate, instance, said, "fair_tree", True))
    if not fair_claim <= fair:
        raise CertificateError(f"fair_lower_bound: {fair_claim!r} claimed, {fair!r} follows from the witness.")
    return bound


def _statement(certificate: Certificate, instance: Instance, radii: FloatArray) -> Statement:
    """Return what the witness says that the bound is about, checked: beta >= 1, balls of the ascending greedy."""
    stored = certificate.witness.get("fairness")
    if not isinstance(stored, dict) or stored.get("mode") not in _FACTORS:
        raise CertificateError("witness: 'fairness' must name a mode: proven, tight or strict.")
    beta, listed = stored.get("beta"), np.asarray(stored.get("balls", []))
    if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 1 <= beta < 1e300:
        raise CertificateError("witness: 'fairness' must have a beta of at least 1.")
    if listed.size and (listed.ndim != 1 or listed.dtype.kind not in "iu"):
        raise CertificateError("witness: 'fairness' must list its balls as integers.")
    balls = listed.astype(np.intp)
    if np.unique(balls).size != balls.size or np.any((balls < 0) | (balls >= instance.n)):
        raise CertificateError(f"witness: 'fairness' must list distinct balls between 0 and {instance.n - 1}.")
    said = Statement(str(stored["mode"]), float(beta), balls, radii)
    factor = _FACTORS[said.mode]
    if factor is not None:
        _check_greedy(instance, said, factor)
    elif balls.size:
        raise CertificateError("witness: 'fairness' lists balls, which the strict mode has not.")
    return said


def _check_greedy(instance: Instance, said: Statement, factor: float) -> None:
    """Check that balls come from the ascending greedy, up to rounding: nothing less makes sets that meet them fair."""
    relative, absolute = instance.errors(1)
    radii = said.radii
    if np.any(np.diff(radii[said.balls]) < -4 * (relative * radii[said.balls[1:]] + absolute)):
        raise CertificateError("witness: the balls of 'fairness' are not in ascending order of their fair radii.")
    covered = np.zeros(instance.n, dtype=bool)
    surely = np.zeros(instance.n, dtype=bool)
    for ball in said.balls:
        if surely[ball]:
            raise CertificateError("witness: a ball of 'fairness' lies where an earlier one already covers.")
        away = instance.between(slice(None), np.array([ball]))[:, 0]
        reach = factor * said.beta * radii
        later = radii[ball] <= radii * (1 + 4 * relative) + 4 * absolute
        covered |= later & (away <= reach * (1 + 4 * relative) + 4 * absolute)
        surely |= away < reach * (1 - 4 * relative) - 4 * absolute
    if not covered.all():
        raise CertificateError("witness: the balls of 'fairness' leave a point uncovered.")


def _check_kept(said: Statement, instance: Instance, centers: IntArray) -> None:
    """Check that the solution keeps the constraint: its cost may be compared with a bound on those that do."""
    reach = said.reach(instance)
    if said.mode == "strict":
        if np.any(nearest_distances(instance, centers) > reach):
            raise CertificateError("lower_bound: it is about fair sets, and the centres are not one.")
        return
    for ball in said.balls:
        if instance.between(np.array([ball]), centers).min() > reach[ball]:
            raise CertificateError("lower_bound: it is about sets that meet every ball, and the centres miss one.")


def _replayed(certificate: Certificate, instance: Instance, said: Statement, key: str, strict: bool) -> float:
    """Return the bound of a stored tree over sets that keep the points' own constraints, or meet the balls."""
    stored = certificate.witness.get(key)
    if stored is None:
        return 0.0
    extra = 0 if strict else said.balls.size
    n, k = instance.n + extra, certificate.n_clusters
    tree = unpack(stored, n, instance.m)
    upper: Any = stored.get("upper")
    if isinstance(upper, bool) or not isinstance(upper, (int, float)) or not 0 <= upper < math.inf:
        raise CertificateError(f"witness: {key!r} must hold the cost up to which nothing was dropped.")
    noise = instance.errors(1)[1] * k * float(instance.weights.sum())
    scale = Scale(n, instance.m, k, instance.clients.shape[1], noise)
    return max(0.0, replay(tree, _costs(instance, said, strict), scale, float(upper)))


def _costs(instance: Instance, said: Statement, strict: bool) -> Costs:
    """Return the source of weighted costs, infinite where a candidate is certainly out of reach.

    Every ball is one more client at the end, served for nothing by the candidates in it and by no other.
    """
    reach = said.reach(instance)

    def costs(candidates: IntArray) -> Iterator[FloatArray]:
        size = max(1, 4_000_000 // instance.n)
        for start in range(0, len(candidates), size):
            part = candidates[start : start + size]
            away = instance.between(slice(None), part).T
            paid = away * instance.weights
            if strict:
                yield np.where(away <= reach, paid, np.inf)
            else:
                yield np.hstack([paid, np.where(away[:, said.balls] <= reach[said.balls], 0.0, np.inf)])

    return costs


def _check_infeasible(certificate: Certificate, instance: Instance, said: Statement) -> None:
    """Check the proof that no k points are within beta fair radii of everyone."""
    claimed = certificate.infeasible_beta
    assert claimed is not None
    if not claimed >= 1:
        raise CertificateError("infeasible_beta: must be at least 1.")
    reach = said.reach(instance, claimed)

    def inside(clients: IntArray) -> Iterator[NDArray[np.bool_]]:
        size = max(1, 4_000_000 // instance.m)
        for start in range(0, len(clients), size):
            part = clients[start : start + size]
            yield instance.between(part, slice(None)) <= reach[part, None]

    if not proved_uncoverable(certificate.witness.get("infeasible"), inside, instance.n, certificate.n_clusters):
        raise CertificateError(f"infeasible_beta: it is not proved that no set is {claimed!r}-fair.")
