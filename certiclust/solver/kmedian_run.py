"""k-median through the loop: which strategy, and what it proves as a bound with its witness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, rounding_margin
from certiclust.bounds.branch_and_bound import pack
from certiclust.bounds.lagrangian import Instance
from certiclust.problems import KMedianProblem
from certiclust.solver.kmedian import KMedianStrategy, Limits, Proof, granularity_of, single_center
from certiclust.solver.kmedian_points import PointsStrategy
from certiclust.solver.loop import evolve_bound_reduce

Record = Callable[[int, float, float, int], None]


@dataclass(frozen=True)
class KMedianRun:
    """Centres, ascending, the bound with its witness, and how much was done."""

    centers: NDArray[np.intp]
    bound: Bound
    iterations: int
    nodes: int


def run_kmedian(
    problem: KMedianProblem,
    gap_tol: float,
    max_iter: float,
    seed: int,
    should_stop: Callable[[], bool],
    record: Record,
) -> KMedianRun:
    """Run the loop on a k-median problem, with the matrix where it is held and from coordinates otherwise.

    The lemma's three conditions hold for the evolution inside (docs/lemma.md): the incumbent is the parent with
    probability at least 0.95, any one of its single swaps is made with probability at least 0.03 / (k m), and the best
    solution is always kept.
    """
    space = problem.space
    limits = Limits(gap_tol, max_iter, should_stop)
    noise = rounding_margin(space, 1)[1] * problem.k * float(space.weights.sum())
    width = space.points.shape[1]
    if space.matrix is None and problem.k > 1:
        return _finish(
            problem, _run(PointsStrategy(space, Instance(problem.k, 0.0, width, noise), limits, seed), record)
        )
    if problem.k == 1:
        return _finish(problem, single_center(space, Instance(1, 0.0, width, noise)))
    cost = _weighted(problem)
    instance = Instance(problem.k, granularity_of(cost), width, noise)
    return _finish(problem, _run(KMedianStrategy(cost, instance, limits, seed), record))


def _run(strategy: KMedianStrategy | PointsStrategy, record: Record) -> Proof:
    def note() -> None:
        proof = strategy.proof()
        record(proof.iterations, proof.upper, proof.lower, strategy.live.size)

    evolve_bound_reduce(strategy, note)
    return strategy.proof()


def _weighted(problem: KMedianProblem) -> NDArray[np.float64]:
    """Return the weighted costs, candidates x clients; the matrix itself where all weights are 1."""
    space, matrix = problem.space, problem.space.matrix
    assert matrix is not None
    return matrix if np.all(space.weights == 1.0) else np.ascontiguousarray(matrix * space.weights)


def _finish(problem: KMedianProblem, proof: Proof) -> KMedianRun:
    relative, _ = rounding_margin(problem.space, problem.space.n)
    # An integral bound is exact; a real one must not exceed what another order of summation makes of the cost.
    value = proof.lower if proof.granularity > 0 else max(0.0, proof.lower * (1 - relative))
    witness = {"tree": pack(proof.nodes, proof.granularity)}
    bound = Bound(value, None, "", "Lagrangian bound", witness)
    return KMedianRun(np.asarray(proof.centers, dtype=np.intp), bound, proof.iterations, len(proof.nodes))
