"""The host behind `becalm-agent`: one code path for this machine (`becalm.hosts.local`) and for others.

`AgentHost` speaks the protocol of docs/reference/protocol.md over a `Link`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from becalm.errors import MachineError, UnsettledError, UsageError
from becalm.hosts.abilities import YES, Abilities, Ability, need, with_abilities
from becalm.hosts.agent_abilities import ABLE, EMULATED, EMULATOR, NO_RIGHTS
from becalm.hosts.answer_errors import checked_answers
from becalm.hosts.applied_settings import AppliedSettings, Planned, settings_context
from becalm.hosts.boot_entry import BootEntryHost
from becalm.hosts.conversation import Conversation
from becalm.hosts.events import Event, Loads, Noticed, Runs, RunText, Written
from becalm.hosts.greeting import PROTOCOL, read_greeting
from becalm.hosts.protocol import Access, MeasureRequest, Parameters
from becalm.hosts.running_load import RunningLoad, running_load
from becalm.hosts.transport import Link, Patience
from becalm.load.others import Others
from becalm.load.record import Series, load_of
from becalm.nouns.codec import wire
from becalm.nouns.demand import Demand, LoadResult
from becalm.nouns.knob import Knob
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

if TYPE_CHECKING:
    from becalm.hosts.recorded import RecordEvent, Recording
    from becalm.load.live import Reading
    from becalm.results.settings import Reset, Status


def agent_path() -> str:
    """Return the agent's executable inside the installed package. Raises MachineError if it is missing."""
    path = str(Path(__file__).parents[1] / "becalm-agent")
    if not os.access(path, os.X_OK):
        raise MachineError(
            f"The agent is missing: {path} is not an executable file. Install becalm with `pip install .`, "
            "which builds it (Rust is needed)."
        )
    return path


class Surroundings(msgspec.Struct, frozen=True):
    """The environment and working directory in which programs start; None for a deleted directory."""

    environment: Mapping[str, str]
    directory: str | None

    @classmethod
    def here(cls) -> Surroundings:
        """Return the surroundings of this process."""
        try:
            directory = os.getcwd()
        except FileNotFoundError:
            directory = None
        return cls(dict(os.environ), directory)


class AgentHost:
    """A machine reached through its agent: one conversation, which ends when the host is closed or the agent lost."""

    boot_ns: int | None = None

    def __init__(
        self,
        name: str,
        link: Link,
        access: Access,
        surroundings: Surroundings | None = None,
        able: Abilities = ABLE,
        *,
        scripted: bool = False,
    ) -> None:
        """Wait for the agent's greeting and open the conversation. Raises MachineError; the link is closed then.

        `scripted`: accept an agent whose figures come from the script of a test.
        """
        self.name = name
        self._waits_by = access.waits_by
        self._facts: dict[str, Any] | None = None
        self._conversation = Conversation(name, link)
        self._warned: set[str] = set()
        self._say = access.say
        try:
            self._begin(read_greeting(link, name), access, surroundings or Surroundings.here(), able, scripted)
        except BaseException:
            link.close()
            raise

    def _begin(
        self, greeting: Mapping[str, Any], access: Access, start: Surroundings, able: Abilities, scripted: bool
    ) -> None:
        if greeting.get("scripted") and not scripted:
            raise MachineError(
                "The agent was started with --script: its figures come from a test and not from a machine. "
                "Nothing was run. Start it without --script."
            )
        columns = greeting["columns"]
        self._load_columns = tuple(greeting.get("load_columns", ()))
        self._order = None if tuple(columns) == COLUMNS else [columns.index(name) for name in COLUMNS]
        self.greeting = greeting
        rights = greeting["uid"] == 0 or access.root is not None or greeting.get("helper", False)
        self._abilities = {**able, Ability.MACHINE_SETTINGS: YES if rights else NO_RIGHTS}
        environment = {key: wire(value) for key, value in start.environment.items()}
        members: dict[str, Any] = {"environment": environment, "title": access.title}
        self._directory = start.directory
        if start.directory is not None:
            members["directory"] = wire(start.directory)
        if access.owner:
            members["owner"] = access.owner
        if access.reboot:
            members["reboot"] = True
        self._conversation.ask({"do": "open", "protocol": PROTOCOL, **members})

    def __enter__(self) -> AgentHost:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def answered(self) -> bool:
        """Whether all requests were answered completely, so that no runs are missing."""
        return self._conversation.answered

    def abilities(self) -> Abilities:
        """Return the abilities of an agent; whether its processor is emulated is known once facts were requested."""
        return self._abilities

    @checked_answers
    def facts(self) -> dict[str, Any]:
        """Return the properties of the machine and what it allows."""
        if self._facts is None:
            facts = self._conversation.ask({"do": "facts"})["facts"]
            if facts.get("virtualisation", {}).get("hypervisor") == EMULATOR:
                self._abilities = {**self._abilities, Ability.REAL_TIME: EMULATED}
            self._facts = with_abilities(facts, self.abilities())
        return self._facts

    def user(self) -> str:
        """Return the user that programs run as."""
        user = self.greeting["user"]
        return user.get("name") or f"user {user.get('uid', 'unknown')}"

    @checked_answers
    def knobs(self) -> list[Knob]:
        """Return the catalogue with the state of each knob on this machine now."""
        return [Knob.from_json(row) for row in self._conversation.ask({"do": "knobs"})["knobs"]]

    @checked_answers
    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Define workloads and settings. Raises UsageError if a workload has no directory to start in."""
        if self._directory is None and any(workload.directory is None for workload in workloads):
            raise UsageError("The working directory was deleted. Change to another one, or give --directory.")
        answer = self._conversation.ask(
            {
                "do": "define",
                "workloads": [workload.to_wire() for workload in workloads],
                "settings": [None if setting is None else setting.to_json() for setting in settings],
                "dangerous": dangerous,
            }
        )
        self._warn(answer)
        return list(answer["programs"])

    @checked_answers
    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Return the changes that settings would make."""
        return Planned.from_json(self._ask_about(settings, "plan", dangerous))

    def _warn(self, answer: dict[str, Any]) -> None:
        """Report permanent changes by settings before they are applied, each sentence once."""
        for sentence in answer.get("lasting", ()):
            if sentence not in self._warned:
                self._warned.add(sentence)
                self._say(sentence)

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[AppliedSettings]:
        """Apply settings for as long as the context lasts."""
        return settings_context(lambda: self._apply(settings, dangerous), self.settle)

    def keep(self, settings: Settings, *, dangerous: bool = False) -> AppliedSettings:
        """Apply settings until `restore`."""
        return self._apply(settings, dangerous, keep=True)

    @checked_answers
    def _apply(self, settings: Settings, dangerous: bool, *, keep: bool = False) -> AppliedSettings:
        return AppliedSettings.from_json(self._ask_about(settings, "hold", dangerous, keep=keep))

    @checked_answers
    def release(self) -> Reset:
        """Restore the settings that this conversation has applied."""
        return _reset(self._conversation.ask({"do": "release"}))

    def settle(self) -> None:
        """Restore the settings of this conversation. Raises UnsettledError if something is not as before."""
        if unsettled := self.release().unsettled:
            lines = "\n".join(f"  {sentence}" for sentence in unsettled)
            command = "becalm reset" if self.name == "local" else f"becalm reset --host {self.name}"
            raise UnsettledError(
                f"Not everything of the machine is as it was before:\n{lines}\n"
                f"The old values are in the journal. Try again: {command}. To overwrite what somebody else set: "
                f"{command} --force"
            )

    @checked_answers
    def restore(self, *, force: bool = False, mine: bool = False, entry: bool = True) -> Reset:
        """Restore what an earlier becalm kept or left. `mine`: refuse changes of others; `entry`: also a boot entry."""
        return _reset(self._conversation.ask({"do": "restore", "force": force, "mine": mine, "entry": entry}))

    @checked_answers
    def status(self) -> Status:
        """Return the settings that are applied, who applied them and when."""
        from becalm.results.settings import Status

        return Status.from_json(self._conversation.ask({"do": "status"}))

    @checked_answers
    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot, and whether this boot has them (`effects` in the protocol)."""
        effects: list[Mapping[str, Any]] = self._ask_about(settings, "effects", dangerous)["effects"]
        return effects

    @checked_answers
    def boot(self, parameters: Parameters, *, limit_s: int = 600, dangerous: bool = False) -> Mapping[str, Any]:
        """Prepare only the next start of the machine with these parameters on the kernel's command line.

        `limit_s`: the time after which that start falls back unless `healthy` was requested, s. Returns `loader`,
        `entry`, `mark`, `default`, `parameters`, `files`, `remarks` (docs/reference/protocol.md). Raises UsageError
        (consent is missing, or no setting makes a parameter) and RefusedError (the boot loader cannot do it).
        """
        return self._conversation.ask(
            {"do": "boot", "parameters": list(parameters), "limit_s": limit_s, "dangerous": dangerous}
        )

    def restart(self) -> None:
        """Restore all settings and restart the machine. The agent ends, and the connection is lost."""
        self._conversation.ask({"do": "reboot"})

    @checked_answers
    def healthy(self) -> Mapping[str, Any]:
        """Stop the fall-back on the new boot and return `ours`, `mark`, `parameters`, `sentence`, `remarks`."""
        return self._conversation.ask({"do": "healthy"})

    @checked_answers
    def unboot(self) -> Reset:
        """Remove all that `boot` wrote."""
        return _reset(self._conversation.ask({"do": "unboot"}))

    def reboot(self, parameters: Parameters) -> None:
        """Refuse to restart, as the agent would end with its machine."""
        need(self.name, self.abilities(), Ability.REBOOT)

    def start(self, parameters: Parameters) -> None:
        """Refuse to restart, as nothing would reconnect to the agent."""
        self.reboot(parameters)

    @checked_answers
    def keep_boot(self, parameters: Parameters) -> Mapping[str, Any]:
        """Keep the new boot for every start until `restore`; return `entry`, `parameters`, `files`."""
        return self._conversation.ask({"do": "keep_boot", "parameters": list(parameters)})

    def boot_entry(self) -> BootEntryHost:
        """Return the agent itself."""
        need(self.name, self.abilities(), Ability.BOOT_ENTRY)
        return self

    def loading(self, demand: Demand) -> AbstractContextManager[RunningLoad]:
        """Have the agent make load next to programs."""
        need(self.name, self.abilities(), Ability.LOADED)

        def load() -> None:
            self._conversation.ask({"do": "load", "demand": demand.to_json()}, Patience.LONG)

        return running_load(load, lambda: LoadResult.from_json(self._conversation.ask({"do": "unload"}, Patience.LONG)))

    def _ask_about(self, settings: Settings, request: str, dangerous: bool, **more: Any) -> dict[str, Any]:
        return self._conversation.ask({"do": request, "settings": settings.to_json(), "dangerous": dangerous, **more})

    @checked_answers
    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Run the steps, and yield events."""
        members: dict[str, Any] = {"first": request.first, "steps": request.block.steps}
        if request.block.starts:
            members["starts"] = request.block.starts
        members["stop_on_failure"] = request.stop_on_failure
        if request.recording is not None:
            members["recording"] = request.recording.to_json()
        if self._waits_by is not None:
            members["waits_by"] = self._waits_by
        for event in self._conversation.events(
            {"do": "measure", **members, "load": str(request.detail)}, Patience.PROGRAMS
        ):
            match event["event"]:
                case "runs":
                    yield Runs(self.rows(event["rows"]))
                case "text":
                    yield RunText(event["seq"], event.get("stderr") or "", event.get("stdout") or "")
                case "loads":
                    yield Loads([load_of(self._load_columns, row) for row in event["rows"]])
                case "series":
                    yield Loads(series=[Series.from_json(event)])
                case "others":
                    yield Loads(others=[Others.from_json(event)])
                case "output":
                    yield Written(event["stream"], event["text"])
                case "recording" | "started" | "records":
                    if (recorded := _recorded(event)) is not None:
                        yield recorded
                case "done":
                    if "recorded" in event and (recorded := _recorded(event)) is not None:
                        yield recorded
                    drift = tuple(event.get("drift", ()))
                    remarks, switching_ns = tuple(event.get("remarks", ())), event.get("switching_ns", 0)
                    clamped = tuple(event.get("clamped", ()))
                    near = tuple(event.get("neighbours", ()))
                    yield Noticed(remarks, drift, switching_ns, event.get("unknown", {}), clamped, near)

    @checked_answers
    def read(self, *, consumers: int = 0) -> Reading:
        """Return the reading of the load since the previous reading (docs/reference/protocol.md, `read`)."""
        return _reading(
            self._load_columns, self._conversation.ask({"do": "read", "load": True, "consumers": consumers})
        )

    @checked_answers
    def follow(self, pid: int, period_ns: int, *, consumers: int = 0) -> Iterator[tuple[dict[str, Any], Reading]]:
        """Yield the events `followed` of a process with the machine's readings, until it ends or `stop`."""
        members = {"pid": pid, "period_ns": period_ns, "load": True, "consumers": consumers}
        for event in self._conversation.events({"do": "follow", **members}):
            if event["event"] == "followed":
                yield event, _reading(self._load_columns, event)

    @checked_answers
    def record(
        self, recording: Recording, pid: int | None = None, *, started: int | None = None
    ) -> Iterator[RecordEvent]:
        """Yield which task runs when, with two counters per CPU, until a process ends or `stop`."""
        members = {"recording": recording.to_json(), "pid": pid, "started": started}
        for event in self._conversation.events({"do": "record", **members}):
            if (recorded := _recorded(event)) is not None:
                yield recorded

    @checked_answers
    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return times of an empty program, ns: started directly, and measured by becalm."""
        answer = self._conversation.ask({"do": "overhead", "runs": runs}, Patience.LONG)
        return answer["bare_ns"], answer["own_ns"]

    def stop(self) -> None:
        """End the current request, by one write, so that a signal handler may call it."""
        self._conversation.stop()

    def close(self) -> None:
        """End the conversation: the agent kills what it started, restores everything and exits.

        If it has answered everything, it is told to remove its spool.
        """
        self._conversation.close()

    def rows(self, rows: Iterable[list[Any]]) -> list[Run]:
        """Return the runs of the agent's rows."""
        if self._order is None:
            return [Run.of(row) for row in rows]
        return [Run.of([row[index] for index in self._order]) for row in rows]


def _reset(answer: Mapping[str, Any]) -> Reset:
    # Imported when needed: most comparisons do not use them.
    from becalm.results.settings import Reset

    return Reset.from_json(answer)


def _reading(columns: Sequence[str], answer: Mapping[str, Any]) -> Reading:
    from becalm.load.live import reading

    return reading(columns, answer)


def _recorded(event: Mapping[str, Any]) -> RecordEvent | None:
    from becalm.hosts.recorded import record_event

    return record_event(event)
