"""The host `ssh://[user@]name[:port]`: another machine, through the agent that is copied there (docs/remote.md).

`SshHost` walks the way to the agent (`becalm.hosts.reaching`) as often as it takes: when the connection is lost, a
request is asked again of a new agent and a block goes on with the first run that has not arrived; for settings of the
boot the machine is restarted by way of a boot entry of becalm's (docs/reboot.md).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from becalm.errors import BecalmError, BootError, LostError, MachineError, RefusedError, UnsettledError, UsageError
from becalm.hosts import Access, TextSink
from becalm.hosts.booting import Booting, Parameters
from becalm.hosts.connection import FAILED, NOTHING
from becalm.hosts.link import ProcessLink
from becalm.hosts.reaching import ENDING_SECONDS, SILENCE_SECONDS, Former, Reached, Way
from becalm.load.record import LoadSink
from becalm.nouns import Block, Outcome, Run, Settings

LIFE_SECONDS = 15
"""A sign of life that often: three may get lost."""

RETURN_SECONDS = 300
"""How long a lost machine is tried again: a network that is down, or a restart by somebody else."""

FALL_BACK_SECONDS = 600
"""A machine that runs but was not reached for so long after its start restarts by itself, as before."""

RESTART_SECONDS = 3 * FALL_BACK_SECONDS
"""How long a machine is waited for: down and up (servers test their memory), the fall-back, and up again."""

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Between two attempts, seconds; the last one from then on."""

ONCE = frozenset(("open", "hold", "boot", "reboot"))
"""Requests that are not asked again of another agent: whether the first one has done them is not known."""


def open_ssh(rest: str, access: Access) -> SshHost:
    """Connect, have the agent there, and start it. `rest` is what follows "ssh:". Raises UsageError, MachineError."""
    return SshHost(Way.to(rest, access))


class SshHost(Booting):
    """A machine reached through ssh. Programs have its environment, and begin in the home directory there."""

    def __init__(self, way: Way) -> None:
        self._way, self._access = way, way.access
        self._writing = threading.Lock()
        self._over = threading.Event()
        self._here: Parameters | None = ()
        self._holds = self._returning = False
        self._start(way.access.called or str(way.address))
        self._take(way.reach())
        threading.Thread(target=self._live, name="becalm-ssh", daemon=True).start()
        try:
            if self.reboots:
                self._look_around()
        except BaseException:
            self.close()
            raise

    @property
    def reboots(self) -> bool:  # type: ignore[override]
        """Whether the person has allowed it, and the agent has the right."""
        return self._access.reboot and self.privileged

    @property
    def stays(self) -> str:
        """Why settings of the boot are not tried."""
        needs = " and ".join(
            [
                *([] if self._access.reboot else ["your consent: --allow-reboot"]),
                *([] if self.privileged else ["--sudo"]),
            ]
        )
        return f"set at boot, so {self.name} would have to be restarted: needs {needs}"

    def measure(
        self,
        first: int,
        block: Block,
        *,
        on_text: TextSink | None = None,
        on_load: LoadSink | None = None,
        load: str = "totals",
        stop_on_failure: bool = True,
    ) -> Iterator[list[Run]]:
        """As on every host. When the connection is lost it is made again, and what had not arrived is run again."""
        done = 0
        while True:
            try:
                for rows in super().measure(
                    first + done,
                    block[done:],
                    on_text=on_text,
                    on_load=on_load,
                    load=load,
                    stop_on_failure=stop_on_failure,
                ):
                    done += len(rows)
                    yield rows
                return
            except LostError as error:
                if self._stopped:
                    return
                kept = _following(self._return(error), first + done)
            if kept:
                done += len(kept)
                yield kept
            if done == len(block):
                return

    def hold(self, settings: Settings, *, dangerous: bool = False, keep: bool = False) -> dict[str, Any]:
        """As on every host."""
        held = super().hold(settings, dangerous=dangerous, keep=keep)
        self._holds = True
        return held

    def settle(self) -> None:
        """Put everything back, and have the machine as it starts without becalm."""
        super().settle()
        if not self.reboots:
            return
        if self._here != ():
            self._restart(())
        elif self.status().get("boot") is not None:
            _settled(self.unboot())

    def close(self) -> None:
        """End the agent, which puts everything back, and the connection."""
        if self._here != () and not self._over.is_set():
            with contextlib.suppress(BecalmError):
                self._leave()
        self._over.set()
        with self._writing:
            # Whoever gets the lock from now on writes nothing: the descriptor may soon be another file's.
            pass
        super().close()
        self._connection.close()

    def _take(self, reached: Reached) -> list[Run]:
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

    def _former(self) -> Former:
        return Former(int(self._greeted["pid"]), str(self._greeted["boot_id"]), self._spool)

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
            if self._returning or request["do"] in ONCE:
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

    def _again(self, deadline: float, error: LostError, former: Former, *, restarting: bool = False) -> list[Run]:
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
            _settled(self.restore())

    def _look_around(self) -> None:
        """Whether the machine runs as it starts by itself, or by an entry of becalm's."""
        entry = self.status().get("boot")
        self._here = self._booted = None if entry is not None and entry["running"] else ()
        self._checked, self._told = {Settings()}, set()

    def _restart(self, parameters: Parameters) -> None:
        if not self.reboots:
            raise RefusedError(f"The machine was not restarted: {self.stays}.")
        before = self._here
        words = " ".join(parameters)
        try:
            if parameters:
                # Dangerous ones were consented to when the settings were defined.
                self.boot(parameters, limit_s=FALL_BACK_SECONDS, dangerous=True)
            else:
                _settled(self.unboot())
        except BecalmError:
            self._booted = before
            raise
        self._access.say(f"{self.name} is restarted" + (f" with {words}." if words else " as it was before."))
        former = self._former()
        with contextlib.suppress(LostError):
            self.restart()
        self._here = None
        error = LostError(
            f"{self.name} has not come back from its restart{f' with {words}' if words else ''}. The entry of becalm's "
            f"is used for one start only: the next one, also after a power cut, is as always, and when the machine "
            f"runs but cannot be reached, it restarts by itself {FALL_BACK_SECONDS // 60} min after its start. Look at "
            f"its console, or switch it off and on; then `becalm reset --host {self.name}` as root removes the entry."
        )
        self._again(time.monotonic() + RESTART_SECONDS, error, former, restarting=True)
        self._look_around()
        if not parameters:
            if self._here is None:
                raise UnsettledError(f"{self.name} was restarted, but runs by becalm's entry again.")
            return
        found = self.healthy()
        if not found["ours"]:
            raise BootError(
                f"{self.name} did not come up with {words}, and is back on the entry that it always starts: "
                f"{found['sentence']}"
            )
        self._here = parameters

    def _leave(self) -> None:
        """Have the machine restart as before, without waiting for that."""
        self.release()
        self.unboot()
        self._access.say(f"{self.name} is restarted as it was before.")
        self.restart()
        self._here = ()

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


def _settled(done: dict[str, Any]) -> None:
    """Raises UnsettledError when something could not be put back."""
    if done["unsettled"]:
        lines = "\n".join(f"  {sentence}" for sentence in done["unsettled"])
        raise UnsettledError(f"Not everything of the machine could be put back:\n{lines}\nTry again: becalm reset")
