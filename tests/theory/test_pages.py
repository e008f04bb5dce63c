"""The pages about theory: their Python runs, and every figure in them is read from a table."""

import importlib.util
import re
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")
DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.parametrize("page", ["theorems.md", "theory.md"])
def test_python_in_the_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], page, "exec"), {})


def test_every_figure_of_the_page_comes_from_a_table():
    spec = importlib.util.spec_from_file_location("measured", DOCS / "measured.py")
    measured = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(measured)
    words = measured.substitutions()
    named = set(re.findall(r"{{ (\w+) }}", (DOCS / "theory.md").read_text(encoding="utf-8")))
    assert named <= set(words)
    assert len(named) > 40
    for name in ("kcenter", "ktmm", "kmedian", "kmeans", "fair"):
        assert words[f"{name}_passed"] == words[f"{name}_cells"]  # the page says so of every cell that there is
