"""k-tMM against complete linkage and Gonzalez: diameter, proof and CPU time, with the figures that issue 4 asks for.

Run ``python benchmarks/ktmm.py [section ...] [--seeds 0 1 2] [--csv DIR]``; without a section all of them. Set
``OMP_NUM_THREADS=1``. CPU seconds of one process, after fits that compile everything; ours are those of `KTMM.fit`
with default parameters and its certificate, `verify` is timed apart. Peers: complete linkage (SciPy) cut into k
clusters, and the best of 300 farthest-first (Gonzalez) partitions from random starts. Published instances are read
from ``CERTICLUST_DATA`` (see instances.py).
"""

from __future__ import annotations

import csv
import gzip
import resource
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from instances import FloatArray, data_folder, synthetic
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, pdist
from sections import Row, run_benchmark
from sklearn import config_context
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from certiclust import KTMM

KINDS = ("uniform", "clustered")
STARTS = 300


def diameter(X: FloatArray, labels: FloatArray) -> float:
    """Return the largest distance inside a cluster."""
    return max(float(pdist(X[labels == c]).max(initial=0.0)) for c in np.unique(labels))


def complete_linkage(X: FloatArray, k: int) -> float:
    """Return the diameter of complete linkage, cut into k clusters."""
    return diameter(X, fcluster(linkage(X, "complete"), k, "maxclust"))


def gonzalez(X: FloatArray, k: int, seed: int, starts: int = STARTS) -> float:
    """Return the best diameter of farthest-first partitions from random starts."""
    rng, best = np.random.default_rng(seed), np.inf
    for start in rng.integers(len(X), size=starts):
        nearest, labels = np.full(len(X), np.inf), np.zeros(len(X))
        center = int(start)
        for c in range(k):
            d = cdist(X[center : center + 1], X)[0]
            labels[d < nearest] = c
            nearest = np.minimum(nearest, d)
            center = int(nearest.argmax())
        best = min(best, diameter(X, labels))
    return best


def fit(X: FloatArray, k: int, seed: int, time_limit: float | None = None) -> tuple[KTMM, Row]:
    """Fit with default parameters, verify the certificate (raises if refuted), and return the columns on both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a time limit that was reached
        start, wall = process_time(), perf_counter()
        estimator = KTMM(k, random_state=seed, time_limit=time_limit).fit(X)
        wall = perf_counter() - wall
    cpu, start = process_time() - start, process_time()
    certificate = estimator.certificate_
    certificate.verify(X)
    row: Row = {
        "diameter": round(estimator.cost_, 6),
        "gap %": round(100 * certificate.gap, 4),
        "optimal": certificate.optimal,
        "witness": len(certificate.witness.get("uncolourable", certificate.witness.get("apart", []))),
        "CPU s": round(cpu, 2),
        "wall s": round(wall, 3),
        "verify s": round(process_time() - start, 2),
    }
    return estimator, row


def compile_everything() -> None:
    """Fit small instances with and without a matrix, with a proof that needs colouring."""
    X = synthetic("uniform", 300, 0)
    for k in (2, 5):
        fit(X, k, 0)
    with config_context(working_memory=1):
        KTMM(5, random_state=0, time_limit=5).fit(synthetic("clustered", 2500, 0))


def published(folder: Path, name: str) -> FloatArray:
    """Return the points of an instance with a proven optimal diameter."""
    if name in ("iris", "wine"):
        return np.asarray((load_iris if name == "iris" else load_wine)().data, dtype=np.float64)
    with gzip.open(folder / "mssc" / f"{name}.txt.gz", "rt") as file:
        n = int(file.readline().split()[0])
        return np.loadtxt(file, max_rows=n)


def optima(seeds: list[int]) -> Iterator[Row]:
    """Proven optimal diameters: reached and proved, at most 5 s each."""
    folder = data_folder()
    if folder is None:
        return
    with (folder / "mssc" / "optimal_diameters.csv").open(newline="") as file:
        instances = list(csv.DictReader(file))
    for seed in seeds:
        for instance in instances:
            X, k = published(folder, instance["dataset"]), int(instance["k"])
            estimator, row = fit(X, k, seed)
            best = float(instance["optimal_diameter"])
            passed = abs(estimator.cost_ - best) < 1e-6 and bool(row["optimal"]) and float(str(row["CPU s"])) <= 5
            peers = {"linkage": round(complete_linkage(X, k), 6), "Gonzalez x300": round(gonzalez(X, k, seed), 6)}
            yield {"instance": instance["dataset"], "n": len(X), "k": k, "seed": seed, **row, **peers, "pass": passed}


def points(seeds: list[int]) -> Iterator[Row]:
    """Points, n = 2000: never worse than the better peer, gap at most 5 %, at most 20 s."""
    for seed in seeds:
        for kind in KINDS:
            X = synthetic(kind, 2000, seed)
            for k in (5, 10, 20):
                estimator, row = fit(X, k, seed)
                peers = complete_linkage(X, k), gonzalez(X, k, seed)
                passed = estimator.cost_ <= min(peers) * (1 + 1e-12)
                passed &= float(str(row["gap %"])) <= 5 and float(str(row["CPU s"])) <= 20
                ratio: Row = {"linkage / ours": round(peers[0] / estimator.cost_, 4)}
                ratio["Gonzalez x300 / ours"] = round(peers[1] / estimator.cost_, 4)
                yield {"instance": kind, "n": 2000, "k": k, "seed": seed, **row, **ratio, "pass": passed}


def large(seeds: list[int]) -> Iterator[Row]:
    """Points, n = 100 000, without a matrix, k = 50: certified ratio at most 2, at most 60 s."""
    for seed in seeds:
        for kind in KINDS:
            _, row = fit(synthetic(kind, 100_000, seed), 50, seed)
            memory: Row = {"peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}
            passed = float(str(row["gap %"])) <= 100 and float(str(row["CPU s"])) <= 60
            yield {"instance": kind, "n": 100_000, "k": 50, "seed": seed, **row, **memory, "pass": passed}


def limits(seeds: list[int]) -> Iterator[Row]:
    """Time limits are kept within 20 % + 0.1 s of wall time, and every result is verified."""
    for n in (1000, 3000, 100_000):
        X = synthetic("uniform", n, seeds[0])
        for limit in (0.01, 0.1, 1.0, 10.0):
            _, row = fit(X, 50, seeds[0], limit)
            passed = float(str(row["wall s"])) <= 1.2 * limit + 0.1
            yield {"instance": "uniform", "n": n, "k": 50, "limit s": limit, **row, "pass": passed}


SECTIONS = {"optima": optima, "points": points, "large": large, "limits": limits}


if __name__ == "__main__":
    run_benchmark("ktmm", __doc__, SECTIONS, compile_everything)
