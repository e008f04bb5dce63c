"""How many iterations per second every algorithm makes, and what it guarantees: k-median, n = 1000, k = 20.

Run ``python benchmarks/algorithms.py``. One process, CPU seconds, kernels compiled before anything is timed. An
iteration is one offspring, for all algorithms alike. The cost after them is one run's, seed 0.
"""

from __future__ import annotations

from time import process_time

from gsemo_speed import SEED, show, uniform_space

from certiclust.evolution import ALGORITHMS, MUTATIONS, evolve
from certiclust.evolution.algorithms import named
from certiclust.problems import KCenterProblem, KMedianProblem, Problem

#: Iterations per second that every algorithm must make on k-median.
WANTED = 10**6


def rates(problem: Problem, iterations: int) -> list[dict[str, object]]:
    """Time every algorithm with both mutations."""
    rows: list[dict[str, object]] = []
    for name in ALGORITHMS:
        for mutation in MUTATIONS:
            evolve(problem, name, 1000, SEED, mutation=mutation)  # compile
            start = process_time()
            run = evolve(problem, name, iterations, SEED, mutation=mutation)
            seconds = process_time() - start
            contract = named(name, mutation).contract(problem)
            rows.append(
                {
                    "problem": problem.name,
                    "algorithm": name,
                    "mutation": mutation,
                    "n": problem.space.n,
                    "k": problem.k,
                    "iterations": iterations,
                    "evaluated": run.evaluations,
                    "cost": round(run.cost, 4),
                    "mean |P|": round(run.mean_population, 3),
                    "CPU s": round(seconds, 3),
                    "iterations/s": round(iterations / seconds),
                    "Pr_sel": f"{contract.selection:.4g}",
                    "Pr_rep(1,1)": f"{contract.reproduction(1, 1):.4g}",
                    "ratio": "none" if contract.ratio is None else f"{contract.ratio:.4g}",
                    "expected offspring": f"{contract.expected_offspring:.4g}",
                }
            )
    return rows


def print_contracts(problem: Problem) -> None:
    """Print what each algorithm guarantees."""
    for algorithm in ALGORITHMS.values():
        print(algorithm.contract(problem))


if __name__ == "__main__":
    space = uniform_space(1000)
    median, center = KMedianProblem(space, 20), KCenterProblem(space, 20)
    rows = rates(median, 5 * 10**6) + rates(center, 10**6)
    show("Algorithms (uniform 2-D, seed 0)", rows, "algorithms")
    slow = [row for row in rows if row["problem"] == "k-median" and int(str(row["iterations/s"])) < WANTED]
    print(f"below {WANTED:,} iterations/s on k-median: {', '.join(str(row['algorithm']) for row in slow) or 'none'}")
    print_contracts(median)
    print_contracts(center)
