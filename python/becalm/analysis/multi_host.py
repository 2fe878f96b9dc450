"""Joint results of several hosts from the verdicts of single hosts.

Each comparison is made within one host, where its programs took turns; only differences are combined, never times of
different machines. Hosts are the unit (`becalm.stats.random_effects`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace
from scipy.special import ndtri

from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Better
from becalm.results.compare import Answer, Difference, Gate, Summary, Verdict
from becalm.results.multi_host import HostResult, MultiHostVerdict, PooledDifference, PooledMetric, PooledTime
from becalm.results.tune import Transfer
from becalm.stats.log_ratio import relative_difference
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.random_effects import Combined, combine
from becalm.wording import multi_host


def pool(
    kind: str, group: str, hosts: Sequence[HostResult], confidence: float, findings: Sequence[Finding]
) -> MultiHostVerdict:
    """Return the joint verdict of hosts that did `run` or `compare`.

    `confidence`: that of the joint intervals; the caller has already widened those of single hosts (`per_host`).
    """
    verdicts = [(host.host, host.verdict) for host in hosts if isinstance(host.verdict, Verdict)]
    across = tuple(_across(verdicts, confidence))
    times = tuple(_times(verdicts, confidence)) if kind == "run" else ()
    metrics = tuple(_metrics(verdicts, confidence)) if kind == "run" else ()
    limits = [verdict.fail_above for _, verdict in verdicts if verdict.fail_above is not None]
    multi_host_verdict = MultiHostVerdict(
        kind=kind,
        group=group,
        confidence=confidence,
        hosts=tuple(hosts),
        across=across,
        times=times,
        metrics=metrics,
        findings=tuple(findings),
        fail_above=limits[0] if limits else None,
        gate=_gate([verdict for _, verdict in verdicts if verdict.gate is not None], len(hosts)),
        undecided=next((verdict.undecided for _, verdict in verdicts), "fail"),
    )
    return replace(multi_host_verdict, sentence=multi_host.several(multi_host_verdict))


def _gate(verdicts: Sequence[Verdict], hosts: int) -> Gate | None:
    """Return the joint gate: above the limit when one host is, within it when all hosts are."""
    if not verdicts:
        return None
    gates = [verdict.gate for verdict in verdicts]
    if Gate.ABOVE in gates:
        return Gate.ABOVE
    return Gate.WITHIN if len(gates) == hosts and set(gates) == {Gate.WITHIN} else Gate.UNDECIDED


def per_host(confidence: float, hosts: int) -> float:
    """Return the confidence of each host's own intervals such that those of all hosts hold jointly (Bonferroni)."""
    return 1 - simultaneous_alpha(1 - confidence, hosts)


def _across(verdicts: Sequence[tuple[str, Verdict]], confidence: float) -> list[PooledDifference]:
    names = list(dict.fromkeys((d.name, d.reference) for _, verdict in verdicts for d in verdict.differences))
    alpha = simultaneous_alpha(1 - confidence, max(1, len(names)))
    differences = []
    for name, reference in names:
        by_host = {
            host: d
            for host, verdict in verdicts
            for d in verdict.differences
            if (d.name, d.reference) == (name, reference)
        }
        usable = {host: d for host, d in by_host.items() if _usable(d)}
        if not usable:
            continue
        combined = combine([math.log1p(d.estimate) for d in usable.values()], _errors(usable.values()), alpha)
        difference = PooledDifference(
            name=name,
            reference=reference,
            hosts=len(usable),
            estimate=math.expm1(combined.estimate),
            low=relative_difference(combined.low),
            high=relative_difference(combined.high),
            confidence=confidence,
            between=combined.between,
            next_low=relative_difference(combined.next_low),
            next_high=relative_difference(combined.next_high),
            differ_p=combined.q_p,
            answers={host: d.answer for host, d in by_host.items()},
            metric=next(iter(usable.values())).metric,
            better=next(iter(usable.values())).better,
        )
        differences.append(
            replace(
                difference, sentence=multi_host.across(difference, {host: d.estimate for host, d in usable.items()})
            )
        )
    return differences


def _usable(d: Difference) -> bool:
    return d.answer is not Answer.UNKNOWN and math.isfinite(d.standard_error) and not d.weak


def _errors(differences: Iterable[Difference]) -> list[float]:
    return [d.standard_error for d in differences]


class _Means(msgspec.Struct, frozen=True):
    """The combined means of one program over hosts; `ranked`: hosts from lowest to highest mean."""

    by_host: dict[str, float]
    combined: Combined
    typical: Interval
    ranked: list[str]


def _pooled(means: Mapping[str, tuple[Interval, float]], confidence: float) -> _Means | None:
    """Return the combination over hosts that know a mean with an interval; None without any.

    `means`: the mean of each host and the confidence of its interval.
    """
    errors = {host: _relative_error(*mean) for host, mean in means.items()}
    values = {host: means[host][0].value for host, error in errors.items() if math.isfinite(error)}
    if not values:
        return None
    combined = combine([math.log(mean) for mean in values.values()], [errors[host] for host in values], 1 - confidence)
    low, high = (math.exp(value) if value < 700 else math.inf for value in (combined.low, combined.high))
    return _Means(
        values, combined, Interval(math.exp(combined.estimate), low, high), sorted(values, key=values.__getitem__)
    )


def _summaries(verdicts: Sequence[tuple[str, Verdict]]) -> dict[str, dict[str, tuple[Summary, float]]]:
    """Return summaries and the confidence of their intervals, by program and then by host."""
    result: dict[str, dict[str, tuple[Summary, float]]] = {}
    for host, verdict in verdicts:
        for summary in verdict.summaries:
            result.setdefault(summary.name, {})[host] = summary, verdict.confidence
    return result


def _times(verdicts: Sequence[tuple[str, Verdict]], confidence: float) -> list[PooledTime]:
    """Return the joint time of each program, over the hosts that know its mean with an interval."""
    times = []
    for name, by_host in _summaries(verdicts).items():
        means = {
            host: (summary.mean_ns, level) for host, (summary, level) in by_host.items() if summary.mean_ns is not None
        }
        pooled = _pooled(means, confidence)
        if pooled is None:
            continue
        time = PooledTime(
            name=name,
            hosts=len(pooled.by_host),
            typical_ns=pooled.typical,
            confidence=confidence,
            between=pooled.combined.between,
            differ_p=pooled.combined.q_p,
            fastest=pooled.ranked[0],
            slowest=pooled.ranked[-1],
        )
        times.append(replace(time, sentence=multi_host.times(time, pooled.by_host)))
    return times


def _metrics(verdicts: Sequence[tuple[str, Verdict]], confidence: float) -> list[PooledMetric]:
    """Return the joint value of each metric of each program, over the hosts that know its mean with an interval."""
    metrics = []
    for name, by_host in _summaries(verdicts).items():
        first = next(iter(by_host.values()))[0]
        for place, metric in enumerate(first.metrics):
            pooled = _pooled(
                {host: (summary.metrics[place].mean, level) for host, (summary, level) in by_host.items()}, confidence
            )
            if pooled is None:
                continue
            ends = pooled.ranked if metric.better is Better.LOWER else pooled.ranked[::-1]
            pooled_metric = PooledMetric(
                name=name,
                metric=metric.name,
                unit=metric.unit,
                better=metric.better,
                hosts=len(pooled.by_host),
                typical=pooled.typical,
                confidence=confidence,
                between=pooled.combined.between,
                differ_p=pooled.combined.q_p,
                best=ends[0],
                worst=ends[-1],
            )
            metrics.append(replace(pooled_metric, sentence=multi_host.metrics(pooled_metric, pooled.by_host)))
    return metrics


def _relative_error(mean: Interval, confidence: float) -> float:
    """Return the standard error of the logarithm of a mean, from its interval (Student's, near enough to the
    normal)."""
    half = (mean.high - mean.low) / 2
    return half / mean.value / float(ndtri((1 + confidence) / 2)) if mean.value > 0 else math.inf


LEAST_FURTHER = 3
"""The fewest hosts that predict a further one: with two, Student's t has a single degree of freedom."""


def predict_further(measured: Sequence[Transfer], confidence: float) -> tuple[Transfer, ...]:
    """Return the predicted ratio on one more host for each settings that were measured on enough hosts.

    `measured`: the transfers of one program, a row for each host. The prediction is Student's (`random_effects`).
    """
    predictions = []
    for column in dict.fromkeys(transfer.column for transfer in measured):
        ratios = [transfer.ratio for transfer in measured if transfer.column == column]
        ratios = [ratio for ratio in ratios if ratio.low > 0 and math.isfinite(ratio.high)]
        if len(ratios) >= LEAST_FURTHER:
            half = float(ndtri((1 + confidence) / 2))
            errors = [(math.log(ratio.high) - math.log(ratio.low)) / 2 / half for ratio in ratios]
            combined = combine([math.log(ratio.value) for ratio in ratios], errors, 1 - confidence)
            ends = (combined.estimate, combined.next_low, combined.next_high)
            predictions.append(Transfer("", column, Interval(*(math.exp(end) for end in ends))))
    return tuple(predictions)
