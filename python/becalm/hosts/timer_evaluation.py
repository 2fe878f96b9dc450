"""The evaluation of a machine's timers by the engine, event by event (docs/reference/protocol.md).

`evaluate` runs `becalm-timers` on this machine, which is linked dynamically and loads PAPI; if that cannot start, the
agent evaluates timers, with the reason. `evaluate_on` has the agent of another machine start itself as a program there.
"""

from __future__ import annotations

import importlib.resources
import itertools
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.hosts.agent import agent_path
from becalm.hosts.events import RunText, Written
from becalm.hosts.protocol import Host, MeasureRequest
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import AGENT, Output, Workload

Event = dict[str, Any]


def timers_path() -> str:
    """Return the path of `becalm-timers` in the installed package."""
    return str(importlib.resources.files("becalm") / "becalm-timers")


def evaluate(request: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of this machine's evaluation as they come; closing the generator ends the process.

    Raises UsageError for an unknown name, MachineError if nothing can be measured.
    """
    try:
        yield from _run([timers_path(), json.dumps(request)])
    except _NotStarted as error:
        fallback = {**request, "no_papi": f"becalm-timers, which loads PAPI, cannot start here: {error}"}
        try:
            yield from _run([agent_path(), "clock", json.dumps(fallback)])
        except _NotStarted as reason:
            raise MachineError(f"The agent cannot be started: {agent_path()}: {reason}.") from reason


def evaluate_on(host: Host, request: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of another host's evaluation. Raises as `evaluate`, and UsageError without a machine."""
    # Simulated machines have no real CPUs.
    if (host.facts().get("cpu") or {}).get("count") is None:
        raise UsageError(
            f"{host.name} has no processor whose timers could be evaluated. Name a machine: --host ssh://…"
        )
    host.define([Workload.of([AGENT, "clock", json.dumps(request)], output=Output.INHERIT, expect=None)], [Settings()])
    events = host.measure(MeasureRequest(0, Block((Step(0, 0, 0, 0),)), stop_on_failure=False))
    yield from _parsed(_lines(events))


class _NotStarted(Exception):
    """An error with the reason why a program ended before its first event."""


def _run(line: list[str]) -> Iterator[Event]:
    """Run a program and yield its events. Raises _NotStarted, and the errors of `evaluate`."""
    try:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise _NotStarted(error.strerror) from error
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        first = process.stdout.readline()
        # The dynamic linker ends with 127 for a library that is missing, with 1 for one that is too old (elf/rtld.c).
        if not first and process.wait() > 0:
            lines = process.stderr.read().decode(errors="replace").strip().splitlines()
            raise _NotStarted(lines[-1] if lines else f"exit code {process.returncode}")
        yield from _parsed(itertools.chain((first,), process.stdout))
    finally:
        process.terminate()
        process.stdout.close()
        process.stderr.close()
        process.wait()


def _lines(events: Iterable[Any]) -> Iterator[bytes]:
    """Yield the lines of a program's standard output as they come. Raises MachineError with its last error message."""
    partial, errors = "", ""
    for event in events:
        match event:
            case Written("stdout", text):
                *lines, partial = (partial + text).split("\n")
                yield from (f"{line}\n".encode() for line in lines)
            case Written(_, text):
                errors += text
            case RunText(_, stderr):
                errors += stderr
    if errors.strip():
        raise MachineError(f"The evaluation ended on the host: {errors.strip().splitlines()[-1]}")


def _parsed(lines: Iterable[bytes]) -> Iterator[Event]:
    last = ""
    for text in lines:
        if not text.endswith(b"\n"):
            # The program was ended while it wrote this line.
            last = ""
            break
        event: Event = json.loads(text)
        last = event["event"]
        if last == "error":
            raise (UsageError if event["usage"] else MachineError)(event["message"])
        yield event
    if last != "done":
        raise MachineError(
            "The evaluation of timers was ended early: its process was killed. Measured values are stored: becalm "
            "clock --resume continues."
        )
