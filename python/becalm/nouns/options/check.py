"""The options of `check`: the compared builds, and the accepted slowdown."""

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
        None, "Directory of the build before the change, in place of {build}.", str | None, metavar="DIR"
    )
    new_build: str | None = option(
        None, "Directory of the build after the change, in place of {build}.", str | None, metavar="DIR"
    )
    fail_above: float = option(
        "2%",
        "Largest slowdown to accept; exit code 1 above it, 5 if undecided.",
        float | str,
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
    )
    budget_ns: int | None = budget("30s")
    schedule: str | None = schedule()
    where: bool = option(False, "Profile both builds of a failed benchmark, to show which functions are slower.", bool)
