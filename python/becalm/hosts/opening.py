"""Opening a host by its name, as `--host` takes it."""

from __future__ import annotations

import difflib

from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.hosts import aliases
from becalm.hosts.abilities import Ability
from becalm.hosts.protocol import Access, Host
from becalm.hosts.table import TABLE


def open(host: str | Host = "local", access: Access | None = None) -> Host:
    """Open a host by its name. A host that is open already is borrowed: its settings are restored, and it stays open.

    Raises UsageError for an unknown kind, MachineError if it cannot be reached.
    """
    if not isinstance(host, str):
        from becalm.hosts.wrapper import BorrowedHost

        return BorrowedHost(host, access)
    name = host
    kind, _, rest = name.partition(":")
    for row in TABLE:
        if row.kind == kind:
            opened: Host = row.function(row.opener)(rest, access or Access())
            return opened
    if name in aliases.names():
        machine = aliases.find(name)
        return open(machine.url, replace(access or Access(), config=machine.config, called=name))
    raise unknown(name)


def which_machine(name: str) -> str | None:
    """Return the machine of a host's name, as far as the name shows it; None for this one. Raises UsageError."""
    kind, _, rest = name.partition(":")
    for row in TABLE:
        if row.kind == kind:
            result: str | None = row.function(row.machine)(rest) if row.machine else None
            return result
    if name in aliases.names():
        return which_machine(aliases.find(name).url)
    raise unknown(name)


def is_local(name: str) -> bool:
    """Return whether the processes of a host run on this machine itself. Raises UsageError."""
    if name in aliases.names():
        return is_local(aliases.find(name).url)
    which_machine(name)
    return name.partition(":")[0] == "local"


def unknown(name: str) -> UsageError:
    """Return the error for a name that no host has."""
    kind = name.partition(":")[0]
    near = difflib.get_close_matches(kind, [*(row.kind for row in TABLE), *aliases.names()], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    kinds = ", ".join(row.kind for row in TABLE)
    return UsageError(
        f"There is no host of the kind {kind!r}.{hint} Known kinds: {kinds} (docs/reference/hosts.md), and names that "
        "`becalm host add` gives."
    )


def emulated(host: Host) -> str:
    """Return the reason why a host's times are not those of a real processor. A guest is booted to find out.

    The reason is empty if the times are real, and on hosts without a machine, where nobody expects real times.
    """
    facts = host.facts()
    real = host.abilities()[Ability.REAL_TIME]
    return "" if real or not {"virtualisation", "model"} & facts.keys() else real.reason
