"""When to stop: small callables that look at the progress of a run and combine with ``|``.

The kernels work in blocks, so a criterion also says what ends a block early: the iteration not to be passed, the
patience without progress, the theorem's condition. A run then stops in exactly the iteration asked for. Only
`TimeLimit` looks at the clock; every other criterion counts work and gives the same answer on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

#: No limit, for counts of iterations.
NEVER = 2**60


@dataclass(frozen=True)
class Progress:
    """What a stopping criterion or a callback sees between two blocks of iterations.

    Attributes
    ----------
    seconds : float
        Wall-clock time since the start.
    iteration : int
        Iterations so far, counted as in the paper.
    upper, lower : float
        Best cost of a feasible size-k solution (infinite while there is none) and the lower bound known so far.
    improved : int
        Iteration at which the size-k solution last got better, in cost or in constraints met.
    found : bool
        Whether there is a size-k solution, feasible or not.
    population : int
        |P|.
    certified : bool
        Whether a size-k solution with f1 >= 0 was seen (max problems), or all balls are met (fair).
    """

    seconds: float
    iteration: int
    upper: float
    lower: float
    improved: int
    found: bool
    population: int
    certified: bool


class Criterion:
    """A stopping criterion: true when the run should end.

    Attributes
    ----------
    last, patience : int
        Iteration not to be passed, and iterations without progress after which to stop.
    target : float
        A feasible size-k cost that is good enough.
    until_certified : bool
        Whether the theorem's condition ends the run.
    until_sized : bool
        Whether the first size-k solution ends the run.
    """

    last: int = NEVER
    patience: int = NEVER
    target: float = -inf
    until_certified: bool = False
    until_sized: bool = False

    def __call__(self, progress: Progress) -> bool:
        """Return whether to stop now."""
        waited = progress.iteration - progress.improved if progress.found else 0
        enough = (self.until_certified and progress.certified) or (self.until_sized and progress.found)
        enough |= progress.upper < inf and progress.upper <= self.target
        return enough or progress.iteration >= self.last or waited >= self.patience

    def __or__(self, other: Criterion) -> Criterion:
        """Stop when either says so."""
        return AnyOf(self, other)


class AnyOf(Criterion):
    """Stop when one of several criteria says so."""

    def __init__(self, *criteria: Criterion) -> None:
        self.criteria = criteria
        self.last = min((c.last for c in criteria), default=NEVER)
        self.patience = min((c.patience for c in criteria), default=NEVER)
        self.target = max((c.target for c in criteria), default=-inf)
        self.until_certified = any(c.until_certified for c in criteria)
        self.until_sized = any(c.until_sized for c in criteria)

    def __call__(self, progress: Progress) -> bool:
        """Return whether one of them says stop."""
        return any(criterion(progress) for criterion in self.criteria)


class MaxIterations(Criterion):
    """Stop after `n` iterations, exactly."""

    def __init__(self, n: int) -> None:
        self.last = n


class NoImprovement(Criterion):
    """Stop when the size-k solution has not got better for `n` iterations, exactly; never before there is one."""

    def __init__(self, n: int) -> None:
        self.patience = n


class Certified(Criterion):
    """Stop as soon as the condition of the theorem holds: f1 >= 0 at size k, or all balls met."""

    until_certified = True


class Sized(Criterion):
    """Stop in the very iteration in which a size-k solution, feasible or not, is first found."""

    until_sized = True


class TimeLimit(Criterion):
    """Stop after `seconds` of wall-clock time, at the end of the block that passes them."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, progress: Progress) -> bool:
        """Return whether the time is over."""
        return progress.seconds >= self.seconds


class Target(Criterion):
    """Stop as soon as a feasible size-k solution costs at most `cost`."""

    def __init__(self, cost: float) -> None:
        self.target = cost


class GapClosed(Criterion):
    """Stop when upper / lower - 1 is at most `tolerance`, at the end of the block in which it is."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def __call__(self, progress: Progress) -> bool:
        """Return whether the gap is closed; a cost of zero has no gap."""
        return progress.upper <= progress.lower * (1.0 + self.tolerance)
