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
#: Binomial counts with mean at most 1 exceed this with a probability below _NEGLIGIBLE.
_MOST = 24


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
    sizes = np.arange(k + 1)[:, None]
    most = min(m, _MOST)
    lost = np.asarray(binom.pmf(np.arange(min(k, most) + 1), sizes, 1.0 / m))
    gained = np.asarray(binom.pmf(np.arange(min(m, most) + 1), m - sizes, 1.0 / m))
    a = np.repeat(np.arange(lost.shape[1]), gained.shape[1])
    b = np.tile(np.arange(gained.shape[1]), lost.shape[1])
    joint = (lost[:, :, None] * gained[:, None, :]).reshape(k + 1, -1)
    possible = (a + b >= 1) & (sizes - a + b <= k) & (pure_removals | (b >= 1))
    joint = np.where(possible, joint, 0.0)
    relevant = joint.sum(axis=1)
    order = np.argsort(-joint, axis=1, kind="stable")
    joint = np.take_along_axis(joint, order, axis=1)
    width = max(1, int((joint > _NEGLIGIBLE).sum(axis=1).max()))
    order, joint = order[:, :width], joint[:, :width]
    with np.errstate(invalid="ignore"):
        cumulative = np.cumsum(joint, axis=1) / joint.sum(axis=1, keepdims=True)
    last = np.maximum(1, (joint > _NEGLIGIBLE).sum(axis=1)) - 1
    cumulative[np.arange(width) >= last[:, None]] = 1.0  # so that rounding never runs past the last pair
    return FlipLaw(relevant, np.ascontiguousarray(cumulative), a[order].astype(np.int64), b[order].astype(np.int64))
