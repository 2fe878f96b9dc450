"""The number of threads of a command's own numpy, and that programs which it starts inherit nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

SCRIPT = """
import json, os
before = dict(os.environ)
from becalm.cli import one_thread
one_thread.ask()
import numpy
children = os.popen("env").read()
print(json.dumps([{figure}, before == dict(os.environ), "OPENBLAS" in children]))
"""
"""Prints a figure, whether the environment is as before, and whether a child gets a variable of OpenBLAS."""

THREADS = SCRIPT.format(figure="len(os.listdir('/proc/self/task'))")
SEEN = SCRIPT.format(figure="numpy.seen")
STAND_IN = """
import os
seen = [os.environ.get(name) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")]
"""
"""A numpy that reads the variables as OpenBLAS does, on a machine with any number of CPUs."""


def printed(script: str, environment: Mapping[str, str] = {}) -> list[object]:
    """Return what a script prints, decoded."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    output: list[object] = json.loads(done.stdout)
    return output


def test_numpy_starts_no_thread() -> None:
    """One thread, and no variable is left for programs that are started later."""
    assert printed(THREADS) == [1, True, False]


@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({}, ["1", None]),
        ({"OPENBLAS_NUM_THREADS": "2"}, ["2", None]),
        ({"OMP_NUM_THREADS": "2"}, [None, "2"]),
    ],
)
def test_a_number_of_the_user_is_left(tmp_path: Path, environment: dict[str, str], seen: list[str | None]) -> None:
    """A number that the user gives is left, for numpy and for programs."""
    (tmp_path / "numpy.py").write_text(STAND_IN)
    figures = printed(SEEN, {**environment, "PYTHONPATH": str(tmp_path)})
    assert figures == [seen, True, "OPENBLAS_NUM_THREADS" in environment]


def test_numpy_that_is_loaded_already_is_left(tmp_path: Path) -> None:
    """Nothing waits for a module that came before."""
    (tmp_path / "numpy.py").write_text(STAND_IN)
    script = f"import numpy, sys\nfinders = list(sys.meta_path)\n{SEEN}\nassert finders == sys.meta_path"
    assert printed(script, {"PYTHONPATH": str(tmp_path)}) == [[None, None], True, False]
