"""The search: Algorithm 1 of the paper, plain and compiled, when it stops, and the swap polish."""

from certiclust.evolution.engines import Member, engine_for
from certiclust.evolution.gsemo import Run, gsemo, plain_gsemo, random_choices
from certiclust.evolution.stopping import (
    Certified,
    Criterion,
    GapClosed,
    MaxIterations,
    NoImprovement,
    Progress,
    Sized,
    Target,
    TimeLimit,
)

__all__ = [
    "Certified",
    "Criterion",
    "GapClosed",
    "MaxIterations",
    "Member",
    "NoImprovement",
    "Progress",
    "Run",
    "Sized",
    "Target",
    "TimeLimit",
    "engine_for",
    "gsemo",
    "plain_gsemo",
    "random_choices",
]
