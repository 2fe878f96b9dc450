"""Reading and checking the agent's greeting, which comes from another machine, after any output of a login shell.

Text before it is limited in bytes, lines and time, and the type of each value is checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from becalm import system_clock
from becalm.errors import MachineError
from becalm.hosts.transport import Link, TooMuchError
from becalm.nouns.run import COLUMNS

PROTOCOL = 1
"""The version of the protocol (docs/reference/protocol.md)."""

NOISE_LINES = 1000
"""The most lines before the greeting, such as those of a login shell's start-up files or a console."""

NOISE_BYTES = 1 << 20
"""The most bytes up to the end of the greeting."""

SECONDS = 120.0
"""The time limit for the greeting, s. An agent first restores what a previous one has left."""

BEGINNING = b'{"becalm-agent"'
"""The beginning of the greeting (docs/reference/protocol.md)."""

VALUES: Mapping[str, tuple[type, str]] = {
    "protocol": (int, "a whole number"), "uid": (int, "a whole number"), "user": (dict, "an object"),
    "columns": (list, "a list of strings"), "load_columns": (list, "a list of strings"),
    "scripted": (bool, "true or false"), "helper": (bool, "true or false"),
}  # fmt: skip
"""Values of the greeting that becalm uses, with their types."""

OPTIONAL = ("load_columns", "scripted", "helper")


class GreetingError(MachineError):
    """An error for a first answer that is not the greeting of this becalm's agent."""


def read_greeting(link: Link, host: str) -> Mapping[str, Any]:
    """Return the greeting of the agent at a link. Raises GreetingError, or the error of a lost link."""
    left, until = NOISE_BYTES, system_clock.monotonic() + SECONDS
    for _ in range(NOISE_LINES):
        try:
            line = link.read(left, until - system_clock.monotonic())
        except TooMuchError:
            raise _none(host, f"{NOISE_BYTES >> 20} MiB") from None
        except TimeoutError:
            raise _none(host, f"{SECONDS:g} s") from None
        if not line.endswith(b"\n"):
            raise link.lost(host)
        if line.startswith(BEGINNING):
            return _checked(line, host)
        left -= len(line)
    raise _none(host, f"{NOISE_LINES:,} lines")


def _none(host: str, limit: str) -> GreetingError:
    return GreetingError(
        f"{host} has not greeted as becalm's agent within {limit}. Nothing was started. Make the login shell's "
        "start-up files there print nothing without a terminal."
    )


def _checked(line: bytes, host: str) -> Mapping[str, Any]:
    try:
        greeting = json.loads(line)
    except (ValueError, RecursionError):
        raise _refused(host, "that is not JSON") from None
    for name, (kind, words) in VALUES.items():
        if name not in greeting and name in OPTIONAL:
            continue
        value = greeting.get(name)
        if type(value) is not kind or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            raise _refused(host, f"in which {name} is not {words}")
        if name == "protocol" and value != PROTOCOL:
            raise GreetingError(
                f"The agent speaks protocol {value}, this becalm speaks {PROTOCOL}. Install both from the same version."
            )
    if missing := [name for name in COLUMNS if name not in greeting["columns"]]:
        raise _refused(host, f"that lacks the column {missing[0]}")
    name = greeting["user"].get("name")
    if not (name is None or isinstance(name, str)):
        raise _refused(host, "in which the name of the user is not a string")
    result: Mapping[str, Any] = greeting
    return result


def _refused(host: str, why: str) -> GreetingError:
    return GreetingError(
        f"The agent on {host} sent a greeting {why}. It is not the agent of this becalm. Nothing was started."
    )
