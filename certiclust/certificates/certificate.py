"""The certificate of a solution."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certiclust.certificates.errors import CertificateError
from certiclust.certificates.files import MAX_JSON, packed_arrays, read_arrays, write_whole

FORMAT = "certiclust certificate 1"


@dataclass(frozen=True)
class Guarantee:
    """An a-priori guarantee that holds for the path actually run.

    Attributes
    ----------
    ratio : float or None
        The cost is at most this many times the optimum; None where the guarantee is about fairness alone.
    theorem : str
        The theorem it rests on.
    because : str
        What was checked so that the theorem applies to this very solution.
    fairness : float or None
        Every point has a centre within this many times its fair radius.
    """

    ratio: float | None
    theorem: str
    because: str
    fairness: float | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was proved about one solution of one problem on one data set.

    Attributes
    ----------
    problem : str
        ``"k-tMM"``, ``"k-center"``, ``"k-median"``, ``"k-means"`` or ``"fair k-median"``.
    n_samples, n_clusters : int
        Rows of the data and k.
    cost : float
        What the solution costs.
    lower_bound : float
        No solution costs less; 0 where nothing better was proved.
    data_sha256 : str
        Fingerprint of rows, weights and candidates.
    metric : str
        Name of the distance.
    method : str
        How the solution was found.
    guarantee : Guarantee or None
        The factor of the paper, if its condition was checked to hold here.
    note : str
        Why there is no guarantee, or what limits it; empty if there is nothing to say.
    theory : dict
        The theorem's ratio and expected iteration bound (None: infinite) for GSEMO on this instance, where they were
        computed; the candidate set whose swaps were checked, with its factor (None: unknown). Like
        `method` and `note` a remark: `verify` does not check it.
    witness : dict
        What `verify` needs besides the data: the centres, and the evidence for the lower bound.
    fair_lower_bound : float or None
        For fair k-median: no set with a centre within beta fair radii of every point costs less. The cost may be lower
        than that in the modes whose own constraint is weaker; `lower_bound` is about that one.
    fairness_ratio : float or None
        For fair k-median: every point has a centre within so many times its fair radius; None if no number will do.
    infeasible_beta : float or None
        For fair k-median: no set at all has a centre within this many fair radii of every point.
    """

    problem: str
    n_samples: int
    n_clusters: int
    cost: float
    lower_bound: float
    data_sha256: str
    metric: str
    method: str
    guarantee: Guarantee | None
    note: str = ""
    theory: dict[str, Any] = field(default_factory=dict)
    witness: dict[str, Any] = field(default_factory=dict)
    fair_lower_bound: float | None = None
    fairness_ratio: float | None = None
    infeasible_beta: float | None = None

    @property
    def fair_claims(self) -> set[float | None]:
        """What is claimed about fair sets; None where nothing is."""
        return {self.fair_lower_bound, self.fairness_ratio, self.infeasible_beta}

    @property
    def gap(self) -> float:
        """``cost / lower_bound - 1``: 0 for a cost of 0, infinite without a positive lower bound."""
        if self.cost == 0:
            return 0.0
        return max(0.0, self.cost / self.lower_bound - 1.0) if self.lower_bound > 0 else math.inf

    @property
    def optimal(self) -> bool:
        """Whether the solution is proved optimal: ``lower_bound >= cost * (1 - 1e-9)``."""
        return self.lower_bound >= self.cost * (1.0 - 1e-9)

    def __eq__(self, other: object) -> bool:
        """Return whether both say the same."""
        return isinstance(other, Certificate) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Return three readable lines, and a fourth for fairness, or where a solver has to be trusted."""
        cover = self.witness.get("cover")
        trusting = isinstance(cover, dict) and cover.get("proof") == "solver"
        if self.optimal:
            found = "optimal by the word of a solver" if trusting else "optimal, proved"
        elif math.isfinite(self.gap):
            found = f"within a factor {1 + self.gap:.4g} of optimal (lower bound {self.lower_bound:.8g})"
        else:
            found = "no lower bound was proved"
        lines = [f"{self.problem}, k = {self.n_clusters}, n = {self.n_samples}: cost {self.cost:.8g}, {found}."]
        lines.append(self._guarantee_line())
        lines.append(f"found by {self.method}{self._theorem_words()}.")
        if self.problem == "fair k-median":
            lines.append(self._fairness_line())
        if trusting:
            lines.append("the lower bound is the word of the solver HiGHS: verify solves again and trusts it.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same as HTML, for notebooks."""
        from certiclust.certificates.html import certificate_html

        return certificate_html(self)

    def _guarantee_line(self) -> str:
        if self.guarantee is None:
            return f"no guarantee reached: {self.note}."
        g = self.guarantee
        parts = []
        if g.ratio is not None:
            parts.append(f"at most {g.ratio:.4g} times optimal")
        if g.fairness is not None:
            parts.append(f"a centre within {g.fairness:.4g} fair radii of every point")
        note = f" ({self.note})" if self.note else ""
        return f"guarantee: {' and '.join(parts)} by the {g.theorem}, because {g.because}{note}."

    def _theorem_words(self) -> str:
        """Return what the theorem says: about plain GSEMO, whatever was run."""
        if "iterations" not in self.theory:
            return ""
        if self.theory["iterations"] is None:
            return "; the theorem has no finite bound on the iterations of plain GSEMO here"
        ratio, against = self.theory.get("ratio"), self.theory.get("against")
        if ratio is not None:
            goal = f"a factor {ratio:.4g}" + (f", against {against}," if against else "")
        else:
            goal = "a centre in every critical ball" if self.problem == "fair k-median" else "its condition"
        count = _count(self.theory["iterations"])
        return f"; by the theorem plain GSEMO reaches {goal} within {count} expected iterations"

    def _fairness_line(self) -> str:
        ratio = "has no bound" if self.fairness_ratio is None else f"is {self.fairness_ratio:.6g}"
        line = f"fairness: the largest distance to a centre, in fair radii, {ratio}"
        said = self.witness.get("fairness")
        asked = said.get("beta") if isinstance(said, dict) else None
        beta = f"{asked:.6g}-fair" if isinstance(asked, int | float) else "fair"
        if self.fair_lower_bound:
            share = self.cost / self.fair_lower_bound
            below = ", below 1 because this set is not as fair" if share < 1 - 1e-9 else ""
            line += f"; the cost is at most {share:.4g} times that of the best {beta} set{below}"
        if self.infeasible_beta is not None:
            line += f"; no set is {self.infeasible_beta:.6g}-fair, proved"
        return line + "."

    def verify(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        metric: str | Callable[[Any, Any], float] | None = None,
        candidates: Any = None,
    ) -> None:
        """Check every claim again from the data, with code that shares nothing with the search or the bounds.

        Parameters
        ----------
        X : array-like
            The rows the solution was fitted on, or the distance matrix for ``metric="precomputed"``.
        sample_weight : array-like or None
            The weights used in fit.
        metric : str, callable or None
            The distance; needed only where it was a callable, which a file cannot hold.
        candidates : array-like or None
            The candidate centres used in fit, if they were not the rows themselves.

        Raises
        ------
        CertificateError
            With the reason, if a claim does not hold or the data are others.
        """
        from certiclust.certificates.verify import verify

        verify(self, X, sample_weight, metric=metric, candidates=candidates)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values."""
        content = {"format": FORMAT, **asdict(self), "gap": self.gap, "optimal": self.optimal}
        return {key: _plain(value) for key, value in content.items()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Certificate:
        """Return the certificate that `to_dict` wrote; derived numbers that do not fit are refused."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise CertificateError(f"not a certificate: the format is not {FORMAT!r}.")
        content = {**dict.fromkeys(_LATER), **content}
        missing = set(_KINDS) - set(content)
        unknown = set(content) - set(_KINDS) - {"format", "gap", "optimal"}
        if missing or unknown:
            raise CertificateError(f"not a certificate: fields missing {sorted(missing)}, unknown {sorted(unknown)}.")
        fields = {key: _checked(key, content[key], kind) for key, kind in _KINDS.items()}
        if fields["guarantee"] is not None:
            fields["guarantee"] = _guarantee(fields["guarantee"])
        for key in ("iterations", "ratio"):
            if fields["theory"].get(key) is not None:
                _checked(f"theory.{key}", fields["theory"][key], (int, float))
        certificate = cls(**fields)
        for key in ("gap", "optimal"):
            if content.get(key) != _plain(getattr(certificate, key)):
                raise CertificateError(f"the stored {key} does not follow from cost and lower_bound.")
        return certificate

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON, whole or not at all.

        A witness that would make the file larger than 1 MB goes to a compressed ``.npz`` file beside it, named after
        its content.
        """
        path = Path(path)
        content = self.to_dict()
        text = json.dumps(content, indent=1, allow_nan=False)
        large = [key for key, value in self.witness.items() if isinstance(value, dict)] if len(text) > MAX_JSON else []
        for key in large:
            packed = packed_arrays(self.witness[key])
            name = f"{path.stem}.{hashlib.sha256(packed).hexdigest()[:16]}.npz"
            write_whole(path.with_name(name), packed)
            content["witness"] = {**content["witness"], key: {"file": name}}
            text = json.dumps(content, indent=1, allow_nan=False)
        write_whole(path, text.encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate that `save` wrote."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"{path} is not a certificate: {error}") from error
        if isinstance(content, dict) and isinstance(content.get("witness"), dict):
            for key, value in content["witness"].items():
                if isinstance(value, dict) and "file" in value:
                    content["witness"][key] = read_arrays(Path(path), value["file"])
        return cls.from_dict(content)


#: The type of every stored field.
_KINDS: dict[str, Any] = {
    "problem": str,
    "n_samples": int,
    "n_clusters": int,
    "cost": (int, float),
    "lower_bound": (int, float),
    "data_sha256": str,
    "metric": str,
    "method": str,
    "guarantee": (dict, type(None)),
    "note": str,
    "theory": dict,
    "witness": dict,
    "fair_lower_bound": (int, float, type(None)),
    "fairness_ratio": (int, float, type(None)),
    "infeasible_beta": (int, float, type(None)),
}
#: Fields that older files lack.
_LATER = ("fair_lower_bound", "fairness_ratio", "infeasible_beta")


def _checked(key: str, value: Any, kind: Any) -> Any:
    """Return a stored value if it is of its kind, and finite and not negative where it is a number."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CertificateError(f"{key} has the wrong type, {type(value).__name__}.")
    if isinstance(value, (int, float)):
        if not 0 <= value < (2**53 if kind is int else 1e308):
            raise CertificateError(f"{key} is out of range.")
        return value if kind is int else float(value)
    return value


def _guarantee(content: dict[str, Any]) -> Guarantee:
    if set(content) != {"ratio", "theorem", "because", "fairness"}:
        raise CertificateError("guarantee must have ratio, theorem, because and fairness.")
    for key in ("ratio", "fairness"):
        if content[key] is not None:
            content = {**content, key: _checked(f"guarantee.{key}", content[key], (int, float))}
    for key in ("theorem", "because"):
        _checked(f"guarantee.{key}", content[key], str)
    return Guarantee(**content)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number a certificate can hold.")


def _plain(value: Any) -> Any:
    """Return `value` in JSON's own types; infinity becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _count(expected: float) -> str:
    return f"{expected:,.0f}" if expected < 1e9 else f"{expected:.2e}"
