"""Clustering that comes with a proof.

scikit-learn estimators for k-center, k-tMM, k-median, k-means and individually fair k-median, searched by an
evolutionary algorithm with proven ratios, and returned with a certificate that anyone can re-check from the data.
"""

from certiclust.certificates import Certificate, CertificateError
from certiclust.estimators import (
    KTMM,
    FairKMedian,
    FairnessCurve,
    InfeasibleError,
    KCenter,
    KMeans,
    KMedian,
    fairness_curve,
)

__version__ = "0.1.0"

__all__ = [
    "KTMM",
    "Certificate",
    "CertificateError",
    "FairKMedian",
    "FairnessCurve",
    "InfeasibleError",
    "KCenter",
    "KMeans",
    "KMedian",
    "__version__",
    "fairness_curve",
]
