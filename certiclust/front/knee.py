"""Which size to take: the knee of the curve of costs, and whether the bounds prove that it is there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: What one more cluster might save at most, as a part of what all save: above, the bound says nothing of use.
WIDE = 0.5

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Suggestion(NamedTuple):
    """A number of clusters and why.

    Attributes
    ----------
    k
        The number of clusters.
    reason
        Why this one, in words.
    proved
        Whether the curve of the optima, which lies between lower bounds and costs, has its knee there for certain.
    """

    k: int
    reason: str
    proved: bool


def knee(sizes: Ints, costs: Floats, lower: Floats) -> Suggestion:
    """Return the size at which a curve of costs lies farthest below the chord between its ends.

    The optimum of every size lies between its lower bound and its cost. So the curve of the optima lies below its own
    chord by at least the chord of the lower bounds minus the cost, and by at most the chord of the costs minus the
    lower bound. The size with the largest "at least" is suggested; it is proved to be the knee of the optima if that is
    no less than the "at most" of every other size.
    """
    first, last = int(sizes[0]), int(sizes[-1])
    if len(sizes) == 1:
        return Suggestion(first, f"k = {first} is the only size that was looked at.", False)
    if not costs.min() < costs[0]:
        return Suggestion(first, f"no size up to {last} costs less than k = {first}.", bool(lower.min() >= costs[0]))
    along = (sizes - first) / (last - first)
    at_least = lower[0] + along * (lower[-1] - lower[0]) - costs
    at_most = costs[0] + along * (costs[-1] - costs[0]) - lower
    at_most[[0, -1]] = 0.0  # the ends of a curve are on its chord
    at_least[[0, -1]] = 0.0
    place = int(np.argmax(at_least))
    if at_least[place] <= 0.0:  # the bounds are too wide: by the costs alone
        below = costs[0] + along * (costs[-1] - costs[0]) - costs
        place = int(np.argmax(below))
        if below[place] <= 1e-12 * costs[0]:
            place = int(np.argmin(costs))
    k = int(sizes[place])
    others = np.delete(at_most, place)
    proved = bool(at_least[place] > 0.0 and (others <= at_least[place]).all())
    return Suggestion(k, _reason(sizes, costs, lower, place, at_least, at_most, proved), proved)


def _reason(
    sizes: Ints, costs: Floats, lower: Floats, place: int, at_least: Floats, at_most: Floats, proved: bool
) -> str:
    """Return why a size is suggested, in words."""
    first, last, k = int(sizes[0]), int(sizes[-1]), int(sizes[place])
    saved = (costs[0] - costs[place]) / (costs[0] - costs.min())
    text = f"k = {k} brings {saved:.0%} of what k = {last} saves against k = {first}"
    if place == len(sizes) - 1:
        return f"{text}: the costs have no knee up to k = {last}, a larger k_max may show one."
    saving = costs[0] - costs.min()
    most = max(0.0, costs[place] - lower[place + 1]) / saving
    if most <= WIDE:
        text += f", and no {k + 1} clusters can save more than another {most:.1%}"
    else:  # a bound that allows nearly anything is not worth saying
        text += (
            f", and the {k + 1} clusters found save another {max(0.0, costs[place] - costs[place + 1]) / saving:.1%}"
        )
    if proved:
        return f"{text}; the bounds prove that the curve of the optima has its knee there."
    rivals = sizes[(at_most > at_least[place]) & (sizes != k)]
    if at_least[place] > 0.0 and 0 < len(rivals) <= 5:
        names = ", ".join(map(str, rivals.tolist()))
        return f"{text}; it is the knee of the costs found, and the bounds leave k = {names} possible for the optima."
    return f"{text}; it is the knee of the costs found, the bounds do not prove it for the optima."
