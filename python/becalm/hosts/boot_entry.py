"""An entry of becalm's in a machine's boot loader, as a host offers it: written, started, found healthy, kept.

`BootEntryHost` is what `Host.boot_entry` gives where there is a machine with a loader (docs/how-to/reboot.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from becalm.nouns.settings import Settings


class BootEntryHost(Protocol):
    """A machine whose next start, or every start, can be one with other kernel parameters."""

    def effects(self, settings: Settings, *, dangerous: bool = False) -> list[Mapping[str, Any]]:
        """Return the effects of settings of the boot, and whether this boot has them (`effects` in the protocol)."""
        ...

    def boot(self, parameters: tuple[str, ...], *, dangerous: bool = False) -> Mapping[str, Any]:
        """Have the next start, and only that, be one with these words; `limit_s`, `entry`, `remarks` and others.

        Raises UsageError (consent), RefusedError (the loader cannot, or every start is becalm's already).
        """
        ...

    def start(self, parameters: tuple[str, ...]) -> None:
        """Arm the entry, restart the machine now, and reconnect. Raises UsageError, BootError, MachineError."""
        ...

    def healthy(self) -> Mapping[str, Any]:
        """Confirm the new boot, so that the machine stays on it; return `ours`, `sentence`, `remarks`."""
        ...

    def keep_boot(self, parameters: tuple[str, ...]) -> Mapping[str, Any]:
        """Keep the new boot for every start. Raises RefusedError when it has not exactly these words."""
        ...
