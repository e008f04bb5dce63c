"""The front: for every number of clusters a fitted estimator, its cost, and the best lower bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from certiclust.certificates import Certificate
from certiclust.estimators import FairKMedian
from certiclust.front.knee import Suggestion, knee

if TYPE_CHECKING:
    from certiclust.front.display import FrontDisplay


class Front:
    """What every number of clusters costs, and how much less it could cost at most.

    Made by `sweep`.

    Parameters
    ----------
    estimators : sequence of estimators
        Fitted on the same data with consecutive `n_clusters`, ascending.

    Attributes
    ----------
    sizes : ndarray of int
        The numbers of clusters, ascending.
    costs : ndarray of float
        What each costs; they never rise from one size to the next, but for fair k-median, whose constraint changes
        with k.
    lower_bounds : ndarray of float
        No clustering of that size costs less. More clusters never cost more, so a bound for a larger size is one for
        this size too, and the best is taken; for fair k-median each size has its own. A certificate keeps the bound
        that its own witness proves, so ``certificate(k).lower_bound`` may be smaller: then the certificate of a larger
        size is the proof. 0 where nothing was proved.
    gaps : ndarray of float
        ``costs / lower_bounds - 1``: 0 for a cost of 0, infinite without a positive bound.

    Examples
    --------
    >>> import numpy as np
    >>> from certiclust import KMedian, sweep
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> front = sweep(KMedian(random_state=0), X, 4)
    >>> front.sizes, front.costs
    (array([1, 2, 3, 4]), array([30.,  4.,  3.,  2.]))
    >>> front.suggest().k
    2
    >>> front.labels(2)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    def __init__(self, estimators: Sequence[Any]) -> None:
        self._estimators = {int(estimator.n_clusters): estimator for estimator in estimators}
        self.sizes: NDArray[np.intp] = np.array(list(self._estimators), dtype=np.intp)
        if len(self.sizes) == 0 or (np.diff(self.sizes) != 1).any():
            raise ValueError("a front needs fitted estimators with consecutive n_clusters, ascending.")
        self.costs: NDArray[np.float64] = np.array([estimator.cost_ for estimator in estimators], dtype=np.float64)
        certificates = [estimator.certificate_ for estimator in estimators]
        own = np.array([0.0 if c is None else c.lower_bound for c in certificates])
        if not isinstance(estimators[0], FairKMedian):
            own = np.maximum.accumulate(own[::-1])[::-1]
        self.lower_bounds: NDArray[np.float64] = np.minimum(own, self.costs)

    @property
    def gaps(self) -> NDArray[np.float64]:
        """``costs / lower_bounds - 1``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.where(self.lower_bounds > 0, np.maximum(self.costs / self.lower_bounds - 1.0, 0.0), np.inf)
        return np.where(self.costs == 0, 0.0, gaps)

    @property
    def optimal(self) -> NDArray[np.bool_]:
        """Which sizes are proved optimal: ``lower_bounds >= costs * (1 - 1e-9)``, as for a certificate."""
        return np.asarray(self.lower_bounds >= self.costs * (1.0 - 1e-9))

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[int]:
        return iter(self._estimators)

    def estimator(self, k: int) -> Any:
        """Return the fitted estimator with k clusters, as `fit` leaves one."""
        if k not in self._estimators:
            raise ValueError(f"k = {k} was not swept; this front has k = {self.sizes[0]} to {self.sizes[-1]}.")
        return self._estimators[int(k)]

    def labels(self, k: int) -> NDArray[np.int32]:
        """Return the labels of the rows with k clusters."""
        return np.asarray(self.estimator(k).labels_)

    def certificate(self, k: int) -> Certificate | None:
        """Return the certificate of the clustering with k clusters; None with ``certify=False``."""
        found: Certificate | None = self.estimator(k).certificate_
        return found

    def suggest(self) -> Suggestion:
        """Return a size worth taking, with the reason in words: the knee of the certified curve.

        Returns
        -------
        Suggestion
            ``k``, ``reason``, and ``proved``: whether the bounds show that the curve of the optima itself, which
            lies between `lower_bounds` and `costs`, has its knee at that k.
        """
        return knee(self.sizes, self.costs, self.lower_bounds)

    def plot(self, ax: Any = None) -> FrontDisplay:
        """Draw costs and lower bounds against k; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None for a new figure.
        """
        from certiclust.front.display import FrontDisplay

        return FrontDisplay.from_front(self, ax=ax)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per size: cost, lower bound, gap, whether proved optimal."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas.") from error
        return pd.DataFrame(
            {"cost": self.costs, "lower_bound": self.lower_bounds, "gap": self.gaps, "optimal": self.optimal},
            index=pd.Index(self.sizes, name="k"),
        )

    def __repr__(self) -> str:
        name = type(self._estimators[int(self.sizes[0])]).__name__
        return (
            f"<Front of {name}, k = {self.sizes[0]} to {self.sizes[-1]}: {int(self.optimal.sum())} of {len(self)} "
            f"proved optimal, suggested k = {self.suggest().k}>"
        )

    def _repr_html_(self) -> str:
        """Return a table with a small curve, for notebooks."""
        from certiclust.front.html import front_html

        return front_html(self)
