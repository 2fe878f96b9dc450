"""The noun Knob: a system parameter as a row of the engine's catalogue, or with its state on a machine.

`catalogue` returns the rows with which the engine was built; a host's `knobs` returns them with their states.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from becalm.errors import UsageError
from becalm.nouns import tables
from becalm.nouns.codec import decode, plain_dict
from becalm.nouns.domain import Domain, Value, text
from becalm.nouns.settings import Settings


class Boot(msgspec.Struct, frozen=True):
    """A setting of the next boot on the kernel's command line: `parameters`, with {} for the value.

    `known_from`: the source that shows whether the kernel has accepted it. `binds`: whether only processes that are
    bound to its CPUs run there.
    """

    parameters: tuple[str, ...]
    known_from: str = ""
    binds: bool = False


class Knob(msgspec.Struct, frozen=True):
    """A system parameter (docs/reference/protocol.md, `knobs`).

    - `tuned_value`: the value that a search for little variation tries, None if the knob is not a candidate.
    - `requires`: knobs without which this one has no meaning; `conflicts`: knobs that replace it.
    - `moves`: files that the kernel changes with it and that are restored with it.
    - `privileged`: the values that an ordinary user may not set ("none", "all", {"below": n}, {"classes": […]}).
    - `boot`: the kernel parameters of a setting of the next boot.

    On a machine, `value` is the present value as text, None if there is none (process settings). `reason`: why the
    machine does not have a knob that is not `supported`; `elsewhere`: a host that has it, if one is known.
    """

    name: str
    scope: Literal["process", "live", "boot"]
    group: Literal["essential", "isolation", "normal", "dangerous"]
    domain: Domain
    rationale: str
    costs: str
    tuned_value: str | None = None
    order: int = 0
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    restricts_cpus: bool = False
    privilege: str = ""
    privileged: str | Mapping[str, Any] = "none"
    absent: str = ""
    elsewhere: str = ""
    source: str = ""
    boot: Boot | None = None
    supported: bool = True
    reason: str | None = None
    value: str | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Knob:
        """Return the knob of a row of the engine's table or of an agent's answer."""
        return decode(cls, row)

    def to_json(self) -> dict[str, Any]:
        """Return the form of the engine's table and of an agent's answer, which `from_json` reads."""
        return plain_dict(self)

    def needs_rights(self, value: Value) -> bool:
        """Return whether an ordinary user may not set this value."""
        if isinstance(self.privileged, str):
            return self.privileged == "all"
        spelled = text(value)
        if "below" in self.privileged:
            return not spelled.lstrip("+-").isdecimal() or int(spelled) < int(self.privileged["below"])
        return spelled.partition(":")[0] in self.privileged["classes"]


@cache
def catalogue() -> tuple[Knob, ...]:
    """Return every knob that the engine knows, in its order."""
    return tuple(Knob.from_json(row) for row in tables.rows("knobs"))


@cache
def knobs_by_name() -> Mapping[str, Knob]:
    """Return every knob by name."""
    return {row.name: row for row in catalogue()}


def at_boot(settings: Settings) -> Settings:
    """Return the settings that only take effect at the next boot."""
    names = _boot_names()
    return Settings(tuple((name, value) for name, value in settings.values if name in names))


@cache
def _boot_names() -> frozenset[str]:
    return frozenset(row.name for row in catalogue() if row.boot is not None)


def find(knobs: Sequence[Knob], name: str) -> Knob:
    """Return the knob of a name. Raises UsageError with the nearest name when there is none."""
    for knob in knobs:
        if knob.name == name:
            return knob
    near = difflib.get_close_matches(name, [knob.name for knob in knobs], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else " `becalm knobs` lists them."
    raise UsageError(f"There is no setting {name!r}.{hint}")
