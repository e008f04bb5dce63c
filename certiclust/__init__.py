"""Clustering that comes with a proof.

scikit-learn estimators for k-center, k-tMM, k-median, k-means and individually fair k-median, searched by an
evolutionary algorithm with proven ratios, and returned with a certificate that anyone can re-check from the data.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from certiclust.front import Front, sweep

__version__ = "0.1.0"

__all__ = [
    "KTMM",
    "Certificate",
    "CertificateError",
    "FairKMedian",
    "FairnessCurve",
    "Front",
    "InfeasibleError",
    "KCenter",
    "KMeans",
    "KMedian",
    "__version__",
    "fairness_curve",
    "sweep",
]

# Names are imported when first asked for: the command line answers --help and completions without scikit-learn.
_ROOMS = {"Certificate": "certificates", "CertificateError": "certificates", "Front": "front", "sweep": "front"}


def __getattr__(name: str) -> Any:
    """Return a public name, or a room of the package."""
    if name in __all__:
        value = getattr(import_module(f"certiclust.{_ROOMS.get(name, 'estimators')}"), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'certiclust' has no attribute {name!r}")
    else:
        try:
            value = import_module(f"certiclust.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"module 'certiclust' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
