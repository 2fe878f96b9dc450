"""The front's side of a worker: a link to its agent through the cluster's scheduler, and the host of its name.

A thread keeps requesting the agent's lines, and each request waits at the worker until there are some. The requests
tell the worker that the front is alive, and fail when the worker is lost.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
from typing import Any

from becalm import system_clock
from becalm.errors import MachineError
from becalm.hosts.agent import AgentHost, Surroundings
from becalm.hosts.cluster import session
from becalm.hosts.cluster.spec import RESOURCE
from becalm.hosts.cluster.workers import Worker, find
from becalm.hosts.protocol import Access
from becalm.hosts.transport import LONGEST_LINE, Patience, TooMuchError

ASK_S = 10.0
"""The time that a request waits at the worker, s: a sixth of the silence after which the worker gives up the front."""

HELD_S = 60.0
"""The time to wait for a worker that another becalm uses, s."""

END_S = 30.0
"""The time that the agent may take to restore everything at the end, s."""


def open_worker(rest: str, access: Access) -> AgentHost:
    """Return the host `cluster:NAME` of an open cluster: a machine through the agent that its worker starts.

    Programs run as the worker's user, with its environment, and begin in its directory. Raises UsageError and
    MachineError.
    """
    worker = find(rest)
    options = ["--user", access.user] if access.user is not None else []
    options += ["--root", access.root] if access.root is not None else []
    link = WorkerLink(worker, options, access.sudo)
    try:
        link.wait()
    except BaseException:
        link.close()
        raise
    return AgentHost(f"cluster:{worker.name}", link, access, Surroundings(worker.environment, worker.directory))


class WorkerLink:
    """Lines to the agent on a worker and back. See `becalm.hosts.transport.Link`."""

    def __init__(self, worker: Worker, options: list[str], sudo: bool) -> None:
        self.worker = worker
        self._key = f"becalm-{secrets.token_hex(8)}"
        self._arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._started = threading.Event()
        self._over = ""
        self._closed = self._begun = False
        self._task: Any = worker.client.submit(
            session.serve,
            self._key,
            options,
            sudo,
            key=self._key,
            workers=[worker.address],
            resources={RESOURCE: 1},
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self._pump = threading.Thread(target=self._ask, name=f"becalm {worker.name}", daemon=True)
        self._pump.start()

    def _ask(self) -> None:
        while not self._over:
            try:
                lines, started, ended = self.worker.call(session.take, self._key, ASK_S)
            except Exception as error:
                # Dask raises many kinds of errors for a worker that does not answer.
                self._over = _unanswered(error)
                break
            if started:
                self._begun = True
                self._started.set()
            for line in lines:
                self._arrived.put(line)
            self._over = ended
        self._started.set()
        self._arrived.put(b"")

    def wait(self) -> None:
        """Wait until the agent has started. Raises MachineError if another client uses the machine."""
        if not self._started.wait(HELD_S):
            raise MachineError(
                f"{self.worker.name} has been used by something else for more than {HELD_S:.0f} s: its worker has no "
                f"free {RESOURCE!r}. Another becalm may be measuring there; try again when it is done."
            )

    def send(self, line: bytes, patience: Patience = Patience.SOON) -> None:
        """Send a whole line. Raises BrokenPipeError if the agent or its worker has ended."""
        try:
            alive = not self._over and self.worker.call(session.send, self._key, line)
        except Exception as error:
            # Known here before the thread that asks for lines knows it.
            self._over = self._over or _unanswered(error)
            raise BrokenPipeError(str(error)) from error
        if not alive:
            raise BrokenPipeError(self._over)

    def read(self, most: int = LONGEST_LINE, limit_s: float | None = None) -> bytes:
        """Return the next line; empty if the other side has ended."""
        try:
            line = self._arrived.get(timeout=limit_s)
        except queue.Empty:
            raise TimeoutError from None
        if len(line) > most:
            raise TooMuchError
        return line

    def interrupt(self, line: bytes) -> None:
        """Send a line from a thread of its own, since a signal handler must not wait for the scheduler."""

        def send() -> None:
            with contextlib.suppress(BrokenPipeError):
                self.send(line)

        threading.Thread(target=send, name="becalm-stop", daemon=True).start()

    def lost(self, host: str) -> MachineError:
        """Return the error for an agent that has ended."""
        return MachineError(
            f"The agent on {host} {self._over or 'was closed'}. The program it ran was ended with it, and the agent "
            "there restores every setting. All runs that had arrived are stored."
        )

    def close(self) -> None:
        """Close the agent's input and wait until it has restored everything."""
        if self._closed:
            return
        self._closed = True
        if not self._begun:
            # The agent still waits for its turn, and has nothing to end.
            self._over = "was not started"
        try:
            if not self._over:
                with contextlib.suppress(Exception):
                    self.worker.call(session.send, self._key, None)
                until = system_clock.monotonic() + END_S
                while not self._over and self._pump.is_alive() and system_clock.monotonic() < until:
                    self._pump.join(0.2)
        finally:
            with contextlib.suppress(Exception):
                self._task.cancel()


def _unanswered(error: Exception) -> str:
    return f"is lost: its worker does not answer ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
