"""What a reader returns, and how it was asked to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """How to read a file; None means: find out.

    Attributes
    ----------
    format : str or None
        One of `FORMATS`.
    columns : tuple of str or None
        The columns that are numbers to cluster; None for all but `id` and `weights`.
    id, weights : str or None
        Columns with names of the rows and with their weights.
    encoding, delimiter, decimal : str or None
        Of a text file.
    header : bool or None
        Whether the first line has the names of the columns.
    rounding : str
        Distances of a TSPLIB file: ``"none"`` keeps the points, ``"nearest"`` and ``"down"`` make a matrix of integers.
    """

    format: str | None = None
    columns: tuple[str, ...] | None = None
    id: str | None = None
    weights: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    rounding: str = "none"

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked for in JSON's own types."""
        return asdict(self)


@dataclass(frozen=True)
class Data:
    """Rows of numbers with what a report wants to know about them.

    Attributes
    ----------
    X : ndarray
        The rows, or a distance matrix.
    columns : list of str
        Their names.
    ids : list of str or None
        Names of the rows.
    id_name : str
        What the names are called.
    weights : ndarray or None
        Weights of the rows.
    name : str
        The file as it was given.
    sha256 : str
        Of the file's bytes.
    format : str
        What it was read as.
    metric : str or None
        The distance that the file itself is about, if it is about one.
    k : int or None
        The number of centres that the file asks for, if it does.
    """

    X: FloatArray
    columns: list[str]
    ids: list[str] | None
    id_name: str
    weights: FloatArray | None
    name: str
    sha256: str
    format: str
    metric: str | None = None
    k: int | None = None

    def row_name(self, row: int) -> str:
        """Return the name of a row: its id, or its number from 0."""
        return str(row) if self.ids is None else self.ids[row]
