"""Compiled parts of the bounds with centres anywhere: phi(c) = sum_i min(0, w_i |x_i - c|^p - u_i) and its minima.

p is 2 for k-means and 1 for k-median. A point is covered by c when ``w |x - c|^p < u``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from certiclust.space.compiled import FAST, KERNEL, PART


class Clients(NamedTuple):
    """What phi is made of: points (n, l), weights and multipliers u (n,), and the power, 2 or 1."""

    points: Any
    weights: Any
    u: Any
    power: int


class Level(NamedTuple):
    """The open boxes of one level of halvings.

    `low` and `high` are their corners (boxes, l). `lists` up to the `ends` of each box holds the points that may be
    covered from within it. A bound at or above the box's goal in `goals` closes its halves.
    """

    low: Any
    high: Any
    lists: Any
    ends: Any
    goals: Any


@njit(**PART)
def take_half(low: Any, high: Any, second: bool, lo: Any, hi: Any) -> None:
    """Write the corners of one half of a box, halved across its longest side (the first of equal ones)."""
    axis = 0
    for a in range(len(low)):
        lo[a], hi[a] = low[a], high[a]
        if hi[a] - lo[a] > (1.0 + 1e-9) * (hi[axis] - lo[axis]):
            axis = a
    middle = 0.5 * (lo[axis] + hi[axis])
    if second:
        lo[axis] = middle
    else:
        hi[axis] = middle


@njit(**PART)
def reaches(points: Any, i: int, lo: Any, hi: Any, power: int) -> Any:
    """Return the least and the largest distance of a point to a box, squared for power 2."""
    nearest = farthest = 0.0
    for a in range(points.shape[1]):
        below, above = lo[a] - points[i, a], points[i, a] - hi[a]
        gap = max(below, above, 0.0)
        nearest += gap * gap
        reach = max(-below, -above)
        farthest += reach * reach
    if power == 1:
        nearest, farthest = np.sqrt(nearest), np.sqrt(farthest)
    return nearest, farthest


@njit(**PART)
def phi(clients: Clients, members: Any, start: int, stop: int, center: Any) -> float:
    """Return phi at a centre that covers none but some of these members."""
    value = 0.0
    for e in range(start, stop):
        i = members[e]
        d = 0.0
        for a in range(len(center)):
            d += (clients.points[i, a] - center[a]) ** 2
        if clients.power == 1:
            d = np.sqrt(d)
        value += min(0.0, clients.weights[i] * d - clients.u[i])
    return value


@njit(**PART)
def bound_box(
    clients: Clients, lo: Any, hi: Any, level: Level, box: int, kept: Any, first: int, slope: Any, center: Any
) -> Any:
    """Bound phi on a box: return the bound, the sum of u over the points reached, and where their list ends.

    Points that no centre in the box can cover are dropped, the others listed in `kept` from `first` on. Those that all
    its centres cover are taken together; the rest count with their least distance. Together means the least sum of
    squares over the box (power 2), or the tangent plane of the sum of distances at the middle, if that is better than
    the least distances (power 1). `center` becomes the place of that least sum, or the middle; `slope` is scratch.
    """
    points, weights, u, power = clients.points, clients.weights, clients.u, clients.power
    width = points.shape[1]
    for a in range(width):
        center[a] = lo[a] + 0.5 * (hi[a] - lo[a])
        slope[a] = 0.0
    bound = load = mass = together = apart = covered = 0.0
    stop = first
    for e in range(level.ends[box - 1] if box > 0 else 0, level.ends[box]):
        i = level.lists[e]
        nearest, farthest = reaches(points, i, lo, hi, power)
        if weights[i] * nearest >= u[i]:
            continue
        kept[stop] = i
        stop += 1
        load += u[i]
        if weights[i] * farthest > u[i]:
            bound += weights[i] * nearest - u[i]
            continue
        covered += u[i]
        mass += weights[i]
        d = 0.0
        for a in range(width):
            offset = points[i, a] - lo[a] if power == 2 else center[a] - points[i, a]
            d += offset * offset
        share = weights[i]
        if power == 1:
            d = np.sqrt(d)
            share = weights[i] / d if d > 0.0 else 0.0
            apart += weights[i] * nearest
        together += weights[i] * d
        for a in range(width):
            slope[a] += share * (points[i, a] - lo[a] if power == 2 else center[a] - points[i, a])
    for a in range(width):
        if power == 1:
            together -= abs(slope[a]) * 0.5 * (hi[a] - lo[a])
        elif mass > 0.0:
            best = min(max(slope[a] / mass, 0.0), hi[a] - lo[a])
            together += best * (mass * best - 2.0 * slope[a])
            center[a] = lo[a] + best
    return bound + (max(together, apart) - covered), load, stop


@njit(**KERNEL)
def halve(clients: Clients, level: Level, half: Any, kept: Any) -> Any:
    """Halve every open box across its longest side (the first of equal ones) and bound phi on both halves.

    A half is open while its bound is below the goal of its box.

    Parameters
    ----------
    clients : Clients
        What phi is made of.
    level : Level
        The open boxes.
    half : (2 boxes, 2 l + 4), output
        Corners of each half, its bound, the sum of u over its points, phi at a centre inside, and whether it is open.
    kept : (2 entries,), output
        Lists of the open halves.

    Returns
    -------
    The centres inside (2 boxes, l) and the list ends of the open halves.
    """
    width = clients.points.shape[1]
    inside = np.empty((len(half), width))
    kept_ends = np.empty(len(half), np.int64)
    filled = opened = 0
    slope = np.empty(width)
    for t in range(len(half)):
        box = t // 2
        lo, hi, center = half[t, :width], half[t, width : 2 * width], inside[t]
        take_half(level.low[box], level.high[box], t % 2 == 1, lo, hi)
        bound, load, stop = bound_box(clients, lo, hi, level, box, kept, filled, slope, center)
        half[t, 2 * width], half[t, 2 * width + 1] = bound, load
        half[t, 2 * width + 2] = phi(clients, kept, filled, stop, center)
        half[t, 2 * width + 3] = 1.0 if bound < level.goals[box] else 0.0
        if bound < level.goals[box]:
            filled = stop
            kept_ends[opened] = filled
            opened += 1
    return inside, kept_ends[:opened]


@njit(**KERNEL, **FAST)
def smooth(costs: Any, u: Any, mu: float, gradient: Any) -> float:
    """Return a smooth upper model of min_j rho_j, and add its derivative by u to `gradient`.

    The value is ``-mu log sum_j exp(-rho_j / mu)`` with ``rho_j = sum_i min(0, costs_ji - u_i)`` over the rows of
    `costs` (columns of the relaxation by points); ``mu = 0`` gives the minimum itself and leaves `gradient` alone.
    """
    count, n = costs.shape
    rho, least = np.empty(count), np.inf
    for j in range(count):
        s = 0.0
        for i in range(n):
            s += min(costs[j, i] - u[i], 0.0)
        rho[j] = s
        least = min(least, s)
    if mu == 0.0:
        return least
    mass = 0.0
    for j in range(count):
        rho[j] = np.exp((least - rho[j]) / mu)
        mass += rho[j]
    for j in range(count):
        share = rho[j] / mass
        if share > 1e-9:
            for i in range(n):
                gradient[i] -= share if costs[j, i] < u[i] else 0.0
    return least - mu * np.log(mass)


@njit(**KERNEL, **FAST)
def descend(
    columns: Any, weights: Any, u: Any, power: int, steps: int, low: Any, high: Any, centers: Any, values: Any
) -> None:
    """Move centres to local minima of phi, each within its box, at most so many steps, and give its values there.

    A step goes to the mean (power 2) of the points that a centre covers, or towards their median (power 1, Weiszfeld's
    step). `columns` are the points by coordinates, so that loops over points vectorise.
    """
    width, n = columns.shape
    far, place = np.empty(n), np.empty(width)
    for c in range(len(centers)):
        for a in range(width):  # assigning whole slices would compile the error message for other lengths
            place[a] = min(max(centers[c, a], low[c, a]), high[c, a])
        values[c] = np.inf
        for _ in range(steps):
            for a in range(width):
                x = place[a]
                for i in range(n):
                    far[i] = (far[i] if a > 0 else 0.0) + (columns[a, i] - x) ** 2
            if power == 1:
                for i in range(n):
                    far[i] = np.sqrt(far[i])
            value = mass = 0.0
            for i in range(n):
                v = weights[i] * far[i] - u[i]
                value += min(v, 0.0)
                pull = weights[i] if power == 2 else weights[i] / max(far[i], 1e-300)
                far[i] = pull if v < 0.0 else 0.0
                mass += far[i]
            before = values[c]
            if not value < before:
                break
            values[c] = value
            for a in range(width):
                centers[c, a] = place[a]
            if not mass > 0.0 or (power == 1 and value > before + 1e-7 * value):
                break
            for a in range(width):
                total = 0.0
                for i in range(n):
                    total += far[i] * columns[a, i]
                place[a] = min(max(total / mass, low[c, a]), high[c, a])


@njit(**KERNEL)
def balance(
    offsets: Any, weights: Any, labels: Any, blocks: Any, first: Any, second: Any, sums: Any, mass: Any
) -> None:
    """Swap the blocks of pairs of points of one cluster where that brings the means of its blocks together.

    `offsets` are the points less the mean of their cluster; `sums` and `mass` (cluster, block) their weighted sums and
    weights. What is minimised is what adding up the bounds of the blocks loses, ``sum |sums|^2 / mass``.
    """
    width = offsets.shape[1]
    for e in range(len(first)):
        i, j = first[e], second[e]
        c, a, b = labels[i], blocks[i], blocks[j]
        if a == b or labels[j] != c:
            continue
        change = weights[j] - weights[i]
        if mass[c, a] + change <= 0.0 or mass[c, b] - change <= 0.0:
            continue
        old_a = old_b = new_a = new_b = 0.0
        for x in range(width):
            d = weights[j] * offsets[j, x] - weights[i] * offsets[i, x]
            old_a += sums[c, a, x] ** 2
            old_b += sums[c, b, x] ** 2
            new_a += (sums[c, a, x] + d) ** 2
            new_b += (sums[c, b, x] - d) ** 2
        before = old_a / mass[c, a] + old_b / mass[c, b]
        if new_a / (mass[c, a] + change) + new_b / (mass[c, b] - change) < before:
            for x in range(width):
                d = weights[j] * offsets[j, x] - weights[i] * offsets[i, x]
                sums[c, a, x] += d
                sums[c, b, x] -= d
            mass[c, a] += change
            mass[c, b] -= change
            blocks[i], blocks[j] = b, a
