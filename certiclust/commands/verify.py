"""Verify: a certificate against a data file, in plain words."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates import Certificate, CertificateError
from certiclust.commands.files import claims_of
from certiclust.commands.prepare import Scaling
from certiclust.io import Data, InputError, Reading, read
from certiclust.io.output import FORMAT, MARK

#: What the evidence for a lower bound is, in words.
_EVIDENCE = {
    "tree": "a Lagrangian bound with its branch tree",
    "boxes": "multipliers and boxes for centres anywhere",
    "cases": "multipliers and boxes for centres anywhere, by cases",
    "sdp": "a semidefinite bound",
    "uncolourable": "an exact colouring",
    "apart": "points that are pairwise far apart",
    "swap_optimal": "all single swaps of centres",
}
_COVER = {"packing": "a packing of balls", "tree": "a branch tree over balls", "solver": "the solver HiGHS, run again"}


@dataclass(frozen=True)
class Checked:
    """What was checked: the certificate, and a line for every claim; or why it was rejected."""

    lines: list[str]
    rejected: str | None = None


def run_verify(path: Path, name: str, *, reading: Reading, scale: str | None = None) -> Checked:
    """Check a certificate against data.

    Parameters
    ----------
    path : Path
        The certificate. If the summary.json of its run lies beside it, that says how the data were read.
    name : str
        The data.
    reading : Reading
        How to read them; what is not said here is taken from the summary.
    scale : str or None
        ``"standard"`` to scale as the fit did; taken from the summary if it is there.
    """
    content = _json(path)
    if content.get("format") is None:
        raise InputError(f"{path} is not a certificate: it has no 'format'.")
    found = _summary(path)
    data = read(name, _merged(reading, found))
    try:
        certificate = Certificate.load(path)
        X = _scaled(data, scale, found)
        certificate.verify(X, data.weights)
        _check_claims(path, certificate, found)
    except CertificateError as error:
        return Checked([], str(error).rstrip("."))
    return Checked(_words(certificate, data, found))


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory; name the certificate in it.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not a certificate: it is not JSON.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a certificate: it is not a JSON object.")
    return content


def _summary(path: Path) -> dict[str, Any] | None:
    """Return the summary of the run that wrote the certificate, if it lies beside it or one directory up."""
    path = path.resolve()
    for folder in (path.parent, path.parent.parent):
        try:
            content = json.loads((folder / MARK).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(content, dict) and content.get("format") == FORMAT and _result(content, path, folder) is not None:
            return content
    return None


def _result(content: dict[str, Any], path: Path, folder: Path) -> dict[str, Any] | None:
    """Return what a summary says about a certificate; None if it does not know it."""
    results = content.get("results")
    for result in results if isinstance(results, list) else []:
        name = result.get("certificate") if isinstance(result, dict) else None
        if isinstance(name, str) and folder / name == path:
            return dict(result)
    return None


def _merged(reading: Reading, found: dict[str, Any] | None) -> Reading:
    """Return how to read: as asked, else as the summary says, as far as that makes sense."""
    stored = found.get("input") if found is not None else None
    stored = stored.get("reading") if isinstance(stored, dict) else None
    if not isinstance(stored, dict):
        return reading
    default = Reading()
    changes: dict[str, Any] = {}
    for key in (f.name for f in fields(Reading)):
        value = stored.get(key)
        if getattr(reading, key) != getattr(default, key) or value is None:
            continue
        if key == "columns" and isinstance(value, list) and all(isinstance(v, str) for v in value):
            changes[key] = tuple(value)
        elif key != "columns" and isinstance(value, bool if key == "header" else str):
            changes[key] = value
    return replace(reading, **changes)


def _scaled(data: Data, scale: str | None, found: dict[str, Any] | None) -> NDArray[np.float64]:
    """Return the rows as they were clustered; stored means must be those of the data, and are then used exactly."""
    stored = found.get("scaling") if found is not None else None
    if not isinstance(stored, dict):
        return Scaling.standard(data.X)(data.X) if scale is not None else data.X
    now = Scaling.standard(data.X)
    try:
        then = Scaling(*(np.asarray(stored[key], dtype=np.float64) for key in ("mean", "scale")))
    except (KeyError, TypeError, ValueError):
        raise CertificateError(f"scaling: {MARK} does not hold means and scales.") from None
    shape = (data.X.shape[1],)
    if then.mean.shape != shape or then.scale.shape != shape:
        raise CertificateError(f"scaling: {MARK} has {then.mean.size} columns, the data {data.X.shape[1]}.")
    close = np.abs(then.mean - now.mean) <= 1e-9 * (np.abs(now.mean) + now.scale)
    if not (close.all() and np.allclose(then.scale, now.scale, rtol=1e-9, atol=0.0)):
        raise CertificateError(f"scaling: the means and scales in {MARK} are not those of the data.")
    return then(data.X)


def _check_claims(path: Path, certificate: Certificate, found: dict[str, Any] | None) -> None:
    """Refuse a certificate that says something else than the summary beside it; that is how a remark is checked."""
    if found is None:
        return
    path = path.resolve()
    result = _result(found, path, path.parent) or _result(found, path, path.parent.parent)
    claims = result.get("claims") if result is not None else None
    now = claims_of(certificate)
    for key in now:
        if isinstance(claims, dict) and now[key] != claims.get(key):
            raise CertificateError(f"{key}: {MARK} beside the certificate says something else.")


def _words(certificate: Certificate, data: Data, found: dict[str, Any] | None) -> list[str]:
    """Return a line for everything that was checked."""
    weights = "" if data.weights is None else " and their weights"
    lines = [f"data: the {certificate.n_samples} rows{weights} of {data.name} are those it was made for (SHA-256)."]
    if found is not None and found.get("scaling") is not None:
        lines.append("scaling: the means and scales of the run are those of the data.")
    what = "clusters" if certificate.problem == "k-tMM" else "centres"
    lines.append(
        f"cost: the {certificate.n_clusters} {what} cost {certificate.cost:.8g}, computed again from the data."
    )
    if certificate.lower_bound > 0:
        lines.append(f"lower bound: {certificate.lower_bound:.8g} follows from {_evidence(certificate)}.")
    else:
        lines.append("lower bound: none is claimed.")
    lines += _fairness(certificate)
    guarantee = certificate.guarantee
    if guarantee is None:
        lines.append("guarantee: none is claimed.")
    else:
        parts = [] if guarantee.ratio is None else [f"at most {guarantee.ratio:.4g} times optimal"]
        if guarantee.fairness is not None:
            parts.append(f"everyone has a centre within {guarantee.fairness:.4g} fair radii")
        lines.append(f"guarantee: {', and '.join(parts)}; its condition ({guarantee.because}) was checked again.")
    cover = certificate.witness.get("cover")
    trusting = isinstance(cover, dict) and cover.get("proof") == "solver"
    if certificate.optimal:
        end = "the answer is optimal" + (", if the solver is right" if trusting else "")
    elif math.isfinite(certificate.gap):
        end = f"the answer costs at most {1 + certificate.gap:.4g} times the optimum"
    else:
        end = "nothing is proved about the optimum"
    lines.append(f"so {end}.")
    return lines


def _fairness(certificate: Certificate) -> list[str]:
    """Return a line for every claim about fairness."""
    lines = []
    if certificate.fairness_ratio is not None:
        lines.append(f"fairness: everyone has a centre within {certificate.fairness_ratio:.6g} fair radii.")
    if certificate.fair_lower_bound:
        what = "the branch tree of fair sets" if "fair_tree" in certificate.witness else "the same evidence"
        lines.append(f"fair lower bound: no fair set costs less than {certificate.fair_lower_bound:.8g}, by {what}.")
    if certificate.infeasible_beta is not None:
        lines.append(f"infeasible: no set is {certificate.infeasible_beta:.6g}-fair, by a branch tree over covers.")
    return lines


def _evidence(certificate: Certificate) -> str:
    if certificate.cost == certificate.lower_bound == 0:
        return "the cost being zero"
    parts = [words for key, words in _EVIDENCE.items() if key in certificate.witness]
    cover = certificate.witness.get("cover")
    if isinstance(cover, dict):
        parts.append(_COVER.get(str(cover.get("proof")), "a cover"))
    return "the witness" if not parts else " and ".join(parts) + ", gone through again"
