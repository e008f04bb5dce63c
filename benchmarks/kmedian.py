"""k-median against FasterPAM: cost, proof and CPU time, with the figures that issue 3 asks for.

Run ``python benchmarks/kmedian.py [section ...] [--seeds 0 1 2] [--csv DIR] [--figure]``; without a section all of
them. Set ``OMP_NUM_THREADS=1``. CPU seconds of one process, after fits that compile everything; ours are those of
`KMedian.fit` with default parameters and its certificate, `verify` is timed apart. FasterPAM (the ``kmedoids``
package) gets the distance matrix for nothing, one thread, and random starts: 20 of them, and as many as fit into our
CPU time. Published instances are read from ``CERTICLUST_DATA`` (see instances.py).
"""

from __future__ import annotations

import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from unittest import mock

import kmedoids
import numpy as np
from instances import (
    FloatArray,
    Published,
    data_folder,
    euclidean,
    orlib_matrix,
    orlib_pmedian,
    synthetic,
    tsplib_matrix,
    tsplib_pmedian,
)
from sections import Row, Section, run_benchmark
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from certiclust import KMedian

KINDS = ("uniform", "clustered")
TSPLIB = ("rl1304", "fl1400", "pcb3038")


@dataclass(frozen=True)
class Fit:
    """One fit of ours: the estimator, CPU and wall seconds, and the CPU seconds of `verify` (raises if refuted)."""

    estimator: KMedian
    seconds: float
    wall: float
    verify: float

    @property
    def cost(self) -> float:
        """Cost of the solution."""
        return float(self.estimator.cost_)

    @property
    def gap(self) -> float:
        """Certified relative gap in per cent."""
        return 100 * float(self.estimator.certificate_.gap)

    @property
    def optimal(self) -> bool:
        """Whether optimality is proved."""
        return bool(self.estimator.certificate_.optimal)


def fit(data: FloatArray, k: int, seed: int, metric: str, time_limit: float | None = None) -> Fit:
    """Fit with default parameters and verify the certificate."""
    estimator = KMedian(k, metric=metric, random_state=seed, time_limit=time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a time limit that was reached
        wall, cpu = perf_counter(), process_time()
        estimator.fit(data)
        cpu, wall = process_time() - cpu, perf_counter() - wall
    start = process_time()
    estimator.certificate_.verify(data)
    return Fit(estimator, cpu, wall, process_time() - start)


def fasterpam(
    matrix: FloatArray, k: int, seed: int, starts: int | None = None, seconds: float | None = None
) -> list[tuple[float, float]]:
    """Return CPU time and best cost after every start: `starts` of them, or as many as end within `seconds`."""
    best, path = np.inf, []
    begin = process_time()
    while starts is None or len(path) < starts:
        run = kmedoids.fasterpam(matrix, k, random_state=1000 * seed + len(path), n_cpu=1)
        spent = process_time() - begin
        if seconds is not None and spent > seconds and path:
            break
        best = min(best, float(run.loss))
        path.append((spent, best))
    return path


def compile_everything() -> None:
    """Fit small instances of every kind that is timed: integer and real, with and without a matrix, with branching."""
    for kind in KINDS:
        points = synthetic(kind, 300, 0)
        for k in (5, 20):
            fit(points, k, 0, "euclidean")
            fit(np.floor(50 * euclidean(points)), k, 0, "precomputed")
        with config_context(working_memory=0):
            fit(points, 5, 0, "euclidean")
    fasterpam(euclidean(synthetic("uniform", 100, 0)), 5, 0, starts=1)


def against(matrix: FloatArray, k: int, seed: int, ours: Fit) -> tuple[Row, float, float]:
    """Return FasterPAM's columns, and cost and CPU seconds of its 20 starts."""
    spent, best = fasterpam(matrix, k, seed, starts=20)[-1]
    equal = fasterpam(matrix, k, seed, seconds=ours.seconds)
    row: Row = {
        "CPU s": round(ours.seconds, 3),
        "verify s": round(ours.verify, 3),
        "FasterPAM x20 s": round(spent, 3),
        "CPU ratio": round(ours.seconds / spent, 2),
        "x20 / our cost": round(best / ours.cost, 6),
        "equal CPU starts": len(equal),
        "equal CPU / our cost": round(equal[-1][1] / ours.cost, 6),
    }
    return row, best, spent


def proof(ours: Fit) -> Row:
    """Return the columns on what was proved."""
    return {"gap %": round(ours.gap, 5), "optimal": ours.optimal}


def orlib(seeds: list[int]) -> Iterator[Row]:
    """OR-Library: every optimum proved, never worse than FasterPAM x20, all together in 15 s."""
    folder = data_folder()
    if folder is None:
        return
    for seed in seeds:
        total = peers = checks = 0.0
        good = True
        for instance in orlib_pmedian(folder):
            matrix = orlib_matrix(folder, instance.name)
            ours = fit(matrix, instance.p, seed, "precomputed")
            columns, best, spent = against(matrix, instance.p, seed, ours)
            passed = ours.optimal and ours.cost == instance.value and ours.cost <= best
            total, peers, checks, good = total + ours.seconds, peers + spent, checks + ours.verify, good and passed
            head: Row = {"instance": instance.name, "n": instance.n, "k": instance.p, "seed": seed}
            excess: Row = {"over published %": over(ours, instance)}
            yield {**head, "cost": ours.cost, **excess, **proof(ours), **columns, "pass": passed}
        yield {
            "instance": "all",
            "seed": seed,
            "CPU s": round(total, 2),
            "verify s": round(checks, 2),
            "FasterPAM x20 s": round(peers, 2),
            "CPU ratio": round(total / peers, 2),
            "pass": good and total <= 15,
        }


def over(ours: Fit, instance: Published) -> float:
    """Return by how many per cent our cost exceeds the published value."""
    return round(100 * (ours.cost / instance.value - 1), 5)


def tsplib_rows(seeds: list[int], smallest: int, largest: int, cost: float, gap: float, cpu: bool) -> Iterator[Row]:
    """TSPLIB with distances rounded down, p in a range: cost and gap within per cents, `cpu` within FasterPAM x20."""
    folder = data_folder()
    if folder is None:
        return
    for instance in tsplib_pmedian(folder):
        if instance.name not in TSPLIB or not smallest <= instance.p <= largest:
            continue
        matrix = tsplib_matrix(folder, instance.name)
        for seed in seeds:
            ours = fit(matrix, instance.p, seed, "precomputed")
            columns, _, spent = against(matrix, instance.p, seed, ours)
            passed = over(ours, instance) <= cost and ours.gap <= gap and (not cpu or ours.seconds <= spent)
            head: Row = {"instance": instance.name, "n": instance.n, "k": instance.p, "seed": seed}
            excess: Row = {"over published %": over(ours, instance)}
            yield {**head, "cost": ours.cost, **excess, **proof(ours), **columns, "pass": passed}


def tsplib(seeds: list[int]) -> Iterator[Row]:
    """TSPLIB, p <= 100: cost within 0.02 % of the published value, gap <= 0.5 %, CPU <= FasterPAM x20."""
    return tsplib_rows(seeds, 5, 100, 0.02, 0.5, cpu=True)


def tsplib500(seeds: list[int]) -> Iterator[Row]:
    """TSPLIB, p = 200..500: cost within 0.1 %, gap <= 1 %."""
    return tsplib_rows(seeds, 101, 500, 0.1, 1.0, cpu=False)


def points_rows(seeds: list[int], n: int, passes: Callable[[Fit], bool]) -> Iterator[Row]:
    """Uniform and clustered points; the matrix is computed in our time."""
    for kind in KINDS:
        for k in (10, 50, 100):
            for seed in seeds:
                points = synthetic(kind, n, seed)
                ours = fit(points, k, seed, "euclidean")
                columns, _, _ = against(euclidean(points), k, seed, ours)
                head: Row = {"instance": kind, "n": n, "k": k, "seed": seed, "cost": ours.cost}
                yield {**head, **proof(ours), **columns, "pass": passes(ours)}


def synthetic1000(seeds: list[int]) -> Iterator[Row]:
    """Points, n = 1000: proved optimal in 3 s each."""
    return points_rows(seeds, 1000, lambda ours: ours.optimal and ours.seconds <= 3)


def n5000(seeds: list[int]) -> Iterator[Row]:
    """Points, n = 5000: gap <= 0.3 % in 20 s."""
    return points_rows(seeds, 5000, lambda ours: ours.gap <= 0.3 and ours.seconds <= 20)


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Let time limits count CPU seconds: on a shared machine wall time would give us less than the peer got."""
    places = ("certiclust.solver.task.perf_counter", "certiclust.estimators._base.perf_counter")
    with ExitStack() as stack:
        for place in places:
            module, name = place.rsplit(".", 1)
            stack.enter_context(mock.patch.object(sys.modules[module], name, process_time))
        yield


def within(points: FloatArray, k: int, seed: int, seconds: float) -> Fit | None:
    """Return the longest fit found within `seconds` of CPU, None if even the shortest takes more.

    The last checks come after the time limit, so it is corrected by what was measured.
    """
    limit, best = 0.95 * seconds, None
    for _ in range(5):
        with cpu_clock():
            ours = fit(points, k, seed, "euclidean", time_limit=limit)
        if ours.seconds <= seconds and (best is None or ours.seconds > best.seconds):
            best = ours
        if 0.95 * seconds <= ours.seconds <= seconds or (ours.optimal and best is ours):
            break
        limit = max(1e-3, limit + 0.97 * seconds - ours.seconds)
    return best


def equal(seeds: list[int]) -> Iterator[Row]:
    """At the CPU time of FasterPAM x5: cost no higher than its best, on 90 % of the rows."""
    won: list[bool] = []
    for n in (1000, 5000):
        for kind in KINDS:
            for k in (10, 50, 100):
                for seed in seeds:
                    points = synthetic(kind, n, seed)
                    spent, best = fasterpam(euclidean(points), k, seed, starts=5)[-1]
                    ours = within(points, k, seed, spent)
                    won.append(ours is not None and ours.cost <= best * (1 + 1e-9))
                    row: Row = {"instance": kind, "n": n, "k": k, "seed": seed, "FasterPAM x5 s": round(spent, 3)}
                    if ours is not None:
                        row |= {"CPU s": round(ours.seconds, 3), "x5 / our cost": round(best / ours.cost, 6)}
                        row |= proof(ours)
                    yield {**row, "pass": won[-1]}
    yield {"instance": f"all: {sum(won)} of {len(won)}", "pass": sum(won) >= 0.9 * len(won)}


def large_fit(kind: str, seed: int) -> Row:
    """Fit 50 000 points without a matrix; called in a process of its own, whose peak memory is then the fit's."""
    n, k = 50_000, 200
    compile_everything()
    ours = fit(synthetic(kind, n, seed), k, seed, "euclidean")
    scale = 2**20 if sys.platform == "linux" else 2**30
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
    return {
        "instance": kind,
        "n": n,
        "k": k,
        "seed": seed,
        "cost": round(ours.cost, 4),
        "gap %": round(ours.gap, 4),
        "CPU s": round(ours.seconds, 1),
        "wall s": round(ours.wall, 1),
        "verify s": round(ours.verify, 1),
        "peak GiB (with verify)": round(peak, 2),
        "pass": ours.gap <= 3 and ours.seconds <= 120 and peak <= 2,
    }


def large(seeds: list[int]) -> Iterator[Row]:
    """Points without a matrix, n = 50 000, k = 200: gap <= 3 % in 120 s and 2 GB."""
    for kind in KINDS:
        for seed in seeds:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                yield pool.submit(large_fit, kind, seed).result()


def limits(seeds: list[int]) -> Iterator[Row]:
    """Time limits are kept within 20 % + 0.1 s of wall time, fit as a whole, and every result is verified."""
    for n, k in ((1000, 10), (5000, 50), (20_000, 100)):
        points = synthetic("uniform", n, seeds[0])
        for limit in (0.01, 0.1, 1.0, 3.0, 10.0):
            ours = fit(points, k, seeds[0], "euclidean", time_limit=limit)
            solver = float(ours.estimator.history_["time"][-1])
            yield {
                "instance": "uniform",
                "n": n,
                "k": k,
                "limit s": limit,
                "solver s": round(solver, 3),
                "fit s": round(ours.wall, 3),
                "cost": round(ours.cost, 4),
                **proof(ours),
                "pass": ours.wall <= 1.2 * limit + 0.1,
            }


SECTIONS: dict[str, Section] = {
    "orlib": orlib,
    "tsplib": tsplib,
    "tsplib500": tsplib500,
    "synthetic": synthetic1000,
    "n5000": n5000,
    "equal": equal,
    "large": large,
    "limits": limits,
}


def curves(points: FloatArray | None, matrix: FloatArray, k: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return (CPU seconds, cost) of our run and of FasterPAM's best so far, over our time or at least 20 starts.

    The record of a run is in wall time; it is scaled by the CPU time of the whole fit.
    """
    ours = fit(matrix if points is None else points, k, seed, "precomputed" if points is None else "euclidean")
    record = ours.estimator.history_
    times = record["time"] * (ours.seconds / ours.wall) + ours.seconds * (1 - record["time"][-1] / ours.wall)
    peer = fasterpam(matrix, k, seed, starts=20)
    if peer[-1][0] < ours.seconds:
        peer = fasterpam(matrix, k, seed, seconds=ours.seconds)
    return np.column_stack([times, record["upper"]]), np.array(peer)


def figure(folder: Path, seed: int) -> None:
    """Draw cost against CPU time on two instances."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    points = synthetic("uniform", 5000, seed)
    cases: list[tuple[str, FloatArray | None, FloatArray, int]] = [
        ("uniform, n = 5000, k = 50", points, euclidean(points), 50)
    ]
    data = data_folder()
    if data is not None:
        cases.append(("pcb3038, p = 100", None, tsplib_matrix(data, "pcb3038"), 100))
    else:
        points = synthetic("clustered", 3000, seed)
        cases.append(("clustered, n = 3000, k = 100", points, euclidean(points), 100))
    canvas, axes = plt.subplots(1, len(cases), figsize=(11, 4.2), layout="constrained")
    for axis, (title, rows, matrix, k) in zip(axes, cases, strict=True):
        ours, peer = curves(rows, matrix, k, seed)
        least = min(ours[-1, 1], peer[-1, 1])
        for curve, label in ((ours, "certiclust"), (peer, "FasterPAM, best of the starts so far")):
            axis.step(curve[:, 0], 100 * (curve[:, 1] / least - 1), where="post", marker=".", label=label)
        axis.set(title=title, xlabel="CPU seconds", ylabel="cost above the best found, %", xscale="log")
        axis.set_yscale("symlog", linthresh=0.01)
        axis.set_ylim(bottom=-0.001)
        axis.grid(alpha=0.3)
        axis.legend()
    folder.mkdir(parents=True, exist_ok=True)
    canvas.savefig(folder / "kmedian_cost_vs_cpu.png", dpi=130)


if __name__ == "__main__":
    run_benchmark("kmedian", __doc__, SECTIONS, compile_everything, figure)
