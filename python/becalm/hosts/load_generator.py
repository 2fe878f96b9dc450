"""Known load on this machine while something else happens: `becalm-agent load` as a process beside.

`Loading` is the process: it is up when the call returns, and `end` says what it really did. It is an ordinary process
of whoever calls, with no more rights, and dies with becalm.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.hosts.agent import agent_path
from becalm.nouns.demand import Demand, Made


class Loading:
    """Load that is being made."""

    def __init__(self, demand: Demand, time_ns: int | None = None, command: Sequence[str] = ()) -> None:
        """Start, and wait until all of it is up; a `command` runs from then on and ends it.

        `time_ns` counts from the start, not from when all of it is up.
        Raises UsageError for a demand that makes no sense, MachineError for one that this machine cannot meet.
        """
        if demand.empty:
            raise UsageError("No load was asked for. Say how much of what, for example two processors: --cpu 2.")
        reading, writing = os.pipe()
        line = [agent_path(), "load", json.dumps(demand.to_json()), "--report-fd", str(writing)]
        line += [] if time_ns is None else ["--for-ns", str(time_ns)]
        line += ["--", *command] if command else []
        streams = {} if command else {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            self._process = subprocess.Popen(line, pass_fds=[writing], **streams)  # type: ignore[call-overload]
        except OSError as error:
            os.close(reading)
            raise MachineError(f"The agent cannot be started: {line[0]}: {error.strerror}.") from error
        finally:
            os.close(writing)
        self._report = os.fdopen(reading, "rb")
        self._made: Made | None = None
        try:
            self._said = self._next()
        except BaseException:
            self.close()
            raise
        if self._said["event"] != "started":
            self._finish(self._said)

    def __enter__(self) -> Loading:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def wait(self) -> Made:
        """Wait for the time or the command to be over. Ctrl-C ends the load (a command gets it by itself)."""
        while self._made is None:
            try:
                self._finish(self._next())
            except KeyboardInterrupt:
                self._signal(signal.SIGINT)
        return self._made

    def end(self) -> Made:
        """End the load now."""
        if self._made is None:
            self._signal(signal.SIGTERM)
        return self.wait()

    def close(self) -> None:
        """End it and be done, whatever state it is in."""
        self._signal(signal.SIGTERM)
        # What it says does not matter any more; reading to the end lets it say it.
        with contextlib.suppress(OSError):
            self._report.read()
        self._report.close()
        self._process.wait()

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def _next(self) -> dict[str, Any]:
        line = self._report.readline()
        if not line.endswith(b"\n"):
            raise MachineError(
                "The load was ended by somebody before it could say what it did: its process was killed. "
                "Its own processes ended with it."
            )
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "error":
            raise (UsageError if event["kind"] == "usage" else MachineError)(event["message"])
        return event

    def _finish(self, event: dict[str, Any]) -> None:
        self._made = Made.from_json(event)
