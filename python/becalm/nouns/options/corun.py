"""The options of `corun`: the time and the number of rounds in which programs are measured next to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from becalm.nouns.option import StudyOptions, option
from becalm.nouns.options.measuring import budget


@dataclass(frozen=True, slots=True, kw_only=True)
class CoRunOptions(StudyOptions):
    """The options of measuring programs alone and next to each other, which stops at the first limit.

    `names`: of the programs, in their order. `chips`: CPUs that share the last cache, each a list, core by core;
    `threads`: of a core. `cpu`: where the timed program runs, `alongside_cpus`: where its neighbours do, `sibling`:
    where the one does that shares its core.
    """

    budget_ns: int | None = budget("2min")
    rounds: int | None = option(
        None,
        "Stop after N rounds; no time budget unless --budget sets one.",
        int | None,
        unit="rounds",
        metavar="N",
        least=1,
    )
    together: int | None = option(
        None,
        "Maximum number of programs to measure at the same time.",
        int | None,
        unit="programs",
        metavar="N",
        least=2,
        shown="all CPUs of a chip",
    )
    names: tuple[str, ...] = ()
    chips: tuple[tuple[int, ...], ...] = ()
    cpu: int | None = None
    alongside_cpus: tuple[int, ...] = ()
    threads: int = 1
    sibling: int | None = None

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments; `rounds` without `budget` means no limit in time. Raises
        UsageError."""
        if keywords.get("budget") is None and keywords.get("rounds") is not None:
            keywords = {**keywords, "budget": "none"}
        return super(CoRunOptions, cls).of(keywords)
