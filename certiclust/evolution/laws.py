"""The law of bit-wise mutation, restricted to the offspring that can change the population.

A parent of size s loses a ~ Bin(s, 1/m) centres and gains b ~ Bin(m - s, 1/m), independently. Most such offspring
cannot change P whatever their value: no flip at all, more than k centres, and for the sum problems a pure removal,
which its own parent dominates. The kernels draw the waiting time to the next offspring that *can* change P from its
geometric law, count what was skipped as iterations, and then draw (a, b) from the conditional law: the same process,
iteration for iteration in law, at a fraction of the draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

#: Pairs (a, b) rarer than this are left out: a 53-bit uniform draw cannot reach them.
_NEGLIGIBLE = 1e-25


class FlipLaw(NamedTuple):
    """For every parent size s: how likely an offspring is relevant, and the law of (a, b) given that it is.

    Attributes
    ----------
    relevant : ndarray of shape (k + 1,)
        Probability that a mutation of a size-s parent can change P.
    cumulative : ndarray of shape (k + 1, e)
        Cumulative conditional probabilities, most likely pair first.
    removals, additions : ndarray of shape (k + 1, e)
        The pairs.
    """

    relevant: NDArray[np.float64]
    cumulative: NDArray[np.float64]
    removals: NDArray[np.int64]
    additions: NDArray[np.int64]


def bitwise_law(m: int, k: int, *, pure_removals: bool) -> FlipLaw:
    """Return the law of flipping each of `m` bits with probability 1/m, for parents of size 0..k.

    Parameters
    ----------
    m, k : int
        Number of bits and largest size.
    pure_removals : bool
        Whether offspring that only lose centres can change P: yes for k-center and k-tMM, no for the sum problems.
    """
    relevant = np.zeros(k + 1)
    laws: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]] = []
    for s in range(k + 1):
        lost = _pmf(s, 1.0 / m)
        gained = _pmf(m - s, 1.0 / m)
        a, b = np.meshgrid(np.arange(lost.size), np.arange(gained.size), indexing="ij")
        joint = np.outer(lost, gained)
        keep = (a + b >= 1) & (s - a + b <= k) & (joint > _NEGLIGIBLE)
        if not pure_removals:
            keep &= b >= 1
        order = np.argsort(-joint[keep], kind="stable")
        relevant[s] = joint[keep].sum()
        laws.append((joint[keep][order], a[keep][order], b[keep][order]))
    width = max(1, max(p.size for p, _, _ in laws))
    cumulative = np.ones((k + 1, width))
    removals = np.zeros((k + 1, width), dtype=np.int64)
    additions = np.zeros((k + 1, width), dtype=np.int64)
    for s, (p, a, b) in enumerate(laws):
        if p.size:
            cumulative[s, : p.size] = np.cumsum(p) / p.sum()
            cumulative[s, p.size - 1 :] = 1.0
            removals[s, : p.size], additions[s, : p.size] = a, b
    return FlipLaw(relevant, cumulative, removals, additions)


def _pmf(trials: int, probability: float) -> NDArray[np.float64]:
    """Return the binomial probabilities of 0, 1, ... as far as they are not negligible."""
    p = binom.pmf(np.arange(min(trials, 64) + 1), trials, probability)
    return np.asarray(p[: int(np.flatnonzero(p > _NEGLIGIBLE)[-1]) + 1], dtype=np.float64)
