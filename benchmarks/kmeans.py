"""k-means against bkmeans, scikit-learn and faiss: cost and CPU time, with the figures that issue 5 asks for.

Run ``python benchmarks/kmeans.py [section ...] [--seeds 0 1 2] [--csv DIR] [--figure]``; without a section all of
them. Set ``OMP_NUM_THREADS=1``: the peers' CPU time is inflated otherwise. CPU seconds of one process, after fits that
compile everything. ``mssc``, ``gaps`` and ``large`` are `KMeans.fit` with default parameters, certificate included;
``equal`` is `KMeans(certify=False)` with the peer's CPU time as its limit, because no peer proves anything. Published
instances are read from ``CERTICLUST_DATA`` (see instances.py).
"""

from __future__ import annotations

import resource
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from unittest import mock

import bkmeans
import faiss
import numpy as np
from instances import FloatArray, data_folder, mssc_best_known, mssc_points
from scipy.spatial.distance import cdist
from sections import Row, Section, run_benchmark
from sklearn import cluster
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from certiclust import KMeans
from certiclust.baselines import kmeans as baselines

#: Offspring of a long run.
LONG = 4000


def fit(X: FloatArray, k: int, seed: int, limit: float | None = None, certify: bool = True) -> tuple[KMeans, float]:
    """Return a fit and its CPU seconds."""
    estimator = KMeans(k, random_state=seed, time_limit=limit, certify=certify)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a time limit that was reached
        start = process_time()
        estimator.fit(X)
        return estimator, process_time() - start


def cost_of(X: FloatArray, centers: FloatArray, k: int) -> float:
    """Return the cost of a peer's centres, which must be k."""
    if len(centers) != k:
        raise ValueError(f"the peer returned {len(centers)} centres, not {k}.")
    return float(cdist(X, centers, "sqeuclidean").min(axis=1).sum())


def breathing(X: FloatArray, k: int, seed: int, runs: int = 3) -> tuple[float, float]:
    """Return CPU seconds and best cost of `runs` runs of bkmeans; its first positional argument is not k."""
    start, best = process_time(), np.inf
    for run in range(runs):
        peer = bkmeans.BKMeans(n_clusters=k, random_state=runs * seed + run).fit(X)
        best = min(best, cost_of(X, peer.cluster_centers_, k))
    return process_time() - start, best


def lloyd(X: FloatArray, k: int, seed: int, n_init: int) -> tuple[float, float]:
    """Return CPU seconds and cost of scikit-learn's KMeans."""
    start = process_time()
    peer = cluster.KMeans(k, n_init=n_init, random_state=seed).fit(X)
    return process_time() - start, cost_of(X, peer.cluster_centers_, k)


def facebook(X: FloatArray, k: int, seed: int) -> tuple[float, float]:
    """Return CPU seconds and cost of faiss with 10 restarts, which works in float32."""
    start = process_time()
    peer = faiss.Kmeans(X.shape[1], k, niter=50, nredo=10, seed=seed, max_points_per_centroid=len(X))
    peer.train(np.ascontiguousarray(X, dtype=np.float32))
    spent = process_time() - start
    return spent, cost_of(X, np.asarray(peer.centroids, dtype=np.float64), k)


def compile_everything() -> None:
    """Fit small instances so that nothing is compiled in timed code."""
    fit(np.random.default_rng(0).random((300, 2)), 5, 0)
    fit(np.random.default_rng(0).random((300, 3)), 25, 0)
    fit(np.random.default_rng(0).random((300, 5)), 25, 0)
    fit(np.random.default_rng(0).random((2500, 2)), 3, 0, limit=2.0)  # the bound by blocks


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Let time limits count CPU seconds: on a shared machine wall time would give us less than the peer got."""
    with ExitStack() as stack:
        for name in ("certiclust.solver.task", "certiclust.estimators._base"):
            stack.enter_context(mock.patch.object(sys.modules[name], "perf_counter", process_time))
        yield


def mssc(seeds: list[int]) -> Iterator[Row]:
    """Best known values: within 1e-6 by the best seed and 90 % of the runs, in 5 s (k <= 20) or 10 s."""
    folder = data_folder()
    if folder is None:
        return
    reached: list[bool] = []
    for name, k, value, status in mssc_best_known(folder):
        X = mssc_points(folder, name)
        fits = [fit(X, k, seed) for seed in seeds]
        excess = [est.cost_ / value - 1 for est, _ in fits]
        hits = [e <= 1e-6 for e in excess]
        reached += hits
        seconds = max(s for _, s in fits)
        yield {
            "instance": name,
            "k": k,
            "status": status,
            "best excess": f"{min(excess):.2e}",
            "worst excess": f"{max(excess):.2e}",
            "hits": f"{sum(hits)}/{len(hits)}",
            "offspring": max(est.n_iter_ for est, _ in fits),
            "most CPU s": round(seconds, 2),
            "pass": any(hits) and seconds <= (5 if k <= 20 else 10),
        }
    yield {"instance": f"all: {sum(reached)} of {len(reached)} runs", "pass": sum(reached) >= 0.9 * len(reached)}


def gaussians(count: int, columns: int, spread: float, number: int) -> FloatArray:
    """Return 10 000 points of `count` Gaussians of variance 1 whose means have variance `spread` squared."""
    rng = np.random.default_rng(number)
    middles = rng.normal(size=(count, columns)) * spread
    return np.asarray(middles[rng.integers(count, size=10_000)] + rng.normal(size=(10_000, columns)))


def hard_sets(numbers: Sequence[int] = (0, 1, 2)) -> Iterator[tuple[str, FloatArray, float]]:
    """Yield the sets of issue 5 for k = 50, and how far below sklearn n_init=10 the cost should be for every seed.

    The issue leaves open how many Gaussians there are in 8-D: 64 here, and 100. With 30 nothing is asked: section
    ``best`` shows how little there is between sklearn and the best that any tool finds in a long run.
    """
    yield "digits", np.asarray(load_digits().data, dtype=np.float64), 0.008
    yield "30 Gaussians 8-D", gaussians(30, 8, 3.0, 0), 0.0
    yield "100 Gaussians 8-D", gaussians(100, 8, 3.0, 0), 0.008
    for number in numbers:
        yield f"64 Gaussians 8-D #{number}", gaussians(64, 8, 3.0, number), 0.008
        yield f"uniform 2-D #{number}", np.random.default_rng(number).random((10_000, 2)), 0.008
        yield f"40 Gaussians 2-D #{number}", gaussians(40, 2, 6.0, number), 0.008


def equal(seeds: list[int]) -> Iterator[Row]:
    """K = 50 at a peer's CPU: below bkmeans best of 3 and faiss; 0.8 % below sklearn n_init=10."""
    k = 50
    for name, X, asked in hard_sets():
        for seed in seeds:
            peers = {"bkmeans x3": breathing(X, k, seed), "sklearn x10": lloyd(X, k, seed, 10)}
            peers["faiss x10"] = facebook(X, k, seed)
            for peer, (seconds, cost) in peers.items():
                with cpu_clock():
                    est, spent = fit(X, k, seed, limit=0.95 * seconds, certify=False)
                below, bar = 1 - est.cost_ / cost, asked if peer == "sklearn x10" else 0.0
                yield {
                    "instance": name,
                    "seed": seed,
                    "peer": peer,
                    "peer CPU s": round(seconds, 3),
                    "CPU s": round(spent, 3),
                    "peer cost": f"{cost:.8g}",
                    "cost": f"{est.cost_:.8g}",
                    "below %": round(100 * below, 4),
                    "asked %": 100 * bar,
                    "pass": bool(below > 0 and below >= bar and spent <= seconds),
                }


def best(seeds: list[int]) -> Iterator[Row]:
    """Best known costs of the hard sets, k = 50, from long runs of all tools: what is left below sklearn n_init=10."""
    for name, X, _ in hard_sets((0,)):
        found: dict[str, float] = {}
        for seed in seeds:
            est = KMeans(50, random_state=seed, certify=False, max_iter=LONG).fit(X)
            found["certiclust"] = min(found.get("certiclust", np.inf), est.cost_)
            found["bkmeans x5"] = min(found.get("bkmeans x5", np.inf), breathing(X, 50, seed, 5)[1])
            found["sklearn x50"] = min(found.get("sklearn x50", np.inf), lloyd(X, 50, 1000 + seed, 50)[1])
        least = min(found.values())
        peers = [lloyd(X, 50, seed, 10)[1] for seed in seeds]
        room = [100 * (1 - least / cost) for cost in peers]
        yield {
            "instance": name,
            **{f"{tool} above best %": round(100 * (cost / least - 1), 4) for tool, cost in found.items()},
            "best cost": f"{least:.8g}",
            "best below sklearn x10 %": " ".join(f"{value:.2f}" for value in room),
            "0.8 % can be seen to be there": f"{sum(value >= 0.8 for value in room)}/{len(room)}",
        }


def textbook(X: FloatArray, k: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return CPU seconds and cost of the textbook algorithms in `certiclust.baselines`."""
    rng, weights = np.random.default_rng(seed), np.ones(len(X))

    def drawn() -> FloatArray:
        return baselines.kmeans_plus_plus(X, weights, k, rng)

    runs: dict[str, Callable[[], FloatArray]] = {
        "Lloyd": lambda: baselines.lloyd(X, weights, X[rng.choice(len(X), k, replace=False)]),
        "k-means++": lambda: baselines.lloyd(X, weights, drawn()),
        "k-means++ with local search": lambda: baselines.lloyd(
            X, weights, baselines.local_search_plus_plus(X, weights, drawn(), 2 * k, rng)
        ),
        "swap search": lambda: baselines.lloyd(
            X, weights, X[baselines.swap_search(X, weights, np.sort(rng.choice(len(X), k, replace=False)), 1e-3)]
        ),
    }
    found = {}
    for name, run in runs.items():
        start = process_time()
        centers = run()
        found[name] = process_time() - start, cost_of(X, centers, k)
    return found


def baseline(seeds: list[int]) -> Iterator[Row]:
    """Textbook algorithms once each, and the default fit with its certificate."""
    sets = {
        "iris": (np.asarray(load_iris().data), 10),
        "digits": (np.asarray(load_digits().data, dtype=np.float64), 20),
    }
    for name, (X, k) in {**sets, "uniform 2-D": (np.random.default_rng(0).random((1000, 2)), 50)}.items():
        for seed in seeds:
            est, seconds = fit(X, k, seed)
            for tool, (spent, cost) in textbook(X, k, seed).items():
                yield {
                    "instance": name,
                    "k": k,
                    "seed": seed,
                    "baseline": tool,
                    "baseline CPU s": round(spent, 3),
                    "CPU s": round(seconds, 3),
                    "baseline above %": round(100 * (cost / est.cost_ - 1), 3),
                    "certified gap %": round(100 * est.certificate_.gap, 3),
                    "pass": bool(est.cost_ <= cost * (1 + 1e-9)),
                }


def million(kind: str, seed: int) -> FloatArray:
    """Return 1 000 000 x 10 points: one Gaussian, 20 overlapping ones, or 20 far ones of very different sizes."""
    rng = np.random.default_rng(100 + seed)
    if kind == "gaussian":
        return rng.normal(size=(1_000_000, 10))
    middles = rng.normal(size=(20, 10)) * (1.5 if kind == "overlapping" else 6.0)
    shares = np.ones(20) if kind == "overlapping" else 0.6 ** np.arange(20)
    which = rng.choice(20, 1_000_000, p=shares / shares.sum())
    return np.asarray(middles[which] + rng.normal(size=(1_000_000, 10)))


def peak() -> float:
    """Return the most memory that this process ever had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "linux" else 2**30)


def resident() -> float:
    """Return the memory that this process has now, in GiB; where Linux does not tell, the most it ever had."""
    sizes = Path("/proc/self/statm")
    return int(sizes.read_text().split()[1]) * resource.getpagesize() / 2**30 if sizes.exists() else peak()


def large_fit(kind: str, seed: int) -> Row:
    """Fit a million points; called in a process of its own, whose peak memory is then the fit's."""
    compile_everything()
    X = million(kind, seed)
    before = resident()
    est, seconds = fit(X, 20, seed)
    added = peak() - before
    spent, cost = lloyd(X, 20, seed, 1)
    most = 1.0005 if kind == "gaussian" else 1.0
    ratio = est.cost_ / cost
    return {
        "instance": kind,
        "seed": seed,
        "CPU s": round(seconds, 2),
        "sklearn x1 s": round(spent, 2),
        "CPU ratio": round(seconds / spent, 2),
        "cost ratio": f"{ratio:.8f}",
        "at most added GiB": round(added, 2),
        "pass": bool(seconds <= 1.5 * spent and (ratio <= most if kind == "gaussian" else ratio < most) and added <= 1),
    }


def large(seeds: list[int]) -> Iterator[Row]:
    """N = 1 000 000 x 10, k = 20: CPU <= 1.5 of one sklearn run, cost <= 1.0005 (one Gaussian) or below its cost."""
    for kind in ("gaussian", "overlapping", "skewed"):
        for seed in seeds:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                yield pool.submit(large_fit, kind, seed).result()


def gap_sets() -> Iterator[tuple[str, FloatArray, int, float]]:
    """Yield sets with k and the largest certified gap in per cent that issue 5 allows."""
    yield "iris", np.asarray(load_iris().data), 3, 0.2
    yield "iris", np.asarray(load_iris().data), 10, 1.5
    folder = data_folder()
    if folder is not None:
        for name in ("ruspini", "german", "gr202"):
            for k in range(2, 11):
                yield name, mssc_points(folder, name), k, 2.0
    for number in range(3):
        uniform = np.random.default_rng(number).random((1000, 2))
        yield f"uniform 2-D #{number}", uniform, 10, 0.3
        yield f"uniform 2-D #{number}", uniform, 50, 2.5
    yield "wine", np.asarray(load_wine().data), 3, 2.0
    yield "digits", np.asarray(load_digits().data, dtype=np.float64), 10, 4.0
    middles = np.random.default_rng(1).normal(size=(5, 10)) * 10
    blobs = middles[np.arange(3000) % 5] + np.random.default_rng(2).normal(size=(3000, 10))
    yield "blobs 10-D", blobs, 5, 0.05


def gaps(seeds: list[int]) -> Iterator[Row]:
    """Certified gaps of the default fit; a fit, bound included, takes at most 30 s; every certificate is verified."""
    for name, X, k, most in gap_sets():
        fits = [fit(X, k, seed) for seed in seeds]
        start = process_time()
        fits[0][0].certificate_.verify(X)
        checked = process_time() - start
        worst = max(100 * est.certificate_.gap for est, _ in fits)
        seconds = max(s for _, s in fits)
        yield {
            "instance": name,
            "k": k,
            "gap %": f"{worst:.3g}",
            "allowed %": most,
            "most CPU s": round(seconds, 2),
            "verify CPU s": round(checked, 2),
            "pass": bool(worst <= most and seconds <= 30),
        }


SECTIONS: dict[str, Section] = {
    "mssc": mssc,
    "equal": equal,
    "best": best,
    "baselines": baseline,
    "gaps": gaps,
    "large": large,
}


def figure(folder: Path, seed: int) -> None:
    """Draw cost against CPU time on the hard sets: ours by time limit, the peers by number of runs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    canvas, axes = plt.subplots(2, 3, figsize=(15, 8), layout="constrained")
    for axis, (name, X, _) in zip(axes.flat, hard_sets((0,)), strict=True):
        curves: dict[str, list[tuple[float, float]]] = {"certiclust": [], "bkmeans": [], "sklearn": []}
        for limit in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2):
            with cpu_clock():
                est, spent = fit(X, 50, seed, limit=limit, certify=False)
            curves["certiclust"].append((spent, est.cost_))
        curves["bkmeans"] = [breathing(X, 50, seed, runs) for runs in (1, 3, 6)]
        curves["sklearn"] = [lloyd(X, 50, seed, runs) for runs in (1, 10, 100)]
        least = min(cost for curve in curves.values() for _, cost in curve)
        for label, curve in curves.items():
            seconds, costs = np.array(curve).T
            axis.plot(seconds, 100 * (costs / least - 1), marker=".", label=label)
        axis.set(title=name, xlabel="CPU seconds", ylabel="cost above the best found, %", xscale="log")
        axis.grid(alpha=0.3)
        axis.legend()
    folder.mkdir(parents=True, exist_ok=True)
    canvas.savefig(folder / "kmeans_cost_vs_cpu.png", dpi=110)


if __name__ == "__main__":
    run_benchmark("kmeans", __doc__, SECTIONS, compile_everything, figure)
