"""Lagrangian lower bound of k-median with safe rounding, and the reduction rules it proves.

For multipliers ``u >= 0`` the value ``L(u) = sum(u) + sum of the k smallest rho_j`` with
``rho_j = sum_i min(0, c_ij - u_i)`` is a lower bound on the cost of every k candidates. Every number this module hands
out as a bound has the floating-point margin already subtracted, and belongs to the rounded ``u`` that is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import kernels
from certiclust.space.lists import Floats, Lists

Mask = NDArray[np.bool_]
Flags = NDArray[np.int8]

#: ``optimal`` is claimed when the bound reaches cost * (1 - 1e-9); the solver aims a little higher.
CLOSE = 2.5e-10
#: The solver keeps three times the proven margin, so that a verifier that sums in another order agrees.
SAFETY = 3.0
#: List entries read between two polls of ``should_stop`` (about 20 ms).
BLOCK_WORK = 6_000_000
#: Bits of u below its mean that are kept, from the smallest witness to the one that can still prove 1e-9.
GRIDS = (10, 18, 36)


class Instance(NamedTuple):
    """What the bound needs to know about the problem besides the lists.

    Attributes
    ----------
    k
        Number of centres.
    granularity
        1.0 if every weighted cost is an integer (g if every one is a multiple of g), else 0.0.
    dimension
        Number of coordinates behind a distance, 0 for a given matrix; enters the margin.
    noise
        What absolute errors of the distances may add up to in a bound.
    """

    k: int
    granularity: float = 0.0
    dimension: int = 0
    noise: float = 0.0

    def margin(self, n: int, size: float) -> float:
        """Return what a bound over `n` clients, made of numbers that sum to `size`, may err by, several times over."""
        return SAFETY * 2.0**-52 * (n + self.k + self.dimension + 16) * size + self.noise


class Ascent(NamedTuple):
    """Outcome of a subgradient ascent (not rounded: not a claim)."""

    u: Floats
    value: float
    share: Floats
    chosen: Flags
    iterations: int
    work: float


class Bound(NamedTuple):
    """A proven bound at a rounded ``u``.

    ``lower`` is margin-safe and lifted to the granularity; ``rho``, ``last`` and ``low`` (the largest chosen and the
    smallest unchosen free rho) feed the reduction.
    """

    u: Floats
    lower: float
    value: float
    margin: float
    rho: Floats
    chosen: Flags
    last: float
    low: float


def lift(value: float, granularity: float) -> float:
    """Round a valid bound up to the next multiple of ``granularity`` (0: leave it)."""
    if granularity <= 0.0 or not math.isfinite(value):
        return value
    return math.ceil(value / granularity) * granularity


def goal_value(upper: float, granularity: float) -> float:
    """Smallest L that closes the problem, with a little room for margin and rounding of u."""
    if granularity > 0.0:
        return upper - granularity * (1.0 - 1e-3)
    return upper * (1.0 - 0.4 * CLOSE)


def is_closed(lower: float, upper: float, granularity: float) -> bool:
    """Whether a lifted, margin-safe bound proves that nothing better than ``upper`` is left."""
    return lower >= upper if granularity > 0.0 else lower >= upper * (1.0 - CLOSE)


def start_multipliers(c1: Floats, c2: Floats, k: int) -> Floats:
    """Return where an ascent starts: halfway between the nearest and the second-nearest centre (k = 1: the nearest)."""
    return np.asarray(c1.copy() if k == 1 else 0.5 * (c1 + c2))


def ascend(
    lists: Lists,
    instance: Instance,
    u: Floats,
    upper: float,
    fixed: Flags | None = None,
    *,
    step: float = 1.5,
    patience: int = 20,
    floor: float = 1e-3,
    iterations: int = 400,
    target: float | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Ascent:
    """Deflected subgradient ascent of L from ``u``.

    Parameters
    ----------
    lists
        Neighbour lists over the live candidates.
    instance
        Number of centres and granularity.
    u
        Starting multipliers; clamped to the radii.
    upper
        Cost of the incumbent: the ascent ends once it is reached.
    fixed
        1 for candidates that must be open.
    step, patience, floor
        Step factor, halved after ``patience`` idle steps, the ascent ends below ``floor``.
    iterations
        Largest number of steps.
    target
        Value that the step length aims at, None for ``upper``. Aimed at ``upper`` itself, steps die out just below it,
        so a node that can be closed is closed sooner with a target above.
    should_stop
        Polled between blocks of about 20 ms.
    """
    n, m = lists.radius.size, lists.col_ptr.size - 1
    flags = np.zeros(m, np.int8) if fixed is None else fixed
    start = np.minimum(u, lists.radius)
    dual = kernels.Dual(
        start,
        np.zeros(n),
        start.copy(),
        np.zeros(m),
        np.zeros(m, np.int8),
        np.zeros(m),
        flags,
        lists.row_ptr[:-1].copy(),
        np.empty(n),
        np.empty(m),
        np.zeros(9),
    )
    goal = goal_value(upper, instance.granularity)
    dual.scalars[:] = (-kernels.BIG, step, 0.0, 0.0, floor, upper if target is None else target, 0.0, 0.0, goal)
    while dual.scalars[7] == 0.0 and dual.scalars[3] < iterations:
        kernels.ascend_block(lists, dual, instance.k, patience, iterations - int(dual.scalars[3]), BLOCK_WORK)
        if should_stop is not None and should_stop():
            break
    s = dual.scalars
    return Ascent(dual.best_u, float(s[0]), dual.share, dual.chosen, int(s[3]), float(s[6]))


def round_multipliers(u: Floats, bits: int, radius: Floats) -> Floats:
    """Round down to a power-of-two grid ``bits`` below the mean: exact in binary and never above the radius."""
    mean = float(u.mean())
    if not mean > 0.0:
        return np.zeros_like(u)
    grid = 2.0 ** (math.frexp(mean)[1] - bits)
    half_up = np.floor(u / grid + 0.5) * grid
    return np.where(half_up <= radius, half_up, np.floor(u / grid) * grid)


def evaluate(lists: Lists, instance: Instance, u: Floats, fixed: Flags | None = None) -> Bound:
    """Bound at exactly this ``u`` (which must respect the radii), margin subtracted."""
    n, m = lists.radius.size, lists.col_ptr.size - 1
    flags = np.zeros(m, np.int8) if fixed is None else fixed
    rho, chosen = np.zeros(m), np.zeros(m, np.int8)
    start, free = lists.row_ptr[:-1].copy(), np.empty(m)
    value, last, low, total, heaviest = kernels.evaluate(lists, u, flags, instance.k, rho, chosen, start, free)
    if value >= kernels.BIG:
        return Bound(u, math.inf, math.inf, 0.0, rho, chosen, last, low)
    margin = instance.margin(n, total + instance.k * heaviest)
    return Bound(u, lift(value - margin, instance.granularity), value, margin, rho, chosen, last, low)


def certify(
    lists: Lists, instance: Instance, ascent: Ascent, upper: float, fixed: Flags | None = None, fine: bool = False
) -> Bound:
    """Round ``u`` as coarsely as its purpose allows and return the bound of the rounded ``u``.

    If the ascent reached the goal, the coarsest grid that still closes is taken; otherwise the middle one (``fine``:
    the finest), where the loss is far below any gap that is left.
    """
    closes = ascent.value >= goal_value(upper, instance.granularity)
    grids = GRIDS if closes else GRIDS[2:] if fine else GRIDS[1:2]
    bound = None
    for bits in grids:
        bound = evaluate(lists, instance, round_multipliers(ascent.u, bits, lists.radius), fixed)
        if is_closed(bound.lower, upper, instance.granularity):
            break
    assert bound is not None
    return bound


def reduce_candidates(bound: Bound, fixed: Flags, upper: float, granularity: float) -> tuple[Mask, Mask]:
    """Candidates that no better solution contains, and those every better solution contains.

    Real costs: strictly above ``upper`` after the margin, so every solution of cost <= upper survives. Granular costs:
    the lifted bound reaches ``upper``, so every solution of cost < upper survives. Either way
    ``min(upper, bound of what is left)`` bounds the optimum.

    Returns
    -------
    dropped, opened
        Masks over the live candidates; free ones only.
    """
    free = fixed == 0
    with np.errstate(over="ignore", invalid="ignore"):
        outside = bound.value + bound.rho - bound.last - bound.margin
        inside = bound.value - bound.rho + bound.low - bound.margin
    dropped = free & (bound.chosen == 0) & _exceeds(outside, upper, granularity)
    opened = free & (bound.chosen == 1) & _exceeds(inside, upper, granularity)
    return dropped, opened


def _exceeds(values: Floats, upper: float, granularity: float) -> Mask:
    """Whether a solution with this bound cannot be better than ``upper``."""
    if granularity > 0.0:
        return np.asarray(np.ceil(values / granularity) * granularity >= upper)
    return np.asarray(values > upper)
