"""certiclust theory: the table, the files, and what cannot be used."""

import csv
import json

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

from certiclust.cli import app
from certiclust.commands.theory import EVENTS, INSTANCES, run_theory
from certiclust.theory import iteration_bound, points, pose

mpl.use("Agg")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["theory", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_every_theorem_is_measured_and_written(tmp_path):
    out = tmp_path / "out"
    result = run("-n", 24, "-k", 3, "--runs", 4, "--seed", 5, "--out", out)
    assert {path.name for path in out.iterdir()} == {"theory.csv", "theory.png", "summary.json"}
    assert json.loads((out / "summary.json").read_text())["command"] == "certiclust theory -n 24 -k 3 --runs 4 --seed 5"
    assert (out / "theory.png").read_bytes().startswith(b"\x89PNG")
    with (out / "theory.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [(i, name, len(events)) for i in INSTANCES for name, events in EVENTS.items()]
    assert [(r["instance"], r["problem"]) for r in rows] == [
        (i, name) for i, name, count in expected for _ in range(count)
    ]
    for row in rows:
        assert (row["n"], row["k"], row["runs"], row["failures"]) == ("24", "3", "4", "0")
        assert float(row["ratio"]) == pytest.approx(float(row["mean"]) / float(row["bound"]))
    bound = iteration_bound(pose("k-center", points("blobs", 24, 5), 3)).iterations
    assert float(rows[0]["bound"]) == bound
    lines = result.stdout.splitlines()
    assert lines[-1] == str(out / "theory.csv")
    assert "n = 24, k = 3, 4 runs each" in result.stdout
    for _, name, _ in expected:
        assert name in result.stdout
    again = run_theory(24, 3, 4, 5)
    assert [str(item.times.mean.value) for item in again] == [row["mean"] for row in rows]


def test_bad_input_is_one_line(tmp_path):
    for arguments, sentence in (
        (("-n", 20, "-k", 10), "-k must be at least 2 and less than half of -n 20; got 10."),
        (("--out", tmp_path / "no" / "where"), f"there is no directory {tmp_path / 'no'}."),
    ):
        result = run(*arguments, code=2)
        assert result.stdout == ""
        assert " ".join(result.stderr.split()).endswith(sentence)
    assert run("--runs", 1, code=2).stderr == "certiclust: --runs must be a whole number, at least 2; got 1.\n"
