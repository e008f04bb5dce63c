"""fit, sweep and verify: what they print, what they write, and how they exit."""

import csv
import json
import os
import signal
import subprocess
import sys
import warnings
from time import sleep

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from certiclust import Certificate, FairKMedian, KMeans, KMedian
from certiclust.cli import app

ROWS = np.random.default_rng(0).normal(size=(30, 3)).round(3) + np.repeat([[0, 0, 0], [9, 0, 0], [0, 9, 9]], 10, axis=0)
FILES = {"labels.csv", "centers.csv", "certificate.json", "summary.json", "report.html"}


def run(*arguments, code=0, **more):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **more)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    lines = [f"p{i},{','.join(map(repr, row))},{1 + i % 3}" for i, row in enumerate(ROWS.tolist())]
    path.write_text("\n".join(["name,a,b,c,w", *lines]) + "\n")
    return path


@pytest.fixture
def fitted(data, tmp_path):
    run("fit", data, "-k", 3, "--id", "name", "--columns", "a,b,c", "--out", tmp_path / "out", "-q")
    return tmp_path / "out"


def test_fit_writes_what_the_estimator_found(data, tmp_path):
    out = tmp_path / "out"
    result = run("fit", data, "-k", 3, "--id", "name", "--weights", "w", "--out", out)
    expected = KMedian(3, random_state=0).fit(ROWS, sample_weight=[1 + i % 3 for i in range(30)])
    lines = result.stdout.splitlines()
    assert lines[:3] == str(expected.certificate_).split("\n")
    assert lines[3] == "sizes of the clusters: 10, 10, 10."
    assert lines[-1] == str(out / "report.html")
    assert {p.name for p in out.iterdir()} == FILES
    labels = table(out / "labels.csv")
    assert [row["name"] for row in labels] == [f"p{i}" for i in range(30)]
    assert_array_equal([int(row["label"]) for row in labels], expected.labels_)
    centers = table(out / "centers.csv")
    assert [row["name"] for row in centers] == [f"p{i}" for i in expected.center_indices_]
    assert_array_equal([[float(row[c]) for c in "abc"] for row in centers], expected.cluster_centers_)
    assert Certificate.load(out / "certificate.json") == expected.certificate_
    summary = json.loads((out / "summary.json").read_text())
    assert summary["results"][0]["cost"] == expected.cost_
    assert summary["input"]["columns"] == ["a", "b", "c"]
    assert summary["scaling"] is None
    report = (out / "report.html").read_text()
    assert f"cost {expected.cost_:.8g}" in report
    assert oct(out.stat().st_mode & 0o777) == oct(0o777 & ~_umask())


def _umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_fit_without_out_writes_nothing(data, tmp_path):
    result = run("fit", data, "-k", 2, "--columns", "a,b")
    assert "optimal, proved" in result.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


def test_quiet_prints_nothing(data, tmp_path):
    result = run("fit", data, "-k", 2, "--columns", "a,b", "--quiet", "--out", tmp_path / "out")
    assert result.output == ""


def test_standard_input(data):
    from_file = run("fit", data, "-k", 3, "--columns", "a,b").stdout
    assert run("fit", "-", "-k", 3, "--columns", "a,b", input=data.read_bytes()).stdout == from_file


@pytest.mark.parametrize("problem", ["k-median", "k-means", "k-center", "k-tmm", "fair-k-median"])
def test_every_problem_round_trip(data, tmp_path, problem):
    out = tmp_path / "out"
    run("fit", data, "-p", problem, "-k", 3, "--id", "name", "--scale", "standard", "--out", out, "-q")
    result = run("verify", out / "certificate.json", data)
    lines = result.stdout.splitlines()
    assert lines[0] == f"{out / 'certificate.json'} holds:"
    said = [line.strip().split()[0] for line in lines[1:]]
    fairness = ["fairness:", "fair"] if problem == "fair-k-median" else []
    assert said == ["data:", "scaling:", "cost:", "lower", *fairness, "guarantee:", "so"]


def test_scaling_is_recorded_and_centres_are_in_units_of_the_file(data, tmp_path):
    out = tmp_path / "out"
    run("fit", data, "-k", 3, "-p", "k-means", "--columns", "a,b,c", "--scale", "standard", "--out", out, "-q")
    scaling = json.loads((out / "summary.json").read_text())["scaling"]
    mean, scale = ROWS.mean(axis=0), ROWS.std(axis=0)
    np.testing.assert_allclose(scaling["mean"], mean)
    np.testing.assert_allclose(scaling["scale"], scale)
    expected = KMeans(3, random_state=0).fit((ROWS - mean) / scale).cluster_centers_ * scale + mean
    found = [[float(row[c]) for c in "abc"] for row in table(out / "centers.csv")]
    np.testing.assert_allclose(found, expected)


def test_options_reach_the_estimator(data, tmp_path):
    out = tmp_path / "out"
    common = ["-k", 3, "--columns", "a,b", "--out", out, "-q", "--force"]
    run("fit", data, *common, "-p", "fair-k-median", "--beta", 2, "--mode", "proven", "--random-state", 7)
    parameters = json.loads((out / "summary.json").read_text())["parameters"]
    assert (parameters["beta"], parameters["mode"], parameters["random_state"]) == (2.0, "proven", 7)
    run("fit", data, *common, "--metric", "manhattan", "--algorithm", "gsemo", "--max-iter", 500, "--gap-tol", 0.1)
    parameters = json.loads((out / "summary.json").read_text())["parameters"]
    assert (parameters["metric"], parameters["algorithm"], parameters["max_iter"]) == ("manhattan", "gsemo", 500)
    assert parameters["gap_tol"] == 0.1
    run("fit", data, *common, "--centers", "continuous", "--epsilon", 0.7)
    run("fit", data, *common, "-p", "k-means", "--candidates", "midpoints")
    assert json.loads((out / "summary.json").read_text())["parameters"]["candidates"] == "midpoints"


def test_time_limit_is_a_warning_on_stderr(tmp_path):
    path = tmp_path / "data.npy"
    np.save(path, np.random.default_rng(0).normal(size=(2000, 2)))
    result = run("fit", path, "-k", 40, "--time-limit", 0.2, "-q", "--out", tmp_path / "out")
    assert result.stdout == ""
    assert result.stderr.startswith("certiclust: warning: stopped by time_limit=0.2 s after")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["warnings"]


def test_distances_from_a_file(tmp_path):
    """Clients x sites: sites are named after their columns, and every client has an id."""
    path = tmp_path / "costs.csv"
    path.write_text("client,Rome,Oslo,Bonn\nann,1,9,5\nbob,9,1,5\ncyd,8,2,5\n")
    out = tmp_path / "out"
    common = ["--metric", "precomputed", "--id", "client"]
    result = run("fit", path, "-k", 2, *common, "--out", out)
    assert "cost 4, optimal, proved" in result.stdout
    assert [(row["site"], row["size"]) for row in table(out / "centers.csv")] == [("Rome", "1"), ("Oslo", "2")]
    run("verify", out / "certificate.json", path)
    run("fit", path, "-k", 4, *common, code=2)


def test_orlib_and_tsplib(tmp_path):
    graph = tmp_path / "pmed.txt"
    graph.write_text("5 5 2\n1 2 4\n2 3 4\n3 4 4\n4 5 4\n5 1 100\n")
    assert "k = 2, n = 5: cost 12, optimal" in run("fit", graph).stdout  # p of the file
    assert "k = 1, n = 5: cost 24, optimal" in run("fit", graph, "-k", 1).stdout
    tsp = tmp_path / "t.tsp"
    tsp.write_text("DIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 1.5 2\n3 4 0\nEOF\n")
    out = tmp_path / "out"
    assert "cost 5," in run("fit", tsp, "-k", 1, "--rounding", "down", "--out", out).stdout
    run("verify", out / "certificate.json", tsp)  # the summary knows the rounding
    assert "cost 5.7015621," in run("fit", tsp, "-k", 1).stdout


def test_sweep(data, tmp_path):
    out = tmp_path / "out"
    result = run("sweep", data, "--id", "name", "--columns", "a,b,c", "--k-max", 5, "--out", out)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["k", "cost", "lower", "bound", "proved"]
    assert [line.split()[0] for line in lines[1:6]] == list("12345")
    assert lines[6].startswith("suggested: k = 3. ")
    assert lines[7] == str(out / "report.html")
    assert {p.name for p in out.iterdir()} == {
        "front.csv", "labels.csv", "centers.csv", "certificates", "summary.json", "report.html",
    }  # fmt: skip
    front = table(out / "front.csv")
    assert [row["k"] for row in front] == list("12345")
    for row in front:
        estimator = KMedian(int(row["k"]), random_state=0).fit(ROWS)
        assert float(row["cost"]) == pytest.approx(estimator.cost_)
        assert 0 < float(row["lower_bound"]) <= float(row["cost"])
        run("verify", out / "certificates" / f"k={row['k']}.json", data)
    labels = table(out / "labels.csv")
    assert list(labels[0]) == ["name", "k=1", "k=2", "k=3", "k=4", "k=5"]
    assert {row["k=1"] for row in labels} == {"0"}
    assert [row["k"] for row in table(out / "centers.csv")] == list("122333444455555")
    summary = json.loads((out / "summary.json").read_text())
    assert summary["suggestion"]["k"] == 3
    assert len(summary["results"]) == 5


def test_sweep_of_few_rows_ends_at_the_rows(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x\n1\n2\n4\n")
    assert len(run("sweep", path).stdout.splitlines()) == 5


# What is done to a stored certificate, and the word by which verify calls it.
TAMPERED = {
    "format": ("certiclust certificate 9", "format"),
    "problem": ("k-center", "cost"),
    "n_samples": (29, "rows"),
    "n_clusters": (2, "centers"),
    "cost": (1.0, "gap"),
    "lower_bound": (1.0, "gap"),
    "gap": (0.5, "gap"),
    "optimal": (False, "optimal"),
    "data_sha256": ("0" * 64, "data_sha256"),
    "metric": ("manhattan", "cost"),
    "method": ("luck", "method"),
    "note": ("trust me", "note"),
    "theory": ({"iterations": 5}, "theory"),
    "guarantee.ratio": (1.0, "guarantee"),
    "guarantee.theorem": ("k-median conjecture", "guarantee"),
    "guarantee.because": ("I say so", "guarantee"),
    "guarantee.fairness": (1e-3, "fair"),
    "guarantee": (None, "guarantee"),
    "witness.centers": ([0, 1, 2], "cost"),
    "witness.tree": ({}, "witness"),
    "witness": ({}, "witness"),
}


@pytest.mark.parametrize("field", TAMPERED)
def test_verify_rejects_every_tampered_field_by_name(fitted, data, field):
    value, name = TAMPERED[field]
    path = fitted / "certificate.json"
    content = json.loads(path.read_text())
    place, key = (content, field) if "." not in field else (content[field.split(".")[0]], field.split(".")[1])
    assert place[key] != value
    place[key] = value
    path.write_text(json.dumps(content))
    result = run("verify", path, data, code=1)
    assert result.stdout.startswith("REJECTED: ")
    assert result.stdout.count("\n") == 1
    assert name in result.stdout


@pytest.mark.parametrize("field", ["cost", "lower_bound"])
def test_verify_rejects_numbers_that_fit_each_other(fitted, data, field):
    """A forger who keeps the derived numbers consistent is caught by the data."""
    path = fitted / "certificate.json"
    content = json.loads(path.read_text())
    content[field] *= 0.9 if field == "cost" else 1.01
    content["gap"] = max(0.0, content["cost"] / content["lower_bound"] - 1.0)
    content["optimal"] = content["lower_bound"] >= content["cost"] * (1 - 1e-9)
    path.write_text(json.dumps(content))
    assert f"REJECTED: {field}: " in run("verify", path, data, code=1).stdout


def test_verify_rejects_other_data(fitted, data, tmp_path):
    text = data.read_text()
    other = tmp_path / "other.csv"
    for changed, said in (
        (text.replace("p0,", "q0,"), None),  # a name is no number
        (text.replace("\np29,", "\np29,1"), "data: X, sample_weight or candidates are not those"),
        (text.rsplit("\n", 2)[0] + "\n", "data: X has 29 rows, the certificate is about 30"),
    ):
        other.write_text(changed)
        result = run("verify", fitted / "certificate.json", other, code=0 if said is None else 1)
        assert said is None or result.stdout.startswith(f"REJECTED: {said}")


def test_verify_rejects_another_scaling(data, tmp_path):
    out = tmp_path / "out"
    run("fit", data, "-k", 3, "--columns", "a,b,c", "--scale", "standard", "--out", out, "-q")
    path = out / "summary.json"
    good = json.loads(path.read_text())
    for scaling, said in (
        ({"mean": [0, 0, 0], "scale": [1, 1, 1]}, "are not those of the data"),
        ({"mean": [0, 0], "scale": [1, 1]}, "has 2 columns, the data 3"),
        ({"mean": "x"}, "does not hold means and scales"),
        (None, "data_sha256"),
    ):
        path.write_text(json.dumps({**good, "scaling": scaling}))
        assert said in run("verify", out / "certificate.json", data, code=1).stdout
    path.unlink()  # then the options say how to read
    run("verify", out / "certificate.json", data, "--columns", "a,b,c", code=1)
    run("verify", out / "certificate.json", data, "--columns", "a,b,c", "--scale", "standard")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"{}", "no 'format'"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 9999, "not JSON"),
    ],
    ids=["empty", "list", "object", "bytes", "deep"],
)
def test_what_is_no_certificate_is_bad_input(data, tmp_path, content, said):
    path = tmp_path / "c.json"
    path.write_bytes(content)
    result = run("verify", path, data, "--columns", "a", code=2)
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_verify_names_missing_files(data, tmp_path):
    assert "no such file" in run("verify", tmp_path / "no.json", data, code=2).stderr
    assert "is a directory" in run("verify", tmp_path, data, code=2).stderr


def test_a_summary_of_another_run_is_not_used(fitted, data, tmp_path):
    """It has to name the certificate; else the options say how to read."""
    copy = tmp_path / "out" / "other.json"
    copy.write_bytes((fitted / "certificate.json").read_bytes())
    assert "column 'name' holds text" in run("verify", copy, data, code=2).stderr
    run("verify", copy, data, "--columns", "a,b,c")


def test_a_summary_from_a_stranger_is_taken_with_care(fitted, data):
    path = fitted / "summary.json"
    good = json.loads(path.read_text())
    for wrong in ({"input": 5}, {"input": {"reading": {"columns": 5, "id": 7, "header": "x"}}}, {"results": [5, {}]}):
        path.write_text(json.dumps({**good, **wrong}))
        run("verify", fitted / "certificate.json", data, "--columns", "a,b,c")


def test_ctrl_c_writes_the_best_so_far(tmp_path):
    path = tmp_path / "data.npy"
    np.save(path, np.random.default_rng(0).normal(size=(3000, 2)))
    code = "from certiclust.cli import app; app()"
    command = [sys.executable, "-c", code, "fit", path, "-k", "60", "--out", tmp_path / "out"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stderr.readline()  # the search has begun
        sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert "warning: interrupted after" in err
    assert out.splitlines()[-1] == str(tmp_path / "out" / "report.html")
    assert {p.name for p in (tmp_path / "out").iterdir()} >= FILES


def test_completion():
    code = "from certiclust.cli import app; app(prog_name='certiclust')"
    asked = {"_CERTICLUST_COMPLETE": "complete_bash", "COMP_WORDS": "certiclust s", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["sweep"]


def test_verify_says_that_nothing_is_fairer(tmp_path):
    """Two far squares, k = 3: no set is 1.2-fair, and the certificate of the relaxed answer says so."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    rows = np.concatenate([square, square + 100.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = FairKMedian(3, beta=1.2, mode="strict", on_infeasible="relax", random_state=0).fit(rows)
    np.save(tmp_path / "rows.npy", rows)
    found.certificate_.save(tmp_path / "certificate.json")
    said = run("verify", tmp_path / "certificate.json", tmp_path / "rows.npy").stdout
    assert "fairness: everyone has a centre within 1.41421 fair radii" in said
    assert "fair lower bound: no fair set costs less than" in said
    assert "infeasible: no set is 1.2-fair, by a branch tree over covers." in said
