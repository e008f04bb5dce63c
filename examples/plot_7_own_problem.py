"""
A problem of one's own: maximum coverage
========================================

Choose k of m sets so that together they cover as much as possible. This is not clustering, but it is a subset-selection
problem with f2 = |x|, so every algorithm of `certiclust.evolution` can run on it at compiled speed. All it takes is a
table for each solution that is held, and how its value changes.
"""

# %%
# The table of a solution says how often each element is covered. Its value is known once the sets that go and come are
# taken off and put on, in time proportional to their sizes. The methods are compiled by numba; `slot` says in which row
# of the table a solution lies, and nothing but `store` may leave a row changed.
from time import process_time
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from certiclust.evolution import ALGORITHMS, SubsetProblem, evolve


class Coverage(NamedTuple):
    start: np.ndarray  # set j has the elements elements[start[j]:start[j + 1]]
    elements: np.ndarray
    count: np.ndarray  # (slots, elements): how many chosen sets have the element
    covered: np.ndarray  # (slots,): how many elements have one

    def value(self, slot: int, removed: np.ndarray, added: np.ndarray) -> float:
        count, covered = self.count[slot], self.covered[slot]
        for j in removed:
            for e in self.elements[self.start[j] : self.start[j + 1]]:
                count[e] -= 1
                covered -= count[e] == 0
        for j in added:
            for e in self.elements[self.start[j] : self.start[j + 1]]:
                covered += count[e] == 0
                count[e] += 1
        for j in added:  # and back
            for e in self.elements[self.start[j] : self.start[j + 1]]:
                count[e] -= 1
        for j in removed:
            for e in self.elements[self.start[j] : self.start[j + 1]]:
                count[e] += 1
        return float(covered)

    def store(self, parent: int, slot: int, removed: np.ndarray, added: np.ndarray) -> None:
        count = self.count[slot]
        for e in range(count.size):
            count[e] = self.count[parent, e]
        for j in removed:
            for e in self.elements[self.start[j] : self.start[j + 1]]:
                count[e] -= 1
        for j in added:
            for e in self.elements[self.start[j] : self.start[j + 1]]:
                count[e] += 1
        self.covered[slot] = 0
        for e in range(count.size):
            self.covered[slot] += count[e] > 0


# %%
# 300 random sets over 1000 elements, of which 15 may be chosen.
rng = np.random.default_rng(0)
m, n, k = 300, 1000, 15
sets = [rng.choice(n, rng.integers(20, 80), replace=False) for _ in range(m)]
start = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
elements = np.concatenate(sets).astype(np.int64)


def tables(slots: int) -> Coverage:
    return Coverage(start, elements, np.zeros((slots, n), np.int64), np.zeros(slots, np.int64))


problem = SubsetProblem("maximum coverage", m, k, tables)

# %%
# The greedy algorithm, which covers at least 1 - 1/e of what is possible, for comparison.
chosen, covered = [], np.zeros(n, bool)
for _ in range(k):
    gains = [np.count_nonzero(~covered[s]) for s in sets]
    chosen.append(int(np.argmax(gains)))
    covered[sets[chosen[-1]]] = True
greedy = int(covered.sum())

# %%
# All five algorithms, and what each guarantees. A contract needs a theorem about the problem; the probabilities are
# known without one.
print(f"greedy    {greedy} elements")
histories = {}
for name in ALGORITHMS:
    evolve(problem, name, 10, 0)  # compiles
    began = process_time()
    run = evolve(problem, name, 300_000, 0)
    seconds = process_time() - began
    assert -run.cost == len(set(np.concatenate([sets[j] for j in run.best]).tolist()))
    print(f"{name:9s} {-run.cost:.0f} elements, {run.n_iter / seconds / 1e6:.1f} million iterations per CPU second")
    histories[name] = run.history
print(ALGORITHMS["nsga2"].contract(problem))

# %%
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, history in histories.items():
    axis.step(history["iteration"], -history["upper"], where="post", label=name)
axis.axhline(greedy, color="0.6", linestyle="--", label="greedy")
axis.set(xscale="log", xlabel="iterations", ylabel="elements covered")
axis.legend()
plt.show()
