"""What a search may choose from: candidates (a knob and the value to try) and named settings to compare with.

`verbs.tune` makes a Space of the host's catalogue, the person's consent and options; methods choose from it. Pure
values: nothing here knows a host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from becalm.nouns import Settings


class Group(StrEnum):
    """Groups of the catalogue (crates/becalm-core/src/knob/catalogue.rs), as the greedy method walks them."""

    ESSENTIAL = "essential"
    ISOLATION = "isolation"
    NORMAL = "normal"
    DANGEROUS = "dangerous"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A knob with the value a search tries.

    `needs`: knobs without which this one has no meaning (no tick-less CPU without an isolated one). `confines`: it
    keeps a program on fewer CPUs than the machine has. `against`: knobs, earlier in the space, beside which it cannot
    be set (interrupts cannot be sent to other CPUs when those are offline): together with one of them it is left out.
    """

    knob: str
    value: str | int | bool
    group: Group
    needs: tuple[str, ...] = ()
    confines: bool = False
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Space:
    """Candidates in the catalogue's order, and settings known by a name.

    Dangerous candidates are in it only when the person consented to them.
    """

    candidates: tuple[Candidate, ...]
    profiles: tuple[tuple[str, Settings], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the options of a study keep it; `from_json` reads it back."""
        return {
            "candidates": [asdict(each) for each in self.candidates],
            "profiles": [[name, settings.to_json()] for name, settings in self.profiles],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Space:
        """Read back what `to_json` wrote."""
        candidates = tuple(
            Candidate(
                **{
                    **each,
                    "group": Group(each["group"]),
                    "needs": tuple(each["needs"]),
                    "against": tuple(each["against"]),
                }
            )
            for each in value["candidates"]
        )
        return cls(candidates, tuple((name, Settings.of(settings)) for name, settings in value["profiles"]))

    def of(self, group: Group) -> tuple[Candidate, ...]:
        """The candidates of one group."""
        return tuple(each for each in self.candidates if each.group is group)

    def settings(self, chosen: Iterable[Candidate]) -> Settings:
        """The settings that some candidates make together.

        One that is `against` another, and then one whose `needs` are not among the rest, is left out.
        """
        chosen = tuple(chosen)
        asked = {each.knob for each in chosen}
        kept = [each for each in chosen if asked.isdisjoint(each.against)]
        knobs = {each.knob for each in kept}
        return Settings.of({each.knob: each.value for each in kept if knobs.issuperset(each.needs)})
