"""An agent on another machine that survives its connection.

When the connection is lost, the way to the agent (`becalm.hosts.ssh.connect`) is walked again until it leads somewhere
or time is over. A request is then asked again of the new agent, and a block goes on with the first run that had not
arrived: `ReconnectingHost` is a host around the agent of the moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from becalm import system_clock
from becalm.errors import LostError, MachineError, UnsettledError, UsageError
from becalm.hosts.abilities import YES, Abilities, Ability
from becalm.hosts.agent import AgentHost
from becalm.hosts.beside import LoadBeside
from becalm.hosts.events import Event, Runs
from becalm.hosts.held import Planned, PutOn
from becalm.hosts.left import leave
from becalm.hosts.protocol import MeasureRequest
from becalm.hosts.rebooting import RestartedError
from becalm.hosts.ssh.connect import ENDING_SECONDS, SILENCE_SECONDS, Connected, PreviousAgent, Route
from becalm.hosts.ssh.connection import NOTHING
from becalm.hosts.ssh.link import SshLink
from becalm.hosts.wrapper import Wrapper
from becalm.nouns.demand import Demand
from becalm.nouns.knob import Knob
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.settings import Reset, Status

RETURN_SECONDS = 300
"""The time in which a lost machine is tried again, s: a network that is down, or a restart by somebody else."""

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""The pauses between attempts, s; the last one from then on."""

Answer = TypeVar("Answer")


class ReconnectingHost(Wrapper[AgentHost]):
    """A machine reached through ssh, as often as it takes."""

    def __init__(self, route: Route) -> None:
        self._route, self._access = route, route.access
        self._called = route.access.called or str(route.address)
        self.parted = self._stopped = self._holds = self._returning = False
        self._defined: tuple[Sequence[Workload], Sequence[Settings | None], bool] = ((), (), False)
        self._number = 0
        self._take(route.reach())

    @property
    def name(self) -> str:
        """The person's name for the machine, else its address."""
        return self._called

    @property
    def boot_id(self) -> str:
        """The id of the boot on which the present agent was started."""
        return str(self.inner.greeting["boot_id"])

    def conversation(self) -> int:
        """Return the number of the conversation with the agent."""
        return self._number

    def abilities(self) -> Abilities:
        """Return the abilities of the agent, and that it comes back."""
        return {**self.inner.abilities(), Ability.RECONNECT: YES}

    def facts(self) -> dict[str, Any]:
        """Return the facts as on every host."""
        self.ask(AgentHost.facts)
        return super().facts()

    def knobs(self) -> list[Knob]:
        """Return the knobs as on every host."""
        return self.ask(AgentHost.knobs)

    def plan(self, settings: Settings, *, dangerous: bool = False) -> Planned:
        """Return the plan as on every host."""
        return self.ask(lambda agent: agent.plan(settings, dangerous=dangerous))

    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot here."""
        return self.ask(lambda agent: agent.effects(settings, dangerous=dangerous))

    def overhead(self, runs: int) -> tuple[list[int], list[int]]:
        """Return the overhead as on every host."""
        return self.ask(lambda agent: agent.overhead(runs))

    def status(self) -> Status:
        """Return the status as on every host."""
        return self.ask(AgentHost.status)

    def restore(self, *, force: bool = False, mine: bool = False) -> Reset:
        """Restore as on every host."""
        return self.ask(lambda agent: agent.restore(force=force, mine=mine))

    def define(
        self, workloads: Sequence[Workload], settings: Sequence[Settings | None], *, dangerous: bool = False
    ) -> list[str]:
        """Define as on every host; a new agent gets the same definitions."""
        self._defined = ((), (), False)
        programs = self.ask(lambda agent: agent.define(workloads, settings, dangerous=dangerous))
        self._defined = (workloads, settings, dangerous)
        return programs

    @contextmanager
    def hold(self, settings: Settings, *, dangerous: bool = False) -> Iterator[PutOn]:
        """Hold as on every host. The hold ends with the connection, which is not made again meanwhile."""
        with self.inner.hold(settings, dangerous=dangerous) as found:
            self._holds = True
            try:
                yield found
            finally:
                self._holds = False

    @contextmanager
    def loading(self, demand: Demand) -> Iterator[LoadBeside]:
        """Make load as on every host. The load ends with the connection, which is not made again meanwhile."""
        with self.inner.loading(demand) as load:
            self._holds = True
            try:
                yield load
            finally:
                self._holds = False

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Measure as on every host. A lost connection is made again, and runs that had not arrived are repeated: of
        programs that start at the same time both, or neither.

        Raises RestartedError when that leads to another boot of the machine.
        """
        self._stopped = False
        while True:
            done = 0
            try:
                for event in self.inner.measure(request):
                    if isinstance(event, Runs):
                        done += len(event.rows)
                    yield event
                return
            except LostError as error:
                before = self.boot_id
                try:
                    runs = _following(self._return(error), request.first + done)
                    runs = runs[: request.whole(done + len(runs)) - done]
                except LostError:
                    if self._stopped:
                        return
                    raise
            if runs:
                yield Runs(runs)
            request = request.after(done + len(runs))
            if not request.block.steps:
                return
            if self.boot_id != before:
                raise RestartedError(f"{self.name} was restarted while it was measured.")
            self._tell()

    def settle(self) -> None:
        """Settle as on every host."""
        self.ask(AgentHost.settle)

    def stop(self) -> None:
        """End what is under way, and do not wait for a machine that is lost."""
        self._stopped = True
        self.inner.stop()

    def part(self) -> None:
        """Stop making lost connections again."""
        self.parted = True

    def close(self) -> None:
        """End the agent, which puts everything back, and the connection."""
        self.part()
        if self.inner.answered:
            leave(self._access.spool, None)
        self.inner.close()

    def ask(self, call: Callable[[AgentHost], Answer]) -> Answer:
        """Ask the agent what may be asked again of another one: it leaves nothing in the first, or ends in the same."""
        try:
            return call(self.inner)
        except LostError as error:
            if self._returning:
                raise
            before = self.boot_id
            self._return(error)
            if self.boot_id == before:
                self._tell()
            return self.ask(call)

    def _tell(self) -> None:
        """Have the agent of the moment know what the one before knew."""
        workloads, settings, dangerous = self._defined
        if workloads:
            self.ask(lambda agent: agent.define(workloads, settings, dangerous=dangerous))

    def _take(self, reached: Connected) -> list[Run]:
        """Take this agent from now on; return the runs that the previous one had finished."""
        self._spool = reached.spool
        link = SshLink(reached.process, reached.connection, SILENCE_SECONDS)
        try:
            self._inner = AgentHost(self.name, link, self._access, reached.surroundings)
        except BaseException:
            # Nothing was measured. Where the connection is lost it stays for a week.
            with contextlib.suppress(MachineError):
                reached.discard()
            link.close()
            raise
        self._number += 1
        leave(self._access.spool, self.previous().place(self._route.address), reached.kept)
        reached.forget()
        reached.connection.seclude()
        return self.inner.rows(reached.rows())

    def previous(self) -> PreviousAgent:
        """Return the present agent, for when it is lost."""
        return PreviousAgent(int(self.inner.greeting["pid"]), self.boot_id, self._spool)

    def _return(self, error: LostError) -> list[Run]:
        """Connect again to a machine that has been restored; return the runs that were finished
        there.

        Raises LostError when that fails, or must not be tried: the settings of `hold` are off. Raises UnsettledError
        when something could not be restored.
        """
        if self._holds or self._stopped or self.parted:
            raise error
        self._access.say(f"The connection to {self.name} was lost. It is tried again for {RETURN_SECONDS // 60} min.")
        began, former = system_clock.monotonic(), self.previous()
        runs = self.come_back(began + RETURN_SECONDS, error, former)
        took = f"{system_clock.monotonic() - began:.0f} s"
        self._access.say(
            f"{self.name} answers again after {took}"
            + (", restarted by somebody else or by a power cut. " if self.boot_id != former.boot_id else ". ")
            + f"What had not arrived is run again{f'; {len(runs)} finished runs were still there' if runs else ''}."
        )
        return runs

    def come_back(
        self, deadline: float, error: LostError, former: PreviousAgent, *, restarting: bool = False
    ) -> list[Run]:
        """Walk the way again until it leads to an agent; gives runs that were finished there. Raises LostError.

        `restarting`: the machine was told to restart, so that nothing is expected of its present boot.
        """
        self._returning = True
        self.inner.close()
        pauses = iter(PAUSES)
        try:
            while True:
                try:
                    runs = self._take(self._route.reach(former, restarting=restarting))
                    if not restarting:
                        self._await_others()
                    return runs
                except UsageError:
                    raise
                except MachineError as now:
                    if isinstance(now, UnsettledError):
                        raise
                    why = str(now).removesuffix(NOTHING)
                    if isinstance(now, LostError) and now.final:
                        raise LostError(f"{error} It cannot be reached again: {why}", final=True) from now
                    if system_clock.monotonic() > deadline:
                        raise LostError(f"{error} It could not be reached again: {why}") from now
                self._pause(next(pauses, PAUSES[-1]), error)
        finally:
            self._returning = False

    def _pause(self, seconds: float, error: LostError) -> None:
        """Wait, but not for somebody who has interrupted. Raises `error` then."""
        end = system_clock.monotonic() + seconds
        while (left := end - system_clock.monotonic()) > 0:
            if self._stopped:
                raise error
            system_clock.sleep(min(left, 0.2))

    def _await_others(self) -> None:
        """Wait until the agent of the lost connection, or its guard, has restored everything; else do so."""
        if not self.abilities()[Ability.MACHINE_SETTINGS]:
            return
        end = system_clock.monotonic() + ENDING_SECONDS
        while (found := self.status()).busy is not None and system_clock.monotonic() < end and not self._stopped:
            system_clock.sleep(1)
        if found.busy is None and found.anything and found.kept is None:
            # A boot entry is not of the lost connection: a person may have put it on to stay.
            settled(self.ask(lambda agent: agent.restore(entry=False)))


def _following(rows: list[Run], seq: int) -> list[Run]:
    """Return the good runs from this number on, without a gap; of others the output would be missing."""
    runs: list[Run] = []
    for run in rows:
        if run.seq == seq + len(runs):
            if run.outcome != Outcome.OK:
                break
            runs.append(run)
    return runs


def settled(done: Reset) -> None:
    """Raise UnsettledError when something could not be restored."""
    if done.unsettled:
        lines = "\n".join(f"  {sentence}" for sentence in done.unsettled)
        raise UnsettledError(f"Not everything of the machine could be put back:\n{lines}\nTry again: becalm reset")
