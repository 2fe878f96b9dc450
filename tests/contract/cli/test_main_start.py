"""The modules that a command has imported when its first program is asked for, or when it ends without any.

Counted, not timed: an import that a start does not need is seen here on any machine, and named.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.places import ROOT
from tests.waiting import HANG_LIMIT_S

# One worker, which measures once for all tests of this file.
pytestmark = pytest.mark.xdist_group("main-start")

OBSERVED = """
import atexit, json, sys
from becalm.hosts.agent import AgentHost

measured = AgentHost.measure
first = []

def measure(*arguments, **options):
    first.append(sorted(sys.modules))
    return measured(*arguments, **options)

def report():
    modules = sorted(sys.modules)
    print(json.dumps({"first": first[0], "end": modules}), file=sys.__stdout__)

AgentHost.measure = measure
atexit.register(report)
"""
"""A module that prints, at the end, the modules when the first block was asked for, and those at the end."""

AT_THE_END = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.__stdout__, flush=True))
"""

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
    "becalm.results.regions",
    "becalm.results.settings",
    "becalm.results.history",
    "becalm.results.design_fit",
    "becalm.results.survey",
    "becalm.results.tune",
)
"""The modules that no start of a measurement needs."""


def reported(directory: Path, prepared: str, words: Sequence[str]) -> Any:
    """Return what a process that runs `becalm` with these words prints last, decoded."""
    done = subprocess.run(
        [sys.executable, "-c", f"{prepared}\nsys.argv = {['becalm', *words]!r}\n{START}"],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(directory),
            "BECALM_STORE": str(directory / "becalm.db"),
            "PYTHONPATH": str(ROOT / "python"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_LIMIT_S,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def beyond(modules: Sequence[str], never: Sequence[str]) -> list[str]:
    """Return those of the modules that are in one of these packages."""
    return [name for name in modules if any(name == package or name.startswith(f"{package}.") for package in never)]


class Measured(NamedTuple):
    """A measurement that was observed, and the directory of its store."""

    verb: str
    observed: dict[str, list[str]]
    directory: Path


MEASUREMENTS = {
    f"{verb} {runs}": (verb, "--runs", runs, "--warmup", "0", *programs)
    for verb, programs in (("compare", ("true", "true")), ("run", ("--", "true")))
    for runs in ("3", "40")
}


@pytest.fixture(scope="module", params=MEASUREMENTS)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Measure in a process of its own, once for all tests of this file."""
    words, directory = MEASUREMENTS[request.param], tmp_path_factory.mktemp("measured")
    return Measured(words[0], reported(directory, OBSERVED, words), directory)


MOST = {"compare": 187, "run": 170}


def test_before_the_first_run(measured: Measured) -> None:
    """`run` and `compare` have imported nothing of searches, designs and reports, and no library of theirs."""
    modules = measured.observed["first"]
    assert beyond(modules, NEVER) == []
    own = [name for name in modules if name.startswith("becalm.")]
    assert len(own) <= MOST[measured.verb], own


def test_a_whole_measurement(measured: Measured) -> None:
    """The results of a short one need no page, and no masked arrays, which numpy's median imports."""
    modules = measured.observed["end"]
    assert "becalm.stats.arrays" in modules
    assert beyond(modules, ("numpy.ma", "scipy", "jinja2", "matplotlib", "importlib.resources")) == []


def test_a_store_is_closed_before_the_process_ends(measured: Measured) -> None:
    """Otherwise its write-ahead log stays next to it."""
    assert [path.name for path in measured.directory.glob("*.db*")] == ["becalm.db"]


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["compare", "--help"], ["run", "--help"]], ids=" ".join)
def test_without_a_store(tmp_path: Path, words: list[str]) -> None:
    """Help needs neither arrays nor the database nor a terminal library."""
    assert beyond(reported(tmp_path, AT_THE_END, words), (*NEVER, *STORELESS)) == []


def test_starting_imports_nothing_heavy() -> None:
    """The modules of the verbs need no library that takes time to load."""
    script = "import json, sys, becalm.cli.main, becalm.cli.compare, becalm.cli.run; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert beyond(json.loads(done.stdout), ("numpy", "scipy", "sqlite3", "rich")) == []


def test_list(tmp_path: Path) -> None:
    """`list` reads the store and draws a table; it computes nothing."""
    assert beyond(reported(tmp_path, AT_THE_END, ["list"]), ("scipy", "jinja2", "becalm.stats.paired")) == []


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
    ("before", "arguments", "code", "message"),
    [
        ("", ["--version"], 0, ["thread", "at exit"]),
        ("", ["--nonsense"], 2, ["thread", "at exit"]),
        (BEFORE, ["--version"], 0, ["thread", "at exit", "registered before", "taken apart"]),
    ],
)
def test_the_process_ends_when_threads_and_exit_handlers_have(before, arguments, code, message):
    """Modules are then not taken apart one by one, unless somebody is to be called after becalm's own handler."""
    script = LAST.format(before=before, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert [line for line in done.stdout.splitlines() if not line.startswith("becalm")] == message
