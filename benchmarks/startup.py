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

IMPORT = """
import json, time
import sklearn.base, sklearn.cluster, sklearn.metrics
start = time.perf_counter()
from certiclust import *  # names are imported when first asked for: all of them
added = time.perf_counter() - start
import sys
print(json.dumps({"wall": added, "numba": "numba" in sys.modules}))
"""

FIT = """
import json, time
import numpy as np
import sklearn.cluster
from certiclust import {name}
X = np.random.default_rng(0).random((500, 2))
start, cpu = time.perf_counter(), time.process_time()
{name}(5, random_state=0).fit(X)
print(json.dumps({{"wall": time.perf_counter() - start, "cpu": time.process_time() - cpu}}))
"""


def run(code: str, cache: str) -> dict[str, float]:
    """Run `code` in a fresh process and return what it printed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    output = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(output.stdout))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        imports = [run(IMPORT, cache) for _ in range(5)]
    assert not any(r["numba"] for r in imports)
    added = statistics.median(r["wall"] for r in imports)
    print(f"import certiclust after scikit-learn: median {added:.3f} s, no numba")
    for name in ("KMedian", "KMeans", "FairKMedian", "KCenter", "KTMM"):
        with tempfile.TemporaryDirectory() as cache:
            cold = run(FIT.format(name=name), cache)
            warm = run(FIT.format(name=name), cache)
        print(
            f"{name:12s} cold first fit {cold['wall']:5.1f} s wall, {cold['cpu']:5.1f} s CPU;  "
            f"second process {warm['wall']:.2f} s wall, {warm['cpu']:.2f} s CPU"
        )
