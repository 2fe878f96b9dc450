"""The schedule of compared programs: two CPUs on which they may run at the same time, or the reason for turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from becalm.errors import UsageError
from becalm.nouns.options.measuring import CompareOptions
from becalm.nouns.study import Study
from becalm.nouns.workload import HOOKS, Workload
from becalm.plans.schedule import CPU_SETTINGS, Schedule
from becalm.study.two_cpus import TwoCpus, two_cpus

SHARED = ("energy:", "memory:")
"""Prefixes of metrics that are measured for the machine or for all running programs together."""


def choose_schedule(study: Study, options: CompareOptions, facts: Mapping[str, Any]) -> CompareOptions:
    """Return options with the two CPUs of programs that run at the same time, or with turns as the schedule.

    Without a requested schedule, two CPUs are chosen only for two programs that are probably independent of each other.
    Raises UsageError where running at the same time was requested and is impossible.
    """
    if options.schedule is None:
        cpus = fit(study, options, facts).cpus if _are_independent(study.workloads) else None
        return replace(options, at_once_cpus=cpus)
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


def _are_independent(programs: Sequence[Workload]) -> bool:
    """Return whether these are two programs compared by wall time, neither with commands around its runs.

    Such commands prepare files or servers that both programs may use. Of more than two programs there is a ranking,
    which needs turns.
    """
    return len(programs) == 2 and not any(
        program.metrics or any(getattr(program, hook) is not None for hook in HOOKS) for program in programs
    )


def fit(study: Study, options: CompareOptions, facts: Mapping[str, Any]) -> TwoCpus:
    """Return the CPUs on which the programs of a study may run at the same time, or the reason why they may not."""
    reason = _reason_for_turns(study, options)
    return TwoCpus(reason=reason) if reason else two_cpus(facts)


def _reason_for_turns(study: Study, options: CompareOptions) -> str:
    """Return the reason why programs have to take turns, whatever the machine; empty where there is none."""
    if len(study.workloads) < 2:
        return "there is no second program"
    if options.baseline is not None:
        return "stored runs are compared with programs that have the machine to themselves"
    if options.fastest:
        return "programs that cannot be the fastest are left out of later rounds"
    if reason := reason_of_programs(study.workloads):
        return reason
    names = [name for settings in study.settings for name in settings.to_json() if name in CPU_SETTINGS]
    return f"the setting {names[0]} decides on which CPUs they run" if names else ""


def reason_of_programs(programs: Sequence[Workload]) -> str:
    """Return the reason why these programs have to take turns; empty where there is none."""
    shared = [metric.spec for program in programs for metric in program.metrics if metric.spec.startswith(SHARED)]
    if shared:
        return f"{shared[0]} is not known of each of two programs that run at the same time"
    if any(program.alongside for program in programs):
        return "other programs run next to them"
    if any(program.copies > 1 for program in programs):
        return "several copies of a program need more than one CPU"
    if any(program.cold for program in programs):
        return "programs that start with empty caches wait for the same disk"
    return ""
