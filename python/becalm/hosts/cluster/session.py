"""The worker's side of a cluster: one task holds the machine, starts the agent, and carries its lines.

`serve` is the task. The front calls `send` and `take` through the scheduler, on the worker's event loop. The agent's
input is closed, whereupon it restores everything, when the front asks for that, when the front has not called for
SILENCE_S, and when the worker ends in any way. No line is parsed or changed here, and no shell is started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import socket
import subprocess
import threading
from collections import deque
from pathlib import Path
from typing import Any

from becalm import system_clock
from becalm._version import VERSION
from becalm.hosts.agent import agent_path
from becalm.hosts.root_helper import helper_path

SILENCE_S = 60.0
"""The silence after which the front counts as gone, s, as over ssh."""

_lock = threading.Lock()
_sessions: dict[str, Session] = {}


class Session:
    """The lines to and from one agent, shared by the task's thread, the reader's thread and the event loop."""

    def __init__(self) -> None:
        self.outward: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.started = False
        self.ended = ""
        self.heard = system_clock.monotonic()
        self._lines: deque[bytes] = deque()
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def put(self, line: bytes) -> None:
        """Add a line from the agent."""
        self._lines.append(line)
        self.wake()

    def wake(self) -> None:
        """Wake up a waiting `take`."""
        if (waiting := self._waiting) is not None:
            loop, event = waiting
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)

    def drain(self) -> list[bytes]:
        """Return the lines from the agent since the last call."""
        result = []
        while self._lines:
            result.append(self._lines.popleft())
        return result

    async def wait(self, most_s: float) -> None:
        """Wait until there are lines or the agent has ended, at most `most_s` seconds."""
        event = asyncio.Event()
        self._waiting = asyncio.get_running_loop(), event
        if not self._lines and not self.ended:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), most_s)
        self._waiting = None


def _session(key: str) -> Session:
    """Return the session of a key; the first caller, task or front, creates it."""
    with _lock:
        return _sessions.setdefault(key, Session())


def serve(key: str, options: list[str], sudo: bool = False) -> str:
    """Run `becalm-agent serve` with these options until its input is closed, as a task. Return how it ended."""
    session = _session(key)
    command = [agent_path(), "serve", *options]
    if sudo and os.geteuid() != 0:
        command += ["--helper", helper_path()]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0, pass_fds=())
    except OSError as error:
        session.ended = f"cannot be started: {command[0]}: {error.strerror}"
        session.wake()
        return session.ended
    assert process.stdin is not None
    assert process.stdout is not None
    session.started, session.heard = True, system_clock.monotonic()
    reader = threading.Thread(target=_read, args=(process, session), name="becalm-lines", daemon=True)
    reader.start()
    with contextlib.suppress(OSError):
        while reader.is_alive() and system_clock.monotonic() - session.heard < SILENCE_S:
            with contextlib.suppress(queue.Empty):
                line = session.outward.get(timeout=1.0)
                if line is None:
                    break
                process.stdin.write(line)
                process.stdin.flush()
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        code = process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    reader.join(10)
    session.ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    session.wake()
    return session.ended


def _read(process: subprocess.Popen[bytes], session: Session) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        session.put(line)
    # Tell the task that the reader has ended.
    session.outward.put(None)


def send(key: str, line: bytes | None) -> bool:
    """Send a line to the agent; None closes its input. Return False when it has ended."""
    session = _session(key)
    session.heard = system_clock.monotonic()
    session.outward.put(line)
    return not session.ended


async def take(key: str, most_s: float) -> tuple[list[bytes], bool, str]:
    """Return the agent's lines since the last call, whether it has started, and how it ended (empty: it runs).

    Waits up to `most_s` seconds for that. Lines that do not reach the front are lost.
    """
    session = _session(key)
    session.heard = system_clock.monotonic()
    await session.wait(most_s)
    ended = session.ended
    lines = session.drain()
    if ended:
        with _lock:
            _sessions.pop(key, None)
    return lines, session.started, ended


def boot_id() -> str:
    """Return the id of this boot of this machine (random(4)); empty where it cannot be read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def describe() -> dict[str, Any]:
    """Return the facts about a worker that the front needs before it uses it."""
    import dask

    return {
        "version": VERSION,
        "hostname": socket.gethostname(),
        "boot_id": boot_id(),
        "pid": os.getpid(),
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "profiled": bool(dask.config.get("distributed.worker.profile.enabled", True)),
    }
