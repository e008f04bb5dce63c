"""How long it takes to start: the import, a cold first fit with compilation, and a fit in a second process.

Run ``python benchmarks/startup.py``. Every figure comes from a fresh process; the cold ones use an empty numba cache
in a temporary directory. Wall-clock and CPU seconds, both, because the machine may be shared.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from sections import RESULTS, Row, show

IMPORT = """
import json, sys, time
import sklearn.base, sklearn.cluster, sklearn.metrics
before = set(sys.modules)
start, cpu = time.perf_counter(), time.process_time()
from certiclust import *  # names are imported when first asked for: all of them
wall, cpu = time.perf_counter() - start, time.process_time() - cpu
heavy = [name for name in ("numba", "matplotlib", "typer", "rich") if name in set(sys.modules) - before]
print(json.dumps({"wall": wall, "cpu": cpu, "heavy": heavy}))
"""

FIT = """
import json, time
import numpy as np
import sklearn.cluster
from certiclust import {estimator}
X = np.random.default_rng(0).random((500, 2))
start, cpu = time.perf_counter(), time.process_time()
{estimator}(5, algorithm={algorithm!r}, random_state=0).fit(X)
print(json.dumps({{"wall": time.perf_counter() - start, "cpu": time.process_time() - cpu}}))
"""

#: Every estimator as it is by default, and every algorithm.
FITS = [(estimator, "auto") for estimator in ("KMedian", "KMeans", "FairKMedian", "KCenter", "KTMM")]
FITS += [("KMedian", algorithm) for algorithm in ("gsemo", "nsga2", "nsga3", "sms-emoa", "moead")]


def run(code: str, cache: str) -> dict[str, Any]:
    """Run `code` in a fresh process and return what it printed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    output = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(output.stdout))


def rows() -> Iterator[Row]:
    """Yield what an import adds to scikit-learn, then the first fits."""
    with tempfile.TemporaryDirectory() as cache:
        imports = [run(IMPORT, cache) for _ in range(5)]
    heavy = sorted({name for found in imports for name in found["heavy"]})
    wall, cpu = (statistics.median(found[key] for found in imports) for key in ("wall", "cpu"))
    first = {"what": "import after scikit-learn, median of 5", "wall s": round(wall, 3), "CPU s": round(cpu, 3)}
    yield {**first, "pass": cpu < 0.2 and not heavy}
    for estimator, algorithm in FITS:
        with tempfile.TemporaryDirectory() as cache:
            for when in ("cold first fit", "fit in a second process"):
                found = run(FIT.format(estimator=estimator, algorithm=algorithm), cache)
                figures = {"wall s": round(found["wall"], 2), "CPU s": round(found["cpu"], 2)}
                what = estimator if algorithm == "auto" else f"{estimator}(algorithm={algorithm!r})"
                yield {"what": f"{what}, {when}", **figures, "pass": found["cpu"] < 15}


if __name__ == "__main__":
    found = []
    for row in rows():
        found.append(row)
        print(*(f"{key}={value}" for key, value in row.items()), file=sys.stderr, flush=True)
    show("startup", "times", "What starting costs", found, RESULTS)
