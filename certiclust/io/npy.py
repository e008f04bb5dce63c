"""NumPy's .npy files, without pickle."""

from __future__ import annotations

import io
import tokenize
import warnings

import numpy as np

from certiclust.io.errors import InputError
from certiclust.io.source import Source
from certiclust.io.table import Table

MAGIC = b"\x93NUMPY"
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npy(source: Source) -> Table:
    """Return the table of a two-dimensional array of numbers, its columns called x1, x2 and so on."""
    name = source.name
    file = io.BytesIO(source.content)
    try:
        version = np.lib.format.read_magic(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            shape, fortran, dtype = _HEADERS[version](file)
    except (ValueError, KeyError, EOFError, SyntaxError, TypeError, tokenize.TokenError, RecursionError):
        raise InputError(f"{name}: the .npy header is damaged or cut short.") from None
    if dtype.hasobject:
        raise InputError(f"{name} holds Python objects, which would need pickle; save an array of numbers.")
    if dtype.kind not in "biuf":
        raise InputError(f"{name} holds {dtype}, not real numbers.")
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"{name} must be two-dimensional with rows and columns; its shape is {shape}.")
    rest = source.content[file.tell() :]
    need = shape[0] * shape[1] * dtype.itemsize
    if len(rest) != need:
        what = "is cut short" if len(rest) < need else "is longer than its header says"
        raise InputError(f"{name} {what}: {need} bytes of numbers expected, {len(rest)} there.")
    array = np.frombuffer(rest, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    names = [f"x{j + 1}" for j in range(shape[1])]
    return Table(name, names, list(array.T), range(shape[0]), named=False, unit="row")
