"""The interface of becalm's entry in a machine's boot loader: write it, start it, confirm it, keep it.

`Host.boot_entry` returns a `BootEntryHost` if the machine has a boot loader (docs/how-to/reboot.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from becalm.nouns.settings import Settings


class BootEntryHost(Protocol):
    """A machine that can start with other kernel parameters, once or always."""

    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot, and whether this boot has them (`effects` in the protocol)."""
        ...

    def boot(self, parameters: tuple[str, ...], *, dangerous: bool = False) -> Mapping[str, Any]:
        """Prepare only the next start with these parameters; return `limit_s`, `entry`, `remarks` and others.

        Raises UsageError (consent is missing), RefusedError (the loader cannot do it, or every start already uses
        becalm's entry).
        """
        ...

    def start(self, parameters: tuple[str, ...]) -> None:
        """Arm the entry, restart the machine now, and reconnect. Raises UsageError, BootError, MachineError."""
        ...

    def healthy(self) -> Mapping[str, Any]:
        """Confirm the new boot, so that the machine stays on it; return `ours`, `sentence`, `remarks`."""
        ...

    def keep_boot(self, parameters: tuple[str, ...]) -> Mapping[str, Any]:
        """Keep the new boot for every start. Raises RefusedError if it does not have exactly these parameters."""
        ...
