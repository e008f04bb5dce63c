"""Fixed budgets: what the best solution costs after B iterations, on average over many runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.evolution import Algorithm, Mutation, evolve
from certiclust.evolution.algorithms import named
from certiclust.evolution.gsemo import RandomState
from certiclust.figures import axes_for
from certiclust.problems import Problem
from certiclust.theory.experiments.frames import frame_of
from certiclust.theory.experiments.records import Row
from certiclust.theory.experiments.runs import described, label, run_all
from certiclust.theory.experiments.statistics import Estimate, mean_of


@dataclass(frozen=True, eq=False)
class FixedBudget:
    """What `fixed_budget` measured.

    Attributes
    ----------
    problem, algorithm : str
        What was measured, in words.
    n, k : int
        Clients and centres.
    budgets : ndarray of int
        Iterations, ascending.
    seeds : ndarray of int
        Of the runs.
    costs : ndarray of shape (runs, budgets)
        Cost of the best feasible solution of size k after each budget; infinite while there is none.
    optimum : float or None
        A certified optimum or lower bound, if one was given.
    """

    problem: str
    algorithm: str
    n: int
    k: int
    budgets: NDArray[np.int64]
    seeds: NDArray[np.int64]
    costs: NDArray[np.float64]
    optimum: float | None

    @property
    def found(self) -> NDArray[np.int64]:
        """Runs with a feasible solution of size k after each budget."""
        return np.asarray(np.isfinite(self.costs).sum(axis=0), dtype=np.int64)

    @property
    def means(self) -> list[Estimate]:
        """Mean cost after each budget with its 95 % interval, over the runs that have a feasible solution."""
        return [mean_of(column[np.isfinite(column)]) for column in self.costs.T]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per budget."""
        mean, low, high = np.array(self.means).T
        columns = {"budget": self.budgets, "found": self.found, "mean": mean, "low": low, "high": high}
        if self.optimum is not None:
            columns["ratio"] = mean / self.optimum
        return frame_of(**columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean cost against the budget with its 95 % band, where every run has a solution.

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
        every = self.found == len(self.seeds)
        mean, low, high = np.array(self.means).T[:, every]
        (line,) = ax.plot(self.budgets[every], mean, marker=".", label=f"{self.algorithm}: {len(self.seeds)} runs")
        ax.fill_between(self.budgets[every], low, high, color=line.get_color(), alpha=0.25, linewidth=0)
        if self.optimum is not None and not any(text.get_label() == "optimum" for text in ax.lines):
            ax.axhline(self.optimum, color="0.5", linestyle=":", label="optimum")
        ax.set(xscale="log", xlabel="iterations", ylabel="mean cost")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        return (
            f"<FixedBudget of {self.algorithm} on {self.problem}, n = {self.n}, k = {self.k}: mean cost "
            f"{self.means[-1]} after {self.budgets[-1]:,} iterations, {len(self.seeds)} runs>"
        )


def fixed_budget(
    problem: Problem,
    budgets: Iterable[int],
    algorithm: str | Algorithm = "gsemo",
    runs: int = 100,
    n_jobs: int | None = None,
    *,
    mutation: str | Mutation = "bitwise",
    random_state: RandomState = 0,
    optimum: float | None = None,
    file: str | os.PathLike[str] | None = None,
) -> FixedBudget:
    """Measure the expected cost after given numbers of iterations, with confidence bands.

    Parameters
    ----------
    problem : Problem
        What to solve, with its instance.
    budgets : iterable of int
        Numbers of iterations. The run with a seed is the same run for every budget, looked at later.
    algorithm, mutation : str or component
        As for `certiclust.evolution.evolve`.
    runs, n_jobs, random_state, file
        As for `hitting_times`.
    optimum : float or None
        A certified optimum, to compare with.

    Returns
    -------
    FixedBudget
        One column of costs per budget, with `means`, `to_frame` and `plot`.

    Examples
    --------
    >>> from certiclust.theory import fixed_budget, pose
    >>> problem = pose("k-median", [[0.0], [1.0], [2.0], [10.0], [11.0]], 2)
    >>> fixed_budget(problem, [100, 10_000], runs=20).means[-1].value
    3.0
    """
    asked = np.unique(np.asarray(list(budgets), dtype=np.int64))
    if asked.size == 0 or asked[0] < 1:
        raise ValueError(f"budgets must hold whole numbers of at least 1; got {asked.tolist()}.")
    composed = named(algorithm, mutation)
    names = [f"cost after {budget}" for budget in asked]
    rows = run_all(
        partial(_measure, problem, composed, asked.tolist(), names),
        runs,
        random_state=random_state,
        n_jobs=n_jobs,
        file=file,
        experiment={"experiment": "fixed budget", **described(problem, composed), "budgets": asked.tolist()},
        columns=dict.fromkeys(names, float),
    )
    return FixedBudget(
        problem=problem.name,
        algorithm=label(algorithm, mutation),
        n=problem.space.n,
        k=problem.k,
        budgets=asked,
        seeds=np.array([row["seed"] for row in rows], dtype=np.int64),
        costs=np.array([[row[name] for name in names] for row in rows], dtype=np.float64).reshape(
            len(rows), len(names)
        ),
        optimum=optimum,
    )


def _measure(problem: Problem, algorithm: Algorithm, budgets: list[int], names: list[str], seed: int) -> Row | None:
    row: Row = {}
    for budget, name in zip(budgets, names, strict=True):
        run = evolve(problem, algorithm, budget, seed)
        if run.interrupted:
            return None
        row[name] = float(run.cost) if isfinite(run.cost) else float("inf")
    return row
