"""The shape of the house (DESIGN.md): who may import whom, and what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import certiclust

ROOT = Path(certiclust.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# Which rooms a room may import from, besides itself. Nothing points upwards.
BELOW = {
    "space": set(),
    "problems": {"space"},
    "evolution": {"problems", "space"},
    "bounds": {"problems", "space"},
    "baselines": {"space"},
    "theory": {"solver", "evolution", "bounds", "problems", "space"},
    "certificates": set(),
    "io": {"space"},
    "solver": {"evolution", "bounds", "problems", "space"},
    "estimators": {"solver", "evolution", "bounds", "problems", "space", "certificates", "theory"},
    "front": {"estimators", "solver", "evolution", "problems", "space", "certificates"},
    "report": {"front", "estimators", "certificates", "space"},
    "commands": {"report", "front", "theory", "io", "estimators", "problems", "certificates", "space"},
}
TOP = {"__init__.py", "cli.py", "demo.py"}  # on the roof: these may use every room
CELLAR = {"figures.py"}  # under the house: every room may use these, and they use none


def room(path):
    return path.relative_to(ROOT).parts[0]


def imported(path):
    """Absolute names of all modules that a file imports, wherever in it."""
    names = set()
    package = ("certiclust", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            names.add(module)
            if module == "certiclust":  # from certiclust import space
                names |= {f"certiclust.{alias.name}" for alias in node.names}
    return names


def rooms_used(path):
    inside = {name.split(".")[1] for name in imported(path) if name.startswith("certiclust.")}
    return inside & {p.name for p in ROOT.iterdir() if p.is_dir()}


def test_the_parser_sees_every_form_of_import(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "solver").mkdir()
    path = tmp_path / "solver" / "x.py"
    path.write_text(
        "import a.b\nfrom certiclust import space\nfrom certiclust.bounds.x import y\n"
        "def f():\n    from ..evolution import z\n    from . import solve\n"
    )
    found = imported(path)
    assert {"a.b", "certiclust.space", "certiclust.bounds.x", "certiclust.evolution", "certiclust.solver"} <= found


def test_every_room_of_the_package_has_its_place_in_the_table():
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == set(BELOW)
    assert {path.name for path in ROOT.glob("*.py")} == TOP | CELLAR
    assert not any(rooms_used(ROOT / name) for name in CELLAR)


@pytest.mark.parametrize("path", [p for p in MODULES if p.parent != ROOT], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards(path):
    allowed = BELOW[room(path)] | {room(path)}
    assert rooms_used(path) <= allowed
    assert "certiclust" not in {name for name in imported(path) if name.count(".") == 0}


def test_certificates_stand_alone_on_numpy_and_scipy():
    for path in (ROOT / "certificates").glob("*.py"):
        outside = {name.split(".")[0] for name in imported(path)} - set(sys.stdlib_module_names)
        assert outside <= {"numpy", "scipy", "certiclust"}, path.name
        assert rooms_used(path) <= {"certificates"}


def test_numba_is_imported_by_kernels_only():
    users = {path for path in MODULES if any(name.split(".")[0] == "numba" for name in imported(path))}
    assert users
    for path in users:
        assert path.stem.endswith("kernels") or "kernels" in path.relative_to(ROOT).parts, path


def test_import_certiclust_imports_no_kernels():
    code = "import sys; from certiclust import *; print([m for m in sys.modules if 'kernels' in m or m == 'numba'])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = [name for name in ast.literal_eval(output) if name.startswith(("certiclust", "numba"))]
    assert loaded == []


def _executed_on_import(body):
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from _executed_on_import(node.body + node.orelse)
        elif isinstance(node, ast.Try):
            yield from _executed_on_import(node.body)


def test_import_certiclust_imports_no_numba():
    code = (
        "import sys; from certiclust import *; "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('numba', 'llvmlite')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", sorted(ROOT.rglob("__init__.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_room_says_what_it_is_for(path):
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring
    assert docstring.splitlines()[0].rstrip().endswith(".")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_has_a_docstring(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", [*BELOW, None])
def test_public_names_exist(name):
    module = __import__(f"certiclust.{name}" if name else "certiclust", fromlist=["__all__"])
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        assert hasattr(module, public)


def test_the_command_line_answers_without_scikit_learn():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom certiclust.cli import app\n"
        "assert CliRunner().invoke(app, ['fit', '--help']).exit_code == 0\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'scipy', 'sklearn', 'numba'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_names_are_there_when_asked_for():
    code = (
        "import certiclust\nassert 'KMedian' in dir(certiclust)\nassert certiclust.evolution.gsemo\n"
        "assert not hasattr(certiclust, 'KMode')\nassert not hasattr(certiclust, '_secret')\n"
        "from certiclust import *\nprint(KMedian.__name__, sweep.__name__, Certificate.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["KMedian", "sweep", "Certificate"]
