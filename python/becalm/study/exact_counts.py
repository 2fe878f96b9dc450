"""Executed instructions as a metric: the counter that a host has for them, and studies that count exactly.

Public: with_counter.
"""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from becalm.analysis.exact_counts import FEWEST
from becalm.errors import RefusedError, UsageError, WorkloadError
from becalm.hosts import Host
from becalm.nouns.finding import Finding
from becalm.nouns.metric import CALLGRIND, COUNTER, INSTRUCTIONS, Metric
from becalm.nouns.options.measuring import CompareOptions, RunOptions
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.wording.findings import finding


def with_counter(host: Host, study: Study, *, dangerous: bool) -> tuple[Study, tuple[Finding, ...]]:
    """Return a study whose metric `instructions` names the counter that the host has, and findings that name it.

    The counter is the processor's where it has one. Otherwise it is callgrind, if instructions are the compared metric:
    each program is then counted twice, whatever the budget, and other metrics are left out because they would measure
    callgrind. Raises UsageError for programs that callgrind cannot run.
    """
    if not any(metric.spec in (INSTRUCTIONS, CALLGRIND) for workload in study.workloads for metric in workload.metrics):
        return study, ()
    wanted = _replace_metrics(study, INSTRUCTIONS, COUNTER + INSTRUCTIONS)
    first = {workload.metrics[0].spec for workload in study.workloads if workload.metrics}
    if not first & {INSTRUCTIONS, CALLGRIND}:
        # The next step leaves a further metric out that the host cannot measure.
        return wanted, ()
    if CALLGRIND not in first and _has_counter(host, wanted, dangerous=dangerous):
        return wanted, (finding("counted", {"callgrind": False}),)
    return _count_by_callgrind(study)


def _has_counter(host: Host, study: Study, *, dangerous: bool) -> bool:
    """Return whether the host's processor counts instructions."""
    alone = [
        dataclasses.replace(
            workload, metrics=tuple(metric for metric in workload.metrics if metric.spec == COUNTER + INSTRUCTIONS)
        )
        for workload in study.workloads
    ]
    try:
        host.define(alone, study.settings, dangerous=dangerous)
    except RefusedError as error:
        if str(error).startswith(f"{COUNTER}{INSTRUCTIONS} cannot be measured here"):
            return False
        raise
    except WorkloadError:
        # Whoever starts the program reports that it cannot be started.
        return True
    return True


def _count_by_callgrind(study: Study) -> tuple[Study, tuple[Finding, ...]]:
    """Return the study counted by callgrind. Raises UsageError."""
    for workload in study.workloads:
        if workload.kernel or workload.copies > 1 or workload.alongside:
            raise UsageError(
                f"{workload.name} cannot be counted by callgrind, which runs one program by itself: leave kernel:, "
                "--copies and --alongside out, or use a machine whose processor counts instructions."
            )
    others = {
        metric.spec
        for workload in study.workloads
        for metric in workload.metrics
        if metric.spec not in (INSTRUCTIONS, CALLGRIND)
    }
    findings = [finding("counted", {"callgrind": True})]
    if others:
        reason = "callgrind slows the program down too much to measure anything else"
        entries = [[spec, 1] for spec in sorted(others)]
        findings.append(finding("left_out", {"reason": reason, "entries": entries, "of": "the metrics"}))
    workloads = tuple(
        dataclasses.replace(workload, metrics=_callgrind_metric(workload)) for workload in study.workloads
    )
    options = (CompareOptions if study.kind == "compare" else RunOptions).from_json(study.options)
    runs = max(FEWEST, options.runs or FEWEST)
    options = dataclasses.replace(options, budget_ns=None, precision=None, warmup=0, runs=runs)
    if isinstance(options, CompareOptions):
        options = dataclasses.replace(options, fastest=False, to_best=False, schedule="turns")
    return replace(study, workloads=workloads, options=options.to_json()), tuple(findings)


def _callgrind_metric(workload: Workload) -> tuple[Metric, ...]:
    wanted = next(metric for metric in workload.metrics if metric.spec in (INSTRUCTIONS, CALLGRIND))
    return (replace(wanted, spec=CALLGRIND),)


def _replace_metrics(study: Study, spec: str, other: str) -> Study:
    """Return the study with the metrics of a spec replaced by those of another one."""
    return replace(
        study,
        workloads=tuple(
            dataclasses.replace(
                workload,
                metrics=tuple(
                    replace(metric, spec=other) if metric.spec == spec else metric for metric in workload.metrics
                ),
            )
            for workload in study.workloads
        ),
    )
