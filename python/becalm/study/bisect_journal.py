"""The journal of a bisection's builds and measurements, from which a killed search continues.

Each search has a file named by a hash of its parameters (repository, good, bad, build, run), so that the same command
finds it again. Each line is JSON; a half-written last line is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from becalm.errors import MachineError
from becalm.paths import private_directory, state_dir


class Journal(msgspec.Struct, frozen=True):
    """The file of a search."""

    path: Path

    @classmethod
    def of(cls, *parameters: object) -> Journal:
        """Return the journal of the search with these parameters. Raises MachineError."""
        name = hashlib.sha256(json.dumps(parameters, default=str).encode()).hexdigest()[:24]
        return cls(private_directory(state_dir() / "bisect") / f"{name}.jsonl")

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the written lines, in order."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as error:
            raise MachineError(f"{self.path} cannot be read: {error}. Remove it, or give --again.") from None
        for line in text.split("\n")[:-1]:
            try:
                document = json.loads(line)
            except ValueError:
                return
            if isinstance(document, dict):
                yield document

    def write(self, **line: Any) -> None:
        """Add a line; it is on the disk when this returns. Raises MachineError."""
        try:
            descriptor = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise MachineError(f"{self.path} cannot be written: {error.strerror}.") from None

    def forget(self) -> None:
        """Remove the journal."""
        self.path.unlink(missing_ok=True)
