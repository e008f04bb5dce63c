"""The laws of mutation as tables, restricted to the offspring that can change the population.

A parent of size s loses a ~ Bin(s, 1/m) centres and gains b ~ Bin(m - s, 1/m), independently. Most such offspring
cannot change P whatever their value: no flip at all, more than k centres, and for the sum problems a pure removal,
which its own parent dominates. The kernels draw the waiting time to the next offspring that *can* change P from its
geometric law, count what was skipped as iterations, and then draw (a, b) from the conditional law: the same process,
iteration for iteration in law, at a fraction of the draws.

An operator that treats all bits alike is its law of the number j of flips: given j, every set of j positions is
equally likely, so (a, b) has probability p_j C(s, a) C(m - s, b) / C(m, j) with j = a + b. One table serves them all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom

#: Pairs (a, b) rarer than this are left out: a 53-bit uniform draw cannot reach them.
_NEGLIGIBLE = 1e-25
#: Binomial counts with mean at most 1 exceed this with a probability below _NEGLIGIBLE.
_MOST = 24
#: Largest k for which heavy-tailed mutation is tabulated: the table and the time to make it grow with k^3.
LARGEST_HEAVY = 150

FloatArray = NDArray[np.float64]


class FlipLaw(NamedTuple):
    """For every parent size s: how likely an offspring is relevant, and the law of (a, b) given that it is.

    Attributes
    ----------
    idle : ndarray of shape (k + 1,)
        Probability that a mutation of a size-s parent flips nothing.
    relevant : ndarray of shape (k + 1,)
        Probability that it can change P.
    cumulative : ndarray of shape (k + 1, e)
        Cumulative conditional probabilities, most likely pair first.
    removals, additions : ndarray of shape (k + 1, e)
        The pairs.
    """

    idle: FloatArray
    relevant: FloatArray
    cumulative: FloatArray
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
    return _table(joint, a, b, lost[:, 0] * gained[:, 0], pure_removals)


def flip_count_law(flips: FloatArray, m: int, k: int, *, pure_removals: bool) -> FlipLaw:
    """Return the law of flipping j uniform positions of `m` with probability ``flips[j]``, j = 0..2k.

    More are not needed: with more than 2k flips a set of at most k has more than k left.
    """
    most = min(k, m, len(flips) - 1)
    a, b = (part.ravel() for part in np.meshgrid(np.arange(most + 1), np.arange(most + 1), indexing="ij"))
    count = np.minimum(a + b, len(flips) - 1)
    sizes = np.arange(k + 1)[:, None]
    ways = _log_choose(sizes, a) + _log_choose(m - sizes, b) - _log_choose(m, np.minimum(a + b, m))
    joint = np.where(a + b < len(flips), np.exp(ways) * flips[count], 0.0)
    return _table(joint, a, b, np.full(k + 1, flips[0]), pure_removals)


def heavy_tailed_flips(m: int, most: int, beta: float) -> FloatArray:
    r"""Return the probabilities of 0..most flips when the rate is :math:`\alpha/m` with a power-law :math:`\alpha`.

    .. math:: p_j = \sum_{\alpha=1}^{\lfloor m/2 \rfloor} \frac{\alpha^{-\beta}}{C}\,
              \mathrm{Bin}(m, \alpha/m)(j), \qquad C = \sum_{\alpha=1}^{\lfloor m/2 \rfloor} \alpha^{-\beta}
    """
    rates = np.arange(1, max(1, m // 2) + 1, dtype=np.float64)
    chances = rates**-beta / np.sum(rates**-beta)
    near = rates <= 4 * most + 200  # a larger rate gives so few flips with a probability below e^-80
    counts = np.arange(min(most, m) + 1)
    return np.asarray(chances[near] @ np.asarray(binom.pmf(counts, m, rates[near, None] / m)))


def heavy_tailed_law(m: int, k: int, beta: float, *, pure_removals: bool) -> FlipLaw:
    """Return the law of heavy-tailed mutation (Doerr, Le, Makhmara & Nguyen 2017) with exponent `beta`."""
    if k > LARGEST_HEAVY:
        raise ValueError(f"heavy-tailed mutation is tabulated up to k = {LARGEST_HEAVY}; got k = {k}.")
    return flip_count_law(heavy_tailed_flips(m, 2 * k, beta), m, k, pure_removals=pure_removals)


def one_bit_law(m: int, k: int, *, pure_removals: bool) -> FlipLaw:
    """Return the law of flipping one uniform bit."""
    return flip_count_law(np.array([0.0, 1.0]), m, k, pure_removals=pure_removals)


def swap_law(m: int, k: int, *, pure_removals: bool) -> FlipLaw:
    """Return the law of swapping a uniform centre for a uniform other candidate, or with probability 1/2 one bit.

    Where nothing can be swapped (no centre, or all candidates) it is always one bit.
    """
    sizes = np.arange(k + 1)
    swaps = np.where((sizes > 0) & (sizes < m), 0.5, 0.0)
    a, b = np.array([1, 0, 1]), np.array([0, 1, 1])
    joint = np.stack([(1 - swaps) * sizes / m, (1 - swaps) * (m - sizes) / m, swaps], axis=1)
    return _table(joint, a, b, np.zeros(k + 1), pure_removals)


def _log_choose(n: NDArray[np.int64] | int, r: NDArray[np.int64]) -> FloatArray:
    """Return the logarithm of n over r, minus infinity where it is zero."""
    rest = np.asarray(n) - r
    value = gammaln(np.asarray(n) + 1.0) - gammaln(r + 1.0) - gammaln(np.maximum(rest, 0) + 1.0)
    return np.where(rest >= 0, value, -np.inf)


def _table(
    joint: FloatArray, a: NDArray[np.int64], b: NDArray[np.int64], idle: FloatArray, pure_removals: bool
) -> FlipLaw:
    """Return the table of the pairs (a, b) with probabilities `joint`, one row per parent size 0..k."""
    k = len(joint) - 1
    sizes = np.arange(k + 1)[:, None]
    possible = (a + b >= 1) & (a <= sizes) & (sizes - a + b <= k) & (pure_removals | (b >= 1))
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
    pairs = a[order].astype(np.int64), b[order].astype(np.int64)
    return FlipLaw(idle, relevant, np.ascontiguousarray(cumulative), *pairs)
