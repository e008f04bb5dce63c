"""A small random generator for compiled code: xoroshiro128+ (Blackman & Vigna 2018), seeded through NumPy."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certiclust.space.compiled import KERNEL

State = NDArray[np.uint64]

_R24, _R16, _R37 = np.uint64(24), np.uint64(16), np.uint64(37)
_L40, _L27, _R11 = np.uint64(40), np.uint64(27), np.uint64(11)


def seeded(seed: int) -> State:
    """Return a fresh generator state."""
    return np.asarray(np.random.SeedSequence(seed).generate_state(2, np.uint64), dtype=np.uint64)


@njit(**KERNEL)
def uniform(state: State) -> float:
    """Draw from [0, 1) with 53 bits."""
    a = state[0]
    b = state[1]
    result = a + b
    b ^= a
    state[0] = ((a << _R24) | (a >> _L40)) ^ b ^ (b << _R16)
    state[1] = (b << _R37) | (b >> _L27)
    return (result >> _R11) * (1.0 / 9007199254740992.0)


@njit(**KERNEL)
def below(state: State, n: int) -> int:
    """Draw uniformly from 0..n-1."""
    return int(uniform(state) * n)


@njit(**KERNEL)
def skipped(state: State, p: float) -> int:
    """Draw how many failures precede the first success of probability `p`."""
    if p >= 1.0:
        return 0
    return int(min(np.log(1.0 - uniform(state)) / np.log1p(-p), 9.0e18))
