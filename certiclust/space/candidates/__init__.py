"""Finite sets of candidate centres that provably hold a near-optimal solution of a problem with centres anywhere."""

from certiclust.space.candidates.choice import CANDIDATE_NAMES, candidate_set
from certiclust.space.candidates.lattice import budgeted, ladder, universal
from certiclust.space.candidates.sets import CandidateSet, data_points, midpoints

__all__ = [
    "CANDIDATE_NAMES",
    "CandidateSet",
    "budgeted",
    "candidate_set",
    "data_points",
    "ladder",
    "midpoints",
    "universal",
]
