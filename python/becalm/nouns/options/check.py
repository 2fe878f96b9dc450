"""The options of `check`: which builds are compared, how large a slowdown is accepted."""

from __future__ import annotations

from dataclasses import dataclass

from becalm.nouns.option import option
from becalm.nouns.options.compare_stored import FurtherSessions
from becalm.nouns.options.measuring import budget, schedule
from becalm.units import fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(FurtherSessions):
    """The options of checking a change."""

    old_build: str | None = option(
        None, "What {build} in the commands stands for before the change: a directory.", str | None, metavar="DIR"
    )
    new_build: str | None = option(None, "The same after the change.", str | None, metavar="DIR")
    fail_above: float = option(
        "2%",
        "Largest slowdown to accept; beyond it the exit code is 1, within it 0, undecided 5.",
        float | str,
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
    )
    budget_ns: int | None = budget("30s")
    schedule: str = schedule()
    where: bool = option(
        False,
        "Show which functions a slowdown above the limit comes from: profile both builds, with perf or callgrind.",
        bool,
    )
