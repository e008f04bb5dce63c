"""A file of finished runs, so that an experiment that was stopped goes on where it was.

A CSV file under two lines of comment: what wrote it, and which experiment it belongs to. A finished run is appended as
one whole line; a line that a killed process left half written is dropped. The complete table is put in place by one
rename, in the order of the runs.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FORMAT = "# certiclust experiment 1"
Row = dict[str, Any]


class Record:
    """The finished runs of one experiment, in memory and, if there is a file, on the disk.

    Parameters
    ----------
    path : path-like or None
        The file; None keeps nothing.
    experiment : mapping
        What the experiment is, in words and numbers: another one is refused.
    columns : mapping of str to callable
        Names of the columns, and how each is read.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, experiment: Mapping[str, Any], columns: Mapping[str, Any]
    ) -> None:
        self._path = None if path is None else Path(path)
        self._columns = columns
        self._head = f"{FORMAT}\n# {json.dumps(experiment)}\n{','.join(columns)}\n"
        self.rows: list[Row] = []
        if self._path is not None:
            if self._path.exists():
                self.rows = self._read(json.loads(json.dumps(experiment)))
            self._replace(self.rows)

    def add(self, row: Row) -> None:
        """Keep a finished run."""
        self.rows.append(row)
        if self._path is not None:
            with self._path.open("a", newline="", encoding="utf-8") as file:
                file.write(self._lines([row]))

    def finish(self, rows: Sequence[Row]) -> None:
        """Leave the complete table, in order."""
        if self._path is not None:
            self._replace(rows)

    def _read(self, experiment: dict[str, Any]) -> list[Row]:
        assert self._path is not None
        text = self._path.read_text(encoding="utf-8")
        if not text:
            return []
        lines = text.split("\n")[:-1]  # what follows the last line end was not written to its end
        if len(lines) < 3 or lines[0] != FORMAT:
            raise ValueError(f"{self._path} holds no runs of an experiment; it is not overwritten.")
        found = json.loads(lines[1].removeprefix("# "))
        for key in [*experiment, *found]:
            if found.get(key) != experiment.get(key):
                raise ValueError(
                    f"{self._path} belongs to another experiment: its {key} is {found.get(key)!r}, "
                    f"not {experiment.get(key)!r}."
                )
        table = csv.DictReader(lines[2:])
        return [{name: read(row[name]) for name, read in self._columns.items()} for row in table]

    def _lines(self, rows: Sequence[Row]) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([row[name] for name in self._columns] for row in rows)
        return text.getvalue()

    def _replace(self, rows: Sequence[Row]) -> None:
        assert self._path is not None
        hidden = self._path.with_name(f".{self._path.name}.new")
        hidden.write_text(self._head + self._lines(rows), encoding="utf-8")
        os.replace(hidden, self._path)
