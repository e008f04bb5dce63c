"""The solver: evolve, polish, bound, with one record of what was known when."""

from certiclust.solver.solve import Budget, Result, solve

__all__ = ["Budget", "Result", "solve"]
