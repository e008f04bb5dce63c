"""Replaying the tree of a k-median proof in plain NumPy: no compiled kernel, no stored number trusted.

Every node carries stages ``(u, dropped, opened)``; the children of a node are the pair "candidate open" and "candidate
closed". A stage is checked by recomputing all reduced costs over the live candidates from the data:
L(u) = sum u + the k smallest rho_j, rho_j = sum_i min(0, c_ij - u_i), bounds the cost of every k of them for any u. A
candidate may be dropped (or fixed open) if no solution with (without) it can be better than the cost at hand. The
bound of a leaf is the best bound on its path; the bound of the tree is its worst leaf. A node may also be split on a
set of candidates: on side +1 at least one of them is open, on side -1 all are closed. The set of a +1 side is one more
client for all stages below, with a multiplier v >= 0: its members serve it for nothing, others not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates.errors import CertificateError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]
#: Yields weighted costs, in blocks of the asked candidates x all clients.
Costs = Callable[[Ints], Iterator[Floats]]


class Stage(NamedTuple):
    """Multipliers of clients and of sets, and the candidates that they prove useless or indispensable."""

    u: Floats
    dropped: Ints
    opened: Ints
    v: Floats


class Node(NamedTuple):
    """A node: the branching that leads to it from its parent (-2 - s stands for the set s), and its stages."""

    parent: int
    candidate: int
    side: int
    stages: list[Stage]


class Tree(NamedTuple):
    """The nodes, parents before children, the unit of which all costs are multiples (0: none), and the sets."""

    nodes: list[Node]
    granularity: float
    sets: list[Ints]


class Scale(NamedTuple):
    """The size of the instance: clients, candidates, centres, columns, and the absolute error of a bound."""

    n: int
    m: int
    k: int
    width: int
    noise: float

    def margin(self, size: float) -> float:
        """Return what a bound made of numbers that sum to `size` may err by."""
        return 2.0**-52 * (self.n + self.k + self.width + 16) * size + self.noise


def unpack(stored: Any, n: int, m: int) -> Tree:
    """Return the tree of a witness, checked to be one: finite u >= 0, known candidates, both sides of every branch."""
    if not isinstance(stored, dict):
        raise CertificateError("witness: 'tree' must be a dictionary of arrays.")
    try:
        granularity = float(stored["granularity"])
        parent, candidate, side, owner = (_ints(stored[key]) for key in ("parent", "candidate", "side", "stage_node"))
        listed = np.asarray(stored["u"])
        if listed.dtype.kind not in "iuf":
            raise ValueError("u must hold real numbers")
        u = listed.astype(np.float64).reshape(owner.size, n)
        dropped = np.split(_ints(stored["dropped"]), _ints(stored["dropped_end"]))
        opened = np.split(_ints(stored["opened"]), _ints(stored["opened_end"]))
        sets = np.split(_ints(stored.get("sets", [])), _ints(stored.get("sets_end", [])))[:-1]
        v = np.asarray(stored.get("v", []), dtype=np.float64).ravel()
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CertificateError("witness: 'tree' is malformed.") from error
    if not (parent.size == candidate.size == side.size >= 1 and len(dropped) == len(opened) == owner.size + 1):
        raise CertificateError("witness: 'tree' has arrays of different lengths.")
    if np.any((candidate[1:] < 0) & ((candidate[1:] == -1) | (candidate[1:] < -1 - len(sets)))):
        raise CertificateError("witness: 'tree' is split on a set that it does not list.")
    named = np.concatenate([*dropped, *opened, *sets, candidate[1:][candidate[1:] >= 0]])
    if named.size and not (named.min() >= 0 and named.max() < m):
        raise CertificateError(f"witness: 'tree' names a candidate outside 0..{m - 1}.")
    if not (u.min(initial=0.0) >= 0 and u.max(initial=0.0) <= 1e300 / n):
        raise CertificateError(f"witness: 'tree' must hold multipliers between 0 and {1e300 / n:.3g}.")
    if not (granularity == 0 or 1e-100 <= granularity <= 1e100):
        raise CertificateError("witness: 'tree' must have a granularity of 0 or between 1e-100 and 1e100.")
    if owner.size and not (owner.min() >= 0 and owner.max() < parent.size):
        raise CertificateError("witness: 'tree' has a stage without a node.")
    if not (v.min(initial=0.0) >= 0 and v.max(initial=0.0) <= 1e300 / n):
        raise CertificateError(f"witness: 'tree' must hold multipliers between 0 and {1e300 / n:.3g}.")
    nodes = [Node(int(p), int(c), int(s), []) for p, c, s in zip(parent, candidate, side, strict=True)]
    end = np.cumsum(_depths(nodes)[owner])
    if v.size != (end[-1] if end.size else 0):
        raise CertificateError("witness: 'tree' must hold a multiplier for each set on the way to each stage.")
    for t, (number, mine) in enumerate(zip(owner, np.split(v, end)[: owner.size], strict=True)):
        nodes[number].stages.append(Stage(u[t], dropped[t], opened[t], mine))
    return Tree(nodes, granularity, sets)


def _depths(nodes: list[Node]) -> Ints:
    """Return how many sets there are of which one must be open, on the way to each node."""
    depth = np.zeros(len(nodes), dtype=np.intp)
    for number, node in enumerate(nodes):
        if number and not 0 <= node.parent < number:
            raise CertificateError(f"witness: node {number} of 'tree' has no parent before it.")
        if number:
            depth[number] = depth[node.parent] + (node.candidate < -1 and node.side > 0)
    return depth


def _ints(values: Any) -> Ints:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError("not a list of integers")
    return array.astype(np.intp)


def replay(tree: Tree, costs: Costs, scale: Scale, upper: float) -> float:
    """Return the lower bound on the optimum that the tree proves, at most `upper`.

    Parameters
    ----------
    tree : Tree
        What to check.
    costs : callable
        Source of weighted costs, from the data.
    scale : Scale
        Size of the instance.
    upper : float
        The cost that no dropped solution beats. The bound is valid whatever it is.
    """
    if tree.granularity > 0:
        _check_granularity(tree.granularity, costs, scale.m)
    inner = _inner_nodes(tree.nodes)
    state: list[tuple[Mask, Mask, list[Ints], float]] = []
    result = upper
    for number, node in enumerate(tree.nodes):
        if node.parent < 0:
            live, fixed, lower = np.ones(scale.m, dtype=bool), np.zeros(scale.m, dtype=bool), 0.0
            path: list[Ints] = []
        else:
            live, fixed, path, lower = state[node.parent]
            live, fixed = live.copy(), fixed.copy()
            if node.candidate >= 0:
                (fixed if node.side > 0 else live)[node.candidate] = node.side > 0
            elif node.side > 0:
                path = [*path, tree.sets[-2 - node.candidate]]
            else:
                live[tree.sets[-2 - node.candidate]] = False
        for stage in node.stages:
            if _empty(live, fixed, scale.k):
                break
            lower = max(lower, _check_stage(stage, live, fixed, path, costs, scale, upper, tree.granularity))
            live[stage.dropped] = False
            fixed[stage.opened] = True
        if _empty(live, fixed, scale.k):
            lower = math.inf
        state.append((live, fixed, path, lower))
        if number not in inner:
            result = min(result, lower)
    return result


def _empty(live: Mask, fixed: Mask, k: int) -> bool:
    """Return whether no solution is left under these fixings."""
    return bool(np.any(fixed & ~live) or fixed.sum() > k or live.sum() < k)


def _inner_nodes(nodes: list[Node]) -> set[int]:
    """Return the nodes with children, each of which must have exactly both sides of one candidate."""
    children: dict[int, list[Node]] = {}
    for number, node in enumerate(nodes):
        if (number == 0) != (node.parent == -1) or not -1 <= node.parent < number:
            raise CertificateError(f"witness: node {number} of 'tree' has no parent before it.")
        if number:
            children.setdefault(node.parent, []).append(node)
    for number, pair in children.items():
        if sorted(c.side for c in pair) != [-1, 1] or len({c.candidate for c in pair}) != 1:
            raise CertificateError(f"witness: node {number} of 'tree' is not split into both sides of one candidate.")
    return set(children)


def _check_granularity(unit: float, costs: Costs, m: int) -> None:
    for listed in costs(np.arange(m)):
        block = listed[np.isfinite(listed)]  # what is forbidden costs nothing that could be counted
        multiples = block / unit
        largest = multiples.max(initial=0.0)
        if np.any(multiples != np.floor(multiples)) or np.any(multiples * unit != block) or largest > 2.0**52:
            raise CertificateError(f"witness: not all weighted distances are multiples of {unit!r}.")


def _check_stage(
    stage: Stage, live: Mask, fixed: Mask, path: list[Ints], costs: Costs, scale: Scale, upper: float, unit: float
) -> float:
    """Return the bound of a stage; raise if a fixing that it lists is not proved."""
    ids = np.flatnonzero(live)
    rho, load = _reduced_costs(stage.u, costs(ids))
    place = np.full(scale.m, -1)
    place[ids] = np.arange(ids.size)
    for members, v in zip(path, stage.v, strict=True):
        inside = place[np.unique(members)]
        rho[inside[inside >= 0]] -= v
        load[inside[inside >= 0]] += v
    heaviest = float(load.max(initial=0.0))
    taken = fixed[ids]
    free = np.flatnonzero(~taken)
    need = scale.k - int(taken.sum())
    order = free[np.argsort(rho[free], kind="stable")]
    inside, outside = order[:need], order[need:]
    total = math.fsum(stage.u) + math.fsum(stage.v)
    value = total + math.fsum(rho[taken]) + math.fsum(rho[inside])
    margin = scale._replace(n=scale.n + len(path)).margin(total + scale.k * heaviest)
    useless, needed = np.zeros(scale.m, dtype=bool), np.zeros(scale.m, dtype=bool)
    if need == 0:
        useless[ids[outside]] = True
    elif outside.size:
        useless[ids[outside]] = _beats(value + rho[outside] - rho[inside[-1]] - margin, upper, unit)
    if outside.size == 0:
        needed[ids[inside]] = True
    else:
        needed[ids[inside]] = _beats(value - rho[inside] + rho[outside[0]] - margin, upper, unit)
    if not useless[stage.dropped].all():
        raise CertificateError("witness: 'tree' drops a candidate that a better solution may contain.")
    if not needed[stage.opened].all():
        raise CertificateError("witness: 'tree' fixes a candidate that a better solution may lack.")
    return _rounded_up(value - margin, unit)


def _reduced_costs(u: Floats, blocks: Iterator[Floats]) -> tuple[Floats, Floats]:
    """Return rho of the live candidates, and the sums of the multipliers that each of them undercuts."""
    rho, load = [], []
    for block in blocks:
        gain = np.minimum(block - u, 0.0)
        rho.append(gain.sum(axis=1))
        load.append((gain < 0) @ u)
    return np.concatenate(rho), np.concatenate(load)


def _rounded_up(value: float, unit: float) -> float:
    return math.ceil(value / unit) * unit if unit > 0 else value


def _beats(values: Floats, upper: float, unit: float) -> Mask:
    """Return whether solutions with these bounds cannot be better than `upper`."""
    if unit > 0:
        return np.asarray(np.ceil(values / unit) * unit >= upper)
    return np.asarray(values > upper)
