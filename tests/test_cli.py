"""The command line: what it prints and how it exits."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certiclust import Certificate, __version__
from certiclust.cli import app
from certiclust.demo import run_demo

FIVE = ["k-means", "fair k-median", "k-tMM", "k-center", "k-median"]
COLUMNS = ["problem", "data", "k", "cost", "certified ratio", "iterations", "iterations/s", "seconds"]


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def check_demo(text):
    """Check the table and return the path of the certificate that was saved."""
    head = next(line for line in text.split("\n") if "problem" in line and "seconds" in line)
    assert [cell.strip() for cell in re.split("[┃│|]", head) if cell.strip()] == COLUMNS
    lines = [[cell.strip() for cell in re.split("[┃│|]", line)][1:-1] for line in text.split("\n") if "│" in line]
    assert [line[0] for line in lines] == FIVE
    for line in lines:
        assert len(line) == len(COLUMNS)
        assert line[1] in ("iris", "wine")
        assert int(line[2]) > 1
        assert float(line[3]) > 0
        assert 1 <= float(line[4]) < 100  # every one of the five has a certified ratio
        assert int(line[5].replace(",", "")) > 0
        assert int(line[6].replace(",", "")) > 0
        assert 0 < float(line[7]) < 60
    found = re.search(r"saved to (\S+\.json), loaded again and verified:\n(.*\n.*\n.*)\n", text)
    assert found
    certificate = Certificate.load(found[1])
    assert str(certificate) == found[2]
    assert certificate.guarantee is not None
    report = Path(text.splitlines()[-1])
    assert report.parent == Path(found[1]).parent
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    return Path(found[1])


@pytest.fixture(autouse=True)
def _temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_demo(tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert tmp_path in check_demo(result.stdout).parents


def test_demo_verifies_what_it_shows(monkeypatch):
    """A certificate that does not hold stops the demo."""

    def refuse(self, *args, **kwargs):
        raise ValueError("it does not hold")

    monkeypatch.setattr(Certificate, "verify", refuse)
    with pytest.raises(ValueError, match="it does not hold"):
        run_demo()


def test_demo_as_a_real_process():
    command = Path(sys.executable).with_name("certiclust")
    done = subprocess.run([command, "demo"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    check_demo(done.stdout)
    assert done.stderr == ""


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"certiclust {__version__}\n"
    assert version("certiclust") == __version__


def test_help():
    result = run("--help")
    assert result.exit_code == 0
    assert "Clustering that comes with a proof." in result.stdout
    for command in ("demo", "fit", "sweep", "verify"):
        assert command in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [["dance"], ["demo", "twice"], ["--loud"], ["sweep", "x.csv", "--k-max=many"], ["fit", "-k"]],
    ids=str,
)
def test_bad_usage_is_one_line(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert arguments[-1].split("=")[0] in result.stderr
    assert result.stderr.startswith("certiclust: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "x.csv", "-k", "0"], "-k must be a whole number, at least 1; got 0."),
        (["fit", "x.csv", "--n-clusters=2.5"], "-k must be a whole number, at least 1; got 2.5."),
        (["sweep", "x.csv", "--k-max=many"], "--k-max must be a whole number, at least 1; got many."),
        (["sweep", "x.csv", "--k-min", "-1"], "--k-min must be a whole number, at least 1; got -1."),
        (["fit", "x.csv", "-k", "2", "--random-state", "x"], "--random-state must be a whole number; got x."),
        (["fit", "x.csv", "-k", "2", "--gap-tol", "small"], "--gap-tol must be a number; got small."),
        (["fit", "x.csv", "-k", "2", "--time-limit", "1s"], "--time-limit must be a number; got 1s."),
        (["theory", "-n", "4"], "-n must be a whole number, at least 5; got 4."),
    ],
    ids=str,
)
def test_a_bad_number_is_named_with_its_limit(arguments, sentence):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == f"certiclust: {sentence}\n"


def test_a_bad_choice_is_named_with_the_others():
    result = run("fit", "x.csv", "-k", "2", "--algorithm", "magic")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "certiclust: Invalid value for '--algorithm': 'magic' is not one of 'auto', 'gsemo'"
    )
