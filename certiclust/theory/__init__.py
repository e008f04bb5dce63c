"""The paper's theorems as numbers: the ratio, and the expected iterations within which GSEMO reaches it."""

from certiclust.theory.curve import curve_bound
from certiclust.theory.theorems import Theorem, guarantee, iteration_bound

__all__ = ["Theorem", "curve_bound", "guarantee", "iteration_bound"]
