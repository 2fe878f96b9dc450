"""The source `pytest-benchmark`: tests with the fixture `benchmark`, each as a process of its own that times itself.

The metric is the median of a run's rounds from `--benchmark-json` (pytest-benchmark's documentation, "Usage"), for
TIME_S of rounds in a fresh process. To find the names, the tests are run once, with one round each.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.script import account, answers, call, chosen, interpreter, parts

TIME_S = 0.2
"""The time of rounds in one run, s: less than pytest-benchmark's second, since there are many runs."""

# Without cache files next to the tests; processes of another plugin would turn timing off.
_QUIET = ("-q", "-p", "no:cacheprovider", "--benchmark-only", "--benchmark-warmup=off", "--benchmark-min-rounds=1")


def open_pytest_benchmark(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of `FILE.py`, or one of them with `FILE.py:NAME`, in pytest's order.

    A name is the part of pytest's identifier after the file: `test_sort`, `TestList::test_sort[100]`. Raises UsageError
    if there is no such file or benchmark, WorkloadError if a test fails.
    """
    path, name = parts(text, program_options, "Name a file with tests: pytest-benchmark:test_speed.py")
    path = Path(os.path.abspath(path))
    python = interpreter(program_options.python)
    names = {name: name for name in _names(path, python, program_options)}
    return tuple(_workload(path, python, benchmark, program_options) for benchmark in chosen(names, name, path))


def _names(path: Path, python: str, program_options: ProgramOptions) -> list[str]:
    owner = account(program_options.user)
    with answers(owner) as folder:
        out = folder / "benchmarks.json"
        few = ("--benchmark-max-time=0", "--benchmark-min-time=1e-9", "--benchmark-calibration-precision=1")
        answer = call(
            [python, "-m", "pytest", str(path), *_QUIET, *few, f"--benchmark-json={out}"], program_options, owner
        )
        try:
            entries = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
        except (OSError, ValueError, KeyError, TypeError):
            entries = []
    if answer.status not in (0, _NOTHING):
        raise _failed(path, python, program_options, answer.stdout + answer.stderr, answer.last_lines())
    if not entries:
        raise UsageError(f"{path} has no test that uses pytest-benchmark's fixture `benchmark`.")
    return list(dict.fromkeys(str(entry["fullname"]).partition("::")[2] for entry in entries))


_NOTHING = 5
"""The exit code of pytest if no test was run."""


def _failed(
    path: Path, python: str, program_options: ProgramOptions, text: str, last: str
) -> UsageError | WorkloadError:
    for module in ("pytest", "pytest_benchmark"):
        look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        if call([python, "-c", look], program_options, account(program_options.user)).status == 1:
            package = module.replace("_", "-")
            return WorkloadError(
                f"{python} has no {package}, which {path.name} needs. Install it: {python} -m pip install {package}. "
                "Or name the interpreter that has it: --python PATH."
            )
    return WorkloadError(f"The tests in {path} failed when pytest listed their benchmarks. {last}")


def _workload(path: Path, python: str, name: str, program_options: ProgramOptions) -> Workload:
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
    return program_options.workload(argv, name=name, metrics=(time,))
