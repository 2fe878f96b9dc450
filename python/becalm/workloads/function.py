"""A function as a program: each run is a fresh process that times calls of it, as pyperf's `bench_func` does.

The function travels pickled in the argument list of `function_worker`, so that a stored study has all that it ran. One
that a module has is found again by its name there; any other (a lambda, one of a script or a notebook) is taken along
whole by cloudpickle. Calls are repeated so often that a run takes WORK_S; the time of one call is what counts.
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
from becalm.workloads.asked import ProgramOptions
from becalm.workloads.script import account, call, interpreter

WORK_S = 0.1
"""The calls of one run take at least so long, in seconds, as pyperf's own (--min-time)."""

LARGEST = 100_000
"""Bytes of one argument that a kernel takes (MAX_ARG_STRLEN is 128 KiB, execve(2))."""

TIME = '"becalm_call_s": *([0-9.eE+-]+),unit=s,name=time of a call'
"""The last line of what a worker prints; the function's own output stands before it."""


def open_function(function: Callable[[], object], asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return the workload of a function without arguments.

    Raises UsageError for one that cannot be taken to another process, WorkloadError when it fails there.
    """
    # What it stands in is no part of its name; nor are the brackets of a lambda, which nobody types.
    qualified = str(getattr(function, "__qualname__", None) or type(function).__qualname__)
    name = qualified.rpartition("<locals>.")[2].strip("<>")
    text = packed(function, name)
    python = interpreter(asked.python)
    worker = [python, str(Path(function_worker.__file__)), text]
    argv = [*worker, str(_calls(worker, name, asked))]
    return (asked.workload(argv, name=name, metrics=(metric(TIME),)),)


def packed(function: Callable[[], object], name: str) -> str:
    """Return a function as text, with the paths that its imports need. Raises UsageError."""
    try:
        body = cloudpickle.dumps(function)
    except Exception as error:  # Whatever an object raises that refuses to be pickled.
        raise UsageError(
            f"The function {name} cannot be taken to a process of its own: {error}. Make what it needs inside of it, "
            "or measure a script."
        ) from None
    text = base64.b64encode(zlib.compress(pickle.dumps((sys.path, body)))).decode()
    if len(text) > LARGEST:
        raise UsageError(
            f"The function {name} brings {len(text):,} bytes of data along, and {LARGEST:,} is the most. Have it read "
            "them from a file."
        )
    return text


def _calls(worker: list[str], name: str, asked: ProgramOptions) -> int:
    """Return how many calls one run shall have. Raises WorkloadError, with what the function said."""
    answer = call([*worker, f"calibrate:{WORK_S}"], asked, account(asked.user))
    lines = answer.stdout.splitlines()
    try:
        return int(json.loads(lines[-1])["becalm_calls"]) if answer.status == 0 else _failed(name, answer.last_lines())
    except (IndexError, KeyError, TypeError, ValueError):
        return _failed(name, answer.last_lines())


def _failed(name: str, lines: str) -> int:
    raise WorkloadError(f"The function {name} failed when it was called in a process of its own. {lines}")
