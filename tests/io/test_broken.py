"""Files that cannot be used: one clear line, exit code 2, and nothing left behind."""

import gzip
import io
import os
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from certiclust.cli import app

pyarrow = pytest.importorskip("pyarrow")


def run(*arguments, **more):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **more)


def check_refused(result, tmp_path, before, *said):
    """One line on stderr that says it, no traceback, exit 2, and the directory as it was."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("certiclust: ")
    assert result.stderr.endswith(".\n")
    assert "Traceback" not in result.stderr
    for words in said:
        assert words in result.stderr, result.stderr
    assert sorted(tmp_path.iterdir()) == before


def npy(array, **more):
    buffer = io.BytesIO()
    np.save(buffer, array, **more)
    return buffer.getvalue()


def parquet(**columns):
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


GRID = np.arange(40.0).reshape(20, 2)
PARQUET = parquet(x=list(range(50)), y=[0.5] * 50)
ORLIB = "4 3 2\n1 2 5\n2 3 5\n3 4 5\n"
TSP = "NAME : t\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 1 0\n3 5 0\nEOF\n"
EXPLICIT = "DIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : UPPER_ROW\nEDGE_WEIGHT_SECTION\n"

# name of the file, its content, options, what the line says besides the file's name
BROKEN = [
    ("empty.csv", b"", [], "is empty"),
    ("blank.csv", b"\n \n\n", [], "is empty"),
    ("empty.csv.gz", gzip.compress(b""), [], "is empty"),
    ("header_only.csv", b"x,y\n", [], "has a header but no rows"),
    ("ragged.csv", b"x,y\n1,2\n3\n5,6\n", [], "line 3: 1 cells, but the first line has 2"),
    ("long.csv", b"x,y\n1,2\n3,4,5\n", [], "line 3: 3 cells, but the first line has 2"),
    ("nan.csv", b"x,y\n1,2\nNaN,4\n", [], "line 3, column 'x': the value is missing (NaN)"),
    ("hole.csv", b"x,y\n1,2\n3,\n", [], "line 3, column 'y': the value is missing"),
    ("text.csv", b"x,name\n1,ann\n2,bob\n", [], "column 'name' holds text, 'ann' in line 2; choose with --columns x"),
    ("texts.csv", b"x,a,b\n1,p,q\n2,p,q\n", [], "column 'a' holds text, 'p' in line 2 (others too: b)"),
    ("all_text.csv", b"a,b\np,q\n", [], "column 'a' holds text"),
    ("typo.csv", b"x,y\n1,2\n3,4o\n", [], "column 'y' holds text, '4o' in line 3"),
    ("under_score.csv", b"x,y\n1,2\n3,1_000\n", [], "column 'y' holds text, '1_000' in line 3"),
    ("mixed.csv", b"x,y\n1,2\n3;4\n5,6\n", [], "line 3: 1 cells", "semicolons where the others have commas"),
    ("comma.csv", b"x;y\n1,5;2,5\n3,5;4,5\n", [], "'1,5' in line 2 (a decimal comma? then pass --decimal ,)"),
    ("both.csv", b"x;y\n1,5;2\n1.500;4\n", ["--decimal", ","], "column 'x' holds text, '1.500' in line 3"),
    ("latin.csv", "x,größe\n1,2\n3,4\n".encode("latin-1"), [], "line 1: byte 0xf6 is not UTF-8", "--encoding latin-1"),
    ("ascii.csv", "x,größe\n1,2\n".encode(), ["--encoding", "ascii"], "is not ascii"),
    ("code.csv", b"x,y\n1,2\n3,4\n", ["--encoding", "klingon"], "encoding 'klingon' is not known"),
    ("huge.csv", b"x,y\n1,2\n1e999,4\n", [], "line 3, column 'x': '1e999' is not a finite number"),
    ("infinite.csv", b"x,y\n1,2\n-inf,4\n", [], "line 3, column 'x': '-inf' is not a finite number"),
    ("large.csv", b"x,y\n1e200,2\n-1e200,4\n3,3\n", [], "overflow"),
    ("one.csv", b"x,y\n1,2\n", [], "has one row"),
    ("twice.csv", b"id,x\na,1\nb,2\na,3\n", ["--id", "id"], "the id 'a' is in lines 2 and 4"),
    ("names.csv", b"x,x\n1,2\n3,4\n", [], "columns 1 and 2 have the same name, 'x'"),
    ("index.csv", b",x,y\n0,1,2\n1,3,4\n", [], "column 1 has no name", "--columns x,y"),
    ("which.csv", b"x,y\n1,2\n3,4\n", ["--columns", "z"], "--columns names 'z', but the columns are x, y"),
    ("again.csv", b"x,y\n1,2\n3,4\n", ["--columns", "x,x"], "--columns names a column twice"),
    ("whose.csv", b"x,y\n1,2\n3,4\n", ["--id", "name"], "--id names 'name'"),
    ("only_id.csv", b"x\n1\n3\n", ["--id", "x"], "no column of numbers"),
    ("heavy.csv", b"x,w\n1,1\n3,-2\n", ["--weights", "w"], "line 3, column 'w': the weight -2 is negative"),
    ("heavier.csv", b"x,w\n1,1\n3,much\n", ["--weights", "w"], "'much' in line 3; weights are numbers"),
    ("weightless.csv", b"x,w\n1,0\n3,0\n", ["--weights", "w"], "0 rows of positive weight"),
    ("quote.csv", b'x,y\n1,"2\n3,4\n', [], "line 3: the quotes do not match"),
    ("sign.csv", b"x,y\n1,2\n3,4\n", ["--delimiter", ",,"], "--delimiter must be one character"),
    ("cut.npy", npy(GRID)[:-7], [], "is cut short: 320 bytes of numbers expected, 313 there"),
    ("cut_head.npy", npy(GRID)[:30], [], "the .npy header is damaged or cut short"),
    ("more.npy", npy(GRID) + b"1234", [], "is longer than its header says"),
    ("no_magic.npy", b"1,2\n3,4\n", [], "the .npy header is damaged"),
    ("objects.npy", npy(np.array([[1, "a"]], dtype=object), allow_pickle=True), [], "holds Python objects", "pickle"),
    ("words.npy", npy(np.array([["a", "b"]])), [], "not real numbers"),
    ("flat.npy", npy(np.arange(5.0)), [], "must be two-dimensional", "(5,)"),
    ("nan.npy", npy(np.array([[1.0, 2.0], [np.nan, 1.0]])), [], "row 1, column 'x1': the value is missing"),
    ("inf.npy", npy(np.array([[1.0, 2.0], [3.0, np.inf]])), [], "row 1, column 'x2': the value is infinite"),
    ("archive.npz", b"PK\x03\x04 and so on", [], "is a zip archive"),
    ("cut.parquet", PARQUET[:-20], [], "the Parquet file is damaged or cut short"),
    ("cut_more.parquet", PARQUET[:40], [], "the Parquet file is damaged or cut short"),
    ("null.parquet", parquet(x=[1.0, None, 3.0]), [], "row 1, column 'x': the value is missing"),
    ("names.parquet", parquet(x=[1.0, 2.0], n=["a", "b"]), [], "column 'n' holds text, 'a' in row 0"),
    ("no_rows.parquet", parquet(x=pyarrow.array([], pyarrow.float64())), [], "has 0 rows"),
    ("fewer.txt", ORLIB.replace("3 4 5\n", "").encode(), [], "says 3 edges, but 2 follow", "--format table"),
    ("more.txt", f"{ORLIB}1 4 9\n".encode(), ["--format", "orlib"], "says 3 edges, but 4 follow"),
    ("p.txt", ORLIB.replace("4 3 2", "4 3 5").encode(), ["--format", "orlib"], "n = 4 and p = 5"),
    (
        "vertex.txt",
        ORLIB.replace("3 4 5", "3 7 5").encode(),
        ["--format", "orlib"],
        "line 4: vertex 7 is not from 1 to 4",
    ),
    ("apart.txt", b"4 2 2\n1 2 5\n3 4 5\n", [], "not connected", "vertex 3"),
    (
        "word.txt",
        ORLIB.replace("2 3 5", "2 3 x").encode(),
        ["--format", "orlib"],
        "line 3",
        "two vertices and a length",
    ),
    ("vast.txt", b"99999 1 2\n1 2 5\n", [], "above the", "that may be held in memory"),
    ("columns.txt", ORLIB.encode(), ["--columns", "a"], "has no columns to choose"),
    ("squares.txt", ORLIB.encode(), ["--problem", "k-means"], "holds distances; k-means needs points"),
    ("metric.txt", ORLIB.encode(), ["--metric", "manhattan"], "holds distances; --metric manhattan needs points"),
    ("scale.txt", ORLIB.encode(), ["--scale", "standard"], "--scale is for columns"),
    ("short.tsp", TSP.replace("3 5 0\n", "").encode(), [], "DIMENSION says 3 nodes, but 2 follow"),
    ("kind.tsp", TSP.replace("EUC_2D", "GEO").encode(), [], "EDGE_WEIGHT_TYPE GEO is not read"),
    ("none.tsp", b"NAME : t\n", [], "no NODE_COORD_SECTION"),
    ("size.tsp", TSP.replace("DIMENSION : 3\n", "").encode(), [], "needs a line 'DIMENSION : n'"),
    ("twice.tsp", TSP.replace("3 5 0", "2 5 0").encode(), [], "line 7: node 2 is there twice"),
    ("word.tsp", TSP.replace("3 5 0", "3 5 x").encode(), [], "line 7: a node has a number and 2 finite coordinates"),
    ("explicit.tsp", f"{EXPLICIT}1 2\n".encode(), [], "UPPER_ROW of DIMENSION 3 has 3 distances, but 2 follow"),
    ("rounded.csv", b"x,y\n1,2\n3,4\n", ["--rounding", "down"], "--rounding is for TSPLIB"),
    ("junk.csv", bytes(range(256)) * 8, [], "is binary"),
    ("junk", np.random.default_rng(0).bytes(5000), [], "is binary"),
    ("cut.csv.gz", gzip.compress(b"x,y\n1,2\n3,4\n")[:-6], [], "the gzip file is damaged or cut short"),
    ("bad.csv.gz", gzip.compress(b"x,y\n1,2\n3,4\n")[:12] + b"\0" * 30, [], "the gzip file is damaged"),
    ("few.csv", b"x,y\n1,2\n3,4\n", ["-k", "3"], "-k 3 is more than the 2 rows of"),
    ("square.csv", b"a,b\n0,1\n2,0\n1,1\n", ["--metric", "precomputed", "-p", "k-center"], "must be square; got 3 x 2"),
    ("negative.csv", b"a,b\n0,-1\n-1,0\n", ["--metric", "precomputed"], "Negative"),
    ("distance.csv", b"x,y\n1,2\n3,4\n", ["--metric", "smell"], "The 'metric' parameter of KMedian must be"),
    ("fair.csv", b"x,y\n1,2\n3,4\n", ["-p", "fair-k-median", "--beta", "0.5"], "The 'beta' parameter"),
    ("beta.csv", b"x,y\n1,2\n3,4\n", ["--beta", "2"], "--beta is not for k-median"),
    ("count.csv", b"x,y\n1,2\n3,4\n", ["--max-iter", "many"], "--max-iter must be a whole number or theorem"),
]


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [(n, c, o, s) for n, c, o, *s in BROKEN],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_broken_files_give_one_line_and_leave_nothing(tmp_path, name, content, options, said):
    path = tmp_path / name
    path.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    asked = [] if "-k" in options else ["-k", "1"]
    result = run("fit", path, *asked, *options, "--out", tmp_path / "out")
    check_refused(result, tmp_path, before, *said)
    if not options or options[0] not in (
        "--scale",
        "--max-iter",
        "--delimiter",
        "--beta",
        "--columns",
        "-p",
        "--metric",
        "--encoding",
    ):
        assert name in result.stderr or "overflow" in result.stderr


def test_sweep_and_verify_refuse_alike(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_bytes(b"x,y\n1,2\n3\n")
    good = tmp_path / "good.csv"
    good.write_bytes(b"x,y\n1,2\n3,4\n")
    (tmp_path / "certificate.json").write_text('{"format": "certiclust certificate 1"}')
    before = sorted(tmp_path.iterdir())
    check_refused(run("sweep", path, "--out", tmp_path / "out"), tmp_path, before, "line 3")
    check_refused(run("verify", tmp_path / "certificate.json", path), tmp_path, before, "line 3")
    check_refused(
        run("sweep", good, "--k-max", 3, "--out", tmp_path / "out"),
        tmp_path,
        before,
        "--k-max 3 is more than the 2 rows",
    )
    check_refused(run("sweep", good, "--k-max", 1, "--k-min", 2), tmp_path, before, "--k-min 2 is more than --k-max 1")
    check_refused(run("fit", good), tmp_path, before, "does not say how many clusters; pass -k")


def test_files_that_are_none(tmp_path, monkeypatch):
    before = sorted(tmp_path.iterdir())
    check_refused(run("fit", tmp_path / "no.csv", "-k", 2), tmp_path, before, "no.csv: there is no such file")
    check_refused(run("fit", tmp_path, "-k", 2), tmp_path, before, "is a directory")
    check_refused(run("fit", "-", "-k", 2, input=""), tmp_path, before, "standard input is empty")
    check_refused(run("fit", "no\0name", "-k", 2), tmp_path, before, "cannot be read")
    if sys.platform == "linux":
        check_refused(run("fit", "/proc/self/mem", "-k", 2), tmp_path, before, "/proc/self/mem cannot be read")


def test_unreadable_file(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_bytes(b"x,y\n1,2\n3,4\n")
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything

        def refuse(self):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    check_refused(run("fit", path, "-k", 2), tmp_path, [path], "secret.csv: no permission to read it")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    path.write_bytes(PARQUET)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    check_refused(run("fit", path, "-k", 2), tmp_path, [path], "pip install 'certiclust[parquet]'")


def test_places_that_cannot_be_written(tmp_path):
    data = tmp_path / "data.csv"
    data.write_bytes(b"x,y\n1,2\n3,4\n5,6\n")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    before = sorted(tmp_path.iterdir())
    for out, force, said in (
        ("no/out", [], "there is no directory"),
        ("file", ["--force"], "is not a directory"),
        ("full", [], "is there already; pass --force to replace it"),
        ("full", ["--force"], "was not written by certiclust"),
    ):
        result = run("fit", data, "-k", 2, "--out", tmp_path / out, *force)
        check_refused(result, tmp_path, before, said)
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"
