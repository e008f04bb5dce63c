"""The solver: evolve, polish, bound, with one record of what was known when."""

from certiclust.solver.solve import Budget, Callbacks, Result, Start, solve

__all__ = ["Budget", "Callbacks", "Result", "Start", "solve"]
