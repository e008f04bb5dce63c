"""The laboratory: the paper's theorems as numbers, and experiments that measure what they bound."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from certiclust.evolution import general_lemma
from certiclust.theory.curve import curve_bound
from certiclust.theory.theorems import Bounds, Inputs, Theorem, guarantee, iteration_bound

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """Return an experiment: these are imported when first asked for, the theorems by every estimator."""
    if name not in __all__:
        raise AttributeError(f"module 'certiclust.theory' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("certiclust.theory.experiments"), name)
    return value
