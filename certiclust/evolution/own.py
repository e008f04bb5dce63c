"""A problem of one's own: choose at most k of m things, with any objective that can be updated from set to set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class SubsetProblem:
    r"""A subset-selection problem for the algorithms of `certiclust.evolution`, at compiled speed.

    f2 is the number of things chosen, as in the paper. f1 is yours: the pair (minus the violated constraints, value),
    compared lexicographically and maximised; the cost of a run is minus the value. You give the tables that f1 is
    computed from, one row for each of the solutions that an algorithm holds at a time (its *slots*), as a
    `typing.NamedTuple` of arrays with methods that numba can compile:

    ``value(self, slot, removed, added) -> float``
        The value of the set in a slot without the things `removed` and with the things `added` (arrays of integers, no
        thing in both). The tables must be the same afterwards as before.
    ``violations(self, slot, removed, added) -> int``
        How many constraints that set violates; leave it out if there are none. Solutions of size k that violate none
        are the feasible ones.
    ``store(self, parent, slot, removed, added) -> None``
        Write the tables of `slot`, which holds that set from now on. The slot held something else before.

    Slot 0 holds the empty set from the start. Methods are compiled when a run starts, each time anew in a new process,
    so a changed method is never mistaken for an old one.

    Attributes
    ----------
    name : str
        What to call it.
    m, k : int
        Number of things, and how many may be chosen.
    tables : callable
        Given the number of slots, returns the tables.
    empty : float, default=0.0
        Value of the empty set.
    empty_violations : int, default=0
        Constraints that the empty set violates.

    Examples
    --------
    The heaviest k of m things, the weight of each set being its table:

    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> from certiclust.evolution import SubsetProblem, evolve
    >>> class Heaviest(NamedTuple):
    ...     weight: np.ndarray
    ...     total: np.ndarray
    ...     def value(self, slot, removed, added):
    ...         return self.total[slot] - self.weight[removed].sum() + self.weight[added].sum()
    ...     def store(self, parent, slot, removed, added):
    ...         self.total[slot] = self.total[parent] - self.weight[removed].sum() + self.weight[added].sum()
    >>> weight = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    >>> problem = SubsetProblem("heaviest", 5, 2, lambda slots: Heaviest(weight, np.zeros(slots)))
    >>> run = evolve(problem, "nsga2", max_iter=2000, random_state=0)
    >>> run.best.tolist(), -run.cost
    ([2, 4], 9.0)
    """

    name: str
    m: int
    k: int
    tables: Callable[[int], Any]
    empty: float = 0.0
    empty_violations: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.m:
            raise ValueError(f"k must be between 1 and the number of things, {self.m}; got {self.k}.")
