"""k-center: the largest distance of a point to its centre."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from certiclust.problems.base import MaxProblem


class KCenterProblem(MaxProblem):
    r"""Minimise :math:`\max_i d(v_i, X)` over :math:`X \subseteq D`, :math:`|X| = k`.

    GSEMO: ratio 2 within :math:`e k^2 n - e k (n - 1)` expected iterations (paper, k-center theorem).
    """

    name: ClassVar[str] = "k-center"

    def cost(self, centers: NDArray[np.intp]) -> float:
        """Return the radius."""
        return self.radius(centers)
