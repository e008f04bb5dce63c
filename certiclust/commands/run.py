"""Fit and sweep: read, cluster, print, write."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.commands.files import write_fit, write_sweep
from certiclust.commands.prepare import Scaling, build, check_size, scaled
from certiclust.front import Front, sweep
from certiclust.io import Data, InputError, Reading, check_target, read, write_directory

#: Sizes of a sweep if none are asked for.
DEFAULT_K_MAX = 10


@dataclass(frozen=True)
class Run:
    """A command as it was typed, and what came of it.

    Attributes
    ----------
    command : str
        ``"fit"`` or ``"sweep"``.
    data : Data
        What was read.
    reading : Reading
        How.
    X : ndarray
        What was clustered.
    scaling : Scaling or None
        How X was made from the data.
    front : Front
        The clusterings; a single one for fit.
    seconds : float
        Wall-clock time of the search.
    warnings : list of str
        What the estimator warned about.
    """

    command: str
    data: Data
    reading: Reading
    X: NDArray[np.float64]
    scaling: Scaling | None
    front: Front
    seconds: float
    warnings: list[str] = field(default_factory=list)


def run_fit(
    name: str,
    problem: str,
    k: int | None,
    *,
    reading: Reading,
    options: dict[str, Any],
    scale: str | None = None,
    out: Path | None = None,
    force: bool = False,
) -> Run:
    """Cluster a file into k clusters, and write the output directory if one is asked for."""
    data, X, scaling, estimator = _prepared(name, problem, reading, options, scale, out, force)
    k = data.k if k is None else k
    if k is None:
        raise InputError(f"{data.name} does not say how many clusters; pass -k.")
    check_size(k, data, _precomputed(estimator), "-k")
    estimator.set_params(n_clusters=k)
    start = perf_counter()
    found, said = _quietly(lambda: estimator.fit(X, sample_weight=data.weights))
    run = Run("fit", data, reading, X, scaling, Front([found]), perf_counter() - start, said)
    if out is not None:
        write_directory(out, lambda folder: write_fit(run, folder), force=force)
    return run


def run_sweep(
    name: str,
    problem: str,
    k_max: int | None,
    k_min: int,
    *,
    reading: Reading,
    options: dict[str, Any],
    scale: str | None = None,
    out: Path | None = None,
    force: bool = False,
) -> Run:
    """Cluster a file with every number of clusters, and write the output directory if one is asked for."""
    data, X, scaling, estimator = _prepared(name, problem, reading, options, scale, out, force)
    last = min(max(DEFAULT_K_MAX, k_min), len(X)) if k_max is None else k_max
    check_size(last, data, _precomputed(estimator), "--k-max")
    if k_min > last:
        raise InputError(f"--k-min {k_min} is more than --k-max {last}.")
    start = perf_counter()
    front, said = _quietly(lambda: sweep(estimator, X, last, k_min=k_min, sample_weight=data.weights))
    run = Run("sweep", data, reading, X, scaling, front, perf_counter() - start, said)
    if out is not None:
        write_directory(out, lambda folder: write_sweep(run, folder), force=force)
    return run


def _prepared(
    name: str, problem: str, reading: Reading, options: dict[str, Any], scale: str | None, out: Path | None, force: bool
) -> tuple[Data, NDArray[np.float64], Scaling | None, Any]:
    if out is not None:
        check_target(out, force=force)
    data = read(name, reading)
    estimator = build(problem, data, options)
    X, scaling = scaled(data, scale, _precomputed(estimator))
    return data, X, scaling, estimator


def _precomputed(estimator: Any) -> bool:
    return getattr(estimator, "metric", None) == "precomputed"


def _quietly(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return the result and what was warned about, each sentence once; what the data forbid is one sentence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = work()
        except ValueError as error:
            raise InputError(" ".join(str(error).split())) from error
        except MemoryError as error:
            raise InputError(f"there is not enough memory for this ({error}).") from error
    return result, list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
