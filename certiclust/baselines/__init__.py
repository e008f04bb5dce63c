"""The algorithms that the proofs imitate, and that the benchmarks compare with: small, plain, in NumPy."""

from certiclust.baselines.fair import jung_kannan_lutz, lp_rounding, mahabadi_vakilian
from certiclust.baselines.kmeans import kmeans_plus_plus, lloyd, local_search_plus_plus, swap_search

__all__ = [
    "jung_kannan_lutz",
    "kmeans_plus_plus",
    "lloyd",
    "local_search_plus_plus",
    "lp_rounding",
    "mahabadi_vakilian",
    "swap_search",
]
