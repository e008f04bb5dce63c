"""Certificates on disk: files that are written whole or not at all, and large witnesses in NumPy's own format."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from certiclust.certificates.errors import CertificateError

#: Above this many characters the witness goes to a file of its own.
MAX_JSON = 1_000_000


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there with all its content, or as it was before."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def packed_arrays(arrays: dict[str, Any]) -> bytes:
    """Return arrays as a compressed .npz file."""
    buffer = io.BytesIO()
    contents: dict[str, Any] = {name: np.asarray(values) for name, values in arrays.items()}
    np.savez_compressed(buffer, **contents)
    return buffer.getvalue()


def read_arrays(certificate: Path, name: Any) -> dict[str, Any]:
    """Return the arrays of the .npz file that lies beside a certificate and is named after its content."""
    if not isinstance(name, str) or Path(name).name != name or not name.endswith(".npz"):
        raise CertificateError(f"witness: {name!r} is not the name of an .npz file.")
    try:
        content = (certificate.parent / name).read_bytes()
    except OSError as error:
        raise CertificateError(f"witness: {name} is missing beside the certificate.") from error
    if f".{hashlib.sha256(content).hexdigest()[:16]}.npz" != name[-21:]:
        raise CertificateError(f"witness: {name} is not the file that was saved.")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    except (ValueError, OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise CertificateError(f"witness: {name} cannot be read.") from error
    return {key: value if value.ndim else value.item() for key, value in arrays.items()}
