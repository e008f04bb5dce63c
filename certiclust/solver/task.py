"""What every run of the solver keeps to: when to end, its seed, where it starts from, and whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter

from certiclust.evolution import Progress
from certiclust.evolution.gsemo import HistoryRow
from certiclust.solver.result import Budget
from certiclust.solver.start import NOWHERE, Start

#: Seconds that the last checks may take beyond a time limit, and a tenth of the limit more.
GRACE = 0.03

Callbacks = tuple[Callable[[Progress], None], ...]


@dataclass(frozen=True)
class Task:
    """One call of the solver, whose clock starts with it.

    Attributes
    ----------
    budget : Budget
        When to end.
    random_state : int
        Seed.
    interrupted : callable
        Returns whether the user has asked for an end.
    certify : bool
        Whether to prove a lower bound.
    callbacks : tuple of callable
        Told of the progress.
    begin : Start
        What the search starts from.
    start : float
        When it began, in seconds.
    """

    budget: Budget
    random_state: int
    interrupted: Callable[[], bool]
    certify: bool = True
    callbacks: Callbacks = ()
    begin: Start = NOWHERE
    start: float = field(default_factory=lambda: perf_counter())

    @property
    def max_iter(self) -> float:
        """The limit on the iterations, infinite if there is none."""
        return self.budget.max_iter or inf

    def spent(self) -> float:
        """Return the seconds since the start."""
        return perf_counter() - self.start

    def left(self) -> float:
        """Return the seconds left, infinite without a time limit."""
        return inf if self.budget.time_limit is None else self.budget.time_limit - self.spent()

    def used(self) -> float:
        """Return the share of the time limit that is over, 0 without one."""
        return 0.0 if self.budget.time_limit is None else self.spent() / max(self.budget.time_limit, 1e-9)

    def should_stop(self) -> bool:
        """Return whether the time is over, or the user has asked for an end."""
        return self.interrupted() or self.left() <= 0

    def stops_after(self, share: float) -> Callable[[], bool]:
        """Return a question like `should_stop`, for a share of the time limit."""
        return lambda: self.interrupted() or self.used() >= share

    def checks_left(self) -> float:
        """Return the seconds left for the last checks, infinite without a time limit.

        What a search has found is worth a little more time to look at its swaps: without them nothing is claimed.
        """
        limit = self.budget.time_limit
        return inf if limit is None else limit * 1.1 + GRACE - self.spent()

    def checks_stop(self) -> bool:
        """Return whether the last checks must end as well."""
        return self.interrupted() or self.checks_left() <= 0

    def recorder(self) -> tuple[list[HistoryRow], Callable[[int, float, float, int], None]]:
        """Return a history and the function that adds a row to it and tells the callbacks."""
        history: list[HistoryRow] = []
        begun = perf_counter()

        def record(iteration: int, upper: float, lower: float, candidates: int) -> None:
            seconds = perf_counter() - begun
            if upper < inf:
                history.append((seconds, iteration, upper, lower, candidates))
            for callback in self.callbacks:
                callback(Progress(seconds, iteration, upper, lower, iteration, upper < inf, 1, upper < inf))

        return history, record
