"""Addresses of other machines, `ssh://[user@]name[:port]`, parsed strictly because parts of them become arguments."""

from __future__ import annotations

import re

import msgspec

from becalm.errors import UsageError

# Names and users contain nothing that the shell of a ProxyCommand (%h, %r) could read as more than one word, or ssh as
# an option.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@-]*")


class Address(msgspec.Struct, frozen=True):
    """A machine as ssh finds it. Values of None are left to the user's ssh configuration.

    `name` may be an alias of that configuration; `config` is another configuration file than the usual one.
    """

    name: str
    user: str | None = None
    port: int | None = None
    config: str | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"ssh://{user}{name}" + (f":{self.port}" if self.port else "")

    def arguments(self) -> list[str]:
        """Return the last arguments of ssh, which name this machine."""
        config = ["-F", self.config] if self.config else []
        port = ["-p", str(self.port)] if self.port else []
        user = ["-l", self.user] if self.user else []
        return [*config, *port, *user, "--", self.name]

    def by_hand(self) -> str:
        """Return the command by which a person connects and can answer questions."""
        return " ".join(["ssh", *(argument for argument in self.arguments() if argument != "--")])


def parse(url: str, config: str | None = None) -> Address:
    """Return the address of `ssh://[user@]name[:port]`; name may be an IPv6 address in brackets. Raises UsageError."""

    def refused(why: str) -> UsageError:
        return UsageError(f"{url!r} is not a valid machine address: {why}. Write it like ssh://ada@bench.example:22.")

    scheme, _, rest = url.partition("://")
    if scheme != "ssh" or not rest:
        raise refused("it does not begin with ssh:// and a name")
    user, at, place = rest.rstrip("/").rpartition("@")
    if ":" in user:
        raise refused("a password does not belong there; ssh uses your keys and agent, or asks for it")
    if at and not _USER.fullmatch(user):
        raise refused(f"{user!r} is not a valid user name")
    if place.startswith("["):
        name, bracket, port = place[1:].partition("]")
        if not bracket or not _IPV6.fullmatch(name) or (port and not port.startswith(":")):
            raise refused("what is in brackets is not an IPv6 address")
        colon, port = port[:1], port[1:]
    else:
        name, colon, port = place.partition(":")
        if not _NAME.fullmatch(name):
            raise refused(f"{name!r} is not a valid machine name")
    if colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise refused(f"{port!r} is not a valid port")
    return Address(name, user or None, int(port) if port else None, config)
