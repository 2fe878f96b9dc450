"""The host `ssh://[user@]name[:port]`: another machine, through the agent that is copied there (docs/how-to/remote.md).

What a lost connection needs is in `becalm.hosts.ssh.reconnecting`. For settings of the boot `SshHost` restarts the
machine by way of a boot entry that the agent writes (docs/how-to/reboot.md), where the person has consented.
"""

from __future__ import annotations

import contextlib
import time

from becalm.errors import BecalmError, BootError, LostError, RefusedError, UnsettledError
from becalm.hosts.protocol import Access
from becalm.hosts.rebooting import Parameters
from becalm.hosts.ssh.connect import Route
from becalm.hosts.ssh.reconnecting import ReconnectingHost, settled
from becalm.nouns.settings import Settings

FALL_BACK_SECONDS = 600
"""A machine that runs but was not reached for so long after its start restarts by itself, as before."""

RESTART_SECONDS = 3 * FALL_BACK_SECONDS
"""How long a machine is waited for: down and up (servers test their memory), the fall-back, and up again."""


def open_ssh(rest: str, access: Access) -> SshHost:
    """Connect, have the agent there, and start it. `rest` is what follows "ssh:". Raises UsageError, MachineError."""
    return SshHost(Route.to(rest, access))


class SshHost(ReconnectingHost):
    """A machine reached through ssh. Programs have its environment, and begin in the home directory there."""

    def __init__(self, way: Route) -> None:
        self._here: Parameters | None = ()
        super().__init__(way)
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

    def settle(self) -> None:
        """Put everything back, and have the machine as it starts without becalm."""
        super().settle()
        if not self.reboots:
            return
        if self._here != ():
            self._restart(())
        elif self.status().get("boot") is not None:
            settled(self.unboot())

    def close(self) -> None:
        """End the agent, which puts everything back, and the connection."""
        open_ = not self._over.is_set()
        # From now on a lost connection is not made again.
        self._over.set()
        if self._here != () and open_:
            with contextlib.suppress(BecalmError):
                self._leave()
        with self._writing:
            # Whoever gets the lock from now on writes nothing: the descriptor may soon be another file's.
            pass
        super().close()
        self._connection.close()

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
                settled(self.unboot())
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
