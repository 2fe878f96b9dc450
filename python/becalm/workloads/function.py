"""A function as a program: each run is a fresh process that times calls of it, as pyperf's `bench_func` does.

The function is pickled into the argument list of `function_worker`, so that a stored study contains it. A function of a
module is pickled by its name, any other (a lambda, one of a script or a notebook) completely, by cloudpickle. Calls are
repeated so that a run takes WORK_S; the metric is the time of one call.
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import cloudpickle  # type: ignore[import-untyped,unused-ignore]

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads import function_worker
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.script import account, call, interpreter

WORK_S = 0.1
"""The least time of the calls in one run, s, as in pyperf (--min-time)."""

LARGEST = 100_000
"""The largest argument, in bytes (MAX_ARG_STRLEN of the kernel is 128 KiB, execve(2))."""

TIME = '"becalm_call_s": *([0-9.eE+-]+),unit=s,name=time of a call'
"""The metric in the last line of a worker's output, after the output of the function."""


def open_function(function: Callable[[], object], program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the workload of a function without arguments.

    Raises UsageError for a function that cannot be pickled, WorkloadError if it fails in another process.
    """
    # The name does not include the enclosing function, or the brackets of <lambda>, which nobody types.
    qualified = str(getattr(function, "__qualname__", None) or type(function).__qualname__)
    name = qualified.rpartition("<locals>.")[2].strip("<>")
    text = packed(function, name)
    python = interpreter(program_options.python)
    worker = [python, str(Path(function_worker.__file__)), text]
    argv = [*worker, str(_calls(worker, name, program_options))]
    return (program_options.workload(argv, name=name, metrics=(metric(TIME),)),)


def packed(function: Callable[[], object], name: str) -> str:
    """Return a function as text, with the import paths that it needs. Raises UsageError."""
    try:
        body = cloudpickle.dumps(function)
    except Exception as error:  # Objects that cannot be pickled raise errors of any kind.
        raise UsageError(
            f"The function {name} cannot be pickled for another process: {error}. Create what it needs inside the "
            "function, or measure a script."
        ) from None
    text = base64.b64encode(zlib.compress(pickle.dumps((sys.path, body)))).decode()
    if len(text) > LARGEST:
        raise UsageError(
            f"The function {name} has {len(text):,} bytes of data, more than the limit of {LARGEST:,}. Have it read "
            "them from a file."
        )
    return text


def _calls(worker: list[str], name: str, program_options: ProgramOptions) -> int:
    """Return the number of calls for one run. Raises WorkloadError with the function's output."""
    answer = call([*worker, f"calibrate:{WORK_S}"], program_options, account(program_options.user))
    lines = answer.stdout.splitlines()
    try:
        return int(json.loads(lines[-1])["becalm_calls"]) if answer.status == 0 else _failed(name, answer.last_lines())
    except (IndexError, KeyError, TypeError, ValueError):
        return _failed(name, answer.last_lines())


def _failed(name: str, lines: str) -> int:
    raise WorkloadError(f"The function {name} failed when it was called in a new process. {lines}")
