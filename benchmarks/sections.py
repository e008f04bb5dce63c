"""What the benchmarks of the problems share: sections of rows, printed as tables and saved as CSV."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

Row = dict[str, object]
#: Seeds in, rows out; the docstring is the title of the table.
Section = Callable[[list[int]], Iterator[Row]]

RESULTS = Path(__file__).parent / "results"


def run_benchmark(
    problem: str,
    doc: str | None,
    sections: dict[str, Section],
    compile_everything: Callable[[], None],
    figure: Callable[[Path, int], None] | None = None,
) -> None:
    """Run the sections asked for on the command line, and draw the figure, where there is one and it is asked for."""
    parser = parser_for(doc, sections)
    if figure is not None:
        parser.add_argument("--figure", action="store_true", help="draw cost against CPU time, into the same folder")
    asked = parser.parse_args()
    check_names(parser, asked.sections, sections)
    compile_everything()
    draws = figure is not None and asked.figure
    names = asked.sections or ([] if draws else list(sections))
    run_sections(problem, sections, names, asked.seeds, asked.csv)
    if figure is not None and draws:
        figure(asked.csv, asked.seeds[0])


def parser_for(doc: str | None, sections: dict[str, Section]) -> argparse.ArgumentParser:
    """Return the parser of what all benchmarks accept."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"any of {', '.join(sections)}")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--csv", type=Path, default=RESULTS, help="folder of the CSV files")
    return parser


def check_names(parser: argparse.ArgumentParser, asked: list[str], sections: dict[str, Section]) -> None:
    """Refuse sections that there are not."""
    unknown = set(asked) - set(sections)
    if unknown:
        parser.error(f"unknown section: {', '.join(sorted(unknown))}")


def run_sections(problem: str, sections: dict[str, Section], names: list[str], seeds: list[int], folder: Path) -> None:
    """Run sections one after the other; rows go to stderr as they come, tables to stdout, CSV files to `folder`."""
    for name in names:
        section = sections[name]
        rows: list[Row] = []
        for row in section(seeds):
            rows.append(row)
            print(*(f"{key}={value}" for key, value in row.items()), file=sys.stderr, flush=True)
        if rows:
            show(problem, name, str(section.__doc__), rows, folder)
        else:
            print(f"{name}: skipped: no data")


def show(problem: str, name: str, title: str, rows: list[Row], folder: Path) -> None:
    """Print a table and save it as CSV."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    columns.sort(key="pass".__eq__)
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(text(row.get(column, "")) for column in columns))
    Console(width=220).print(table)
    if "pass" in columns:
        Console(width=220).print(f"{name}: {sum(bool(row['pass']) for row in rows)} of {len(rows)} rows pass")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{problem}_{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=columns)
        writer.writeheader()
        writer.writerows(rows)


def text(value: object) -> str:
    """Return a table cell."""
    if isinstance(value, bool):
        return "[green]yes[/]" if value else "[red]NO[/]"
    return f"{value:,}" if isinstance(value, int) else str(value)
