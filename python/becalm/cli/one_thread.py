"""The import of numpy with one thread for linear algebra, unless the environment sets another number.

When it is loaded, OpenBLAS starts a thread for each CPU. These threads spin for a while, which takes a third of the CPU
time of importing numpy on two CPUs, and more on many, and disturbs the first measured programs. OpenBLAS reads the
number of threads from the environment at that moment only. So the variable is set while numpy is imported, and removed
before any program that would inherit it is started. Programs that import becalm as a library are not affected.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

VARIABLE = "OPENBLAS_NUM_THREADS"
OTHERS = ("GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""The variables that OpenBLAS reads after the first (openblas_read_env in its driver/others/openblas_env.c)."""


class OneThread:
    """An import finder that is used once, to load numpy from its usual place."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of numpy, changed to load it with one thread; None for any other module."""
        if name != "numpy":
            return None
        sys.meta_path.remove(OneThread)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                os.environ[VARIABLE] = "1"
                try:
                    load(module)
                finally:
                    del os.environ[VARIABLE]

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def ask() -> None:
    """Arrange for numpy to be loaded with one thread, unless it is loaded or the environment sets their number."""
    if "numpy" not in sys.modules and not any(variable in os.environ for variable in (VARIABLE, *OTHERS)):
        sys.meta_path.insert(0, OneThread)
