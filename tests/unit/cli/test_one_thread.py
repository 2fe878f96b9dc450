"""What a command's own numpy starts with, and what programs that it starts are told: nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest

SHOWN = """
import json, os
before = dict(os.environ)
from becalm.cli import one_thread
one_thread.ask()
import numpy
children = os.popen("env").read()
print(json.dumps([len(os.listdir("/proc/self/task")), before == dict(os.environ), "OPENBLAS" in children]))
"""


def started(text: str, environment: Mapping[str, str] = {}) -> list[int | bool]:
    """How many threads there are once numpy is imported, whether the environment is as before, what a child is told."""
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found: list[int | bool] = json.loads(done.stdout)
    return found


def test_numpy_starts_no_thread() -> None:
    """One thread, and no variable is left for programs that are started later."""
    assert started(SHOWN) == [1, True, False]


@pytest.mark.parametrize("variable", ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"])
def test_what_the_user_said_holds(variable: str) -> None:
    """A number that the user gives is left, for numpy and for programs."""
    asked = started(SHOWN, {variable: "2"})
    assert asked[0] == started(SHOWN.replace("one_thread.ask()", ""), {variable: "2"})[0]
    assert asked[1:] == [True, variable == "OPENBLAS_NUM_THREADS"]


def test_numpy_that_is_there_already_is_left() -> None:
    """Nothing is waiting for a module that came before."""
    assert started(f"import numpy, sys\nfound = list(sys.meta_path)\n{SHOWN}\nassert found == sys.meta_path")[1:] == [
        True,
        False,
    ]
