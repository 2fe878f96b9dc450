"""The noun Knob: one system parameter as a row of the engine's catalogue."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from becalm.errors import UsageError


@dataclass(frozen=True, slots=True)
class Knob:
    """One system parameter on one machine (docs/reference/protocol.md, `knobs`).

    `value` is the present one as text, None when it has none (process settings); `reason` says why it is not
    `supported`; `steady` is the value that a search for a small spread tries, None when it is no candidate. `against`:
    knobs that take its place. `parameters`: words of the kernel's command line that a setting of the boot is, with {}
    for the value; None for all others.
    """

    name: str
    scope: str
    group: str
    domain: str
    matters: str
    costs: str
    supported: bool
    reason: str | None = None
    value: str | None = None
    steady: str | None = None
    choices: tuple[str, ...] | None = None
    needs: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    confines: bool = False
    parameters: tuple[str, ...] | None = None
    order: int = 0
    privilege: str = ""
    source: str = ""

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Knob:
        """Read a row of the agent's answer; fields that this version does not know are left out."""
        known = {each.name for each in fields(cls)}
        given = {key: value for key, value in row.items() if key in known}
        for key in ("choices", "needs", "against", "parameters"):
            if given.get(key) is not None:
                given[key] = tuple(given[key])
        for key in ("steady", "value"):
            if given.get(key) is not None:
                given[key] = str(given[key])
        return cls(**given)


def find(knobs: Sequence[Knob], name: str) -> Knob:
    """The knob of a name. Raises UsageError with the nearest name when there is none."""
    for knob in knobs:
        if knob.name == name:
            return knob
    near = difflib.get_close_matches(name, [knob.name for knob in knobs], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else " `becalm knobs` lists them."
    raise UsageError(f"There is no setting {name!r}.{hint}")
