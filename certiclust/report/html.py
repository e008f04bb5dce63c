"""The report: one file that opens from the disk, asks nothing of the network, and moves along the front.

Everything that comes from data reaches the page in one of two ways: as JSON in a script element, where every ``<`` is
written as an escape so that no element can end early, and from there only as text nodes; or escaped by `html.escape`.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from certiclust.front import Front
from certiclust.report.content import content

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def report_html(
    front: Front,
    X: Any,
    *,
    title: str = "",
    columns: list[str] | None = None,
    ids: list[str] | None = None,
    id_name: str = "row",
    sample_weight: Any = None,
    scaling: tuple[Any, Any] | None = None,
    facts: dict[str, str] | None = None,
) -> str:
    """Return a page about a front.

    Parameters
    ----------
    front : Front
        The clusterings; ``Front([estimator])`` for a single one.
    X : array-like
        What they were fitted on.
    title : str
        Name of the data.
    columns, ids : list of str or None
        Names of the columns and of the rows.
    id_name : str
        What the names of rows are called.
    sample_weight : array-like or None
        The weights used in fit.
    scaling : tuple of array-like or None
        What was subtracted from every column, and what it was divided by then.
    facts : dict or None
        More to say about the data and the run, shown at the end.
    """
    X = np.asarray(X, dtype=np.float64)
    shown = content(
        front,
        X,
        columns=columns or [f"x{j + 1}" for j in range(X.shape[1])],
        ids=ids,
        id_name=id_name,
        weights=None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64),
        scaling=None if scaling is None else (np.asarray(scaling[0]), np.asarray(scaling[1])),
    )
    shown["title"] = title or "data"
    shown["facts"] = [[key, value] for key, value in (facts or {}).items()]
    page = files("certiclust.report") / "page"
    parts = {
        "TITLE": escape(f"{shown['title']}: {shown['problem']}"),
        "STYLE": (page / "report.css").read_text(encoding="utf-8"),
        "SCRIPT": (page / "report.js").read_text(encoding="utf-8"),
        "TABLE": _plain_table(shown),
        "DATA": script_json(shown),
    }
    text = (page / "report.html").read_text(encoding="utf-8")
    for name in ("STYLE", "SCRIPT", "TITLE", "TABLE", "DATA"):  # data last: nothing in it is looked at again
        head, tail = text.split(f"<!--{name}-->", 1)
        text = head + parts[name] + tail
    return text


def script_json(value: Any) -> str:
    r"""Return JSON that cannot end the script element it stands in.

    Examples
    --------
    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, written in _ESCAPES.items():
        text = text.replace(character, written)
    return text


def _plain_table(shown: dict[str, Any]) -> str:
    """Return the front as a table, for those who read without scripts."""
    rows = "".join(
        f"<tr><td>{size['k']}</td><td>{size['cost']:.8g}</td><td>{size['lower']:.8g}</td>"
        f"<td>{escape(size['verdict'])}</td></tr>"
        for size in shown["sizes"]
    )
    return f"<table><tr><th>k</th><th>cost</th><th>lower bound</th><th>proved</th></tr>{rows}</table>"
