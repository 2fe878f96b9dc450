"""A host whose machine can be started again: settings of the next boot are tried there.

`RebootingHost` is around a host that can restart its machine (`Restartable`). It splits settings into parameters of the
kernel's command line, which need a boot, and the rest, which goes to the agent. `define` remembers, `measure` cuts a
block where the parameters change and has the machine restarted in between. After each boot the agent is asked
(`effects`) whether the kernel has taken what it was given: a parameter that was ignored would be measured as if it
helped, or did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from becalm import system_clock
from becalm.errors import BootError, LostError, UsageError
from becalm.hosts.events import Event, Runs
from becalm.hosts.held import Planned, PutOn
from becalm.hosts.protocol import Host, MeasureRequest, Parameters
from becalm.hosts.wrapper import Wrapper
from becalm.nouns.knob import at_boot, known
from becalm.nouns.run import Outcome, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.settings import Change


class RestartedError(LostError):
    """The machine was restarted by somebody else, or by a power cut, and answers again."""


class Restartable(Host, Protocol):
    """A host with an agent that can be met again on a new boot of its machine."""

    @property
    def parameters(self) -> Parameters | None:
        """The words that the machine runs with now; none as it starts by itself; None when that is not known."""
        ...

    def conversation(self) -> int:
        """Return the number of the conversation with the agent, begun if there is none: a new one knows nothing yet."""
        ...

    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot, and whether this boot has them (`effects` in the protocol)."""
        ...

    def started_before(self, parameters: Parameters) -> None:
        """Record that the machine has started with these words: one failed start is no proof against them."""
        ...


@dataclass(frozen=True, slots=True)
class BootPart:
    """Settings as they are put on: `parameters` of the boot that they need, `boot`: the settings these come from, and
    `live`: what the agent sets."""

    parameters: Parameters
    boot: Settings
    live: Settings


class RebootingHost(Wrapper[Restartable]):
    """A machine that is started again with other kernel parameters where settings need them."""

    def __init__(self, inner: Restartable) -> None:
        super().__init__(inner)
        self._boot_ns: int | None = None
        self._parts: dict[tuple[Settings, bool], BootPart] = {}
        self._defined: tuple[list[Workload], list[BootPart | None], bool] = ([], [], False)
        self._conversation = -1
        self._checked: set[Settings] = set()
        self._told: set[int] = set()
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
        """Define as on every host. The agent checks settings that need another boot when that is made."""
        parts = [None if setting is None else self._part(setting, dangerous) for setting in settings]
        self._defined, self._told = (list(workloads), parts, dangerous), set()
        for part in parts:
            if part is not None and part.parameters in self._bad:
                raise self._bad[part.parameters]
        now = self.inner.parameters
        return self._tell({index for index, each in enumerate(parts) if each and each.parameters == now})

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Measure as on every host; the machine is started again before a step that needs other kernel parameters.

        Raises BootError, after the rows of the steps before, when it does not come up with them or does not take them.
        """
        self._stopped = False
        self._stale = self._stale or request.block.fresh_boot
        while request.block.steps:
            part, size = self._first(request.block.steps)
            self._have(part)
            if self._stopped:
                return
            piece = request.after(0, size)
            if missing := {step.settings for step in piece.block.steps} - self._told:
                # What the agent does not take is of these settings: the others it has taken on this boot.
                self._tell(self._told | missing)
            done, good = 0, True
            try:
                for event in self.inner.measure(piece):
                    if isinstance(event, Runs):
                        done += len(event.rows)
                        good = good and all(run.outcome == Outcome.OK for run in event.rows)
                    yield event
            except RestartedError:
                # What is left is made on a boot with its parameters, as if the block began there.
                size = done
            except BootError as error:
                self._bad[part.parameters] = error
                raise
            if done < size or (request.stop_on_failure and not good):
                return
            request = request.after(done)

    def go_on(self, runs: Sequence[Run], settings: Sequence[Settings]) -> None:
        """Record what the machine has started with: each of a study's runs was made on a boot with its settings."""
        self._started |= {at_boot(settings[position]) for position in {run.settings for run in runs}}

    def hold(self, settings: Settings, *, dangerous: bool = False) -> AbstractContextManager[PutOn]:
        """Hold as on every host, after a boot with the parameters that the settings need."""
        part = self._part(settings, dangerous)
        self._have(part)
        return self.inner.hold(part.live, dangerous=dangerous)

    def keep(self, settings: Settings, *, dangerous: bool = False) -> PutOn:
        """Keep as on every host. Raises UsageError for settings that need a boot."""
        part = self._part(settings, dangerous)
        if part.boot.values:
            names = ", ".join(name for name, _ in part.boot.values)
            raise UsageError(f"{names} is set at boot, and does not stay on {self.name} when becalm ends.")
        return self.inner.keep(part.live, dangerous=dangerous)

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Return the plan as on every host; for settings of the boot the changes to the kernel's command line."""
        part = self._part(settings, dangerous)
        words = {effect["knob"]: effect for effect in self._effects(part.boot, dangerous)}
        planned = self.inner.plan(part.live, dangerous=dangerous)
        changes = (
            Change(knob, "/proc/cmdline", None, " ".join(each["parameters"]), not each["taken"])
            for knob, each in words.items()
        )
        return Planned((*changes, *planned.changes), planned.lasting)

    def reboot(self, parameters: Parameters) -> None:
        """Start the machine again with these words. Raises BootError also when that has failed before."""
        if parameters in self._bad:
            raise self._bad[parameters]
        self._boot(parameters)

    def stop(self) -> None:
        """End the current block, also between a boot and its first run."""
        self._stopped = True
        self.inner.stop()

    def _first(self, steps: Sequence[Step]) -> tuple[BootPart, int]:
        """Return the needs of the first steps, which need the same boot, and the number of these steps."""
        part, size = self._needed(steps[0]), 1
        while size < len(steps) and self._needed(steps[size]) == part:
            size += 1
        return part, size

    def _needed(self, step: Step) -> BootPart:
        parts = self._defined[1]
        part = parts[step.settings] if step.settings < len(parts) else None
        if part is None:
            raise UsageError(f"Step {list(step)} names settings that were not defined.")
        # All settings of one boot are one group; whose check comes first is no matter.
        return BootPart(part.parameters, part.boot, Settings())

    def _have(self, part: BootPart) -> None:
        """Boot with these parameters, unless the present boot has taken them."""
        if part.parameters in self._bad:
            raise self._bad[part.parameters]
        if self._stale or part.parameters != self.inner.parameters:
            if part.parameters and part.boot in self._started:
                self.inner.started_before(part.parameters)
            self._boot(part.parameters)
        self._meet()
        if part.boot not in self._checked:
            self._check(part)
            self._checked.add(part.boot)

    def _boot(self, parameters: Parameters) -> None:
        began = system_clock.monotonic_ns()
        try:
            self.inner.reboot(parameters)
        except BootError as error:
            # Not tried again: a boot that hangs takes minutes.
            self._bad[parameters] = error
            raise
        self._boot_ns, self._stale = system_clock.monotonic_ns() - began, False

    def _meet(self) -> None:
        """See whether another agent answers than the one that knows what was defined."""
        if self.inner.conversation() != self._conversation:
            self._conversation = self.inner.conversation()
            self._checked, self._told = {Settings()}, set()

    def _tell(self, which: set[int]) -> list[str]:
        """Define these settings, which are of this boot; the others when they are needed."""
        workloads, parts, dangerous = self._defined
        here = [each.live if each is not None and index in which else None for index, each in enumerate(parts)]
        programs = self.inner.define(workloads, here, dangerous=dangerous)
        self._meet()
        self._told = which
        return programs

    def _check(self, part: BootPart) -> None:
        """Check that the kernel has taken its parameters. Raises BootError with what it shows instead."""
        ignored = [effect for effect in self._effects(part.boot, consent=True) if effect["taken"] is False]
        if not ignored:
            return
        said = (f"{' '.join(each['parameters']) or each['knob']} was given, but {each['how']}." for each in ignored)
        error = BootError(" ".join(said), tuple(each["knob"] for each in ignored))
        self._bad[part.parameters] = error
        raise error

    def _part(self, settings: Settings, dangerous: bool) -> BootPart:
        """Return settings divided into those of the boot and those that the agent sets. Raises UsageError as the agent
        does."""
        if (settings, dangerous) not in self._parts:
            self._parts[settings, dangerous] = self._split(settings, dangerous)
        return self._parts[settings, dangerous]

    def _split(self, settings: Settings, dangerous: bool) -> BootPart:
        boot = at_boot(settings)
        live = {name: value for name, value in settings.values if (name, value) not in boot.values}
        if not boot.values:
            return BootPart((), boot, settings)
        effects = self._effects(boot, dangerous)
        for effect in effects:
            name, row = effect["knob"], known()[effect["knob"]]
            if row.boot is None or not row.boot.binds:
                continue
            if other := next((each for each in live if each in known() and name in known()[each].conflicts), None):
                raise UsageError(
                    f"{name} and {other} both give the program CPUs of its own, from the boot on or now. "
                    "Leave one of them out."
                )
            live.setdefault("cpus", effect["cpus"])
        parameters = tuple(word for effect in effects for word in effect["parameters"])
        return BootPart(parameters, boot, Settings.of(live))

    def _effects(self, boot: Settings, consent: bool) -> list[Mapping[str, Any]]:
        return self.inner.effects(boot, dangerous=consent) if boot.values else []
