"""The bytes of a file or of standard input, unpacked, and their text."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from certiclust.io.errors import InputError

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class Source:
    """A file: its name for messages and for the choice of a reader, its bytes unpacked, and its SHA-256 as it came."""

    name: str
    content: bytes
    sha256: str

    @property
    def ending(self) -> str:
        """The last part of the name in lower case, without ``.gz``."""
        path = Path(self.name.lower())
        return (path.with_suffix("") if path.suffix == ".gz" else path).suffix


def open_source(name: str) -> Source:
    """Return the bytes of a file, or of standard input for ``-``; gzip is unpacked, known by its first bytes."""
    shown = "standard input" if name == "-" else name
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{shown}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{shown} is a directory; a file is needed.") from None
    except PermissionError:
        raise InputError(f"{shown}: no permission to read it.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{shown} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    content = raw
    if raw[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{shown}: the gzip file is damaged or cut short.") from None
    if not content.strip():
        raise InputError(f"{shown} is empty.")
    return Source(shown, content, hashlib.sha256(raw).hexdigest())


def decode(source: Source, encoding: str | None) -> str:
    """Return the text; without an encoding a byte order mark decides, else it is UTF-8."""
    chosen = encoding or next((name for mark, name in _BOMS if source.content.startswith(mark)), "utf-8")
    try:
        if codecs.lookup(chosen).name == "utf-8":
            chosen = "utf-8-sig"
        text = source.content.decode(chosen)
    except LookupError:
        raise InputError(f"encoding {chosen!r} is not known; utf-8, latin-1 and cp1252 are.") from None
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        if b"\0" in source.content[:1000]:
            raise InputError(f"{source.name} is binary: neither text nor a known format.") from None
        raise InputError(
            f"{source.name}, line {line}: byte 0x{source.content[error.start]:02x} is not "
            f"{encoding or 'UTF-8'}; name the encoding, as in --encoding latin-1."
        ) from None
    if "\0" in text:
        raise InputError(f"{source.name} is binary: neither text nor a known format.")
    return text
