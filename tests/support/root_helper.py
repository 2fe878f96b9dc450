"""Talking to `becalm-helper` as an agent does, and finding what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.support.talk import Answer, Requests

from becalm.hosts.root_helper import packaged


class Helper(Requests):
    """A conversation with a helper that sudo has started for the user of this number."""

    def __init__(self, uid: int, *, environment: dict[str, str] | None = None, greet: bool = True) -> None:
        self.process = subprocess.Popen(
            [packaged()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"SUDO_UID": str(uid), **(environment or {})},
            cwd="/",
        )
        self.greeting = self._line()
        if greet:
            self.done("hello", protocol=1, title="a test", interrupt_wait_s=0.2)

    def raw(self, line: bytes) -> Answer:
        """Send a line as it is; return the answer."""
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return self._line()

    def ask(self, do: str, **fields: Any) -> Answer:
        """Send a request; return its answer, done or error."""
        return self.raw(json.dumps({"do": do, **fields}).encode())

    def close(self) -> int:
        """Close its input, and wait for its end; return its exit code."""
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()
        code = self.process.wait()
        self.process.stderr.close()
        return code

    def _line(self) -> Answer:
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        answer: Answer = json.loads(line)
        return answer


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started and that are its own still."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def ranks(pid: int) -> tuple[int, int]:
    """Return nice value and scheduling policy of a process."""
    return os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)
