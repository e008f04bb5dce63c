r"""The theorems of C. Qian (IEEE TEVC 2023), evaluated on an instance, with the constants of their proofs.

For all sum problems a first phase finds a solution of size k, within :math:`e k |F| \ln(|F| / (|F| - k))` expected
iterations (for k = |F| the finite sum that this bounds). The last phase follows the general lemma
(`certiclust.evolution.proofs`) with :math:`P_{sel} = 1/k` and :math:`P_{rep} = 1/(e |F|^{2p})`.

Beside the paper's figures, and never mixed with them, stand sharper ones: what the same proofs give before they are
rounded up, and the ratios of PROOFS.md part 3. docs/theorems.md goes through both, theorem by theorem.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, inf, log

import numpy as np

from certiclust.bounds import swap_ratio
from certiclust.evolution.proofs import (
    BALLS,
    CONDITION,
    LOCAL,
    SIZE,
    CostRange,
    ball_sizes,
    fair_search,
    general_lemma,
    ratio_of,
    swap_search,
    waiting,
    ways_to_meet,
)
from certiclust.problems import FairKMedianProblem, KMeansProblem, MaxProblem, Problem, SumProblem
from certiclust.theory.lemma import steps_to_ratio


@dataclass(frozen=True)
class Bounds:
    """A ratio, and the expected iterations within which GSEMO reaches it at most.

    Attributes
    ----------
    ratio : float or None
        Of the cost to the optimum; None where none is proved.
    phases : dict of str to float
        Expected iterations of each phase at most, in order; infinite where the bound is.
    """

    ratio: float | None
    phases: dict[str, float]

    @property
    def iterations(self) -> float:
        """All phases together."""
        return sum(self.phases.values())

    def until(self, phase: str) -> float:
        """Return the expected iterations to the end of a phase at most."""
        names = list(self.phases)
        if phase not in names:
            raise ValueError(f"there is no phase {phase!r}; the phases are {', '.join(map(repr, names))}.")
        return sum(self.phases[name] for name in names[: names.index(phase) + 1])


@dataclass(frozen=True)
class Inputs:
    r"""What a theorem reads from an instance.

    Attributes
    ----------
    n, m, k : int
        Clients, candidates (|F|, or |C| for k-means), centres.
    initial : float
        f_init, which no solution of size k exceeds (`certiclust.evolution.proofs.CostRange`). NaN for the max problems,
        which need no distances.
    optimum : float
        None costs less. NaN for the max problems.
    balls : tuple of int
        Points in each critical ball, ascending; empty where there are none.
    """

    n: int
    m: int
    k: int
    initial: float
    optimum: float
    balls: tuple[int, ...] = ()


@dataclass(frozen=True)
class Theorem:
    """A theorem on one instance.

    `ratio`, `iterations` and `phases` are the paper's.

    Attributes
    ----------
    name : str
        Which one.
    paper : Bounds
        The paper's ratio and expected iterations, with the constants of its proof.
    sharper : Bounds
        The same proof without its rounding up, and the ratios of PROOFS.md.
    inputs : Inputs
        What was read from the instance.
    fairness : float or None
        Factor on the fair radii (7 beta) where the theorem is about fairness.
    """

    name: str
    paper: Bounds
    sharper: Bounds
    inputs: Inputs
    fairness: float | None = None

    @property
    def ratio(self) -> float | None:
        """The paper's ratio; for fair k-median that of the cost, with `fairness` for the distances."""
        return self.paper.ratio

    @property
    def iterations(self) -> float:
        """The paper's bound on the expected iterations, phases added; infinite where it is."""
        return self.paper.iterations

    @property
    def phases(self) -> dict[str, float]:
        """The paper's bound of each phase."""
        return self.paper.phases


def guarantee(problem: Problem, *, p: int = 1, epsilon: float = 0.5) -> float | None:
    """Return the ratio that the paper proves for a problem; None where its proof does not apply.

    It does not where the distance is not known to be a metric (or, for k-means, the square of one), nor for fair
    k-median with other balls than the paper's. For k-means the ratio is to the best centres anywhere, but over a set of
    candidates of unknown worth, such as the user's own, to the best among these (`Problem.against`).

    Parameters
    ----------
    problem : Problem
        Which of the five.
    p : int, default=1
        Swap size of the local search that is imitated (k-median, k-means).
    epsilon : float, default=0.5
        Its tolerance. For k-means on its data points the candidate set contributes a factor 2.
    """
    _check(p, epsilon)
    if problem.space.power != (2 if isinstance(problem, KMeansProblem) else 1):
        return None
    if isinstance(problem, MaxProblem):
        return 2.0
    if isinstance(problem, FairKMedianProblem):
        search = fair_search(problem)
        return None if search is None else search.ratio
    if isinstance(problem, KMeansProblem):
        return swap_search(problem.k, p, epsilon, squares=True).ratio * (1.0 + (problem.excess or 0.0))
    return swap_search(problem.k, p, epsilon, squares=False).ratio


def iteration_bound(problem: Problem, *, p: int = 1, epsilon: float = 0.5, optimum: float | None = None) -> Theorem:
    """Return the theorem of a problem with its expected iteration bound on this instance.

    The instance enters through n, k, the number of candidates and, for the sum problems, every client's largest and
    least distances, so one pass over all distances is made there.

    Parameters
    ----------
    problem : Problem
        One of the five.
    p : int, default=1
        Swap size of the local search that is imitated (k-median, k-means).
    epsilon : float, default=0.5
        Its tolerance, between 0 and 1.
    optimum : float or None
        A certified lower bound on the optimum over the candidates. The sharper figures use it in place of the least
        distances; the paper's do not.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust.problems import KCenterProblem
    >>> from certiclust.space import Metric, build_space
    >>> space = build_space(np.arange(5.0)[:, None], None, Metric.of("euclidean"), np.ones(5))
    >>> theorem = iteration_bound(KCenterProblem(space, 2))
    >>> round(theorem.iterations, 1), round(theorem.sharper.iterations, 1)
    (32.6, 29.3)
    """
    _check(p, epsilon)
    if isinstance(problem, MaxProblem):
        return _max_theorem(problem)
    if isinstance(problem, FairKMedianProblem):
        return _fair_theorem(problem, optimum)
    if isinstance(problem, SumProblem):
        return _swap_theorem(problem, p, epsilon, optimum)
    raise TypeError(f"no theorem for {type(problem).__name__}.")


def _max_theorem(problem: MaxProblem) -> Theorem:
    """k-tMM and k-center: any point is the first centre, then the farthest one is added, to one of k parents."""
    k, n = problem.k, problem.space.n
    paper = Bounds(guarantee(problem), {CONDITION: e * k * k * n - e * k * (n - 1)})
    power = problem.space.power
    ratio = None if power is None else 2.0**power  # in the square of a metric h/4 bounds the optimum: 4
    sharper = Bounds(ratio, {CONDITION: _wait(n, 1) * k * (1 + n * (k - 1))})
    return Theorem(f"{problem.name} theorem", paper, sharper, Inputs(n, n, k, np.nan, np.nan))


def _swap_theorem(problem: SumProblem, p: int, epsilon: float, optimum: float | None) -> Theorem:
    """k-median and k-means: a size-k solution, then p-swaps that gain a share delta."""
    k, m, power = problem.k, problem.space.m, problem.space.power
    delta = swap_search(k, p, epsilon, squares=isinstance(problem, KMeansProblem)).delta
    costs, excess = CostRange.of(problem), problem.excess or 0.0
    paper = {SIZE: _growth(k, m), LOCAL: _local(k, m, p, delta, costs.spread)}
    ratio = None if power is None else swap_ratio(k, delta, power, excess, p)
    # The ratio is to the optimum anywhere, of which the candidates miss a factor of 1 + excess at most.
    floor = max(costs.least, optimum or 0.0) / (1 + excess)
    sharper = {SIZE: _sum(k, m), LOCAL: _steps(k, m, p, delta, ratio_of(costs.largest, floor), ratio)}
    return Theorem(
        f"{problem.name} theorem",
        Bounds(guarantee(problem, p=p, epsilon=epsilon), paper),
        Bounds(ratio, sharper),
        Inputs(problem.space.n, m, k, costs.initial, costs.least),
    )


def _fair_theorem(problem: FairKMedianProblem, optimum: float | None) -> Theorem:
    """Fair k-median: a size-k solution, a centre in every critical ball, then 4-swaps."""
    if problem.strict:
        raise ValueError("no theorem of the paper is about mode='strict'; the modes proven and tight have one.")
    k, n = problem.k, problem.space.n
    costs, balls, ways = CostRange.of(problem), ball_sizes(problem), ways_to_meet(problem)
    paper, sharper = {SIZE: _growth(k, n), BALLS: inf}, {SIZE: _sum(k, n), BALLS: inf}
    if ways is not None:
        # A ball holds n/k points or more, unless they weigh more than others.
        paper[BALLS] = 2 * e * k * n * n / min(n / k, *balls)
        sharper[BALLS] = _meeting(k, n, ways)
    search = fair_search(problem)
    if search is not None:
        floor = max(costs.least, optimum or 0.0)
        paper[LOCAL] = _local(k, n, search.p, search.delta, costs.spread)
        sharper[LOCAL] = _steps(k, n, search.p, search.delta, ratio_of(costs.largest, floor), search.ratio)
    ratio = None if search is None else search.ratio
    inputs = Inputs(n, n, k, costs.initial, costs.least, balls)
    return Theorem("fair k-median theorem", Bounds(ratio, paper), Bounds(ratio, sharper), inputs, problem.promise)


# ------------------------------------------------------------------------------------------------------- the phases


def _wait(m: int, flips: int) -> float:
    """Return 1 / (1 - 1/m)^(m - flips), at most e: other bits must stay as they are."""
    return float((1 - 1 / m) ** (flips - m)) if m > 1 else 1.0


def _growth(k: int, m: int) -> float:
    """Return the paper's bound on the iterations to the first size-k solution."""
    if k < m:
        return float(e * k * m * log(m / (m - k)))
    return float(e * m * sum((i + 1) / (m - i) for i in range(k)))


def _sum(k: int, m: int) -> float:
    """Return the sum that the paper rounds up: at size i there are m - i bits to flip, and i + 1 members at most."""
    return _wait(m, 1) * m * sum((i + 1) / (m - i) for i in range(k))


def _local(k: int, m: int, p: int, delta: float, spread: float) -> float:
    """Return the general lemma's bound with the paper's probabilities."""
    if k == m:
        return 0.0  # there is only one solution
    return general_lemma(1 / k, 1 / (e * float(m) ** (2 * p)), delta, spread)


def _steps(k: int, m: int, p: int, delta: float, spread: float, ratio: float | None) -> float:
    """Return the lemma's bound with swaps no larger than there are, and steps counted to the ratio only."""
    swap = min(p, k, m - k)
    if swap == 0:
        return 0.0
    steps = steps_to_ratio(delta, spread, 1.0 if ratio is None else ratio)
    return steps * waiting(1 / (k * _wait(m, 2 * swap) * float(m) ** (2 * swap))) if steps else 0.0


def _meeting(k: int, n: int, ways: list[int]) -> float:
    """Return the bound on the iterations to a centre in every ball, from the balls' own numbers of points."""
    if k == n:
        return 0.0
    return float(k * n * n * _wait(n, 2) * sum(1 / way for way in ways))


def _check(p: int, epsilon: float) -> None:
    if p < 1 or p != int(p):
        raise ValueError(f"p must be a whole number, at least 1; got {p}.")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie between 0 and 1; got {epsilon}.")
