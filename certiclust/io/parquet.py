"""Parquet through pyarrow, an optional extra."""

from __future__ import annotations

from typing import Any

import numpy as np

from certiclust.io.errors import InputError
from certiclust.io.source import Source
from certiclust.io.table import Table

MAGIC = b"PAR1"


def read_parquet(source: Source) -> Table:
    """Return the table of a Parquet file; columns that are no numbers stay text."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InputError(
            f"{source.name}: Parquet needs pyarrow, the extra 'parquet': pip install 'certiclust[parquet]'."
        ) from None
    try:
        content = parquet.read_table(pyarrow.BufferReader(source.content))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n")[0].split(". ")[0].rstrip(".")
        raise InputError(f"{source.name}: the Parquet file is damaged or cut short ({reason}).") from None
    if content.num_rows == 0 or content.num_columns == 0:
        raise InputError(f"{source.name} has {content.num_rows} rows and {content.num_columns} columns.")
    columns = [_column(pyarrow, column) for column in content.columns]
    return Table(source.name, list(content.column_names), columns, range(content.num_rows), unit="row")


def _column(pyarrow: Any, column: Any) -> Any:
    """Return numbers as an array with NaN for what is missing, everything else as text."""
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind):
        values = column.to_numpy()
        return values if values.dtype.kind in "iuf" else np.array(values, dtype=np.float64)
    return ["" if value is None else str(value) for value in column.to_pylist()]
