"""matplotlib, imported when a figure is drawn and not before."""

from __future__ import annotations

from typing import Any


def axes_for(ax: Any) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "certiclust[plot]".') from error
    return plt.subplots(layout="constrained")[1]
