"""The laboratory: the paper's theorems as numbers, and experiments that measure what they bound."""

from certiclust.evolution import general_lemma
from certiclust.theory.curve import curve_bound
from certiclust.theory.experiments import (
    FixedBudget,
    Growth,
    HittingTimes,
    certified_optimum,
    fixed_budget,
    growth,
    hitting_times,
    points,
    pose,
    power_law,
)
from certiclust.theory.theorems import Bounds, Inputs, Theorem, guarantee, iteration_bound

__all__ = [
    "Bounds",
    "FixedBudget",
    "Growth",
    "HittingTimes",
    "Inputs",
    "Theorem",
    "certified_optimum",
    "curve_bound",
    "fixed_budget",
    "general_lemma",
    "growth",
    "guarantee",
    "hitting_times",
    "iteration_bound",
    "points",
    "pose",
    "power_law",
]
