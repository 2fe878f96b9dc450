"""The choices of a search: candidates (a knob and the value to try), factors (a knob and the range or choices of its
values), and named settings to compare with.

`verbs.tune` makes a Space of the host's catalogue, the person's consent and options; methods choose from it. Pure
values: nothing here knows a host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from becalm.nouns.factor import Factor, Level
from becalm.nouns.settings import Settings

EARLIER = {"needs": "requires", "confines": "restricts_cpus", "against": "conflicts"}
"""The names of fields of a candidate in studies of becalm 0.1."""


class Group(StrEnum):
    """Groups of the catalogue (crates/becalm-core/src/knob/catalogue.rs), as the greedy method walks them."""

    ESSENTIAL = "essential"
    ISOLATION = "isolation"
    NORMAL = "normal"
    DANGEROUS = "dangerous"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A knob with the value a search tries.

    `requires`: knobs without which this one has no meaning (no tick-less CPU without an isolated one).
    `restricts_cpus`: it keeps a program on fewer CPUs than the machine has. `conflicts`: knobs, earlier in the space,
    beside which it cannot be set (interrupts cannot be sent to other CPUs when those are offline): chosen with one of
    them it is left out. `bundled`: other candidates that are set with it as one, because each would cost a boot.
    """

    knob: str
    value: str | int | bool
    group: Group
    requires: tuple[str, ...] = ()
    restricts_cpus: bool = False
    conflicts: tuple[str, ...] = ()
    bundled: tuple[Candidate, ...] = ()

    @property
    def all(self) -> tuple[Candidate, ...]:
        """The candidate and those that are set with it."""
        return (self, *self.bundled)

    @property
    def knobs(self) -> frozenset[str]:
        """The knobs that it sets."""
        return frozenset(each.knob for each in self.all)

    @property
    def text(self) -> str:
        """The settings of the candidate in words."""
        return ", ".join(f"{each.knob}={each.value}" for each in self.all)


@dataclass(frozen=True, slots=True)
class Space:
    """Candidates in the catalogue's order, and settings known by a name.

    Dangerous candidates are in it only when the person consented to them. `boot`: knobs whose settings cost a boot.
    `factors`: knobs that may take any value of a range or of choices, each named as its knob and in the knob's unit; a
    search goes by either candidates or factors.
    """

    candidates: tuple[Candidate, ...]
    profiles: tuple[tuple[str, Settings], ...] = ()
    boot: tuple[str, ...] = ()
    factors: tuple[Factor, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the form that the options of a study keep; `from_json` reads it."""
        kept = [
            {key: value for key, value in asdict(candidate).items() if key != "bundled"}
            for candidate in self.candidates
        ]
        profiles = [[name, settings.to_json()] for name, settings in self.profiles]
        form = {"candidates": kept, "profiles": profiles, "boot": list(self.boot)}
        return {**form, "factors": [factor.to_json() for factor in self.factors]} if self.factors else form

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Space:
        """Read back what `to_json` wrote, now or in an earlier version: a store and an exported study keep it."""
        rows = [{EARLIER.get(key, key): candidate[key] for key in candidate} for candidate in value["candidates"]]
        candidates = tuple(
            Candidate(
                **{
                    **row,
                    "group": Group(row["group"]),
                    "requires": tuple(row["requires"]),
                    "conflicts": tuple(row["conflicts"]),
                }
            )
            for row in rows
        )
        profiles = tuple((name, Settings.of(settings)) for name, settings in value["profiles"])
        factors = tuple(Factor.from_json(each) for each in value.get("factors", ()))
        return cls(candidates, profiles, tuple(value.get("boot", ())), factors)

    @property
    def count(self) -> int:
        """The number of knobs to choose from."""
        return sum(len(candidate.all) for candidate in self.candidates)

    def at(self, levels: Mapping[str, Level]) -> Settings:
        """Return the settings at a place: a level of some factors or of all, in their units."""
        whole = {name: round(level) if isinstance(level, float) else level for name, level in levels.items()}
        return Settings.of({factor.name: whole[factor.name] for factor in self.factors if factor.name in whole})

    def at_boot(self, settings: Settings) -> Settings:
        """Return those of some settings that cost a boot: between two settings with equal ones no boot is needed."""
        if not self.boot:
            return Settings()
        return Settings(tuple((name, value) for name, value in settings.values if name in self.boot))

    def bundled(self) -> Space:
        """Return the same space with candidates that cost a boot set as one: the dangerous ones, and all others.

        So a search makes few boots: it asks whether they help as a whole. The confirmation takes them apart.
        """
        bundles: dict[str, Candidate] = {}
        for dangerous in (False, True):
            found = [candidate for candidate in self.candidates if candidate.knob in self.boot]
            found = [each for each in found if (each.group is Group.DANGEROUS) == dangerous]
            if len(found) > 1:
                bundles |= {each.knob: _bundle(found) for each in found}
        made = dict.fromkeys(bundles.get(candidate.knob, candidate) for candidate in self.candidates)
        return replace(self, candidates=tuple(made))

    def of(self, group: Group) -> tuple[Candidate, ...]:
        """Return the candidates of one group."""
        return tuple(candidate for candidate in self.candidates if candidate.group is group)

    def settings(self, chosen: Iterable[Candidate]) -> Settings:
        """Return the settings that some candidates make together.

        One that `conflicts` with another, and then one whose `requires` are not among the rest, is left out.
        """
        chosen = tuple(chosen)
        asked = {knob for candidate in chosen for knob in candidate.knobs}
        kept = [candidate for candidate in chosen if asked.isdisjoint(candidate.conflicts)]
        knobs = {knob for each in kept for knob in each.knobs}
        whole = (each for one in kept if knobs.issuperset(one.requires) for each in one.all)
        return Settings.of({each.knob: each.value for each in whole})


def _bundle(candidates: Sequence[Candidate]) -> Candidate:
    """Return several candidates as one, which needs what they need beyond each other."""
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
