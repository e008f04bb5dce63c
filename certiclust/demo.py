"""The demonstration: all five problems on data that scikit-learn carries, with their certificates."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from certiclust.certificates import Certificate
from certiclust.estimators import KTMM, FairKMedian, KCenter, KMeans, KMedian
from certiclust.front import sweep
from certiclust.report import report_html


def run_demo() -> None:
    """Fit the five estimators, print a table, verify a certificate after saving and loading it, and write a report."""
    console = Console(width=110)
    iris = load_iris().data
    wine = StandardScaler().fit_transform(load_wine().data)
    table = Table(title="Five problems on iris (n = 150) and wine (n = 178, standardised), defaults, random_state=0")
    for column in ("problem", "data", "k", "cost", "certified ratio", "iterations", "iterations/s", "seconds"):
        table.add_column(column, justify="left" if column in ("problem", "data") else "right")
    for estimator, rows, label in (
        (KMeans(3, random_state=0), wine, "wine"),
        (FairKMedian(5, random_state=0), wine, "wine"),
        (KTMM(3, random_state=0), iris, "iris"),
        (KCenter(3, random_state=0), iris, "iris"),
        (KMedian(3, random_state=0), iris, "iris"),
    ):
        estimator.fit(rows)  # compiles, so that the seconds below are those of the search
        start = perf_counter()
        certificate = estimator.fit(rows).certificate_
        seconds = perf_counter() - start
        name, data = type(estimator).__name__, rows
        table.add_row(
            certificate.problem,
            label,
            str(certificate.n_clusters),
            f"{certificate.cost:.6g}",
            f"{1 + certificate.gap:.3f}" if math.isfinite(certificate.gap) else "none",
            f"{estimator.n_iter_:,}",
            f"{estimator.n_iter_ / seconds:,.0f}",
            f"{seconds:.3f}",
        )
        certificate.verify(rows)
    console.print(table)
    path = Path(tempfile.mkdtemp(prefix="certiclust-")) / f"{name}.json"
    certificate.save(path)
    loaded = Certificate.load(path)
    loaded.verify(data)
    console.print(
        f"\n[bold]The certificate of {name}[/bold], saved to {path}, loaded again and verified:", soft_wrap=True
    )
    console.print(str(loaded), soft_wrap=True)
    report = path.with_name("report.html")
    front = sweep(KMedian(random_state=0), iris, 8)
    title = "iris, which scikit-learn carries"
    report.write_text(report_html(front, iris, title=title, columns=load_iris().feature_names), encoding="utf-8")
    suggestion = front.suggest()
    console.print(
        "\n[bold]Every k at once[/bold], k-median on iris: " + suggestion.reason, soft_wrap=True, highlight=False
    )
    console.print("The report; a slider in it moves along k:")
    print(report)
