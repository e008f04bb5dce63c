"""theory: what the theorems bound, measured, as a table, a CSV file and a figure."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.table import Table

from certiclust.figures import axes_for
from certiclust.io import InputError, check_target, write_directory
from certiclust.io.output import FORMAT, MARK
from certiclust.problems import Problem
from certiclust.theory import HittingTimes, certified_optimum, hitting_times, points, pose
from certiclust.theory.experiments.targets import Event

#: The events of each theorem, in the order of its proof.
EVENTS: dict[str, list[Event]] = {
    "k-center": ["theorem"],
    "k-tMM": ["theorem"],
    "k-median": ["size", "theorem"],
    "k-means": ["size", "theorem"],
    "fair k-median": ["size", "balls", "theorem"],
}
Kind = Literal["blobs", "uniform", "hard"]
INSTANCES: tuple[Kind, ...] = ("blobs", "uniform", "hard")


@dataclass(frozen=True)
class Measured:
    """One event of one theorem on one instance."""

    instance: str
    times: HittingTimes

    def row(self) -> dict[str, Any]:
        """Return it as a row of the table."""
        return {"instance": self.instance, **self.times.summary()}


def run_theory(
    n: int, k: int, runs: int, seed: int, *, n_jobs: int | None = None, out: Path | None = None, force: bool = False
) -> list[Measured]:
    """Measure the hitting times of every theorem on three instances, and write them if a directory is given.

    ``hard`` are the points that make the proofs' steps as rare as they can be: the exponential ones, and for fair
    k-median far clusters of equal size.
    """
    if not 2 <= k < n // 2:
        raise InputError(f"-k must be at least 2 and less than half of -n {n}; got {k}.")
    if out is not None:
        check_target(out, force=force)
    measured = list(_measured(n, k, runs, seed, n_jobs))
    if out is not None:
        line = f"certiclust theory -n {n} -k {k} --runs {runs} --seed {seed}"
        write_directory(out, lambda folder: _write(measured, line, folder), force=force)
    return measured


def _measured(n: int, k: int, runs: int, seed: int, n_jobs: int | None) -> Iterator[Measured]:
    for instance in INSTANCES:
        for name, events in EVENTS.items():
            problem = _posed(instance, name, n, k, seed)
            optimum = certified_optimum(problem)[1] if "size" in events else None
            for event in events:
                times = hitting_times(problem, "gsemo", event, runs, n_jobs, random_state=seed, optimum=optimum)
                yield Measured(instance, times)


def _posed(instance: Kind, name: str, n: int, k: int, seed: int) -> Problem:
    if instance != "hard":
        return pose(name, points(instance, n, seed), k)
    if name == "fair k-median":
        return pose(name, points("separated", n, seed, clusters=k), k)
    return pose(name, points("exponential", n, seed), k)


def table_of(measured: list[Measured]) -> Table:
    """Return the table that is printed."""
    first = measured[0].times
    title = f"Algorithm 1, measured against the theorems: n = {first.n}, k = {first.k}, {len(first)} runs each"
    table = Table(title=title)
    for column in (
        "instance",
        "problem",
        "until",
        "mean",
        "95 % interval",
        "bound",
        "mean / bound",
        "mean |P|",
        "failed",
    ):
        table.add_column(column, justify="left" if column in ("instance", "problem", "until") else "right")
    for i, item in enumerate(measured):
        times, mean = item.times, item.times.mean
        table.add_row(
            item.instance,
            times.problem,
            times.event,
            f"{mean.value:,.1f}",
            f"{mean.low:,.1f} .. {mean.high:,.1f}",
            f"{times.bound:,.0f}" if times.bound is not None and times.bound < 1e9 else f"{times.bound:.2e}",
            f"{times.ratio:.2g}",
            f"{times.mean_population.mean():.2f}",
            str(times.failures),
            end_section=i + 1 < len(measured) and measured[i + 1].instance != item.instance,
        )
    return table


def draw(measured: list[Measured], ax: Any = None) -> Any:
    """Draw the mean of every event as a share of its bound.

    Parameters
    ----------
    measured : list of Measured
        What `run_theory` returned.
    ax : matplotlib axes or None
        Where to draw; None for a new figure.
    """
    ax = axes_for(ax)
    names = list(dict.fromkeys(f"{item.times.problem}\n{item.times.event}" for item in measured))
    for i, instance in enumerate(INSTANCES):
        ours = [item.times for item in measured if item.instance == instance]
        share = np.array([times.ratio for times in ours])
        ends = np.array([[times.mean.low, times.mean.high] for times in ours]).T / [times.bound for times in ours]
        places = np.arange(len(ours)) + 0.2 * (i - 1)
        bars = np.abs(ends - share)
        ax.errorbar(share, places, xerr=bars, fmt="o", markersize=4, capsize=2, label=instance)
    ax.axvline(1, color="C3", linestyle="--", label="the theorem's bound")
    ax.set(xscale="log", xlabel="mean iterations as a share of the bound", yticks=range(len(names)))
    ax.set_yticklabels(names, fontsize="small")
    ax.invert_yaxis()
    ax.legend(fontsize="small")
    return ax


def _write(measured: list[Measured], line: str, folder: Path) -> None:
    """Write theory.csv, theory.png and what made them."""
    rows = [item.row() for item in measured]
    with (folder / "theory.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    summary = {"format": FORMAT, "certiclust": version("certiclust"), "command": line}
    (folder / MARK).write_text(json.dumps(summary, indent=1), encoding="utf-8")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return  # the table says it all
    figure = Figure(figsize=(7, 6), layout="constrained")
    draw(measured, figure.subplots())
    figure.savefig(folder / "theory.png", dpi=150)
