"""Talking to an agent that acts on a directory or on this machine, and finding the processes that it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.contract.conversation import children, name_of
from tests.waiting import wait_ended

from becalm.hosts.agent import agent_path

Answer = dict[str, Any]


class Requests:
    """Requests to a process, each of which is answered by `done` or `error`."""

    process: subprocess.Popen[bytes]

    def ask(self, do: str, **fields: Any) -> Answer:
        """Send a request; return its answer."""
        raise NotImplementedError

    def close(self) -> object:
        """End the process."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    def done(self, do: str, **fields: Any) -> Answer:
        """Send a request; return its answer, which must not be an error."""
        answer = self.ask(do, **fields)
        assert answer["event"] == "done", answer
        return answer

    def error(self, do: str, **fields: Any) -> Answer:
        """Send a request; return its answer, which must be an error."""
        answer = self.ask(do, **fields)
        assert answer["event"] == "error", answer
        return answer


class Agent(Requests):
    """A conversation.

    `root`: the directory that it takes for the machine's; `wait`: seconds that interrupts may take to be back; `under`:
    a command that starts it.
    """

    def __init__(
        self,
        root: Path | None = None,
        *,
        title: str = "a test",
        wait: float = 0.2,
        under: Sequence[str] = (),
        **popen: Any,
    ) -> None:
        options = [] if root is None else ["--root", str(root)]
        self.process = subprocess.Popen(
            [*under, agent_path(), "serve", "--interrupt-wait", str(wait), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            **popen,
        )
        self.number = 0
        self.greeting = json.loads(self.process.stdout.readline())
        version = self.greeting["protocol"]
        done = self.ask("open", protocol=version, environment={"PATH": os.environ["PATH"]}, directory="/", title=title)
        assert done["event"] == "done", done

    @property
    def pid(self) -> int:
        number: int = self.greeting["pid"]
        return number

    def send(self, do: str, **fields: Any) -> int:
        self.number += 1
        self.process.stdin.write(json.dumps({"id": self.number, "do": do, **fields}).encode() + b"\n")
        self.process.stdin.flush()
        return self.number

    def ask(self, do: str, **fields: Any) -> Answer:
        """Send a request; return the event that ends it, done or error."""
        number = self.send(do, **fields)
        while True:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read().decode()
            event: Answer = json.loads(line)
            if event.get("id") == number and event["event"] in ("done", "error"):
                return event

    def define(self, settings: list[Answer], argv: tuple[str, ...] = ("true",)) -> Answer:
        return self.ask("define", workloads=[{"argv": list(argv)}], settings=settings, dangerous=True)

    def kill(self) -> None:
        """Kill it, and wait for its end, and that of the processes that start programs: they share its files, and so
        have the machine's lock a little longer."""
        shares = [pid for pid in children(self.pid) if name_of(pid) in ("becalm-agent", "becalm-spawner")]
        self.process.kill()
        self.process.wait()
        for pid in shares:
            wait_ended(pid)
        self.forget()

    def forget(self) -> None:
        """Close our ends of its pipes."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def close(self) -> None:
        """End it as becalm does, by closing its input."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        wait_ended(self.pid)
        self.process.wait()
        self.forget()


def lock_of(root: Path | None) -> Path:
    return (root or Path("/")) / "run/becalm/lock"


def holders(root: Path | None, name: str = "") -> list[int]:
    """Return the processes of this name, or of any, that have the machine's lock file open."""
    lock = str(lock_of(root).resolve())
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if name and (entry / "comm").read_text().strip() != name:
                    continue
                if any(leads(descriptor.path) == lock for descriptor in os.scandir(entry / "fd")):
                    pids.append(int(entry.name))
    return pids


def leads(descriptor: str) -> str:
    """Return the file of a descriptor; the empty string when it was just closed."""
    with contextlib.suppress(OSError):
        return os.readlink(descriptor)
    return ""


def guards(root: Path | None) -> list[int]:
    """Return the guards of this machine."""
    return holders(root, "becalm-guard")


def processes_of(root: Path, *names: str) -> list[int]:
    """Return the processes of these names that serve this machine: they have the words of their agent."""
    pids = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if str(root).encode() in words and (entry / "comm").read_text().strip() in names:
                pids.append(int(entry.name))
    return [pid for pid in pids if runs(pid)]


def end(pid: int) -> None:
    """Kill a process that is not our child, and wait until it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_ended(pid)


def kill_with_guards(agent: Agent, root: Path, trial: int) -> None:
    """Kill an agent and its guards, by the number of the trial in either order, or every fifth time the agent only."""
    victims = [agent.pid, *guards(root)]
    for pid in victims if trial % 2 else reversed(victims):
        if trial % 5 == 0 and pid != agent.pid:
            continue
        os.kill(pid, signal.SIGKILL) if pid == agent.pid else end(pid)
    agent.process.wait()
    agent.forget()


def runs(pid: int) -> bool:
    """Return whether a process has not ended; init may be slow to collect those that have."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
