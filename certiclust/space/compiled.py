"""How kernels are compiled, in one place.

Compilation is what a first fit spends most of its time on: kernels that only kernels call get no wrappers, and no
branches for a division by zero, which would be a defect anyway, are compiled.
"""

from __future__ import annotations

from typing import Any

#: Kernels that Python calls.
KERNEL: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
#: Kernels that only kernels call.
INNER: dict[str, Any] = {**KERNEL, "no_cpython_wrapper": True}
#: Kernels with one caller and many arguments: cheaper to compile as a part of it.
PART: dict[str, Any] = {"inline": "always"}
#: Kernels that make no arrays, only views of their arguments: nothing is counted for whoever frees memory.
VIEWS: dict[str, Any] = {"_nrt": False}
#: Kernels that do make arrays, for callers that do not: what is not said is taken over from whoever calls first.
ARRAYS: dict[str, Any] = {"_nrt": True}
#: Sums may be taken in any order, so that loops vectorise; infinities keep their meaning.
FAST: dict[str, Any] = {"fastmath": {"contract", "reassoc", "arcp", "nsz"}}
