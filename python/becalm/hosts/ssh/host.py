"""The host `ssh://[user@]name[:port]`: another machine, through the agent that is copied there (docs/how-to/remote.md).

`becalm.hosts.ssh.reconnecting` handles lost connections. For settings of the boot, if the user has consented,
`SshMachine` restarts the machine through a boot entry that the agent writes (docs/how-to/reboot.md), when
`becalm.hosts.rebooting` asks for that. Programs have the machine's environment, and start in the home directory there.
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
"""The time after which a machine that starts but is not reached restarts by itself, as before, s."""

RESTART_SECONDS = 3 * FALL_BACK_SECONDS
"""The time to wait for a machine, s: its restart (servers test their memory), the fall-back, and a second start."""


LOOPBACK = {"localhost", "127.0.0.1", "::1", "ip6-localhost"}


def open_ssh(rest: str, access: Access) -> RebootingHost:
    """Connect and start the agent. `rest`: the host's name after "ssh:". Raises UsageError, MachineError."""
    reached = ReconnectingHost(Route.to(rest, access))
    try:
        return RebootingHost(SshMachine(reached, access))
    except BaseException:
        reached.close()
        raise


def machine_of(rest: str) -> str | None:
    """Return the name of the machine; None if that is this one."""
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
        """Return the abilities of the agent there; restarting needs consent and root's rights."""
        return {**self.inner.abilities(), Ability.REBOOT: self._reboots}

    @property
    def parameters(self) -> Parameters | None:
        """The parameters that the machine runs with now, also after a restart by somebody else."""
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
        """Restore everything, and restart the machine without parameters of becalm if it runs with some."""
        self.inner.settle()
        if not self._reboots or self._stays:
            return
        if self.parameters != ():
            self.reboot(())
        elif (entry := self.status().boot) is not None and not entry.permanent:
            settled(self.inner.ask(AgentHost.unboot))

    def close(self) -> None:
        """End the agent, which restores everything, and the connection."""
        open_ = not self.inner.parted
        self.inner.part()
        if self._parameters != () and open_ and not self._stays:
            with contextlib.suppress(BecalmError):
                self._leave()
        self.inner.close()

    def started_before(self, parameters: Parameters) -> None:
        """Record that the machine has started with these parameters, so that a failed start is tried once more."""
        self._started.add(parameters)

    def reboot(self, parameters: Parameters) -> None:
        """Restart the machine with these parameters, by a boot entry for one start; without any, as it was before.

        A power cut during the start looks like parameters with which it does not start. If it has started with them
        before, it is tried once more.
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
            # Consent to dangerous parameters was checked when the settings were defined.
            self.inner.inner.boot(parameters, limit_s=FALL_BACK_SECONDS, dangerous=True)
        elif (entry := self.status().boot) is None or not entry.permanent:
            settled(self.inner.ask(AgentHost.unboot))
        self._access.say(f"{self.name} is restarted" + (f" with {words}." if words else " as it was before."))
        former = self.inner.previous()
        with contextlib.suppress(LostError):
            self.inner.inner.restart()
        self._parameters = None
        error = LostError(
            f"{self.name} has not come back from its restart{f' with {words}' if words else ''}. becalm's entry "
            f"is used for one start only: the next one, also after a power cut, is as usual, and when the machine "
            f"runs but cannot be reached, it restarts by itself {FALL_BACK_SECONDS // 60} min after its start. Look at "
            f"its console, or switch it off and on; then `becalm reset --host {self.name}` as root removes the entry."
        )
        self.inner.come_back(system_clock.monotonic() + RESTART_SECONDS, error, former, restarting=True)
        self._look_around()
        if not parameters:
            if self._parameters != ():
                raise UnsettledError(f"{self.name} was restarted, but again from becalm's boot entry.")
            return
        health = self.inner.ask(AgentHost.healthy)
        if not health["ours"]:
            raise BootError(
                f"{self.name} did not come up with {words}, and has started its usual boot entry: {health['sentence']}"
            )
        self._parameters = parameters

    def boot_entry(self) -> BootEntryHost:
        """Return the machine's boot loader. From now on, closing this host does not change the boot."""
        self._stays = True
        return self

    def boot(self, parameters: Parameters, *, dangerous: bool = False) -> Mapping[str, Any]:
        """Prepare only the next start with these parameters."""
        return self.inner.ask(lambda agent: agent.boot(parameters, limit_s=FALL_BACK_SECONDS, dangerous=dangerous))

    def start(self, parameters: Parameters) -> None:
        """Restart the machine with these parameters now, and reconnect."""
        self.reboot(parameters)

    def healthy(self) -> Mapping[str, Any]:
        """Confirm that the new boot works."""
        return self.inner.ask(AgentHost.healthy)

    def keep_boot(self, parameters: Parameters) -> Mapping[str, Any]:
        """Keep the new boot for every start."""
        return self.inner.ask(lambda agent: agent.keep_boot(parameters))

    def _look_around(self) -> None:
        """Determine whether the machine runs on its usual boot entry, or on becalm's."""
        entry = self.status().boot
        if entry is None or not entry.running or entry.permanent:
            # A kept entry is how the machine usually starts.
            self._parameters = ()
        else:
            # A killed becalm leaves a boot that it had confirmed; a resumed study needs no other one.
            self._parameters = entry.parameters if entry.entry and not entry.waiting else None
        self._boot_id = self.inner.boot_id

    def _leave(self) -> None:
        """Restart the machine as before, without waiting for it."""
        agent = self.inner.inner
        agent.release()
        agent.unboot()
        self._access.say(f"{self.name} is restarted as it was before.")
        agent.restart()
        self._parameters = ()
