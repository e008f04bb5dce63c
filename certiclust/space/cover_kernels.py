"""Compiled dominance between the rows and columns of a cover problem, by bit sets."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.space.compiled import KERNEL

Offsets = NDArray[np.int64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]

_ONE = np.uint64(1)


@njit(**KERNEL)
def bit_sets(start: Offsets, member: Indices, universe: int) -> Words:
    """Return each list of members as a row of bits."""
    words = np.zeros((start.size - 1, (universe >> 6) + 1), np.uint64)
    for a in range(start.size - 1):
        for e in range(start[a], start[a + 1]):
            words[a, member[e] >> 6] |= _ONE << np.uint64(member[e] & 63)
    return words


@njit(**KERNEL)
def mark_maximal(start: Offsets, member: Indices, universe: int, order: Offsets, keep: Flags) -> None:
    """Set `keep` for the sets that no kept set contains, looked at in `order` (largest first; of equal ones the first).

    A set is compared only with the kept sets of its rarest member. Sets already kept stay so, and empty ones go.
    """
    words = bit_sets(start, member, universe)
    head = np.full(universe, -1, np.int64)
    count = np.zeros(universe, np.int64)
    following = np.empty(max(1, member.size), np.int64)
    owner = np.empty(max(1, member.size), np.int64)
    used = 0
    for j in order:
        if start[j] == start[j + 1]:
            continue
        rarest = member[start[j]]
        for e in range(start[j], start[j + 1]):
            if count[member[e]] < count[rarest]:
                rarest = member[e]
        contained = False
        first, last = member[start[j]] >> 6, member[start[j + 1] - 1] >> 6
        e = head[rarest]
        while e >= 0 and not contained:
            contained = True
            for t in range(first, last + 1):
                if words[j, t] & ~words[owner[e], t]:
                    contained = False
                    break
            e = following[e]
        if contained:
            continue
        keep[j] = True
        for e in range(start[j], start[j + 1]):
            i = member[e]
            following[used], owner[used] = head[i], j
            head[i] = used
            count[i] += 1
            used += 1


@njit(**KERNEL)
def mark_minimal(start: Offsets, member: Indices, universe: int, order: Offsets, keep: Flags) -> None:
    """Set `keep` for the sets that contain no kept set, looked at in `order` (smallest first; of equal ones the first).

    A kept set is filed under its first member; whatever contains it has that member too.
    """
    words = bit_sets(start, member, universe)
    head = np.full(universe, -1, np.int64)
    following = np.full(start.size, -1, np.int64)
    for a in order:
        contains = False
        for e in range(start[a], start[a + 1]):
            b = head[member[e]]
            while b >= 0 and not contains:
                contains = True
                for t in range(member[start[b]] >> 6, (member[start[b + 1] - 1] >> 6) + 1):
                    if words[b, t] & ~words[a, t]:
                        contains = False
                        break
                b = following[b]
            if contains:
                break
        if contains:
            continue
        keep[a] = True
        if start[a] < start[a + 1]:
            first = member[start[a]]
            following[a] = head[first]
            head[first] = a
