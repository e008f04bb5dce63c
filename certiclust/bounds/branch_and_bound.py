"""Best-first branch and bound on the Lagrangian bound, recording a replayable tree of fixings.

A node fixes candidates open or closed. Its stage (u, dropped, opened) is recorded with the rounded u at which the
reduced-cost rules were applied, in original candidate numbers, so ``replay`` can check everything from the data. The
smallest bound of the open leaves is the global lower bound at every moment.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from certiclust.bounds.lagrangian import (
    Ascent,
    Bound,
    Flags,
    Instance,
    ascend,
    certify,
    evaluate,
    is_closed,
    lift,
    reduce_candidates,
)
from certiclust.space.lists import Floats, Ints, Lists, restrict

#: Ascent of a node: first step factor, patience, smallest step factor, largest number of steps.
STEP, PATIENCE, FLOOR, NODE_ITERATIONS = 0.4, 15, 0.01, 300
#: The same where the sibling is closed already.
FIXED_ITERATIONS = 40
#: Ascents of nodes aim above the incumbent by this share of the gap of their parent.
OVERSHOOT = 0.3
#: Branching looks at so many candidates with a share near a half, and probes so many unknown ones by short ascents.
SHORTLIST, PROBES, RELIABLE, PROBE_ITERATIONS = 16, 4, 1, 15

#: Work charged for the overhead of a node, so that tiny instances end as well.
NODE_WORK = 400_000


class Stage(NamedTuple):
    """Multipliers with the candidates they prove useless or indispensable (original numbers).

    `v` are the multipliers of the sets on the way to the node of which one candidate must be open.
    """

    u: Floats
    dropped: Ints
    opened: Ints
    v: Floats = np.zeros(0)


@dataclass
class Node:
    """A node of the recorded tree.

    ``candidate`` and ``side`` (+1 open, -1 closed) lead from ``parent`` here; the root has parent -1. Of several
    ``members`` at least one is open on side +1, and all are closed on side -1.
    """

    parent: int
    candidate: int
    side: int
    stages: list[Stage] = field(default_factory=list)
    lower: float = -np.inf
    members: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass
class _Work:
    """What an unfinished node needs to go on, in numbers of the root's live candidates."""

    live: Ints
    opened: Ints
    u: Floats
    share: Floats
    value: float


class Tree:
    """The search tree over the candidates that survived the root reduction.

    Parameters
    ----------
    lists
        Lists over the surviving candidates.
    ids
        Their original numbers.
    opened
        Positions (in ``ids``) fixed open at the root.
    instance
        Number of centres, granularity.
    root
        The root node with its stages and bound.
    u, share
        Multipliers and primal estimate to branch from.
    upper
        Cost of the incumbent.
    nearest_cost
        Weighted cost of every client under given candidates (original numbers), from the data.
    """

    def __init__(
        self,
        lists: Lists,
        ids: Ints,
        opened: Ints,
        instance: Instance,
        root: Node,
        u: Floats,
        share: Floats,
        upper: float,
        nearest_cost: Callable[[Ints], Floats],
    ) -> None:
        self.lists, self.ids, self.instance = lists, ids, instance
        self.nodes = [root]
        self.upper = upper
        self._nearest_cost = nearest_cost
        self.iterations = 0
        self._counted = 0.0
        self._work: dict[int, _Work] = {0: _Work(np.arange(ids.size), opened, u, share, root.lower)}
        self._gains = np.zeros((2, ids.size))
        self._tries = np.zeros((2, ids.size))
        self._heap: list[tuple[float, int]] = []
        self._closed = np.inf
        #: Sets the relaxation opened in the last nodes, as original numbers: starts for the polish.
        self.proposals: list[Ints] = []
        if ids.size < instance.k or opened.size > instance.k:
            root.lower = np.inf
        elif instance.k in (ids.size, opened.size):
            self._settle(0, opened if opened.size == instance.k else np.arange(ids.size), root.lower)
        else:
            heapq.heappush(self._heap, (root.lower, 0))

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
        counted, self._counted = self._counted, 0.0
        return counted

    def run(self, nodes: int, should_stop: Callable[[], bool] | None = None, most_work: float = np.inf) -> None:
        """Branch until ``nodes`` more children exist, ``most_work`` is done, the tree is closed or ``should_stop``."""
        last = len(self.nodes) + nodes
        while len(self.nodes) < last and self._counted < most_work and not self.finished:
            if should_stop is not None and should_stop():
                return
            lower, number = heapq.heappop(self._heap)
            work = self._work.pop(number)
            candidate = self._branching_candidate(work)
            branched = self._child(number, work, candidate, -1, lower)
            # If the closed side is done with, the open one is the parent with a candidate fixed: a short ascent does.
            self._child(number, work, candidate, +1, lower, NODE_ITERATIONS if branched else FIXED_ITERATIONS)

    def _branching_candidate(self, work: _Work) -> int:
        """Candidate that promises to lift both children, by pseudo-costs; unknown ones are probed first."""
        free = np.ones(work.live.size, dtype=bool)
        free[np.searchsorted(work.live, work.opened)] = False
        positions = np.flatnonzero(free)
        nearest = np.argsort(np.abs(work.share[positions] - 0.5), kind="stable")[:SHORTLIST]
        shortlist = positions[nearest]
        known = np.minimum(self._tries[0, work.live[shortlist]], self._tries[1, work.live[shortlist]])
        unknown = shortlist[known < RELIABLE][:PROBES]
        if unknown.size:
            self._probe(work, unknown)
        candidates = work.live[shortlist]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self._gains[:, candidates] / self._tries[:, candidates]
        score = np.where(self._tries[:, candidates].min(axis=0) > 0, np.prod(np.maximum(mean, 1e-12), axis=0), -1.0)
        return int(candidates[int(np.argmax(score))])

    def _probe(self, work: _Work, positions: Ints) -> None:
        """Short ascents with a candidate closed and open; their gains start its pseudo-costs."""
        lists, flags = self._restricted(work.live, work.opened)
        base = evaluate(lists, self.instance, np.minimum(work.u, lists.radius), flags).value
        for position in positions:
            for row, side in ((0, -1), (1, 1)):
                flags[position] = side
                ascent = ascend(
                    lists, self.instance, work.u, self.upper, flags, step=0.4, patience=5, iterations=PROBE_ITERATIONS
                )
                flags[position] = 0
                self._learn(row, int(work.live[position]), ascent.value - base)
                self._count(ascent)

    def _learn(self, row: int, candidate: int, gain: float) -> None:
        """Update a pseudo-cost; gains beyond closing the gap are worth no more than closing it."""
        self._gains[row, candidate] += min(max(gain, 0.0), self.upper - self.nodes[0].lower)
        self._tries[row, candidate] += 1.0

    def _count(self, ascent: Ascent) -> None:
        """Add an ascent to the counted work."""
        self.iterations += ascent.iterations
        self._counted += ascent.work + 6.0 * ascent.u.size * ascent.iterations

    def _child(
        self,
        parent: int,
        work: _Work,
        candidate: int,
        side: int,
        inherited: float,
        iterations: int = NODE_ITERATIONS,
    ) -> bool:
        """Bound one child, record it and queue it unless it is closed; True if it was queued."""
        live = work.live if side > 0 else work.live[work.live != candidate]
        opened = np.union1d(work.opened, [candidate]) if side > 0 else work.opened
        node = Node(parent, int(self.ids[candidate]), side)
        number = len(self.nodes)
        self.nodes.append(node)
        k = self.instance.k
        if opened.size > k or live.size < k:
            node.lower = np.inf
            return False
        lists, flags = self._restricted(live, opened)
        if opened.size == k:
            self._settle(number, opened, inherited)
            return False
        ascent = ascend(
            lists,
            self.instance,
            work.u,
            self.upper,
            flags,
            step=STEP,
            patience=PATIENCE,
            floor=FLOOR,
            iterations=iterations,
            target=self.upper + OVERSHOOT * max(0.0, self.upper - work.value),
        )
        self._count(ascent)
        self._counted += 4.0 * self.lists.n_pairs + NODE_WORK
        self._learn(0 if side < 0 else 1, candidate, ascent.value - work.value)
        bound = certify(lists, self.instance, ascent, self.upper, flags)
        node.lower = max(bound.lower, inherited)
        if is_closed(bound.lower, self.upper, self.instance.granularity):
            node.stages.append(self._stage(bound, live))
            self._closed = min(self._closed, node.lower)
            return False
        self._propose(bound, live)
        self._queue(number, _Work(live, opened, ascent.u, ascent.share, ascent.value), bound, flags)
        return number in self._work

    def _queue(self, number: int, work: _Work, bound: Bound, flags: Flags) -> None:
        """Apply the reduction rules, record the stage and push the node."""
        node = self.nodes[number]
        dropped, opened = reduce_candidates(bound, flags, self.upper, self.instance.granularity)
        node.stages.append(self._stage(bound, work.live, work.live[dropped], work.live[opened]))
        keep = ~dropped
        work.opened = np.union1d(work.opened, work.live[opened])
        work.live, work.share = work.live[keep], work.share[keep]
        if work.live.size < self.instance.k or work.opened.size > self.instance.k:
            node.lower = np.inf
            return
        if work.opened.size == self.instance.k or work.live.size == self.instance.k:
            # Everything is decided: one exact evaluation of the only solution left.
            self._settle(number, work.opened if work.opened.size == self.instance.k else work.live, node.lower)
            return
        self._work[number] = work
        heapq.heappush(self._heap, (node.lower, number))

    def _settle(self, number: int, centers: Ints, inherited: float) -> None:
        """Close a node with one solution left: at u_i = cost of the nearest centre, L is the cost of that solution."""
        node = self.nodes[number]
        ids = self.ids[centers]
        u = self._nearest_cost(ids)
        margin = self.instance.margin(u.size, (1 + self.instance.k) * float(u.sum()))
        node.stages.append(Stage(u, np.zeros(0, np.int64), np.zeros(0, np.int64)))
        node.lower = max(inherited, lift(float(u.sum()) - margin, self.instance.granularity))
        self._closed = min(self._closed, node.lower)
        self.proposals.append(ids)

    def _restricted(self, live: Ints, opened: Ints) -> tuple[Lists, Flags]:
        """Return lists and flags over the live candidates of a node."""
        keep = np.zeros(self.ids.size, dtype=bool)
        keep[live] = True
        flags = np.zeros(live.size, np.int8)
        flags[np.searchsorted(live, opened)] = 1
        return (self.lists if live.size == self.ids.size else restrict(self.lists, keep)), flags

    def _stage(self, bound: Bound, live: Ints, dropped: Ints | None = None, opened: Ints | None = None) -> Stage:
        """Stage in original candidate numbers."""
        none = np.zeros(0, dtype=np.int64)
        return Stage(
            bound.u,
            none if dropped is None else self.ids[dropped],
            none if opened is None else self.ids[opened],
        )

    def _propose(self, bound: Bound, live: Ints) -> None:
        """Remember the opened set as a start for the polish."""
        self.proposals.append(self.ids[live[bound.chosen == 1]])


def pack(nodes: list[Node], granularity: float, unit: float) -> dict[str, object]:
    """Return a tree as plain arrays for a certificate to carry: nodes, then their stages one after the other.

    Multipliers are counted in `unit`, a power of two, and granularity is only ever claimed for a unit of 1. A candidate
    -2 - s stands for the set s; the multipliers `v` of the sets on the way to a node are in the order of the stages.
    """
    stages = [(number, stage) for number, node in enumerate(nodes) for stage in node.stages]
    sets = {node.members.tobytes(): node.members for node in nodes if node.members.size > 1}
    place = {key: -2 - number for number, key in enumerate(sets)}
    packed: dict[str, object] = {
        "granularity": granularity if unit == 1.0 else 0.0,
        "parent": np.array([node.parent for node in nodes]),
        "candidate": np.array([place.get(node.members.tobytes(), node.candidate) for node in nodes]),
        "side": np.array([node.side for node in nodes]),
        "stage_node": np.array([number for number, _ in stages], dtype=np.int64),
        "u": np.array([stage.u * unit for _, stage in stages]),
    }
    for name in ("dropped", "opened"):
        parts = [getattr(stage, name) for _, stage in stages]
        packed[name] = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
        packed[f"{name}_end"] = np.cumsum([part.size for part in parts], dtype=np.int64)
    if sets:
        packed["sets"] = np.concatenate(list(sets.values()))
        packed["sets_end"] = np.cumsum([members.size for members in sets.values()])
        packed["v"] = np.concatenate([stage.v * unit for _, stage in stages])
    return packed
