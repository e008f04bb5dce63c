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
    """Violated triples, worst first (a row of `rows` for each), and the work (of about 5 ns) that it took to find them."""

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
    held = inside[:, used].astype(np.float64)
    share = x[used]
    slack = held @ share - 1.0
    tight = np.flatnonzero(slack <= MOST_SLACK)
    held, slack = held[tight], slack[tight]
    weighted = held * share
    common = weighted @ held.T
    work = held.size * (3.0 + PRODUCT * tight.size) + 1e4 * tight.size
    found, excess = [np.zeros((0, 3), dtype=np.int64)], [np.zeros(0)]
    for i in range(tight.size):
        near = i + 1 + np.flatnonzero(common[i, i + 1 :] > LEAST_COMMON)
        if near.size < 2:
            continue
        mine = np.flatnonzero(held[i])
        all_three = weighted[np.ix_(near, mine)] @ held[np.ix_(near, mine)].T
        pairs = common[i, near]
        count = (
            (3.0 + slack[i] - pairs[:, None] - pairs + slack[near][:, None] + slack[near])
            - common[np.ix_(near, near)]
            + 2.0 * all_three
        )
        first, second = np.nonzero(np.triu(count < 2.0 - LEAST_VIOLATION, 1))
        work += near.size * near.size * (PRODUCT * mine.size + 1.0)
        if first.size:
            found.append(np.column_stack([np.full(first.size, i), near[first], near[second]]))
            excess.append(2.0 - count[first, second])
    triples, worst = np.concatenate(found), np.concatenate(excess)
    return Triples(tight[_spread(triples[np.argsort(-worst, kind="stable")], tight.size, most)], work)


def _spread(triples: Ints, n_rows: int, most: int) -> Ints:
    """Return the first triples in which no row occurs too often."""
    taken = np.zeros(n_rows, dtype=np.int64)
    chosen = []
    for triple in triples:
        if len(chosen) == most:
            break
        if taken[triple].max() < PER_ROW:
            taken[triple] += 1
            chosen.append(triple)
    return np.array(chosen, dtype=np.int64).reshape(-1, 3)
