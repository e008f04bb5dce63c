"""The report as text: what it holds, its size, and that nothing in data can break out of its place."""

import base64
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from certiclust import KTMM, FairKMedian, Front, KCenter, KMeans, KMedian, sweep
from certiclust.report import report_html
from certiclust.report.content import bound_owner, percent, verdict
from certiclust.report.projection import MAX_POINTS, project

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)) + np.repeat([[0, 0, 0, 0], [9, 0, 0, 0], [0, 9, 9, 0]], 10, axis=0)


def shown(page):
    """The data of the page's script, after checking that the page is one that parses."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def labels_of(size):
    return np.frombuffer(base64.b64decode(size["labels"]), dtype="<u2")


def test_what_it_holds():
    front = sweep(KMedian(random_state=0), X, 4)
    data = shown(report_html(front, X, title="t", ids=[f"p{i}" for i in range(30)], id_name="name"))
    assert [size["k"] for size in data["sizes"]] == [1, 2, 3, 4]
    for size, k in zip(data["sizes"], front.sizes.tolist(), strict=True):
        estimator = front.estimator(k)
        assert size["cost"] == estimator.cost_
        assert size["certificate"] == str(estimator.certificate_).split("\n")
        assert labels_of(size).tolist() == estimator.labels_.tolist()
        assert [c["size"] for c in size["clusters"]] == np.bincount(estimator.labels_).tolist()
        assert [c["centre"] for c in size["clusters"]] == [f"p{i}" for i in estimator.center_indices_]
        distances = cdist(X, estimator.cluster_centers_)[np.arange(30), estimator.labels_]
        means = [distances[estimator.labels_ == j].mean() for j in range(k)]
        assert [c["mean"] for c in size["clusters"]] == pytest.approx(means)
        assert sorted(size["colours"]) == list(range(k))
    assert data["suggestion"]["k"] == 3
    assert "principal components explain" in data["picture"]["words"]
    assert len(data["picture"]["names"]) == 30


def test_a_cluster_keeps_its_colour():
    """From k = 2 to 3 the untouched cluster stays what it was, whatever its label."""
    front = sweep(KMedian(random_state=0), X, 4)
    sizes = shown(report_html(front, X))["sizes"]
    for before, after in pairwise(sizes[1:]):
        old, new = labels_of(before), labels_of(after)
        same = [(i, j) for i in range(before["k"]) for j in range(after["k"]) if np.array_equal(old == i, new == j)]
        for i, j in same:
            assert before["colours"][i] == after["colours"][j]
        assert len(set(after["colours"])) == after["k"]
        assert same


@pytest.mark.parametrize("estimator", [KMedian, KMeans, KCenter, KTMM, FairKMedian])
def test_every_problem_has_a_page(estimator):
    page = report_html(Front([estimator(3, random_state=0).fit(X)]), X)
    data = shown(page)
    assert data["measure"] != "cost"
    assert (data["sizes"][0]["fairness"] is None) is (estimator is not FairKMedian)
    assert data["sizes"][0]["history"]


@pytest.mark.parametrize(
    "rows",
    [X[:, :1], X[:, :2], np.ones((5, 3)), X[:3] * 1e150, X + 1e8, X * [1, 1000, 0, 0], X[:2]],
    ids=["one column", "two columns", "all alike", "huge", "far off", "one long axis", "two rows"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_shape_of_data(rows):
    data = shown(report_html(Front([KMedian(2, random_state=0).fit(rows)]), rows))
    assert len(data["picture"]["names"]) == len(rows)
    assert np.isfinite(data["picture"]["low"] + data["picture"]["span"]).all()
    assert min(data["picture"]["span"]) > 0


def test_distance_matrices():
    d = cdist(X, X)
    data = shown(report_html(Front([KMedian(3, metric="precomputed", random_state=0).fit(d)]), d))
    assert "Classical scaling" in data["picture"]["words"]
    assert len(data["sizes"][0]["centers"]) == 3
    assert data["columns"] == []
    sites = d[:, :7]
    data = shown(report_html(Front([KMedian(3, metric="precomputed", random_state=0).fit(sites)]), sites))
    assert "Rows of the distance matrix" in data["picture"]["words"]


def test_classical_scaling_keeps_distances_of_the_plane():
    flat = X[:, :2]
    d = cdist(flat, flat)
    picture = project(d, [], [(np.array([3, 4]), None)], precomputed=True)
    np.testing.assert_allclose(cdist(picture.points, picture.points), d, atol=1e-9)
    np.testing.assert_allclose(picture.centers[0], picture.points[[3, 4]])
    assert "keeps 100%" in picture.words


def test_many_points_are_thinned_and_it_is_stated():
    many = RNG.normal(size=(100_000, 2)) + np.repeat([[0, 0], [9, 9]], 50_000, axis=0)
    front = Front([KMeans(2, random_state=0, certify=False).fit(many)])
    page = report_html(front, many, ids=[f"customer number {i}" for i in range(100_000)])
    assert len(page) < 5_000_000
    data = shown(page)
    assert len(data["picture"]["names"]) == len(labels_of(data["sizes"][0])) == MAX_POINTS
    assert f"{MAX_POINTS:,} of 100,000 points are drawn" in data["picture"]["words"]
    assert sum(cluster["size"] for cluster in data["sizes"][0]["clusters"]) == 100_000


class Stand:
    """A front of random clusterings, as a sweep with a very large k_max would return."""

    def __init__(self, n, k_max):
        self.sizes = np.arange(1, k_max + 1)
        self.costs = 1e6 / self.sizes
        self.lower_bounds = self.costs * 0.9
        self.gaps = np.full(k_max, 1 / 9)
        self.n = n

    def labels(self, k):
        return np.random.default_rng(k).integers(k, size=self.n)

    def estimator(self, k):
        rng = np.random.default_rng(k)
        history = np.zeros(500, dtype=[("time", float), ("upper", float), ("lower", float)])
        history["upper"] = rng.random(500)
        return SimpleNamespace(
            n_clusters=k, metric="euclidean", labels_=self.labels(k), history_=history, certificate_=None,
            center_indices_=np.sort(rng.choice(self.n, k, replace=False)), cluster_centers_=rng.normal(size=(k, 8)),
            transform=lambda X: np.ones((len(X), k)),
        )  # fmt: skip

    def certificate(self, k):
        return None

    def suggest(self):
        return SimpleNamespace(k=17, reason="so.")


@pytest.mark.parametrize("k_max", [100, 400])
def test_the_page_stays_small(k_max):
    rows = RNG.normal(size=(10_000, 8))
    page = report_html(Stand(10_000, k_max), rows, ids=[f"a rather long name of customer {i}" for i in range(10_000)])
    assert len(page.encode()) < 5_000_000
    data = shown(page)
    ks = [size["k"] for size in data["sizes"]]
    assert ks[:30] == list(range(1, 31))
    assert {17, k_max} <= set(ks)
    assert data["left"] == k_max - len(ks)
    assert (data["left"] > 0) is (k_max == 400)


class Scripts(HTMLParser):
    """Collect what a parser takes for elements."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def elements(page):
    parser = Scripts()
    parser.feed(page)
    return [tag for tag, _ in parser.tags], parser.tags


def test_names_cannot_leave_their_place():
    evil = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> --><!--DATA-->"
    front = sweep(KMedian(random_state=0), X[:, :2], 2)
    plain = report_html(front, X[:, :2])
    ids = [f"{i}{evil}" for i in range(30)]
    page = report_html(front, X[:, :2], title=evil, columns=[evil, "y"], ids=ids, id_name=evil, facts={evil: evil})
    assert elements(page)[0] == elements(plain)[0]
    assert "<img" not in page
    assert page.count("alert(1)") > 30  # it is there, as text
    assert shown(page)["title"] == evil


def test_it_asks_nothing_of_the_network():
    page = report_html(Front([KMedian(2, random_state=0).fit(X)]), X)
    for tag, attributes in elements(page)[1]:
        assert "src" not in attributes
        assert tag != "link" or attributes["href"] == "data:,"
    assert "default-src 'none'" in page
    assert "<!--" not in page  # every placeholder was filled


def test_percent_is_rounded_up():
    for gap in (1e-7, 0.00012, 0.0099, 0.123456, 0.5):
        assert float(percent(gap).rstrip(" %")) / 100 >= gap * (1 - 1e-9)
    assert percent(0.0) == "0 %"


def test_the_word_of_a_solver_is_not_called_proved():
    """Also where the bound is owed to a larger size, whose certificate trusts the solver."""
    solver, own = {"cover": {"proof": "solver"}}, {"cover": {"proof": "packing"}}
    certificates = {
        1: SimpleNamespace(lower_bound=5.0, witness=own),
        2: SimpleNamespace(lower_bound=7.0, witness=solver),
        3: SimpleNamespace(lower_bound=3.0, witness=own),
    }
    front = SimpleNamespace(
        sizes=np.array([1, 2, 3]),
        costs=np.array([7.0, 7.7, 3.0]),
        lower_bounds=np.array([7.0, 7.0, 3.0]),
        gaps=np.array([0.0, 0.1, 0.0]),
        certificate=certificates.get,
    )
    assert [bound_owner(front, i) for i in range(3)] == [2, 2, 3]
    assert verdict(front, 0) == "optimal, by the word of a solver"
    assert verdict(front, 1) == "at most 10.0 % above optimal, by the word of a solver"
    assert verdict(front, 2) == "optimal, proved"
