"""What a command has imported when its first program is asked for, or when it is done without any.

Counted, not timed: an import that a start does not need is seen here on any machine, and named.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

FIRST_RUN = """
import json, sys
from becalm.hosts.agent import AgentHost

def measure(*given, **options):
    print(json.dumps(sorted(sys.modules)), file=sys.__stdout__, flush=True)
    import os
    os._exit(0)

AgentHost.measure = measure
"""
"""Where the first block is asked for, the names of all modules are written and everything ends."""

AT_THE_END = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.__stdout__, flush=True))
"""

COMPILED = """
import atexit, json, sys

def found():
    from becalm import values
    for module in [module for name, module in sys.modules.items() if name.startswith("becalm.")]:
        for made in vars(module).values():
            frozen = isinstance(made, type) and getattr(vars(made).get("__dataclass_params__"), "frozen", False)
            if frozen and made.__module__ == module.__name__ and made.__setattr__ is not values._assign:
                yield f"{made.__module__}.{made.__name__}"

atexit.register(lambda: print(json.dumps(sorted(found())), file=sys.__stdout__, flush=True))
"""
"""At the end, the names of all frozen values whose methods were compiled when their class was made."""

START = "from becalm.cli.main import main; main()"
STORELESS = ("sqlite3", "numpy", "rich")
NEVER = (
    "scipy",
    "jinja2",
    "matplotlib",
    "pyarrow",
    "asyncssh",
    "optuna",
    "psycopg",
    "sqlalchemy",
    "asyncio",
    "tomllib",
    "numpy.polynomial",
    "becalm.designs",
    "becalm.methods",
    "becalm.surfaces",
    "becalm.tuning",
    "becalm.report.tune",
    "becalm.report.explain",
    "becalm.hosts.guest",
    "becalm.hosts.cluster",
    "becalm.load.live",
    "becalm.wording.history",
    "becalm.wording.regions",
    "becalm.nouns.regions",
    "becalm.nouns.settings_change",
    "becalm.nouns.timeline",
    "becalm.nouns.design_fit",
    "becalm.nouns.survey",
    "becalm.nouns.tune_verdict",
)
"""What no start of a measurement needs."""


def imported(directory: Path, prepared: str, words: Sequence[str]) -> list[str]:
    """The modules of a process that runs `becalm` with these words."""
    done = subprocess.run(
        [sys.executable, "-c", f"{prepared}\nsys.argv = {['becalm', *words]!r}\n{START}"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(directory), "BECALM_STORE": str(directory / "becalm.db")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout, done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def beyond(found: Sequence[str], never: Sequence[str]) -> list[str]:
    """Those of the modules that are in one of these packages."""
    return [name for name in found if any(name == each or name.startswith(f"{each}.") for each in never)]


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (["compare", "true", "false"], 144),
        (["run", "--", "true"], 138),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_before_the_first_run(tmp_path: Path, words: list[str], most: int) -> None:
    """`run` and `compare` have imported nothing of searches, designs and reports, and no library of theirs."""
    found = imported(tmp_path, FIRST_RUN, words)
    assert beyond(found, NEVER) == []
    own = [name for name in found if name.startswith("becalm.")]
    assert len(own) <= most, own


@pytest.mark.parametrize("words", [["compare", "--runs", "40", "true", "false"], ["run", "--", "true"]], ids=" ".join)
def test_values_are_made_without_compiling(tmp_path: Path, words: list[str]) -> None:
    """Frozen values of a short measurement are made by `becalm.values`, which compiles what is used."""
    assert imported(tmp_path, COMPILED, words) == []


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["compare", "--help"], ["run", "--help"]], ids=" ".join)
def test_without_a_store(tmp_path: Path, words: list[str]) -> None:
    """Help needs neither arrays nor the database nor a terminal library."""
    assert beyond(imported(tmp_path, AT_THE_END, words), (*NEVER, *STORELESS)) == []


@pytest.mark.parametrize("runs", ["3", "40"])
@pytest.mark.parametrize("words", [["compare", "true", "true"], ["run", "--", "true"]], ids=lambda given: given[0])
def test_a_whole_measurement(tmp_path: Path, words: list[str], runs: str) -> None:
    """What is computed and said of a short one needs no page, and no masked arrays, which numpy's median imports."""
    found = imported(tmp_path, AT_THE_END, [words[0], "--runs", runs, "--warmup", "0", *words[1:]])
    assert "becalm.stats.arrays" in found
    assert beyond(found, ("numpy.ma", "scipy", "jinja2", "matplotlib", "importlib.resources")) == []


def test_list(tmp_path: Path) -> None:
    """`list` reads the store and draws a table; it computes nothing."""
    assert beyond(imported(tmp_path, AT_THE_END, ["list"]), ("scipy", "jinja2", "becalm.stats.paired")) == []


LAST = """
import atexit, sys, threading, time
from becalm import __main__ as command

{before}
class Last:
    def __del__(self):
        print("taken apart", file=sys.__stdout__, flush=True)

kept = Last()

def later():
    while command._code is None:
        time.sleep(0.01)
    atexit.register(print, "at exit", flush=True)
    print("thread", flush=True)

threading.Thread(target=later).start()
sys.argv = ["becalm", *{arguments}]
command.main()
"""
BEFORE = 'atexit.register(print, "registered before", flush=True)'


@pytest.mark.parametrize(
    ("before", "arguments", "code", "said"),
    [
        ("", ["--version"], 0, ["thread", "at exit"]),
        ("", ["--nonsense"], 2, ["thread", "at exit"]),
        (BEFORE, ["--version"], 0, ["thread", "at exit", "registered before", "taken apart"]),
    ],
)
def test_the_process_ends_when_threads_and_exit_handlers_have(before, arguments, code, said):
    """Modules are then not taken apart one by one, unless somebody is to be called after becalm's own handler."""
    script = LAST.format(before=before, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert [line for line in done.stdout.splitlines() if not line.startswith("becalm")] == said


def test_a_store_is_closed_before_the_process_ends(tmp_path):
    """Otherwise its write-ahead log stays beside it."""
    command = ["run", "--runs", "2", "--warmup", "0", "--store", str(tmp_path / "runs.db"), "--", "true"]
    subprocess.run([sys.executable, "-m", "becalm", *command], check=True, capture_output=True)
    assert [each.name for each in tmp_path.iterdir()] == ["runs.db"]
