"""The solver: evolve, polish, bound, with one record of what was known when."""

from certiclust.solver.solve import Budget, Callbacks, Result, solve
from certiclust.solver.start import Start

__all__ = ["Budget", "Callbacks", "Result", "Start", "solve"]
