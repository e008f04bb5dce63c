"""What the report says: numbers and words for every size of a front, in JSON's own types."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils import gen_batches

from certiclust.front import Front
from certiclust.report.projection import Projection, project

FloatArray = NDArray[np.float64]

#: Columns of the centres in the cluster table, characters of a name, clusters in the table, and rows of a history.
MAX_COLUMNS, MAX_NAME, MAX_CLUSTERS, MAX_HISTORY = 6, 60, 200, 300
#: Centres, rows of cluster tables and rows of histories, of all sizes together: the page stays below 5 MB.
ALL_CENTERS, ALL_CLUSTERS, ALL_HISTORY = 30_000, 6000, 15_000
#: Bars of the fairness plot.
BARS = 40


def content(
    front: Front,
    X: FloatArray,
    *,
    columns: list[str],
    ids: list[str] | None,
    id_name: str,
    weights: FloatArray | None,
    scaling: tuple[FloatArray, FloatArray] | None,
) -> dict[str, Any]:
    """Return everything that the page shows and its script needs.

    Parameters
    ----------
    front : Front
        The clusterings.
    X : ndarray
        What they were fitted on.
    columns, ids, id_name, weights
        Names of columns and rows, and weights, as `certiclust.io.Data` has them.
    scaling : tuple of ndarray or None
        What was subtracted from every column, and what it was divided by then.
    """
    chosen = _chosen(front)
    ks = front.sizes[chosen].tolist()
    estimators = [front.estimator(k) for k in ks]
    precomputed = getattr(estimators[0], "metric", None) == "precomputed"
    axes = [f"{name}, standardised" for name in columns] if scaling is not None else columns
    picture = project(X, axes, [centers_of(e) for e in estimators], precomputed)
    low, span, alike = _frame(picture)
    colours = _colours([(k, front.labels(k)) for k in ks])
    shown = [] if precomputed else columns[:MAX_COLUMNS]
    named = _Names(ids)
    sizes = []
    most = max(5, min(MAX_CLUSTERS, ALL_CLUSTERS // len(ks))), max(10, min(MAX_HISTORY, ALL_HISTORY // len(ks)))
    for i, (k, estimator) in enumerate(zip(ks, estimators, strict=True)):
        distances = own_distances(estimator, X)
        sizes.append(
            {
                "k": k,
                **_claims(front, chosen[i]),
                "labels": _packed(front.labels(k)[picture.rows], np.uint16),
                "colours": colours[i],
                "centers": _unit(picture.centers[i], low, span).round(4).tolist(),
                "clusters": _clusters(estimator, front.labels(k), distances, weights, named, shown, scaling, most[0]),
                "history": _history(estimator.history_, most[1]),
                "fairness": _fairness(estimator, distances),
            }
        )
    suggestion = front.suggest()
    certificate = front.certificate(int(front.sizes[0]))
    problem = certificate.problem if certificate is not None else type(estimators[0]).__name__
    return {
        "problem": problem,
        "measure": _MEASURES.get(problem, "cost"),
        "metric": str(getattr(estimators[0], "metric", "sqeuclidean")),
        "n": len(X),
        "d": X.shape[1],
        "idName": _short(id_name),
        "columns": [_short(name) for name in shown],
        "moreColumns": 0 if precomputed else len(columns) - len(shown),
        "picture": {
            "x": _packed(_unit(picture.points, low, span)[:, 0] * 65535, np.uint16),
            "y": _packed(_unit(picture.points, low, span)[:, 1] * 65535, np.uint16),
            "low": low.tolist(),
            "span": span.tolist(),
            "names": [named(int(row)) for row in picture.rows],
            "axes": [_short(name) for name in picture.axes],
            "alike": alike,
            "words": picture.words + ("" if alike else " The axes have different scales."),
        },
        "sizes": sizes,
        "left": len(front.sizes) - len(ks),
        "suggestion": {"k": int(suggestion.k), "reason": suggestion.reason},
    }


_MEASURES = {
    "k-center": "largest distance to a centre",
    "k-tMM": "largest diameter of a cluster",
    "k-median": "sum of distances to the centres",
    "k-means": "sum of squared distances to the centres",
    "fair k-median": "sum of distances to the centres",
}


def _chosen(front: Front) -> list[int]:
    """Return which sizes are shown: all, or if these are very many the small ones, some of the others, and the last."""
    ks = front.sizes.tolist()
    if sum(ks) <= ALL_CENTERS:
        return list(range(len(ks)))
    suggested = ks.index(front.suggest().k)
    kept, total, i = {suggested, len(ks) - 1}, ks[suggested] + ks[-1], 0
    while i < len(ks) and total + ks[i] <= ALL_CENTERS:
        kept.add(i)
        total += ks[i]
        i += max(1, i * 3 // 100)
    return sorted(kept)


def own_distances(estimator: Any, X: FloatArray) -> FloatArray:
    """Return the distance of every row to the centre of its own cluster, in blocks that keep memory small."""
    labels = estimator.labels_
    distances = np.empty(len(X))
    for part in gen_batches(len(X), max(1, 2_000_000 // int(estimator.n_clusters))):
        distances[part] = np.take_along_axis(estimator.transform(X[part]), labels[part, None], axis=1)[:, 0]
    return distances


def verdict(front: Front, i: int) -> str:
    """Return in words how good the clustering of the i-th size is proved to be."""
    cost, lower, gap = float(front.costs[i]), float(front.lower_bounds[i]), float(front.gaps[i])
    owner = bound_owner(front, i)
    certificate = None if owner is None else front.certificate(owner)
    cover = None if certificate is None else certificate.witness.get("cover")
    trusting = isinstance(cover, dict) and cover.get("proof") == "solver"
    how = "by the word of a solver" if trusting else "proved"
    if cost == 0 or lower >= cost * (1.0 - 1e-9):
        return f"optimal, {how}"
    if not math.isfinite(gap):
        return "no lower bound was proved"
    if gap >= 1:
        return f"at most {math.ceil((1 + gap) * 100 - 1e-6) / 100:,.2f} times the optimum, {how}"
    return f"at most {percent(gap)} above optimal, {how}"


def bound_owner(front: Front, i: int) -> int | None:
    """Return the size whose certificate proves the lower bound of the i-th: its own, or a larger one."""
    for k in front.sizes[i:].tolist():
        certificate = front.certificate(k)
        if certificate is not None and certificate.lower_bound >= front.lower_bounds[i]:
            return int(k)
    return None


def percent(gap: float) -> str:
    """Return a gap in per cent, rounded up so that it still holds.

    Examples
    --------
    >>> percent(0.0), percent(0.00123), percent(0.5)
    ('0 %', '0.13 %', '50.0 %')
    """
    if gap <= 1e-9:
        return "0 %"
    digits = 2 if gap < 0.1 else 1
    return f"{math.ceil(gap * 100 * 10**digits - 1e-6) / 10**digits:,.{digits}f} %"


def _claims(front: Front, i: int) -> dict[str, Any]:
    """Return cost, bound and certificate of a size; a bound may be owed to a larger size."""
    k = int(front.sizes[i])
    certificate = front.certificate(k)
    lines = str(certificate).split("\n") if certificate is not None else ["no certificate was asked for."]
    lower, gap = float(front.lower_bounds[i]), float(front.gaps[i])
    owner = bound_owner(front, i)
    if owner is not None and owner != k:
        lines.append(f"the lower bound {lower:.8g} is that of k = {owner}: more clusters never cost more.")
    return {
        "cost": float(front.costs[i]),
        "lower": lower,
        "gap": percent(gap) if math.isfinite(gap) else "unknown",
        "verdict": verdict(front, i),
        "certificate": lines,
    }


class _Names:
    """Names of rows, short enough for a page."""

    def __init__(self, ids: list[str] | None) -> None:
        self.ids = ids

    def __call__(self, row: int) -> str:
        return str(row) if self.ids is None else _short(self.ids[row])


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def centers_of(estimator: Any) -> tuple[Any, Any]:
    """Return the rows that are centres, None where they are no rows, and their places, None without any."""
    places = getattr(estimator, "cluster_centers_", None)
    own = getattr(estimator, "candidates", None) is None and getattr(estimator, "centers", "candidates") == "candidates"
    return (getattr(estimator, "center_indices_", None) if own else None), places


def _clusters(
    estimator: Any,
    labels: NDArray[np.int32],
    distances: FloatArray,
    weights: FloatArray | None,
    named: _Names,
    shown: list[str],
    scaling: tuple[FloatArray, FloatArray] | None,
    most: int,
) -> list[dict[str, Any]]:
    """Return for every cluster its size, its centre and how far its points are, the largest ones if there are many."""
    k = int(estimator.n_clusters)
    counts = np.bincount(labels, minlength=k)
    total = np.bincount(labels, distances, minlength=k)
    heavy = None if weights is None else np.bincount(labels, weights, minlength=k)
    farthest = np.zeros(k)
    np.maximum.at(farthest, labels, distances)
    rows, places = centers_of(estimator)
    if places is not None and scaling is not None:
        places = places * scaling[1] + scaling[0]
    order = np.sort(np.argsort(-counts, kind="stable")[:most])
    return [
        {
            "label": j,
            "size": int(counts[j]),
            "share": _brief(counts[j] / len(labels)),
            "weight": None if heavy is None else float(heavy[j]),
            "centre": "" if rows is None else named(int(rows[j])),
            "mean": _brief(total[j] / max(1, counts[j])),
            "farthest": _brief(farthest[j]),
            "values": [] if places is None else [_brief(value) for value in places[j][: len(shown)]],
        }
        for j in order.tolist()
    ]


def _brief(value: float) -> float:
    """Return a number as it is shown, which keeps the page small."""
    return float(f"{value:.7g}")


def _history(history: NDArray[np.void], most: int) -> list[list[float | None]]:
    """Return time, upper and lower bound, at most so many rows of it."""
    if len(history) > most:
        history = history[np.unique(np.linspace(0, len(history) - 1, most).astype(np.intp))]
    columns = [history["time"], history["upper"], history["lower"]]
    return [[_brief(v) if math.isfinite(v) else None for v in row] for row in zip(*columns, strict=True)]


def _fairness(estimator: Any, distances: FloatArray) -> dict[str, Any] | None:
    """Return how far everyone is from a centre in units of the own fair radius; None where nothing is promised."""
    radii = getattr(estimator, "radii_", None)
    if radii is None:
        return None
    known = np.isfinite(radii)
    radii, nearest = radii[known], distances[known]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(nearest == 0, 0.0, nearest / radii)
    finite = ratios[np.isfinite(ratios)]
    certificate = estimator.certificate_
    promised = certificate.guarantee.fairness if certificate is not None and certificate.guarantee is not None else None
    beta = float(getattr(estimator, "beta_", estimator.beta))
    top = max(float(finite.max(initial=0.0)), promised or 0.0, beta) or 1.0
    counts, _ = np.histogram(finite, bins=BARS, range=(0.0, top))
    return {
        "counts": counts.tolist(),
        "top": top,
        "largest": float(estimator.fairness_ratio_) if math.isfinite(estimator.fairness_ratio_) else None,
        "beta": beta,
        "within": float(np.mean(ratios <= beta)),
        "promised": promised,
    }


def _colours(fitted: list[tuple[int, NDArray[np.int32]]]) -> list[list[int]]:
    """Return a colour for every label of every size: a cluster keeps the colour of the one it shares most rows with."""
    result: list[list[int]] = []
    for i, (k, now) in enumerate(fitted):
        if not result:
            result.append(list(range(k)))
            continue
        before, old = result[-1], fitted[i - 1][1]
        shared = np.zeros((len(before), k))
        np.add.at(shared, (old, now), 1.0)
        own = dict(zip(*(side.tolist() for side in linear_sum_assignment(-shared)[::-1]), strict=True))
        taken = {before[row] for row in own.values()}
        free = iter(c for c in range(k + len(before)) if c not in taken)
        result.append([before[own[j]] if j in own else next(free) for j in range(k)])
    return result


def _frame(picture: Projection) -> tuple[FloatArray, FloatArray, bool]:
    """Return the lower corner and the extent, and whether both axes have one scale: unless one would be a mere line."""
    everything = np.concatenate([picture.points, *picture.centers])
    low, high = everything.min(axis=0), everything.max(axis=0)
    span = high - low
    thin = span < 1e-9 * (float(span.max()) or 1.0)
    low = np.where(thin, (low + high) / 2 - 0.5 * (float(span.max()) or 1.0), low)
    span = np.where(thin, float(span.max()) or 1.0, span)
    return low, span, bool(span.min() * 8 > span.max())


def _unit(points: FloatArray, low: FloatArray, span: FloatArray) -> FloatArray:
    return np.clip((points - low) / span, 0.0, 1.0)


def _packed(values: NDArray[Any], kind: Any) -> str:
    """Return numbers as base64 of little-endian integers."""
    return base64.b64encode(np.rint(values).astype(np.dtype(kind).newbyteorder("<")).tobytes()).decode()
