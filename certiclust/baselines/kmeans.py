"""Classical algorithms of k-means: Lloyd's iteration, k-means++, its local search, and swaps over the points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

FloatArray = NDArray[np.float64]


def lloyd(X: FloatArray, weights: FloatArray, centers: FloatArray, max_iter: int = 300) -> FloatArray:
    """Return the centres that Lloyd's iteration (1982) ends at: points to centres, centres to means.

    Parameters
    ----------
    X, weights : ndarray
        Points and their positive weights.
    centers : ndarray of shape (k, l)
        Where to start.
    max_iter : int, default=300
        Passes at most.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> lloyd(X, np.ones(4), X[:2]).ravel()
    array([ 1., 11.])
    """
    centers, k = centers.copy(), len(centers)
    labels = np.full(len(X), -1)
    for _ in range(max_iter):
        before, labels = labels, cdist(X, centers, "sqeuclidean").argmin(axis=1)
        if np.array_equal(before, labels):
            break
        for label in range(k):
            inside = labels == label
            if inside.any():
                centers[label] = np.average(X[inside], axis=0, weights=weights[inside])
    return centers


def kmeans_plus_plus(X: FloatArray, weights: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """Return k points drawn one by one with probability as their share of the cost so far.

    Arthur & Vassilvitskii (2007): expected cost at most 8 (ln k + 2) times optimal.
    """
    rows = [_draw(weights, rng)]
    nearest = cdist(X[rows], X, "sqeuclidean")[0]
    for _ in range(1, k):
        rows.append(_draw(weights * nearest, rng))
        nearest = np.minimum(nearest, cdist(X[rows[-1:]], X, "sqeuclidean")[0])
    return np.asarray(X[rows])


def local_search_plus_plus(
    X: FloatArray, weights: FloatArray, centers: FloatArray, steps: int, rng: np.random.Generator
) -> FloatArray:
    """Return centres after steps that draw a point by its cost and swap it in where that pays most, if it does.

    Lattanzi & Sohler (2019): O(k log log k) steps after k-means++ give a constant factor in expectation.
    """
    centers = centers.copy()
    distances = cdist(X, centers, "sqeuclidean")
    for _ in range(steps):
        row = _draw(weights * distances.min(axis=1), rng)
        new = cdist(X, X[row : row + 1], "sqeuclidean")[:, 0]
        costs = weights @ np.minimum(_without(distances), new[:, None])
        out = int(np.argmin(costs))
        if costs[out] < weights @ distances.min(axis=1):
            centers[out], distances[:, out] = X[row], new
    return centers


def swap_search(X: FloatArray, weights: FloatArray, rows: NDArray[np.intp], gain: float = 0.0) -> NDArray[np.intp]:
    """Return rows of X, ascending, that no single swap with another row improves by more than a share `gain`.

    Kanungo et al. (2004): at most 25 times the best rows. Reads all n^2 distances.
    """
    rows = np.array(rows)
    squares = cdist(X, X, "sqeuclidean")
    cost = float(weights @ squares[:, rows].min(axis=1))
    while True:
        rest = _without(squares[:, rows])
        # Costs of all swaps, one leaving centre at a time.
        costs = np.array([weights @ np.minimum(rest[:, out, None], squares) for out in range(len(rows))])
        out, new = np.unravel_index(int(np.argmin(costs)), costs.shape)
        if not costs[out, new] < cost * (1 - max(gain, 1e-12)):
            return np.sort(rows)
        rows[out], cost = new, float(costs[out, new])


def _draw(shares: FloatArray, rng: np.random.Generator) -> int:
    """Return an index drawn with probability as its share; uniform if all shares are zero."""
    total = np.cumsum(shares)
    if total[-1] == 0:
        return int(rng.integers(len(shares)))
    return int(min(np.searchsorted(total, rng.random() * total[-1], side="right"), len(shares) - 1))


def _without(distances: FloatArray) -> FloatArray:
    """Return, for every point and every centre, the least distance to the other centres."""
    order = np.argsort(distances, axis=1)
    points = np.arange(len(distances))
    second = distances[points, order[:, 1]] if distances.shape[1] > 1 else np.full(len(distances), np.inf)
    least = np.repeat(distances[points, order[:, 0]][:, None], distances.shape[1], axis=1)
    least[points, order[:, 0]] = second
    return least
