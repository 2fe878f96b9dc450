"""Which rounds of a measurement were contaminated by others' load, by a rule that was fixed before looking.

The rule knows the load and never the times of the programs: leaving out what took long would make every result look
good. It holds for whole rounds, in which every program ran once, so it favours none. Only measures whose own part is
counted can be in it: a program's own disk traffic must not contaminate it. What the counters cannot resolve counts for
the program.

What others do on CPUs that the program may not use (affinity, isolation) is none of its load, and is left out.

A measure that is not known is not zero: rounds without it are neither clean nor contaminated (`Judged.unknown`).

Public: Limit, Rule, rule, USUAL, BESIDE_OTHERS, Judged, judge, contaminated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from becalm.errors import UsageError
from becalm.load.background_load import MIB, own_cpu_ns
from becalm.load.cpu_competition import ALONE, others_share, stolen_share
from becalm.load.record import TICK_NS, Load
from becalm.nouns.run import Run
from becalm.values import dataclass


def _cpu(load: Load, own_ns: float | None) -> float | None:
    share = others_share(load, own_ns)
    return None if share is None else share - TICK_NS / load.interval_ns


def _queue(load: Load, own_ns: float | None) -> float | None:
    if load.confined:
        # The queue of the machine is not that of the program's CPUs, on which it is alone or among others not counted.
        others = _cpu(load, own_ns)
        return 1.0 if others is not None and others <= ALONE else None
    return None if load.queue is None or not load.cpus else load.queue / load.cpus


def _steal(load: Load, own_ns: float | None) -> float | None:
    share = stolen_share(load)
    return None if share is None else share - TICK_NS / load.interval_ns


def _page_outs(load: Load, own_ns: float | None) -> float | None:
    if load.swap_out_bytes is None or not load.interval_ns:
        return None
    return load.swap_out_bytes / MIB / (load.interval_ns / 1e9)


MEASURES: Mapping[str, tuple[Callable[[Load, float | None], float | None], str]] = {
    "cpu": (_cpu, "share of the CPUs that others used, of those that the program may use"),
    "queue": (_queue, "run queue over CPUs, the program included"),
    "steal": (_steal, "share of the time of these CPUs that the hypervisor took"),
    "page-outs": (_page_outs, "MiB/s paged out"),
}
"""Measures of a rule: how each is computed of a load and the CPU time of the study's own runs in it, and what it is."""


@dataclass(frozen=True, slots=True)
class MeasureLimit:
    """A round with more of `measure` than `most` is contaminated."""

    measure: str
    most: float


@dataclass(frozen=True, slots=True)
class ContaminationRule:
    """`text` is how the person wrote it; it is kept with the study."""

    text: str
    limits: tuple[MeasureLimit, ...]


def rule(text: str) -> ContaminationRule:
    """A rule as people write it: "cpu>20%,steal>5%". Raises UsageError."""
    limits = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([a-z-]+)\s*>\s*([0-9]*\.?[0-9]+)\s*(%?)\s*", part)
        if match is None:
            raise UsageError(f"{part.strip()!r} is not a valid rule. Write it like cpu>20% or cpu>20%,steal>5%.")
        if match[1] not in MEASURES:
            known = "; ".join(f"{name}: {what}" for name, (_, what) in MEASURES.items())
            raise UsageError(f"A rule knows no measure {match[1]!r}. It knows {known}.")
        limits.append(MeasureLimit(match[1], float(match[2]) / (100 if match[3] else 1)))
    return ContaminationRule(text, tuple(limits))


USUAL = rule("cpu>20%,steal>5%,page-outs>1")
"""What is flagged when nothing else is asked for: a fifth of the CPUs busy with other things is no quiet machine."""

BESIDE_OTHERS = ContaminationRule(
    "steal>5%,page-outs>1", tuple(limit for limit in USUAL.limits if limit.measure != "cpu")
)
"""The same where programs are kept running beside the measured ones: what these use of the CPUs was asked for."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Rounds beyond the rule, with the measures that were; and other rounds, with the measures that are not known."""

    contaminated: Mapping[int, tuple[str, ...]]
    unknown: Mapping[int, tuple[str, ...]]


def judge(runs: Sequence[Run], loads: Sequence[Load], by: ContaminationRule) -> Judged:
    """What the rule says of each round, warm-ups left out. A run that no load covers has no measure known."""
    by_seq = {run.seq: run for run in runs}
    beyond: dict[int, dict[str, None]] = {}
    open_ones: dict[int, dict[str, None]] = {}
    bare = dict(by_seq)
    for load in loads:
        inside = [by_seq[seq] for seq in range(load.first, load.last + 1) if seq in by_seq]
        own = own_cpu_ns(inside, load)
        for limit in by.limits:
            value = MEASURES[limit.measure][0](load, own)
            if value is None or value > limit.most:
                for run in inside:
                    (open_ones if value is None else beyond).setdefault(run.round, {})[limit.measure] = None
        for run in inside:
            bare.pop(run.seq, None)
    for run in bare.values():
        open_ones.setdefault(run.round, {}).update(dict.fromkeys(limit.measure for limit in by.limits))
    found = {number: tuple(measures) for number, measures in beyond.items() if number >= 0}
    left = {number: tuple(each) for number, each in open_ones.items() if number >= 0 and number not in found}
    return Judged(found, left)


def contaminated(runs: Sequence[Run], loads: Sequence[Load], by: ContaminationRule) -> Mapping[int, tuple[str, ...]]:
    """Rounds that lie in a load beyond the rule, with the measures that were; warm-ups left out."""
    return judge(runs, loads, by).contaminated
