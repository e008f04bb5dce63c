"""The truth about tiny instances, by looking at everything: all subsets, all partitions."""

from functools import cache
from itertools import combinations

import numpy as np

FORMULAS = {
    "euclidean": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "sqeuclidean": lambda a, b: ((a - b) ** 2).sum(),
    "manhattan": lambda a, b: np.abs(a - b).sum(),
    "chebyshev": lambda a, b: np.abs(a - b).max(),
    "cosine": lambda a, b: ((a / np.sqrt(a @ a) - b / np.sqrt(b @ b)) ** 2).sum() / 2,
}


def distances(A, B, metric):
    """Return distances clients x sites by the formula, one pair at a time."""
    formula = metric if callable(metric) else FORMULAS[metric]
    return np.array([[formula(a, b) for b in B] for a in A], dtype=float).reshape(len(A), len(B))


@cache
def partitions(n, k):
    """Return all labellings of n points with at most k clusters, each partition once."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, label] for row in rows for label in range(min(max(row) + 2, k))]
    return np.array(rows)


def diameter(D, labels):
    """Return the largest distance between two points of one cluster."""
    same = labels[:, None] == labels[None, :]
    return float(np.where(same, D, 0.0).max())


class Tiny:
    """One tiny instance: rows of X (or a matrix), weights, a metric, candidates."""

    def __init__(self, X, weights=None, metric="euclidean", candidates=None):
        self.X = np.asarray(X, dtype=float)
        self.weights = np.ones(len(self.X)) if weights is None else np.asarray(weights, dtype=float)
        self.metric, self.candidates = metric, candidates
        self.rows = np.flatnonzero(self.weights > 0)  # the clients
        self.w = self.weights[self.rows]
        clients = self.X[self.rows]
        if isinstance(metric, str) and metric == "precomputed":
            X = self.X
            self.own = X.shape[0] == X.shape[1] and np.allclose(X, X.T, rtol=0, atol=1e-12) and not np.diag(X).any()
            self.D = X[np.ix_(self.rows, self.rows)] if self.own else clients
        else:
            self.own = candidates is None
            self.D = distances(clients, clients if self.own else np.asarray(candidates, dtype=float), metric)

    @property
    def m(self):
        return self.D.shape[1]

    def sites(self, indices):
        """Return positions among the sites of indices as a user counts them, None if one is no site."""
        if not all(type(i) is int for i in indices) or len(set(indices)) != len(indices):
            return None
        allowed = self.rows.tolist() if self.own else list(range(self.m))
        return [allowed.index(i) for i in indices] if set(indices) <= set(allowed) else None

    def cost(self, problem, centers):
        """Return the cost of a set of sites."""
        nearest = self.D[:, centers].min(axis=1)
        return float(nearest.max() if problem == "k-center" else self.w @ nearest)

    def optimum(self, problem, k):
        """Return the least cost; for k-means on the data points with centres anywhere; without any fairness."""
        if problem == "k-tMM":
            labels = partitions(len(self.w), k)
            widest = np.zeros(len(labels))
            for i, j in combinations(range(len(self.w)), 2):
                np.maximum(widest, np.where(labels[:, i] == labels[:, j], self.D[i, j], 0.0), out=widest)
            return float(widest.min())
        if problem == "k-means" and self.own:
            return self._continuous(k)
        return min(self.cost(problem, list(centers)) for centers in combinations(range(self.m), k))

    def _continuous(self, k):
        labels = partitions(len(self.w), k)
        points = self.X[self.rows] - self.X[self.rows[0]]
        points = points - np.average(points, axis=0, weights=self.w)
        total = np.zeros(len(labels))
        for label in range(k):
            inside = np.where(labels == label, self.w, 0.0)
            mass = inside.sum(axis=1)
            centre = (inside @ points) / np.where(mass > 0, mass, 1.0)[:, None]
            for i, x in enumerate(points):
                total += inside[:, i] * ((x - centre) ** 2).sum(axis=1)
        return float(total.min())

    def fairness(self, k, centers):
        """Return the least factor f with d(v, X) <= f r(v) for all v."""
        worst = 0.0
        for i, row in enumerate(self.D):
            radius = next(r for r in np.unique(row) if k * self.w[row <= r].sum() >= self.w.sum() * (1 - 1e-12))
            nearest = self.D[i, centers].min()
            if nearest > 0:
                worst = max(worst, nearest / radius if radius > 0 else np.inf)
        return worst

    def radii(self, k):
        """Return the fair radius of every client."""
        weight = self.w.sum() * (1 if np.all(self.w == np.floor(self.w)) else 1 - 1e-12)
        return np.array([next(r for r in np.unique(row) if k * self.w[row <= r].sum() >= weight) for row in self.D])

    def fair_sets(self, k, mode, beta, balls=(), tolerance=1e-12):
        """Return all sets that keep a mode's constraint, up to rounding: balls are listed, or the points themselves."""
        reach = beta * self.radii(k) * (1 + tolerance) + tolerance
        asked = range(len(self.w)) if mode == "strict" else balls
        sets = [list(centers) for centers in combinations(range(self.m), k)]
        return [c for c in sets if all(self.D[i, c].min() <= reach[i] for i in asked)]

    def fair_falsehood(self, certificate, centers, up, atom):
        """Return what a certificate of fair k-median claims wrongly about fair sets."""
        k, said = certificate.n_clusters, certificate.witness.get("fairness")
        if not self.own:
            return "fairness without radii"
        ratio = certificate.fairness_ratio
        if ratio is not None and self.fairness(k, centers) > ratio * up:
            return f"fairness_ratio {ratio} is {self.fairness(k, centers)}"
        if certificate.infeasible_beta is not None and self.fair_sets(k, "strict", certificate.infeasible_beta):
            return f"a {certificate.infeasible_beta}-fair set exists"
        if said is None:
            return "a bound about nothing" if certificate.lower_bound or certificate.fair_lower_bound else None
        for claimed, mode in ((certificate.lower_bound, said["mode"]), (certificate.fair_lower_bound or 0, "strict")):
            sets = self.fair_sets(k, mode, said["beta"], said["balls"])
            least = min((self.cost("fair k-median", c) for c in sets), default=np.inf)
            if claimed > least * up + atom:
                return f"lower bound {claimed} above {least} ({mode})"
            if claimed > 0 and mode == said["mode"] and claimed == certificate.lower_bound and centers not in sets:
                return "the centres do not keep the constraint of the bound"
        return None

    def falsehood(self, certificate, tolerance=1e-9):
        """Return what a certificate claims wrongly about this instance, None if all of it is true."""
        k, problem = certificate.n_clusters, certificate.problem
        up, atom = 1 + tolerance, 1e-14 * (1 + float(self.w.sum()))
        if certificate.n_samples != len(self.X) or not 1 <= k <= self.m:
            return "n_samples or n_clusters"
        anywhere = "cluster_centers" in certificate.witness
        centers = self.sites(certificate.witness.get("centers", ()))
        if not anywhere and (centers is None or len(centers) != k):
            return "centers"
        if anywhere:
            places = np.array(certificate.witness["cluster_centers"])
            if problem != "k-means" or places.shape != (k, self.X.shape[1]):
                return "cluster_centers"
            squares = ((self.X[self.rows][:, None] - places) ** 2).sum(axis=2)
            cost = float(self.w @ squares.min(axis=1))
        elif problem == "k-tMM":
            cost = diameter(self.D, np.array(certificate.witness["labels"]))
            if len(set(certificate.witness["labels"])) > k:
                return "too many clusters"
        else:
            cost = self.cost(problem, centers)
        if abs(certificate.cost - cost) > tolerance * cost + atom:
            return f"cost {certificate.cost} is {cost}"
        if problem == "fair k-median":
            wrong = self.fair_falsehood(certificate, centers, up, atom)
            if wrong is not None:
                return wrong
        best = 0.0 if problem == "fair k-median" else self.optimum(problem, k)
        least = self._continuous(k) if anywhere else best  # a lower bound for centres anywhere holds for all places
        if problem != "fair k-median" and certificate.lower_bound > least * up + atom:
            return f"lower_bound {certificate.lower_bound} above {least}"
        if problem != "fair k-median" and certificate.optimal and cost > best * (1 + 2 * tolerance) + atom:
            return f"optimal: {cost} against {best}"
        if certificate.guarantee is None:
            return None
        ratio, fairness = certificate.guarantee.ratio, certificate.guarantee.fairness
        if ratio is not None and cost > ratio * best * up + atom:
            return f"ratio {ratio}: {cost} against {best}"
        if fairness is not None and not self.own:
            return "fairness without radii"
        if fairness is not None and self.fairness(k, centers) > fairness * up:
            return f"fairness {fairness} is {self.fairness(k, centers)}"
        return None
