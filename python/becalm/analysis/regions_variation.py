"""The variation of timed regions above the timer's own limit, and outliers among them.

`report` builds a RegionReport from the regions of one file; `becalm.verbs.regions` calls it with the findings that
`regions_outliers` derives from a record of load. The clock's own cost is contained in every length of a single region,
and subtracted from `net` ones.

Public: report, trimmed, limit_ns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from becalm.analysis.regions_lengths import Lengths, timed
from becalm.analysis.regions_modes import modes
from becalm.files import region_codec as codec
from becalm.nouns.finding import Finding
from becalm.results.regions import RegionReport, RegionSummary, TimerLimit
from becalm.stats.arrays import Floats
from becalm.stats.histogram import histogram
from becalm.stats.survival import survival
from becalm.wording import regions as words
from becalm.wording.findings import finding

DEVIATIONS = 8.0
"""The distance of an outlier from the median, in median absolute deviations or steps of the clock; only longer regions
are outliers, since noise only adds (docs/explanation/clock.md), and at most one in a hundred."""

STEPS = 50
"""The length in steps of the clock below which a region cannot be timed to 1 % (docs/explanation/clock.md)."""

FEW = 20
"""The fewest regions of a name for which outliers and variation are reported."""


def report(
    lengths: Lengths,
    *,
    study: int | None,
    title: str,
    timer: TimerLimit | None,
    damage: codec.Damage | None = None,
    causes: Sequence[Finding] = (),
    alongside: int | None = None,
) -> RegionReport:
    """Return the report on the regions of a file.

    `damage`: the damage to the file noticed while reading it; `causes`: findings on causes of outliers; `alongside`:
    number of the study whose load was recorded at the same time.
    """
    header = lengths.header
    step = header.ns(header.quantum) if header.quantum > 0 else None
    summaries: list[RegionSummary] = []
    untimed = []
    for name, records in lengths.by_name():
        summary = _summary(name, records, lengths, timer)
        if summary is None:
            untimed.append(name)
        else:
            summaries.append(summary)
    net = sum(summary.net_ns * summary.timed for summary in summaries)
    summaries = [
        replace(summary, net_share=summary.net_ns * summary.timed / net if net > 0 else 0.0) for summary in summaries
    ]
    region_report = RegionReport(
        study=study,
        title=title,
        machine=header.machine,
        model=header.model,
        source=header.source,
        hz=header.hz,
        cost_ns=(header.ns(header.smallest_cost), header.ns(header.median_cost)),
        quantum_ns=step,
        timer=timer,
        recorded=lengths.recorded,
        read=lengths.read,
        regions=tuple(summaries),
        untimed=tuple(untimed),
        findings=(*_findings(lengths, summaries, timer, damage or codec.Damage()), *causes),
        alongside=alongside,
        sentence="",
    )
    return words.with_sentence(region_report)


def limit_ns(median: float, deviation: float, lengths: Lengths, timer: TimerLimit | None) -> float:
    """Return the length in ns above which a region is an outlier."""
    header = lengths.header
    step = max(deviation, header.ns(max(header.quantum, 1.0)))
    return median + max(DEVIATIONS * step, timer.t_diff_ns if timer else 0.0)


def _summary(name: str, records: codec.Records, lengths: Lengths, timer: TimerLimit | None) -> RegionSummary | None:
    is_timed = timed(records)
    ns = np.sort(lengths.ns(records["ticks"][is_timed]))
    if not len(ns):
        return None
    # Elements of the sorted lengths, so that no percentile lies between two steps of the clock.
    low, median, high, p99 = (float(ns[percent * (len(ns) - 1) // 100]) for percent in (5, 50, 95, 99))
    deviation = _lower_median(np.abs(ns - median))
    limit = max(p99, limit_ns(median, deviation, lengths, timer))
    outlier_count = len(ns) - int(np.searchsorted(ns, limit, side="right")) if len(ns) >= FEW else 0
    total = float(ns.sum())
    header = lengths.header
    step = header.ns(header.quantum)
    net = max(0.0, trimmed(ns) - header.cost_ns)
    return RegionSummary(
        name=name,
        regions=len(records),
        timed=len(ns),
        migrated=_flagged(records, codec.MIGRATED),
        out_of_step=_flagged(records, codec.OUT_OF_STEP),
        shorter_than_cost=_flagged(records, codec.SHORTER_THAN_COST),
        median_ns=median,
        mean_ns=total / len(ns),
        min_ns=float(ns[0]),
        p95_ns=high,
        p99_ns=p99,
        max_ns=float(ns[-1]),
        sd_ns=float(ns.std(ddof=1)) if len(ns) > 1 else 0.0,
        spread_ns=high - low,
        varies=None if timer is None or len(ns) < FEW else high - low > whole_steps(timer.t_diff_ns, step),
        outliers=outlier_count,
        outlier_from_ns=limit,
        outlier_share=float(ns[len(ns) - outlier_count :].sum()) / total if outlier_count and total > 0 else 0.0,
        # All but the longest hundredth: rare regions are in the picture next to it.
        histogram=histogram(ns, step, (float(ns[0]), p99)),
        survival=survival(ns),
        net_ns=net,
        net_share=0.0,
        calls=_call_count(net, shortest_ns(timer, step)),
        modes=modes(ns, step, 0.0 if timer is None else timer.t_diff_ns),
    )


def whole_steps(ns: float, step: float) -> float:
    """Return the difference that two readings show: a multiple of the clock's step, with room for its rounding."""
    return ns if step <= 0 else (math.ceil(ns / step) + 0.25) * step


def shortest_ns(timer: TimerLimit | None, step: float) -> float:
    """Return the shortest region that varies by less than 1 %: the timer's t_min, else what the clock's step allows."""
    t_min_ns = None if timer is None else timer.t_min_ns
    return STEPS * step if t_min_ns is None else t_min_ns


def _call_count(net: float, shortest: float) -> int | None:
    """Return the number of calls that take as long as the shortest region the timer can measure."""
    # Lengths below a tenth of a nanosecond count as that.
    return math.ceil(shortest / max(net, 0.1)) if net < shortest else None


def _lower_median(values: Floats) -> float:
    """Return the lower median, which is one of the values."""
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])


def _flagged(records: codec.Records, flag: int) -> int:
    return int(np.count_nonzero(records["flags"] & flag))


def _findings(
    lengths: Lengths, summaries: Sequence[RegionSummary], timer: TimerLimit | None, damage: codec.Damage
) -> Iterator[Finding]:
    header, records = lengths.header, lengths.records
    if timer is None:
        yield finding("region_limit_unknown", {"quantum_ns": header.ns(header.quantum) if header.quantum > 0 else None})
    short = [summary.name for summary in summaries if summary.median_ns < header.ns(header.smallest_cost)]
    if short:
        yield finding("region_short", {"names": short, "cost_ns": header.ns(header.smallest_cost)})
    if too_short := [summary for summary in summaries if summary.calls is not None and summary.name not in short]:
        facts = {"names": [summary.name for summary in too_short], "calls": [summary.calls for summary in too_short]}
        yield finding("region_below", {**facts, "t_min_ns": shortest_ns(timer, header.ns(header.quantum))})
    if count := _flagged(records, codec.MIGRATED):
        yield finding("region_migrated", {"regions": count, "of": lengths.read})
    if count := _flagged(records, codec.OUT_OF_STEP):
        yield finding("region_backwards", {"regions": count, "of": lengths.read})
    for keeps_last, count in sorted(lengths.dropped.items()):
        yield finding("region_dropped", {"regions": count, "recorded": lengths.recorded, "keeps_last": keeps_last})
    if lengths.read < lengths.recorded:
        yield finding("region_thinned", {"read": lengths.read, "recorded": lengths.recorded})
    if not damage.none:
        losses = {"bytes": damage.bytes, "places": damage.places, "lost": damage.lost}
        yield finding("region_damage", {**losses, "header": damage.header, "open": damage.open})
    if lengths.damaged:
        yield finding("region_store_damage", {"pieces": lengths.damaged})
    if header.flags & codec.TRAPPED or header.flags & codec.SYSTEM_CLOCK:
        yield finding("region_clock", {"trapped": bool(header.flags & codec.TRAPPED), "source": header.source})
    elif not header.flags & codec.INVARIANT:
        yield finding("region_rate", {"hypervisor": bool(header.flags & codec.HYPERVISOR)})
    if lengths.stepped:
        yield finding("region_stepped", {})


def trimmed(values: Floats, share: float = 0.05) -> float:
    """Return the mean without the longest twentieth: a typical length that is finer than the clock's step."""
    count = len(values) - int(share * len(values))
    shortest: npt.NDArray[np.float64] = np.partition(values, count - 1)[:count] if count < len(values) else values
    return float(shortest.mean())
