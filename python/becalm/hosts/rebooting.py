"""A host that restarts its machine to try settings of the boot.

`RebootingHost` wraps a host that can restart its machine (`Restartable`). It splits settings into parameters of the
kernel's command line, which need a boot, and the rest, which the agent applies. `define` stores them; `measure` splits
a block where the parameters change, and restarts the machine in between. After each boot, `effects` of the agent tell
whether the kernel has accepted its parameters: an ignored parameter would falsify the measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from becalm import system_clock
from becalm.errors import BootError, LostError, UsageError
from becalm.hosts.applied_settings import AppliedSettings, Planned
from becalm.hosts.events import Event, Runs
from becalm.hosts.protocol import Host, MeasureRequest, Parameters
from becalm.hosts.wrapper import Wrapper
from becalm.nouns.knob import at_boot, knobs_by_name
from becalm.nouns.run import Outcome, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.settings import Change


class RestartedError(LostError):
    """An error for a machine that was restarted by somebody else, or by a power cut, and answers again."""


class Restartable(Host, Protocol):
    """A host whose agent can be reached again after a restart of its machine."""

    @property
    def parameters(self) -> Parameters | None:
        """The parameters of the current boot: empty for a usual start, None if unknown."""
        ...

    def conversation(self) -> int:
        """Return the number of the conversation with the agent, after starting one if there is none.

        A new conversation has no definitions.
        """
        ...

    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot, and whether this boot has them (`effects` in the protocol)."""
        ...

    def started_before(self, parameters: Parameters) -> None:
        """Record that the machine has started with these parameters before, so that a failed start is repeated."""
        ...


class BootPart(msgspec.Struct, frozen=True):
    """Settings by the way to apply them: `boot` settings with the kernel `parameters` that they need, and `live`
    ones."""

    parameters: Parameters
    boot: Settings
    live: Settings


class RebootingHost(Wrapper[Restartable]):
    """A machine that is restarted if settings need other kernel parameters."""

    def __init__(self, inner: Restartable) -> None:
        super().__init__(inner)
        self._boot_ns: int | None = None
        self._parts: dict[tuple[Settings, bool], BootPart] = {}
        self._defined: tuple[list[Workload], list[BootPart | None], bool] = ([], [], False)
        self._conversation = -1
        self._checked: set[Settings] = set()
        self._sent: set[int] = set()
        self._bad: dict[Parameters, BootError] = {}
        self._started: frozenset[Settings] = frozenset()
        self._stale = self._stopped = False

    @property
    def boot_ns(self) -> int | None:
        """The time of the last boot, ns."""
        return self._boot_ns

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Define as on every host. Settings that need another boot are sent to the agent after that boot."""
        parts = [None if setting is None else self._part(setting, dangerous) for setting in settings]
        self._defined, self._sent = (list(workloads), parts, dangerous), set()
        for part in parts:
            if part is not None and part.parameters in self._bad:
                raise self._bad[part.parameters]
        now = self.inner.parameters
        return self._send({index for index, part in enumerate(parts) if part and part.parameters == now})

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Measure as on every host; restart the machine before a step that needs other kernel parameters.

        Raises BootError, after the rows of earlier steps, if it does not start with them, or ignores them.
        """
        self._stopped = False
        self._stale = self._stale or request.block.fresh_boot
        while request.block.steps:
            part, size = self._first(request.block.steps)
            self._ensure(part)
            if self._stopped:
                return
            chunk = request.after(0, size)
            if missing := {step.settings for step in chunk.block.steps} - self._sent:
                # The agent has already accepted the other settings on this boot.
                self._send(self._sent | missing)
            done, good = 0, True
            try:
                for event in self.inner.measure(chunk):
                    if isinstance(event, Runs):
                        done += len(event.rows)
                        good = good and all(run.outcome == Outcome.OK for run in event.rows)
                    yield event
            except RestartedError:
                # The rest of the block is measured after a boot with its parameters.
                size = done
            except BootError as error:
                self._bad[part.parameters] = error
                raise
            if done < size or (request.stop_on_failure and not good):
                return
            request = request.after(done)

    def go_on(self, runs: Sequence[Run], settings: Sequence[Settings]) -> None:
        """Record the boot settings of a study's runs, with which the machine has started before."""
        self._started |= {at_boot(settings[position]) for position in {run.settings for run in runs}}

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[AppliedSettings]:
        """Hold as on every host, after a boot with the parameters that the settings need."""
        part = self._part(settings, dangerous)
        self._ensure(part)
        return self.inner.hold(part.live, dangerous=dangerous)

    def keep(self, settings: Settings, *, dangerous: bool = False) -> AppliedSettings:
        """Keep as on every host. Raises UsageError for settings that need a boot."""
        part = self._part(settings, dangerous)
        if part.boot.values:
            names = ", ".join(name for name, _ in part.boot.values)
            raise UsageError(f"{names} is set at boot, and does not stay on {self.name} when becalm ends.")
        return self.inner.keep(part.live, dangerous=dangerous)

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Return the plan as on every host; for boot settings, the changes to the kernel's command line."""
        part = self._part(settings, dangerous)
        effects = {effect["knob"]: effect for effect in self._effects(part.boot, dangerous)}
        planned = self.inner.plan(part.live, dangerous=dangerous)
        changes = (
            Change(knob, "/proc/cmdline", None, " ".join(effect["parameters"]), not effect["taken"])
            for knob, effect in effects.items()
        )
        return Planned((*changes, *planned.changes), planned.lasting)

    def reboot(self, parameters: Parameters) -> None:
        """Restart the machine with these parameters. Raises BootError, also if that has failed before."""
        if parameters in self._bad:
            raise self._bad[parameters]
        self._boot(parameters)

    def stop(self) -> None:
        """End the current block, also between a boot and its first run."""
        self._stopped = True
        self.inner.stop()

    def _first(self, steps: Sequence[Step]) -> tuple[BootPart, int]:
        """Return the settings of the first steps, as far as they need the same boot, and the number of these steps."""
        part, size = self._needed(steps[0]), 1
        while size < len(steps) and self._needed(steps[size]) == part:
            size += 1
        return part, size

    def _needed(self, step: Step) -> BootPart:
        parts = self._defined[1]
        part = parts[step.settings] if step.settings < len(parts) else None
        if part is None:
            raise UsageError(f"Step {list(step)} names settings that were not defined.")
        # Live settings are left out, so that all steps of one boot are equal.
        return BootPart(part.parameters, part.boot, Settings())

    def _ensure(self, part: BootPart) -> None:
        """Restart the machine with these parameters, unless it runs with them."""
        if part.parameters in self._bad:
            raise self._bad[part.parameters]
        if self._stale or part.parameters != self.inner.parameters:
            if part.parameters and part.boot in self._started:
                self.inner.started_before(part.parameters)
            self._boot(part.parameters)
        self._check_conversation()
        if part.boot not in self._checked:
            self._check(part)
            self._checked.add(part.boot)

    def _boot(self, parameters: Parameters) -> None:
        began = system_clock.monotonic_ns()
        try:
            self.inner.reboot(parameters)
        except BootError as error:
            # A boot that failed is not repeated: one that hangs takes minutes.
            self._bad[parameters] = error
            raise
        self._boot_ns, self._stale = system_clock.monotonic_ns() - began, False

    def _check_conversation(self) -> None:
        """Forget what was sent if the agent has changed."""
        if self.inner.conversation() != self._conversation:
            self._conversation = self.inner.conversation()
            self._checked, self._sent = {Settings()}, set()

    def _send(self, indices: set[int]) -> list[str]:
        """Define the settings with these indices, which fit the current boot, at the agent."""
        workloads, parts, dangerous = self._defined
        live = [part.live if part is not None and index in indices else None for index, part in enumerate(parts)]
        programs = self.inner.define(workloads, live, dangerous=dangerous)
        self._check_conversation()
        self._sent = indices
        return programs

    def _check(self, part: BootPart) -> None:
        """Raise BootError if the kernel has ignored parameters, with the evidence."""
        ignored = [effect for effect in self._effects(part.boot, consent=True) if effect["taken"] is False]
        if not ignored:
            return
        sentences = (
            f"{' '.join(effect['parameters']) or effect['knob']} was given, but {effect['how']}." for effect in ignored
        )
        error = BootError(" ".join(sentences), tuple(effect["knob"] for effect in ignored))
        self._bad[part.parameters] = error
        raise error

    def _part(self, settings: Settings, dangerous: bool) -> BootPart:
        """Return settings, divided into those of the boot and live ones. Raises UsageError as the agent does."""
        if (settings, dangerous) not in self._parts:
            self._parts[settings, dangerous] = self._split(settings, dangerous)
        return self._parts[settings, dangerous]

    def _split(self, settings: Settings, dangerous: bool) -> BootPart:
        boot = at_boot(settings)
        live = {name: value for name, value in settings.values if (name, value) not in boot.values}
        if not boot.values:
            return BootPart((), boot, settings)
        effects, rows = self._effects(boot, dangerous), knobs_by_name()
        for effect in effects:
            name, row = effect["knob"], rows[effect["knob"]]
            if row.boot is None or not row.boot.binds:
                continue
            if other := next(
                (setting for setting in live if setting in rows and name in rows[setting].conflicts), None
            ):
                raise UsageError(
                    f"{name} and {other} both give the program its own CPUs, from the boot on or now. "
                    "Leave one of them out."
                )
            live.setdefault("cpus", effect["cpus"])
        parameters = tuple(word for effect in effects for word in effect["parameters"])
        return BootPart(parameters, boot, Settings.of(live))

    def _effects(self, boot: Settings, consent: bool) -> list[Mapping[str, Any]]:
        return self.inner.effects(boot, dangerous=consent) if boot.values else []
