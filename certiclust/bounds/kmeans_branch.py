"""Branch and bound on top of the boxes: cases by how many centres lie in a region, each with multipliers of its own.

Where the relaxation leaves a gap it mixes clusterings. A region in which their numbers of centres differ is chosen, and
either at most m centres lie in it or at least m + 1 do. The least bound of all cases holds for every solution.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from certiclust.bounds.kmeans_boxes import Boxes, BoxSearch
from certiclust.bounds.kmeans_counts import Count, doubtful_regions

#: Smoothing of the climb in a case, from the multipliers of the case that it is part of.
SHARES = (1e-3, 3e-4, 1e-4)
#: Smoothing at which the relaxation is read, in shares of cost / k: at most this, or of the gap.
READ, READ_GAP = 1e-4, 0.1
#: Cases after which the gap must have become narrower, and to which share.
TRIAL, HOPELESS = 4, 0.8
#: Cases at most, and demands of one.
MAX_CASES, MAX_DEPTH = 200, 40
#: Work of looking for regions, per centre that the relaxation uses, and work of one case at most.
CHOICE, CASE_WORK = 6e3, 2.5e8
#: Regions whose two cases are looked at before one is chosen, and how much the better case counts for.
CHOSEN, LARGER = 6, 0.1


@dataclass(eq=False)
class Case:
    """The solutions that meet the demands of a search; what is proved about them; and its two parts, if it was split.

    `region` is a demand of at least m + 1 centres inside, met by the second part; the first has at most m.
    """

    search: BoxSearch
    proved: Boxes
    region: Count | None = None
    parts: tuple[Case, ...] = ()

    @property
    def lower(self) -> float:
        """The bound of all parts."""
        return min((part.lower for part in self.parts), default=self.proved.lower)


def branch(search: BoxSearch, gap_tol: float, close: float, max_work: float) -> Case:
    """Return the tree of cases below a search that was run, grown where its bound is least until `max_work` is done.

    Better solutions that turn up on the way are adopted by the search.
    """
    root = Case(search, search.proved)
    waiting = [(root.lower, 0, root)]
    spent, made, wide = 0.0, 1, search.upper - root.lower
    while waiting and made < MAX_CASES:
        lower, _, case = heapq.heappop(waiting)
        gap = search.upper - lower
        if gap <= max(gap_tol * lower, close * search.upper) or spent >= max_work or search.should_stop():
            break
        if made > TRIAL and gap > HOPELESS * wide:
            break
        before = case.search.work
        case.region = _region(case.search, made) if len(case.search.counts) < MAX_DEPTH else None
        spent += case.search.work - before
        if case.region is None:
            break
        least = min(CASE_WORK, max_work - spent)
        case.parts = tuple(_part(search, case, count, least, gap_tol) for count in _either(case.region, search.k))
        for part in case.parts:
            spent += part.search.work
            heapq.heappush(waiting, (part.lower, made, part))
            made += 1
        if case is not root:
            case.search.forget()
    return root


def _either(region: Count, k: int) -> tuple[Count, Count]:
    """Return both cases: fewer centres inside than demanded, so many outside; or as many as demanded."""
    return region._replace(inside=False, least=k - region.least + 1), region


def _region(search: BoxSearch, seed: int) -> Count | None:
    """Return a region of whose number of centres the relaxation is in doubt: the one that seems to raise it most."""
    rho = np.minimum(search.costs - search.best_u, 0.0).sum(axis=1)
    gap = max(search.upper - search.proved.lower, 1e-9 * search.upper)
    mu = min(READ * search.upper, READ_GAP * gap)
    shares = np.exp((rho.min() - rho) * search.k / mu)
    shares *= search.k / shares.sum()
    search.work += CHOICE * len(search.columns)
    regions = doubtful_regions(search.places(search.columns), shares, seed, CHOSEN)
    hopes = []
    for region in regions:
        both = sorted(min(search.outlook(count), search.upper) for count in _either(region, search.k))
        hopes.append(both[0] + LARGER * both[1])
    return regions[int(np.argmax(hopes))] if regions else None


def _part(root: BoxSearch, case: Case, count: Count, work: float, gap_tol: float) -> Case:
    """Return the part of a case that meets one more demand, after a search from the multipliers of the case."""
    search = root.with_demand((*case.search.counts, count), case.search, max(work, 0.0))
    proved = search.run(gap_tol, SHARES)
    if search.upper < root.upper:
        root.take(search.centers, search.upper)
    if proved.lower < case.proved.lower:  # it ended too early: the bound of the whole case holds for its parts
        proved = case.proved._replace(u=np.append(case.proved.u, 0.0))
    return Case(search, proved)
