"""Columns with names, and the choice of those that are numbers to cluster, ids and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.io.data import Reading
from certiclust.io.errors import InputError

FloatArray = NDArray[np.float64]

#: Cells that stand for a missing value.
MISSING = {"", "NA", "N/A", "na", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "none", "?", "-"}


@dataclass(frozen=True)
class Table:
    """Columns with names: of cells as text, or of numbers.

    Attributes
    ----------
    name : str
        The file.
    names : list of str
        Of the columns.
    columns : list
        Each a list of cells, or an array.
    lines : sequence of int
        The line, or the row, that each cell comes from.
    decimal : str
        The decimal point.
    named : bool
        Whether the names are the file's own.
    unit : str
        ``"line"`` or ``"row"``.
    """

    name: str
    names: list[str]
    columns: list[Any]
    lines: Sequence[int]
    decimal: str = "."
    named: bool = True
    unit: str = "line"

    def place(self, row: int, column: int) -> str:
        """Return words for a cell."""
        return f"{self.name}, {self.unit} {self.lines[row]}, {self.title(column)}"

    def title(self, column: int) -> str:
        """Return words for a column."""
        return f"column {self.names[column]!r}" if self.names[column] else f"column {column + 1}"

    def find(self, name: str, option: str) -> int:
        """Return the number of a column."""
        if name in self.names:
            return self.names.index(name)
        shown = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
        raise InputError(f"{self.name}: {option} names {name!r}, but the columns are {shown}.")


def choose(table: Table, reading: Reading) -> tuple[FloatArray, list[str], list[str] | None, FloatArray | None]:
    """Return rows, names of columns, ids and weights."""
    _check_names(table)
    special = [
        table.find(name, option)
        for name, option in ((reading.id, "--id"), (reading.weights, "--weights"))
        if name is not None
    ]
    if reading.columns is None:
        chosen = [j for j in range(len(table.names)) if j not in special]
        nameless = [j for j in chosen if not table.names[j]]
        if nameless:
            raise InputError(
                f"{table.name}: column {nameless[0] + 1} has no name, like a saved row index; choose with --columns "
                f"{_listed([name for name in table.names if name])}."
            )
    else:
        chosen = [table.find(name, "--columns") for name in reading.columns]
    if not chosen:
        raise InputError(f"{table.name} has no column of numbers besides --id and --weights.")
    if len(set(chosen)) < len(chosen):
        raise InputError("--columns names a column twice.")
    arrays = _numbers(table, chosen)
    if len(table.lines) < 2:
        raise InputError(f"{table.name} has one row; clustering needs at least two.")
    ids = None if reading.id is None else _ids(table, special[0])
    weights = None if reading.weights is None else _weights(table, special[-1])
    return np.column_stack(arrays), [table.names[j] for j in chosen], ids, weights


def _check_names(table: Table) -> None:
    seen: dict[str, int] = {}
    for j, name in enumerate(table.names):
        if name and name in seen:
            raise InputError(f"{table.name}: columns {seen[name] + 1} and {j + 1} have the same name, {name!r}.")
        seen[name] = j


def _numbers(table: Table, chosen: list[int]) -> list[FloatArray]:
    arrays, texts = [], []
    for j in chosen:
        try:
            arrays.append(as_numbers(table, j))
        except _TextError as error:
            texts.append((j, error))
    if not texts:
        return arrays
    (j, first), numeric = texts[0], [i for i in chosen if i not in {j for j, _ in texts}]
    others = f" (others too: {_listed([table.names[i] for i, _ in texts[1:]])})" if len(texts) > 1 else ""
    if not table.named:
        others += " (no header was found)"
    advice = f"; choose with --columns {_listed([table.names[i] for i in numeric])}" if numeric else ""
    raise InputError(f"{table.name}: {table.title(j)} holds text, {first}{others}{advice}.")


class _TextError(ValueError):
    """A column that holds text; the message quotes a cell and its line."""


def as_numbers(table: Table, j: int) -> FloatArray:
    """Return a column as finite numbers."""
    cells = table.columns[j]
    if isinstance(cells, np.ndarray):
        values = cells.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            what = "missing" if np.isnan(values[bad[0]]) else "infinite"
            raise InputError(f"{table.place(int(bad[0]), j)}: the value is {what}; every row needs a finite number.")
        return values
    try:
        values = np.array([_number(cell, table.decimal) for cell in cells])
        if np.isfinite(values).all():
            return values
    except ValueError:
        pass
    raise _first_wrong(table, j, cells)


def _number(cell: str, decimal: str) -> float:
    """Return the number in a cell; unlike `float` no underscores, and no point where the decimal sign is another."""
    if "_" in cell or (decimal != "." and "." in cell):
        raise ValueError(f"{cell!r} is not a number")
    return float(cell if decimal == "." else cell.replace(decimal, "."))


def _first_wrong(table: Table, j: int, cells: list[str]) -> ValueError:
    """Return the error about the first cell that is not a finite number, text before missing values."""
    missing = None
    for row, cell in enumerate(cells):
        shown = cell.strip() if len(cell.strip()) <= 40 else cell.strip()[:37] + "..."
        if cell.strip() in MISSING:
            missing = row if missing is None else missing
            continue
        try:
            value = _number(cell, table.decimal)
        except ValueError:
            value = None
        if value is None:
            point = table.decimal == "." and cell.strip().replace(",", "", 1).lstrip("+-").isdigit() and "," in cell
            hint = " (a decimal comma? then pass --decimal ,)" if point else ""
            return _TextError(f"{shown!r} in {table.unit} {table.lines[row]}{hint}")
        if not np.isfinite(value):
            return InputError(f"{table.place(row, j)}: {shown!r} is not a finite number in float64 (limit 1.8e308).")
    assert missing is not None
    what = f"missing ({cells[missing].strip()})" if cells[missing].strip() else "missing"
    return InputError(f"{table.place(missing, j)}: the value is {what}; every row needs a number.")


def _ids(table: Table, j: int) -> list[str]:
    cells = table.columns[j]
    values = cells.tolist() if isinstance(cells, np.ndarray) else cells
    ids = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v).strip() for v in values]
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in seen:
            first, again = table.lines[seen[name]], table.lines[row]
            raise InputError(f"{table.name}: the id {name!r} is in {table.unit}s {first} and {again}; ids must differ.")
        seen[name] = row
    return ids


def _weights(table: Table, j: int) -> FloatArray:
    try:
        weights = as_numbers(table, j)
    except _TextError as error:
        raise InputError(f"{table.name}: {table.title(j)} holds text, {error}; weights are numbers.") from None
    if weights.min() < 0:
        row = int(weights.argmin())
        raise InputError(f"{table.place(row, j)}: the weight {weights[row]:g} is negative; the least is 0.")
    return weights


def _listed(names: list[str]) -> str:
    shown = ",".join(names[:8]) + (",..." if len(names) > 8 else "")
    return f"'{shown}'" if any(c in shown for c in " ;|&$") else shown
