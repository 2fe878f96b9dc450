"""Small matrices on one thread: several wait for each other longer than they work, and go on waiting on CPUs where
programs are being measured."""

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
    """Let the linear algebra of numpy and scipy take one thread within; elsewhere as many as before.

    Where they come with another library than OpenBLAS, nothing is changed.
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
    """Return for each OpenBLAS of numpy and scipy the functions that get and set the number of its threads."""
    packages = Path(np.__file__).parent.parent
    found = []
    for file in sorted([*packages.glob("numpy.libs/*openblas*"), *packages.glob("scipy.libs/*openblas*")]):
        library = ctypes.CDLL(str(file))
        for name in (f"{prefix}_%s_num_threads{suffix}" for prefix in PREFIXES for suffix in SUFFIXES):
            if hasattr(library, name % "set"):
                found.append({each: getattr(library, name % each) for each in ("get", "set")})
                break
    return tuple(found)
