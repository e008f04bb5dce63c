"""k-center through the loop: what was found, and what it proves as a bound with its witness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, rounding_margin
from certiclust.problems import KCenterProblem
from certiclust.solver.kcenter import KCenterStrategy, Limits
from certiclust.solver.loop import evolve_bound_reduce
from certiclust.solver.words import counted

Record = Callable[[int, float, float, int], None]


@dataclass(frozen=True)
class KCenterRun:
    """Centres, ascending, their radius, the bound with its witness, how much was done, and in words how.

    `spent` is the part of the usual work that was done.
    """

    centers: NDArray[np.intp]
    radius: float
    bound: Bound
    iterations: int
    method: str
    spent: float = 1.0


def run_kcenter(
    problem: KCenterProblem, limits: Limits, seed: int, record: Record, centers: NDArray[np.intp] | None = None
) -> KCenterRun:
    """Run the loop on a k-center problem.

    Every start is a farthest-first solution, for which f1 >= 0: the k + 1 points that prove ratio 2 are there from the
    first moment, and Algorithm 1, which goes on from there, may better them.
    """
    strategy = KCenterStrategy(problem, limits, seed, centers)

    def note() -> None:
        record(strategy.steps, strategy.upper, strategy.lower, strategy.live)

    evolve_bound_reduce(strategy, note)
    return run_of(strategy)


def run_of(strategy: KCenterStrategy) -> KCenterRun:
    """Return what a strategy has found and proved."""
    problem = strategy.problem
    centers = np.asarray(strategy.search.centers, dtype=np.intp)
    bound = _with_cover(problem, strategy.separation, strategy.witness)
    proof = bound.witness.get("cover", {}).get("proof", "separation")
    how = "GSEMO and tabu search" if strategy.search.generations else "farthest-first starts and tabu search"
    proof = "HiGHS, whom it trusts" if proof == "solver" else proof
    method = f"{how} for covers, {counted(strategy.steps, 'iteration')}; lower bound by {proof}"
    return KCenterRun(centers, strategy.upper, bound, max(1, strategy.steps), method, strategy.spent)


def _with_cover(problem: KCenterProblem, bound: Bound, witness: dict[str, Any]) -> Bound:
    """Return the bound raised to the threshold of a witness, lowered by what the true distances may differ from ours.

    A verifier takes a candidate as covering where its own distance is below the stored threshold; that the stored one
    leaves room for another rounding is the strategy's care. The numbers of a given matrix are the same for both.
    """
    if not witness:
        return bound
    value = witness["threshold"]
    if problem.space.metric.name != "precomputed":
        relative, absolute = rounding_margin(problem.space, 1)
        value = value * (1 - relative) - absolute
    return replace(bound, value=value, witness={**bound.witness, "cover": witness}) if value > bound.value else bound
