"""The space: clients, candidate centres, the distance between them, and the clients' weights."""

from certiclust.space.metrics import Metric
from certiclust.space.space import Space, build_space, precomputed_space
from certiclust.space.triangle import holds_triangle_inequality

__all__ = ["Metric", "Space", "build_space", "holds_triangle_inequality", "precomputed_space"]
