"""k-median through the loop: which strategy, and what it proves as a bound with its witness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, rounding_margin
from certiclust.bounds.branch_and_bound import pack
from certiclust.bounds.lagrangian import Instance
from certiclust.evolution.pool import MAX_PAIRS
from certiclust.problems import KMedianProblem
from certiclust.solver.kmedian import KMedianStrategy, Limits, Proof, granularity_of, single_center
from certiclust.solver.kmedian_points import PointsStrategy
from certiclust.solver.loop import evolve_bound_reduce
from certiclust.solver.start import NOWHERE, Start
from certiclust.space import Space
from certiclust.space.lists import Ranking, rank_candidates
from certiclust.space.metrics import column_spread
from certiclust.space.space import matrix_budget

Record = Callable[[int, float, float, int], None]


@dataclass(frozen=True)
class KMedianRun:
    """Centres, ascending, the bound with its witness, and how much was done."""

    centers: NDArray[np.intp]
    bound: Bound
    iterations: int
    nodes: int
    multipliers: NDArray[np.float64] | None = None


def run_kmedian(
    problem: KMedianProblem,
    limits: Limits,
    seed: int,
    record: Record,
    begin: Start = NOWHERE,
) -> KMedianRun:
    """Run the loop on a k-median problem, with the matrix where it is held and from coordinates otherwise.

    The lemma's three conditions hold for the evolution inside (docs/lemma.md): the incumbent is the parent with
    probability at least 0.93, any one of its single swaps with a live candidate is made with probability at least
    0.048 / (k m), and the best solution is always kept. Search and bound start from the centres and multipliers of
    `begin`, where it has some.
    """
    space = problem.space
    unit = cost_unit(space)
    weights = space.weights / unit
    noise = rounding_margin(space, 1)[1] * problem.k * float(weights.sum())
    instance = Instance(problem.k, 0.0, space.points.shape[1], noise)
    if problem.k == 1:
        return _finish(problem, single_center(space, weights, instance), unit)
    if space.matrix is None:
        points = PointsStrategy(space, weights, instance, limits, seed, begin.centers)
        return _finish(problem, _run(points, record, unit, space.excess), unit)
    cost = space.matrix if np.all(weights == 1.0) else np.ascontiguousarray(space.matrix * weights)
    instance = instance._replace(granularity=granularity_of(cost) if unit == 1.0 else 0.0)
    strategy = KMedianStrategy(cost, instance, limits, seed, begin)
    return replace(_finish(problem, _run(strategy, record, unit, space.excess), unit), multipliers=strategy.u)


def ranked(space: Space) -> Ranking | None:
    """Return the candidates of every client by distance, for runs on several sizes; None where memory is short."""
    if space.matrix is None or space.matrix.size > min(MAX_PAIRS, matrix_budget() // 4):
        return None
    return rank_candidates(space.matrix, space.weights / cost_unit(space))


def cost_unit(space: Space) -> float:
    """Return the power of two in which costs are counted: 1, but where they come near to the ends of float64."""
    if space.matrix is not None:
        largest = float(space.matrix.max())
    else:
        largest = float(np.square(column_spread(np.concatenate([space.points, space.candidates]))).sum())
    largest *= float(space.weights.max())
    return 1.0 if largest == 0 or 1e-100 <= largest <= 1e100 else 2.0 ** math.frexp(largest)[1]


def _run(strategy: KMedianStrategy | PointsStrategy, record: Record, unit: float, excess: float | None) -> Proof:
    """Run the loop; what is recorded bounds the best places, where candidates stand for these."""
    share = unit / (1.0 + (excess or 0.0))

    def note() -> None:
        proof = strategy.proof()
        record(proof.iterations, proof.upper * unit, proof.lower * share, strategy.live.size)

    evolve_bound_reduce(strategy, note)
    return strategy.proof()


def _finish(problem: KMedianProblem, proof: Proof, unit: float) -> KMedianRun:
    relative, _ = rounding_margin(problem.space, problem.space.n)
    # An integral bound is exact; a real one must not exceed what another order of summation makes of the cost.
    value = unit * (proof.lower if proof.granularity > 0 else max(0.0, proof.lower * (1 - relative)))
    if problem.space.excess is not None:  # the best candidates cost at most 1 + excess times the best places
        value = value / (1.0 + problem.space.excess) * (1.0 - relative)
    witness = {"tree": pack(proof.nodes, proof.granularity, unit)}
    bound = Bound(value, None, "", "Lagrangian bound", witness)
    return KMedianRun(np.asarray(proof.centers, dtype=np.intp), bound, proof.iterations, len(proof.nodes))
