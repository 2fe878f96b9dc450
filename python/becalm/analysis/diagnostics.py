"""What a series of runs of one program shows: warm-up, drift, period, two modes, outliers with their cause.

Pure: arrays in, `Finding` values out. The tests are in `becalm.stats.time_series`, the wording is here beside the
decision what is worth saying, because a finding is a sentence with its numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from becalm.analysis.contamination import Rule
from becalm.load.record import Load
from becalm.load.time_accounting import Times, middle, of
from becalm.load.waterfall import IO, MEMORY, QUEUE, SLOWER, STEAL, UNEXPLAINED, waterfall
from becalm.nouns.history import History
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.verdict import Finding
from becalm.stats import time_series
from becalm.stats.arrays import Floats
from becalm.wording.measurement import counted, duration, percent

FEWEST = 20
"""Runs below which nothing is said about a series."""

NAMED_OUTLIERS = 3
NAMED_ROUNDS = 8

SAMPLE = 1000
"""Runs that the usual one is the median of, at most."""

CAUSE_COLUMNS = ("seq", "wall_ns", "user_ns", "system_ns", "wait_ns", "major_faults", "involuntary")

ColumnsOf = Callable[[int, Sequence[str]], dict[str, Any]]


def of_series(
    name: str, history: History, columns_of: ColumnsOf, program: int = 0, loads: Sequence[Load] = ()
) -> tuple[Finding, ...]:
    """Findings on one program's counted good runs in their order; `loads` tell more of why a run was slow."""
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
    record = columns_of(program, CAUSE_COLUMNS)
    kept = np.isin(record["seq"], history.seqs(program))
    record = {column: values[kept] for column, values in record.items()}
    return (*found, *_shape(name, wall), *_outliers(name, wall, record, loads))


def _shape(name: str, wall: Floats) -> list[Finding]:
    found: list[Finding] = []
    warm = time_series.warmup(wall)
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
    drift = time_series.drift(wall[warm.drop :] if warm.found else wall)
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
    period = time_series.period(wall)
    if period.found:
        found.append(
            Finding(
                "period",
                f"The times rise and fall with a period of about {period.period:.1f} runs: something has a rhythm.",
                {"period": period.period, "p_value": period.p_value},
                name,
            )
        )
    modes = time_series.bimodal(wall)
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


def _outliers(name: str, wall: Floats, record: dict[str, Any], loads: Sequence[Load]) -> list[Finding]:
    indices = time_series.outliers(wall).indices
    if len(indices) == 0:
        return []
    median = float(np.median(wall))
    worst = sorted(indices, key=lambda index: -abs(wall[index] - median))[:NAMED_OUTLIERS]
    alone = {load.first: load for load in loads if load.first == load.last}
    reasons = [reason(record, int(index), alone) for index in worst]
    named = "; ".join(
        f"run {int(record['seq'][index])} took {percent(abs(wall[index] / median - 1))} % "
        f"{'longer' if wall[index] > median else 'less'}: {said}"
        for index, (said, _, _) in zip(worst, reasons, strict=True)
    )
    what = "stands out; it is" if len(indices) == 1 else "stand out; they are"
    more = f" The {len(worst)} farthest: " if len(indices) > len(worst) else " "
    named = named if len(indices) > len(worst) else named[0].upper() + named[1:]
    numbers = {
        "count": len(indices),
        "seqs": [int(record["seq"][index]) for index in worst],
        "causes": [bar for _, bar, _ in reasons],
        "cause_ns": [ns for _, _, ns in reasons],
    }
    return [
        Finding(
            "outliers",
            f"{counted(len(indices), 'run')} of {len(wall):,} {what} kept and counted.{more}{named}.",
            numbers,
            name,
        )
    ]


def reason(record: dict[str, Any], index: int, loads: Mapping[int, Load]) -> tuple[str, str | None, float | None]:
    """Why a run took longer than the median run: in words, the bar of a waterfall that most of it is in, and its ns.

    `loads` by sequence number: those that cover one run. For a run that took less, and where the parts do not add up,
    the record alone says what it can, and there is no bar.
    """
    median = float(np.median(record["wall_ns"]))
    excess = float(record["wall_ns"][index]) - median
    load = loads.get(int(record["seq"][index]))
    if excess <= 0:
        return cause(record, index), None, None
    fall = waterfall(of([_run(record, index)], load), _usual(record, loads if load is not None else {}))
    bar = None if fall is None else fall.largest
    if bar is None or bar.ns is None or bar.ns < 0.3 * excess:
        return cause(record, index), None, None
    part = f"{duration(min(bar.ns, excess))} of {duration(excess)}"
    system = float(record["system_ns"][index] - np.nanmedian(record["system_ns"]))
    said = {
        QUEUE: f"{part} it waited for a CPU",
        IO: f"{part} it waited for a disk",
        MEMORY: f"{part} memory was short (swapping and reclaim)",
        STEAL: f"{part} the hypervisor ran others meanwhile (steal)",
        SLOWER: f"{part} is CPU time, so the processor ran it slower",
        UNEXPLAINED: f"{part} neither CPU nor run queue explain: it slept, or waited for a file or another process",
    }[bar.name]
    if bar.name == SLOWER and system > 0.5 * bar.ns:
        said = f"{part} is time inside the kernel"
    quota = next((piece.ns for piece in bar.parts if piece.name == "quota"), 0.0)
    if quota > 0.5 * bar.ns:
        said += ", held back by the quota of its control group"
    return said, bar.name, bar.ns


def _run(record: dict[str, Any], index: int) -> Run:
    """The run as far as the columns of CAUSE_COLUMNS tell."""

    def whole(column: str) -> int | None:
        value = float(record[column][index])
        return None if np.isnan(value) else int(value)

    seq, wall, user, system, wait = (whole(column) for column in CAUSE_COLUMNS[:5])
    known = Run._make([None] * len(COLUMNS))
    return known._replace(seq=seq or 0, wall_ns=wall or 0, user_ns=user, system_ns=system, wait_ns=wait)


def _usual(record: dict[str, Any], loads: Mapping[int, Load]) -> Times:
    """The median run; with loads, of the runs that have one, SAMPLE of them at most."""
    chosen = [i for i, seq in enumerate(record["seq"]) if int(seq) in loads] if loads else []
    if chosen:
        step = -(-len(chosen) // SAMPLE)
        found = middle(of([run], loads[run.seq]) for run in (_run(record, index) for index in chosen[::step]))
        assert found is not None
        return replace(found, wall_ns=float(np.median(record["wall_ns"])))

    def median(values: Floats) -> float | None:
        return None if np.isnan(values).any() else float(np.median(values))

    cpu, wait = median(record["user_ns"] + record["system_ns"]), median(record["wait_ns"])
    return Times(len(record["seq"]), float(np.median(record["wall_ns"])), cpu_ns=cpu, wait_ns=wait)


def contaminated(rounds: Mapping[int, Sequence[str]], by: Rule, complete: int, dropped: bool) -> tuple[Finding, ...]:
    """Rounds beside which the machine was not quiet; `dropped`: they were left out, as was asked for beforehand."""
    if not rounds:
        return ()
    counts = Counter(measure for measures in rounds.values() for measure in measures)
    beyond = ", ".join(f"{_LIMIT[limit.measure](limit.most)} in {counts[limit.measure]:,}" for limit in by.limits
                       if counts[limit.measure])  # fmt: skip
    first = ", ".join(map(str, sorted(rounds)[:NAMED_ROUNDS]))
    more = ", …" if len(rounds) > NAMED_ROUNDS else ""
    every = len(rounds) == complete > 1
    head, which = (
        (f"All {complete:,}", "") if every else (f"{len(rounds):,} of {complete:,}", f"; rounds {first}{more}")
    )
    said = f"{head} rounds were contaminated by other load ({beyond}{which})"
    if dropped:
        said += f". They are left out by the rule {by.text}, all programs alike; {complete - len(rounds):,} count."
    else:
        said += ". They are kept and counted. `becalm explain` says what it did"
        said += "." if every else f"; --drop-contaminated '{by.text}' leaves such rounds out of the next measurement."
    numbers = {"rounds": sorted(rounds), "complete": complete, "rule": by.text, "dropped": dropped}
    return (Finding("contaminated", said, {**numbers, "measures": dict(counts)}),)


_LIMIT: dict[str, Callable[[float], str]] = {
    "cpu": lambda most: f"others used more than {percent(most, 0.1)} % of the CPUs",
    "queue": lambda most: f"more than {most:g} runnable tasks a CPU",
    "steal": lambda most: f"more than {percent(most, 0.1)} % stolen",
    "page-outs": lambda most: f"more than {most:g} MiB/s paged out",
}


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
