"""The host behind `becalm-agent`: one code path for this machine (`becalm.hosts.local`) and for others.

`AgentHost` speaks the protocol of docs/reference/protocol.md over a `Link`.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from becalm.errors import BecalmError, MachineError, RefusedError, UnsettledError, UsageError, WorkloadError
from becalm.hosts.events import Event, Loads, Noticed, Runs, RunText, Written
from becalm.hosts.protocol import Access, MeasureRequest
from becalm.hosts.transport import Link
from becalm.load.live import Reading, reading
from becalm.load.record import Series, load_of
from becalm.nouns.codec import wire
from becalm.nouns.knob import Knob
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

PROTOCOL = 2

NOISE_LINES = 1000
"""How many lines may come before the greeting: a login shell's start-up files say something, or a console does."""

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
"""Kinds of the agent's errors that are not the machine's fault (docs/reference/protocol.md)."""


def agent_path() -> str:
    """The agent's executable inside the installed package. Raises MachineError when it is not there."""
    path = str(importlib.resources.files("becalm") / "becalm-agent")
    if not os.access(path, os.X_OK):
        raise MachineError(
            f"The agent is missing: {path} is not an executable file. Install becalm with `pip install .`, "
            "which builds it (Rust is needed)."
        )
    return path


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all programs start from: environment and working directory."""

    environment: Mapping[str, str]
    directory: str

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        return cls(dict(os.environ), os.getcwd())


class AgentHost:
    """A machine reached through its agent."""

    reboots = False

    def __init__(self, name: str, link: Link, access: Access, surroundings: Surroundings | None = None) -> None:
        self._start(name)
        self._begin(link, access, surroundings)

    def _start(self, name: str) -> None:
        self.name = name
        self._next_id = 0
        self._facts: dict[str, Any] | None = None
        self._warned: set[str] = set()

    def _begin(self, link: Link, access: Access, surroundings: Surroundings | None = None) -> None:
        """Wait for the agent's greeting and open the conversation."""
        self._link = link
        self._say = access.say
        greeting = self._greeting()
        if greeting.get("protocol") != PROTOCOL:
            self.close()
            raise MachineError(
                f"The agent speaks protocol {greeting.get('protocol')}, this becalm speaks {PROTOCOL}. "
                "Install both from the same version."
            )
        columns = greeting["columns"]
        self._load_columns = tuple(greeting.get("load_columns", ()))
        self._order = None if tuple(columns) == COLUMNS else [columns.index(name) for name in COLUMNS]
        self.user = greeting["user"]
        self.privileged = greeting["uid"] == 0 or access.root is not None
        start = surroundings or Surroundings.here()
        environment = {key: wire(value) for key, value in start.environment.items()}
        about = {"environment": environment, "directory": wire(start.directory), "title": access.title}
        if access.reboot:
            about["reboot"] = True
        self._ask({"do": "open", "protocol": PROTOCOL, **about})

    def __enter__(self) -> AgentHost:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def facts(self) -> dict[str, Any]:
        """What the machine is and allows, read once."""
        if self._facts is None:
            answer: dict[str, Any] = self._ask({"do": "facts"})["facts"]
            self._facts = answer
        return self._facts

    def knobs(self) -> list[Knob]:
        """The catalogue with what each knob is on this machine now."""
        return [Knob.from_json(row) for row in self._ask({"do": "knobs"})["knobs"]]

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Make workloads and settings known; see `becalm.hosts.Host`."""
        answer = self._ask(
            {
                "do": "define",
                "workloads": [each.to_wire() for each in workloads],
                "settings": [None if each is None else each.to_json() for each in settings],
                "dangerous": dangerous,
            }
        )
        self._warn(answer)
        return list(answer["programs"])

    def plan(self, settings: Settings, *, dangerous: bool = False) -> list[dict[str, Any]]:
        """What settings would write: `knob`, `place`, `from`, `to`, `changes`. Nothing is written."""
        changes: list[dict[str, Any]] = self._about(settings, "plan", dangerous)["changes"]
        return changes

    def lasting(self, settings: Settings, *, dangerous: bool = False) -> tuple[str, ...]:
        """What would not be as before when these settings are taken off again, a sentence each."""
        return tuple(self._about(settings, "plan", dangerous).get("lasting", ()))

    def _warn(self, answer: dict[str, Any]) -> None:
        """Say what settings do for good while they are not on yet, each sentence once."""
        for sentence in answer.get("lasting", ()):
            if sentence not in self._warned:
                self._warned.add(sentence)
                self._say(sentence)

    def hold(self, settings: Settings, *, dangerous: bool = False, keep: bool = False) -> dict[str, Any]:
        """Put settings on: `changes`, `remarks`, `took_ns`. With `keep` they stay when the host is closed."""
        return self._about(settings, "hold", dangerous, keep=keep)

    def release(self) -> dict[str, Any]:
        """Take off what is on: `places`, and sentences.

        `unsettled`: one for each place that is not as it was; `elsewhere`: one for each interrupt that does not arrive
        where it did.
        """
        return self._ask({"do": "release"})

    def settle(self) -> None:
        """Take off what is on, and raise UnsettledError when something is not as it was before."""
        if open_ := self.release()["unsettled"]:
            lines = "\n".join(f"  {sentence}" for sentence in open_)
            raise UnsettledError(
                f"Not everything of the machine is as it was before:\n{lines}\n"
                "The old values are kept. Try again: becalm reset. To overwrite what somebody else set: "
                "becalm reset --force"
            )

    def restore(self, *, force: bool = False) -> dict[str, Any]:
        """Put back what an earlier becalm kept or left: as `release`, and `sentence`."""
        return self._ask({"do": "restore", "force": force})

    def status(self) -> dict[str, Any]:
        """Who has set what, and when: `journal`, `busy`, `note`, `elsewhere` (docs/reference/protocol.md)."""
        return self._ask({"do": "status"})

    def boot(self, parameters: Sequence[str], *, limit_s: int = 600, dangerous: bool = False) -> dict[str, Any]:
        """Have the machine's next start, and only that, be one with these words on the kernel's command line.

        `limit_s`: seconds after which it restarts by itself unless `healthy` was asked. Gives `loader`, `entry`,
        `mark`, `default`, `parameters`, `files`, `remarks` (docs/reference/protocol.md). Raises UsageError (consent, a
        word that no setting makes) and RefusedError (this machine's loader cannot do it).
        """
        return self._ask({"do": "boot", "parameters": list(parameters), "limit_s": limit_s, "dangerous": dangerous})

    def restart(self) -> None:
        """Put all settings back and restart the machine: the agent ends, and the connection to it is lost."""
        self._ask({"do": "reboot"})

    def healthy(self) -> dict[str, Any]:
        """On the new boot: stop the fall-back. `ours`, `mark`, `parameters`, `sentence`, `remarks`."""
        return self._ask({"do": "healthy"})

    def unboot(self) -> dict[str, Any]:
        """Remove all that `boot` wrote: `places`, `unsettled`, `sentence`, as `restore`."""
        return self._ask({"do": "unboot"})

    def _about(self, settings: Settings, what: str, dangerous: bool, **more: Any) -> dict[str, Any]:
        return self._ask({"do": what, "settings": settings.to_json(), "dangerous": dangerous, **more})

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Run the steps; see `becalm.hosts.Host`."""
        about = {"first": request.first, "steps": request.block.steps, "stop_on_failure": request.stop_on_failure}
        ident = self._send({"do": "measure", **about, "load": str(request.detail)})
        while True:
            event = self._read()
            if event.get("id") != ident:
                continue
            match event["event"]:
                case "runs":
                    yield Runs(self._runs(event["rows"]))
                case "text":
                    yield RunText(event["seq"], event.get("stderr") or "", event.get("stdout") or "")
                case "loads":
                    yield Loads([load_of(self._load_columns, row) for row in event["rows"]])
                case "series":
                    yield Loads(series=[Series.from_json(event)])
                case "output":
                    yield Written(event["stream"], event["text"])
                case "done":
                    drift = tuple(event.get("drift", ()))
                    remarks, switching_ns = tuple(event.get("remarks", ())), event.get("switching_ns", 0)
                    yield Noticed(remarks, drift, switching_ns, event.get("unknown", {}))
                    return
                case "error":
                    raise _error(event)

    def read(self, *, consumers: int = 0) -> Reading:
        """What the machine did since the reading before (docs/reference/protocol.md, `read`)."""
        return reading(self._load_columns, self._ask({"do": "read", "load": True, "consumers": consumers}))

    def follow(self, pid: int, period_ns: int, *, consumers: int = 0) -> Iterator[tuple[dict[str, Any], Reading]]:
        """The events `followed` of a running process, each with what the machine did, until it ends; `stop` ends it."""
        ident = self._send({"do": "follow", "pid": pid, "period_ns": period_ns, "load": True, "consumers": consumers})
        while True:
            event = self._read()
            if event.get("id") != ident:
                continue
            if event["event"] == "error":
                raise _error(event)
            if event["event"] == "done":
                return
            yield event, reading(self._load_columns, event)

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Cost of an empty program, bare and measured, in ns."""
        answer = self._ask({"do": "overhead", "runs": runs})
        return answer["bare_ns"], answer["own_ns"]

    def stop(self) -> None:
        """End the current block. One write, so that a signal handler may call it."""
        with contextlib.suppress(OSError, ValueError):
            self._link.send(b'{"id":0,"do":"stop"}\n')

    def close(self) -> None:
        """End the conversation, at which the agent kills what it started and exits; wait for that."""
        self._link.close()

    def _runs(self, rows: list[list[Any]]) -> list[Run]:
        if self._order is None:
            return [Run._make(row) for row in rows]
        return [Run._make([row[index] for index in self._order]) for row in rows]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        ident = self._send(request)
        while True:
            event = self._read()
            if event.get("id") != ident:
                continue
            if event["event"] == "error":
                raise _error(event)
            if event["event"] == "done":
                return event

    def _send(self, request: dict[str, Any]) -> int:
        self._next_id += 1
        line = json.dumps({"id": self._next_id, **request}, separators=(",", ":")).encode() + b"\n"
        try:
            self._link.send(line)
        except BrokenPipeError:
            raise self._died() from None
        return self._next_id

    def _read(self) -> dict[str, Any]:
        line = self._link.read()
        if not line.endswith(b"\n"):
            raise self._died()
        event: dict[str, Any] = json.loads(line)
        return event

    def _greeting(self) -> dict[str, Any]:
        for _ in range(NOISE_LINES):
            line = self._link.read()
            if not line.endswith(b"\n"):
                break
            if line.startswith(b'{"becalm-agent"'):
                greeting: dict[str, Any] = json.loads(line)
                return greeting
        raise self._died()

    def _died(self) -> MachineError:
        return MachineError(
            f"The agent on {self.name} {self._link.died()} in the middle of its work. The workload it ran was ended "
            "with it. All runs finished before are kept; start the same command again to go on."
        )


def _error(event: Mapping[str, Any]) -> BecalmError:
    return ERRORS.get(event["kind"], MachineError)(event["message"])
