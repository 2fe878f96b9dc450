"""What a series of runs of one program shows: warm-up, drift, period, two modes, outliers with their cause.

Pure: arrays in, `Finding` values out. The tests are in `becalm.stats.series`, the wording is here beside the
decision what is worth saying, because a finding is a sentence with its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from becalm.history import Floats, History
from becalm.report.sentence import counted, duration, percent
from becalm.stats import series
from becalm.verdict import Finding

FEWEST = 20
"""Runs below which nothing is said about a series."""

NAMED_OUTLIERS = 3

CAUSE_COLUMNS = ("seq", "wall_ns", "user_ns", "system_ns", "wait_ns", "major_faults", "involuntary")

ColumnsOf = Callable[[int, Sequence[str]], dict[str, Any]]


def of_series(name: str, history: History, columns_of: ColumnsOf, program: int = 0) -> tuple[Finding, ...]:
    """Findings on one program's counted good runs in their order."""
    wall = history.wall_ns(program).astype(np.float64)
    found: list[Finding] = []
    if len(wall) and np.median(wall) < 1e6:
        found.append(
            Finding(
                "short",
                f"A run takes only {duration(float(np.median(wall)))}: most of that is starting and ending a process. "
                "For the work inside, let the program do more of it in one run.",
                {"median_ns": float(np.median(wall))},
                name,
            )
        )
    if len(wall) < FEWEST:
        return tuple(found)
    return (*found, *_shape(name, wall), *_outliers(name, wall, columns_of(program, CAUSE_COLUMNS)))


def _shape(name: str, wall: Floats) -> list[Finding]:
    found: list[Finding] = []
    warm = series.warmup(wall)
    if warm.found:
        found.append(
            Finding(
                "warmup",
                f"The first {counted(warm.drop, 'run')} took {percent(warm.excess)} % longer than the rest: "
                f"the program, its files or the processor warm up. Use --warmup {warm.drop} to leave them out.",
                {"drop": warm.drop, "excess": warm.excess},
                name,
            )
        )
    drift = series.drift(wall[warm.drop :] if warm.found else wall)
    if drift.found:
        way = "slower" if drift.change > 0 else "faster"
        found.append(
            Finding(
                "drift",
                f"It became {percent(abs(drift.change))} % {way} from the first to the last run "
                f"(p = {drift.p_value:.2g}): one mean hides that. `becalm compare` is immune: its order is random.",
                {"change": drift.change, "p_value": drift.p_value},
                name,
            )
        )
    period = series.period(wall)
    if period.found:
        found.append(
            Finding(
                "period",
                f"The times rise and fall with a period of about {period.period:.1f} runs: something has a rhythm.",
                {"period": period.period, "p_value": period.p_value},
                name,
            )
        )
    modes = series.bimodal(wall)
    if modes.found:
        found.append(
            Finding(
                "bimodal",
                f"The times have two humps, near {duration(modes.low)} ({percent(modes.low_share, 0.01)} % of the "
                f"runs) and {duration(modes.high)}: mean and interval describe neither. Memory layout and CPU "
                "placement are the usual causes; pin the program (--set cpus=N) or switch address randomisation off "
                "(--set aslr=off) to find out.",
                {"low_ns": modes.low, "high_ns": modes.high, "low_share": modes.low_share, "p_value": modes.p_value},
                name,
            )
        )
    return found


def _outliers(name: str, wall: Floats, record: dict[str, Any]) -> list[Finding]:
    indices = series.outliers(wall).indices
    if len(indices) == 0:
        return []
    median = float(np.median(wall))
    worst = sorted(indices, key=lambda index: -abs(wall[index] - median))[:NAMED_OUTLIERS]
    named = "; ".join(
        f"run {int(record['seq'][index])} took {duration(wall[index])} "
        f"({percent(wall[index] / median - 1, sign=True)} %): {cause(record, int(index))}"
        for index in worst
    )
    more = f" The {len(worst)} farthest: " if len(indices) > len(worst) else " "
    return [
        Finding(
            "outliers",
            f"{counted(len(indices), 'run')} of {len(wall):,} stand out; they are kept and counted.{more}{named}.",
            {"count": len(indices), "seqs": [int(record["seq"][index]) for index in worst]},
            name,
        )
    ]


def cause(record: dict[str, Any], index: int) -> str:
    """What the record of one run says of why it took longer or shorter than the median run."""

    def excess(values: Floats) -> float:
        return float(values[index] - np.nanmedian(values))

    wall = excess(record["wall_ns"])
    cpu = excess(record["user_ns"] + record["system_ns"])
    waited = excess(record["wait_ns"])
    faults = excess(record["major_faults"])
    if np.isnan(cpu) or wall == 0:
        return "the record holds no CPU time"
    if cpu / wall > 0.5:
        system = excess(record["system_ns"])
        if system / cpu > 0.5:
            return "its time inside the kernel differs by as much"
        return "its CPU time differs likewise, so the processor ran it slower or faster"
    if waited / wall > 0.5:
        return f"it waited {duration(record['wait_ns'][index])} for a CPU"
    if faults > 0:
        return f"{counted(int(record['major_faults'][index]), 'page')} had to be read from disk"
    return "neither CPU time nor the run queue explains it: it slept, or waited for a file or another process"
