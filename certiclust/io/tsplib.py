"""TSPLIB files: points in the plane or in space, or a matrix of distances.

TSPLIB's own Euclidean distance is rounded to the nearest integer, which the published p-center radii use; the published
p-median values round down; both can be asked for, and then the distances are a matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from certiclust.io.errors import InputError

FloatArray = NDArray[np.float64]

#: How a node's coordinates are meant: their number and the metric.
_POINTS = {
    "EUC_2D": (2, "euclidean"),
    "EUC_3D": (3, "euclidean"),
    "MAN_2D": (2, "manhattan"),
    "MAN_3D": (3, "manhattan"),
    "MAX_2D": (2, "chebyshev"),
    "MAX_3D": (3, "chebyshev"),
}
_SECTIONS = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION")


@dataclass(frozen=True)
class TspFile:
    """What a file holds: points or a matrix, names of the nodes, and the metric."""

    X: FloatArray
    nodes: list[str]
    metric: str


def looks_like_tsplib(text: str) -> bool:
    """Return whether there is a section of TSPLIB."""
    return any(f"\n{section}" in text or text.startswith(section) for section in _SECTIONS)


def read_tsplib(name: str, text: str, rounding: str, budget: int) -> TspFile:
    """Return points, or the matrix for rounded distances and explicit weights; `budget` distances may be held."""
    lines = text.splitlines()
    number = next((i for i, line in enumerate(lines) if line.partition(":")[0].strip() in _SECTIONS), None)
    if number is None:
        raise InputError(f"{name}: no {_SECTIONS[0]} and no {_SECTIONS[1]} in this TSPLIB file.")
    pairs = (line.partition(":") for line in lines[:number])
    facts = {key.strip(): value.strip() for key, _, value in pairs}
    try:
        n = int(facts["DIMENSION"])
    except (KeyError, ValueError):
        raise InputError(f"{name}: a TSPLIB file needs a line 'DIMENSION : n'.") from None
    kind = facts.get("EDGE_WEIGHT_TYPE", "EUC_2D")
    if n < 2:
        raise InputError(f"{name}: DIMENSION is {n}; clustering needs at least 2.")
    if (kind == "EXPLICIT" or rounding != "none") and n * n > budget:
        raise InputError(f"{name}: n = {n} needs {n * n} distances, above the {budget} that may be held in memory.")
    if kind == "EXPLICIT":
        if not lines[number].startswith(_SECTIONS[1]):
            raise InputError(f"{name}: explicit weights need an {_SECTIONS[1]}.")
        matrix = _explicit(name, lines, number + 1, n, facts.get("EDGE_WEIGHT_FORMAT", "FULL_MATRIX"))
        return TspFile(matrix, [str(i + 1) for i in range(n)], "precomputed")
    if kind not in _POINTS or not lines[number].startswith(_SECTIONS[0]):
        raise InputError(f"{name}: EDGE_WEIGHT_TYPE {kind} is not read; {', '.join(_POINTS)} and EXPLICIT are.")
    width, metric = _POINTS[kind]
    nodes, points = _points(name, lines, number + 1, n, width)
    if rounding == "none":
        return TspFile(points, nodes, metric)
    distances = np.asarray(cdist(points, points, "cityblock" if metric == "manhattan" else metric))  # type: ignore[call-overload]
    rounded = np.floor(distances) if rounding == "down" else np.floor(distances + 0.5)
    return TspFile(rounded, nodes, "precomputed")


def _points(name: str, lines: list[str], start: int, n: int, width: int) -> tuple[list[str], FloatArray]:
    rows: dict[str, list[float]] = {}
    for number, line in enumerate(lines[start:], start + 1):
        cells = line.split()
        if not cells:
            continue
        if cells[0] == "EOF" or not cells[0][0].isdigit():
            break
        numbers = _finite(cells[1:])
        if numbers is None or len(numbers) != width:
            raise InputError(f"{name}, line {number}: a node has a number and {width} finite coordinates.")
        if cells[0] in rows:
            raise InputError(f"{name}, line {number}: node {cells[0]} is there twice.")
        rows[cells[0]] = numbers
    if len(rows) != n:
        raise InputError(f"{name}: DIMENSION says {n} nodes, but {len(rows)} follow.")
    return list(rows), np.array(list(rows.values()))


def _explicit(name: str, lines: list[str], start: int, n: int, form: str) -> FloatArray:
    values: list[float] = []
    for number, line in enumerate(lines[start:], start + 1):
        if line.strip() and not (line.strip()[0].isdigit() or line.strip()[0] in "+-."):
            break
        numbers = _finite(line.split())
        if numbers is None:
            raise InputError(f"{name}, line {number}: a distance is not a finite number.")
        values += numbers
    matrix = np.zeros((n, n))
    shapes = {
        "FULL_MATRIX": None,
        "UPPER_ROW": np.triu_indices(n, 1),
        "UPPER_DIAG_ROW": np.triu_indices(n),
        "LOWER_ROW": np.tril_indices(n, -1),
        "LOWER_DIAG_ROW": np.tril_indices(n),
    }
    if form not in shapes:
        raise InputError(f"{name}: EDGE_WEIGHT_FORMAT {form} is not read; {', '.join(shapes)} are.")
    places = shapes[form]
    need = n * n if places is None else len(places[0])
    if len(values) != need:
        raise InputError(f"{name}: {form} of DIMENSION {n} has {need} distances, but {len(values)} follow.")
    if places is None:
        return np.array(values).reshape(n, n)
    matrix[places] = values
    matrix.T[places] = values
    return matrix


def _finite(cells: list[str]) -> list[float] | None:
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None
