"""Replaying the lower bounds of k-means and k-median with centres anywhere, in plain NumPy and SciPy.

The points may be split into blocks: under any centres the cost is the sum of the blocks' costs, so their bounds add up.
A block is bounded by multipliers u and a tree of halved boxes ("boxes"), or by a matrix B ("sdp"). Any u >= 0 and any
symmetric B >= 0 prove something; nothing that is stored is trusted beyond that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from certiclust.certificates.errors import CertificateError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Boxes, pairs of box and point, and points of one matrix B, that are looked at.
MAX_BOXES, MAX_WORK, MAX_MATRIX = 20_000_000, 2_000_000_000, 2000
#: Levels of halved boxes.
MAX_LEVELS = 500
#: Numbers in one piece of work.
PIECE = 4_000_000
_UNIT = 2.0**-52
#: A point counts as covered from a whole box if it is so up to this share of its multiplier.
_TOUCH = 2.0**-43


def single_bound(points: Floats, weights: Floats) -> float:
    """Return the cost of one centre, the mean, rounding subtracted."""
    rows, shift = centred_rows(points, weights)
    total = float(weights @ np.square(rows).sum(axis=1))
    off = float(np.square(weights @ rows).sum()) / float(weights.sum())
    return less_rounding(total * (1 - _UNIT * (len(points) + points.shape[1] + 16)) - off, 1.0, shift)


def boxes_bound(stored: Any, points: Floats, weights: Floats, k: int, power: int = 2) -> float:
    """Return the lower bound that multipliers and boxes prove for any k centres (power 2: k-means, 1: k-median)."""
    n, width = points.shape
    arrays = stored_arrays(
        stored, "boxes", {"members": "i", "ends": "i", "axes": "f", "units": "f", "u": "i", "tree": "i"}
    )
    bits_ends = stored_arrays(stored, "boxes", {"tree_ends": "i"})["tree_ends"]
    members, ends = _blocks(arrays, "boxes", n)
    axes, units, u = arrays["axes"], arrays["units"], arrays["u"]
    if axes.size != width * width or units.size != ends.size or u.size != members.size or bits_ends.size != ends.size:
        raise CertificateError("witness: 'boxes' has arrays of the wrong lengths.")
    if not (np.all(np.diff(bits_ends, prepend=0) > 0) and bits_ends[-1] <= MAX_BOXES):
        raise CertificateError(f"witness: 'boxes' must have between 1 and {MAX_BOXES} boxes.")
    tree = arrays["tree"]
    if tree.size * 8 < bits_ends[-1] or tree.min(initial=0) < 0 or tree.max(initial=0) > 255:
        raise CertificateError("witness: 'boxes' has a tree that is not one.")
    bits = np.unpackbits(tree.astype(np.uint8))
    if not (u.min() >= 0 and np.all((units > 0) & (units < 1e280) & (units > 1e-290))):
        raise CertificateError("witness: 'boxes' must hold multipliers that are not negative.")
    turn = axes.reshape(width, width)
    near = bool(np.abs(turn).max() <= 2.0)
    skew = float(np.linalg.norm(turn.T @ turn - np.eye(width))) if near else math.inf
    if not skew <= 1e-9:
        raise CertificateError("witness: 'boxes' has axes that are not orthonormal.")
    rows, shift = centred_rows(points, weights)
    rows = rows @ turn
    total = 0.0
    for t, part in enumerate(_parts(ends)):
        block, w = rows[members[part]], weights[members[part]]
        halved = bits[bits_ends[t - 1] if t else 0 : bits_ends[t]]
        with np.errstate(over="ignore"):
            multipliers = units[t] * u[part].astype(np.float64)
        if not float(multipliers.sum()) * k < 1e300:
            raise CertificateError("witness: 'boxes' has multipliers that are too large.")
        total += max(0.0, block_of_boxes(block, w, multipliers, halved, k, power))
    stretch = 1.0 + 2 * skew + 2.0**-49
    if power == 1:
        # A sum of distances changes by no more than the weights times what each row is off.
        return max(0.0, total / stretch - shift * math.sqrt(float(weights.sum())))
    return less_rounding(total, stretch, shift)


def sdp_bound(stored: Any, points: Floats, weights: Floats, k: int) -> float:
    """Return the lower bound that the matrices B of the semidefinite relaxation prove for any k centres."""
    arrays = stored_arrays(stored, "sdp", {"members": "i", "ends": "i", "units": "f", "entries": "i"})
    members, ends = _blocks(arrays, "sdp", len(points))
    sizes = np.diff(ends, prepend=0)
    units, entries = arrays["units"], arrays["entries"]
    if sizes.max() > MAX_MATRIX:
        raise CertificateError(f"witness: 'sdp' has a block of more than {MAX_MATRIX} points.")
    stops = np.cumsum(sizes * (sizes + 1) // 2)
    if units.size != ends.size or entries.size != stops[-1]:
        raise CertificateError("witness: 'sdp' has arrays of the wrong lengths.")
    if not (entries.min() >= 0 and entries.max() < 2**31 and np.all((units >= 0) & (units < 1e280))):
        raise CertificateError("witness: 'sdp' must hold matrices that are not negative.")
    rows, shift = centred_rows(points, weights)
    total = 0.0
    for t, part in enumerate(_parts(ends)):
        B = np.zeros((sizes[t], sizes[t]))
        B[np.triu_indices(sizes[t])] = entries[stops[t - 1] if t else 0 : stops[t]]
        with np.errstate(over="ignore"):
            B = np.maximum(B, B.T) * units[t]
        if not float(B.max()) * float(sizes[t]) ** 2 < 1e290:
            raise CertificateError("witness: 'sdp' has a matrix that is too large.")
        total += max(0.0, _block_of_sdp(rows[members[part]], weights[members[part]], B, k))
    return less_rounding(total, 1.0 + 2.0**-49, shift)


# ------------------------------------------------------------------------------------------------------ the witness


def stored_arrays(stored: Any, name: str, kinds: dict[str, str]) -> dict[str, Any]:
    """Return arrays of a witness as integers ("i") or finite numbers ("f"), each one-dimensional."""
    found = {}
    try:
        for key, kind in kinds.items():
            array = np.asarray(stored[key])
            allowed = "iu" if kind == "i" else "iuf"
            if array.ndim != 1 or (array.size and array.dtype.kind not in allowed):
                raise ValueError(key)
            found[key] = array.astype(np.int64 if kind == "i" else np.float64)
            if kind == "f" and not np.isfinite(found[key]).all():
                raise ValueError(key)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise CertificateError(f"witness: {name!r} is malformed ({error}).") from error
    return found


def _blocks(arrays: dict[str, Any], name: str, n: int) -> tuple[Ints, Ints]:
    """Return the members of the blocks, every one of them in at most one, and where blocks end."""
    members, ends = arrays["members"], arrays["ends"]
    if not (ends.size and np.all(np.diff(ends, prepend=0) > 0) and ends[-1] == members.size <= n):
        raise CertificateError(f"witness: {name!r} must list its blocks one after the other.")
    if not (members.min() >= 0 and members.max() < n and np.bincount(members, minlength=n).max() == 1):
        raise CertificateError(f"witness: {name!r} must have every point in at most one block.")
    return members, ends


def _parts(ends: Ints) -> Iterator[slice]:
    for start, stop in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        yield slice(int(start), int(stop))


# ----------------------------------------------------------------------------------------------------------- bounds


def centred_rows(points: Floats, weights: Floats) -> tuple[Floats, float]:
    """Return the rows moved near the origin, and what their rounding may change in the root of any cost."""
    moved = points - points[0]
    moved = moved - weights @ moved / weights.sum()
    diagonal = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    return moved, 2.0**-51 * (points.shape[1] + 4) * diagonal * math.sqrt(float(weights.sum()))


def less_rounding(lower: float, stretch: float, shift: float) -> float:
    """Return the bound for the data, from one for the rounded rows (the root of a cost is a norm)."""
    return max(0.0, math.sqrt(max(0.0, lower) / stretch) - shift) ** 2


class Demands(NamedTuple):
    """Demands "at least so many centres inside (or outside) of a region", one per row, and their multipliers.

    Regions are half-open boxes, in shares of the sides of the bounding box.
    """

    low: Floats
    high: Floats
    inside: NDArray[np.bool_]
    least: Floats
    v: Floats

    def gains(self, place: Floats) -> Floats:
        """Return for boxes the most that a centre in each gains: the multipliers of the demands it may count for."""
        width = self.low.shape[1]
        lo, hi = place[:, None, :width], place[:, None, width:]
        within = ((lo >= self.low) & (hi <= self.high)).all(axis=2)
        without = ((hi <= self.low) | (lo >= self.high)).any(axis=2)
        return np.asarray(np.where(self.inside, ~without, ~within) @ self.v)


def block_of_boxes(
    points: Floats,
    weights: Floats,
    u: Floats,
    bits: NDArray[np.uint8],
    k: int,
    power: int,
    demands: Demands | None = None,
) -> float:
    """Return sum(u) + k min phi, the minimum over the leaves of the tree; with demands, among what meets them."""
    n, width = points.shape
    lower, load = math.inf, 0.0
    for box in _leaves(points, weights, u, bits, power):
        bounds, loads = _leaf_bounds(points, weights, u, box, power)
        if demands is not None:
            bounds = bounds - demands.gains(box.place)
        lower, load = min(lower, float(bounds.min())), max(load, float(loads.max()))
    total = float(u.sum())
    if demands is not None:
        n, load = n + len(demands.v), load + float(demands.v.sum())
        total += float(demands.least @ demands.v)
    wide = 1 if power == 2 else width + 2  # slopes of tangent planes enter once per column
    margin = (_UNIT * (n + k + width + 16) + _TOUCH) * (total + wide * k * load)
    margin += _UNIT * (width + 8) * k * total  # points left out that are covered by an error of their distance
    return float(total + k * lower - margin)


class _Piece(NamedTuple):
    """Some neighbouring boxes of one level, with the points that a centre inside may cover, as pairs (box, point).

    `place` are both corners as shares of the sides of the bounding box, multiples of powers of two.
    """

    level: int
    start: int
    low: Floats
    high: Floats
    place: Floats
    box: Ints
    point: Ints


def _leaves(points: Floats, weights: Floats, u: Floats, bits: NDArray[np.uint8], power: int) -> Iterator[_Piece]:
    """Yield the leaves of the tree: they cover the bounding box, outside of which no centre is better.

    A bit per box, level by level, says whether it is halved, across its longest side.
    """
    levels = _levels(bits)
    before = [np.concatenate([[0], np.cumsum(flags)]) for flags in levels]
    n, width = points.shape
    corners = points.min(axis=0)[None], points.max(axis=0)[None]
    place = np.concatenate([np.zeros((1, width)), np.ones((1, width))], axis=1)
    waiting = [_Piece(0, 0, *corners, place, np.zeros(n, dtype=np.intp), np.arange(n))]
    work = 0
    while waiting:
        piece = waiting.pop()
        if len(piece.box) > PIECE and len(piece.low) > 1:
            waiting += _cut(piece)
            continue
        work += len(piece.box) + len(piece.low)
        if work > MAX_WORK:
            raise CertificateError(f"witness: 'boxes' takes more than {MAX_WORK} distances to check.")
        flags = levels[piece.level][piece.start : piece.start + len(piece.low)]
        if not flags.all():
            yield _chosen(piece, ~flags)
        if flags.any():
            start = 2 * int(before[piece.level][piece.start])
            halves = _halves(_chosen(piece, flags), start)
            waiting.append(_reached(points, weights, u, halves, power))


def _levels(bits: NDArray[np.uint8]) -> list[NDArray[np.bool_]]:
    """Return the bits of every level of the tree."""
    levels: list[NDArray[np.bool_]] = []
    used, size = 0, 1
    while size:
        flags = bits[used : used + size] == 1
        if len(flags) < size:
            raise CertificateError("witness: 'boxes' has a tree that ends too early.")
        if len(levels) == MAX_LEVELS:
            raise CertificateError(f"witness: 'boxes' has a tree of more than {MAX_LEVELS} levels.")
        levels.append(flags)
        used, size = used + size, 2 * int(flags.sum())
    if used != len(bits):
        raise CertificateError("witness: 'boxes' has a tree with boxes that belong nowhere.")
    return levels


def _cut(piece: _Piece) -> list[_Piece]:
    """Return the two halves of a piece that is too large to be worked on at once."""
    middle = len(piece.low) // 2
    return [_taken(piece, slice(0, middle), 0), _taken(piece, slice(middle, len(piece.low)), middle)]


def _taken(piece: _Piece, part: slice, offset: int) -> _Piece:
    """Return neighbouring boxes of a piece, `offset` boxes after its first."""
    mine = (piece.box >= part.start) & (piece.box < part.stop)
    boxes = piece.low[part], piece.high[part], piece.place[part]
    return _Piece(piece.level, piece.start + offset, *boxes, piece.box[mine] - offset, piece.point[mine])


def _chosen(piece: _Piece, mask: NDArray[np.bool_]) -> _Piece:
    """Return the boxes of the mask, numbered anew."""
    inside = mask[piece.box]
    number = np.cumsum(mask) - 1
    box, point = number[piece.box[inside]], piece.point[inside]
    return _Piece(piece.level, piece.start, piece.low[mask], piece.high[mask], piece.place[mask], box, point)


def _halves(piece: _Piece, start: int) -> _Piece:
    """Return both halves of every box, each across its longest side (the first of equal ones)."""
    width = piece.high - piece.low
    every = np.arange(len(width))
    axis = np.zeros(len(width), dtype=np.intp)
    for a in range(1, width.shape[1]):
        axis[width[:, a] > (1.0 + 1e-9) * width[every, axis]] = a
    middle = 0.5 * (piece.low[every, axis] + piece.high[every, axis])
    low, high = np.repeat(piece.low, 2, axis=0), np.repeat(piece.high, 2, axis=0)
    high[2 * every, axis] = middle
    low[2 * every + 1, axis] = middle
    place, columns = np.repeat(piece.place, 2, axis=0), width.shape[1]
    middle = 0.5 * (piece.place[every, axis] + piece.place[every, columns + axis])
    place[2 * every, columns + axis] = middle
    place[2 * every + 1, axis] = middle
    box = np.concatenate([2 * piece.box, 2 * piece.box + 1])
    return _Piece(piece.level + 1, start, low, high, place, box, np.concatenate([piece.point, piece.point]))


def _nearest(points: Floats, piece: _Piece, power: int) -> Floats:
    """Return the distance of every point to its box, squared for power 2."""
    nearest = np.zeros(len(piece.box))
    for a in range(points.shape[1]):
        x = points[piece.point, a]
        gap = np.maximum(piece.low[piece.box, a] - x, x - piece.high[piece.box, a])
        nearest += np.square(np.maximum(gap, 0.0))
    return nearest if power == 2 else np.sqrt(nearest)


def _reached(points: Floats, weights: Floats, u: Floats, piece: _Piece, power: int) -> _Piece:
    """Return the piece without the points that no centre in their box covers."""
    kept = weights[piece.point] * _nearest(points, piece, power) < u[piece.point]
    return piece._replace(box=piece.box[kept], point=piece.point[kept])


def _sums(box: Ints, values: Floats, count: int) -> Floats:
    """Return the sum of the values of every box."""
    return np.bincount(box, values, minlength=count).astype(np.float64)


def _leaf_bounds(points: Floats, weights: Floats, u: Floats, piece: _Piece, power: int) -> tuple[Floats, Floats]:
    """Return for every box a lower bound of phi, and the sum of the multipliers that enter it.

    Points that are covered from the whole box are taken together (`_squares`, `_tangents`), the others count with
    their least distance.
    """
    count = len(piece.low)
    box, w, v = piece.box, weights[piece.point], u[piece.point]
    near = w * _nearest(points, piece, power)
    farthest = np.zeros(len(box))
    for a in range(points.shape[1]):
        x = points[piece.point, a]
        farthest += np.square(np.maximum(x - piece.low[box, a], piece.high[box, a] - x))
    far = w * (farthest if power == 2 else np.sqrt(farthest))
    covered = far <= v * (1.0 + _TOUCH)
    bounds = _sums(box, np.where(covered, -v, np.minimum(near - v, 0.0)), count)
    inside = piece._replace(box=box[covered], point=piece.point[covered])
    if power == 2:
        bounds += _squares(points, w[covered], inside)
    else:
        apart = _sums(inside.box, near[covered], count)
        bounds += np.maximum(_tangents(points, w[covered], inside), apart)
    return bounds, _sums(piece.box, v, count)


def _squares(points: Floats, mass: Floats, piece: _Piece) -> Floats:
    """Return for every box the least sum of squared distances of its points to a centre in the box."""
    count = len(piece.low)
    heavy = _sums(piece.box, mass, count)
    total = np.zeros(count)
    for a in range(points.shape[1]):
        offset = points[piece.point, a] - piece.low[piece.box, a]
        mean = _sums(piece.box, mass * offset, count) / np.where(heavy > 0, heavy, 1.0)
        best = np.clip(mean, 0.0, piece.high[:, a] - piece.low[:, a])
        total += _sums(piece.box, mass * np.square(offset - best[piece.box]), count)
    return total


def _tangents(points: Floats, mass: Floats, piece: _Piece) -> Floats:
    """Return for every box a lower bound of the sum of distances: convex, so above its tangent plane at the middle."""
    count = len(piece.low)
    offset = (piece.low + 0.5 * (piece.high - piece.low))[piece.box] - points[piece.point]
    distance = np.sqrt(np.square(offset).sum(axis=1))
    total = _sums(piece.box, mass * distance, count)
    pull = np.where(distance > 0, mass / np.where(distance > 0, distance, 1.0), 0.0)
    for a in range(points.shape[1]):
        slope = _sums(piece.box, pull * offset[:, a], count)
        total -= np.abs(slope) * 0.5 * (piece.high[:, a] - piece.low[:, a])
    return total


def _block_of_sdp(points: Floats, weights: Floats, B: Floats, k: int) -> float:
    """Return tr G - s'Bs/W minus the k - 1 largest eigenvalues of P (G + B) P, rounding subtracted."""
    n, width = points.shape
    if n <= k:
        return 0.0
    s, total = np.sqrt(weights), float(weights.sum())
    Y = s[:, None] * (points - weights @ points / total)
    G = Y @ Y.T
    P = np.eye(n) - np.outer(s, s) / total
    M = P @ (G + B) @ P
    M = (M + M.T) / 2
    largest = max(float(np.abs(M).max()), 1e-300)
    size = largest * float(np.linalg.norm(M / largest)) + float(np.trace(G)) + float(s @ B @ s) / total
    top = eigh(M, eigvals_only=True, subset_by_index=[n - k + 1, n - 1]) if k > 1 else np.zeros(1)
    margin = 2.0**-50 * (n + width) * k * size
    return float(np.trace(G) - s @ B @ s / total - np.maximum(top, 0.0).sum() - margin)
