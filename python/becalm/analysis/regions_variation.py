"""What varies in timed regions above the timer's own limit, and which ones stand out.

`report` makes a RegionReport of the regions of one file; `becalm.verbs.regions` calls it, with what `region_outliers`
says of a record of load. The clock's own cost is in every length of a single region, and not in `net` ones.

Public: report, trimmed, LONG.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

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
"""An outlier lies above the median by more than so many median absolute deviations, or steps of the clock: noise only
adds (docs/explanation/clock.md). No more than one in a hundred is one."""

STEPS = 50
"""A clock with steps shows nothing shorter than so many of them to 1 % (docs/explanation/clock.md)."""

FEW = 20
"""Of fewer regions nothing is said to stand out, and none is said to vary."""


def report(
    lengths: Lengths,
    *,
    study: int | None,
    title: str,
    timer: TimerLimit | None,
    damage: codec.Damage | None = None,
    causes: Sequence[Finding] = (),
    beside: int | None = None,
) -> RegionReport:
    """What the regions of a file say. `damage`: what was found when the file was read; `causes`: of outliers."""
    head = lengths.header
    step = head.ns(head.quantum) if head.quantum > 0 else None
    found: list[RegionSummary] = []
    untimed = []
    for name, records in lengths.by_name():
        summary = _summary(name, records, lengths, timer)
        if summary is None:
            untimed.append(name)
        else:
            found.append(summary)
    net = sum(summary.net_ns * summary.timed for summary in found)
    found = [replace(summary, net_share=summary.net_ns * summary.timed / net if net > 0 else 0.0) for summary in found]
    region_report = RegionReport(
        study=study,
        title=title,
        machine=head.machine,
        model=head.model,
        source=head.source,
        hz=head.hz,
        cost_ns=(head.ns(head.smallest_cost), head.ns(head.median_cost)),
        quantum_ns=step,
        timer=timer,
        recorded=lengths.recorded,
        read=lengths.read,
        regions=tuple(found),
        untimed=tuple(untimed),
        findings=(*_findings(lengths, found, timer, damage or codec.Damage()), *causes),
        beside=beside,
        sentence="",
    )
    return words.with_sentence(region_report)


def limit_ns(median: float, deviation: float, lengths: Lengths, timer: TimerLimit | None) -> float:
    """Above which length, in ns, a region stands out."""
    head = lengths.header
    step = max(deviation, head.ns(max(head.quantum, 1.0)))
    return median + max(DEVIATIONS * step, timer.t_diff_ns if timer else 0.0)


def _summary(name: str, records: codec.Records, lengths: Lengths, timer: TimerLimit | None) -> RegionSummary | None:
    good = timed(records)
    ns = np.sort(lengths.ns(records["ticks"][good]))
    if not len(ns):
        return None
    # Of sorted lengths, those that were measured: no percentile lies between two steps of the clock.
    low, median, high, p99 = (float(ns[percent * (len(ns) - 1) // 100]) for percent in (5, 50, 95, 99))
    deviation = _middle(np.abs(ns - median))
    limit = max(p99, limit_ns(median, deviation, lengths, timer))
    beyond = len(ns) - int(np.searchsorted(ns, limit, side="right")) if len(ns) >= FEW else 0
    total = float(ns.sum())
    head = lengths.header
    step = head.ns(head.quantum)
    net = max(0.0, trimmed(ns) - head.cost_ns)
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
        outliers=beyond,
        outlier_from_ns=limit,
        outlier_share=float(ns[len(ns) - beyond :].sum()) / total if beyond and total > 0 else 0.0,
        # All but the longest hundredth: what is rare is in the picture beside it.
        histogram=histogram(ns, step, (float(ns[0]), p99)),
        survival=survival(ns),
        net_ns=net,
        net_share=0.0,
        calls=_calls(net, shortest_ns(timer, step)),
        modes=modes(ns, step, 0.0 if timer is None else timer.t_diff_ns),
    )


def whole_steps(ns: float, step: float) -> float:
    """Return the difference that two readings show: a multiple of the clock's step, with room for its rounding."""
    return ns if step <= 0 else (math.ceil(ns / step) + 0.25) * step


def shortest_ns(timer: TimerLimit | None, step: float) -> float:
    """Return the shortest region that varies by less than 1 %: the timer's t_min, else what the clock's step allows."""
    known = None if timer is None else timer.t_min_ns
    return STEPS * step if known is None else known


def _calls(net: float, shortest: float) -> int | None:
    """Return the number of calls that take as long as the shortest region the timer can measure."""
    # Less than a tenth of a nanosecond is nothing that could be counted up.
    return math.ceil(shortest / max(net, 0.1)) if net < shortest else None


def _middle(values: Floats) -> float:
    """The median; of two in the middle the smaller one, as of the lengths."""
    half = (len(values) - 1) // 2
    return float(np.partition(values, half)[half])


def _flagged(records: codec.Records, flag: int) -> int:
    return int(np.count_nonzero(records["flags"] & flag))


def _findings(
    lengths: Lengths, summaries: Sequence[RegionSummary], timer: TimerLimit | None, damage: codec.Damage
) -> Iterator[Finding]:
    head, records = lengths.header, lengths.records
    if timer is None:
        yield finding("region_limit_unknown", {"quantum_ns": head.ns(head.quantum) if head.quantum > 0 else None})
    short = [summary.name for summary in summaries if summary.median_ns < head.ns(head.smallest_cost)]
    if short:
        yield finding("region_short", {"names": short, "cost_ns": head.ns(head.smallest_cost)})
    if below := [summary for summary in summaries if summary.calls is not None and summary.name not in short]:
        facts = {"names": [each.name for each in below], "calls": [each.calls for each in below]}
        yield finding("region_below", {**facts, "t_min_ns": shortest_ns(timer, head.ns(head.quantum))})
    if many := _flagged(records, codec.MIGRATED):
        yield finding("region_migrated", {"regions": many, "of": lengths.read})
    if many := _flagged(records, codec.OUT_OF_STEP):
        yield finding("region_backwards", {"regions": many, "of": lengths.read})
    for keeps_last, many in sorted(lengths.dropped.items()):
        yield finding("region_dropped", {"regions": many, "recorded": lengths.recorded, "keeps_last": keeps_last})
    if lengths.read < lengths.recorded:
        yield finding("region_thinned", {"read": lengths.read, "recorded": lengths.recorded})
    if not damage.none:
        lost = {"bytes": damage.bytes, "places": damage.places, "lost": damage.lost}
        yield finding("region_damage", {**lost, "header": damage.header, "open": damage.open})
    if lengths.damaged:
        yield finding("region_store_damage", {"pieces": lengths.damaged})
    if head.flags & codec.TRAPPED or head.flags & codec.SYSTEM_CLOCK:
        yield finding("region_clock", {"trapped": bool(head.flags & codec.TRAPPED), "source": head.source})
    elif not head.flags & codec.INVARIANT:
        yield finding("region_rate", {"hypervisor": bool(head.flags & codec.HYPERVISOR)})
    if lengths.stepped:
        yield finding("region_stepped", {})


def trimmed(values: Floats, share: float = 0.05) -> float:
    """The mean without the longest twentieth: a typical length that is finer than the clock's step."""
    kept = len(values) - int(share * len(values))
    part: npt.NDArray[np.float64] = np.partition(values, kept - 1)[:kept] if kept < len(values) else values
    return float(part.mean())
