"""The host `ssh://[user@]name[:port]`: another machine, through the agent that is copied there (docs/how-to/remote.md).

What a lost connection needs is in `becalm.hosts.ssh.reconnecting`. For settings of the boot `SshMachine` restarts the
machine by way of a boot entry that the agent writes (docs/how-to/reboot.md), where the person has consented, and
`becalm.hosts.rebooting` says when. Programs have the machine's environment, and begin in the home directory there.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import Any

from becalm import system_clock
from becalm.errors import BecalmError, BootError, LostError, RefusedError, UnsettledError
from becalm.hosts.abilities import YES, Abilities, Ability, Can
from becalm.hosts.agent import AgentHost
from becalm.hosts.boot_entry import BootEntryHost
from becalm.hosts.protocol import Access, Parameters
from becalm.hosts.rebooting import RebootingHost
from becalm.hosts.ssh.address import parse
from becalm.hosts.ssh.connect import Route
from becalm.hosts.ssh.reconnecting import ReconnectingHost, settled
from becalm.hosts.wrapper import Wrapper
from becalm.nouns.settings import Settings

FALL_BACK_SECONDS = 600
"""A machine that runs but was not reached for so long after its start restarts by itself, as before."""

RESTART_SECONDS = 3 * FALL_BACK_SECONDS
"""The time that a machine is waited for, s: down and up (servers test their memory), the fall-back, and up again."""


LOOPBACK = {"localhost", "127.0.0.1", "::1", "ip6-localhost"}


def open_ssh(rest: str, access: Access) -> RebootingHost:
    """Connect, have the agent there, and start it. `rest` is what follows "ssh:". Raises UsageError, MachineError."""
    reached = ReconnectingHost(Route.to(rest, access))
    try:
        return RebootingHost(SshMachine(reached, access))
    except BaseException:
        reached.close()
        raise


def machine_of(rest: str) -> str | None:
    """Return the name of the machine that is reached; None when that is this one."""
    name = parse(f"ssh:{rest}", None).name
    return None if name in LOOPBACK or name == socket.gethostname() else name


class SshMachine(Wrapper[ReconnectingHost]):
    """A machine reached through ssh that can be restarted by an entry of its boot loader."""

    def __init__(self, inner: ReconnectingHost, access: Access) -> None:
        super().__init__(inner)
        self._access = access
        self._boot_id = inner.boot_id
        self._parameters: Parameters | None = ()
        self._stays = False
        self._started: set[Parameters] = set()
        if self._reboots:
            self._look_around()

    @property
    def _reboots(self) -> Can:
        rights = self.inner.abilities()[Ability.MACHINE_SETTINGS]
        lacking = [
            *([] if self._access.reboot else ["your consent: --allow-reboot"]),
            *([] if rights else ["--sudo"]),
        ]
        if not lacking:
            return YES
        return Can(False, f"set at boot, so {self.name} would have to be restarted: needs {' and '.join(lacking)}")

    def abilities(self) -> Abilities:
        """Return the abilities of the agent there; restarting needs the person's consent and the agent's right."""
        return {**self.inner.abilities(), Ability.REBOOT: self._reboots}

    @property
    def parameters(self) -> Parameters | None:
        """The words that the machine runs with now: it may have been restarted meanwhile."""
        if self._reboots and self.inner.boot_id != self._boot_id:
            self._look_around()
        return self._parameters

    def conversation(self) -> int:
        """Return the number of the conversation with the agent."""
        return self.inner.conversation()

    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot here."""
        return self.inner.effects(settings, dangerous=dangerous)

    def settle(self) -> None:
        """Put everything back, and have the machine as it starts without becalm."""
        self.inner.settle()
        if not self._reboots or self._stays:
            return
        if self.parameters != ():
            self.reboot(())
        elif (entry := self.status().boot) is not None and not entry.kept:
            settled(self.inner.ask(AgentHost.unboot))

    def close(self) -> None:
        """End the agent, which puts everything back, and the connection."""
        open_ = not self.inner.parted
        self.inner.part()
        if self._parameters != () and open_ and not self._stays:
            with contextlib.suppress(BecalmError):
                self._leave()
        self.inner.close()

    def started_before(self, parameters: Parameters) -> None:
        """Record that the machine has started with these words, so that a failing start is tried once more."""
        self._started.add(parameters)

    def reboot(self, parameters: Parameters) -> None:
        """Restart the machine with these words by an entry for one start; without any, as it was before.

        A power cut while it starts cannot be told from words with which it does not start. Where it has started with
        them before, it is tried once more.
        """
        try:
            self._restart(parameters)
        except BootError:
            if parameters not in self._started:
                raise
            words = " ".join(parameters)
            self._access.say(
                f"{self.name} did not come up with {words} this time, as it has before: its power may have been cut. "
                "It is tried once more."
            )
            self._restart(parameters)
        self.started_before(parameters)

    def _restart(self, parameters: Parameters) -> None:
        if not self._reboots:
            raise RefusedError(f"The machine was not restarted: {self._reboots.reason}.")
        words = " ".join(parameters)
        if parameters:
            # Dangerous ones were consented to when the settings were defined.
            self.inner.inner.boot(parameters, limit_s=FALL_BACK_SECONDS, dangerous=True)
        elif (entry := self.status().boot) is None or not entry.kept:
            settled(self.inner.ask(AgentHost.unboot))
        self._access.say(f"{self.name} is restarted" + (f" with {words}." if words else " as it was before."))
        former = self.inner.previous()
        with contextlib.suppress(LostError):
            self.inner.inner.restart()
        self._parameters = None
        error = LostError(
            f"{self.name} has not come back from its restart{f' with {words}' if words else ''}. The entry of becalm's "
            f"is used for one start only: the next one, also after a power cut, is as always, and when the machine "
            f"runs but cannot be reached, it restarts by itself {FALL_BACK_SECONDS // 60} min after its start. Look at "
            f"its console, or switch it off and on; then `becalm reset --host {self.name}` as root removes the entry."
        )
        self.inner.come_back(system_clock.monotonic() + RESTART_SECONDS, error, former, restarting=True)
        self._look_around()
        if not parameters:
            if self._parameters != ():
                raise UnsettledError(f"{self.name} was restarted, but runs by becalm's entry again.")
            return
        found = self.inner.ask(AgentHost.healthy)
        if not found["ours"]:
            raise BootError(
                f"{self.name} did not come up with {words}, and is back on the entry that it always starts: "
                f"{found['sentence']}"
            )
        self._parameters = parameters

    def boot_entry(self) -> BootEntryHost:
        """Return the machine's boot loader. The boot is the person's from now on: it is not ended with this host."""
        self._stays = True
        return self

    def boot(self, parameters: Parameters, *, dangerous: bool = False) -> Mapping[str, Any]:
        """Have the next start, and only that, be one with these words."""
        return self.inner.ask(lambda agent: agent.boot(parameters, limit_s=FALL_BACK_SECONDS, dangerous=dangerous))

    def start(self, parameters: Parameters) -> None:
        """Have the machine start with these words now, and meet it again."""
        self.reboot(parameters)

    def healthy(self) -> Mapping[str, Any]:
        """Confirm the new boot, which was reached."""
        return self.inner.ask(AgentHost.healthy)

    def keep_boot(self, parameters: Parameters) -> Mapping[str, Any]:
        """Keep the new boot for every start."""
        return self.inner.ask(lambda agent: agent.keep_boot(parameters))

    def _look_around(self) -> None:
        """Look whether the machine runs as it starts by itself, or by an entry of becalm's."""
        entry = self.status().boot
        if entry is None or not entry.running or entry.kept:
            # One that is kept is how the machine starts.
            self._parameters = ()
        else:
            # A becalm that was killed leaves a boot that it had found healthy: a study that goes on needs no other one.
            self._parameters = entry.parameters if entry.entry and not entry.waiting else None
        self._boot_id = self.inner.boot_id

    def _leave(self) -> None:
        """Have the machine restart as before, without waiting for that."""
        agent = self.inner.inner
        agent.release()
        agent.unboot()
        self._access.say(f"{self.name} is restarted as it was before.")
        agent.restart()
        self._parameters = ()
