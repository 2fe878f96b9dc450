"""The source `pytest-benchmark`: tests with the fixture `benchmark`, each as a process of its own that times itself.

What is measured is the median of a run's rounds, as `--benchmark-json` has it (pytest-benchmark's documentation,
"Usage"), of TIME_S of rounds in a fresh process. To find the names the tests are run once, a round each.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads.asked import ProgramOptions
from becalm.workloads.script import account, answers, call, chosen, interpreter, parts

TIME_S = 0.2
"""The time of rounds in one run, s: less than pytest-benchmark's second, since there are many runs."""

# Nothing is written beside the tests, and another plugin's processes would turn timing off.
_QUIET = ("-q", "-p", "no:cacheprovider", "--benchmark-only", "--benchmark-warmup=off", "--benchmark-min-rounds=1")


def open_pytest_benchmark(text: str, asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of `FILE.py`, or one of them with `FILE.py:NAME`, in pytest's order.

    A name is what pytest writes behind the file: `test_sort`, `TestList::test_sort[100]`. Raises UsageError for no such
    file or benchmark, WorkloadError when a test fails.
    """
    path, name = parts(text, asked, "Name a file with tests: pytest-benchmark:test_speed.py")
    path = Path(os.path.abspath(path))
    python = interpreter(asked.python)
    found = {name: name for name in _names(path, python, asked)}
    return tuple(_workload(path, python, each, asked) for each in chosen(found, name, path))


def _names(path: Path, python: str, asked: ProgramOptions) -> list[str]:
    owner = account(asked.user)
    with answers(owner) as folder:
        out = folder / "benchmarks.json"
        few = ("--benchmark-max-time=0", "--benchmark-min-time=1e-9", "--benchmark-calibration-precision=1")
        said = call([python, "-m", "pytest", str(path), *_QUIET, *few, f"--benchmark-json={out}"], asked, owner)
        try:
            entries = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
        except (OSError, ValueError, KeyError, TypeError):
            entries = []
    if said.status not in (0, _NOTHING):
        raise _failed(path, python, asked, said.stdout + said.stderr, said.last_lines())
    if not entries:
        raise UsageError(f"{path} has no test that uses pytest-benchmark's fixture `benchmark`.")
    return list(dict.fromkeys(str(entry["fullname"]).partition("::")[2] for entry in entries))


_NOTHING = 5
"""pytest's exit code where no test was run."""


def _failed(path: Path, python: str, asked: ProgramOptions, text: str, last: str) -> UsageError | WorkloadError:
    for module in ("pytest", "pytest_benchmark"):
        look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        if call([python, "-c", look], asked, account(asked.user)).status == 1:
            package = module.replace("_", "-")
            return WorkloadError(
                f"{python} has no {package}, which {path.name} needs. Install it: {python} -m pip install {package}. "
                "Or name the interpreter that has it: --python PATH."
            )
    return WorkloadError(f"The tests in {path} failed when they were asked for their benchmarks. {last}")


def _workload(path: Path, python: str, name: str, asked: ProgramOptions) -> Workload:
    argv = [
        python,
        "-m",
        "pytest",
        f"{path}::{name}",
        *_QUIET,
        f"--benchmark-max-time={TIME_S}",
        "--benchmark-json=/dev/stdout",
    ]
    time = metric('"median": *([0-9.eE+-]+),unit=s,name=median of the rounds')
    return asked.workload(argv, name=name, metrics=(time,))
