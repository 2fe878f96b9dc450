"""numpy is imported with one thread for its linear algebra, where the environment asks for no other number.

As it is loaded, OpenBLAS starts a thread for each CPU, which look for work for a while: a third of numpy's CPU time on
two CPUs, more on many, and beside the first programs that are measured. It reads the number from the environment, and
only then: so the variable is set while numpy is imported, and gone before any program is started that would inherit it.
Users of becalm as a library keep the threads they have.
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
    """A finder of numpy that is used once, where it would be found anyway."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return numpy's, which is then loaded with one thread; None for any other module."""
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
    """Load numpy with one thread, unless it is loaded already or the user has set the number of threads."""
    if "numpy" not in sys.modules and not any(each in os.environ for each in (VARIABLE, *OTHERS)):
        sys.meta_path.insert(0, OneThread)
