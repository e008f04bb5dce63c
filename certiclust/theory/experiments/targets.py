"""What a run is after: the event whose time is measured, and what the theorems say about it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from certiclust.evolution import Algorithm, Certified, Criterion, Run, Sized
from certiclust.evolution.proofs import BALLS, CONDITION, LOCAL, SIZE
from certiclust.evolution.stopping import Target
from certiclust.problems import FairKMedianProblem, KMeansProblem, KMedianProblem, MaxProblem, Problem
from certiclust.theory.theorems import Bounds, iteration_bound

#: Events by name; a number is a cost.
Event = Literal["theorem", "size", "balls", "optimum"] | float
#: Costs within this factor of the optimum are the optimum, as for a certificate.
SAME = 1 + 1e-9


@dataclass(frozen=True)
class Goal:
    """An event, how it ends a run, and within how many expected iterations GSEMO meets it at most.

    Attributes
    ----------
    event : str
        A word or two: the phase of the theorem that it ends, where there is one.
    stop : Criterion
        Ends a run in the iteration in which it happens.
    cost : float
        The cost to be reached; infinite where any will do.
    paper, sharper : float or None
        Bounds on the expected iterations; None where no theorem is about this event.
    phase : str
        The phase of the theorem that it ends; empty where there is none.
    """

    event: str
    stop: Criterion
    cost: float = inf
    paper: float | None = None
    sharper: float | None = None
    phase: str = ""

    def contracted(self, problem: Problem, algorithm: Algorithm, p: int, epsilon: float) -> float | None:
        """Return the bound that the contract of another algorithm gives, in offspring; None where it gives none."""
        contract = algorithm.contract(problem, epsilon=epsilon)
        if not contract.elitist or self.phase not in contract.phases or p != 1:
            return None
        return Bounds(contract.ratio, contract.phases).until(self.phase) * contract.offspring

    def reached(self, run: Run) -> bool:
        """Return whether a run met the event."""
        if self.cost < inf:
            return run.cost <= self.cost
        return run.certified if self.stop.until_certified else run.best is not None


def certified_optimum(problem: Problem, *, random_state: int = 0) -> tuple[float, float]:
    """Return the best cost that the solver finds over the candidates, and the lower bound that it proves.

    For k-means centres are chosen among the candidates here, as Algorithm 1 does; so it is solved as a k-median problem
    of squared distances, for which the Lagrangian bound holds as well.

    Examples
    --------
    >>> from certiclust.theory import pose
    >>> certified_optimum(pose("k-median", [[0.0], [1.0], [2.0], [10.0], [11.0]], 2))
    (3.0, 3.0)
    """
    from certiclust.solver import Budget, solve

    posed = KMedianProblem(problem.space, problem.k) if isinstance(problem, KMeansProblem) else problem
    result = solve(posed, "auto", Budget(), random_state=random_state)
    assert result.bound is not None
    return result.cost, min(result.cost, result.bound.value)


def goal_for(
    problem: Problem, target: Event, *, p: int = 1, epsilon: float = 0.5, optimum: float | None = None
) -> Goal:
    """Return what a target means on a problem.

    Parameters
    ----------
    problem : Problem
        One of the five.
    target : {"theorem", "size", "balls", "optimum"} or float
        ``"theorem"``: what the problem's theorem promises, f1 >= 0 at size k for the max problems, else its ratio to
        the optimum over the candidates, or to a lower bound on it. ``"size"``: the first solution of size k.
        ``"balls"``: a centre in every critical ball (fair k-median). ``"optimum"``: the certified optimum. A number:
        that cost.
    p, epsilon : int and float
        Of the theorem.
    optimum : float or None
        A certified optimum, or for ``"theorem"`` a lower bound on it; None asks the solver.
    """
    if not isinstance(target, str):
        if not 0 <= target < inf:
            raise ValueError(f"a target cost must be finite and not negative; got {target}.")
        return Goal(f"cost {target:.8g}", Target(target), float(target))
    if target == "size":
        return _phase(problem, SIZE, Sized(), p, epsilon)
    if target == "balls":
        if not isinstance(problem, FairKMedianProblem):
            raise ValueError(f"target='balls' is about fair k-median; {problem.name} has no critical balls.")
        return _phase(problem, BALLS, Certified(), p, epsilon)
    if target == "optimum":
        cost = _optimum(problem) if optimum is None else optimum
        return Goal("certified optimum", Target(cost * SAME), cost * SAME)
    if target != "theorem":
        raise ValueError(f"target must be 'theorem', 'size', 'balls', 'optimum' or a cost; got {target!r}.")
    if isinstance(problem, MaxProblem):
        return _phase(problem, CONDITION, Certified(), p, epsilon)
    return _ratio(problem, p, epsilon, certified_optimum(problem)[1] if optimum is None else optimum)


def _phase(problem: Problem, phase: str, stop: Criterion, p: int, epsilon: float) -> Goal:
    """Return the end of a phase as a goal, without bounds where the theorem has no such phase."""
    if isinstance(problem, FairKMedianProblem) and problem.strict:
        return Goal(phase, stop)
    theorem = iteration_bound(problem, p=p, epsilon=epsilon)
    if phase not in theorem.phases:
        return Goal(phase, stop)
    return Goal(phase, stop, inf, theorem.paper.until(phase), theorem.sharper.until(phase), phase)


def _ratio(problem: Problem, p: int, epsilon: float, optimum: float) -> Goal:
    """Return the ratio of a sum problem's theorem as a goal.

    For k-means it is the ratio to the best candidates: whoever is within it is within the theorem's ratio, too.
    """
    theorem = iteration_bound(problem, p=p, epsilon=epsilon, optimum=optimum)
    ratio = theorem.ratio
    if ratio is None:
        raise ValueError(
            f"no ratio of {problem.name} is proved for the metric {problem.space.metric.name!r} here"
            f"{' with these balls' if isinstance(problem, FairKMedianProblem) else ''}; give a cost as target."
        )
    if isinstance(problem, KMeansProblem):
        ratio = (3 + 2 / p) ** 2 / (1 - epsilon) ** 2
    if not optimum > 0:
        raise ValueError("the optimum is 0, so no ratio to it can be measured; give a cost as target.")
    cost = ratio * optimum
    event = f"{ratio:.4g} x optimum"
    return Goal(event, Target(cost), cost, theorem.paper.iterations, theorem.sharper.iterations, LOCAL)


def _optimum(problem: Problem) -> float:
    cost, lower = certified_optimum(problem)
    if lower * SAME < cost:
        gap = f"{cost / lower - 1:.2%}" if lower > 0 else "infinite"
        raise ValueError(
            f"the solver found {cost:.8g} but did not prove it optimal (gap {gap}); give a cost as target, or take a "
            "smaller instance."
        )
    return cost
