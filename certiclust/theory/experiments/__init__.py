"""The experiments: hitting times, fixed budgets and growth, measured over many runs beside the theorems."""

from certiclust.theory.experiments.budgets import FixedBudget, fixed_budget
from certiclust.theory.experiments.growth import Growth, growth
from certiclust.theory.experiments.hitting import HittingTimes, hitting_times
from certiclust.theory.experiments.instances import points, pose
from certiclust.theory.experiments.statistics import Estimate, mean_of, power_law
from certiclust.theory.experiments.targets import certified_optimum

__all__ = [
    "Estimate",
    "FixedBudget",
    "Growth",
    "HittingTimes",
    "certified_optimum",
    "fixed_budget",
    "growth",
    "hitting_times",
    "mean_of",
    "points",
    "pose",
    "power_law",
]
