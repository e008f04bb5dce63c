"""Hitting times: how many iterations until an event, over many runs, beside the theorem's bound."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.evolution import ALGORITHMS, Algorithm, Mutation, evolve
from certiclust.evolution.algorithms import named
from certiclust.evolution.gsemo import RandomState
from certiclust.figures import axes_for
from certiclust.problems import Problem
from certiclust.theory.experiments.frames import frame_of
from certiclust.theory.experiments.records import Row
from certiclust.theory.experiments.runs import described, label, run_all
from certiclust.theory.experiments.statistics import Estimate, mean_of
from certiclust.theory.experiments.targets import Event, Goal, goal_for

#: How the columns of a record are read.
COLUMNS = {"iterations": int, "reached": "True".__eq__, "mean_population": float, "cost": float}


@dataclass(frozen=True, eq=False)
class HittingTimes:
    """What `hitting_times` measured, one entry per run.

    Attributes
    ----------
    problem, algorithm, event : str
        What was measured, in words.
    n, k : int
        Clients and centres.
    max_iter : int
        Where a run was given up.
    seeds, iterations : ndarray of int
        Seed of each run, and its iterations until the event, or `max_iter`.
    reached : ndarray of bool
        Whether the event happened.
    mean_population : ndarray
        Size of P, averaged over the iterations of each run.
    costs : ndarray
        Cost at the end of each run; infinite without a feasible solution.
    bound, sharper : float or None
        Bounds on the expected iterations: the paper's for GSEMO, the contract's for other algorithms, and the sharper
        one; None where nothing is proved about the event.
    """

    problem: str
    algorithm: str
    event: str
    n: int
    k: int
    max_iter: int
    seeds: NDArray[np.int64]
    iterations: NDArray[np.int64]
    reached: NDArray[np.bool_]
    mean_population: NDArray[np.float64]
    costs: NDArray[np.float64]
    bound: float | None
    sharper: float | None

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def failures(self) -> int:
        """Runs that were given up."""
        return int(np.count_nonzero(~self.reached))

    @property
    def mean(self) -> Estimate:
        """Mean over the runs that reached the event, with its 95 % interval; too small if others failed."""
        return mean_of(self.iterations[self.reached])

    @property
    def expected(self) -> float:
        """All iterations of all runs per run that reached the event: the expected time with restarts at `max_iter`.

        Without failures this is the mean; NaN if no run got there.
        """
        successes = len(self) - self.failures
        return float(self.iterations.sum()) / successes if successes else nan

    @property
    def ratio(self) -> float:
        """`expected` as a share of the bound; NaN without one."""
        return nan if self.bound is None else self.expected / self.bound

    def summary(self) -> dict[str, Any]:
        """Return the figures of all runs together, as a row for a table."""
        mean = self.mean
        return {
            "problem": self.problem,
            "event": self.event,
            "algorithm": self.algorithm,
            "n": self.n,
            "k": self.k,
            "runs": len(self),
            "failures": self.failures,
            "mean": mean.value,
            "low": mean.low,
            "high": mean.high,
            "bound": nan if self.bound is None else self.bound,
            "ratio": self.ratio,
            "sharper": nan if self.sharper is None else self.sharper,
            "mean_population": float(self.mean_population.mean()),
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per run."""
        return frame_of(
            seed=self.seeds,
            iterations=self.iterations,
            reached=self.reached,
            mean_population=self.mean_population,
            cost=self.costs,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of runs that had reached the event, against iterations, with mean and bounds.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        ax = axes_for(ax)
        times = np.sort(self.iterations[self.reached])
        ax.step(
            times, np.arange(1, len(times) + 1) / len(self), where="post", label=f"{self.algorithm}: {len(self)} runs"
        )
        color = ax.lines[-1].get_color()
        ax.axvline(self.mean.value, color=color, linestyle=":", label=f"mean {self.mean.value:,.0f}")
        for bound, name, style in ((self.sharper, "sharper bound", "-."), (self.bound, "the theorem's bound", "--")):
            if bound is not None and np.isfinite(bound):
                ax.axvline(bound, color="C3", linestyle=style, label=f"{name} {bound:,.0f}")
        ax.set(xscale="log", ylim=(0, 1.02), xlabel="iterations", ylabel=f"share of runs: {self.event}")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        beside = "" if self.bound is None else f", {self.ratio:.3g} of the bound {self.bound:.4g}"
        failed = f", {self.failures} failed" if self.failures else ""
        return (
            f"<HittingTimes of {self.algorithm} on {self.problem}, n = {self.n}, k = {self.k}, {self.event}: mean "
            f"{self.mean} over {len(self)} runs{failed}{beside}>"
        )


def hitting_times(
    problem: Problem,
    algorithm: str | Algorithm = "gsemo",
    target: Event = "theorem",
    runs: int = 100,
    n_jobs: int | None = None,
    *,
    mutation: str | Mutation = "bitwise",
    max_iter: int = 10**8,
    random_state: RandomState = 0,
    p: int = 1,
    epsilon: float = 0.5,
    optimum: float | None = None,
    file: str | os.PathLike[str] | None = None,
) -> HittingTimes:
    """Measure how many iterations an algorithm needs until an event, beside what the theorem expects at most.

    Parameters
    ----------
    problem : Problem
        What to solve, with its instance; `pose` makes one from rows.
    algorithm : str or Algorithm, default="gsemo"
        As for `certiclust.evolution.evolve`.
    target : {"theorem", "size", "balls", "optimum"} or float, default="theorem"
        ``"theorem"``: what the problem's theorem promises, f1 >= 0 at size k for the max problems, else its ratio to
        the optimum over the candidates. ``"size"``: the first solution of size k. ``"balls"``: a centre in every
        critical ball (fair k-median). ``"optimum"``: the certified optimum over the candidates. A number: that cost.
    runs : int, default=100
        How many runs.
    n_jobs : int or None, default=None
        Processes, as in joblib; the result does not depend on it.
    mutation : str or Mutation, default="bitwise"
        As for `certiclust.evolution.evolve`.
    max_iter : int, default=10**8
        A run that has not met the event by then is given up, and counted as failed.
    random_state : int, RandomState or None, default=0
        Seeds all runs.
    p, epsilon : int and float
        Of the theorem (k-median, k-means).
    optimum : float or None
        The certified optimum, or for ``target="theorem"`` a certified lower bound on it; None asks the solver.
    file : path-like or None
        A CSV file that keeps finished runs: a second call with the same file runs only what is missing, and a file of
        another experiment is refused.

    Returns
    -------
    HittingTimes
        One entry per run, with `mean`, `failures`, `bound`, `to_frame` and `plot`.

    Examples
    --------
    >>> from certiclust.theory import hitting_times, pose
    >>> problem = pose("k-center", [[0.0], [1.0], [5.0], [6.0], [20.0]], 2)
    >>> times = hitting_times(problem, runs=200)
    >>> bool(times.mean.high < times.bound), times.failures
    (True, 0)
    """
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1; got {max_iter}.")
    goal = goal_for(problem, target, p=p, epsilon=epsilon, optimum=optimum)
    composed, cost = named(algorithm, mutation), goal.cost if goal.cost < inf else None
    what = {"experiment": "hitting times", **described(problem, composed), "event": goal.event, "cost": cost}
    rows = run_all(
        partial(_measure, problem, composed, goal, max_iter),
        runs,
        random_state=random_state,
        n_jobs=n_jobs,
        file=file,
        experiment={**what, "max_iter": max_iter},
        columns=COLUMNS,
    )
    plain = composed == ALGORITHMS["gsemo"]  # the theorems are about Algorithm 1, its contract about all
    return HittingTimes(
        problem=problem.name,
        algorithm=label(algorithm, mutation),
        event=goal.event,
        n=problem.space.n,
        k=problem.k,
        max_iter=max_iter,
        seeds=np.array([row["seed"] for row in rows], dtype=np.int64),
        iterations=np.array([row["iterations"] for row in rows], dtype=np.int64),
        reached=np.array([row["reached"] for row in rows], dtype=bool),
        mean_population=np.array([row["mean_population"] for row in rows], dtype=np.float64),
        costs=np.array([row["cost"] for row in rows], dtype=np.float64),
        bound=goal.paper if plain else goal.contracted(problem, composed, p, epsilon),
        sharper=goal.sharper if plain else None,
    )


def _measure(problem: Problem, algorithm: Algorithm, goal: Goal, max_iter: int, seed: int) -> Row | None:
    run = evolve(problem, algorithm, max_iter, seed, stop=goal.stop)
    if run.interrupted:
        return None
    return {
        "iterations": run.n_iter,
        "reached": goal.reached(run),
        "mean_population": run.mean_population,
        "cost": run.cost,
    }
