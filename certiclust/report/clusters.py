"""The clusters in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from certiclust.figures import axes_for

#: Points drawn at most.
MOST = 20_000


class ClustersDisplay:
    """Points coloured by cluster, with the centres.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Where to draw each row.
    labels : array-like of shape (n,)
        Its cluster.
    centers : array-like of shape (k, 2) or None
        Where to draw the centres.
    names : tuple of str
        What the axes are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn last.
    """

    def __init__(
        self,
        points: ArrayLike,
        labels: ArrayLike,
        centers: ArrayLike | None = None,
        *,
        names: tuple[str, str] = ("", ""),
    ) -> None:
        self.points, self.labels = np.asarray(points, dtype=np.float64), np.asarray(labels)
        self.centers = None if centers is None else np.asarray(centers, dtype=np.float64)
        self.names = names

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> ClustersDisplay:
        """Draw the clusters of the rows that an estimator was fitted on.

        Rows with more than two columns are projected on their two principal components; the axes say which share of
        the variance those explain.
        """
        check_is_fitted(estimator, "labels_")
        columns = getattr(X, "columns", None)
        rows = np.asarray(check_array(X, dtype=np.float64), dtype=np.float64)
        if len(rows) != len(estimator.labels_):
            raise ValueError(f"X has {len(rows)} rows, but the estimator was fitted on {len(estimator.labels_)}.")
        centers = getattr(estimator, "cluster_centers_", None)
        if centers is None:
            raise ValueError("metric='precomputed' has distances only: there are no coordinates to draw.")
        names = [str(name) for name in columns] if columns is not None else [f"x{j}" for j in range(rows.shape[1])]
        points, places, names = _plane(rows, centers, names)
        return cls(points, estimator.labels_, places, names=(names[0], names[1])).plot(ax=ax)

    def plot(self, ax: Any = None) -> ClustersDisplay:
        """Draw into the axes given, or into a new figure; of more than 20 000 points every so-manieth is drawn."""
        ax = axes_for(ax)
        part = slice(None, None, -(-len(self.points) // MOST))
        shown, labels = self.points[part], self.labels[part]
        style: dict[str, Any] = {"cmap": "tab20" if labels.max() >= 10 else "tab10", "linewidths": 0}
        ax.scatter(shown[:, 0], shown[:, 1], c=labels % 20, vmin=0, vmax=19 if labels.max() >= 10 else 9, s=12, **style)
        if self.centers is not None:
            ax.scatter(self.centers[:, 0], self.centers[:, 1], marker="X", s=70, c="white", edgecolors="black")
        thinned = f" ({len(shown)} of {len(self.points)} points drawn)" if len(shown) < len(self.points) else ""
        ax.set(xlabel=self.names[0] + thinned, ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _plane(
    rows: np.ndarray[Any, np.dtype[np.float64]], centers: np.ndarray[Any, np.dtype[np.float64]], names: list[str]
) -> tuple[Any, Any, list[str]]:
    """Return rows and centres in two dimensions, and what the axes are."""
    width = rows.shape[1]
    if width == 1:
        flat = np.zeros((len(rows), 1))
        return np.hstack([rows, flat]), np.hstack([centers, np.zeros((len(centers), 1))]), [names[0], ""]
    if width == 2:
        return rows, centers, names
    middle = rows.mean(axis=0)
    _, lengths, axes = np.linalg.svd(rows - middle, full_matrices=False)
    shares = lengths**2 / max(float((lengths**2).sum()), 1e-300)
    told = [f"principal component {t + 1} ({shares[t]:.0%} of the variance)" for t in range(2)]
    return (rows - middle) @ axes[:2].T, (centers - middle) @ axes[:2].T, told
