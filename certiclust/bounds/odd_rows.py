"""Rows that three rows of a cover problem imply together, and that its linear relaxation violates.

Three rows are covered by columns that hold one, two or three of them. A column that holds c of them counts ceil(c / 2):
halves of the three rows sum up to at least 3/2, so whole numbers of columns count at least 2 (Gomory's rounding with
multipliers 1/2). A relaxation that covers each pair of the three by half a column counts only 3/2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A row may have a slack of so much, and two rows must share so much of the solution, to be looked at together.
MOST_SLACK, LEAST_COMMON = 0.2, 0.05
#: A triple has to be violated by so much; and a row takes part in so many triples at a time.
LEAST_VIOLATION, PER_ROW = 0.03, 4

#: Work (of about 5 ns) of one product inside a matrix product.
PRODUCT = 0.03


class Triples(NamedTuple):
    """Violated triples, worst first (three rows each), and the work (of about 5 ns) that it took to find them."""

    rows: Ints
    work: float


def violated_triples(inside: NDArray[np.bool_], x: Floats, most: int) -> Triples:
    """Return triples of rows whose joint row a solution of the relaxation violates.

    Parameters
    ----------
    inside : ndarray of bool
        The columns of each row.
    x : ndarray
        Share of each column.
    most : int
        Triples wanted at most.
    """
    used = np.flatnonzero(x > 1e-7)
    share = x[used]
    held = inside[:, used].astype(np.float64)
    slack = held @ share - 1.0
    tight = np.flatnonzero(slack <= MOST_SLACK)
    held, slack = held[tight], slack[tight]
    # A triple counts 3 + its slacks - what its pairs share + twice what all three share.
    shared = (held * share) @ held.T - 0.5 * (slack[:, None] + slack)
    work = held.size * (3.0 + PRODUCT * tight.size) + 1e4 * tight.size
    found, excess = [np.zeros((0, 3), dtype=np.int64)], [np.zeros(0)]
    for i in range(tight.size):
        near = i + 1 + np.flatnonzero(shared[i, i + 1 :] > LEAST_COMMON)
        pairs = shared[i, near]
        over = pairs[:, None] + pairs + shared[near[:, None], near] - 1.0
        if near.size < 2 or over.max() <= LEAST_VIOLATION:
            continue
        mine = np.flatnonzero(held[i])
        part = held[near[:, None], mine]
        over -= 2.0 * ((part * share[mine]) @ part.T)
        first, second = np.nonzero(over > LEAST_VIOLATION)
        once = first < second
        first, second = first[once], second[once]
        found.append(np.column_stack([np.full(first.size, i), near[first], near[second]]))
        excess.append(over[first, second])
        work += near.size * mine.size * (3.0 + PRODUCT * near.size)
    order = np.argsort(-np.concatenate(excess), kind="stable")
    return Triples(tight[_spread(np.concatenate(found)[order], tight.size, most)], work)


def _spread(triples: Ints, n_rows: int, most: int) -> Ints:
    """Return the first triples in which no row occurs too often."""
    taken = np.zeros(n_rows, dtype=np.int64)
    chosen: list[Ints] = []
    for triple in triples:
        if len(chosen) == most:
            break
        if taken[triple].max() < PER_ROW:
            taken[triple] += 1
            chosen.append(triple)
    return np.array(chosen, dtype=np.int64).reshape(-1, 3)
