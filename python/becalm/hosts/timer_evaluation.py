"""The evaluation of this machine's timers: `becalm-agent clock` as a process that tells what it finds, line by line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.hosts.agent import agent_path


def evaluate(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Events of the engine, as they come (docs/reference/protocol.md); ends the process when it is closed.

    Raises UsageError for a name that is none, MachineError where nothing can be measured.
    """
    line = [agent_path(), "clock", json.dumps(request)]
    try:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise MachineError(f"The agent cannot be started: {line[0]}: {error.strerror}.") from error
    assert process.stdout is not None
    last = ""
    try:
        for text in process.stdout:
            if not text.endswith(b"\n"):
                # It was ended while it wrote this.
                last = ""
                break
            event: dict[str, Any] = json.loads(text)
            last = event["event"]
            if last == "error":
                raise (UsageError if event["usage"] else MachineError)(event["message"])
            yield event
    finally:
        process.terminate()
        process.stdout.close()
        process.wait()
    if last != "done":
        raise MachineError(
            "The evaluation of timers was ended by somebody before it was done: its process was killed. What was "
            "measured is kept: becalm clock --resume goes on."
        )
