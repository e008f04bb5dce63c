"""Many runs of one algorithm: seeds, processes, and a record that survives being stopped."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from certiclust.evolution import Algorithm, Mutation
from certiclust.evolution.interrupt import catch_interrupt
from certiclust.problems import Problem
from certiclust.theory.experiments.records import Record, Row

#: One run, from its seed to a row of the table; None if Ctrl-C ended it.
Measure = Callable[[int], Row | None]


def run_all(
    measure: Measure,
    runs: int,
    *,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
    file: str | os.PathLike[str] | None,
    experiment: Mapping[str, Any],
    columns: Mapping[str, Any],
) -> list[Row]:
    """Return one row for each run that was finished, in order; runs already in the file are not run again.

    The seed of a run depends on `random_state` and its number only, so the rows are the same for every `n_jobs`, and
    an experiment with more runs begins with the runs of one with fewer. Ctrl-C keeps the runs that were finished.
    """
    if runs < 1:
        raise ValueError(f"runs must be at least 1; got {runs}.")
    if file is not None and not isinstance(random_state, int | np.integer):
        raise ValueError(f"file={os.fspath(file)!r} needs a whole number as random_state; got {random_state!r}.")
    seeds = check_random_state(random_state).randint(2**31, size=runs).tolist()
    columns = {"run": int, "seed": int, **columns}
    record = Record(file, {**experiment, "random_state": random_state}, columns)
    finished = {row["run"] for row in record.rows}
    left = [(run, seed) for run, seed in enumerate(seeds) if run not in finished]
    for row in _measured(measure, left, n_jobs):
        record.add(row)
    rows = sorted((row for row in record.rows if row["run"] < runs), key=lambda row: int(row["run"]))
    if len(rows) == runs:
        record.finish(sorted(record.rows, key=lambda row: int(row["run"])))
    else:
        warnings.warn(f"interrupted after {len(rows)} of {runs} runs.", ConvergenceWarning, stacklevel=3)
    return rows


def _measured(measure: Measure, left: Iterable[tuple[int, int]], n_jobs: int | None) -> Iterator[Row]:
    """Run what is left, and hand over each row as soon as it is there; end early on Ctrl-C."""
    # Kernels are compiled for arrays that may be written to: a copy on write, not a read-only map, goes to the workers.
    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", mmap_mode="c")
    with catch_interrupt() as interrupted:
        for row in workers(delayed(_numbered)(measure, run, seed) for run, seed in left):
            if row is not None:
                yield row
            if row is None or interrupted():
                return


def _numbered(measure: Measure, run: int, seed: int) -> Row | None:
    row = measure(seed)
    return None if row is None else {"run": run, "seed": seed, **row}


def described(problem: Problem, algorithm: Algorithm) -> dict[str, Any]:
    """Return what tells an experiment from others: the problem with a fingerprint of its data, and the algorithm."""
    space = problem.space
    digest = hashlib.sha256()
    arrays = (space.points, space.candidates) if space.matrix is None else (space.matrix,)
    for array in (*arrays, space.weights):
        digest.update(np.ascontiguousarray(array).data)
    own = {field.name: getattr(problem, field.name) for field in fields(problem) if field.name not in ("space", "k")}
    return {
        "problem": problem.name,
        "n": space.n,
        "m": space.m,
        "k": problem.k,
        **own,
        "metric": space.metric.name,
        "data": digest.hexdigest()[:16],
        "algorithm": repr(algorithm),
    }


def label(algorithm: str | Algorithm, mutation: str | Mutation) -> str:
    """Return what to call an algorithm in a table: as it was asked for."""
    if isinstance(algorithm, Algorithm):
        return algorithm.name
    if mutation == "bitwise":
        return algorithm
    return f"{algorithm}, {mutation if isinstance(mutation, str) else mutation.name}"
