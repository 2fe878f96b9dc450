"""The abilities of a host, as data: each is present, or missing for a reason and perhaps with a way out.

They are part of a host's facts, next to those of its machine and in the same form. Verbs check abilities only here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from becalm.errors import UsageError


class Ability(StrEnum):
    """An ability that a host may have; `what` and `matters` describe it."""

    what: str
    matters: str

    def __new__(cls, value: str, what: str, matters: str) -> Ability:
        """Create a member with its name, description and purpose."""
        ability = str.__new__(cls, value)
        ability._value_, ability.what, ability.matters = value, what, matters
        return ability

    MACHINE_SETTINGS = "machine_settings", "settings of the machine", "most of what makes runs vary is set there"
    HOLD = "hold", "settings for the time of a command", "a program can run under a profile"
    KEEP = "keep", "settings until reset", "they also apply to programs that becalm does not start"
    REBOOT = "reboot", "settings of the next boot", "some settings are parameters of the kernel"
    BOOT_ENTRY = "boot_entry", "a boot entry of becalm's", "boot settings can stay until reset"
    READ_LOAD = "read_load", "the load of the machine", "other work of the machine disturbs runs"
    FOLLOW = "follow", "following of running programs", "shows what delays a service without restarting it"
    LOADED = "loaded", "known load alongside programs", "tells which load makes a program slow"
    RECONNECT = "reconnect", "reconnecting after a lost connection", "a study of hours outlives a network failure"
    REAL_TIME = (
        "real_time",
        "times of a real processor",
        "other times say nothing about a real machine",
    )


class Can(msgspec.Struct, frozen=True):
    """The presence of an ability. If it is missing: the reason, and a way out, in lower case and without a full
    stop."""

    have: bool
    reason: str = ""
    way_out: str = ""

    def __bool__(self) -> bool:
        return self.have

    @property
    def sentence(self) -> str:
        """The reason and the way out, as sentences."""
        rest = f" {self.way_out[0].upper()}{self.way_out[1:]}." if self.way_out else ""
        return f"{self.reason[:1].upper()}{self.reason[1:]}.{rest}"


YES = Can(True)

Abilities = Mapping[Ability, Can]
"""The presence of every ability of a host."""


def with_abilities(facts: dict[str, Any], abilities: Abilities) -> dict[str, Any]:
    """Return facts with these abilities instead of earlier ones."""
    own = [
        {
            "name": str(ability),
            "title": ability.what,
            "matters": ability.matters,
            "have": abilities[ability].have,
            "reason": abilities[ability].reason or None,
            "way_out": abilities[ability].way_out or None,
        }
        for ability in Ability
    ]
    others = [row for row in facts.get("abilities", ()) if row["name"] not in set(Ability)]
    return {**facts, "abilities": [*others, *own]}


def refused(host: str, abilities: Abilities, ability: Ability) -> UsageError:
    """Return the error for a host that lacks an ability, with its reason."""
    return UsageError(f"Not available on {host}: {ability.what}. {abilities[ability].sentence}")


def need(host: str, abilities: Abilities, ability: Ability) -> None:
    """Raise UsageError if a host lacks an ability."""
    if not abilities[ability]:
        raise refused(host, abilities, ability)
