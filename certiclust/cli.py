"""The command line: what can be typed, how it is printed, and how it exits.

Whatever a command needs is imported when it runs, so that ``--help``, ``--version`` and completion answer at once.
"""

from __future__ import annotations

import csv
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from typer.core import TyperGroup

from certiclust import __version__

if TYPE_CHECKING:
    from certiclust.commands import Run
    from certiclust.io import Reading

#: What bad usage raises; click comes with typer, under a name that depends on its version.
UsageError = cast(type[typer.BadParameter], typer.BadParameter.__bases__[0])

#: How the sentence about a bad number begins.
MUST = "must be"


class _OneLine(TyperGroup):
    """Commands whose wrong use is told in one line, as wrong input is."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; bad usage ends with one line on stderr and exit code 2."""
        alone = extra.get("standalone_mode", True)
        extra["standalone_mode"] = False
        if not alone:
            return super().main(*args, **extra)
        try:
            sys.exit(super().main(*args, **extra) or 0)
        except UsageError as error:
            if "NoArgs" in type(error).__name__:  # its message is the whole help
                error.show()
            else:
                typer.echo(f"certiclust: {_sentence(error)}", err=True)
            sys.exit(error.exit_code)
        except typer.Abort:
            sys.exit(1)


def _sentence(error: typer.BadParameter) -> str:
    """Return what is wrong in one line; what the parsers of this file say follows the name of the option."""
    param = getattr(error, "param", None)
    if param is not None and error.message.startswith(MUST):
        return f"{param.opts[0]} {error.message}"
    return " ".join(error.format_message().replace("Value error, ", "").split())


app = typer.Typer(
    cls=_OneLine, help="Clustering that comes with a proof.", no_args_is_help=True, pretty_exceptions_enable=False
)


class Problem(StrEnum):
    """What is minimised."""

    K_MEDIAN = "k-median"
    K_MEANS = "k-means"
    K_CENTER = "k-center"
    K_TMM = "k-tmm"
    FAIR_K_MEDIAN = "fair-k-median"


def _number(kind: type[int] | type[float], least: int | None = None) -> dict[str, Any]:
    """Return how an option reads a number: whatever is none, or too small, is refused by value and limit."""

    def read(text: Any) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = None
        if number is None or (least is not None and number < least):
            what = "a whole number" if kind is int else "a number"
            limit = "" if least is None else f", at least {least}"
            raise typer.BadParameter(f"{MUST} {what}{limit}; got {text!s}.")
        return number

    return {"parser": read, "metavar": f"<{kind.__name__}>"}


def _option(kind: Any, help_text: str, *names: str, default: Any = None, **more: Any) -> tuple[Any, Any]:
    return Annotated[kind, typer.Option(*names, help=help_text, **more)], default


#: How a file is read: for every command with DATA.
READING = {
    "columns": _option(str | None, "Columns to cluster, all by default.", metavar="A,B,..."),
    "id": _option(str | None, "Column of names, carried to the output.", "--id", metavar="COLUMN"),
    "weights": _option(str | None, "Column of weights.", metavar="COLUMN"),
    "encoding": _option(str | None, "Of a text file, as latin-1; utf-8 by default."),
    "delimiter": _option(str | None, "Of a table; found out by default."),
    "decimal": _option(str | None, "Decimal sign of a table; a point by default."),
    "header": _option(bool | None, "Whether a table has one; found out by default.", "--header/--no-header"),
    "format": _option(
        Literal["table", "npy", "parquet", "orlib", "tsplib"] | None, "Of the file; found out by default.", "--format"
    ),
    "rounding": _option(
        Literal["none", "nearest", "down"], "TSPLIB: how to round distances to whole numbers.", default="none"
    ),
}
#: Parameters of the estimators.
PARAMETERS = {
    "metric": _option(str | None, "Distance; euclidean by default, precomputed for a file of distances."),
    "beta": _option(float | None, "fair-k-median: the fairness asked for, at least 1.", **_number(float)),
    "mode": _option(str | None, "fair-k-median: which fairness is promised."),
    "on_infeasible": _option(str | None, "fair-k-median: what to do if no k centres are fair."),
    "candidates": _option(
        Literal["auto", "data", "midpoints", "ladder"] | None, "k-means: where centres are looked for."
    ),
    "centers": _option(Literal["candidates", "continuous"] | None, "k-median: rows, or centres anywhere."),
    "epsilon": _option(float | None, "k-means, k-median: precision of candidates.", **_number(float)),
    "algorithm": _option(
        Literal["auto", "gsemo", "nsga2", "nsga3", "sms-emoa", "moead"] | None,
        "auto, or an evolutionary algorithm and nothing else; gsemo is Algorithm 1 of the paper.",
    ),
    "mutation": _option(Literal["bitwise", "heavy-tailed"] | None, "Mutation of the evolutionary algorithms."),
    "max_iter": _option(str | None, "Iterations at most, or theorem.", metavar="COUNT"),
    "time_limit": _option(
        float | None, "Seconds; the best answer so far is kept.", **(_number(float) | {"metavar": "SECONDS"})
    ),
    "gap_tol": _option(float | None, "Stop at this gap between cost and bound.", **_number(float)),
    "random_state": _option(int, "Seed; the same seed gives the same answer.", default=0, **_number(int)),
    "n_jobs": _option(int | None, "Threads for the distance matrix.", **_number(int)),
}
#: Where the answer goes.
OUTPUT = {
    "out": _option(Path | None, "Directory for tables, certificate and report.", metavar="DIR"),
    "force": _option(bool, "Replace an output directory that is there.", "--force", default=False),
    "quiet": _option(bool, "Print nothing but errors.", "--quiet", "-q", default=False),
}
for _title, _group in (("Search", PARAMETERS), ("Reading", READING), ("Output", OUTPUT)):
    for _annotation, _ in _group.values():
        _annotation.__metadata__[0].rich_help_panel = _title
DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, .npy, OR-Library or TSPLIB; - is stdin.")
]
ProblemOption = Annotated[Problem, typer.Option("--problem", "-p", case_sensitive=False, help="What to minimise.")]
Scale = Annotated[Literal["standard"] | None, typer.Option(help="Scale every column to mean 0 and variance 1.")]


def _with(*groups: dict[str, tuple[Any, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take the options of these groups, by keyword, besides its own."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        for name, (annotation, default) in (item for group in groups for item in group.items()):
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"certiclust {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Clustering that comes with a proof."""


@app.command()
def demo() -> None:
    """Fit all five problems on embedded data, verify what was proved, and write a report."""
    from certiclust.demo import run_demo

    run_demo()


@app.command()
@_with(PARAMETERS, READING, OUTPUT)
def fit(
    data: DataFile,
    k: Annotated[int | None, typer.Option("-k", "--n-clusters", help="Number of clusters.", **_number(int, 1))] = None,
    problem: ProblemOption = Problem.K_MEDIAN,
    scale: Scale = None,
    **typed: Any,
) -> None:
    """Cluster DATA into k clusters, and prove how good the answer is."""
    with _one_line_errors():
        from certiclust.commands import run_fit

        run = run_fit(data, problem.value, k, scale=scale, **_sorted_out(typed))
    _tell(run, typed)


@app.command()
@_with(PARAMETERS, READING, OUTPUT)
def sweep(
    data: DataFile,
    k_max: Annotated[
        int | None, typer.Option(help="Largest number of clusters; 10 by default.", **_number(int, 1))
    ] = None,
    k_min: Annotated[int, typer.Option(help="Least number of clusters.", **_number(int, 1))] = 1,
    problem: ProblemOption = Problem.K_MEDIAN,
    scale: Scale = None,
    **typed: Any,
) -> None:
    """Cluster DATA with every number of clusters, prove how good each answer is, and suggest one."""
    with _one_line_errors():
        from certiclust.commands import run_sweep

        run = run_sweep(data, problem.value, k_max, k_min, scale=scale, **_sorted_out(typed))
    _tell(run, typed)


@app.command()
@_with(READING)
def verify(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="As in DIR/certificate.json.")],
    data: DataFile,
    scale: Scale = None,
    **typed: Any,
) -> None:
    """Check every claim of CERTIFICATE again from DATA; exit 0 if all hold, 1 if one does not.

    How the data were read and scaled is taken from summary.json beside the certificate, unless options say otherwise.
    """
    with _one_line_errors():
        from certiclust.commands import run_verify

        checked = run_verify(certificate, data, reading=_reading(typed), scale=scale)
    if checked.rejected is not None:
        typer.echo(f"REJECTED: {checked.rejected}.")
        raise typer.Exit(1)
    typer.echo(f"{certificate} holds:")
    for line in checked.lines:
        typer.echo(f"  {line}")


@app.command()
def theory(
    n: Annotated[int, typer.Option("-n", help="Points of each instance.", **_number(int, 5))] = 200,
    k: Annotated[int, typer.Option("-k", "--n-clusters", help="Number of clusters.", **_number(int, 2))] = 5,
    runs: Annotated[int, typer.Option(help="Runs of each event.", **_number(int, 2))] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same table.", **_number(int, 0))] = 0,
    n_jobs: Annotated[
        int | None, typer.Option(help="Processes; the table does not depend on it.", **_number(int))
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Directory for theory.csv and theory.png.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an output directory that is there.")] = False,
) -> None:
    """Measure how long Algorithm 1 takes to keep the promise of every theorem, beside the theorem's bound."""
    with _one_line_errors():
        from rich.console import Console

        from certiclust.commands.theory import run_theory, table_of

        measured = run_theory(n, k, runs, seed, n_jobs=n_jobs, out=out, force=force)
    Console(width=130).print(table_of(measured))
    if out is not None:
        typer.echo(str(out / "theory.csv"))


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """End with one line on stderr and exit code 2 for input that cannot be used."""
    from certiclust.io import InputError

    try:
        yield
    except InputError as error:
        typer.echo(f"certiclust: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None


def _reading(typed: dict[str, Any]) -> Reading:
    from certiclust.io import Reading

    asked = {name: typed[name] for name in READING}
    if asked["columns"] is not None:
        asked["columns"] = tuple(next(csv.reader([asked["columns"]], skipinitialspace=True)))
    for name in ("delimiter", "decimal"):
        asked[name] = _sign(name, asked[name])
    return Reading(**asked)


def _sign(name: str, value: str | None) -> str | None:
    from certiclust.io import InputError

    value = {"\\t": "\t", "tab": "\t", "space": " "}.get(value, value) if value is not None else None
    if value is not None and (len(value) != 1 or value in '"\n\r'):
        raise InputError(f"--{name} must be one character; got {value!r}.")
    return value


def _sorted_out(typed: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed as arguments of a run."""
    from certiclust.io import InputError

    options = {name: typed[name] for name in PARAMETERS}
    count = options["max_iter"]
    if count is not None and count != "theorem":
        if not count.isdigit():
            raise InputError(f"--max-iter must be a whole number or theorem; got {count!r}.")
        options["max_iter"] = int(count)
    options["verbose"] = 0 if typed["quiet"] else 1
    return {"reading": _reading(typed), "options": options, "out": typed["out"], "force": typed["force"]}


def _tell(run: Run, typed: dict[str, Any]) -> None:
    """Print the answer; the last line is the path of the report, if one was written."""
    for warning in run.warnings:
        typer.echo(f"certiclust: warning: {warning}", err=True)
    if typed["quiet"]:
        return
    from certiclust.commands.words import tell_fit, tell_sweep

    for line in (tell_fit if run.command == "fit" else tell_sweep)(run):
        typer.echo(line)
    if typed["out"] is not None:
        typer.echo(str(typed["out"] / "report.html"))
