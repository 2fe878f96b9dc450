"""Sentences about results from several hosts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from becalm.nouns.metric import Better, Metric
from becalm.results.compare import Answer, Gate, Verdict
from becalm.results.multi_host import HostResult, MultiHostVerdict, PooledDifference, PooledMetric, PooledTime
from becalm.results.tune import Transfer, TuneVerdict
from becalm.units import join_names
from becalm.wording import tune_metric, tune_time
from becalm.wording.metric import quantity
from becalm.wording.numbers import are, counted, duration, percent

FEW = 3
"""The number of hosts up to which their mean is little evidence about others: Student's factor is 12.7 for two, 4.3
for three."""

WIDEST = 100.0
"""The ratio of an interval's ends above which the interval is of no use."""

WAYS = (Answer.FASTER, Answer.SLOWER, Answer.LOWER, Answer.HIGHER)
"""The ways in which one program may differ from another."""

DIFFER = 0.05
"""The p value below which hosts count as different."""


def across(difference: PooledDifference, estimates: Mapping[str, float]) -> str:
    """Return the comparison over hosts: its direction on each host, the average, and how much the hosts differ."""
    return f"{_directions(difference, estimates)} {_average(difference)}".strip()


def _directions(difference: PooledDifference, estimates: Mapping[str, float]) -> str:
    by_answer = {
        answer: [host for host, host_answer in difference.answers.items() if host_answer is answer] for answer in Answer
    }
    total = len(difference.answers)
    ways = [answer for answer in WAYS if by_answer[answer]]
    ways.sort(key=lambda answer: -len(by_answer[answer]))
    of = f" in {difference.metric}" if difference.metric else ""
    if not ways:
        return (
            f"No difference{of} between {difference.name} and {difference.reference} was seen on any of {total} hosts."
        )
    first = by_answer[ways[0]]
    where = f"all {total} hosts" if len(first) == total > 1 else f"{len(first)} of {counted(total, 'host')}"
    parts = [f"{_than(difference, ways[0])} on {where}"]
    for answer in ways[1:]:
        differing = [f"{host} ({percent(estimates[host], sign=True)} %)" for host in by_answer[answer]]
        parts.append(f"{answer} on {join_names(differing)}")
    if by_answer[Answer.NO_DIFFERENCE_DETECTED]:
        parts.append(f"no difference was seen on {join_names(by_answer[Answer.NO_DIFFERENCE_DETECTED])}")
    if by_answer[Answer.UNKNOWN]:
        parts.append(f"not yet known on {join_names(by_answer[Answer.UNKNOWN])}")
    return f"{', '.join(parts)}."


def _than(difference: PooledDifference, way: Answer) -> str:
    """Return the clause that one program differs from the other in this direction."""
    if not difference.metric:
        return f"{difference.name} is {way} than {difference.reference}"
    judged = "better" if (way is Answer.HIGHER) is (difference.better is Better.HIGHER) else "worse"
    return f"{difference.metric} of {difference.name} is {way} than that of {difference.reference}, which is {judged},"


def _average(difference: PooledDifference) -> str:
    if difference.hosts < 2:
        return "One host says nothing about others."
    level = f"{100 * difference.confidence:g} %"
    half = (difference.high - difference.low) / 2
    span = f"{percent(difference.low, half, sign=True)} to {percent(difference.high, half, sign=True)} %"
    if difference.high + 1 > WIDEST * (difference.low + 1):
        span = "too few hosts for an interval"
    average = f"Over hosts like these {percent(difference.estimate, half, sign=True)} % on average ({level}: {span})"
    few = " So few hosts say little about others." if difference.hosts <= FEW else ""
    return f"{average}; {_differ(difference.between, difference.differ_p)}.{few}"


def _differ(between: float, p_value: float) -> str:
    if p_value >= DIFFER:
        return "the hosts do not differ by more than their own uncertainty"
    return f"the hosts do differ, by {percent(between)} % (standard deviation from host to host)"


def times(time: PooledTime, means_ns: Mapping[str, float]) -> str:
    """Return the sentence about one program's times over hosts."""
    if time.hosts < 2:
        return f"{time.name} takes {duration(time.typical_ns.value)} on {time.fastest}, the only host that is known."
    low, high = time.typical_ns.low, time.typical_ns.high
    level = f"{100 * time.confidence:g} %"
    ratio = means_ns[time.slowest] / means_ns[time.fastest] - 1
    wide = not math.isfinite(high) or high > WIDEST * low
    span = f"{duration(low)} to {duration(high)}" if not wide else "too few hosts for an interval"
    ends = f"{level} for hosts like these: {span}"
    few = " So few hosts say little about others." if time.hosts <= FEW else ""
    return (
        f"{time.name} takes {duration(means_ns[time.fastest])} on {time.fastest} and {percent(ratio)} % longer on "
        f"{time.slowest}, {duration(means_ns[time.slowest])}; {duration(time.typical_ns.value)} on average over "
        f"{counted(time.hosts, 'host')} ({ends}); {_differ(time.between, time.differ_p)}.{few}"
    )


def metrics(metric: PooledMetric, means: Mapping[str, float]) -> str:
    """Return the sentence about a metric of one program over hosts."""

    def shown(value: float) -> str:
        return quantity(value, metric.unit)

    subject = f"{metric.metric} of {metric.name} is"
    if metric.hosts < 2:
        return f"{subject} {shown(metric.typical.value)} on {metric.best}, the only host that is known."
    low, high = metric.typical.low, metric.typical.high
    ratio = max(means[metric.worst] / means[metric.best], means[metric.best] / means[metric.worst]) - 1
    wide = not math.isfinite(high) or high > WIDEST * low
    span = f"{shown(low)} to {shown(high)}" if not wide else "too few hosts for an interval"
    few = " So few hosts say little about others." if metric.hosts <= FEW else ""
    way = "higher" if metric.better is Better.LOWER else "lower"
    return (
        f"{subject} {shown(means[metric.best])} on {metric.best} and {way} on {metric.worst}, "
        f"{shown(means[metric.worst])} "
        f"({percent(ratio)} % apart); {shown(metric.typical.value)} on average over {counted(metric.hosts, 'host')} "
        f"({100 * metric.confidence:g} % for hosts like these: {span}); "
        f"{_differ(metric.between, metric.differ_p)}.{few}"
    )


def transfer(result: Transfer, confidence: float, *, timed: bool = False, metric: Metric | None = None) -> str:
    """Return the sentence about settings found on one host, as measured on another.

    `timed`: a mean was minimised, of the time or, with `metric`, of a number that the programs print."""
    ratio = result.ratio
    level = f"{100 * confidence:g} %"
    if timed and metric is not None:
        return tune_metric.transfer(result, level, metric)
    if timed:
        saved = tune_time.gain(ratio)
        span = f"{level}: {tune_time.between(saved)} less"
        known = ratio.low > 1 or ratio.high < 1
        size = percent(abs(saved.value if ratio.low > 1 else 1 / ratio.value - 1))
        less = "less" if ratio.low > 1 else "more"
        effect = f"it takes {size} % {less} time" if known else "no change of its time is seen"
        return f"On {result.row} with the settings of {result.column} {effect} ({span})."
    span = f"{level}: {ratio.low:.2g} to {ratio.high:.2g}"
    if ratio.low > 1:
        effect = f"reduce its spread {ratio.value:.2g}-fold ({span})"
    elif ratio.high < 1:
        effect = f"increase its spread {1 / ratio.value:.2g}-fold (reduction {span})"
    else:
        effect = f"have no detected effect on its spread (reduction {span})"
    return f"On {result.row} the settings of {result.column} {effect}."


def further(prediction: Transfer, confidence: float, *, timed: bool = False, metric: Metric | None = None) -> str:
    """Return the sentence about settings on a further host, as predicted from the measured hosts."""
    level = f"{100 * confidence:g} %"
    head = f"On a further host like these the settings of {prediction.column} are expected to"
    if timed and metric is not None:
        span = tune_time.between(tune_metric.change(prediction.ratio, metric))
        return f"{head} change {metric.name} by {span} ({level})."
    if timed:
        return f"{head} save {tune_time.between(tune_time.gain(prediction.ratio))} of the time ({level})."
    return f"{head} reduce the spread {prediction.ratio.low:.2g}- to {prediction.ratio.high:.2g}-fold ({level})."


def lost(hosts: Sequence[HostResult]) -> list[str]:
    """Return a sentence for each host that was lost."""
    result = []
    for host in hosts:
        remains = (
            f" Its runs until then are stored as study {host.study} and count above."
            if host.verdict is not None
            else ""
        )
        if host.lost and host.verdict is None and host.study is not None:
            remains = f" Its runs are stored as study {host.study}."
        if host.lost:
            result.append(f"{host.host} was lost: {host.lost}{remains}")
    return result


def several(verdict: MultiHostVerdict) -> str:
    """Return all sentences about several hosts, one per line."""
    # The table next to them has the wall time as well, whatever was asked for.
    lines = [
        *(difference.sentence for difference in verdict.across),
        *(metric.sentence for metric in verdict.metrics or verdict.times),
    ]
    tuned = [host.verdict for host in verdict.hosts if isinstance(host.verdict, TuneVerdict)]
    timed = any(tune_verdict.objective == "time" for tune_verdict in tuned)
    metric = next((tune_verdict.metric for tune_verdict in tuned), None)
    lines += [transfer(row, verdict.confidence, timed=timed, metric=metric) for row in verdict.transfer]
    lines += [further(row, verdict.confidence, timed=timed, metric=metric) for row in verdict.further]
    if not lines:
        lines = [f"{host.host}: {line}" for host in verdict.hosts if isinstance(host.verdict, Verdict)
                 for line in host.verdict.sentence.splitlines()]  # fmt: skip
    if verdict.fail_above is not None:
        bound = f"{percent(verdict.fail_above)} %"
        over = [host.host for host in verdict.hosts if getattr(host.verdict, "passed", None) is False]
        if over:
            lines.append(f"Over the limit of {bound} on {join_names(over)}.")
        elif verdict.gate is Gate.WITHIN:
            lines.append(f"Within the limit of {bound}.")
        else:
            unsure = [host.host for host in verdict.hosts if getattr(host.verdict, "passed", None) is not True]
            fails = "" if verdict.undecided == "pass" else " This counts as a failure; --undecided pass accepts it."
            lines.append(
                f"Undecided whether {join_names(unsure)} {are(len(unsure))} within the limit of {bound}.{fails}"
            )
    lines += lost(verdict.hosts)
    return "\n".join(lines)
