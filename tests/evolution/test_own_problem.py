"""A problem of one's own: maximum coverage, with and without a constraint, against brute force."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest

from certiclust.evolution import ALGORITHMS, Certified, Sized, SubsetProblem, evolve
from certiclust.evolution.kernels.generation import advance, advance_own


class Coverage(NamedTuple):
    """Weighted coverage, at least one thing of the first `group` wanted; things are rows of a 0/1 matrix."""

    covers: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    group: int
    inside: np.ndarray

    def value(self, slot, removed, added):
        total = 0.0
        for e in range(self.weight.size):
            count = self.count[slot, e]
            for j in removed:
                count -= self.covers[j, e]
            for j in added:
                count += self.covers[j, e]
            if count > 0:
                total += self.weight[e]
        return total

    def violations(self, slot, removed, added):
        inside = self.inside[slot]
        for j in removed:
            inside -= j < self.group
        for j in added:
            inside += j < self.group
        return 0 if inside > 0 or self.group == 0 else 1

    def store(self, parent, slot, removed, added):
        self.inside[slot] = self.inside[parent]
        for e in range(self.weight.size):
            self.count[slot, e] = self.count[parent, e]
        for j in removed:
            self.inside[slot] -= j < self.group
            for e in range(self.weight.size):
                self.count[slot, e] -= self.covers[j, e]
        for j in added:
            self.inside[slot] += j < self.group
            for e in range(self.weight.size):
                self.count[slot, e] += self.covers[j, e]


def covering(seed, m, elements, k, group):
    rng = np.random.default_rng(seed)
    covers = (rng.random((m, elements)) < 0.3).astype(np.int64)
    weight = rng.integers(1, 9, elements).astype(float)

    def tables(slots):
        return Coverage(covers, weight, np.zeros((slots, elements), np.int64), group, np.zeros(slots, np.int64))

    return SubsetProblem("coverage", m, k, tables, empty_violations=int(group > 0)), covers, weight


def value(covers, weight, chosen):
    return float(weight[covers[list(chosen)].any(axis=0)].sum()) if len(chosen) else 0.0


@pytest.mark.parametrize("group", [0, 3])
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_coverage_by_every_algorithm_against_brute_force(name, group):
    for seed in range(3):
        problem, covers, weight = covering(seed, 11, 25, 3, group)
        feasible = [c for c in combinations(range(11), 3) if group == 0 or min(c) < group]
        best = max(value(covers, weight, c) for c in feasible)
        run = evolve(problem, name, 200_000, seed, target=-best, mutation="heavy-tailed")
        assert -run.cost == best == value(covers, weight, run.best)
        assert run.n_iter < 200_000
        assert run.certified
        for member in run.population:
            assert member.f1[1] == value(covers, weight, member.centers)
            assert member.f1[0] == -int(group > 0 and not (member.centers < group).any())
        assert evolve(problem, name, 10**5, seed, stop=Sized()).best is not None
        assert evolve(problem, name, 10**5, seed, stop=Certified()).certified


def test_own_methods_are_compiled_anew_and_never_read_from_disk():
    assert advance_own(Coverage) is advance_own(Coverage)  # once in a process
    assert type(advance_own(Coverage)._cache).__name__ == "NullCache"
    assert type(advance._cache).__name__ != "NullCache"


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="k must be between 1 and the number of things, 4; got 5"):
        SubsetProblem("nothing", 4, 5, lambda slots: None)
