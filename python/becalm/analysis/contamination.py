"""Rounds of a measurement that were contaminated by the load of others, by a rule that was fixed in advance.

The rule uses the load and never the times of the programs: leaving out slow runs would make every result look good. It
applies to whole rounds, in which every program ran once, so it favours none. It uses only measures from which the
program's own part can be subtracted: a program's own disk traffic must not contaminate it. Load below the resolution of
the counters does not count.

Load on CPUs that the program may not use (affinity, isolation) does not affect it and is left out.

An unknown measure is not zero: rounds without it are neither clean nor contaminated (`JudgedRounds.unknown`).

Public: MeasureLimit, ContaminationRule, parse_rule, DEFAULT_RULE, NEIGHBOUR_RULE, JudgedRounds, judge_rounds,
contaminated_rounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from becalm.errors import UsageError
from becalm.load.background_load import MIB, own_cpu_ns
from becalm.load.cpu_competition import ALONE, others_share, stolen_share
from becalm.load.record import TICK_NS, Load
from becalm.nouns.run import Run


def _cpu(load: Load, own_ns: float | None) -> float | None:
    share = others_share(load, own_ns)
    return None if share is None else share - TICK_NS / load.interval_ns


def _queue(load: Load, own_ns: float | None) -> float | None:
    if load.confined:
        # The machine's queue is not that of the program's CPUs, and the number of programs that share these is unknown.
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
"""The measures of a rule: a function of a load and the CPU time of the study's own runs in it, and a description."""


class MeasureLimit(msgspec.Struct, frozen=True):
    """A limit of a rule: a round with more of `measure` than `most` is contaminated."""

    measure: str
    most: float


class ContaminationRule(msgspec.Struct, frozen=True):
    """A contamination rule: its limits, and the `text` that the user wrote, which is stored with the study."""

    text: str
    limits: tuple[MeasureLimit, ...]


def parse_rule(text: str) -> ContaminationRule:
    """Return the rule in a text such as "cpu>20%,steal>5%". Raises UsageError."""
    limits = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([a-z-]+)\s*>\s*([0-9]*\.?[0-9]+)\s*(%?)\s*", part)
        if match is None:
            raise UsageError(f"{part.strip()!r} is not a valid rule. Write it like cpu>20% or cpu>20%,steal>5%.")
        if match[1] not in MEASURES:
            descriptions = "; ".join(f"{name}: {description}" for name, (_, description) in MEASURES.items())
            raise UsageError(f"A rule knows no measure {match[1]!r}. It knows {descriptions}.")
        limits.append(MeasureLimit(match[1], float(match[2]) / (100 if match[3] else 1)))
    return ContaminationRule(text, tuple(limits))


DEFAULT_RULE = parse_rule("cpu>20%,steal>5%,page-outs>1")
"""The default rule: a machine with a fifth of its CPUs busy with other work is not quiet."""

NEIGHBOUR_RULE = ContaminationRule(
    "steal>5%,page-outs>1", tuple(limit for limit in DEFAULT_RULE.limits if limit.measure != "cpu")
)
"""The default rule with neighbours, programs that run next to the measured ones on request: their CPU time is
intended."""


class JudgedRounds(msgspec.Struct, frozen=True):
    """The contaminated rounds, by number, with the measures beyond their limit; other rounds with their unknown
    measures."""

    contaminated: Mapping[int, tuple[str, ...]]
    unknown: Mapping[int, tuple[str, ...]]


def judge_rounds(runs: Sequence[Run], loads: Sequence[Load], rule: ContaminationRule) -> JudgedRounds:
    """Return the judgement of a rule on each round except warm-ups; no measure is known of a run that no load
    covers."""
    by_seq = {run.seq: run for run in runs}
    beyond: dict[int, dict[str, None]] = {}
    unknown: dict[int, dict[str, None]] = {}
    uncovered = dict(by_seq)
    for load in loads:
        inside = [by_seq[seq] for seq in range(load.first, load.last + 1) if seq in by_seq]
        own_ns = own_cpu_ns(inside, load)
        for limit in rule.limits:
            value = MEASURES[limit.measure][0](load, own_ns)
            if value is None or value > limit.most:
                for run in inside:
                    (unknown if value is None else beyond).setdefault(run.round, {})[limit.measure] = None
        for run in inside:
            uncovered.pop(run.seq, None)
    for run in uncovered.values():
        unknown.setdefault(run.round, {}).update(dict.fromkeys(limit.measure for limit in rule.limits))
    contaminated = {number: tuple(measures) for number, measures in beyond.items() if number >= 0}
    undecided = {
        number: tuple(measures) for number, measures in unknown.items() if number >= 0 and number not in contaminated
    }
    return JudgedRounds(contaminated, undecided)


def contaminated_rounds(
    runs: Sequence[Run], loads: Sequence[Load], rule: ContaminationRule
) -> Mapping[int, tuple[str, ...]]:
    """Return the contaminated rounds, by number, with the measures beyond their limit; warm-ups are left out."""
    return judge_rounds(runs, loads, rule).contaminated
