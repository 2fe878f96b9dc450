"""The options of `suite`: tunings and copies, and the description of the programs in the suite's file."""

from __future__ import annotations

from dataclasses import dataclass

from becalm.nouns.option import StudyOptions, option

TUNINGS = ("base", "peak")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions(StudyOptions):
    """The options of rating a suite.

    `copies` None: no rates. `suite`, `tunings`, `programs`, `references_ns`: of the file, as far as it was measured;
    `references`: of programs whose metric is measured, in its unit.
    """

    runs: int = option(3, "Number of rounds; the median counts, as in SPEC's rules.", int, metavar="N", least=1)
    copies: int | None = option(
        None,
        "Copies for the rate, at most 64 per CPU.",
        int | None,
        metavar="N",
        shown="the file's, else one per CPU",
        least=1,
    )
    suite: str = ""
    tunings: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    references_ns: tuple[int | None, ...] = ()
    references: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteParts:
    """The parts of a suite that are measured."""

    tuning: str | None = option(None, "Tuning to measure.", str | None, choices=TUNINGS, shown="all in the file")
    rates: bool = option(
        True, "Measure rates, too.", bool, flag="", off="--no-rate", off_help="Measure ratios only, without copies."
    )
