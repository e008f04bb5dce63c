"""How fast the compiled Algorithm 1 is: against a plain NumPy loop, and how its cost grows with n and k.

Run ``python benchmarks/gsemo_speed.py``. One process, CPU seconds, kernels compiled before anything is timed. The
NumPy loop is timed over fewer iterations and from the same start, P = {0}; its rate hardly changes later. Both run
Algorithm 1 with the same law (tests/evolution), so iterations per second are comparable.
"""

from __future__ import annotations

import csv
from pathlib import Path
from time import process_time

import numpy as np
from numpy_gsemo import max_f1, numpy_gsemo, sum_f1
from rich.console import Console
from rich.table import Table

from certiclust.evolution import Run, gsemo
from certiclust.problems import FairKMedianProblem, KCenterProblem, KMedianProblem, Problem
from certiclust.space import Metric, Space, build_space

RESULTS = Path(__file__).parent / "results"
SEED = 0


def uniform_space(n: int) -> Space:
    """Return n uniform points in the unit square, with their distance matrix."""
    points = np.random.default_rng(SEED).random((n, 2))
    return build_space(points, None, Metric.of("euclidean"), np.ones(n))


def timed(problem: Problem, iterations: int) -> tuple[Run, float]:
    """Return a run and its CPU seconds."""
    start = process_time()
    run = gsemo(problem, iterations, SEED)
    return run, process_time() - start


def loop_rate(problem: Problem, iterations: int) -> float:
    """Return the iterations per second of the NumPy loop."""
    matrix = problem.space.matrix
    assert matrix is not None
    if isinstance(problem, FairKMedianProblem):
        balls = problem.groups[None, :] == np.arange(len(problem.ball_centers))[:, None]
        f1 = sum_f1(matrix, balls)
    else:
        f1 = max_f1(matrix) if isinstance(problem, KCenterProblem) else sum_f1(matrix)
    start = process_time()
    numpy_gsemo(f1, problem.space.m, problem.k, iterations, SEED)
    return iterations / (process_time() - start)


def against_numpy() -> list[dict[str, object]]:
    """Time both on the instances of the issue."""
    small, large = uniform_space(1000), uniform_space(4000)
    cases = [
        (KMedianProblem(small, 20), 10**7, 20_000, 2000),
        (KMedianProblem(large, 50), 10**6, 5_000, 1000),
        (KCenterProblem(small, 20), 10**6, 20_000, 50),
        (FairKMedianProblem(small, 20, beta=1.0), 10**7, 20_000, 500),
    ]
    rows: list[dict[str, object]] = []
    for problem, iterations, loop_iterations, wanted in cases:
        timed(problem, 1000)  # compile
        loop = loop_rate(problem, loop_iterations)
        run, seconds = timed(problem, iterations)
        rows.append(
            {
                "problem": problem.name,
                "n": problem.space.n,
                "k": problem.k,
                "iterations": iterations,
                "evaluated": run.evaluations,
                "mean |P|": round(run.mean_population, 3),
                "CPU s": round(seconds, 3),
                "iterations/s": round(iterations / seconds),
                "NumPy loop it/s": round(loop),
                "ratio": round(iterations / seconds / loop),
                "wanted": wanted,
            }
        )
    return rows


def growth() -> list[dict[str, object]]:
    """Time one evaluated offspring while n and then k grows; GSEMO from its start, so insertions are included."""
    rows: list[dict[str, object]] = []
    for kind in (KMedianProblem, KCenterProblem):
        timed(kind(uniform_space(100), 3), 1000)
        for n, k in ((1000, 20), (2000, 20), (4000, 20), (8000, 20), (4000, 10), (4000, 40), (4000, 160)):
            problem = kind(uniform_space(n), k)
            warm = gsemo(problem, 20 * n, SEED)
            run, seconds = timed(problem, 500 * n)
            base, first = timed(problem, 20 * n)
            evaluated = run.evaluations - base.evaluations
            rows.append(
                {
                    "problem": problem.name,
                    "n": n,
                    "k": k,
                    "iterations": run.n_iter - warm.n_iter,
                    "evaluated": evaluated,
                    "microseconds per evaluation": round((seconds - first) / evaluated * 1e6, 2),
                    "ns per evaluation and point": round((seconds - first) / evaluated / n * 1e9, 2),
                }
            )
    return rows


def show(title: str, rows: list[dict[str, object]], name: str) -> None:
    """Print a table and save it as CSV."""
    table = Table(title=title)
    for column in rows[0]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    Console(width=160).print(table)
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    show("Algorithm 1, compiled against a NumPy loop (uniform 2-D, seed 0)", against_numpy(), "gsemo_speed")
    show("Cost of one evaluated offspring", growth(), "gsemo_growth")
