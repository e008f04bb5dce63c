"""Survivor selection by definition: plain Python twins of the kernels, without the package.

An entry is any label; `vector` maps it to (size, f1) with f1 = (minus violations, value), both maximised. Random ties
are drawn from a `naive.Xoroshiro` in the order in which the kernels draw, so that the same state gives the same
survivors.
"""

from math import hypot, inf, isfinite


def dominates(x, y):
    return x[0] >= y[0] and x[1] >= y[1] and x != y


def fronts(vectors):
    """Front of each vector, from 0, by peeling off the non-dominated ones."""
    left, front, number = set(range(len(vectors))), {}, 0
    while left:
        best = {i for i in left if not any(dominates(vectors[j], vectors[i]) for j in left)}
        front.update(dict.fromkeys(best, number))
        left -= best
        number += 1
    return [front[i] for i in range(len(vectors))]


def levels(vectors):
    """f1 on one finite scale: [0, 1] for finite values, 2 and -1 for the infinite ones, minus 4 for each violation."""
    finite = [v[1][1] for v in vectors if isfinite(v[1][1])]
    low, high = min(finite, default=0.0), max(finite, default=0.0)

    def level(violations, value):
        if value == inf:
            place = 2.0
        elif value == -inf:
            place = -1.0
        else:
            place = (value - low) / (high - low) if high > low else 0.0
        return place + 4.0 * violations  # violations are counted negatively in f1

    return [level(*v[1]) for v in vectors]


def crowding(points):
    """Crowding distance of each of some mutually non-dominated points, by two sorts; ties in the order given."""
    distance = [0.0] * len(points)
    for axis, direction in ((0, -1), (1, 1)):  # twins stand in one order for both axes, once forwards, once backwards
        ranks = sorted(range(len(points)), key=lambda i: (points[i][axis], direction * i))
        span = points[ranks[-1]][axis] - points[ranks[0]][axis]
        for t, i in enumerate(ranks):
            if t in (0, len(ranks) - 1):
                distance[i] = inf
            elif span > 0:
                distance[i] += (points[ranks[t + 1]][axis] - points[ranks[t - 1]][axis]) / span
    return distance


def hypervolume(points, reference):
    """Area that is dominated by some points and dominates the reference, swept along the first axis."""
    area, height = 0.0, reference[1]
    for x, y in sorted(set(points), key=lambda p: (-p[0], -p[1])):
        if y > height:
            area += (x - reference[0]) * (y - height)
            height = y
    return area


def contributions(points, reference):
    every = hypervolume(points, reference)
    return [every - hypervolume(points[:i] + points[i + 1 :], reference) for i in range(len(points))]


def shuffled(items, rng):
    items = list(items)
    for t in range(len(items) - 1, 0, -1):
        j = rng.below(t + 1)
        items[t], items[j] = items[j], items[t]
    return items


def fronts_then(people, brood, vector, members, rng, fill):
    """Whole fronts while they fit, then whom `fill` chooses from the next one."""
    order = sorted(shuffled([*people, *brood], rng), key=lambda e: vector[e], reverse=True)
    vectors = [vector[e] for e in order]
    front, level = fronts(vectors), levels(vectors)
    chosen = []
    for number in range(max(front) + 1):
        line = [t for t in range(len(order)) if front[t] == number]
        if len(chosen) + len(line) <= members:
            chosen += [order[t] for t in line]
            continue
        taken = fill(line, members - len(chosen), number, front, level, vectors, rng)
        return chosen + [order[t] for t in taken]
    return chosen


def by_crowding(line, places, number, front, level, vectors, rng):
    distance = dict(zip(line, crowding([(vectors[t][0], level[t]) for t in line]), strict=True))
    return sorted(shuffled(line, rng), key=lambda t: -distance[t])[:places]


def by_niches(references):
    """NSGA-III's choice, by reference directions (i, p - i)."""
    p = references - 1

    def fill(line, places, number, front, level, vectors, rng):
        ends = [t for t in range(len(front)) if front[t] == 0]
        spans = level[ends[-1]] - level[ends[0]], vectors[ends[0]][0] - vectors[ends[-1]][0]

        def normalised(t):
            x = max(0.0, (level[ends[-1]] - level[t]) / spans[0]) if spans[0] > 0 else 0.0
            y = max(0.0, (vectors[ends[0]][0] - vectors[t][0]) / spans[1]) if spans[1] > 0 else 0.0
            return x, y

        def away(t, i):
            x, y = normalised(t)
            return abs(x * (p - i) - y * i) / hypot(i, p - i)

        def direction(t):
            x, y = normalised(t)
            return 0 if x + y == 0 else min(range(p + 1), key=lambda i: (away(t, i), i))

        niche = {t: direction(t) for t in range(len(front)) if front[t] <= number}
        served = [sum(niche[t] == i for t in niche if front[t] < number) for i in range(p + 1)]
        left, taken = list(line), []
        for _ in range(places):
            i = least(sorted({niche[t] for t in left}), lambda i: served[i], rng)
            own = [t for t in left if niche[t] == i]
            taken.append(least(own, (lambda t, i=i: away(t, i)) if served[i] == 0 else (lambda t: 0), rng))
            left.remove(taken[-1])
            served[i] += 1
        return taken

    return fill


def least(items, key, rng):
    """An item of least key, ties uniform as the kernels draw them: the t-th of equals replaces the choice with 1/t."""
    chosen, ties = items[0], 1
    for item in items[1:]:
        if key(item) < key(chosen):
            chosen, ties = item, 1
        elif key(item) == key(chosen):
            ties += 1
            if rng.below(ties) == 0:
                chosen = item
    return chosen


def sms(people, brood, vector, members, rng):
    """SMS-EMOA; contributions as products of the two gaps, so that equal ones are equal to the bit."""
    order = sorted([*people, *brood], key=lambda e: vector[e], reverse=True)
    while len(order) > members:
        vectors = [vector[e] for e in order]
        front, level = fronts(vectors), levels(vectors)
        line = [t for t in range(len(order)) if front[t] == max(front)]
        alone = {}
        for before, t, after in zip([None, *line], line, [*line[1:], None], strict=False):
            width = 1.0 if before is None else level[t] - level[before]
            height = vectors[t][0] + 1 if after is None else vectors[t][0] - vectors[after][0]
            twin = [vectors[u] for u in line].count(vectors[t]) > 1
            alone[t] = 0.0 if twin else width * height
        worst = [t for t in line if alone[t] == min(alone.values())]
        del order[worst[rng.below(len(worst))]]
    return order


def gsemo(people, brood, vector):
    kept = list(people)
    for e in brood:
        if not any(dominates(vector[z], vector[e]) for z in kept):
            kept = [z for z in kept if not (vector[e][0] >= vector[z][0] and vector[e][1] >= vector[z][1])] + [e]
    return kept


def moead(people, aside, brood, vector, k, seen):
    """Solutions of the subproblems, external archive and range seen after the offspring."""
    people, members = list(people), len(people)
    for e in brood:
        if isfinite(vector[e][1][1]):
            seen = min(seen[0], vector[e][1][1]), max(seen[1], vector[e][1][1])

        def level(z, seen=seen):
            violations, value = vector[z][1]
            if isfinite(value):
                place = (value - seen[0]) / (seen[1] - seen[0]) if seen[1] > seen[0] else 0.0
            else:
                place = 2.0 if value > 0 else -1.0
            return place + 4.0 * violations

        for i, z in enumerate(people):
            w = i / (members - 1) if members > 1 else 1.0
            gain = (1 - w) * (level(e) - level(z)) + w * (vector[e][0] - vector[z][0]) / k
            if gain > 0 or (gain == 0 and vector[e][1] >= vector[z][1]):
                people[i] = e
        aside = gsemo(aside, [e], vector)
    return people, aside, seen
