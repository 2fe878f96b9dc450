"""The choices of a search: candidates (a knob and the value to try), factors (a knob and the range or choices of its
values), and named settings to compare with.

`verbs.tune` makes a Space from the host's catalogue and the person's consent and options; methods choose from it. These
are pure values, independent of a host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm.nouns.codec import decode, plain_dict
from becalm.nouns.factor import Factor, Level
from becalm.nouns.settings import Settings

EARLIER = {"needs": "requires", "confines": "restricts_cpus", "against": "conflicts"}
"""The names of fields of a candidate in studies of becalm 0.1."""


class Group(StrEnum):
    """The groups of the catalogue (crates/becalm-core/src/knob/catalogue.rs), in the order of the greedy method."""

    ESSENTIAL = "essential"
    ISOLATION = "isolation"
    NORMAL = "normal"
    DANGEROUS = "dangerous"


class Candidate(msgspec.Struct, frozen=True):
    """A knob with the value that a search tries.

    - `requires`: knobs without which this one has no meaning (no tick-less CPU without an isolated one).
    - `restricts_cpus`: whether it keeps a program on fewer CPUs than the machine has.
    - `conflicts`: knobs earlier in the space that exclude this one (interrupts cannot be sent to CPUs that are
      offline): if one of them is chosen, this one is left out.
    - `bundled`: other candidates that are always set with it, because each would cost a boot.
    """

    OMITTED = ("bundled",)

    knob: str
    value: str | int | bool
    group: Group
    requires: tuple[str, ...] = ()
    restricts_cpus: bool = False
    conflicts: tuple[str, ...] = ()
    bundled: tuple[Candidate, ...] = ()

    @property
    def all(self) -> tuple[Candidate, ...]:
        """The candidate and those that are always set with it."""
        return (self, *self.bundled)

    @property
    def knobs(self) -> frozenset[str]:
        """The knobs that the candidate sets."""
        return frozenset(candidate.knob for candidate in self.all)

    @property
    def text(self) -> str:
        """The settings of the candidate in words."""
        return ", ".join(f"{candidate.knob}={candidate.value}" for candidate in self.all)


class Space(msgspec.Struct, frozen=True):
    """The candidates of a search in the catalogue's order, and named settings to compare with.

    Dangerous candidates are only included with the person's consent. `boot`: knobs whose settings cost a boot.
    `factors`: knobs that may take any value of a range or of choices, with the name and unit of the knob. A search uses
    either candidates or factors.
    """

    candidates: tuple[Candidate, ...]
    profiles: tuple[tuple[str, Settings], ...] = ()
    boot: tuple[str, ...] = ()
    factors: tuple[Factor, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the form in the options of a study, which `from_json` reads."""
        return {name: member for name, member in plain_dict(self).items() if member or name != "factors"}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Space:
        """Return the space that `to_json` wrote, in this or an earlier version, since stores and exports have it."""
        rows = [{EARLIER.get(key, key): candidate[key] for key in candidate} for candidate in value["candidates"]]
        return decode(cls, {**value, "candidates": rows})

    @property
    def count(self) -> int:
        """The number of knobs to choose from."""
        return sum(len(candidate.all) for candidate in self.candidates)

    def at(self, levels: Mapping[str, Level]) -> Settings:
        """Return the settings for levels of some factors or of all, in their units."""
        rounded = {name: round(level) if isinstance(level, float) else level for name, level in levels.items()}
        return Settings.of({factor.name: rounded[factor.name] for factor in self.factors if factor.name in rounded})

    def at_boot(self, settings: Settings) -> Settings:
        """Return the settings that cost a boot: where they are equal, no boot is needed between two settings."""
        if not self.boot:
            return Settings()
        return Settings(tuple((name, value) for name, value in settings.values if name in self.boot))

    def bundled(self) -> Space:
        """Return the space with the candidates that cost a boot in two bundles: the dangerous ones, and all others.

        So a search needs few boots: it tries whether a bundle helps. The confirmation examines its candidates singly.
        """
        bundles: dict[str, Candidate] = {}
        for dangerous in (False, True):
            boot_candidates = [candidate for candidate in self.candidates if candidate.knob in self.boot]
            boot_candidates = [
                candidate for candidate in boot_candidates if (candidate.group is Group.DANGEROUS) == dangerous
            ]
            if len(boot_candidates) > 1:
                bundles |= {candidate.knob: _bundle(boot_candidates) for candidate in boot_candidates}
        candidates = dict.fromkeys(bundles.get(candidate.knob, candidate) for candidate in self.candidates)
        return replace(self, candidates=tuple(candidates))

    def of(self, group: Group) -> tuple[Candidate, ...]:
        """Return the candidates of one group."""
        return tuple(candidate for candidate in self.candidates if candidate.group is group)

    def settings(self, chosen: Iterable[Candidate]) -> Settings:
        """Return the settings of some candidates together.

        A candidate that `conflicts` with another one is left out, and then one whose `requires` are not among the rest.
        """
        chosen = tuple(chosen)
        requested = {knob for candidate in chosen for knob in candidate.knobs}
        compatible = [candidate for candidate in chosen if requested.isdisjoint(candidate.conflicts)]
        knobs = {knob for candidate in compatible for knob in candidate.knobs}
        parts = (part for candidate in compatible if knobs.issuperset(candidate.requires) for part in candidate.all)
        return Settings.of({part.knob: part.value for part in parts})


def _bundle(candidates: Sequence[Candidate]) -> Candidate:
    """Return several candidates as one, which requires what they require except each other."""
    names = {candidate.knob for candidate in candidates}
    isolates = any(candidate.group is Group.ISOLATION for candidate in candidates)
    return replace(
        candidates[0],
        group=Group.ISOLATION if isolates else candidates[0].group,
        requires=tuple(
            dict.fromkeys(name for candidate in candidates for name in candidate.requires if name not in names)
        ),
        restricts_cpus=any(candidate.restricts_cpus for candidate in candidates),
        conflicts=tuple(
            dict.fromkeys(name for candidate in candidates for name in candidate.conflicts if name not in names)
        ),
        bundled=tuple(candidates[1:]),
    )
