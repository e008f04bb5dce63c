"""The face towards scikit-learn: one thin estimator per problem that validates, solves, and sets attributes."""

from certiclust.estimators.fair_kmedian import FairKMedian, InfeasibleError
from certiclust.estimators.fairness_curve import FairnessCurve, fairness_curve
from certiclust.estimators.kcenter import KCenter
from certiclust.estimators.kmeans import KMeans
from certiclust.estimators.kmedian import KMedian
from certiclust.estimators.ktmm import KTMM

__all__ = [
    "KTMM",
    "FairKMedian",
    "FairnessCurve",
    "InfeasibleError",
    "KCenter",
    "KMeans",
    "KMedian",
    "fairness_curve",
]
