"""Every command line in README.md and docs/ is run, and where its output is shown, it is what comes out."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certiclust.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page):
    """Return the lines of code blocks that call certiclust, each with the output that is shown under it, if any.

    A line that begins with a dollar is followed by its output.
    """
    found = []
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        shown = None
        for line in block.splitlines() if kind != "python" else []:
            if line.startswith(("$ certiclust ", "certiclust ")):
                shown = [] if line.startswith("$") else None
                found.append((line.removeprefix("$ "), shown))
            elif shown is not None:
                shown.append(line)
    return found


WITH_COMMANDS = [page for page in PAGES if commands(page)]


def test_there_are_commands():
    assert {page.name for page in WITH_COMMANDS} >= {"README.md", "cli.md", "report.md"}
    assert sum(len(commands(page)) for page in PAGES) > 12


def steady(lines):
    """What does not depend on how the search went: effort and reasons are left out."""
    cut = [re.sub(r"^(suggested: k = \d+\.).*", r"\1", line.rstrip()) for line in lines]
    return [line for line in cut if line and not line.startswith("found by")]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_documented_commands(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs" / "data", tmp_path / "docs" / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for line, shown in commands(page):
        words, given = shlex.split(line)[1:], None
        if "<" in words:
            given = Path(words[-1]).read_bytes()
            words = words[:-2]
        result = CliRunner().invoke(app, words, input=given)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        if shown is not None:
            assert steady(result.stdout.splitlines()) == steady(shown), line


def test_shown_output_is_compared(tmp_path):
    """The collector keeps output apart from commands."""
    page = tmp_path / "page.md"
    page.write_text("```\n$ certiclust a\none\ntwo\n$ certiclust b\nthree\n```\n```python\ncerticlust c\n```\n")
    assert commands(page) == [("certiclust a", ["one", "two"]), ("certiclust b", ["three"])]
    assert steady(["found by luck", "suggested: k = 3. Because."]) == ["suggested: k = 3."]


def test_python_in_the_report_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = [block for kind, block in BLOCK.findall((ROOT / "docs" / "report.md").read_text()) if kind == "python"]
    assert len(blocks) == 1
    exec(compile(blocks[0], "report.md", "exec"), {})
    assert "iris: k-median" in (tmp_path / "report.html").read_text(encoding="utf-8")
