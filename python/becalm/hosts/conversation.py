"""A conversation with an agent over a link: numbered requests, their events, and the agent's errors.

The protocol is described in docs/reference/protocol.md.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from becalm.errors import BecalmError, MachineError, RefusedError, UsageError, WorkloadError
from becalm.hosts.answer_errors import unreadable
from becalm.hosts.transport import LONGEST_LINE, Link, Patience, TooMuchError

ERRORS: dict[str, type[BecalmError]] = {
    "usage": UsageError,
    "domain": UsageError,
    "not_found": WorkloadError,
    "not_executable": WorkloadError,
    "prepare": WorkloadError,
    "consent": UsageError,
    "refused": RefusedError,
    "permission": RefusedError,
    "unsupported": RefusedError,
}
"""The classes of errors of the agent, by kind; others are MachineError (docs/reference/protocol.md)."""


class Conversation:
    """The requests to one agent, one after another, until it is closed or the agent is lost."""

    def __init__(self, host: str, link: Link) -> None:
        """Take a link whose greeting was read. `host`: the name for error messages."""
        self.host = host
        self.link = link
        self.answered = True
        """Whether all requests were answered completely, so that no runs are missing."""
        self._next_id = 0

    def stop(self) -> None:
        """End the current request, by one write, so that a signal handler may call it."""
        with contextlib.suppress(OSError):
            self.link.interrupt(b'{"id":0,"do":"stop"}\n')

    def close(self) -> None:
        """End the conversation; an agent that has answered everything is told to remove its spool."""
        if self.answered:
            with contextlib.suppress(OSError):
                self.link.send(b'{"id":0,"do":"bye"}\n', Patience.SOON)
        self.link.close()

    def ask(self, request: dict[str, Any], patience: Patience = Patience.SOON) -> dict[str, Any]:
        """Send a request and return its last event, `done`. Raises as `events` does."""
        *_, done = self.events(request, patience)
        return done

    def events(self, request: dict[str, Any], patience: Patience = Patience.SOON) -> Iterator[dict[str, Any]]:
        """Send a request and yield its events, of which `done` is the last. Raises the agent's error, or that it is
        lost."""
        self._next_id += 1
        ident = self._next_id
        line = json.dumps({"id": ident, **request}, separators=(",", ":")).encode() + b"\n"
        self.answered = False
        try:
            self.link.send(line, patience)
        except BrokenPipeError:
            raise self.link.lost(self.host) from None
        while True:
            event = self._line()
            # An error without a number belongs to a request that could not be read, which must be this one.
            unread = event["event"] == "error" and event.get("id", ident) is None
            if event.get("id") != ident and not unread:
                continue
            if event["event"] == "error":
                self.answered = True
                raise ERRORS.get(str(event.get("kind")), MachineError)(str(event.get("message")))
            if event["event"] == "done":
                # The receiver of this event has received all earlier ones.
                self.answered = True
                yield event
                return
            yield event

    def _line(self) -> dict[str, Any]:
        try:
            line = self.link.read()
        except TooMuchError:
            self.link.close()
            raise MachineError(
                f"The agent on {self.host} sent a line of more than {LONGEST_LINE >> 20} MiB, which is the "
                "limit. The conversation was ended, and the agent restores everything."
            ) from None
        if not line.endswith(b"\n"):
            raise self.link.lost(self.host)
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise unreadable(self.host, "a line that is not an event")
        return event
