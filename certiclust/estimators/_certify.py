"""From what the solver proved to the certificate that the user keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates import Certificate, Guarantee
from certiclust.problems import FairKMedianProblem, KTMMProblem, MaxProblem, Problem
from certiclust.solver import Result
from certiclust.space.candidates import CandidateSet
from certiclust.theory import iteration_bound

IntArray = NDArray[np.intp]


def certify(
    problem: Problem,
    result: Result,
    *,
    centers: IntArray,
    labels: NDArray[np.int32],
    rows: IntArray | None,
    n_samples: int,
    fingerprint: str,
    epsilon: float,
    named: CandidateSet | None = None,
) -> Certificate:
    """Return the certificate of a result.

    Parameters
    ----------
    problem, result : Problem and Result
        What was solved, and what was found and proved.
    centers : ndarray
        The centres as the user counts them: rows of X, or of the candidates. Where the centres are positions these are
        candidates that cost no less, with all their swaps looked at, or none.
    labels : ndarray
        Labels of the clients (rows of positive weight).
    rows : ndarray or None
        The row of X that each candidate is; None if the candidates are the user's.
    n_samples : int
        Rows of X.
    fingerprint : str
        SHA-256 of the data.
    epsilon : float
        Tolerance of the local search in the theorem.
    named : CandidateSet or None
        The set that the candidates are, where they are neither the rows nor the user's.
    """
    bound = result.bound
    assert bound is not None
    witness: dict[str, Any] = {"centers": centers} if len(centers) else {}
    if result.positions is not None:
        witness["cluster_centers"] = result.positions
    for name, evidence in bound.witness.items():
        # A tree numbers candidates as the verifier does; lists of rows are given as the user counts them.
        witness[name] = evidence if rows is None or isinstance(evidence, dict) else rows[evidence]
    if named is not None and named.name not in ("data", "array") and len(centers):
        # The verifier builds the set again; what was chosen from it is given by coordinates as well.
        witness["candidates"] = {"name": named.name, "epsilon": named.epsilon}
        witness.setdefault("cluster_centers", named.points[centers])
    if isinstance(problem, KTMMProblem):
        witness["labels"] = labels
    claims: dict[str, float | None] = {}
    if isinstance(problem, FairKMedianProblem):
        claims = _fair_claims(problem, result, witness)
    guarantee, note = _guarantee(problem, result, named)
    return Certificate(
        problem=problem.name,
        n_samples=n_samples,
        n_clusters=problem.k,
        cost=result.cost,
        lower_bound=min(bound.value, result.cost) if _comparable(problem, result) else 0.0,
        data_sha256=fingerprint,
        metric=problem.space.metric.name,
        method=result.method,
        guarantee=guarantee,
        note=note,
        theory=_theory(problem, epsilon, named if bound.ratio is not None else None),
        witness={name: v if isinstance(v, dict) else np.asarray(v).tolist() for name, v in witness.items()},
        **claims,
    )


def _fair_claims(problem: FairKMedianProblem, result: Result, witness: dict[str, Any]) -> dict[str, float | None]:
    """Return what is claimed about fairness, and add to the witness what these claims are about."""
    said = result.fairness
    assert said is not None
    balls = [] if problem.strict else problem.ball_centers.tolist()
    witness["fairness"] = {"mode": problem.mode, "beta": problem.beta, "balls": balls}
    if said.infeasible is not None:
        witness["infeasible"] = said.infeasible
    ratio = float(problem.fairness(result.centers).max())
    return {
        "fair_lower_bound": said.fair_lower_bound,
        "fairness_ratio": ratio if np.isfinite(ratio) else None,
        "infeasible_beta": None if said.infeasible is None else said.asked,
    }


def _guarantee(problem: Problem, result: Result, named: CandidateSet | None) -> tuple[Guarantee | None, str]:
    """Return what may be claimed for the path that ran, and a remark or the reason why nothing may."""
    bound = result.bound
    assert bound is not None
    if not result.complete:
        return None, f"no solution of size {problem.k} was met, and the largest one was filled up by index"
    if isinstance(problem, FairKMedianProblem):
        return _fair_guarantee(problem, result)
    if result.cost == 0:
        return Guarantee(1.0, bound.theorem, "the cost is zero"), ""
    if bound.ratio is None:
        return None, bound.because
    note = ""
    if named is not None and named.epsilon is not None:
        what = f"candidates, the {named.name},"
        note = f"against centres anywhere: a factor {1 + named.epsilon:.4g} for the {what} is included"
    elif problem.against:
        note = f"against {problem.against}"
    return Guarantee(bound.ratio, bound.theorem, bound.because), note


def _comparable(problem: Problem, result: Result) -> bool:
    """Return whether the solution keeps the constraints of those that its lower bound is about."""
    return not isinstance(problem, FairKMedianProblem) or problem.violations(result.centers) == 0


def _fair_guarantee(problem: FairKMedianProblem, result: Result) -> tuple[Guarantee | None, str]:
    missed = problem.violations(result.centers)
    if problem.strict:
        if missed:
            return None, f"{missed} points have no centre within {problem.beta:.6g} fair radii"
        because = "every point has a centre within reach"
        return Guarantee(None, "fair k-median definition", because, problem.beta), ""
    if missed:
        return None, f"{missed} of {len(problem.ball_centers)} critical balls have no centre"
    if problem.space.power != 1:
        return None, "the triangle inequality was not verified for this distance"
    note = "the lower bound is that of sets with a centre in every critical ball"
    theorem = f"fair k-median theorem, balls of factor {problem.factor:g}"
    return Guarantee(None, theorem, "every critical ball has a centre", problem.promise), note


def _theory(problem: Problem, epsilon: float, named: CandidateSet | None) -> dict[str, Any]:
    """Return the set whose swaps were checked with its factor, None if unknown, and the theorem's numbers.

    The latter only where they need no further pass over distances that are not held.
    """
    chosen: dict[str, Any] = {}
    if named is not None:
        factor = None if named.epsilon is None else 1.0 + named.epsilon
        chosen = {"candidates": named.name, "candidate_factor": factor}
    if not isinstance(problem, MaxProblem) and problem.space.matrix is None:
        return chosen
    if isinstance(problem, FairKMedianProblem) and problem.strict:
        return chosen
    theorem = iteration_bound(problem, epsilon=epsilon)
    iterations = theorem.iterations if np.isfinite(theorem.iterations) else None
    against = {"against": problem.against} if problem.against else {}
    return {"theorem": theorem.name, "ratio": theorem.ratio, "iterations": iterations, **against, **chosen}
