"""Any file to rows: which reader, then which columns."""

from __future__ import annotations

from certiclust.io.data import Data, Reading
from certiclust.io.delimited import read_delimited
from certiclust.io.errors import InputError
from certiclust.io.npy import MAGIC as NPY
from certiclust.io.npy import read_npy
from certiclust.io.orlib import looks_like_orlib, read_orlib
from certiclust.io.parquet import MAGIC as PARQUET
from certiclust.io.parquet import read_parquet
from certiclust.io.source import Source, decode, open_source
from certiclust.io.table import Table, choose
from certiclust.io.tsplib import looks_like_tsplib, read_tsplib
from certiclust.space.space import matrix_budget

#: What a file can be read as.
FORMATS = ("table", "npy", "parquet", "orlib", "tsplib")


def read(name: str, reading: Reading | None = None) -> Data:
    """Read a file, or standard input for ``-``.

    Parameters
    ----------
    name : str
        CSV, TSV or other delimited text, .npy, Parquet, OR-Library p-median or TSPLIB, gzipped or not.
    reading : Reading or None
        What is known about it.

    Raises
    ------
    InputError
        In one sentence, with the file, the line and the column.
    """
    reading = reading or Reading()
    source = open_source(name)
    form = reading.format or _binary(source)
    if form == "npy":
        return _chosen(read_npy(source), reading, source, "npy")
    if form == "parquet":
        return _chosen(read_parquet(source), reading, source, "parquet")
    text = decode(source, reading.encoding)
    form = form or _textual(source, text)
    if form == "orlib":
        _refuse_columns(source, reading, "an OR-Library file")
        matrix, p = read_orlib(source.name, text, matrix_budget(), sure=reading.format is not None)
        nodes = [str(i + 1) for i in range(len(matrix))]
        return Data(matrix, nodes, nodes, "node", None, source.name, source.sha256, form, "precomputed", p)
    if form == "tsplib":
        _refuse_columns(source, reading, "a TSPLIB file")
        tsp = read_tsplib(source.name, text, reading.rounding, matrix_budget())
        names = tsp.nodes if tsp.metric == "precomputed" else ["x", "y", "z"][: tsp.X.shape[1]]
        return Data(tsp.X, names, tsp.nodes, "node", None, source.name, source.sha256, form, tsp.metric)
    if reading.rounding != "none":
        raise InputError(f"{source.name}: --rounding is for TSPLIB files.")
    return _chosen(read_delimited(source.name, text, reading), reading, source, "table")


def _binary(source: Source) -> str | None:
    """Return the format of a binary file by its first bytes, or by its name so that a damaged one is called by it."""
    start = source.content[:8]
    if start.startswith(NPY) or source.ending == ".npy":
        return "npy"
    if start.startswith(PARQUET) or source.ending in (".parquet", ".pq"):
        return "parquet"
    if start.startswith(b"PK"):
        raise InputError(f"{source.name} is a zip archive (.npz, .xlsx, ...); save one array as .npy, or a CSV file.")
    return None


def _textual(source: Source, text: str) -> str:
    if source.ending == ".tsp" or looks_like_tsplib(text):
        return "tsplib"
    return "orlib" if looks_like_orlib(text) else "table"


def _refuse_columns(source: Source, reading: Reading, what: str) -> None:
    if reading.columns or reading.id or reading.weights:
        raise InputError(f"{source.name} is {what}, which has no columns to choose.")


def _chosen(table: Table, reading: Reading, source: Source, form: str) -> Data:
    X, columns, ids, weights = choose(table, reading)
    return Data(X, columns, ids, reading.id or "row", weights, source.name, source.sha256, form)
