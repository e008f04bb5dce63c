"""Growth: how hitting times scale with n or k, as the exponent of a power law with its confidence interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiclust.figures import axes_for
from certiclust.problems import Problem
from certiclust.theory.experiments.frames import frame_of
from certiclust.theory.experiments.hitting import HittingTimes, hitting_times
from certiclust.theory.experiments.statistics import Estimate, power_law


@dataclass(frozen=True, eq=False)
class Growth:
    """What `growth` measured.

    Attributes
    ----------
    name : str
        What was varied, as ``"n"`` or ``"k"``.
    values : ndarray
        Its values.
    times : list of HittingTimes
        The runs at each.
    """

    name: str
    values: NDArray[np.int64]
    times: list[HittingTimes]

    @property
    def expected(self) -> NDArray[np.float64]:
        """Expected iterations at each value; see `HittingTimes.expected`."""
        return np.array([times.expected for times in self.times])

    @property
    def exponent(self) -> Estimate:
        """Slope of log iterations against log value, by least squares, with its 95 % interval."""
        (exponent,), _ = power_law(self.values, self.expected)
        return exponent

    @property
    def bound_exponent(self) -> Estimate | None:
        """The same slope of the theorem's bound; None where there is none."""
        bounds = [times.bound for times in self.times]
        if any(bound is None or not np.isfinite(bound) for bound in bounds):
            return None
        (exponent,), _ = power_law(self.values, np.array(bounds, dtype=np.float64))
        return exponent

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per value: mean, interval, bound, failures, mean population."""
        rows = [times.summary() for times in self.times]
        return frame_of(**{name: [row[name] for row in rows] for name in rows[0]})

    def plot(self, ax: Any = None) -> Any:
        """Draw mean iterations against the value on logarithmic axes, with the power law and the bound.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        ax = axes_for(ax)
        first = self.times[0]
        low, high = np.array([[times.mean.low, times.mean.high] for times in self.times]).T
        mean = np.array([times.mean.value for times in self.times])
        points = ax.errorbar(self.values, mean, [mean - low, high - mean], fmt="o", capsize=3, label=first.algorithm)
        (exponent,), constant = power_law(self.values, self.expected)
        color, label = points[0].get_color(), f"{self.name}^{exponent.value:.2f}"
        ax.plot(
            self.values, constant * self.values.astype(float) ** exponent.value, color=color, linewidth=1, label=label
        )
        if self.bound_exponent is not None:
            bounds = [times.bound for times in self.times]
            ax.plot(self.values, bounds, color="C3", linestyle="--", label="the theorem's bound")
        ax.set(xscale="log", yscale="log", xlabel=self.name, ylabel=f"iterations until {first.event}")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        first = self.times[0]
        return f"<Growth of {first.algorithm} on {first.problem} with {self.name}: exponent {self.exponent}>"


def growth(
    family: Callable[[int], Problem],
    values: Iterable[int],
    name: str = "n",
    *args: Any,
    folder: str | Path | None = None,
    **options: Any,
) -> Growth:
    """Measure hitting times along a family of problems, and the exponent with which they grow.

    Parameters
    ----------
    family : callable
        The problem for a value of what is varied.
    values : iterable of int
        At least three different values.
    name : str, default="n"
        What is varied.
    *args, **options
        As for `hitting_times`, after the problem.
    folder : path-like or None
        A folder of the files that keep finished runs, one for each value.

    Returns
    -------
    Growth
        With `exponent`, `bound_exponent`, `to_frame` and `plot`.

    Examples
    --------
    >>> from certiclust.theory import growth, points, pose
    >>> study = growth(lambda n: pose("k-center", points("exponential", n), 2), [25, 50, 100, 200], runs=50)
    >>> bool(0.5 < study.exponent.value < 1.5)
    True
    """
    asked = sorted(set(values))
    if len(asked) < 3 or asked[0] < 1:
        raise ValueError(f"growth needs at least three different values, all at least 1; got {asked}.")
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    times = []
    for value in asked:
        file = None if folder is None else Path(folder) / f"{name}={value}.csv"
        times.append(hitting_times(family(value), *args, file=file, **options))
    return Growth(name, np.array(asked, dtype=np.int64), times)
