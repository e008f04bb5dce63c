"""Rows as the bounds of k-means see them: centred, turned, and split into blocks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Swaps per point that balance the blocks.
SWAPS = 200


class Rows(NamedTuple):
    """Centred and turned rows, and by how much they are off: the cost under any centres changes by no more.

    Attributes
    ----------
    points
        ``(X - X[0] - origin) axes``, origin about the mean.
    axes
        Orthonormal up to rounding.
    stretch, shift
        Squared distances are too large by this factor at most, and the root of any k-means cost is off by `shift`.
    mass
        The sum of the weights.
    """

    points: Floats
    origin: Floats
    axes: Floats
    stretch: float
    shift: float
    mass: float

    def inside(self, points: Floats, first: Floats) -> Floats:
        """Return points in the coordinates of these rows; `first` is the first row given."""
        return np.asarray((points - first - self.origin) @ self.axes)

    def outside(self, points: Floats, first: Floats) -> Floats:
        """Return points in the coordinates given."""
        return np.asarray(first + (self.origin + points @ self.axes.T))

    def safe(self, lower: float, power: int = 2) -> float:
        """Return the bound for the rows given, from one for these."""
        if power == 1:
            return max(0.0, lower / self.stretch - self.shift * math.sqrt(self.mass))
        return max(0.0, math.sqrt(max(0.0, lower) / self.stretch) - self.shift) ** 2


def centred(points: Floats, weights: Floats, turn: bool = False) -> Rows:
    """Return rows near the origin; with `turn` along their principal axes, the widest first."""
    moved = np.subtract(points, points[0], dtype=np.float64)
    origin = weights @ moved / weights.sum()
    moved = moved - origin
    width = points.shape[1]
    axes = np.eye(width)
    if turn and width > 1:
        axes = np.linalg.eigh((weights[:, None] * moved).T @ moved)[1][:, ::-1]
    turned = np.ascontiguousarray(moved @ axes) if turn else moved
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    shift = 4.0 * 2.0**-51 * (width + 4) * diagonal * math.sqrt(float(weights.sum()))
    stretch = 1.0 + 4.0 * float(np.linalg.norm(axes.T @ axes - np.eye(width))) + 2.0**-48
    return Rows(turned, origin, axes, stretch, shift, float(weights.sum()))


def split(points: Floats, weights: Floats, labels: Ints, k: int, count: int) -> list[Ints]:
    """Return `count` blocks of rows in which every cluster has about the same mean."""
    n = len(points)
    if count == 1:
        return [np.arange(n)]
    from certiclust.bounds import kmeans_kernels as kernels

    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    order = order[np.argsort(labels[order], kind="stable")]
    blocks = np.empty(n, dtype=np.intp)
    blocks[order] = np.arange(n) % count
    offsets = points - cluster_means(points, weights, labels, k)[labels]
    sums, mass = np.zeros((k, count, points.shape[1])), np.zeros((k, count))
    np.add.at(mass, (labels, blocks), weights)
    np.add.at(sums, (labels, blocks), weights[:, None] * offsets)
    sizes = np.bincount(labels, minlength=k)
    starts = np.cumsum(sizes) - sizes
    first = rng.integers(n, size=SWAPS * n)
    second = order[starts[labels[first]] + (rng.random(len(first)) * sizes[labels[first]]).astype(np.intp)]
    kernels.balance(offsets, weights, labels, blocks, first, second, sums, mass)
    return [np.flatnonzero(blocks == t) for t in range(count)]


def cluster_means(points: Floats, weights: Floats, labels: Ints, k: int) -> Floats:
    """Return the weighted mean of every cluster, 0 for one without points."""
    mass = np.bincount(labels, weights, k)
    sums = np.stack([np.bincount(labels, weights * x, k) for x in points.T], axis=1)
    return sums / np.where(mass > 0, mass, 1.0)[:, None]


def nearest(points: Floats, centers: Floats) -> Ints:
    """Return the nearest centre of every row, by direct differences."""
    labels, nearest = np.zeros(len(points), dtype=np.intp), np.full(len(points), np.inf)
    for j, c in enumerate(centers):
        d = np.square(points - c).sum(axis=1)
        labels[d < nearest] = j
        np.minimum(nearest, d, out=nearest)
    return labels
