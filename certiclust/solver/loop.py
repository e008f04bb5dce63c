"""The main loop: evolve, bound, reduce, until the gap is closed, the budget is spent, or the user says stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Strategy(ABC):
    """What a problem brings to the loop: its search, its bound, its reduction."""

    @abstractmethod
    def evolve(self) -> None:
        """Search for better solutions: the upper bound falls."""

    @abstractmethod
    def bound(self) -> None:
        """Prove more about the optimum: the lower bound rises."""

    @abstractmethod
    def reduce(self) -> None:
        """Drop what no better solution contains: search and bound get cheaper."""

    @abstractmethod
    def finished(self) -> bool:
        """Return whether the gap is closed, the budget spent, or a stop asked for."""


def evolve_bound_reduce(strategy: Strategy, record: Callable[[], None]) -> None:
    """Run the loop; `record` is called after every round.

    The three parts feed each other: solutions set the target of the bound and the threshold of the reduction, the
    bound says which candidates are worth a try, and what is dropped is never looked at again.
    """
    record()
    while not strategy.finished():
        strategy.evolve()
        strategy.bound()
        strategy.reduce()
        record()
