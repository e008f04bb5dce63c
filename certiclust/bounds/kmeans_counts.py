"""Regions of the bounding box, and demands on how many centres lie inside or outside of them.

Where the relaxation behind the boxes mixes several clusterings, they often differ in how many centres a region has.
Then either at most m of them are inside, or at least m + 1: each case has a bound of its own. A demand "at least b
centres in S" gets a multiplier v >= 0, like a point that must be served b times by the centres in S at no cost: the
bound becomes ``sum(u) + b v + k min_c (phi(c) - v [c in S])``.

Faces of regions are multiples of 1/32 of the sides of the bounding box, where boxes that are halved have theirs, so a
small box is inside or outside. Regions and boxes are half-open: a lower face belongs to them, an upper one does not
(unless it is that of the bounding box).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Parts into which the sides of the bounding box are cut.
GRID = 32
#: How far centres stay away from the faces of regions, in sides of the bounding box: to be clear where they are.
APART = 1e-9
#: Regions that are looked at to find one whose number of centres is most in doubt, and directions that they have.
TRIES, DIRECTIONS = 600, 3
#: How much centres near the faces count against a region, since they could move across, and what is near, in parts.
NEARBY, NEAR = 0.15, 0.75
#: How far from the middle between two whole numbers a number is hardly in doubt.
CERTAIN = 0.48


class Count(NamedTuple):
    """A demand: at least `least` of the k centres lie inside (or outside) of a region.

    `low` and `high` are its faces in parts of the bounding box; 0 and `GRID` are no faces.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    inside: bool
    least: int


def faces(counts: Sequence[Count]) -> tuple[Floats, Floats]:
    """Return the faces of all regions as shares of the sides, infinite where there is none."""
    low = np.array([count.low for count in counts], dtype=np.float64) / GRID
    high = np.array([count.high for count in counts], dtype=np.float64) / GRID
    return np.where(low <= 0.0, -np.inf, low), np.where(high >= 1.0, np.inf, high)


def inside(counts: Sequence[Count], places: Floats) -> Flags:
    """Return which places (rows, as shares of the sides) are in which regions (columns)."""
    low, high = faces(counts)
    return np.asarray(((places[:, None] >= low) & (places[:, None] < high)).all(axis=2))


def served(counts: Sequence[Count], places: Floats) -> Flags:
    """Return which places (rows) count for which demands (columns)."""
    return np.asarray(inside(counts, places) == np.array([count.inside for count in counts]))


def cells(counts: Sequence[Count], places: Floats) -> tuple[Floats, Floats]:
    """Return corners of a box around every place on which it is the same for all regions whether they contain it."""
    low, high = faces(counts)
    lo, hi = np.full(places.shape, -np.inf), np.full(places.shape, np.inf)
    for t, within in enumerate(inside(counts, places).T):
        lo[within] = np.maximum(lo[within], low[t] + APART)
        hi[within] = np.minimum(hi[within], high[t] - APART)
        out = np.flatnonzero(~within)
        # Of the faces that separate a place from the region, the one farthest away leaves most room.
        below, above = low[t] - places[out], places[out] - high[t]
        axis = np.maximum(below, above).argmax(axis=1)
        under = (below > above)[np.arange(len(out)), axis]
        hi[out[under], axis[under]] = np.minimum(hi[out[under], axis[under]], low[t, axis[under]] - APART)
        lo[out[~under], axis[~under]] = np.maximum(lo[out[~under], axis[~under]], high[t, axis[~under]] + APART)
    return lo, hi


def prizes(counts: Sequence[Count], v: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Flags]:
    """Return for boxes (corners as shares of the sides) the most that a centre inside gains, and if all centres do."""
    low, high = faces(counts)
    within: Flags = np.all((lo[:, None] >= low) & (hi[:, None] <= high), axis=2)
    without: Flags = np.any((hi[:, None] <= low) | (lo[:, None] >= high), axis=2)
    possible = np.where([count.inside for count in counts], ~without, ~within)
    return np.asarray(possible @ v), np.asarray((within | without).all(axis=1))


def doubtful_regions(places: Floats, shares: Floats, seed: int, most: int) -> list[Count]:
    """Return regions whose number of centres is between two whole numbers, as demands for the larger one.

    Parameters
    ----------
    places, shares
        Centres as shares of the sides of the bounding box, and how much of each the relaxation uses.
    seed
        Of the regions that are tried.
    most
        Regions at most; no two of them contain the same centres.
    """
    rng = np.random.default_rng(seed)
    width = places.shape[1]
    first = min(width, DIRECTIONS)
    ends = np.sort(rng.integers(0, GRID + 1, (TRIES, first, 2)), axis=2)
    ends = np.where(rng.random(ends.shape) < 0.4, [0, GRID], ends)
    depth = np.full((TRIES, len(places)), np.inf)  # how far inside a place is: negative outside
    for a in range(first):
        part, low, high = GRID * places[:, a], ends[:, a, :1], ends[:, a, 1:]
        depth = np.minimum(depth, np.where(low > 0, part - low, np.inf))
        depth = np.minimum(depth, np.where(high < GRID, high - part, np.inf))
    numbers = (depth >= 0.0) @ shares
    doubts = np.abs(numbers % 1.0 - 0.5) + NEARBY * ((np.abs(depth) < NEAR) @ shares)
    order = np.argsort(doubts, kind="stable")
    order = order[np.abs(numbers[order] % 1.0 - 0.5) < CERTAIN]
    _, different = np.unique(np.round(numbers[order], 6), return_index=True)
    rest = width - first
    chosen = []
    for t in order[np.sort(different)][:most]:
        first_faces, last_faces = (tuple(map(int, ends[t, :, side])) for side in (0, 1))
        chosen.append(Count(first_faces + (0,) * rest, last_faces + (GRID,) * rest, True, int(numbers[t]) + 1))
    return chosen
