"""Files that simply work: every format and dialect gives the same rows."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from certiclust.io import InputError, Reading, read
from certiclust.io.delimited import find_delimiter, has_header

ROWS = np.array([[1.5, 2.0], [3.25, -4.0], [0.1, 1e-3]])
TEXT = "x,y\n1.5,2\n3.25,-4\n0.1,1e-3\n"


def reading_of(tmp_path, content, name="data.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(str(path), Reading(**options))


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (TEXT, {}),
        (TEXT.rstrip("\n"), {}),
        (TEXT.replace("\n", "\r\n"), {}),
        (TEXT.replace("\n", "\r"), {}),
        (b"\xef\xbb\xbf" + TEXT.encode(), {}),
        (TEXT.encode("utf-16"), {}),
        (gzip.compress(TEXT.encode()), {}),
        (TEXT.replace(",", ";"), {}),
        (TEXT.replace(",", "\t"), {}),
        (TEXT.replace(",", "|"), {}),
        (TEXT.replace(",", "  "), {}),
        (TEXT.replace(",", ", "), {}),
        (TEXT.replace("x,y", '"x","y"'), {}),
        ('"x","y"\n"1.5","2"\n"3.25","-4"\n"0.1","1e-3"\n', {}),
        (TEXT.replace(",", ";").replace(".", ","), {"decimal": ","}),
        (TEXT.replace(",", "\t").replace(".", ","), {"decimal": ","}),
        (TEXT.replace(",", "#"), {"delimiter": "#"}),
        (TEXT.replace("\n", ",\n"), {}),
        (TEXT.replace("\n", "\n\n"), {}),
    ],
    ids=[
        "plain", "no newline at the end", "CRLF", "CR", "BOM", "UTF-16", "gzip", "semicolons", "tabs", "bars", "blanks",
        "comma and blank", "quoted header", "quoted numbers", "decimal comma", "decimal comma and tabs",
        "own delimiter", "delimiter at the end", "blank lines",
    ],
)  # fmt: skip
def test_dialects_of_a_table(tmp_path, content, options):
    data = reading_of(tmp_path, content, **options)
    assert_array_equal(data.X, ROWS)
    assert data.columns == ["x", "y"]
    assert data.ids is None
    assert data.weights is None
    assert data.format == "table"


def test_latin_1_with_encoding(tmp_path):
    data = reading_of(tmp_path, "größe,y\n1.5,2\n3.25,-4\n".encode("latin-1"), encoding="latin-1")
    assert data.columns == ["größe", "y"]


def test_names_with_everything_in_them(tmp_path):
    data = reading_of(tmp_path, '"a, b","c ""d""","e\nf"\n1,2,3\n4,5,6\n')
    assert data.columns == ["a, b", 'c "d"', "e\nf"]
    assert_array_equal(data.X, [[1, 2, 3], [4, 5, 6]])


def test_no_header(tmp_path):
    data = reading_of(tmp_path, TEXT.split("\n", 1)[1])
    assert_array_equal(data.X, ROWS)
    assert data.columns == ["x1", "x2"]


def test_header_as_told(tmp_path):
    assert reading_of(tmp_path, "2019,2020\n1,2\n3,4\n", header=True).columns == ["2019", "2020"]
    assert len(reading_of(tmp_path, "2019,2020\n1,2\n3,4\n").X) == 3


def test_one_column(tmp_path):
    assert_array_equal(reading_of(tmp_path, "x\n1\n2.5\n").X, [[1], [2.5]])


def test_columns_ids_and_weights(tmp_path):
    text = "city,x,pop,y,kind\nRome,1,10,2,a\nOslo,3,20,4,b\n"
    data = reading_of(tmp_path, text, columns=("y", "x"), id="city", weights="pop")
    assert_array_equal(data.X, [[2, 1], [4, 3]])
    assert data.columns == ["y", "x"]
    assert data.ids == ["Rome", "Oslo"]
    assert data.id_name == "city"
    assert_array_equal(data.weights, [10, 20])
    assert data.row_name(1) == "Oslo"


def test_size_line_of_k_means_sets(tmp_path):
    assert_array_equal(reading_of(tmp_path, "3 2\n1.5 2\n3.25 -4\n0.1 1e-3\n").X, ROWS)
    assert len(reading_of(tmp_path, "4 2\n1.5 2\n3.25 -4\n0.1 1e-3\n").X) == 4  # not the number of rows: data


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("name;x\nMeyer, Ann;1\nJones, Bob;2\n", ";"),
        ('name,x\n"Meyer; Ann",1\n"Jones; Bob; Cy",2\n', ","),
        ("first name,last name\nAnn Lee,Meyer\n", ","),
        ("1 2 3\n4 5 6\n", " "),
        ("a\tb c\n1\t2\n", "\t"),
        ("x\n1\n2\n", ","),
    ],
)
def test_delimiter(text, delimiter):
    assert find_delimiter(text) == delimiter


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=4), min_size=2, max_size=6
    ).filter(lambda rows: len({len(row) for row in rows}) == 1),
    st.sampled_from([",", ";", "\t", "|", " "]),
    st.booleans(),
)
def test_delimiter_and_header_of_any_numbers(rows, delimiter, header):
    head = [f"name {j}" if delimiter != " " else f"name{j}" for j in range(len(rows[0]))]
    lines = [delimiter.join(map(repr, row)) for row in rows]
    text = "\n".join(([delimiter.join(head)] if header else []) + lines)
    assert find_delimiter(text) == delimiter
    cells = [line.split(delimiter) for line in text.split("\n")]
    assert has_header(cells) is header


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([["x", "y"], ["1", "2"]], True),
        ([["x", "y"]], True),
        ([["1", "2"], ["3", "4"]], False),
        ([["5.1", "setosa"], ["4.9", "setosa"]], False),
        ([["length", "kind"], ["4.9", "setosa"]], True),
        ([["", "x"], ["0", "1"]], True),
        ([["x", "NA"], ["1", "2"]], True),
        ([["NA", "1"], ["1", "2"]], False),
        ([["name", "kind"], ["ann", "a"]], True),
        ([["x", "2020"], ["1", "3"]], True),
    ],
)
def test_header(rows, header):
    assert has_header(rows) is header


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["float64", "float32", ">f8", "int16", "bool"])
def test_npy(tmp_path, order, kind):
    array = np.asarray(np.arange(6).reshape(3, 2) % 5, dtype=kind, order=order)
    buffer = io.BytesIO()
    np.save(buffer, array)
    data = reading_of(tmp_path, buffer.getvalue(), "data.npy")
    assert_array_equal(data.X, array.astype(float))
    assert data.columns == ["x1", "x2"]
    assert reading_of(tmp_path, gzip.compress(buffer.getvalue()), "data").format == "npy"


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    names = pyarrow.array(["a", "b", "c"]).dictionary_encode()
    table = pyarrow.table({"x": [1.5, 3.25, 0.1], "y": pyarrow.array([2, -4, 0]), "name": names, "n": [1, 2, 3]})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    data = reading_of(tmp_path, buffer.getvalue(), "data.parquet", columns=("x", "y"), id="name", weights="n")
    assert_array_equal(data.X, [[1.5, 2], [3.25, -4], [0.1, 0]])
    assert data.ids == ["a", "b", "c"]
    assert_array_equal(data.weights, [1, 2, 3])
    assert reading_of(tmp_path, buffer.getvalue(), "data", columns=("x",), id="n").ids == ["1", "2", "3"]


def test_orlib(tmp_path):
    """A path 1-2-3-4 with a short cut whose first length is overruled: of two edges the last one counts."""
    data = reading_of(tmp_path, " 4 5 2 \n 1 2 5 \n 2 3 5 \n 3 4 5 \n 1 4 1 \n 4 1 7 \n", "pmed.txt")
    assert_array_equal(data.X, [[0, 5, 10, 7], [5, 0, 5, 10], [10, 5, 0, 5], [7, 10, 5, 0]])
    assert data.k == 2
    assert data.metric == "precomputed"
    assert data.ids == ["1", "2", "3", "4"]
    assert reading_of(tmp_path, "4 3 2\n1 2 5\n2 3 5\n", "t.txt", format="table").X.shape == (3, 3)


TSP = "NAME : t\nDIMENSION: 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 1.5 2\n5 4e0 0\nEOF\n"


def test_tsplib_points(tmp_path):
    data = reading_of(tmp_path, TSP, "t.tsp")
    points = np.array([[0, 0], [1.5, 2], [4, 0]])
    assert_array_equal(data.X, points)
    assert (data.columns, data.ids, data.metric) == (["x", "y"], ["1", "2", "5"], "euclidean")
    for rounding, expected in (("down", [2, 4, 3]), ("nearest", [3, 4, 3])):
        matrix = reading_of(tmp_path, TSP, "t.tsp", rounding=rounding)
        assert_array_equal(matrix.X[np.triu_indices(3, 1)], expected)
        assert_array_equal(matrix.X, matrix.X.T)
        assert matrix.metric == "precomputed"
    manhattan = TSP.replace("EUC_2D", "MAN_2D")
    assert reading_of(tmp_path, manhattan).metric == "manhattan"
    assert_array_equal(reading_of(tmp_path, manhattan, rounding="down").X, np.floor(cdist(points, points, "cityblock")))


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("FULL_MATRIX", "0 1 2 1 0 3 2 3 0"),
        ("UPPER_ROW", "1 2\n3"),
        ("UPPER_DIAG_ROW", "0 1 2 0 3 0"),
        ("LOWER_ROW", "1\n2 3"),
        ("LOWER_DIAG_ROW", "0 1 0 2 3 0"),
    ],
)
def test_tsplib_matrices(tmp_path, form, numbers):
    head = f"DIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : {form}\nEDGE_WEIGHT_SECTION\n"
    data = reading_of(tmp_path, f"{head}{numbers}\nEOF\n", "t.tsp")
    assert_array_equal(data.X, [[0, 1, 2], [1, 0, 3], [2, 3, 0]])


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=1, max_size=300) | st.text("0123456789,;.\t\n\r\"' ax-e", max_size=120).map(str.encode))
def test_any_bytes_give_rows_or_one_sentence(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "data"
    path.write_bytes(content)
    said, data = "", None
    try:
        data = read(str(path))
    except InputError as error:
        said = str(error)
    if data is None:
        assert said.endswith(".")
    else:
        assert np.isfinite(data.X).all()
        assert len(data.X) > 1
