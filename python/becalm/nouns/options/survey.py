"""The options of `survey`: the amount of work on each machine, and the rule for outliers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from becalm.errors import UsageError
from becalm.nouns.option import StudyOptions, option
from becalm.nouns.workload import Workload
from becalm.units import fraction

KERNELS = {
    "add": Workload(kernel="add", iterations=24_000_000, name="additions"),
    "read": Workload(kernel="read", iterations=1, name="memory reads"),
}
"""The built-in pieces of work; one more is one row. The same iterations everywhere: 7 ms at 3.4 GHz, and 64 MiB."""

LEAST_LOOPS, LEAST_RUNS = 5, 2


def _kernels(names: Sequence[str]) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in KERNELS]:
        raise UsageError(f"There is no kernel {unknown[0]!r}. There are: {', '.join(KERNELS)}.")
    return tuple(names)


def _rate(value: float | str) -> float:
    result = fraction(value, below=math.inf)
    if result >= 1:
        raise UsageError(f"--fdr is a share between 0 and 1, for example 5%, not {value}.")
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyOptions(StudyOptions):
    """The options of a survey: `loops` times `runs_of_loop` runs in a row of each built-in kernel."""

    loops: int = option(10, "Number of passes over the work.", int, metavar="N", least=LEAST_LOOPS)
    runs_of_loop: int = option(
        10, "Runs in a row of each piece of work per pass.", int, name="runs", metavar="N", least=LEAST_RUNS
    )
    kernels: tuple[str, ...] = option(
        tuple(KERNELS),
        "Which built-in kernels to measure.",
        Sequence[str],
        flag="",
        shown=", ".join(KERNELS),
        parse=_kernels,
        off="--no-kernels",
        off_help="Measure the command only, not the built-in kernels.",
        off_gives=(),
    )
    fdr: float = option("5%", "False discovery rate.", float | str, unit="fraction", metavar="SHARE", parse=_rate)
    at_least: float = option(
        "1%",
        "Smallest slowdown to report.",
        float | str,
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
    )
