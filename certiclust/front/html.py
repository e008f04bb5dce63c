"""A front as HTML: a small curve and a table, self-contained, in the colours of the page around it."""

from __future__ import annotations

from html import escape
from math import isinf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certiclust.front.front import Front

#: Width and height of the curve, and the margin around it.
WIDTH, HEIGHT, EDGE = 420, 140, 6
CELL = 'style="text-align:right;padding:2px 10px;border:0"'


def front_html(front: Front) -> str:
    """Return the curve of a front, its suggestion, and its table."""
    suggestion = front.suggest()
    rows = []
    for k, cost, lower, gap, optimal in zip(
        front.sizes, front.costs, front.lower_bounds, front.gaps, front.optimal, strict=True
    ):
        proved = "optimal" if optimal else ("&infin;" if isinf(gap) else f"{gap:.2%}")
        mark = ";font-weight:bold;outline:1px solid currentColor" if k == suggestion.k else ""
        cells = "".join(f"<td {CELL}>{text}</td>" for text in (str(k), f"{cost:.8g}", f"{lower:.8g}", proved))
        rows.append(f'<tr style="background:none{mark}">{cells}</tr>')
    head = "".join(f"<th {CELL}>{text}</th>" for text in ("k", "cost", "lower bound", "gap"))
    return (
        '<div style="font-family:sans-serif;max-width:40em">'
        f"{_curve(front, suggestion.k)}<p>{escape(suggestion.reason)}</p>"
        '<div style="max-height:20em;overflow:auto"><table style="border-collapse:collapse">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></div>"
    )


def _curve(front: Front, suggested: int) -> str:
    """Return costs and lower bounds as an SVG picture."""
    top, first, last = float(front.costs.max()) or 1.0, int(front.sizes[0]), int(front.sizes[-1])

    def place(k: int, value: float) -> str:
        x = EDGE + (WIDTH - 2 * EDGE) * (k - first) / max(1, last - first)
        y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value / top
        return f"{x:.1f},{y:.1f}"

    sizes = front.sizes.tolist()
    upper = [place(k, value) for k, value in zip(sizes, front.costs.tolist(), strict=True)]
    lower = [place(k, value) for k, value in zip(sizes, front.lower_bounds.tolist(), strict=True)]
    x = place(suggested, 0.0).split(",")[0]
    title = f"cost and lower bound, k = {first} to {last}; k = {suggested} suggested"
    return (
        f'<svg role="img" aria-label="{title}" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'style="max-width:100%"><title>{title}</title>'
        f'<polygon points="{" ".join(upper + lower[::-1])}" fill="currentColor" fill-opacity="0.2"/>'
        f'<line x1="{x}" x2="{x}" y1="0" y2="{HEIGHT}" stroke="currentColor" stroke-opacity="0.5" '
        'stroke-dasharray="3 3"/>'
        f'<polyline points="{" ".join(upper)}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )
