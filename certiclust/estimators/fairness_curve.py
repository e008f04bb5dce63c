"""The price of fairness: the least cost found, and a lower bound, for each of several beta."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from certiclust.estimators.fair_kmedian import FairKMedian, InfeasibleError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FairnessCurve:
    """Cost against fairness; what `fairness_curve` returns.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    betas : ndarray
        The beta asked for, ascending.
    costs : ndarray
        Least cost found of a set with a centre within beta fair radii of every point; infinite where none was found.
    lower_bounds : ndarray
        No such set costs less; infinite where it is proved that there is none.
    fairness_ratios : ndarray
        The largest distance to a centre, in fair radii, of the set found; NaN where there is none.
    estimators : list of FairKMedian or None
        The fitted estimator whose set it is, with its certificate.
    """

    n_clusters: int
    betas: FloatArray
    costs: FloatArray
    lower_bounds: FloatArray
    fairness_ratios: FloatArray
    estimators: list[FairKMedian | None]

    def to_frame(self) -> Any:
        """Return the curve as a pandas DataFrame, one row for each beta."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("FairnessCurve.to_frame needs pandas: pip install pandas.") from error
        columns = ("betas", "costs", "lower_bounds", "fairness_ratios")
        return pd.DataFrame({name: getattr(self, name) for name in columns})

    def plot(self, ax: Any = None) -> Any:
        """Draw cost and lower bound against beta.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("FairnessCurve.plot needs matplotlib: pip install matplotlib.") from error
            ax = plt.subplots()[1]
        found = np.isfinite(self.costs)
        proved = np.isfinite(self.lower_bounds)
        ax.plot(self.betas[found], self.costs[found], marker="o", label="least cost found")
        ax.plot(self.betas[proved], self.lower_bounds[proved], linestyle="--", label="lower bound")
        for beta in self.betas[~proved]:
            ax.axvline(beta, color="grey", linestyle=":")
        ax.set_xlabel("beta: distance allowed, in fair radii")
        ax.set_ylabel(f"cost, k = {self.n_clusters}")
        ax.legend()
        return ax


def fairness_curve(
    X: Any, n_clusters: int, betas: Iterable[float], *, sample_weight: Any = None, **parameters: Any
) -> FairnessCurve:
    """Return what strict fairness costs, for several beta.

    A set that is fair for one beta is fair for every larger one, and a lower bound for one beta holds for every smaller
    one; both are used, so costs and bounds never rise with beta.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, or the distance matrix for ``metric="precomputed"``.
    n_clusters : int
        Number of clusters.
    betas : iterable of float
        The beta to ask for, each at least 1.
    sample_weight : array-like or None, default=None
        A row with weight w counts as w copies.
    **parameters
        Other parameters of `FairKMedian`, such as `metric`, `time_limit` or `random_state`.

    Returns
    -------
    FairnessCurve
        Betas, costs, lower bounds and fairness ratios, with `to_frame` and `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust import fairness_curve
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [14.0]])
    >>> curve = fairness_curve(X, 2, [1.0, 1.5], random_state=0)
    >>> curve.costs
    array([6., 6.])
    """
    if not {"mode", "beta", "on_infeasible"}.isdisjoint(parameters):
        raise ValueError("fairness_curve sets mode, beta and on_infeasible itself; give betas instead.")
    asked = np.unique(np.asarray(list(betas), dtype=np.float64))
    if asked.size == 0 or not np.all(asked >= 1) or not np.isfinite(asked).all():
        raise ValueError("betas must hold at least one finite number, and none below 1.")
    costs, bounds = np.full(asked.size, np.inf), np.zeros(asked.size)
    fitted: list[FairKMedian | None] = [None] * asked.size
    for t, beta in enumerate(asked):
        est = FairKMedian(n_clusters, beta=float(beta), mode="strict", **parameters)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                est.fit(X, sample_weight=sample_weight)
        except InfeasibleError as error:
            bounds[t] = np.inf if error.proved else 0.0
            continue
        if est.certificate_ is not None:
            bounds[t] = est.certificate_.fair_lower_bound or 0.0
        if est.fairness_ratio_ <= beta:
            costs[t], fitted[t] = est.cost_, est
    for t in range(1, asked.size):
        if costs[t - 1] < costs[t]:
            costs[t], fitted[t] = costs[t - 1], fitted[t - 1]
    bounds = np.maximum.accumulate(bounds[::-1])[::-1]
    ratios = np.array([np.nan if est is None else est.fairness_ratio_ for est in fitted])
    return FairnessCurve(n_clusters, asked, costs, bounds, ratios, fitted)
