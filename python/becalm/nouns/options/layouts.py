"""The options of `compare --layouts`: how many layouts there are, and what builds each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from becalm.nouns.option import option
from becalm.nouns.options.measuring import RunOptions, accepted, budget, limit
from becalm.units import duration_ns

USUAL = 10
"""Layouts of each program where no number was given."""

MOST = 500
"""Layouts of each program at most: all of them run in every round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutOptions(RunOptions):
    """The options of comparing two programs over several layouts of each.

    `names`, `commands`, `seeds`, `equal`: of the old and of the new program, as they were built: the seeds of the
    layouts that are measured, and those that gave a program that an earlier seed had given.
    """

    layouts: int = option(
        None,
        "Build both programs in N layouts (10 is usual), and compare them independently of layout.",
        int | None,
        metavar="N",
        least=2,
        kept=USUAL,
    )
    old_build: str = option(
        None,
        "With --layouts: build the old program. {seed} is the layout's number, {build} its empty directory.",
        str | None,
        metavar="CMD",
        kept="",
    )
    new_build: str = option(None, "With --layouts: build the new program.", str | None, metavar="CMD", kept="")
    first_seed: int = option(
        1,
        "With --layouts: the first value of {seed}.",
        int,
        metavar="N",
        least=0,
    )
    build_timeout_ns: int = option(
        "30min",
        "With --layouts: end a build that takes longer.",
        float | str,
        name="build_timeout",
        unit="seconds",
        metavar="DURATION",
        parse=duration_ns,
    )
    budget_ns: int | None = budget("30s")
    fail_above: float | None = limit()
    undecided: str = accepted()
    names: tuple[str, ...] = option(
        (),
        "Names of the old and the new program.",
        Sequence[str],
        flag="--name",
        repeats=True,
        shown="old and new",
        parse=tuple,
    )
    commands: tuple[str, ...] = field(default=())
    seeds: tuple[tuple[int, ...], ...] = field(default=())
    equal: tuple[tuple[int, ...], ...] = field(default=())

    def whole(self, programs: int) -> bool:
        """Return whether these are the options of a study of so many programs, which are the layouts of two."""
        sides = self.names, self.commands, self.seeds, self.equal
        return all(len(side) == 2 for side in sides) and sum(map(len, self.seeds)) == programs
