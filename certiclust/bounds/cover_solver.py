"""Whether k columns can cover all rows, by the word of HiGHS's integer solver.

It is asked where the branch tree of cover_tree.py came to its end without an answer. It leaves no proof behind: a
certificate that rests on it says so, and `verify` can only solve the same problem again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from certiclust.bounds.packing import new_highs, pass_cover
from certiclust.space.cover import Cover, Ints

#: Nodes after which HiGHS gives up: a count, so that the answer is the same on any machine.
MOST_NODES = 3000
#: Work (of about 5 ns) of a simplex iteration: so much per row, or square of rows.
ROW_WORK, SQUARE_WORK = 70.0, 0.07


class Answer(NamedTuple):
    """What HiGHS says: that there is no cover, or one, or (neither) nothing within its nodes; and the work it took."""

    impossible: bool
    found: Ints | None
    work: float


def ask_solver(cover: Cover, k: int, should_stop: Callable[[], bool], seconds: float) -> Answer:
    """Ask HiGHS for k columns that cover all rows.

    Parameters
    ----------
    cover : Cover
        The problem.
    k : int
        Number of columns.
    should_stop : callable
        Polled by HiGHS now and then; a stop leaves the question open.
    seconds : float
        Seconds left, may be infinite.
    """
    import highspy

    rows, m = cover.clients.size, cover.columns.size
    solver = new_highs(seconds, presolve="on", mip_max_nodes=MOST_NODES, mip_detect_symmetry="false")
    pass_cover(solver, cover, np.arange(rows))
    every = np.arange(m, dtype=np.int32)
    solver.changeColsBounds(m, every, np.zeros(m), np.ones(m))
    solver.changeColsIntegrality(m, every, np.full(m, int(highspy.HighsVarType.kInteger), dtype=np.uint8))
    solver.addRow(-highspy.kHighsInf, float(k), m, every, np.ones(m))
    solver.cbMipInterrupt.subscribe(lambda event: event.interrupt() if should_stop() else None)
    solver.run()
    info, status = solver.getInfo(), solver.getModelStatus()
    work = rows * (ROW_WORK + SQUARE_WORK * rows) * max(0, info.simplex_iteration_count)
    if status == highspy.HighsModelStatus.kInfeasible:
        return Answer(True, None, work)
    x = np.array(solver.getSolution().col_value, dtype=np.float64)
    chosen = np.flatnonzero(x > 0.5)
    covers = x.size == m and chosen.size <= k and np.unique(cover.by_column.chosen(chosen).member).size == rows
    return Answer(False, chosen if covers else None, work)
