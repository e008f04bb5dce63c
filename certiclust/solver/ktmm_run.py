"""k-tMM through the loop: where it starts, the cases with a closed answer, and what was proved as a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds import Bound, rounding_margin, separation_bound
from certiclust.evolution import Criterion, GapClosed, Progress, Run, Target, gsemo
from certiclust.evolution.recolouring import Labels
from certiclust.problems import KTMMProblem
from certiclust.solver.ktmm import KTMMStrategy, Limits, Proof
from certiclust.solver.ktmm_pairs import single_cluster, two_clusters
from certiclust.solver.ktmm_points import SAMPLE, SampledStrategy
from certiclust.solver.loop import evolve_bound_reduce
from certiclust.solver.start import NOWHERE, Start
from certiclust.solver.words import counted
from certiclust.space import precomputed_space
from certiclust.space.farthest import farthest_first

__all__ = ["KTMMRun", "Limits", "run_ktmm", "split"]

IntArray = NDArray[np.intp]
Record = Callable[[int, float, float, int], None]

#: With more points than this the bound works on a sample.
MAX_CORE = 5000
#: Points up to which two clusters are solved exactly, by n^2 / 2 distances.
MAX_PAIRS = 20_000


@dataclass(frozen=True)
class KTMMRun:
    """A partition into k clusters, how far each point reaches in its own, the bound, iterations, and a word on how.

    `spent` is the part of the usual work that was done.
    """

    labels: Labels
    reach: NDArray[np.float64]
    bound: Bound
    iterations: int
    method: str
    spent: float = 1.0


def run_ktmm(
    problem: KTMMProblem,
    limits: Limits,
    max_iter: int | None,
    seed: int,
    record: Record,
    begin: Start = NOWHERE,
) -> KTMMRun:
    """Find a partition of small diameter, and prove how small it can be.

    The farthest-first solution always has f1 >= 0, and where Algorithm 1 runs it ends with one too: the answer is at
    least as good as theirs, so ratio 2 holds for it.

    Parameters
    ----------
    problem : KTMMProblem
        What to solve.
    limits : Limits
        When to end.
    max_iter : int or None
        Iterations of Algorithm 1 at most.
    seed : int
        Seed of all random decisions.
    record : callable
        Called with iteration, upper and lower bound, and points.
    begin : Start
        A partition to start from, and points for the working set of the bound.
    """
    n, k = problem.space.n, problem.k
    centers, _, _ = farthest_first(problem.space, min(k + 1, n), 0)
    start = problem.space.assign(np.sort(centers[:k]))[0]
    if len(centers) <= k and problem.diameter(start) == 0:
        method = "farthest-first points, one cluster for each distinct point"
        return KTMMRun(split(start, k), np.zeros(n), separation_bound(problem, 0.0, None), 1, method)
    starts = [start] if begin.labels is None else [start, begin.labels]
    run = None
    # Farthest-first points meet the theorem's condition at once, so Algorithm 1 runs only where it was asked for.
    if max_iter is not None:
        run = _algorithm_one(problem, limits, max_iter, seed)
        if run.best is not None:
            starts.append(problem.space.assign(run.best)[0])
    iterations = 0 if run is None else run.n_iter
    proof = _first(problem, starts, centers, run)
    record(iterations, proof.upper, proof.lower, n)
    if k == 1:
        proof = single_cluster(problem)
    elif limits.met(proof.upper, proof.lower) or limits.should_stop():
        pass
    elif k == 2 and n <= MAX_PAIRS:
        proof = two_clusters(problem, proof, limits.should_stop)
    else:
        proof = _loop(problem, limits, seed, record, iterations, proof, begin.hard)
    begun = f"GSEMO, {counted(iterations, 'iteration')}" if iterations else "farthest-first points"
    steps, nodes = counted(proof.steps, "step"), counted(proof.nodes, "node")
    method = f"{begun}, recolouring, {steps}, and exact colouring, {nodes}"
    labels = split(proof.labels, k)
    reach = proof.reach if len(np.unique(proof.labels)) == k else problem.reach(labels)
    return KTMMRun(labels, reach, _bound(problem, proof), iterations or 1 + proof.steps, method, proof.spent)


def _algorithm_one(problem: KTMMProblem, limits: Limits, max_iter: int, seed: int) -> Run:
    """Run Algorithm 1 for as many iterations as asked, unless the gap is closed or a stop comes before."""
    stop = Target(0.0) | GapClosed(limits.gap_tol) | _Asked(limits.should_stop)
    return gsemo(problem, max_iter, seed, stop=stop)


class _Asked(Criterion):
    """Stop when the user or the clock says so."""

    def __init__(self, should_stop: Callable[[], bool]) -> None:
        self.should_stop = should_stop

    def __call__(self, progress: Progress) -> bool:
        """Return whether a stop was asked for."""
        return self.should_stop()


def _first(problem: KTMMProblem, starts: list[Labels], centers: IntArray, run: Run | None) -> Proof:
    """Return the best of the partitions at hand, with the best k + 1 points."""
    reaches = [problem.reach(start) for start in starts]
    diameters = [float(reach.max()) for reach in reaches]
    h, apart = 0.0, centers[:0]
    if len(centers) == problem.k + 1:  # without a metric, fewer points may be at distance 0 from all others
        between = problem.space.between(centers, centers)
        h, apart = float(between[np.triu_indices(len(centers), 1)].min()), centers
    if run is not None and run.apart is not None and run.h > h:
        h, apart = run.h, run.apart
    best = int(np.argmin(diameters))
    return Proof(starts[best], reaches[best], diameters[best], min(h, diameters[best]), h, apart, None)


def _loop(
    problem: KTMMProblem,
    limits: Limits,
    seed: int,
    record: Record,
    iterations: int,
    first: Proof,
    hard: IntArray | None,
) -> Proof:
    """Run the loop on all points, or on a sample and then on all points."""
    space = problem.space
    strategy: KTMMStrategy | SampledStrategy
    if space.matrix is None and space.n <= SAMPLE:  # a matrix of that size is computed anyway
        everyone = np.arange(space.n)
        held = precomputed_space(space.between(everyone, everyone), space.weights, own=True, check_metric=False)
        strategy = KTMMStrategy(KTMMProblem(held, problem.k), limits, seed, first, hard)
    elif space.n <= MAX_CORE and space.matrix is not None:
        strategy = KTMMStrategy(problem, limits, seed, first, hard)
    else:
        strategy = SampledStrategy(problem, limits, seed, first)

    def note() -> None:
        proof = strategy.proof()
        record(iterations, proof.upper, proof.lower, problem.space.n)

    evolve_bound_reduce(strategy, note)
    return strategy.proof()


def _bound(problem: KTMMProblem, proof: Proof) -> Bound:
    """Return what was proved, rounding subtracted: by k + 1 points, or by points without a colouring."""
    clique = separation_bound(problem, proof.h, proof.apart if proof.h > 0 else None)
    if proof.points is None or proof.lower <= proof.h:
        return clique
    relative, absolute = rounding_margin(problem.space, 1)
    value = max(0.0, proof.lower * (1 - relative) - absolute)
    return replace(clique, value=value, witness={**clique.witness, "uncolourable": proof.points})


def split(labels: Labels, k: int) -> Labels:
    """Return labels 0..k-1 that all occur: clusters give up single members to labels that have none."""
    names, places = np.unique(labels, return_inverse=True)
    every = places.astype(np.int32)
    for label in range(len(names), k):
        largest = int(np.bincount(every).argmax())
        every[np.flatnonzero(every == largest)[-1]] = label
    return every
