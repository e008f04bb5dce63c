"""k-means over a finite candidate set: the sum of squared Euclidean distances."""

from __future__ import annotations

from typing import ClassVar

from certiclust.problems.base import SumProblem


class KMeansProblem(SumProblem):
    r"""Minimise :math:`\sum_i w_i \min_{u \in X} \lVert v_i - u \rVert^2` over :math:`X \subseteq C`, :math:`|X| = k`.

    The space carries squared Euclidean distances. GSEMO: ratio
    :math:`(1 + \varepsilon)(3 + 2/p)^2/(1 - \varepsilon)^2` (paper, k-means theorem).
    """

    name: ClassVar[str] = "k-means"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.space.metric.name != "sqeuclidean":
            raise ValueError(f"k-means is about squared Euclidean distances, not {self.space.metric.name!r}.")
