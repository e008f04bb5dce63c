"""Which parent, which flips: the random half of Algorithm 1, shared by both families of kernels."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.evolution.kernels.archive import Archive
from certiclust.evolution.kernels.rng import State, below, uniform
from certiclust.evolution.laws import FlipLaw
from certiclust.space.compiled import INNER

IntArray = NDArray[np.int64]


@njit(**INNER)
def relevant_probability(archive: Archive, law: FlipLaw) -> tuple[float, int]:
    """Return the probability that an iteration's offspring can change P, and |P|."""
    total = 0.0
    count = 0
    for s in range(archive.slot.size):
        if archive.slot[s] >= 0:
            total += law.relevant[s]
            count += 1
    return total / count, count


@njit(**INNER)
def choose_parent(archive: Archive, law: FlipLaw, mean: float, count: int, state: State) -> int:
    """Draw the parent's size: uniform over P, given that the offspring can change P."""
    target = uniform(state) * mean * count
    last = 0
    for s in range(archive.slot.size):
        if archive.slot[s] >= 0 and law.relevant[s] > 0.0:
            last = s
            target -= law.relevant[s]
            if target < 0.0:
                break
    return last


@njit(**INNER)
def choose_flips(
    archive: Archive, law: FlipLaw, s: int, state: State, removed: IntArray, added: IntArray
) -> tuple[int, int]:
    """Draw the centres that the parent of size `s` loses and gains; write them and return how many there are."""
    return flips_of(archive.members, archive.inside, law, archive.slot[s], s, uniform(state), state, removed, added)


@njit(**INNER)
def flips_of(
    members: IntArray,
    inside: NDArray[np.uint8],
    law: FlipLaw,
    z: int,
    s: int,
    u: float,
    state: State,
    removed: IntArray,
    added: IntArray,
) -> tuple[int, int]:
    """Draw what the parent in slot `z` loses and gains; the uniform `u` decides how many of each."""
    cumulative = law.cumulative
    e = 0
    while e < 8 and u >= cumulative[s, e]:  # most draws end at once; a heavy tail is searched by halving
        e += 1
    if e == 8:
        last = cumulative.shape[1] - 1
        while e < last:
            middle = (e + last) // 2
            if u >= cumulative[s, middle]:
                e = middle + 1
            else:
                last = middle
    a, b = law.removals[s, e], law.additions[s, e]
    t = np.int64(0)  # a literal would be compiled once more
    while t < a:
        removed[t] = members[z, below(state, s)]
        t += not _seen(removed, t)
    t = np.int64(0)
    while t < b:
        added[t] = below(state, inside.shape[1])
        t += inside[z, added[t]] == 0 and not _seen(added, t)
    return a, b


@njit(**INNER)
def _seen(values: IntArray, t: int) -> bool:
    for earlier in range(t):
        if values[earlier] == values[t]:
            return True
    return False


@njit(**INNER)
def given_flips(archive: Archive, s: int, positions: IntArray) -> tuple[IntArray, IntArray]:
    """Return which of the flipped positions are centres that the member of size `s` loses, and which it gains."""
    inside = archive.inside[archive.slot[s]]
    return positions[inside[positions] == 1], positions[inside[positions] == 0]


@njit(**INNER)
def ranked_parent(archive: Archive, rank: int) -> int:
    """Return the size of the member with this rank, smallest first."""
    s = -1
    while rank >= 0:
        s += 1
        rank -= archive.slot[s] >= 0
    return s
