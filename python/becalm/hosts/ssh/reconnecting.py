"""An agent on another machine that survives its connection.

When the connection is lost, it is tried again (`becalm.hosts.ssh.connect`) until it succeeds or time is over. A request
is then repeated to the new agent, and a block continues with the first run that had not arrived. `ReconnectingHost` is
a host around the current agent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from becalm import system_clock
from becalm.errors import BecalmError, LostError, MachineError, UnsettledError, UsageError
from becalm.hosts.abilities import YES, Abilities, Ability
from becalm.hosts.agent import AgentHost
from becalm.hosts.applied_settings import AppliedSettings, Planned
from becalm.hosts.events import Event, Runs
from becalm.hosts.protocol import MeasureRequest
from becalm.hosts.rebooting import RestartedError
from becalm.hosts.running_load import RunningLoad
from becalm.hosts.spool_entry import write_spool_entry
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
"""The time in which a lost connection is tried again, s, for example while the network is down."""

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""The pauses between attempts, s; further pauses are like the last one."""

Answer = TypeVar("Answer")


class ReconnectingHost(Wrapper[AgentHost]):
    """A machine reached through ssh, which reconnects when the connection is lost."""

    def __init__(self, route: Route) -> None:
        self._route, self._access = route, route.access
        self._called = route.access.called or str(route.address)
        self.parted = self._stopped = self._holds = self._returning = False
        self._defined: tuple[Sequence[Workload], Sequence[Settings | None], bool] = ((), (), False)
        self._number = 0
        self._fetched: tuple[bytes, list[Run]] = b"", []
        """Finished runs of the lost agent, as lines and as runs: the attempt that fetches them may fail afterwards."""
        self._adopt(route.reach())

    @property
    def name(self) -> str:
        """The user's name for the machine, else its address."""
        return self._called

    @property
    def boot_id(self) -> str:
        """The id of the boot on which the current agent runs."""
        return str(self.inner.greeting["boot_id"])

    def conversation(self) -> int:
        """Return the number of the conversation with the agent."""
        return self._number

    def abilities(self) -> Abilities:
        """Return the abilities of the agent, and the ability to reconnect."""
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
    def hold(self, settings: Settings, *, dangerous: bool = False) -> Iterator[AppliedSettings]:
        """Hold as on every host. A lost connection ends the hold, and is not restored meanwhile."""
        with self.inner.hold(settings, dangerous=dangerous) as applied:
            self._holds = True
            try:
                yield applied
            finally:
                self._holds = False

    @contextmanager
    def loading(self, demand: Demand) -> Iterator[RunningLoad]:
        """Make load as on every host. A lost connection ends the load, and is not restored meanwhile."""
        with self.inner.loading(demand) as load:
            self._holds = True
            try:
                yield load
            finally:
                self._holds = False

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Measure as on every host. After a lost connection, runs that had not arrived are repeated, and of programs
        that start at the same time both or neither.

        Raises RestartedError if the machine was restarted meanwhile.
        """
        self._stopped = False
        while True:
            done, self._fetched = 0, (b"", [])
            failure: BecalmError | None = None
            try:
                for event in self.inner.measure(request):
                    if isinstance(event, Runs):
                        done += len(event.rows)
                    yield event
                return
            except LostError as error:
                before = self.boot_id
                try:
                    self._return(error)
                except BecalmError as now:
                    failure = now
            # Also when nothing more can be measured there: the spool has been removed.
            runs = _following(self._fetched[1], request.first + done)
            runs = runs[: request.whole(done + len(runs)) - done]
            if runs:
                yield Runs(runs)
            if isinstance(failure, LostError) and self._stopped:
                return
            if failure is not None:
                raise failure
            request = request.after(done + len(runs))
            if not request.block.steps:
                return
            if self.boot_id != before:
                raise RestartedError(f"{self.name} was restarted while it was measured.")
            self._define_again()

    def settle(self) -> None:
        """Settle as on every host."""
        self.ask(AgentHost.settle)

    def stop(self) -> None:
        """End the current request, and do not wait for a lost machine."""
        self._stopped = True
        self.inner.stop()

    def part(self) -> None:
        """Stop restoring lost connections."""
        self.parted = True

    def close(self) -> None:
        """End the agent, which restores everything, and the connection."""
        self.part()
        if self.inner.answered:
            write_spool_entry(self._access.spool, None)
        self.inner.close()

    def ask(self, call: Callable[[AgentHost], Answer]) -> Answer:
        """Make a request to the agent, and repeat it to a new one after a lost connection; it must be safe to
        repeat."""
        try:
            return call(self.inner)
        except LostError as error:
            if self._returning:
                raise
            before = self.boot_id
            self._return(error)
            if self.boot_id == before:
                self._define_again()
            return self.ask(call)

    def _define_again(self) -> None:
        """Give the new agent the definitions that the previous one had."""
        workloads, settings, dangerous = self._defined
        if workloads:
            self.ask(lambda agent: agent.define(workloads, settings, dangerous=dangerous))

    def _adopt(self, reached: Connected) -> None:
        """Use this agent from now on, and keep the finished runs of the previous one."""
        self._spool = reached.spool
        # If the connection is lost before the agent has begun, an empty spool may stay for a week.
        link = SshLink(reached.process, reached.connection, SILENCE_SECONDS, reached.discard)
        self._inner = AgentHost(self.name, link, self._access, reached.surroundings)
        link.begin()
        self._number += 1
        try:
            if reached.unfetched:
                self._fetched = reached.unfetched, self.inner.rows(reached.rows())
            write_spool_entry(self._access.spool, self.previous().place(self._route.address), self._fetched[0])
            reached.forget()
            reached.connection.seclude()
        except BaseException:
            # Its keep-alive lines would keep the agent there.
            self.inner.close()
            raise

    def previous(self) -> PreviousAgent:
        """Return the current agent, to be used when it is lost."""
        return PreviousAgent(int(self.inner.greeting["pid"]), self.boot_id, self._spool)

    def _return(self, error: LostError) -> None:
        """Reconnect to the machine, whose settings have been restored.

        Raises LostError if that fails, or must not be tried because the settings of `hold` have ended. Raises
        UnsettledError if something could not be restored.
        """
        if self._holds or self._stopped or self.parted:
            raise error
        self._access.say(f"The connection to {self.name} was lost. It is tried again for {RETURN_SECONDS // 60} min.")
        began, former = system_clock.monotonic(), self.previous()
        self.come_back(began + RETURN_SECONDS, error, former)
        runs, took = len(self._fetched[1]), f"{system_clock.monotonic() - began:.0f} s"
        self._access.say(
            f"{self.name} answers again after {took}"
            + (", restarted by somebody else or by a power cut. " if self.boot_id != former.boot_id else ". ")
            + f"Runs that had not arrived are repeated{f'; {runs} finished runs were there' if runs else ''}."
        )

    def come_back(self, deadline: float, error: LostError, former: PreviousAgent, *, restarting: bool = False) -> None:
        """Try to reconnect until `deadline`. Raises LostError.

        `restarting`: the machine is restarting, so its present boot does not count.
        """
        self._returning = True
        pauses = iter(PAUSES)
        self._fetched = b"", []
        try:
            while True:
                # The lost agent, or that of a failed attempt.
                self.inner.close()
                try:
                    self._adopt(self._route.reach(former, restarting=restarting))
                    if not restarting:
                        self._await_others()
                    return
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
        """Wait between two attempts. Raises `error` when becalm is interrupted."""
        end = system_clock.monotonic() + seconds
        while (left := end - system_clock.monotonic()) > 0:
            if self._stopped:
                raise error
            system_clock.sleep(min(left, 0.2))

    def _await_others(self) -> None:
        """Wait until the agent of the lost connection, or its guard, has restored everything; otherwise restore it."""
        if not self.abilities()[Ability.MACHINE_SETTINGS]:
            return
        end = system_clock.monotonic() + ENDING_SECONDS
        while (status := self.status()).busy is not None and system_clock.monotonic() < end and not self._stopped:
            system_clock.sleep(1)
        if status.busy is None and status.anything and status.standing is None:
            # A boot entry does not belong to the lost connection: the user may have applied it to stay.
            settled(self.ask(lambda agent: agent.restore(entry=False)))


def _following(rows: list[Run], seq: int) -> list[Run]:
    """Return the successful runs from this number on, up to the first gap; of others the output would be missing."""
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
        raise UnsettledError(f"Not everything of the machine could be restored:\n{lines}\nTry again: becalm reset")
