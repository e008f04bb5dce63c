"""CSV, TSV and their relatives: which delimiter, is there a header, and the cells.

A delimiter is judged by the lines it makes: the same number of cells in each, then as many numbers as possible. (A
decimal comma with semicolons is the case that a count of characters gets wrong.)
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator

from certiclust.io.data import Reading
from certiclust.io.errors import InputError
from certiclust.io.table import MISSING, Table

#: Tried in this order; the blank stands for any white space.
DELIMITERS = (",", ";", "\t", "|", " ")
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
#: Lines from which the delimiter is found.
_SAMPLE = 200
#: Rows from which the header is found.
_BODY = 100


def read_delimited(name: str, text: str, reading: Reading) -> Table:
    """Return the table of a text file."""
    delimiter = reading.delimiter or find_delimiter(text)
    lines, rows = [], []
    for line, cells in _records(name, text, delimiter):
        lines.append(line)
        rows.append(cells)
    if not rows:
        raise InputError(f"{name} is empty.")
    if _is_size_line(rows):
        lines, rows = lines[1:], rows[1:]
    header = has_header(rows) if reading.header is None else reading.header
    width = len(rows[0])
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != width:
            raise InputError(_ragged(name, line, cells, width, delimiter))
    names = [cell.strip() for cell in rows[0]] if header else [f"x{j + 1}" for j in range(width)]
    if header:
        lines, rows = lines[1:], rows[1:]
    if not rows:
        raise InputError(f"{name} has a header but no rows.")
    columns = [list(column) for column in zip(*rows, strict=True)]
    if header and width > 1 and not names[-1] and not any(cell.strip() for cell in columns[-1]):
        names.pop()  # every line ends with the delimiter
        columns.pop()
    return Table(name, names, columns, lines, reading.decimal or ".", named=header)


def find_delimiter(text: str) -> str:
    r"""Return the delimiter of a text; a comma where there is one column.

    Examples
    --------
    >>> find_delimiter("a;b\n1,5;2\n3,5;4\n")
    ';'
    """
    sample = _first_lines(text)
    best, chosen = (0.0, 0.0), ","
    for delimiter in DELIMITERS:
        try:
            rows = [cells for _, cells in _records("", sample, delimiter)]
        except InputError:
            continue
        if not rows:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        cells = [cell for row in rows for cell in row]
        score = (count / len(rows), sum(map(_is_number, cells)) / len(cells))
        if width > 1 and score > best:
            best, chosen = score, delimiter
    return chosen


def has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row holds names: text above a column of numbers, or nothing but text.

    Examples
    --------
    >>> has_header([["x", "kind"], ["1", "a"]]), has_header([["5.1", "setosa"], ["4.9", "setosa"]])
    (True, False)
    """
    first, body = rows[0], rows[1 : 1 + _BODY]
    text = [not _is_number(cell) and cell.strip() not in MISSING for cell in first]
    if not any(text):
        return False
    for j in range(len(first)):
        cells = [row[j] for row in body if j < len(row) and row[j].strip() not in MISSING]
        if text[j] and 2 * sum(map(_is_number, cells)) > len(cells):
            return True
    return not any(_is_number(cell) for cell in first)


def _records(name: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line and its cells, blank lines left out."""
    if delimiter == " ":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{name}, line {reader.line_num}: the quotes do not match ({error}).") from None


def _first_lines(text: str) -> str:
    """Return the first lines, whole."""
    end = -1
    for _ in range(_SAMPLE):
        end = text.find("\n", end + 1)
        if end < 0:
            return text
    return text[: end + 1]


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, with a point or a comma."""
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return re.fullmatch(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*", cell) is not None


def _is_size_line(rows: list[list[str]]) -> bool:
    """Return whether the first line says how many rows and columns follow, as in collections of k-means sets."""
    if len(rows) < 2 or len(rows[0]) != 2:
        return False
    return [cell.strip() for cell in rows[0]] == [str(len(rows) - 1), str(len(rows[1]))]


def _ragged(name: str, line: int, cells: list[str], width: int, delimiter: str) -> str:
    other = next((d for d in DELIMITERS[:4] if d != delimiter and len(cells) < width and d in "".join(cells)), None)
    hint = f"; it has {_NAMES[other]} where the others have {_NAMES.get(delimiter, repr(delimiter))}" if other else ""
    return f"{name}, line {line}: {len(cells)} cells, but the first line has {width}{hint}."
