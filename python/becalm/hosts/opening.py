"""From a name as `--host` takes it to a Host."""

from __future__ import annotations

import difflib
from dataclasses import replace

from becalm.errors import UsageError
from becalm.hosts import aliases
from becalm.hosts.abilities import Ability
from becalm.hosts.protocol import Access, Host
from becalm.hosts.table import TABLE


def open(host: str | Host = "local", access: Access | None = None) -> Host:
    """Open a host by its name. One that is open already is lent: what was set is put back, and it stays open.

    Raises UsageError for an unknown kind, MachineError when it cannot be reached.
    """
    if not isinstance(host, str):
        from becalm.hosts.wrapper import Lent

        return Lent(host, access)
    name = host
    kind, _, rest = name.partition(":")
    for row in TABLE:
        if row.kind == kind:
            opened: Host = row.function(row.opener)(rest, access or Access())
            return opened
    if name in aliases.names():
        found = aliases.find(name)
        return open(found.url, replace(access or Access(), config=found.config, called=name))
    raise unknown(name)


def which_machine(name: str) -> str | None:
    """Return the machine that a name leads to, as far as the name tells; None for this one. Raises UsageError."""
    kind, _, rest = name.partition(":")
    for row in TABLE:
        if row.kind == kind:
            result: str | None = row.function(row.machine)(rest) if row.machine else None
            return result
    if name in aliases.names():
        return which_machine(aliases.find(name).url)
    raise unknown(name)


def is_local(name: str) -> bool:
    """Return whether the processes of a host are this machine's, which those of a virtual one are not. Raises
    UsageError."""
    if name in aliases.names():
        return is_local(aliases.find(name).url)
    which_machine(name)
    return name.partition(":")[0] == "local"


def unknown(name: str) -> UsageError:
    """Return the error for a name that no host has."""
    kind = name.partition(":")[0]
    near = difflib.get_close_matches(kind, [*(row.kind for row in TABLE), *aliases.names()], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    kinds = "; ".join(f"{row.kind}: {row.what}" for row in TABLE)
    return UsageError(
        f"There is no host of the kind {kind!r}.{hint} Known kinds: {kinds}; and names that `becalm host add` gives."
    )


def emulated(host: Host) -> str:
    """Return the reason why a host's times are not those of a real processor, where that may be unexpected.

    The facts tell, whatever the host is called: a guest boots for that. Nobody expects real times of hosts without a
    machine, or of a model of its scheduler.
    """
    found = host.facts()
    real = host.abilities()[Ability.REAL_TIME]
    return "" if real or not {"virtualisation", "model"} & found.keys() else real.reason
