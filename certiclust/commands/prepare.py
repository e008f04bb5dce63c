"""From what was typed to an estimator and the rows it is fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.estimators import KTMM, FairKMedian, KCenter, KMeans, KMedian
from certiclust.io import Data, InputError
from certiclust.space.symmetry import symmetrised

FloatArray = NDArray[np.float64]

#: The problems as they are typed.
PROBLEMS: dict[str, Any] = {
    "k-median": KMedian,
    "k-means": KMeans,
    "k-center": KCenter,
    "k-tmm": KTMM,
    "fair-k-median": FairKMedian,
}


@dataclass(frozen=True)
class Scaling:
    """What was subtracted from every column, and what it was divided by then."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def standard(cls, X: FloatArray) -> Scaling:
        """Return the scaling to mean 0 and variance 1; a constant column is only moved."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scale = X.mean(axis=0), X.std(axis=0)
        if not (np.isfinite(mean).all() and np.isfinite(scale).all()):
            raise InputError("--scale standard: the numbers are too large for means and variances in float64.")
        return cls(mean, np.where(scale > 0, scale, 1.0))

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the rows scaled."""
        return np.asarray((X - self.mean) / self.scale)

    def back(self, X: FloatArray) -> FloatArray:
        """Return scaled rows in the units of the file."""
        return np.asarray(X * self.scale + self.mean)


def scaled(data: Data, scale: str | None, precomputed: bool) -> tuple[FloatArray, Scaling | None]:
    """Return the rows to cluster, and how they were scaled."""
    if scale is None:
        return data.X, None
    if precomputed:
        raise InputError("--scale is for columns of numbers; distances stay as they are.")
    scaling = Scaling.standard(data.X)
    return scaling(data.X), scaling


def build(problem: str, data: Data, options: dict[str, Any]) -> Any:
    """Return the estimator for a problem; options that are None were not typed.

    Parameters
    ----------
    problem : str
        One of `PROBLEMS`.
    data : Data
        Its file may name the metric.
    options : dict
        Parameters of the estimator.
    """
    estimator = PROBLEMS[problem]()
    known = estimator.get_params()
    typed = {name: value for name, value in options.items() if value is not None}
    for name in typed:
        if name not in known:
            raise InputError(f"--{name.replace('_', '-')} is not for {problem}.")
    if data.metric == "precomputed":
        if "metric" not in known:
            raise InputError(f"{data.name} holds distances; {problem} needs points.")
        if typed.get("metric", "precomputed") != "precomputed":
            raise InputError(f"{data.name} holds distances; --metric {typed['metric']} needs points.")
    elif data.metric is not None and "metric" not in known and data.metric != "euclidean":
        raise InputError(f"{data.name} is about {data.metric} distances; {problem} is not.")
    if data.metric is not None and "metric" in known:
        typed.setdefault("metric", data.metric)
    return estimator.set_params(**typed)


def check_size(k: int, data: Data, precomputed: bool, what: str) -> None:
    """Refuse more clusters than there are places for centres."""
    rows = len(data.X) if data.weights is None else int((data.weights > 0).sum())
    sites = data.X.shape[1] if precomputed and symmetrised(data.X) is None else rows
    if k > sites:
        kind = "rows" if sites == rows else "columns"
        remark = " of positive weight" if data.weights is not None and sites == rows else ""
        raise InputError(f"{what} {k} is more than the {sites} {kind}{remark} of {data.name}.")
