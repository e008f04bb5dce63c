"""Where points are drawn: which of them, in which two dimensions, and words that say what the picture leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.space.symmetry import symmetrised

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Points that are drawn at most; rows of a distance matrix that are put into the plane at most, besides centres; and
#: labels of all clusterings together.
MAX_POINTS, MAX_SCALED, MAX_LABELS = 8000, 1000, 600_000


@dataclass(frozen=True)
class Projection:
    """Points in the plane.

    Attributes
    ----------
    rows : ndarray
        The rows that are drawn, ascending.
    points : ndarray of shape (len(rows), 2)
        Where.
    centers : list of ndarray
        The places of the centres, for every set of centres that was given.
    axes : tuple of str
        Names of the two axes.
    words : str
        What the picture shows and what it leaves out.
    """

    rows: IntArray
    points: FloatArray
    centers: list[FloatArray]
    axes: tuple[str, str]
    words: str


def project(
    X: FloatArray, columns: list[str], centers: list[tuple[IntArray | None, FloatArray | None]], precomputed: bool
) -> Projection:
    """Return rows and centres in the plane.

    Parameters
    ----------
    X : ndarray
        Rows, or a distance matrix.
    columns : list of str
        Their names.
    centers : list of tuple
        For every clustering the rows that are its centres, or their places, where known.
    precomputed : bool
        Whether X is a distance matrix.
    """
    square = precomputed and symmetrised(X) is not None
    always = [rows for rows, _ in centers if rows is not None] if square else []
    most = min(MAX_SCALED if precomputed else MAX_POINTS, max(500, MAX_LABELS // len(centers)))
    rows = _thinned(len(X), most, always)
    thinning = f" {len(rows):,} of {len(X):,} points are drawn, chosen at random." if len(rows) < len(X) else ""
    if square:
        points, share = _scaled(X[np.ix_(rows, rows)])
        places = [points[np.searchsorted(rows, c)] if c is not None else np.empty((0, 2)) for c, _ in centers]
        words = f"Classical scaling of the distance matrix: the plane keeps {share:.0%} of it."
        return Projection(rows, points, places, ("first coordinate", "second coordinate"), words + thinning)
    if precomputed:
        points, share, _ = _principal(X[rows], X[rows])
        words = f"Rows of the distance matrix by principal components, which explain {share:.0%} of their variance."
        none = [np.empty((0, 2)) for _ in centers]
        return Projection(rows, points, none, ("first component", "second component"), words + thinning)
    drawn = [place if place is not None else X[c] for c, place in centers]
    if X.shape[1] > 2:
        points, share, mapped = _principal(X, X[rows])
        words = f"The first two principal components explain {share:.0%} of the variance of {X.shape[1]} columns."
        places = [mapped(place) for place in drawn]
        return Projection(rows, points, places, ("first component", "second component"), words + thinning)
    if X.shape[1] == 2:
        return Projection(rows, X[rows], drawn, (columns[0], columns[1]), f"The two columns as they are.{thinning}")
    spread = np.random.default_rng(0).uniform(-1.0, 1.0, len(rows)) * (np.ptp(X) or 1.0) / 10
    places = [np.column_stack([place[:, 0], np.zeros(len(place))]) for place in drawn]
    words = f"One column; the height is random, so that points do not hide each other.{thinning}"
    return Projection(rows, np.column_stack([X[rows, 0], spread]), places, (columns[0], ""), words)


def _thinned(n: int, most: int, always: list[IntArray]) -> IntArray:
    """Return at most `most` rows chosen at random, with the same seed always, and the rows that have to be there."""
    if n <= most:
        return np.arange(n)
    chosen = np.random.default_rng(0).choice(n, most, replace=False)
    return np.unique(np.concatenate([chosen, *always]))


def _principal(X: FloatArray, drawn: FloatArray) -> tuple[FloatArray, float, Any]:
    from sklearn.decomposition import PCA

    scale = float(np.abs(X).max()) or 1.0  # so that squares do not overflow
    if not np.ptp(X, axis=0).any():
        return np.zeros((len(drawn), 2)), 1.0, lambda place: np.zeros((len(place), 2))
    count = min(2, *X.shape)
    pca = PCA(count, random_state=0).fit(X / scale)

    def mapped(place: FloatArray) -> FloatArray:
        flat = pca.transform(place / scale) * scale
        return np.pad(flat, ((0, 0), (0, 2 - count)))

    return mapped(drawn), float(pca.explained_variance_ratio_.sum()), mapped


def _scaled(d: FloatArray) -> tuple[FloatArray, float]:
    """Return classical scaling, and the share of the positive part of the spectrum that the plane keeps."""
    n = len(d)
    scale = float(d.max()) or 1.0
    b = -0.5 * np.square(d / scale)
    b -= b.mean(axis=0)
    b -= b.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh((b + b.T) / 2)
    values = np.maximum(values, 0.0)
    points = vectors[:, ::-1][:, :2] * np.sqrt(values[::-1][:2]) * scale
    total = float(values.sum())
    return np.pad(points, ((0, 0), (0, 2 - min(2, n)))), float(values[-2:].sum()) / total if total else 1.0
