"""The evaluation of a machine's timers by the engine, event by event (docs/reference/protocol.md).

`evaluate` here: by `becalm-timers`, which is linked dynamically and loads PAPI; where that cannot start, by the agent,
with the reason. `evaluate_on` another machine: by its agent, which starts itself as a program there.
"""

from __future__ import annotations

import importlib.resources
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
    """Return the executable inside the installed package."""
    return str(importlib.resources.files("becalm") / "becalm-timers")


def evaluate(request: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of this machine's evaluation, as they come; closing it ends the process.

    Raises UsageError for a name that is none, MachineError where nothing can be measured.
    """
    try:
        yield from _told([timers_path(), json.dumps(request)])
    except _NotStarted as why:
        asked = {**request, "no_papi": f"becalm-timers, which loads PAPI, cannot start here: {why}"}
        try:
            yield from _told([agent_path(), "clock", json.dumps(asked)])
        except _NotStarted as reason:
            raise MachineError(f"The agent cannot be started: {agent_path()}: {reason}.") from reason


def evaluate_on(host: Host, request: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of another host's evaluation. Raises as `evaluate`, and UsageError without a machine."""
    # Simulated machines have CPUs to place programs on, but none that exists.
    if (host.facts().get("cpu") or {}).get("count") is None:
        raise UsageError(
            f"{host.name} has no processor whose timers could be evaluated. Name a machine: --host ssh://…"
        )
    host.define([Workload.of([AGENT, "clock", json.dumps(request)], output=Output.INHERIT, expect=None)], [Settings()])
    events = host.measure(MeasureRequest(0, Block((Step(0, 0, 0, 0),)), stop_on_failure=False))
    yield from _parsed(_lines(events))


class _NotStarted(Exception):
    """A program that did not come as far as its first event, and why."""


def _told(line: list[str]) -> Iterator[Event]:
    """Yield the events of a program. Raises _NotStarted, and what `evaluate` does."""
    try:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise _NotStarted(error.strerror) from error
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        first = process.stdout.readline()
        if not first and process.wait() == CANNOT_LOAD:
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            raise _NotStarted(said[-1] if said else f"exit code {CANNOT_LOAD}")
        yield from _parsed(text for part in ((first,), process.stdout) for text in part)
    finally:
        process.terminate()
        process.stdout.close()
        process.stderr.close()
        process.wait()


CANNOT_LOAD = 127
"""The exit code of the dynamic linker for missing or too old libraries (ld.so)."""


def _lines(events: Iterable[Any]) -> Iterator[bytes]:
    """Yield the whole lines of a program's standard output, as they come; an error has its last words."""
    begun, said = "", ""
    for event in events:
        match event:
            case Written("stdout", text):
                *whole, begun = (begun + text).split("\n")
                yield from (f"{each}\n".encode() for each in whole)
            case Written(_, text):
                said += text
            case RunText(_, stderr):
                said += stderr
    if said.strip():
        raise MachineError(f"The evaluation ended on the host: {said.strip().splitlines()[-1]}")


def _parsed(lines: Iterable[bytes]) -> Iterator[Event]:
    last = ""
    for text in lines:
        if not text.endswith(b"\n"):
            # It was ended while it wrote this.
            last = ""
            break
        event: Event = json.loads(text)
        last = event["event"]
        if last == "error":
            raise (UsageError if event["usage"] else MachineError)(event["message"])
        yield event
    if last != "done":
        raise MachineError(
            "The evaluation of timers was ended by somebody before it was done: its process was killed. What was "
            "measured is kept: becalm clock --resume goes on."
        )
