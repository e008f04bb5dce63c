"""How cost and lower bound came together during a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from certiclust.figures import axes_for


class HistoryDisplay:
    """Cost and lower bound against time.

    Parameters
    ----------
    time, upper, lower : array-like
        Seconds since the start, the best cost and the best lower bound at that time.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn last.
    """

    def __init__(self, time: ArrayLike, upper: ArrayLike, lower: ArrayLike) -> None:
        self.time, self.upper, self.lower = np.asarray(time), np.asarray(upper), np.asarray(lower)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> HistoryDisplay:
        """Draw the `history_` of a fitted estimator."""
        check_is_fitted(estimator, "history_")
        history = estimator.history_
        return cls(history["time"], history["upper"], history["lower"]).plot(ax=ax)

    def plot(self, ax: Any = None) -> HistoryDisplay:
        """Draw into the axes given, or into a new figure; bounds of 0, from before the first proof, are left out."""
        ax = axes_for(ax)
        (line,) = ax.plot(self.time, self.upper, drawstyle="steps-post", marker=".", label="cost")
        known = self.lower > 0
        color = line.get_color()
        style: dict[str, Any] = {"drawstyle": "steps-post", "marker": ".", "linestyle": "--", "color": color}
        ax.plot(self.time[known], self.lower[known], label="lower bound", **style)
        between = {"step": "post", "alpha": 0.25, "color": color, "linewidth": 0}
        ax.fill_between(self.time[known], self.lower[known], self.upper[known], **between)
        ax.set(xlabel="seconds", ylabel="cost")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
