"""Plain NumPy and plain Python twins of every kernel, and brute force: slow, short, and written without the package.

Conventions: `D` is the (n, m) matrix of distances, clients by sites; `w` the clients' weights; a solution is a tuple of
site indices. Ties go to the lower index everywhere.
"""

from itertools import combinations
from math import fsum, inf

import numpy as np

MASK = 2**64 - 1


# ------------------------------------------------------------------------------------------------------- distances


def distance(name, a, b):
    """Distance of two rows, feature by feature."""
    if name == "cosine":
        a, b = np.asarray(a) / np.linalg.norm(a), np.asarray(b) / np.linalg.norm(b)
    gaps = [abs(float(x) - float(y)) for x, y in zip(a, b, strict=True)]
    total = 0.0
    for gap in gaps:
        total = max(total, gap) if name == "chebyshev" else total + (gap if name == "manhattan" else gap * gap)
    return {"euclidean": np.sqrt(total), "cosine": 0.5 * total}.get(name, total)


def row(name, candidate, points):
    return np.array([distance(name, candidate, p) for p in points])


def matrix(name, points, candidates):
    """(n, m) distances."""
    return np.array([row(name, c, points) for c in candidates]).reshape(len(candidates), len(points)).T


def extremes(D, own):
    largest = [max(r) for r in D]
    least = [min((d for j, d in enumerate(r) if not (own and i == j)), default=inf) for i, r in enumerate(D)]
    return np.array(largest), np.array(least)


def breaks_triangle(D, slack=0.0):
    n = len(D)
    return any(D[i, j] > (1 + slack) * (D[i, v] + D[v, j]) for i in range(n) for v in range(n) for j in range(n))


def breaks_quadrangle(D, slack=0.0):
    n, m = D.shape
    return any(
        D[i, j] > (1 + slack) * (D[i, u] + D[v, u] + D[v, j])
        for i in range(n)
        for v in range(n)
        for u in range(m)
        for j in range(m)
    )


# ------------------------------------------------------------------------------------------------- sums and tables


def eight_lane_sum(w, d):
    """The sum in the order that defines the cost: lane i mod 8, then the lanes in pairs."""
    lanes = [0.0] * 8
    for i in range(len(w)):
        lanes[i % 8] += float(w[i]) * float(d[i])
    a, b, c, e, f, g, h, j = lanes
    return ((a + b) + (c + e)) + ((f + g) + (h + j))


def nearest_two(D, centers):
    """Site and distance of every client's nearest and second-nearest centre; -1 and infinity where there is none."""
    tables = []
    for r in D:
        order = [*sorted((r[c], c) for c in centers), (inf, -1), (inf, -1)]
        tables.append((order[0][1], order[0][0], order[1][1], order[1][0]))
    near, d1, second, d2 = (np.array(column) for column in zip(*tables, strict=True))
    return near, d1, second, d2


def nearest(D, centers):
    return nearest_two(D, centers)[1]


def labels(D, centers, own):
    """Place of the nearest centre in ascending order; a centre belongs to itself."""
    ascending = sorted(centers)
    near = nearest_two(D, ascending)[0]
    if own:
        near[ascending] = ascending
    return np.array([ascending.index(c) for c in near])


def radius(D, centers):
    return max(nearest(D, centers))


def separation(D, centers):
    return min((D[a, b] for a, b in combinations(centers, 2)), default=inf)


def diameter(D, centers):
    """Largest distance within a cluster of the partition by nearest centre."""
    own = labels(D, centers, own=True)
    return partition_diameter(D, own)


def partition_diameter(D, label):
    return max((D[a, b] for a, b in combinations(range(len(D)), 2) if label[a] == label[b]), default=0.0)


# ------------------------------------------------------------------------------------------------ the five problems


def missed(balls, centers):
    """Number of balls (sets of sites) without a centre."""
    return sum(not ball & set(centers) for ball in balls)


def f1(problem, D, w, centers, balls=()):
    """First objective as (minus missed balls, value); `problem` is its name."""
    if problem in ("k-center", "k-tMM"):
        return (0, inf) if len(centers) <= 1 else (0, separation(D, centers) - radius(D, centers))
    if not len(centers):
        return -len(balls), -inf
    return -missed(balls, centers), -eight_lane_sum(w, nearest(D, centers))


def cost(problem, D, w, centers):
    if problem == "k-center":
        return radius(D, centers)
    if problem == "k-tMM":
        return diameter(D, centers)
    return eight_lane_sum(w, nearest(D, centers))


def fair_radii(D, w, k):
    """Least r with k * w(ball) >= W, one ball at a time; integers exactly, other weights up to 1e-12."""
    whole = all(float(x).is_integer() for x in w)
    enough = fsum(w) * (1.0 if whole else 1 - 1e-12)
    return np.array([min(r for r in row if k * fsum(w[row <= r]) >= enough) for row in D])


def critical_balls(D, r, beta, factor=6.0):
    """Centres of the balls: repeatedly the uncovered point of least r, lowest index first."""
    uncovered = set(range(len(D)))
    centers = []
    while uncovered:
        c = min(uncovered, key=lambda v: (r[v], v))
        centers.append(c)
        uncovered -= {v for v in uncovered if D[v, c] <= factor * beta * r[v]} | {c}
    return centers


def ball_members(D, r, beta, centers):
    return [{v for v in range(len(D)) if D[v, c] <= beta * r[c]} for c in centers]


# ------------------------------------------------------------------------------------------------------- optima


def optimum(problem, D, w, k, balls=()):
    """Least cost over all k-subsets of the sites (that meet all balls, where there are some), and a set reaching it.

    For k-tMM this is the best partition by nearest centres; `best_partition` is the optimum of the problem.
    """
    feasible = (c for c in combinations(range(D.shape[1]), k) if not balls or missed(balls, c) == 0)
    return min(((cost(problem, D, w, c), c) for c in feasible), default=(inf, None))


def best_partition(D, k):
    """Optimal k-tMM: all partitions into at most k clusters, by restricted growth."""
    n, best = len(D), inf
    label = [0] * n

    def extend(i, used, largest):
        nonlocal best
        if largest >= best:
            return
        if i == n:
            best = largest
            return
        for c in range(min(used + 1, k)):
            label[i] = c
            grown = max([largest] + [D[i, j] for j in range(i) if label[j] == c])
            extend(i + 1, max(used, c + 1), grown)

    extend(0, 0, 0.0)
    return best


def best_kmeans(X, w, k):
    """Optimal k-means with free centres: dynamic programming over subsets, clusters at their weighted means."""
    n = len(X)
    whole = (1 << n) - 1
    single = np.zeros(1 << n)
    for s in range(1, 1 << n):
        rows = [i for i in range(n) if s >> i & 1]
        x = X[rows] - X[rows[0]]
        mean = (w[rows, None] * x).sum(axis=0) / w[rows].sum()
        single[s] = (w[rows] * ((x - mean) ** 2).sum(axis=1)).sum()
    best = single.copy()
    for _ in range(k - 1):
        fewer, best = best, best.copy()
        for s in range(1, 1 << n):
            sub = (s - 1) & s
            while sub:
                best[s] = min(best[s], single[sub] + fewer[s ^ sub])
                sub = (sub - 1) & s
    return best[whole]


def swap_changes(D, w, centers):
    """Change of the cost for every single swap, {(out, new): change}, each swapped set summed anew."""
    before = fsum(w * nearest(D, centers))
    outside = [j for j in range(D.shape[1]) if j not in set(centers)]
    return {
        (out, new): fsum(w * nearest(D, [c for c in centers if c != out] + [new])) - before
        for out in centers
        for new in outside
    }


# --------------------------------------------------------------------------------------------------- Algorithm 1


class Gsemo:
    """Algorithm 1 by the book on f1 as a function, with everything that a run may remember about size-k offspring.

    Members are tuples of centres in the order in which the compiled code lists them: the parent's centres that stay,
    then the new ones as they were drawn. An offspring that *is* P's member of its size changes nothing; `refresh`
    says whether P then lists it in the offspring's order.
    """

    def __init__(self, evaluate, k, cost=None, h=None, refresh=True):
        self.evaluate, self.k, self.cost, self.h, self.refresh = evaluate, k, cost, h, refresh
        self.population = {0: ((), evaluate(()))}
        self.iteration = 0
        self.total_size = 0
        self.improved = 0
        self.improvements = []  # (iteration, cost or f1 of the better size-k solution)
        self.best_cost, self.best = inf, None
        self.best_h = -1.0
        self.first_size_k = None
        self.first_certified = None

    @property
    def sizes(self):
        return sorted(self.population)

    def step(self, size, flips):
        """One iteration: the parent is the member of this size; returns whether P changed."""
        self.total_size += len(self.population)
        self.iteration += 1
        parent = self.population[size][0]
        flipped = set(flips)
        child = tuple(c for c in parent if c not in flipped) + tuple(c for c in flips if c not in parent)
        if len(child) > self.k:
            return False
        value = self.evaluate(child)
        if len(child) == self.k:
            self._remember(child, value)
        # weakly dominates and differs: at least as good in both, better in one
        for s, (_, f) in self.population.items():
            if f >= value and s >= len(child) and (f > value or s > len(child)):
                return False
        old = self.population.get(len(child))
        if old is not None and set(old[0]) == set(child):
            if self.refresh:
                self.population[len(child)] = (child, value)
            return False
        top = self.population.get(self.k)
        if self.cost is None and len(child) == self.k and (top is None or value > top[1]):
            self.improved = self.iteration
            self.improvements.append((self.iteration, value))
        self.population = {s: (z, f) for s, (z, f) in self.population.items() if not (value >= f and len(child) >= s)}
        self.population[len(child)] = (child, value)
        return True

    def _remember(self, child, value):
        if self.first_size_k is None:
            self.first_size_k = self.iteration
        if self.cost is not None:
            c = self.cost(child)
            if c < self.best_cost:
                self.best_cost, self.best, self.improved = c, tuple(sorted(child)), self.iteration
                self.improvements.append((self.iteration, c))
            if value[1] >= 0:
                if self.first_certified is None:
                    self.first_certified = self.iteration
                self.best_h = max(self.best_h, self.h(child))

    def members(self):
        """[(ascending centres, f1)], smallest first."""
        return [(tuple(sorted(self.population[s][0])), self.population[s][1]) for s in self.sizes]


# ------------------------------------------------------------------------------ the random half, as the kernels draw


class Xoroshiro:
    """xoroshiro128+ (24, 16, 37) on Python integers."""

    def __init__(self, state):
        self.a, self.b = (int(s) for s in state)

    def bits(self):
        a, b = self.a, self.b
        result = (a + b) & MASK
        b ^= a
        self.a = ((a << 24 | a >> 40) & MASK) ^ b ^ ((b << 16) & MASK)
        self.b = (b << 37 | b >> 27) & MASK
        return result

    def uniform(self):
        return (self.bits() >> 11) * 2.0**-53

    def below(self, n):
        return int(self.uniform() * n)

    def skipped(self, p):
        return 0 if p >= 1 else int(min(np.log(1.0 - self.uniform()) / np.log1p(-p), 9e18))


def follow(process, law, state, m, last):
    """Drive `process` to iteration `last` by the draws that the compiled `advance` makes from the same state.

    Iterations that `advance` skips are counted here without being carried out: that they change nothing is tested by
    the tests of the law's table.
    """
    rng = process.rng = Xoroshiro(state)
    while True:  # at the end one more waiting time is drawn and cut to nothing
        sizes = process.sizes
        total = 0.0
        for s in sizes:
            total += law.relevant[s]
        mean, count = total / len(sizes), len(sizes)
        wait = last if mean == 0 else rng.skipped(mean)
        wait = min(wait, last - process.iteration)
        process.iteration += wait
        process.total_size += wait * count
        if process.iteration == last:
            break
        target = rng.uniform() * mean * count
        parent = 0
        for s in sizes:
            if law.relevant[s] > 0:
                parent = s
                target -= law.relevant[s]
                if target < 0:
                    break
        u = rng.uniform()
        e = int(np.argmax(u < law.cumulative[parent]))
        members = process.population[parent][0]
        removed, added = [], []
        while len(removed) < law.removals[parent, e]:
            c = members[rng.below(parent)]
            if c not in removed:
                removed.append(c)
        while len(added) < law.additions[parent, e]:
            c = rng.below(m)
            if c not in members and c not in added:
                added.append(c)
        process.step(parent, [*removed, *added])
    return process


def flip_law(m, s):
    """{(lost, gained): probability} for a parent with s of m bits, by walking over all bit counts in exact integers."""
    from fractions import Fraction
    from math import comb

    p = Fraction(1, m)
    return {
        (a, b): comb(s, a) * p**a * (1 - p) ** (s - a) * comb(m - s, b) * p**b * (1 - p) ** (m - s - b)
        for a in range(s + 1)
        for b in range(m - s + 1)
    }


def population_law(evaluate, m, k, iterations):
    """Exact law of P after some iterations of Algorithm 1: {population: probability}, every flip pattern enumerated."""
    start = ((frozenset(), evaluate(())),)
    law = {start: 1.0}
    moves = {}
    for _ in range(iterations):
        later = {}
        for population, mass in law.items():
            if population not in moves:
                moves[population] = _population_moves(evaluate, m, k, population)
            for reached, p in moves[population]:
                later[reached] = later.get(reached, 0.0) + mass * p
        law = later
    return law


def _population_moves(evaluate, m, k, population):
    reached = {}
    for parent, _ in population:
        for pattern in range(1 << m):
            flips = {j for j in range(m) if pattern >> j & 1}
            p = (1 / m) ** len(flips) * (1 - 1 / m) ** (m - len(flips)) / len(population)
            child = parent ^ flips
            after = population
            if len(child) <= k:
                value = evaluate(tuple(sorted(child)))
                if not any(
                    f >= value and len(z) >= len(child) and (f, len(z)) != (value, len(child)) for z, f in population
                ):
                    kept = [(z, f) for z, f in population if not (value >= f and len(child) >= len(z))]
                    after = tuple(sorted([*kept, (child, value)], key=lambda member: len(member[0])))
            reached[after] = reached.get(after, 0.0) + p
    return list(reached.items())
