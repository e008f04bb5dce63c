"""The search: Algorithm 1 of the paper, plain and compiled, when it stops, and the swap polish."""

from certiclust.evolution.curve import CurveRun, gsemo_curve, plain_curve
from certiclust.evolution.engines import Member, engine_for
from certiclust.evolution.gsemo import Run, gsemo, plain_gsemo, random_choices
from certiclust.evolution.stopping import (
    Certified,
    Criterion,
    GapClosed,
    MaxIterations,
    NoImprovement,
    Progress,
    Target,
    TimeLimit,
)

__all__ = [
    "Certified",
    "Criterion",
    "CurveRun",
    "GapClosed",
    "MaxIterations",
    "Member",
    "NoImprovement",
    "Progress",
    "Run",
    "Target",
    "TimeLimit",
    "engine_for",
    "gsemo",
    "gsemo_curve",
    "plain_curve",
    "plain_gsemo",
    "random_choices",
]
