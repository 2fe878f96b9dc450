"""Requirements of a test beyond Python and the checkout: where one is missing, the test is skipped; with CI=true it
fails.

A machine that cannot do something (no zram, no rights) is a plain skip. What somebody could install is not: on CI its
absence would let tests pass that never ran.
"""

import functools
import importlib
import os
from typing import NoReturn

import programs
import pytest

STRICT = os.environ.get("CI") == "true"


def missing(reason: str) -> NoReturn:
    """End this test, because something is not here that could be: the reason says what, and how to get it."""
    if STRICT:
        pytest.fail(f"CI has everything, but: {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


@functools.cache
def _rows():
    return {program: row for row in programs.table() for program in row.programs}


def need(*names: str) -> str:
    """Return the path of the first of these programs of tools/programs.toml; all of them are here when this returns."""
    paths = {name: _find(name) for name in names}
    for name, path in paths.items():
        if path is None:
            row = _rows().get(name)
            missing(f"{name} is not installed: {f'apt-get install {row.name}' if row else 'see the README'}")
    return paths[names[0]]


def _find(name):
    """Return the path of a program: one of the table, or one that every Debian has or the README asks for."""
    return programs.find(name) if name in programs.always() else _rows()[name].find(name)


def need_module(name: str):
    """Return a module of an optional dependency. Those of development are all installed by `make build`."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing(f"{name} cannot be imported ({error}): make build installs it")
