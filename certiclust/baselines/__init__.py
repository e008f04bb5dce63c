"""The algorithms that the proofs imitate, and that the benchmarks compare with: small, plain, in NumPy."""

from certiclust.baselines.kmeans import kmeans_plus_plus, lloyd, local_search_plus_plus, swap_search

__all__ = ["kmeans_plus_plus", "lloyd", "local_search_plus_plus", "swap_search"]
