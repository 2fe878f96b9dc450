"""Hosts that can start their machine anew: settings of the next boot are tried there.

`RebootingHost` splits settings into parameters of the kernel's command line, which need a boot, and the rest, which
goes to the agent. `define` remembers, `measure` cuts a block where the parameters change and calls `_restart` in
between, the one thing that kinds of hosts do differently. After each boot the agent is asked (`effects`) whether the
kernel has taken what it was given: a parameter that was ignored would be measured as if it helped, or did not.
"""

from __future__ import annotations

import itertools
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from becalm.errors import BootError, UsageError
from becalm.hosts.agent import AgentHost
from becalm.hosts.events import Event, Runs
from becalm.hosts.protocol import MeasureRequest
from becalm.nouns.knob import at_boot, known
from becalm.nouns.run import Outcome, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

Parameters = tuple[str, ...]
"""Words of the kernel's command line, beyond those that the machine boots with anyway."""


@dataclass(frozen=True, slots=True)
class Part:
    """Settings as they are put on: `parameters` of the boot that they need, `boot`: the settings these come from, and
    `live`: what the agent sets."""

    parameters: Parameters
    boot: Settings
    live: Settings


class RebootingHost(AgentHost):
    """A machine reached through its agent that can be started again with other kernel parameters."""

    reboots = True

    def _start(self, name: str) -> None:
        super()._start(name)
        self.boot_ns: int | None = None
        self._parts: dict[tuple[Settings, bool], Part] = {}
        self._defined: tuple[list[Workload], list[Part | None], bool] = ([], [], False)
        self._booted: Parameters | None = ()
        self._checked: set[Settings] = {Settings()}
        self._told: set[int] = set()
        self._bad: dict[Parameters, BootError] = {}
        self._stale = self._stopped = False

    @abstractmethod
    def _restart(self, parameters: Parameters) -> None:
        """Start the machine with these parameters and come back when its agent answers.

        Raises BootError when the machine did not come up with them and is, or can be brought, up without them;
        MachineError when it is lost.
        """

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """As on every host. What the agent thinks of settings that need another boot is known when that is made."""
        parts = [None if each is None else self._part(each, dangerous) for each in settings]
        self._defined, self._told = (list(workloads), parts, dangerous), set()
        for each in parts:
            if each is not None and each.parameters in self._bad:
                raise self._bad[each.parameters]
        return self._tell({index for index, each in enumerate(parts) if each and each.parameters == self._booted})

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """As on every host; the machine is started again before a step that needs other kernel parameters.

        Raises BootError, after the rows of the steps before, when it does not come up with them or does not take them.
        """
        self._stopped = False
        self._stale = self._stale or request.block.fresh_boot
        done = 0
        for part, steps in itertools.groupby(request.block.steps, self._needed):
            piece = request.after(done, done + len(tuple(steps)))
            self._have(part)
            if self._stopped:
                break
            if missing := {step.settings for step in piece.block.steps} - self._told:
                # What the agent does not take is of these settings: the others it has taken on this boot.
                self._tell(self._told | missing)
            count, good = 0, True
            for event in super().measure(piece):
                if isinstance(event, Runs):
                    count += len(event.rows)
                    good = good and all(run.outcome == Outcome.OK for run in event.rows)
                yield event
            done += count
            if count < len(piece.block.steps) or (request.stop_on_failure and not good):
                break

    def hold(self, settings: Settings, *, dangerous: bool = False, keep: bool = False) -> dict[str, Any]:
        """As on every host, after a boot with the parameters that the settings need."""
        part = self._part(settings, dangerous)
        self._have(part)
        return super().hold(part.live, dangerous=dangerous, keep=keep)

    def plan(self, settings: Settings, *, dangerous: bool = False) -> list[dict[str, Any]]:
        """As on every host; for settings of the boot what would be on the kernel's command line."""
        part = self._part(settings, dangerous)
        place = {"place": "/proc/cmdline", "from": None}
        words = {each["knob"]: each for each in self._effects(part.boot, dangerous)}
        changes = [
            {"knob": knob, **place, "to": " ".join(each["parameters"]), "changes": not each["taken"]}
            for knob, each in words.items()
        ]
        return [*changes, *super().plan(part.live, dangerous=dangerous)]

    def stop(self) -> None:
        """End the current block, also between a boot and its first run."""
        self._stopped = True
        super().stop()

    def _needed(self, step: Step) -> Part:
        parts = self._defined[1]
        part = parts[step.settings] if step.settings < len(parts) else None
        if part is None:
            raise UsageError(f"Step {list(step)} names settings that were not defined.")
        # All settings of one boot are one group; whose check comes first is no matter.
        return Part(part.parameters, part.boot, Settings())

    def _have(self, part: Part) -> None:
        """Be on a boot with these parameters that has taken them."""
        if part.parameters in self._bad:
            raise self._bad[part.parameters]
        if self._stale or part.parameters != self._booted:
            self._boot(part.parameters)
        if part.boot not in self._checked:
            self._check(part)
            self._checked.add(part.boot)

    def _boot(self, parameters: Parameters) -> None:
        self._booted, self._facts = None, None
        began = time.monotonic_ns()
        try:
            self._restart(parameters)
        except BootError as error:
            # Not tried again: a boot that hangs takes minutes.
            self._bad[parameters] = error
            raise
        self._began(parameters)
        self.boot_ns = time.monotonic_ns() - began

    def _refused(self, parameters: Parameters, sentence: str) -> BootError:
        """The error that the machine does not run with these parameters; from now on they are refused."""
        self._bad[parameters] = BootError(sentence)
        return self._bad[parameters]

    def _began(self, parameters: Parameters) -> None:
        """A boot with these parameters is there, whose agent knows nothing yet."""
        self._booted, self._stale = parameters, False
        self._checked, self._told = {Settings()}, set()

    def _tell(self, which: set[int]) -> list[str]:
        """Define these settings, which are of this boot; the others when they are needed."""
        workloads, parts, dangerous = self._defined
        here = [each.live if each is not None and index in which else None for index, each in enumerate(parts)]
        programs = super().define(workloads, here, dangerous=dangerous)
        self._told = which
        return programs

    def _check(self, part: Part) -> None:
        """Whether the kernel has taken what it was given. Raises BootError with what it shows instead."""
        ignored = [each for each in self._effects(part.boot, consent=True) if each["taken"] is False]
        if not ignored:
            return
        said = (f"{' '.join(each['parameters']) or each['knob']} was given, but {each['how']}." for each in ignored)
        error = BootError(" ".join(said), tuple(each["knob"] for each in ignored))
        self._bad[part.parameters] = error
        raise error

    def _part(self, settings: Settings, dangerous: bool) -> Part:
        """Settings split into what needs a boot and what the agent sets. Raises UsageError as the agent does."""
        if (settings, dangerous) not in self._parts:
            self._parts[settings, dangerous] = self._split(settings, dangerous)
        return self._parts[settings, dangerous]

    def _split(self, settings: Settings, dangerous: bool) -> Part:
        boot = at_boot(settings)
        live = {name: value for name, value in settings.values if (name, value) not in boot.values}
        if not boot.values:
            return Part((), boot, settings)
        effects = self._effects(boot, dangerous)
        for each in effects:
            name, row = each["knob"], known()[each["knob"]]
            if row.boot is None or not row.boot.binds:
                continue
            if other := next((each for each in live if each in known() and name in known()[each].conflicts), None):
                raise UsageError(
                    f"{name} and {other} both give the program CPUs of its own, from the boot on or now. "
                    "Leave one of them out."
                )
            live.setdefault("cpus", each["cpus"])
        parameters = tuple(word for each in effects for word in each["parameters"])
        return Part(parameters, boot, Settings.of(live))

    def _effects(self, boot: Settings, consent: bool) -> list[Mapping[str, Any]]:
        """Settings of the boot, and whether this boot has them (docs/reference/protocol.md, `effects`)."""
        if not boot.values:
            return []
        answer = self._ask({"do": "effects", "settings": boot.to_json(), "dangerous": consent})
        effects: list[Mapping[str, Any]] = answer["effects"]
        return effects
