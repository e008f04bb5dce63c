"""How much every k costs: `sweep` up to k = 20 against one fit at k = 20, for the five problems.

CPU seconds of one process, compiled before. `ratio` is the CPU of the sweep over that of the fit, `above` how much the
sweep's cost at k = 20 exceeds the fit's, `monotone` whether no size costs more than a smaller one. A row passes if the
ratio is at most 3 and the costs are monotone; those of fair k-median may rise with k.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sections import Row, run_benchmark
from sklearn.datasets import make_blobs

from certiclust import KTMM, FairKMedian, Front, KCenter, KMeans, KMedian, sweep

N, K_MAX = 2000, 20
DATA: dict[str, Callable[[int], Any]] = {
    "blobs": lambda seed: make_blobs(N, 2, centers=12, cluster_std=1.5, random_state=seed)[0],
    "uniform": lambda seed: np.random.default_rng(seed).random((N, 2)),
}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `work` returns, and its CPU seconds."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = work()
    return found, time.process_time() - start


def compared(estimator: type, seeds: list[int]) -> Iterator[Row]:
    """Sweep and fit on every data set."""
    for name, draw in DATA.items():
        for seed in seeds:
            X = draw(seed)
            fit, single = timed(lambda X=X, seed=seed: estimator(K_MAX, random_state=seed).fit(X))
            front, every = timed(lambda X=X, seed=seed: sweep(estimator(random_state=seed), X, K_MAX))
            yield row(name, seed, fit, single, front, every)


def row(name: str, seed: int, fit: Any, single: float, front: Front, every: float) -> Row:
    """Return the figures of one comparison."""
    monotone = bool((np.diff(front.costs) <= 0).all())
    gaps = np.where(np.isfinite(front.gaps), front.gaps, np.nan)
    return {
        "data": name,
        "seed": seed,
        "fit s": round(single, 2),
        "sweep s": round(every, 2),
        "ratio": round(every / single, 2),
        "fit gap %": round(100 * fit.certificate_.gap, 3),
        "gap at 20 %": round(100 * float(gaps[-1]), 3),
        "mean gap %": round(100 * float(np.nanmean(gaps)), 3),
        "largest gap %": round(100 * float(np.nanmax(gaps)), 3),
        "optimal": int(front.optimal.sum()),
        "above %": round(100 * (float(front.costs[-1]) / fit.cost_ - 1), 3),
        "suggested": front.suggest().k,
        "monotone": monotone,
        "pass": every <= 3 * single and (monotone or isinstance(fit, FairKMedian)),
    }


def kmedian(seeds: list[int]) -> Iterator[Row]:
    """k-median, n = 2000, k = 1 to 20."""
    return compared(KMedian, seeds)


def kmeans(seeds: list[int]) -> Iterator[Row]:
    """k-means, n = 2000, k = 1 to 20."""
    return compared(KMeans, seeds)


def kcenter(seeds: list[int]) -> Iterator[Row]:
    """k-center, n = 2000, k = 1 to 20."""
    return compared(KCenter, seeds)


def ktmm(seeds: list[int]) -> Iterator[Row]:
    """k-tMM, n = 2000, k = 1 to 20."""
    return compared(KTMM, seeds)


def fair(seeds: list[int]) -> Iterator[Row]:
    """Fair k-median, n = 2000, k = 1 to 20."""
    return compared(FairKMedian, seeds)


def compile_everything() -> None:
    """Run every problem once, small, in both ways."""
    X = np.random.default_rng(0).random((400, 2))
    for estimator in (KMedian, KMeans, KCenter, KTMM, FairKMedian):
        timed(lambda estimator=estimator: estimator(20, random_state=0, time_limit=2).fit(X))
        timed(lambda estimator=estimator: sweep(estimator(random_state=0, time_limit=2), X, 20))


if __name__ == "__main__":
    sections = {"kmedian": kmedian, "kmeans": kmeans, "kcenter": kcenter, "ktmm": ktmm, "fair": fair}
    run_benchmark("sweep", __doc__, sections, compile_everything)
