"""The front as an object: its knee, its table, its page."""

import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from certiclust import Front, KMedian, sweep
from certiclust.front.knee import knee

X = np.random.default_rng(2).normal(size=(30, 2)) + 9 * np.repeat(np.eye(3, 2), 10, axis=0)


@pytest.fixture(scope="module")
def front():
    return sweep(KMedian(random_state=0), X, 6)


def fake(k, cost, lower):
    return SimpleNamespace(n_clusters=k, cost_=cost, certificate_=SimpleNamespace(lower_bound=lower))


def test_lower_bounds_take_the_best_of_larger_sizes():
    front = Front([fake(1, 10.0, 1.0), fake(2, 6.0, 5.0), fake(3, 4.0, 5.0), fake(4, 2.0, 0.0)])
    assert_array_equal(front.lower_bounds, [5.0, 5.0, 4.0, 0.0])  # never above the cost
    assert front.gaps[0] == 1.0
    assert np.isinf(front.gaps[3])
    assert_array_equal(front.optimal, [False, False, True, False])


def test_sizes_must_be_consecutive():
    for sizes in ([], [1, 3], [2, 1]):
        with pytest.raises(ValueError, match="consecutive"):
            Front([fake(k, 1.0, 1.0) for k in sizes])


def test_a_size_that_is_not_there(front):
    for ask in (front.labels, front.estimator, front.certificate):
        with pytest.raises(ValueError, match="k = 9 was not swept; this front has k = 1 to 6"):
            ask(9)
    assert front.estimator(np.int64(3)).n_clusters == 3


def test_a_clear_knee_is_proved(front):
    suggestion = front.suggest()
    assert suggestion.k == 3
    assert suggestion.proved
    assert "prove" in suggestion.reason
    assert suggestion.reason.count(".") <= suggestion.reason.count("%") + 1  # one sentence, its numbers apart


def test_equal_costs_prove_nothing_where_more_clusters_may_cost_less():
    sizes, costs = np.arange(1, 4), np.full(3, 0.5)
    assert not knee(sizes, costs, np.array([0.5, 0.25, 0.25])).proved
    assert knee(sizes, costs, costs).proved


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.5)), min_size=1, max_size=8))
@example([(0.5, 0.0), (0.5, 0.5), (0.5, 0.5)])
def test_a_proved_knee_is_the_knee_of_every_curve_between_the_bounds(rows):
    rng = np.random.default_rng(len(rows))
    costs = np.sort([c for c, _ in rows])[::-1].copy()
    lower = np.maximum.accumulate((costs * (1 - np.array([g for _, g in rows])))[::-1])[::-1]
    lower = np.minimum(lower, costs)
    sizes = np.arange(1, len(rows) + 1)
    suggestion = knee(sizes, costs, lower)
    assert suggestion.k in sizes
    assert suggestion.reason
    assert "nan" not in suggestion.reason
    if not suggestion.proved or len(rows) < 3:
        return
    for curve in (lower + rng.random(len(rows)) * (costs - lower) for _ in range(20)):
        below = np.interp(sizes, [1, len(rows)], curve[[0, -1]]) - curve
        assert below[suggestion.k - 1] >= below.max() - 1e-12


@pytest.mark.parametrize(
    ("costs", "lower", "k", "words"),
    [
        ([5.0], [5.0], 1, "only size"),
        ([0.0, 0.0], [0.0, 0.0], 1, "no size up to 2 costs less"),
        ([4.0, 2.0], [4.0, 2.0], 2, "no knee"),
        ([9.0, 2.0, 1.0], [0.0, 0.0, 0.0], 2, "do not prove"),
        ([9.0, 2.0, 1.0], [0.0, 0.0, -9.0], 2, "the 3 clusters found save another 12.5%"),
        ([9.0, 2.0, 1.0], [8.9, 2.0, 1.0], 2, "prove that"),
        ([9.0, 2.0, 1.0], [8.9, 2.0, 1.0], 2, "no 3 clusters can save more than another 12.5%"),
        ([9.0, 5.0, 1.9, 1.0], [8.0, 4.0, 1.5, 0.9], 3, "k = 3 brings 89%"),
        ([3.0, 4.0, 2.0], [3.0, 4.0, 2.0], 3, "no knee"),
    ],
)
def test_suggestions(costs, lower, k, words):
    suggestion = knee(np.arange(1, len(costs) + 1), np.array(costs), np.array(lower))
    assert suggestion.k == k
    assert words in suggestion.reason


def test_frame(front):
    frame = front.to_frame()
    assert frame.index.name == "k"
    assert_array_equal(frame.index, front.sizes)
    assert list(frame.columns) == ["cost", "lower_bound", "gap", "optimal"]
    assert_array_equal(frame["cost"], front.costs)


def test_what_is_optional_is_imported_when_it_is_needed():
    code = (
        "import sys, numpy as np\nfrom certiclust import KMedian, sweep\n"
        "f = sweep(KMedian(random_state=0), np.arange(6.0)[:, None], 3)\nf.suggest(), repr(f), f._repr_html_()\n"
        "print([m for m in ('matplotlib', 'rich') if m in sys.modules])\n"
        "sys.modules['matplotlib.pyplot'] = sys.modules['pandas'] = None\n"
        "for ask in (f.plot, f.to_frame):\n"
        "    try: ask()\n    except ImportError as error: print(error)\n"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == [
        "[]",
        'plots need matplotlib: pip install "certiclust[plot]".',
        "to_frame needs pandas: pip install pandas.",
    ]


class Balanced(HTMLParser):
    """Tags that close as they open, and all text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html_is_whole_and_stands_alone(front):
    page = front._repr_html_()
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert front.suggest().reason in parser.text
    assert f"{front.costs[3]:.8g}" in parser.text
    for word in ("http", "<script", "src=", "nan"):
        assert word not in page


def test_repr(front):
    assert repr(front).startswith("<Front of KMedian, k = 1 to 6: ")
    assert list(front) == [1, 2, 3, 4, 5, 6]
