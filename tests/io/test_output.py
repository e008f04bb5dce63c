"""An output directory is there whole, or not at all, or as it was before."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from certiclust.io import InputError, write_directory
from certiclust.io import output as module

FILES = {"summary.json": json.dumps({"format": "certiclust summary 1"}), "a.txt": "a" * 9, "sub/b.txt": "b" * 9}


def write(mark):
    def into(folder):
        for name, text in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text if name == "summary.json" else text + mark)

    return into


def content(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def whole(mark):
    return {name: text if name == "summary.json" else text + mark for name, text in FILES.items()}


def state(folder):
    """Nothing, the old directory, the new one, or what must never be."""
    if not folder.exists():
        return "nothing"
    return {True: "old", False: "new" if content(folder) == whole("2") else "half"}[content(folder) == whole("1")]


def test_new_and_replaced(tmp_path):
    out = tmp_path / "out"
    write_directory(out, write("1"))
    assert content(out) == whole("1")
    with pytest.raises(InputError, match="pass --force"):
        write_directory(out, write("2"))
    assert content(out) == whole("1")
    write_directory(out, write("2"), force=True)
    assert content(out) == whole("2")
    assert list(tmp_path.iterdir()) == [out]


def test_an_empty_directory_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    write_directory(tmp_path / "out", write("1"))
    assert content(tmp_path / "out") == whole("1")


def test_without_exchange_the_old_one_is_moved_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_exchange", lambda first, second: False)
    write_directory(tmp_path / "out", write("1"))
    write_directory(tmp_path / "out", write("2"), force=True)
    assert content(tmp_path / "out") == whole("2")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_what_was_there(tmp_path):
    def fail(folder):
        write("2")(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="cannot be written \\(No space left on device\\)"):
        write_directory(tmp_path / "out", fail)
    assert list(tmp_path.iterdir()) == []
    write_directory(tmp_path / "out", write("1"))
    with pytest.raises(InputError):
        write_directory(tmp_path / "out", fail, force=True)
    assert content(tmp_path / "out") == whole("1")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


# Kills itself before or after the n-th call of anything that touches the disk on the way.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from certiclust.io import output
from tests.io.test_output import write
calls, last = 0, int(sys.argv[2])
def counted(work):
    def call(*arguments, **more):
        global calls
        calls += 1
        if calls == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*arguments, **more)
    return call
os.rename, os.fsync, os.chmod, os.open = map(counted, (os.rename, os.fsync, os.chmod, os.open))
os.unlink, os.rmdir = map(counted, (os.unlink, os.rmdir))
Path.write_text, Path.mkdir = counted(Path.write_text), counted(Path.mkdir)
output._exchange = counted(output._exchange)
shutil.rmtree = counted(shutil.rmtree)
output.write_directory(Path(sys.argv[1]), write(sys.argv[3]), force=True)
print(calls)
"""
# The same with an end of its own for every call, forked, so that Python starts only once.
FORKED = """
import os, sys
from pathlib import Path
place, there, root = Path(sys.argv[1]), sys.argv[2] == "there", sys.argv[3]
sys.path.insert(0, root)
from certiclust.io import write_directory
from tests.io.test_output import KILLED, content, state, whole, write
seen = []
for last in range(1, 200):
    out = place / str(last) / "out"
    out.parent.mkdir(parents=True)
    if there:
        write_directory(out, write("1"))
    child = os.fork()
    if child == 0:
        sys.stdout = open(os.devnull, "w")
        sys.argv = ["", str(out), str(last), "2", root]
        exec(compile(KILLED, "killed", "exec"), {})
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    seen.append(state(out))
    write_directory(out, write("3"), force=True)  # the next run succeeds and sweeps up
    left = sorted(p.name for p in out.parent.iterdir())
    assert left == ["out"] and content(out) == whole("3"), (last, left)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0
        break
print(*seen)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("there", ["there", "not there"])
def test_a_killed_process_leaves_the_old_directory_or_nothing(tmp_path, there):
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path), there, root], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    seen = done.stdout.split()
    assert len(seen) > 15  # it was killed at that many places
    before = "old" if there == "there" else "nothing"
    assert set(seen) == {before, "new"}
    assert seen == sorted(seen, key=["nothing", "old", "new"].index)  # once it is there it stays


def test_another_process_at_work_is_left_alone(tmp_path):
    """A hidden directory that is locked belongs to somebody."""

    def nested(folder):
        write("1")(folder)
        write_directory(tmp_path / "out", write("2"))
        assert folder.is_dir()

    with pytest.raises(InputError, match="pass --force"):
        write_directory(tmp_path / "out", nested)
    assert content(tmp_path / "out") == whole("2")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_killed_by_the_signal_itself(tmp_path):
    """One real kill from outside, in the middle of writing."""
    code = (
        "import sys, time; from pathlib import Path; from certiclust.io import write_directory\n"
        "def slow(folder):\n    (folder / 'a').write_text('a'); print('here', flush=True); time.sleep(60)\n"
        "write_directory(Path(sys.argv[1]), slow)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "out").exists()
    write_directory(tmp_path / "out", write("1"))
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
