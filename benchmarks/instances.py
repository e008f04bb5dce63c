"""Instances of the benchmarks: OR-Library, TSPLIB, and synthetic points in the plane.

The files are looked for in the folder named by ``CERTICLUST_DATA``, by default ``../shared/data`` beside the
repository; `data_folder` returns None where there is none.
"""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from sklearn.datasets import load_iris

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Published:
    """A p-median instance with its published value; `status` says whether that is the optimum."""

    name: str
    n: int
    p: int
    value: float
    status: str = "optimal"


def data_folder() -> Path | None:
    """Return the folder with the published instances, None if it does not exist."""
    repository = Path(__file__).resolve().parent.parent
    folder = Path(os.environ.get("CERTICLUST_DATA", repository.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


def orlib_pmedian(folder: Path) -> list[Published]:
    """Return the OR-Library instances with their p-median optima."""
    rows = _table(folder / "orlib_pmed" / "optima.csv")
    return [Published(r["instance"], int(r["n"]), int(r["p"]), float(r["pmedian_opt"])) for r in rows]


def orlib_matrix(folder: Path, name: str) -> FloatArray:
    """Return the shortest-path distances of an OR-Library graph; of duplicate edges the last one counts."""
    with gzip.open(folder / "orlib_pmed" / f"{name}.txt.gz", "rt") as file:
        numbers = np.array(file.read().split(), dtype=np.int64)
    n = int(numbers[0])
    edges = {(min(u, v) - 1, max(u, v) - 1): w for u, v, w in numbers[3:].reshape(-1, 3).tolist()}
    ends = np.array(list(edges))
    graph = csr_array((np.array(list(edges.values()), dtype=np.float64), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return np.ascontiguousarray(shortest_path(graph, method="D", directed=False))


def tsplib_pmedian(folder: Path) -> list[Published]:
    """Return the TSPLIB instances with their published p-median values."""
    rows = _table(folder / "tsplib" / "pmedian.csv")
    return [Published(r["instance"], int(r["n"]), int(r["p"]), float(r["value"]), r["status"]) for r in rows]


def orlib_pcenter(folder: Path) -> list[Published]:
    """Return the OR-Library instances with their p-center optima."""
    rows = _table(folder / "orlib_pmed" / "optima.csv")
    return [Published(r["instance"], int(r["n"]), int(r["p"]), float(r["pcenter_opt"])) for r in rows]


def tsplib_pcenter(folder: Path) -> list[Published]:
    """Return the TSPLIB instances with their published radii; `status` says how distances are rounded."""
    rows = _table(folder / "tsplib" / "pcenter.csv")
    return [Published(r["instance"], int(r["n"]), int(r["p"]), float(r["radius"]), r["distance"]) for r in rows]


def tsplib_points(folder: Path, name: str) -> FloatArray:
    """Return the coordinates of a TSPLIB file."""
    with gzip.open(folder / "tsplib" / f"{name}.tsp.gz", "rt") as file:
        lines = [line.split() for line in file]
    return np.array([(float(x[1]), float(x[2])) for x in lines if len(x) == 3 and x[0].isdigit()])


def tsplib_matrix(folder: Path, name: str) -> FloatArray:
    """Return Euclidean distances rounded down, the convention of the published p-median values."""
    return np.floor(euclidean(tsplib_points(folder, name)))


def euclidean(points: FloatArray) -> FloatArray:
    """Return the distance matrix by direct differences."""
    squares = np.zeros((len(points), len(points)))
    for x in points.T:
        squares += np.square(x[:, None] - x[None, :])
    return np.sqrt(squares, out=squares)


def synthetic(kind: str, n: int, seed: int) -> FloatArray:
    """Return n points in the plane: ``uniform`` in the unit square, or ``clustered`` in 20 Gaussians."""
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return rng.random((n, 2))
    centers = rng.random((20, 2)) * 10
    return np.asarray(centers[rng.integers(20, size=n)] + rng.normal(size=(n, 2)) * 0.5)


def mssc_best_known(folder: Path) -> list[tuple[str, int, float, str]]:
    """Return name, k, best known sum of squares and what is known about it, for the k-means sets."""
    rows = _table(folder / "mssc" / "best_known.csv")
    return [(r["dataset"], int(r["k"]), float(r["sse"]), r["status"]) for r in rows]


def mssc_points(folder: Path, name: str) -> FloatArray:
    """Return the rows of a k-means set; the .txt.gz files begin with a line of sizes."""
    if name == "iris":
        return np.asarray(load_iris().data, dtype=np.float64)
    headed = folder / "mssc" / f"{name}.txt.gz"
    path = headed if headed.exists() else folder / "mssc" / f"{name}.data.gz"
    return np.loadtxt(path, skiprows=int(path is headed))


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
