"""The solver: evolve, polish, bound, with one record of what was known when."""

from certiclust.solver.result import Budget, Result
from certiclust.solver.solve import solve
from certiclust.solver.start import Start
from certiclust.solver.task import Callbacks

__all__ = ["Budget", "Callbacks", "Result", "Start", "solve"]
