"""The cells of an evaluation of timers, stored as they end, so that an interrupted evaluation can be resumed.

A file in the state directory has the last evaluation: a first line with the question, then a line of JSON for each
event. A truncated line is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from becalm import paths
from becalm.errors import MachineError


class TimerCells:
    """The file of the last evaluation."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.state_dir() / "clock.jsonl"

    def begin(self, question: Mapping[str, Any]) -> None:
        """Replace the last evaluation by a new one. Raises MachineError."""
        self._write(question, "w")

    def add(self, event: Mapping[str, Any]) -> None:
        """Append an event. Raises MachineError."""
        self._write(event, "a")

    def read(self, question: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the events of the last evaluation; none if it had another question."""
        values = self._lines()
        return values[1:] if values and values[0] == dict(question) else []

    def _lines(self) -> list[dict[str, Any]]:
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise MachineError(f"{self.path} cannot be read: {error.strerror}.") from error
        return [value for value in map(_value, lines) if value is not None]

    def _write(self, value: Mapping[str, Any], mode: str) -> None:
        try:
            with self.path.open(mode, encoding="utf-8") as file:
                file.write(json.dumps(value) + "\n")
        except OSError as error:
            raise MachineError(f"{self.path} cannot be written: {error.strerror}.") from error


def _value(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
