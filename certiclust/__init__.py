"""Clustering that comes with a proof.

scikit-learn estimators for k-center, k-tMM, k-median, k-means and individually fair k-median, searched by an
evolutionary algorithm with proven ratios, and returned with a certificate that anyone can re-check from the data.
"""

from certiclust.certificates import Certificate, CertificateError
from certiclust.estimators import KTMM, FairKMedian, KCenter, KMeans, KMedian
from certiclust.front import Front, sweep

__version__ = "0.1.0"

__all__ = [
    "KTMM",
    "Certificate",
    "CertificateError",
    "FairKMedian",
    "Front",
    "KCenter",
    "KMeans",
    "KMedian",
    "__version__",
    "sweep",
]
