"""Machines that the user has named: one small TOML file each, in the directory `hosts` next to the profiles.

url = "ssh://ada@bench.example:2222"
config = "/home/ada/bench.ssh_config"    # optional: another configuration file for ssh
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from becalm.errors import MachineError, UsageError
from becalm.files.tables import check_keys, read_toml, toml_value
from becalm.files.written import replace
from becalm.hosts.ssh.address import parse
from becalm.hosts.table import TABLE
from becalm.paths import config_dir, private_directory

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


class NamedMachine(msgspec.Struct, frozen=True):
    """A named machine: its address, and a configuration file for ssh if it is not the usual one."""

    name: str
    url: str
    config: str | None = None


def add(name: str, url: str, config: str | None = None) -> NamedMachine:
    """Name a machine. Raises UsageError (the name exists, the address is malformed), MachineError (cannot be
    written)."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid machine name. Use letters, digits, dots and dashes.")
    if name in {row.kind for row in TABLE}:
        raise UsageError(f"{name!r} is a kind of host. Choose another name.")
    if config is not None:
        config = os.path.abspath(config)
        if not os.access(config, os.R_OK):
            raise UsageError(f"The ssh configuration {config} cannot be read.")
    parse(url, config)
    path = _path(name)
    if path.exists():
        raise UsageError(f"{name} is {find(name).url} already. Remove it first: becalm host remove {name}")
    lines = [f"url = {toml_value(url)}"] + ([f"config = {toml_value(config)}"] if config else [])
    private_directory(path.parent, "XDG_CONFIG_HOME")
    try:
        replace(path, "\n".join([*lines, ""]))
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}. The name was not added.") from error
    return NamedMachine(name, url, config)


def names() -> list[str]:
    """Return the names of all machines, sorted."""
    return sorted(path.stem for path in _path("x").parent.glob("*.toml") if NAME.fullmatch(path.stem))


def find(name: str) -> NamedMachine:
    """Return the machine of a name. Raises UsageError if there is none, or its file is malformed."""
    path = _path(name)
    if not NAME.fullmatch(name) or not path.is_file():
        known = names()
        hint = f"Known: {', '.join(known)}" if known else f"Add it: becalm host add {name} ssh://user@machine"
        raise UsageError(f"There is no machine named {name!r}. {hint}.")
    value = read_toml(path)
    check_keys(value, ("url", "config"), str(path))
    if not isinstance(value.get("url"), str) or not isinstance(value.get("config", ""), str):
        raise UsageError(f'{path} must have url = "ssh://…", and may have config, the path of an ssh configuration.')
    return NamedMachine(name, value["url"], value.get("config"))


def remove(name: str) -> NamedMachine:
    """Remove a name; nothing on the machine changes. Raises UsageError if there is none, MachineError."""
    machine = find(name)
    try:
        _path(name).unlink()
    except OSError as error:
        raise MachineError(f"{_path(name)} cannot be removed: {error.strerror}.") from error
    return machine


def _path(name: str) -> Path:
    return config_dir() / "hosts" / f"{name}.toml"
