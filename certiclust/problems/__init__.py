"""The five problems of the paper: what is minimised, the two objectives of Algorithm 1, feasibility."""

from certiclust.problems.base import MaxProblem, Objective, Problem, SumProblem
from certiclust.problems.fair_kmedian import FairKMedianProblem, critical_balls, fair_radii
from certiclust.problems.kcenter import KCenterProblem
from certiclust.problems.kmeans import KMeansProblem
from certiclust.problems.kmedian import KMedianProblem
from certiclust.problems.ktmm import KTMMProblem

__all__ = [
    "FairKMedianProblem",
    "KCenterProblem",
    "KMeansProblem",
    "KMedianProblem",
    "KTMMProblem",
    "MaxProblem",
    "Objective",
    "Problem",
    "SumProblem",
    "critical_balls",
    "fair_radii",
]
