"""Whether two compared programs may run at the same time, and on which CPUs; the reason where they may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from becalm.errors import UsageError
from becalm.nouns.options.measuring import CompareOptions
from becalm.nouns.study import Study
from becalm.plans.schedule import Schedule
from becalm.study.two_cpus import TwoCpus, two_cpus

SHARED = ("energy:", "memory:")
"""Metrics of the whole machine, or of all programs that run."""

CPU_SETTINGS = ("cpus", "isolation", "isolcpus", "nohz_full", "smt", "online_cpus", "process_cpus", "policy")
"""Settings that take CPUs away or give them to one program."""


def scheduled(study: Study, options: CompareOptions, facts: Mapping[str, Any]) -> CompareOptions:
    """Return options with the two CPUs of programs that run at the same time, or that take turns.

    Raises UsageError where programs were asked to run at the same time and cannot.
    """
    schedule = Schedule(options.schedule)
    if schedule is Schedule.TURNS:
        return options
    chosen = fit(study, options, facts)
    if chosen.cpus is not None:
        return replace(options, at_once_cpus=chosen.cpus)
    if schedule is Schedule.AT_ONCE:
        raise UsageError(
            f"The programs cannot run at the same time: {chosen.reason}. Leave --schedule out; then they take turns."
        )
    return replace(options, schedule=str(Schedule.TURNS), turns_because=chosen.reason)


def fit(study: Study, options: CompareOptions, facts: Mapping[str, Any]) -> TwoCpus:
    """Return the CPUs on which the programs of a study may run at the same time, or the reason why they may not."""
    reason = _unfit(study, options)
    return TwoCpus(reason=reason) if reason else two_cpus(facts)


def _unfit(study: Study, options: CompareOptions) -> str:
    """Return the reason why programs have to take turns, whatever the machine; empty where there is none."""
    if len(study.workloads) < 2:
        return "there is no second program"
    if options.baseline is not None:
        return "stored runs are compared with programs that have the machine to themselves"
    if options.fastest:
        return "programs that cannot be the fastest are left out of later rounds"
    shared = [
        metric.spec for workload in study.workloads for metric in workload.metrics if metric.spec.startswith(SHARED)
    ]
    if shared:
        return f"{shared[0]} is not known of each of two programs that run at the same time"
    if any(workload.beside for workload in study.workloads):
        return "other programs are kept running next to them"
    if any(workload.copies > 1 for workload in study.workloads):
        return "several copies of a program need more than one CPU"
    if any(workload.cold for workload in study.workloads):
        return "programs that start with empty caches wait for the same disk"
    names = [name for settings in study.settings for name in settings.to_json() if name in CPU_SETTINGS]
    return f"the setting {names[0]} decides on which CPUs they run" if names else ""
