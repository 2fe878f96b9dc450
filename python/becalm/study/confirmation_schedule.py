"""The schedule of a confirmation of mean times: two CPUs for two arms at the same time, or the reason for turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from becalm.errors import UsageError
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.run import Run
from becalm.nouns.workload import Workload
from becalm.plans.history import History
from becalm.plans.schedule import Schedule
from becalm.study.looks import ONE_CPU
from becalm.study.scheduling import reason_of_programs
from becalm.study.two_cpus import TwoCpus, two_cpus


def schedule_confirmation(
    options: TuneOptions, programs: Sequence[Workload], pilots: Sequence[Run], facts: Mapping[str, Any]
) -> TuneOptions:
    """Return options with the two CPUs on which a confirmation runs two arms at the same time, or the reason for turns.

    `pilots`: runs of the programs by themselves. Raises UsageError where running at the same time was requested and is
    impossible.
    """
    schedule = Schedule(options.schedule)
    if schedule is Schedule.TURNS:
        return options
    reason = reason_of_programs(programs) or _wide(programs, pilots)
    two = TwoCpus(reason=reason) if reason else two_cpus(facts)
    if two.cpus is not None:
        return replace(options, at_once_cpus=two.cpus)
    if schedule is Schedule.AT_ONCE:
        raise UsageError(
            f"Nothing can be confirmed at the same time: {two.reason}. Leave --schedule out; then runs take turns."
        )
    return replace(options, turns_because=two.reason)


def _wide(programs: Sequence[Workload], pilots: Sequence[Run]) -> str:
    """Return a reason for turns if a program uses more than one CPU; otherwise an empty string."""
    history = History(len(programs))
    history.extend(run for run in pilots if run.workload < len(programs))
    return f"a program uses {history.most_cpus:.1f} CPUs" if history.most_cpus > ONE_CPU else ""
