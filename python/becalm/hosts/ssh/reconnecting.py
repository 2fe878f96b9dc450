"""A conversation with an agent on another machine that survives its connection.

When the connection is lost, the way to the agent (`becalm.hosts.ssh.connect`) is walked again until it leads somewhere
or time is over. A request is then asked again of the new agent, and a block goes on with the first run that had not
arrived.
"""

from __future__ import annotations

import contextlib
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from becalm.errors import LostError, MachineError, UnsettledError, UsageError
from becalm.hosts.events import Event, Runs
from becalm.hosts.protocol import MeasureRequest
from becalm.hosts.rebooting import RebootingHost
from becalm.hosts.ssh.connect import ENDING_SECONDS, SILENCE_SECONDS, Connected, PreviousAgent, Route
from becalm.hosts.ssh.connection import FAILED, NOTHING
from becalm.hosts.transport import ProcessLink
from becalm.nouns.run import Outcome, Run
from becalm.nouns.settings import Settings

LIFE_SECONDS = 15
"""A sign of life that often: three may get lost."""

RETURN_SECONDS = 300
"""How long a lost machine is tried again: a network that is down, or a restart by somebody else."""

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Between two attempts, seconds; the last one from then on."""

AGAIN = frozenset(
    ("facts", "knobs", "define", "effects", "plan", "overhead", "release", "status", "restore", "healthy", "unboot")
)
"""Requests that may be asked again of another agent: they leave nothing behind in the first, or end in the same."""


class ReconnectingHost(RebootingHost):
    """A machine reached through ssh, as often as it takes."""

    def __init__(self, way: Route) -> None:
        self._way, self._access = way, way.access
        self._writing = threading.Lock()
        self._over = threading.Event()
        self._holds = self._returning = False
        self._start(way.access.called or str(way.address))
        self._take(way.reach())
        threading.Thread(target=self._live, name="becalm-ssh", daemon=True).start()

    @abstractmethod
    def _look_around(self) -> None:
        """See with what the machine runs: it may have been restarted."""

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """As on every host. When the connection is lost it is made again, and what had not arrived is run again."""
        done = 0
        while True:
            try:
                for event in super().measure(request.after(done)):
                    if isinstance(event, Runs):
                        done += len(event.rows)
                    yield event
                return
            except LostError as error:
                try:
                    kept = _following(self._return(error), request.first + done)
                except LostError:
                    if self._stopped:
                        return
                    raise
            if kept:
                done += len(kept)
                yield Runs(kept)
            if done == len(request.block.steps):
                return

    def hold(self, settings: Settings, *, dangerous: bool = False, keep: bool = False) -> dict[str, Any]:
        """As on every host."""
        held = super().hold(settings, dangerous=dangerous, keep=keep)
        self._holds = True
        return held

    def close(self) -> None:
        """End the agent, which puts everything back, and the connection."""
        self._over.set()
        with self._writing:
            # Whoever gets the lock from now on writes nothing: the descriptor may soon be another file's.
            pass
        super().close()
        self._connection.close()

    def _take(self, reached: Connected) -> list[Run]:
        """Talk to this agent from now on; gives the runs that the one before had finished."""
        self._connection, self._process, self._spool = reached.connection, reached.process, reached.spool
        try:
            self._begin(ProcessLink(reached.process), self._access, reached.surroundings)
        except BaseException:
            self._drop()
            raise
        reached.connection.seclude()
        return self._runs(list(reached.rows()))

    def _drop(self) -> None:
        with self._writing:
            self._link.close()
        self._connection.close()

    def _greeting(self) -> dict[str, Any]:
        self._greeted = super()._greeting()
        return self._greeted

    def _former(self) -> PreviousAgent:
        return PreviousAgent(int(self._greeted["pid"]), str(self._greeted["boot_id"]), self._spool)

    def _live(self) -> None:
        """Send empty lines, which the agent takes as signs of life, between requests and never within one."""
        while not self._over.wait(LIFE_SECONDS):
            with self._writing, contextlib.suppress(OSError, ValueError):
                if not self._over.is_set():
                    self._link.send(b"\n")

    def _send(self, request: dict[str, Any]) -> int:
        with self._writing:
            try:
                return super()._send(request)
            except ValueError:
                # Closed already: there was no coming back.
                raise self._died() from None

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return super()._ask(request)
        except LostError as error:
            if self._returning or request["do"] not in AGAIN:
                raise
            self._return(error)
            return self._ask(request)

    def _return(self, error: LostError) -> list[Run]:
        """Come back after a lost connection, to a machine that has been put back.

        Gives runs that were finished there. Raises LostError when that fails, or must not be tried: the settings of
        `hold` are off. Raises UnsettledError when something could not be put back.
        """
        if self._holds or self._stopped or self._over.is_set():
            raise error
        self._access.say(f"The connection to {self.name} was lost. It is tried again for {RETURN_SECONDS // 60} min.")
        began, former = time.monotonic(), self._former()
        kept = self._again(began + RETURN_SECONDS, error, former)
        took = f"{time.monotonic() - began:.0f} s"
        other = self._greeted["boot_id"] != former.boot_id
        self._told = set()
        if other:
            self._look_around()
        self._access.say(
            f"{self.name} answers again after {took}"
            + (", restarted by somebody else or by a power cut. " if other else ". ")
            + f"What had not arrived is run again{f'; {len(kept)} finished runs were still there' if kept else ''}."
        )
        return kept

    def _again(
        self, deadline: float, error: LostError, former: PreviousAgent, *, restarting: bool = False
    ) -> list[Run]:
        """Walk the way again until it leads to an agent. Raises LostError."""
        self._returning = True
        self._drop()
        pauses = iter(PAUSES)
        try:
            while True:
                try:
                    kept = self._take(self._way.reach(former, restarting=restarting))
                    if not restarting:
                        self._await_others()
                    return kept
                except UsageError:
                    raise
                except MachineError as now:
                    if isinstance(now, UnsettledError):
                        raise
                    why = str(now).removesuffix(NOTHING)
                    if isinstance(now, LostError) and now.final:
                        raise LostError(f"{error} It cannot be reached again: {why}", final=True) from now
                    if time.monotonic() > deadline:
                        raise LostError(f"{error} It could not be reached again: {why}") from now
                self._pause(next(pauses, PAUSES[-1]), error)
        finally:
            self._returning = False

    def _pause(self, seconds: float, error: LostError) -> None:
        """Wait, but not for somebody who has interrupted. Raises `error` then."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._stopped:
                raise error
            time.sleep(min(left, 0.2))

    def _await_others(self) -> None:
        """Until the agent of the lost connection, or its guard, has put everything back; else do that ourselves."""
        if not self.privileged:
            return
        end = time.monotonic() + ENDING_SECONDS
        while (found := self.status())["busy"] is not None and time.monotonic() < end and not self._stopped:
            time.sleep(1)
        journal = found["journal"]
        if found["busy"] is None and journal is not None and journal["kept"] is None:
            settled(self.restore())

    def _died(self) -> MachineError:
        code = self._process.wait()
        if code != FAILED:
            # Not what the start-up files of the login shell say.
            said = [
                line for line in self._connection.said().splitlines() if line.startswith(("becalm-agent:", "sudo:"))
            ]
            why = f" ({said[-1].rstrip('.')})" if said else ""
            return MachineError(
                f"The agent on {self.name} ended with exit code {code}{why}. The program it ran was ended with it. "
                "All runs that had arrived are kept."
            )
        return LostError(
            f"The connection to {self.name} was lost. The agent there ends the program that ran and puts every "
            f"setting back: at once, or after {SILENCE_SECONDS} s when only the network is gone; `becalm status --host "
            f"{self.name}` tells. All runs that had arrived are kept."
        )


def _following(rows: list[Run], seq: int) -> list[Run]:
    """Good runs from this number on, without a gap; of others what they wrote would be missing."""
    kept: list[Run] = []
    for run in rows:
        if run.seq == seq + len(kept):
            if run.outcome != Outcome.OK:
                break
            kept.append(run)
    return kept


def settled(done: dict[str, Any]) -> None:
    """Raises UnsettledError when something could not be put back."""
    if done["unsettled"]:
        lines = "\n".join(f"  {sentence}" for sentence in done["unsettled"])
        raise UnsettledError(f"Not everything of the machine could be put back:\n{lines}\nTry again: becalm reset")
