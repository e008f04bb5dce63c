"""An output directory that is there whole, or not at all, or still as it was before.

Everything is written into a hidden directory beside the target, brought to the disk, and put in place by one rename. To
replace an old directory the two change names in one step where the system can (Linux); elsewhere the old one is moved
aside first. A process that is killed leaves its hidden directory behind, unlocked; the next one to the same target
removes it.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from certiclust.io.errors import InputError

#: A directory with this file, and this word in it, may be replaced.
MARK, FORMAT = "summary.json", "certiclust summary 1"
_EXCHANGE, _AT_FDCWD = 2, -100


def check_target(target: Path, *, force: bool) -> None:
    """Raise InputError if nothing can or may be written there; the work has not begun then."""
    if not target.name:
        raise InputError(f"--out {target}: a directory with a name is needed.")
    if not target.parent.is_dir():
        raise InputError(f"--out {target}: there is no directory {target.parent}.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"--out {target}: no permission to write into {target.parent}.")
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise InputError(f"--out {target} is there already and is not a directory.")
    if not any(target.iterdir()):
        return
    if not force:
        raise InputError(f"--out {target} is there already; pass --force to replace it.")
    if not _is_ours(target):
        raise InputError(f"--out {target} was not written by certiclust ({MARK} is missing); it is not replaced.")


def write_directory(target: Path, write: Callable[[Path], None], *, force: bool = False) -> None:
    """Let `write` fill a directory, and put it in place.

    Parameters
    ----------
    target : Path
        Where it shall be.
    write : callable
        Writes the files into the directory it is given.
    force : bool
        Whether an output directory that is there may be replaced.
    """
    check_target(target, force=force)
    prefix = f".{target.name}.certiclust-"
    _remove_stale(target.parent, prefix)
    hidden = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    lock = os.open(hidden, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write(hidden)
        _to_disk(hidden)
        os.chmod(hidden, 0o777 & ~_umask())
        check_target(target, force=force)
        _put_in_place(hidden, target)
        _sync(target.parent)
    except OSError as error:
        raise InputError(f"--out {target} cannot be written ({error.strerror or error}).") from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        os.close(lock)


def _put_in_place(hidden: Path, target: Path) -> None:
    if not target.is_dir() or not any(target.iterdir()):
        os.rename(hidden, target)
    elif not _exchange(hidden, target):
        aside = hidden.with_name(hidden.name + "-old")
        os.rename(target, aside)
        os.rename(hidden, target)
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Let two directories change names in one step; return False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _EXCHANGE) == 0)


def _remove_stale(parent: Path, prefix: str) -> None:
    """Remove what killed processes left: directories of that name that nobody holds."""
    for path in parent.glob(f"{prefix}*"):
        try:
            lock = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # another process is writing there
        finally:
            os.close(lock)


def _is_ours(target: Path) -> bool:
    try:
        content = json.loads((target / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def _to_disk(directory: Path) -> None:
    for root, _, files in os.walk(directory):
        for file in files:
            _sync(Path(root) / file)
        _sync(Path(root))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
