"""The runs of ``algorithm="auto"``, one for each problem: its own loop, limits and words, as `solve` wants them."""

from __future__ import annotations

from certiclust.problems import FairKMedianProblem, KCenterProblem, KMeansProblem, KMedianProblem, KTMMProblem, Problem
from certiclust.solver.result import Found
from certiclust.solver.task import Task
from certiclust.solver.words import counted

#: Share of a time limit after which the search of k-means leaves the rest to the bound; without a certificate only the
#: last descent comes after the search.
SEARCH_SHARE, SEARCH_ALONE = 0.5, 0.96


def run_auto(problem: Problem, task: Task) -> Found:
    """Search and prove with what is best for the problem."""
    if isinstance(problem, KMedianProblem):
        return kmedian(problem, task)
    if isinstance(problem, KTMMProblem):
        return ktmm(problem, task)
    if isinstance(problem, KCenterProblem):
        return kcenter(problem, task)
    if isinstance(problem, KMeansProblem):
        return kmeans(problem, task)
    assert isinstance(problem, FairKMedianProblem)
    return fair_kmedian(problem, task)


def kmedian(problem: KMedianProblem, task: Task) -> Found:
    """Evolve, bound and reduce until the optimum is proved or the budget is spent."""
    from certiclust.solver.kmedian import Limits
    from certiclust.solver.kmedian_run import run_kmedian

    history, record = task.recorder()
    limits = Limits(task.budget.gap_tol, task.max_iter, task.should_stop, task.budget.share)
    proof = run_kmedian(problem, limits, task.random_state, record, task.begin)
    method = f"evolution, bound and reduction, {proof.iterations:,} offspring, {counted(proof.nodes, 'node')}"
    return Found(proof.centers, proof.bound, proof.iterations, history, method, multipliers=proof.multipliers)


def ktmm(problem: KTMMProblem, task: Task) -> Found:
    """Search colourings and prove bounds for k-tMM over all partitions."""
    from certiclust.solver.ktmm_run import Limits, run_ktmm

    history, record = task.recorder()
    limits = Limits(task.budget.gap_tol, task.should_stop, task.budget.goal, share=task.budget.share)
    run = run_ktmm(problem, limits, task.budget.max_iter, task.random_state, record, task.begin)
    centers, labels = problem.central(run.labels, run.reach)
    cost = float(run.reach.max())
    return Found(centers, run.bound, run.iterations, history, run.method, labels=labels, cost=cost, spent=run.spent)


def kcenter(problem: KCenterProblem, task: Task) -> Found:
    """Search for covers and prove that there are no smaller ones, until the bounds meet or the budget is spent."""
    from certiclust.solver.kcenter import Limits
    from certiclust.solver.kcenter_run import run_kcenter

    history, record = task.recorder()
    limits = Limits(task.budget.gap_tol, task.max_iter, task.should_stop, task.left, share=task.budget.share)
    run = run_kcenter(problem, limits, task.random_state, record, task.begin.centers)
    return Found(run.centers, run.bound, run.iterations, history, run.method, cost=run.radius, spent=run.spent)


def kmeans(problem: KMeansProblem, task: Task) -> Found:
    """Search for centres anywhere and bound the optimum of k-means."""
    from certiclust.bounds.kmeans_chain import Dual
    from certiclust.solver.kmeans import Limits
    from certiclust.solver.kmeans_chain import Link, run_chained
    from certiclust.solver.kmeans_run import run_kmeans

    history, record = task.recorder()
    search_stop = task.stops_after(SEARCH_SHARE if task.certify else SEARCH_ALONE)
    stops = search_stop, task.should_stop, task.checks_stop
    limits = Limits(task.budget.gap_tol, task.max_iter, task.certify, *stops, task.used)
    begin, dual = task.begin, None
    if task.budget.share < 1.0 or begin.positions is not None:
        if begin.multipliers is not None and begin.columns is not None:
            dual = Dual(begin.multipliers, begin.columns)
        link = Link(task.budget.share, begin.positions, dual)
        run, dual = run_chained(problem, limits, task.random_state, record, link)
    else:
        run = run_kmeans(problem, limits, task.random_state, record)
    return Found(
        centers=run.rows,
        bound=run.bound,
        n_iter=run.iterations,
        history=history,
        method=f"evolution of centres anywhere and bound, {run.iterations:,} offspring",
        labels=run.labels,
        positions=run.positions,
        cost=run.cost,
        cut=run.cut,
        multipliers=None if dual is None else dual.u,
        columns=None if dual is None else dual.columns,
    )


def fair_kmedian(problem: FairKMedianProblem, task: Task) -> Found:
    """Search for fair sets and bound their cost, or prove that there is none."""
    from certiclust.solver.fair_cover import Clock
    from certiclust.solver.fair_run import run_fair
    from certiclust.solver.kmedian import Limits

    history, record = task.recorder()
    limits = Limits(task.budget.gap_tol, task.max_iter, task.should_stop, task.budget.share)
    clock = Clock(task.should_stop, task.left)
    run = run_fair(problem, limits, clock, task.random_state, record, task.begin)
    tries = f"{run.iterations:,} offspring, {counted(run.nodes, 'node')}"
    return Found(
        run.centers,
        run.bound,
        run.iterations,
        history,
        f"evolution, bound and reduction of penalised costs, {tries}",
        fairness=run.fairness,
        multipliers=run.multipliers,
    )
