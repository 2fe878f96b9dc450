"""Known load on this machine, made by the process `becalm-agent load`.

`Loading` is that process: the load is up when its constructor returns, and `end` returns what it really did. It has the
rights of the caller, and dies with becalm.
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
from becalm.nouns.demand import Demand, LoadResult


class Loading:
    """Load that is being made."""

    def __init__(self, demand: Demand, time_ns: int | None = None, command: Sequence[str] = ()) -> None:
        """Start the load and wait until it is up; then `command` runs, and its end ends the load.

        `time_ns` counts from the start, not from when the load is up. Raises UsageError for an invalid demand,
        MachineError for one that this machine cannot meet.
        """
        if demand.empty:
            raise UsageError("Which load? For example two CPUs: --cpu 2.")
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
        self._result: LoadResult | None = None
        try:
            event = self._next()
        except BaseException:
            self.close()
            raise
        if event["event"] != "started":
            self._finish(event)

    def __enter__(self) -> Loading:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def wait(self) -> LoadResult:
        """Wait until the time or the command is over. Ctrl-C ends the load; a command gets it, too."""
        while self._result is None:
            try:
                self._finish(self._next())
            except KeyboardInterrupt:
                self._signal(signal.SIGINT)
        return self._result

    def end(self) -> LoadResult:
        """End the load now."""
        if self._result is None:
            self._signal(signal.SIGTERM)
        return self.wait()

    def close(self) -> None:
        """End the load in any state."""
        self._signal(signal.SIGTERM)
        # Its report does not matter any more, but is read to the end so that the process can write it.
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
                "The load was ended by somebody before it could report what it did: its process was killed. "
                "Its own processes ended with it."
            )
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "error":
            raise (UsageError if event["kind"] == "usage" else MachineError)(event["message"])
        return event

    def _finish(self, event: dict[str, Any]) -> None:
        self._result = LoadResult.from_json(event)
