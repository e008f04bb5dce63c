"""Best-first branch and bound for k-median with limited reach, on linear programs and on sets of candidates.

Fixing one candidate closed changes little, because it has near copies. So a node splits on a set of candidates: either
one of the set is open, which is one more row of the program, or all are closed (in the manner of Ryan & Foster, 1981).
The sets are those that serve both of two clients, and the nearer half of what serves one. Every node records the
multipliers of its program, rounded, with the candidates that they drop or fix open; a row of a set is a client that its
members serve for nothing and no other candidate serves at all. `certificates/replay.py` checks all of it from the data.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from certiclust.bounds.branch_and_bound import Node, Stage
from certiclust.bounds.lagrangian import (
    GRIDS,
    Bound,
    Instance,
    evaluate,
    goal_value,
    is_closed,
    lift,
    reduce_candidates,
    round_multipliers,
)
from certiclust.bounds.service_program import Basis, Relaxed, ServiceProgram
from certiclust.space.lists import Floats, Ints, Lists, restrict, with_rows

Mask = NDArray[np.bool_]
NONE: Ints = np.zeros(0, np.int64)

#: Sets of each kind that are tried before a split, and simplex iterations of a try.
PROBES, PROBE_ITERATIONS = 3, 60
#: A set whose share is nearer than this to 0 or 1 is not worth a split.
LEAST_SHARE = 0.02
#: Rows looked at for sets that serve two clients.
MOST_ROWS = 150
#: Clients, and pairs of clients and candidates, up to which linear programs are solved.
MOST_CLIENTS, MOST_PAIRS = 2000, 400_000


@dataclass
class _Open:
    """An unfinished node, in numbers of the root's live candidates: what is closed and open, and its sets."""

    closed: Mask
    opened: Mask
    path: Ints
    found: Relaxed
    basis: Basis


class _Left(Enum):
    """How many solutions the fixings of a node leave."""

    NONE = 0
    ONE = 1
    MANY = 2


def _decided(closed: Mask, opened: Mask, k: int) -> _Left:
    """Return whether fixings leave no solution, or one."""
    if np.any(opened & closed) or opened.sum() > k or (~closed).sum() < k:
        return _Left.NONE
    return _Left.ONE if k in (opened.sum(), (~closed).sum()) else _Left.MANY


class ReachTree:
    """The tree over the candidates that survived the ascents at the root.

    Parameters
    ----------
    program : ServiceProgram
        The relaxation over these candidates.
    ids : ndarray
        Their original numbers.
    opened : ndarray
        Positions (in `ids`) fixed open at the root.
    instance : Instance
        Number of centres, margins, granularity.
    root : Node
        The root with its stages and bound.
    upper : float
        Cost of the incumbent.
    """

    def __init__(
        self, program: ServiceProgram, ids: Ints, opened: Ints, instance: Instance, root: Node, upper: float
    ) -> None:
        self.program, self.ids, self.instance, self.upper = program, ids, instance, upper
        self.lists: Lists = program.lists
        self.nodes = [root]
        self._open: dict[int, _Open] = {}
        self._heap: list[tuple[float, int]] = []
        self._closed = np.inf
        self._counted = 0.0
        self._whole = False
        #: Sets that the relaxation opened in the last nodes, as original numbers: starts for the polish.
        self.proposals: list[Ints] = []
        #: Shares of the candidates in the last node.
        self.share: Floats = np.zeros(ids.size)
        flags = np.zeros(ids.size, dtype=bool)
        flags[opened] = True
        self._bound_node(0, np.zeros(ids.size, dtype=bool), flags, NONE, root.lower)

    @property
    def lower(self) -> float:
        """Global lower bound: the weakest leaf, at most the incumbent."""
        first = self._heap[0][0] if self._heap else np.inf
        return float(min(self.upper, first, self._closed))

    @property
    def finished(self) -> bool:
        """Whether the best open leaf is already closed by the incumbent."""
        return not self._heap or is_closed(self._heap[0][0], self.upper, self.instance.granularity)

    def take_work(self) -> float:
        """Return the counted work since the last call."""
        counted, self._counted = self.program.work - self._counted, self.program.work
        return counted

    def run(self, nodes: int, should_stop: Callable[[], bool], most_work: float = np.inf) -> None:
        """Branch until `nodes` more children exist, `most_work` is done, the tree is closed or `should_stop`.

        It also ends where a relaxation opens whole candidates only: their cost may close the tree.
        """
        self._whole = False
        last, program = len(self.nodes) + nodes, self.program
        program.most_work = program.work + most_work
        while len(self.nodes) < last and program.work < program.most_work and not self.finished and not self._whole:
            if should_stop():
                return
            lower, number = heapq.heappop(self._heap)
            here = self._open.pop(number)
            members = self._chosen_set(here)
            if should_stop():  # what was tried is not to be relied upon
                self._open[number] = here
                heapq.heappush(self._heap, (lower, number))
                return
            self._split(number, here, members, lower)

    def _split(self, number: int, here: _Open, members: Ints, lower: float) -> None:
        """Make both children of a node."""
        shut = here.closed.copy()
        shut[members] = True
        opened, path = here.opened, here.path
        if members.size == 1:
            opened = opened.copy()
            opened[members] = True
        else:
            path = np.append(path, self.program.add_set(members))
        for side, node in ((-1, (shut, here.opened, here.path)), (1, (here.closed, opened, path))):
            self.nodes.append(Node(number, int(self.ids[members[0]]), side, members=self.ids[members]))
            self.program.restore(here.basis)
            self._bound_node(len(self.nodes) - 1, *node, lower)

    def _bound_node(self, number: int, closed: Mask, opened: Mask, path: Ints, inherited: float) -> None:
        """Bound a node, record what that proves, and queue it unless it is closed."""
        node, k = self.nodes[number], self.instance.k
        node.lower = inherited
        if _decided(closed, opened, k) is _Left.NONE:
            node.lower = np.inf
            return
        self.program.move(closed, opened, path)
        # A little above the incumbent: rounding and margin take their part.
        found = self.program.relax(self.upper * (1.0 + 1e-6))
        self.share = found.y
        bound = self._certified(found, closed, opened, path)
        node.lower = max(inherited, bound.lower)
        if is_closed(bound.lower, self.upper, self.instance.granularity):
            node.stages.append(self._stage(bound, NONE, NONE))
            self._closed = min(self._closed, node.lower)
            return
        closed, opened = self._reduced(node, bound, closed, opened)
        self.proposals.append(self.ids[np.argsort(-found.y, kind="stable")[:k]])
        self._whole |= bool(np.all((found.y < 1e-6) | (found.y > 1.0 - 1e-6)))
        left = _decided(closed, opened, k)
        if left is _Left.NONE:
            node.lower = np.inf
        elif left is _Left.ONE:
            self._settle(node, np.flatnonzero(opened if opened.sum() == k else ~closed), path)
        else:
            self._open[number] = _Open(closed, opened, path, found, self.program.basis)
            heapq.heappush(self._heap, (node.lower, number))

    def _reduced(self, node: Node, bound: Bound, closed: Mask, opened: Mask) -> tuple[Mask, Mask]:
        """Record the stage of a bound, and return what is closed and open after it."""
        live = np.flatnonzero(~closed)
        dropped, needed = reduce_candidates(bound, opened[live].astype(np.int8), self.upper, self.instance.granularity)
        node.stages.append(self._stage(bound, live[dropped], live[needed]))
        closed, opened = closed.copy(), opened.copy()
        closed[live[dropped]] = True
        opened[live[needed]] = True
        return closed, opened

    def _stage(self, bound: Bound, dropped: Ints, needed: Ints) -> Stage:
        """Return a stage in original numbers."""
        n = self.lists.radius.size
        return Stage(bound.u[:n], self.ids[dropped], self.ids[needed], bound.u[n:])

    def _certified(self, found: Relaxed, closed: Mask, opened: Mask, path: Ints) -> Bound:
        """Return the proven bound of the rounded multipliers of a relaxation."""
        lists = restrict(self.lists, ~closed) if closed.any() else self.lists
        place = np.cumsum(~closed) - 1
        rows = [place[members[~closed[members]]] for members in (self.program.sets[p] for p in path)]
        lists = with_rows(lists, rows, float(self.lists.radius.max()))
        u = np.minimum(np.concatenate([found.u, found.v[path]]), lists.radius)
        flags = opened[~closed].astype(np.int8)
        bound = evaluate(lists, self.instance, round_multipliers(u, GRIDS[1], lists.radius), flags)
        if found.value >= goal_value(self.upper, self.instance.granularity):
            for bits in (GRIDS[0], GRIDS[2]):  # the coarsest grid that closes the node, else the finest
                if is_closed(bound.lower, self.upper, self.instance.granularity):
                    break
                bound = evaluate(lists, self.instance, round_multipliers(u, bits, lists.radius), flags)
        return bound

    def _settle(self, node: Node, centers: Ints, path: Ints) -> None:
        """Close a node with one solution left: at u_i = cost of the nearest centre, L is the cost of that solution.

        A client out of reach pays more than the incumbent costs, which is enough.
        """
        keep = np.zeros(self.ids.size, dtype=bool)
        keep[centers] = True
        left = restrict(self.lists, keep)
        served = np.diff(left.row_ptr) > 0
        u = np.full(served.size, 2.0 * self.upper)
        u[served] = left.row_val[left.row_ptr[:-1][served]]
        margin = self.instance.margin(u.size, (1 + self.instance.k) * float(u.sum()))
        node.stages.append(Stage(u, NONE, NONE, np.zeros(path.size)))
        node.lower = max(node.lower, lift(float(u.sum()) - margin, self.instance.granularity))
        self._closed = min(self._closed, node.lower)
        self.proposals.append(self.ids[centers])

    def _chosen_set(self, here: _Open) -> Ints:
        """Return the set that promises to lift both children, by short tries."""
        best, best_score = None, -1.0
        base = here.found.value
        room = max(self.upper - base, 1e-9 * self.upper)
        self.program.move(here.closed, here.opened, here.path)
        self.program.restore(here.basis)
        for members in self._sets(here):
            shut, lit = (np.clip(v - base, 1e-4 * room, room) for v in self.program.probe(members, PROBE_ITERATIONS))
            score = float(shut * lit)
            if score > best_score:
                best, best_score = members, score
        if best is None:
            free = ~here.closed & ~here.opened
            best = np.array([int(np.argmin(np.where(free, np.abs(here.found.y - 0.5), np.inf)))])
        return best

    def _sets(self, here: _Open) -> list[Ints]:
        """Return sets of candidates whose share is near a half: common to two clients, and the nearer ones of one."""
        y = np.where(here.closed, 0.0, here.found.y)
        chosen: list[Ints] = []
        for sets in (self._common(y, here), self._nearer(y, here)):
            taken = 0
            for members in sets:
                if members.size and not any(np.array_equal(members, other) for other in chosen):
                    chosen.append(members)
                    taken += 1
                if taken == PROBES:
                    break
        return chosen

    def _common(self, y: Floats, here: _Open) -> list[Ints]:
        """Return the candidates in reach of two clients, for pairs that share about a half."""
        lists, cover = self.lists, self.program.cover
        used = np.flatnonzero(y > 1e-6)
        place = np.full(y.size, -1)
        place[used] = np.arange(used.size)
        weight = here.found.u[cover]
        rows = cover[np.argsort(-weight, kind="stable")[:MOST_ROWS]]
        held = np.zeros((rows.size, used.size))
        for a, client in enumerate(rows):
            mine = place[lists.row_idx[lists.row_ptr[client] : lists.row_ptr[client + 1]]]
            held[a, mine[mine >= 0]] = 1.0
        common = (held * y[used]) @ held.T
        first, second = np.triu_indices(rows.size, 1)
        share = np.minimum(common[first, second], 1.0 - common[first, second])
        order = np.argsort(-share, kind="stable")[: 8 * PROBES]
        pairs = [(rows[first[t]], rows[second[t]]) for t in order if share[t] >= LEAST_SHARE]
        reach = [[self._reached(client, here.closed) for client in pair] for pair in pairs]
        return [np.intersect1d(one, two, assume_unique=True) for one, two in reach]

    def _nearer(self, y: Floats, here: _Open) -> list[Ints]:
        """Return the nearer half of what serves a client, for those whose halves cost most differently."""
        lists = self.lists
        ptr = lists.row_ptr
        share = y[lists.row_idx]
        before = np.concatenate([[0.0], np.cumsum(share)])
        middle = np.clip(np.searchsorted(before, before[ptr[:-1]] + 0.5) - 1, ptr[:-1], ptr[1:] - 1)
        near = before[middle + 1] - before[ptr[:-1]]
        paid = np.concatenate([[0.0], np.cumsum(share * lists.row_val)])
        most = lists.row_val[np.clip(np.searchsorted(before, before[ptr[:-1]] + 1.0 - 1e-9) - 1, ptr[:-1], ptr[1:] - 1)]
        spread = near * most - (paid[middle + 1] - paid[ptr[:-1]])
        spread[(near < 0.3) | (near > 0.7)] = 0.0
        order = np.argsort(-spread, kind="stable")[: 8 * PROBES]
        sets = []
        for client in order[spread[order] > 0.0]:
            part = np.sort(lists.row_idx[ptr[client] : middle[client] + 1].astype(np.int64))
            sets.append(part[~here.closed[part]])
        return sets

    def _reached(self, client: int, closed: Mask) -> Ints:
        """Return the live candidates in reach of a client, ascending."""
        mine = np.sort(self.lists.row_idx[self.lists.row_ptr[client] : self.lists.row_ptr[client + 1]].astype(np.int64))
        return np.asarray(mine[~closed[mine]])
