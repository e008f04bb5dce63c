"""Discrete k-median: the sum of distances to centres chosen from a finite set."""

from __future__ import annotations

from typing import ClassVar

from certiclust.problems.base import SumProblem


class KMedianProblem(SumProblem):
    r"""Minimise :math:`\sum_i w_i\,d(v_i, X)` over :math:`X \subseteq F`, :math:`|X| = k`.

    GSEMO: ratio :math:`(3 + 2/p)/(1 - \varepsilon)` (paper, k-median theorem); a solution that no 1-swap improves is
    within 5 (PROOFS.md part 3).
    """

    name: ClassVar[str] = "k-median"
