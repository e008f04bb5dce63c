"""Lower bounds on the optimum, each with the evidence from which anyone can check it."""

from certiclust.bounds.bound import Bound, rounding_margin
from certiclust.bounds.separation import separation_bound
from certiclust.bounds.swap_optimal import swap_bound, swap_ratio

__all__ = ["Bound", "rounding_margin", "separation_bound", "swap_bound", "swap_ratio"]
