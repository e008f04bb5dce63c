"""The optimum of k-means with centres anywhere, exactly: rational arithmetic over all partitions."""

from fractions import Fraction


def cluster_costs(X, weights):
    """Return the exact cost of every subset of rows around its own mean, by bit mask."""
    n = len(X)
    rows = [[Fraction(float(v)) for v in row] for row in X]
    w = [Fraction(float(v)) for v in weights]
    mass, square = [Fraction(0)] * (1 << n), [Fraction(0)] * (1 << n)
    sums = [[Fraction(0)] * len(rows[0])] * (1 << n)
    costs = [Fraction(0)] * (1 << n)
    for mask in range(1, 1 << n):
        i = (mask & -mask).bit_length() - 1
        rest = mask & (mask - 1)
        mass[mask] = mass[rest] + w[i]
        square[mask] = square[rest] + w[i] * sum(v * v for v in rows[i])
        sums[mask] = [s + w[i] * v for s, v in zip(sums[rest], rows[i], strict=True)]
        costs[mask] = square[mask] - sum(s * s for s in sums[mask]) / mass[mask]
    return costs


def optimum(X, weights, k):
    """Return the exact least cost of at most k clusters."""
    costs = cluster_costs(X, weights)
    full = len(costs) - 1
    best = list(costs)
    for _ in range(k - 1):
        nxt = list(best)
        for mask in range(1, full + 1):
            low = mask & -mask
            rest = sub = mask ^ low
            while True:
                value = costs[sub | low] + (best[rest ^ sub] if rest ^ sub else 0)
                if value < nxt[mask]:
                    nxt[mask] = value
                if sub == 0:
                    break
                sub = (sub - 1) & rest
        best = nxt
    return best[full]
