"""The curve of costs against the number of clusters, with the band that the lower bounds leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from certiclust.figures import axes_for

if TYPE_CHECKING:
    from certiclust.front.front import Front


class FrontDisplay:
    """Costs and lower bounds against k.

    Parameters
    ----------
    sizes, costs, lower_bounds : array-like
        As in a `Front`.
    suggested : int or None
        A size to mark.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn last.
    """

    def __init__(
        self, sizes: ArrayLike, costs: ArrayLike, lower_bounds: ArrayLike, *, suggested: int | None = None
    ) -> None:
        self.sizes, self.costs, self.lower_bounds = np.asarray(sizes), np.asarray(costs), np.asarray(lower_bounds)
        self.suggested = suggested

    @classmethod
    def from_front(cls, front: Front, *, ax: Any = None) -> FrontDisplay:
        """Draw a front, with its suggestion marked."""
        return cls(front.sizes, front.costs, front.lower_bounds, suggested=front.suggest().k).plot(ax=ax)

    def plot(self, ax: Any = None) -> FrontDisplay:
        """Draw into the axes given, or into a new figure."""
        ax = axes_for(ax)
        (line,) = ax.plot(self.sizes, self.costs, marker="o", markersize=4, label="cost")
        color = line.get_color()
        ax.fill_between(self.sizes, self.lower_bounds, self.costs, color=color, alpha=0.25, linewidth=0)
        ax.plot(self.sizes, self.lower_bounds, linestyle="--", linewidth=1, color=color, label="lower bound")
        if self.suggested is not None:
            label = f"suggested: k = {self.suggested}"
            ax.axvline(self.suggested, color="0.5", linestyle=":", linewidth=1, label=label)
        ax.set(xlabel="number of clusters k", ylabel="cost", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
