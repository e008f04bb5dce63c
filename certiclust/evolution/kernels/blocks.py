"""Lloyd's iteration by blocks of neighbouring points, compiled: most centres are ruled out for a whole block at once.

This is the filtering of Kanungo et al. (2002), An efficient k-means clustering algorithm: analysis and implementation,
without the tree: all blocks have the same number of points, so that loops over these vectorise. In the plane few
centres are left for a block, and neither labels nor bounds have to be kept from one pass to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from certiclust.evolution.kernels.clustering import Clustering, Floats, Ints, Pace, Workspace, explained
from certiclust.evolution.kernels.lloyd import ended, move_centers
from certiclust.space.compiled import FAST, KERNEL, PART, VIEWS

#: Points of a block: so many that the loops over them are long, so few that they have few centres near.
SIZE = 128


class Blocks(NamedTuple):
    """Points in blocks with weights and rows, the last block filled up with points of weight 0, and corners of blocks.

    `points` has the axes block, column, place in the block.
    """

    points: Floats
    weights: Floats
    rows: Ints
    low: Floats
    high: Floats


class Sieve(NamedTuple):
    """Centres left for a block; of its points the nearest of these, and squares of the two least distances."""

    row: Floats
    left: Ints
    nearest: Ints
    least: Floats
    second: Floats


@njit(**PART)
def leave_nearest(blocks: Blocks, work: Workspace, sieve: Sieve, d: int, b: int) -> int:
    """List the centres that can be nearest to a point of a block; returns how many."""
    k, row, columns = work.columns.shape[1], sieve.row, work.columns
    best, middle = np.inf, 0
    for j in range(k):
        s = 0.0
        for t in range(d):
            v = 2.0 * columns[t, j] - (blocks.low[b, t] + blocks.high[b, t])
            s += v * v
        row[j] = s
    for j in range(k):
        if row[j] < best:
            best, middle = row[j], j
    for j in range(k):
        s = 0.0
        for t in range(d):
            # If centre j is nearer than the middle one anywhere, then in the corner that is farthest on its side.
            x, y = columns[t, j], columns[t, middle]
            corner = blocks.high[b, t] if x > y else blocks.low[b, t]
            s += (x - y) * (x + y - 2.0 * corner)
        row[j] = s
    row[middle] = -1.0
    return listed(sieve, k, 0.0)


@njit(**PART)
def leave_two(blocks: Blocks, work: Workspace, sieve: Sieve, d: int, b: int) -> int:
    """List the centres that can be among the two nearest to a point of a block; returns how many."""
    k, row, columns = work.columns.shape[1], sieve.row, work.columns
    first, second = np.inf, np.inf
    for j in range(k):
        near, far = 0.0, 0.0
        for t in range(d):
            below, above = blocks.low[b, t] - columns[t, j], columns[t, j] - blocks.high[b, t]
            outside, across = max(below, above, 0.0), max(-below, -above)
            near += outside * outside
            far += across * across
        row[j] = near
        if far < second:
            first, second = min(first, far), max(first, far)
    return listed(sieve, k, second * (1.0 + 1e-12))


@njit(**PART)
def listed(sieve: Sieve, k: int, limit: float) -> int:
    """List the centres whose entry is at most a limit, without a branch to be guessed wrong; returns how many."""
    left = 0
    for j in range(k):
        sieve.left[left] = j
        left += int(sieve.row[j] <= limit)
    return left


@njit(**PART)
def find_nearest(blocks: Blocks, work: Workspace, sieve: Sieve, d: int, b: int, left: int) -> None:
    """Find the nearest of the centres left for every point of a block."""
    for i in range(SIZE):
        sieve.least[i] = np.inf
    for q in range(left):
        j = sieve.left[q]
        for i in range(SIZE):
            s = 0.0
            for t in range(d):
                v = blocks.points[b, t, i] - work.columns[t, j]
                s += v * v
            sieve.nearest[i] = j if s < sieve.least[i] else sieve.nearest[i]
            sieve.least[i] = min(s, sieve.least[i])


@njit(**PART)
def find_two(blocks: Blocks, work: Workspace, sieve: Sieve, d: int, b: int, left: int) -> None:
    """Find the nearest of the centres left for every point of a block, and the square of the second least distance.

    Not one with `find_nearest`: the second least would slow down every pass, and only labels need it.
    """
    for i in range(SIZE):
        sieve.least[i] = sieve.second[i] = np.inf
    for q in range(left):
        j = sieve.left[q]
        for i in range(SIZE):
            s = 0.0
            for t in range(d):
                v = blocks.points[b, t, i] - work.columns[t, j]
                s += v * v
            sieve.nearest[i] = j if s < sieve.least[i] else sieve.nearest[i]
            sieve.second[i] = min(sieve.second[i], max(s, sieve.least[i]))
            sieve.least[i] = min(s, sieve.least[i])


@njit(**PART)
def add_block(blocks: Blocks, state: Clustering, sieve: Sieve, d: int, b: int, left: int) -> None:
    """Add the points of a block to the sums of their nearest centres; `second` is overwritten."""
    for q in range(left):
        j = sieve.left[q]
        number, mass = 0, 0.0
        for i in range(SIZE):
            w = blocks.weights[b, i]
            w = w if sieve.nearest[i] == j else 0.0
            sieve.second[i] = w
            number += int(w > 0.0)
            mass += w
        state.sizes[j] += number
        state.masses[j] += mass
        for t in range(d):
            s = 0.0
            for i in range(SIZE):
                s += sieve.second[i] * blocks.points[b, t, i]
            state.sums[j, t] += s


@njit(**PART)
def copy_centers(state: Clustering, work: Workspace, d: int) -> None:
    """Put the centres into columns, so that loops over them vectorise."""
    for j in range(state.sizes.shape[0]):
        for t in range(d):
            work.columns[t, j] = state.centers[j, t]


@njit(**PART)
def add_all(blocks: Blocks, state: Clustering, work: Workspace, sieve: Sieve, d: int) -> None:
    """Sum up the points nearest to every centre."""
    for j in range(state.sizes.shape[0]):
        state.sizes[j], state.masses[j] = 0, 0.0
        for t in range(d):
            state.sums[j, t] = 0.0
    for b in range(blocks.low.shape[0]):
        left = leave_nearest(blocks, work, sieve, d, b)
        find_nearest(blocks, work, sieve, d, b, left)
        add_block(blocks, state, sieve, d, b, left)
        work.progress[3] += 2 * state.sizes.shape[0] + left * SIZE


@njit(**KERNEL, **VIEWS, **FAST)
def sift(
    blocks: Blocks,
    columns: tuple[int, ...],
    state: Clustering,
    work: Workspace,
    sieve: Sieve,
    total: float,
    pace: Pace,
    pause: int,
) -> bool:
    """Run Lloyd's iteration as `lloyd` does, for `pause` passes; returns whether it ended, else call again.

    The first pass is from the centres as they are, and not counted. Of the clustering only centres, sums, masses and
    sizes are kept. `columns` is a tuple as long as there are columns: that number is known when this is compiled, and
    the loops over it vanish.
    """
    d = len(columns)
    for _ in range(pause):
        begun = work.progress[0] > 0
        if begun:
            if move_centers(state, work, work.progress[6] > 0) == 0.0:
                return True
        else:
            copy_centers(state, work, d)
        add_all(blocks, state, work, sieve, d)
        cost = total - explained(state)
        if begun:
            if ended(work, cost, pace):
                return True
        else:
            work.progress[0], work.progress[6] = 1, 0
            work.cost[0] = work.cost[1] = cost
    return False


@njit(**KERNEL, **VIEWS, **FAST)
def label(
    blocks: Blocks, columns: tuple[int, ...], state: Clustering, work: Workspace, sieve: Sieve, start: int, stop: int
) -> None:
    """Assign the points of some blocks to their nearest centres; sums, masses and sizes are added to."""
    d = len(columns)
    copy_centers(state, work, d)
    for b in range(start, stop):
        left = leave_two(blocks, work, sieve, d, b)
        find_two(blocks, work, sieve, d, b, left)
        work.progress[3] += 2 * state.sizes.shape[0] + 2 * left * SIZE
        for i in range(SIZE):
            if blocks.weights[b, i] > 0.0:
                row = blocks.rows[b, i]
                state.labels[row] = sieve.nearest[i]
                state.upper[row], state.lower[row] = np.sqrt(sieve.least[i]), np.sqrt(sieve.second[i])
        add_block(blocks, state, sieve, d, b, left)
