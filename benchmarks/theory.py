"""Hitting times against the theorems, cell by cell, and the algorithms against each other, as issue 8 asks.

Run ``python benchmarks/theory.py [section ...] [--seeds 0] [--csv DIR]``; without a section all of them, about half an
hour. Algorithm 1 as in the paper, 100 runs in each cell, all from the first seed; iterations are counted as in the
paper, so the tables do not depend on the machine. Instances: blobs and uniform points, and points that make the steps
of the proofs as rare as they can be (`certiclust.theory.points`): exponential ones, and for fair k-median k far
clusters of equal size. Where the bound is nearly attained, 5000 runs are made, so that chance does not decide.

``pass``: the mean is below the paper's bound, and no run failed. The exponents are those of n^a k^b fitted to the cells
of one instance, with 95 % intervals, beside those of the bound in the same cells. theory_commands.csv has the commands
and what they took.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import numpy as np
from instances import data_folder, mssc_points
from sections import RESULTS, Row, Section, run_benchmark

from certiclust.theory import HittingTimes, certified_optimum, hitting_times, points, pose, power_law
from certiclust.theory.experiments import Estimate
from certiclust.theory.experiments.targets import Event

SIZES, CENTERS, RUNS = (50, 100, 200, 500, 1000), (2, 5, 10, 20), 100
#: Runs where the mean is within a few per cent of the bound.
MANY = 5000
#: Iterations after which a run of the comparison has failed.
BUDGET = 2_000_000
ALGORITHMS = (
    ("gsemo", "bitwise"),
    ("gsemo", "heavy-tailed"),
    ("nsga2", "bitwise"),
    ("nsga3", "bitwise"),
    ("sms-emoa", "bitwise"),
    ("moead", "bitwise"),
)


def cells(
    instances: tuple[str, ...], measure: Callable[[str, int, int], Iterator[tuple[HittingTimes, Row]]]
) -> Iterator[Row]:
    """Yield a row for every cell, with the exponents of its instance and event."""
    for kind in instances:
        measured = [item for n in SIZES for k in CENTERS for item in measure(kind, n, k)]
        for event in dict.fromkeys(times.event for times, _ in measured):
            ours = [(times, more) for times, more in measured if times.event == event]
            sizes = np.array([[times.n, times.k] for times, _ in ours])
            exponents, _ = power_law(sizes, [times.expected for times, _ in ours])
            of_bound, _ = power_law(sizes, [float(times.bound or np.nan) for times, _ in ours])
            for times, more in ours:
                yield {"instance": kind, **row_of(times), **more, **columns(exponents, of_bound)}


def row_of(times: HittingTimes) -> Row:
    """Return the columns on one cell."""
    mean, bound = times.mean, float(times.bound or np.nan)
    return {
        "n": times.n,
        "k": times.k,
        "until": times.event,
        "runs": len(times),
        "failed": times.failures,
        "mean": round(mean.value, 2),
        "low": round(mean.low, 2),
        "high": round(mean.high, 2),
        "bound": float(f"{bound:.6g}"),
        "mean / bound": float(f"{times.ratio:.4g}"),
        "sharper": float(f"{float(times.sharper or 0.0):.6g}"),
        "mean |P|": round(float(times.mean_population.mean()), 3),
        "pass": bool(times.failures == 0 and times.expected < bound),
    }


def columns(exponents: list[Estimate], of_bound: list[Estimate]) -> Row:
    """Return the columns on growth."""
    row: Row = {}
    for name, ours, theirs in zip(("n", "k"), exponents, of_bound, strict=True):
        row[f"exponent of {name}"] = f"{ours.value:.2f} [{ours.low:.2f}, {ours.high:.2f}]"
        row[f"bound: exponent of {name}"] = round(theirs.value, 2)
    return row


def _maxima(problem: str, seed: int) -> Iterator[Row]:
    def measure(kind: str, n: int, k: int) -> Iterator[tuple[HittingTimes, Row]]:
        runs = MANY if kind == "exponential" and k == 2 else RUNS
        yield hitting_times(pose(problem, points(kind, n, seed), k), runs=runs, random_state=seed), {}

    return cells(("blobs", "uniform", "exponential"), measure)


def _sums(problem: str, seed: int) -> Iterator[Row]:
    def measure(kind: str, n: int, k: int) -> Iterator[tuple[HittingTimes, Row]]:
        posed = pose(problem, points(kind, n, seed), k)
        cost, lower = certified_optimum(posed)
        events: tuple[Event, ...] = ("size", "theorem")
        for event in events:
            times = hitting_times(posed, target=event, runs=RUNS, random_state=seed, optimum=lower)
            yield times, {"optimum at least": float(f"{lower:.8g}"), "gap %": round(100 * (cost / lower - 1), 4)}

    return cells(("blobs", "uniform", "exponential"), measure)


def kcenter(seeds: list[int]) -> Iterator[Row]:
    """k-center: iterations until f1 >= 0 at size k, against e k^2 n - e k (n - 1)."""
    return _maxima("k-center", seeds[0])


def ktmm(seeds: list[int]) -> Iterator[Row]:
    """k-tMM: iterations until f1 >= 0 at size k, against e k^2 n - e k (n - 1)."""
    return _maxima("k-tMM", seeds[0])


def kmedian(seeds: list[int]) -> Iterator[Row]:
    """k-median: iterations to the first size-k solution, and to 5/(1 - eps) = 10 times the certified optimum."""
    return _sums("k-median", seeds[0])


def kmeans(seeds: list[int]) -> Iterator[Row]:
    """k-means over the points: iterations to the first size-k solution, and to 25/(1 - eps)^2 = 100 times optimal."""
    return _sums("k-means", seeds[0])


def fair(seeds: list[int]) -> Iterator[Row]:
    """Fair k-median: iterations until all critical balls are met, against e k n ln(n/(n - k)) + 2 e k^2 n."""
    seed = seeds[0]

    def measure(kind: str, n: int, k: int) -> Iterator[tuple[HittingTimes, Row]]:
        rows = points(kind, n, seed, clusters=k if kind == "separated" else 10)
        posed = pose("fair k-median", rows, k)
        times = hitting_times(posed, target="balls", runs=RUNS, random_state=seed)
        yield times, {"balls": len(posed.ball_centers)}  # type: ignore[attr-defined]

    return cells(("blobs", "uniform", "separated"), measure)


def compare(seeds: list[int]) -> Iterator[Row]:
    """Six algorithms: iterations to the certified optimum of k-median, at most 2 000 000, 100 runs."""
    folder, seed = data_folder(), seeds[0]
    if folder is None:
        return
    sets = {
        "iris": (mssc_points(folder, "iris"), 3),
        "ruspini": (mssc_points(folder, "ruspini"), 4),
        "blobs": (points("blobs", 100, seed), 4),
        "uniform": (points("uniform", 100, seed), 4),
        "exponential": (points("exponential", 100, seed), 4),
    }
    for name, (rows, k) in sets.items():
        posed = pose("k-median", rows, k)
        cost, lower = certified_optimum(posed)
        for algorithm, mutation in ALGORITHMS:
            start = process_time()
            times = hitting_times(
                posed, algorithm, "optimum", RUNS, mutation=mutation, max_iter=BUDGET, random_state=seed, optimum=cost
            )
            yield {
                "instance": name,
                "n": times.n,
                "k": k,
                "optimum": float(f"{cost:.8g}"),
                "proved": bool(lower >= cost * (1 - 1e-9)),
                "algorithm": times.algorithm,
                "runs": len(times),
                "failed": times.failures,
                "mean of the others": whole(times.mean.value),
                "low": whole(times.mean.low),
                "high": whole(times.mean.high),
                "iterations per success": whole(times.expected),
                "mean |P|": round(float(times.mean_population.mean()), 2),
                "CPU s": round(process_time() - start, 2),
            }


def whole(value: float) -> int | str:
    """Return a count as a cell; nothing where no run, or only one, got there."""
    return round(value) if np.isfinite(value) else ""


SECTIONS: dict[str, Section] = {
    "kcenter": kcenter,
    "ktmm": ktmm,
    "kmedian": kmedian,
    "kmeans": kmeans,
    "fair": fair,
    "compare": compare,
}


def compile_everything() -> None:
    """Run everything once on a small instance."""
    for name in ("k-center", "k-tMM", "k-median", "k-means", "fair k-median"):
        posed = pose(name, points("blobs", 30), 2)
        hitting_times(posed, runs=1)
        certified_optimum(posed)
    for algorithm, mutation in ALGORITHMS:
        hitting_times(pose("k-median", points("blobs", 30), 2), algorithm, "size", 1, mutation=mutation)


def noted(name: str, section: Section) -> Section:
    """Return a section that notes its command, commit and CPU time in theory_commands.csv when it is through."""

    def with_note(seeds: list[int]) -> Iterator[Row]:
        start, commit = process_time(), _commit()
        yield from section(seeds)
        folder = Path(sys.argv[sys.argv.index("--csv") + 1]) if "--csv" in sys.argv else RESULTS
        path = folder / "theory_commands.csv"
        notes = {}
        if path.exists():
            with path.open(newline="") as file:
                notes = {row["section"]: row for row in csv.DictReader(file)}
        notes[name] = {
            "section": name,
            "command": f"python benchmarks/theory.py {name} --seeds {seeds[0]}",
            "commit": commit,
            "CPU s": str(round(process_time() - start)),
        }
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(notes[name]))
            writer.writeheader()
            writer.writerows(notes[key] for key in SECTIONS if key in notes)

    with_note.__doc__ = section.__doc__
    return with_note


def _commit() -> str:
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, cwd=Path(__file__).parent).stdout.strip()


if __name__ == "__main__":
    run_benchmark(
        "theory", __doc__, {name: noted(name, section) for name, section in SECTIONS.items()}, compile_everything
    )
