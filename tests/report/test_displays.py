"""Displays after scikit-learn's convention, drawn without a screen."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from certiclust import KCenter, KMedian, sweep
from certiclust.report import ClustersDisplay, FrontDisplay, HistoryDisplay

mpl.use("Agg")
import matplotlib.pyplot as plt

X = np.random.default_rng(0).normal(size=(50, 2))


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def drawn(display):
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    return display.ax_


def test_front():
    front = sweep(KMedian(random_state=0), X, 5)
    axes = drawn(front.plot())
    cost, lower = axes.lines[:2]
    np.testing.assert_array_equal(cost.get_ydata(), front.costs)
    np.testing.assert_array_equal(lower.get_ydata(), front.lower_bounds)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert f"suggested: k = {front.suggest().k}" in labels
    _, given = plt.subplots()
    assert FrontDisplay.from_front(front, ax=given).ax_ is given
    assert FrontDisplay([1, 2], [3.0, 1.0], [2.0, 1.0]).plot(given).ax_ is given
    assert drawn(sweep(KMedian(random_state=0), X, 1).plot()).get_xlabel() == "number of clusters k"


def test_history():
    estimator = KMedian(4, random_state=0).fit(X)
    axes = drawn(HistoryDisplay.from_estimator(estimator))
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), estimator.history_["upper"])
    assert (axes.lines[1].get_ydata() > 0).all()


def test_clusters_in_the_plane_and_beyond():
    estimator = KMedian(4, random_state=0).fit(X)
    axes = drawn(ClustersDisplay.from_estimator(estimator, X))
    assert axes.collections[0].get_offsets().shape == (50, 2)
    assert axes.collections[1].get_offsets().shape == (4, 2)
    frame = pd.DataFrame(X, columns=["east", "north"])
    named = drawn(ClustersDisplay.from_estimator(KMedian(4, random_state=0).fit(frame), frame))
    assert (named.get_xlabel(), named.get_ylabel()) == ("east", "north")
    wide = np.random.default_rng(1).normal(size=(30, 5)) * [9, 3, 1, 1, 1]
    axes = drawn(ClustersDisplay.from_estimator(KCenter(12, random_state=0).fit(wide), wide))
    share = np.var(wide - wide.mean(axis=0), axis=0).sum()
    first = np.linalg.eigvalsh(np.cov(wide.T, bias=True))[-1] / share
    assert axes.get_xlabel() == f"principal component 1 ({first:.0%} of the variance)"
    line = X[:, :1]
    drawn(ClustersDisplay.from_estimator(KMedian(2, random_state=0).fit(line), line))


def test_many_points_are_thinned_and_that_is_said():
    points = np.random.default_rng(0).random((50_001, 2))
    axes = drawn(ClustersDisplay(points, np.zeros(50_001, dtype=int)).plot())
    assert len(axes.collections[0].get_offsets()) == 16_667
    assert "16667 of 50001 points drawn" in axes.get_xlabel()


def test_what_cannot_be_drawn():
    estimator = KMedian(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 49 rows, but the estimator was fitted on 50"):
        ClustersDisplay.from_estimator(estimator, X[1:])
    matrix = np.abs(X[:, :1] - X[:, 0])
    with pytest.raises(ValueError, match="no coordinates"):
        ClustersDisplay.from_estimator(KMedian(2, metric="precomputed", random_state=0).fit(matrix), matrix)
    with pytest.raises(ValueError, match="not fitted"):
        ClustersDisplay.from_estimator(KMedian(), X)
    with pytest.raises(ValueError, match="not fitted"):
        HistoryDisplay.from_estimator(KMedian())
