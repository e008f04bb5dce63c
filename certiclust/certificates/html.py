"""A certificate as HTML for notebooks: escaped, self-contained, in the colours of the page around it."""

from __future__ import annotations

from html import escape
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certiclust.certificates.certificate import Certificate


def certificate_html(certificate: Certificate) -> str:
    """Return what a certificate says: its lines, and a bar that shows how much of the cost is proved necessary."""
    first, *rest = (escape(line) for line in str(certificate).splitlines())
    share = 1.0 if certificate.cost == 0 else min(1.0, max(0.0, certificate.lower_bound / certificate.cost))
    gap = f"gap {certificate.gap:.3%}" if isfinite(certificate.gap) else "no gap known"
    told = f"lower bound {certificate.lower_bound:.8g} of cost {certificate.cost:.8g}, {gap}"
    bar = (
        f'<div role="img" aria-label="{told}" title="{told}" style="height:8px;max-width:30em;margin:4px 0;'
        'border:1px solid currentColor">'
        f'<div style="height:100%;width:{100 * share:.2f}%;background:currentColor;opacity:0.45"></div></div>'
    )
    lines = "".join(f"<div>{line}</div>" for line in rest)
    data = f"data {escape(certificate.data_sha256[:12])}&hellip;, metric {escape(certificate.metric)}"
    return (
        f'<div style="font-family:sans-serif;max-width:50em"><div><strong>{first}</strong></div>{bar}{lines}'
        f'<div style="opacity:0.7">{data}</div></div>'
    )
