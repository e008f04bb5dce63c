"""The files of an output directory."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certiclust.io.output import FORMAT, MARK
from certiclust.report import report_html
from certiclust.report.content import centers_of, verdict
from certiclust.space.symmetry import symmetrised

if TYPE_CHECKING:
    from certiclust.certificates import Certificate
    from certiclust.commands.run import Run


def claims_of(certificate: Certificate) -> dict[str, Any]:
    """Return what a summary repeats of a certificate, so that a change of either is noticed: all but the witness."""
    return {key: value for key, value in certificate.to_dict().items() if key != "witness"}


def write_fit(run: Run, folder: Path) -> None:
    """Write labels.csv, centers.csv, certificate.json, summary.json and report.html."""
    k = int(run.front.sizes[0])
    labels = run.front.labels(k)
    rows = ([run.data.row_name(i), int(label)] for i, label in enumerate(labels))
    _write_csv(folder / "labels.csv", [run.data.id_name, "label"], rows)
    head, centers = _centers(run, k)
    _write_csv(folder / "centers.csv", head, centers)
    _write_rest(run, folder, {k: "certificate.json"})


def write_sweep(run: Run, folder: Path) -> None:
    """Write front.csv, labels.csv and centers.csv for every k, certificates/, summary.json and report.html."""
    front = run.front
    sizes = front.sizes.tolist()
    table = zip(sizes, front.costs.tolist(), front.lower_bounds.tolist(), front.gaps.tolist(), strict=True)
    words = ([*row, verdict(front, i)] for i, row in enumerate(table))
    _write_csv(folder / "front.csv", ["k", "cost", "lower_bound", "gap", "proved"], words)
    columns = np.column_stack([front.labels(k) for k in sizes]).tolist()
    rows = ([run.data.row_name(i), *row] for i, row in enumerate(columns))
    _write_csv(folder / "labels.csv", [run.data.id_name, *(f"k={k}" for k in sizes)], rows)
    head = ["k", *_centers(run, sizes[0])[0]]
    _write_csv(folder / "centers.csv", head, ([k, *row] for k in sizes for row in _centers(run, k)[1]))
    (folder / "certificates").mkdir()
    _write_rest(run, folder, {k: f"certificates/k={k}.json" for k in sizes})


def summary(run: Run, names: dict[int, str]) -> dict[str, Any]:
    """Return what was asked, what was read and what was found; `names` are the certificates' files."""
    front, first = run.front, run.front.estimator(int(run.front.sizes[0]))
    parameters = {key: value for key, value in first.get_params().items() if key not in ("n_clusters", "verbose")}
    scaling = run.scaling
    content = {
        "format": FORMAT,
        "certiclust": version("certiclust"),
        "command": run.command,
        "input": {
            "file": run.data.name,
            "sha256": run.data.sha256,
            "format": run.data.format,
            "rows": len(run.X),
            "columns": run.data.columns if parameters.get("metric") != "precomputed" else None,
            "reading": run.reading.to_dict(),
        },
        "scaling": scaling and {"mean": scaling.mean.tolist(), "scale": scaling.scale.tolist()},
        "estimator": type(first).__name__,
        "parameters": parameters,
        "seconds": run.seconds,
        "warnings": run.warnings,
        "results": [_result(run, i, names) for i in range(len(front.sizes))],
    }
    if run.command == "sweep":
        suggestion = front.suggest()
        content["suggestion"] = {"k": int(suggestion.k), "reason": suggestion.reason}
    return content


def _result(run: Run, i: int, names: dict[int, str]) -> dict[str, Any]:
    k = int(run.front.sizes[i])
    estimator, certificate = run.front.estimator(k), run.front.certificate(k)
    gap = float(run.front.gaps[i])
    fairness = getattr(estimator, "fairness_ratio_", None)
    return {
        "k": k,
        "cost": float(run.front.costs[i]),
        "lower_bound": float(run.front.lower_bounds[i]),
        "gap": gap if math.isfinite(gap) else None,
        "proved": verdict(run.front, i),
        "iterations": int(estimator.n_iter_),
        "cluster_sizes": np.bincount(estimator.labels_, minlength=k).tolist(),
        **({} if fairness is None else {"fairness_ratio": float(fairness) if math.isfinite(fairness) else None}),
        "certificate": names[k],
        "claims": None if certificate is None else claims_of(certificate),
    }


def _write_rest(run: Run, folder: Path, names: dict[int, str]) -> None:
    for k, name in names.items():
        certificate = run.front.certificate(k)
        if certificate is not None:
            certificate.save(folder / name)
    text = json.dumps(summary(run, names), indent=1, allow_nan=False, ensure_ascii=False)
    (folder / MARK).write_text(text, encoding="utf-8")
    (folder / "report.html").write_text(_report(run), encoding="utf-8")


def _report(run: Run) -> str:
    data = run.data
    facts = {
        "file": f"{data.name} ({data.format}, SHA-256 {data.sha256[:16]}…)",
        "rows": f"{len(run.X):,}" + (", weighted" if data.weights is not None else ""),
        "scaling": "none" if run.scaling is None else "every column to mean 0 and variance 1",
        "parameters": _typed(run.front.estimator(int(run.front.sizes[0]))),
        "time": f"{run.seconds:.2f} s",
    }
    if run.warnings:
        facts["warnings"] = " ".join(run.warnings)
    return report_html(
        run.front,
        run.X,
        title=Path(data.name).name,
        columns=data.columns,
        ids=data.ids,
        id_name=data.id_name,
        sample_weight=data.weights,
        scaling=None if run.scaling is None else (run.scaling.mean, run.scaling.scale),
        facts=facts,
    )


def _typed(estimator: Any) -> str:
    """Return the parameters that are not the defaults."""
    defaults = type(estimator)().get_params()
    changed = {key: value for key, value in estimator.get_params().items() if value != defaults[key]}
    shown = ", ".join(f"{k}={v!r}" for k, v in changed.items() if k not in ("n_clusters", "verbose"))
    return shown or "defaults"


def _centers(run: Run, k: int) -> tuple[list[str], list[list[Any]]]:
    """Return the head and the rows of the table of centres, coordinates in the units of the file."""
    estimator = run.front.estimator(k)
    data = run.data
    counts = np.bincount(estimator.labels_, minlength=k).tolist()
    indices, found = centers_of(estimator)
    precomputed = getattr(estimator, "metric", None) == "precomputed"
    head, rows = ["label", "size"], [[j, counts[j]] for j in range(k)]
    if indices is not None and precomputed and symmetrised(run.X) is None:
        head.append("site")
        rows = [[*row, data.columns[int(j)]] for row, j in zip(rows, indices, strict=True)]
    elif indices is not None:
        head.append(data.id_name)
        rows = [[*row, data.row_name(int(j))] for row, j in zip(rows, indices, strict=True)]
    if not precomputed:
        back = run.scaling.back if run.scaling is not None else np.asarray
        places = data.X[indices] if indices is not None else back(found)
        head += data.columns
        rows = [[*row, *place] for row, place in zip(rows, places.tolist(), strict=True)]
    return head, rows


def _write_csv(path: Path, head: list[str], rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
