"""The fingerprint by which a certificate knows its data."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Numbers copied at a time.
BLOCK = 100_000


def data_fingerprint(X: FloatArray, weights: FloatArray, candidates: FloatArray | None) -> str:
    """Return the SHA-256 of the rows, their weights and the candidates, as little-endian float64 with their shapes.

    Examples
    --------
    >>> import numpy as np
    >>> data_fingerprint(np.zeros((2, 1)), np.ones(2), None)[:12]
    '7e879770677b'
    """
    digest = hashlib.sha256(b"certiclust data 1")
    for name, array in (("X", X), ("sample_weight", weights), ("candidates", candidates)):
        digest.update(f"{name} {None if array is None else array.shape}".encode())
        if array is not None:
            step = max(1, BLOCK * len(array) // max(1, array.size))
            for start in range(0, len(array), step):
                # -0.0 and 0.0 are one number, so they have one fingerprint.
                rows = array[start : start + step] + 0.0
                digest.update(np.ascontiguousarray(rows, dtype="<f8").data)
    return digest.hexdigest()
