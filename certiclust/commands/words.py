"""What fit and sweep print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from certiclust.report.content import verdict

if TYPE_CHECKING:
    from certiclust.commands.run import Run

#: Clusters whose sizes are printed.
MAX_SIZES = 20


def tell_fit(run: Run) -> list[str]:
    """Return the certificate and the sizes of the clusters."""
    k = int(run.front.sizes[0])
    certificate = run.front.certificate(k)
    counts = np.bincount(run.front.labels(k), minlength=k).tolist()
    shown = ", ".join(map(str, counts[:MAX_SIZES])) + (", ..." if k > MAX_SIZES else "")
    lines = [] if certificate is None else str(certificate).split("\n")
    return [*lines, f"sizes of the clusters: {shown}."]


def tell_sweep(run: Run) -> list[str]:
    """Return a table of all sizes, and which one is suggested."""
    front = run.front
    rows = [("k", "cost", "lower bound", "proved")]
    for i, k in enumerate(front.sizes.tolist()):
        rows.append((str(k), f"{front.costs[i]:.8g}", f"{front.lower_bounds[i]:.8g}", verdict(front, i)))
    widths = [max(len(row[j]) for row in rows) for j in range(3)]
    lines = ["  ".join([*(cell.rjust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows]
    suggestion = front.suggest()
    return [*lines, f"suggested: k = {suggestion.k}. {suggestion.reason}"]
