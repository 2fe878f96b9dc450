"""Linear algebra on one thread: for small matrices several threads wait for each other longer than they work, and
continue to wait on CPUs where programs are being measured."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

PREFIXES = ("scipy_openblas", "openblas")
SUFFIXES = ("64_", "")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the linear algebra of numpy and scipy to one thread within the context.

    Where they use another library than OpenBLAS, nothing is changed.
    """
    before = [(library, int(library["get"]())) for library in _libraries()]
    for library, _ in before:
        library["set"](1)
    try:
        yield
    finally:
        for library, threads in before:
            library["set"](threads)


@cache
def _libraries() -> tuple[dict[str, ctypes._NamedFuncPointer], ...]:
    """Return the functions that get and set the number of threads, for each OpenBLAS of numpy and scipy."""
    packages = Path(np.__file__).parent.parent
    libraries = []
    for file in sorted([*packages.glob("numpy.libs/*openblas*"), *packages.glob("scipy.libs/*openblas*")]):
        library = ctypes.CDLL(str(file))
        for name in (f"{prefix}_%s_num_threads{suffix}" for prefix in PREFIXES for suffix in SUFFIXES):
            if hasattr(library, name % "set"):
                libraries.append({action: getattr(library, name % action) for action in ("get", "set")})
                break
    return tuple(libraries)
