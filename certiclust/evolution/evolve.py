"""Any algorithm on any problem: the entrance for researchers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

from sklearn.utils import check_random_state

from certiclust.evolution.algorithms import Algorithm, named
from certiclust.evolution.components import Mutation
from certiclust.evolution.gsemo import RandomState, Run, run_engine
from certiclust.evolution.gsemo import default_stop as algorithm_1_stop
from certiclust.evolution.own import SubsetProblem
from certiclust.evolution.stopping import Criterion, MaxIterations, NoImprovement, Progress, Target
from certiclust.problems import MaxProblem, Problem

#: Iterations per candidate and centre after which an algorithm stops that need not reach its goal.
PATIENCE = 1000


def evolve(
    problem: Problem | SubsetProblem,
    algorithm: str | Algorithm = "gsemo",
    max_iter: int | None = None,
    random_state: RandomState = None,
    *,
    mutation: str | Mutation = "bitwise",
    stop: Criterion | None = None,
    target: float = -inf,
    callbacks: Iterable[Callable[[Progress], None]] = (),
) -> Run:
    """Run an evolutionary algorithm with compiled kernels; ``evolve(problem)`` is ``gsemo(problem)``.

    Parameters
    ----------
    problem : Problem or SubsetProblem
        What to solve.
    algorithm : {"gsemo", "nsga2", "nsga3", "sms-emoa", "moead"} or Algorithm, default="gsemo"
        Which algorithm; see `Algorithm` for compositions of one's own.
    max_iter : int or None, default=None
        Iterations, one for each offspring made (discarded ones and clones too). None: until `stop`, or without one
        until the theorem's condition holds (max problems; at most ``1000 * m * k`` iterations if the algorithm does not
        guarantee it) or nothing improved for ``10 * m * k`` iterations (others).
    random_state : int, RandomState or None
        Seed of the run; the same seed gives the same run.
    mutation : {"bitwise", "heavy-tailed"} or Mutation, default="bitwise"
        Mutation of an algorithm that is given by name.
    stop : Criterion or None
        When to stop besides `max_iter`; combine with ``|``.
    target : float, default=-inf
        Stop in the very iteration that reaches this cost with a feasible size-k solution.
    callbacks : iterable of callable
        Called with a `Progress` after each block of iterations.

    Returns
    -------
    Run
        Population, best solution, counts and history. Ctrl-C ends the run early and keeps what it found.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust.problems import KMedianProblem
    >>> from certiclust.space import Metric, build_space
    >>> x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    >>> problem = KMedianProblem(build_space(x, None, Metric.of("euclidean"), np.ones(5)), 2)
    >>> evolve(problem, "sms-emoa", max_iter=2000, random_state=0, mutation="heavy-tailed").cost
    3.0
    """
    composed = named(algorithm, mutation)
    if stop is None:
        stop = default_stop(problem, composed) if max_iter is None else Criterion()
    if max_iter is not None:
        stop = stop | MaxIterations(max_iter)
    engine = composed.engine(problem, int(check_random_state(random_state).randint(2**31)))
    return run_engine(engine, stop | Target(target), tuple(callbacks))


def default_stop(problem: Problem | SubsetProblem, algorithm: Algorithm) -> Criterion:
    """Return the criterion of ``max_iter=None``."""
    if isinstance(problem, SubsetProblem):
        return NoImprovement(10 * problem.m * problem.k)
    stop = algorithm_1_stop(problem)
    if isinstance(problem, MaxProblem) and not algorithm.contract(problem).elitist:
        stop = stop | MaxIterations(PATIENCE * problem.space.m * problem.k)
    return stop
