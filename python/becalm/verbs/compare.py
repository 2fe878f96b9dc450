"""`becalm compare`: which program is faster, by how much, and how small a difference could have been seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from becalm.analysis.comparison import against_baseline
from becalm.errors import UsageError
from becalm.nouns.history import History
from becalm.nouns.verdict import Difference, Verdict
from becalm.nouns.workload import Workload
from becalm.study.interleaved import Extras, measure_interleaved
from becalm.study.options import options as sort_options
from becalm.units import fraction
from becalm.verbs.records import baseline_series
from becalm.wording import measurement

DEFAULT_BUDGET = 30.0
"""Seconds of measuring when neither a budget nor a number of runs is given."""


def compare(
    commands: Sequence[str | Iterable[str] | Workload],
    *,
    names: Sequence[str] | None = None,
    reference: int | str = 0,
    fail_above: float | str | None = None,
    baseline: str | int | None = None,
    **options: Any,
) -> Verdict:
    """Compare programs with a reference by randomly ordered rounds.

    Arguments:
        commands: two or more command lines, argument lists or Workloads; one is enough with `baseline`.
        names: what to call them; default: the command lines.
        reference: which one the others are compared with, by position or name.
        fail_above: largest slowdown to accept, a fraction or "2%"; `Verdict.passed` says whether it was exceeded.
        baseline: a study's number, "last", or an exported file to compare with; weaker than measuring both now.
        options: as for `becalm.run`.

    Returns a Verdict with one Difference for each program but the reference. Stops as soon as the answer is known,
    at `precision` (half width of the widest interval), `runs` (rounds) or `budget` (30 s by default).

    Raises UsageError, WorkloadError (a program cannot be run or fails at once), MachineError, StoreError.
    """
    measuring, workload = sort_options(options)
    made = [Workload.of(command, **workload) for command in commands]
    if names is not None:
        if len(names) != len(made):
            raise UsageError(f"{len(made)} programs but {len(names)} names were given. Give each program one --name.")
        made = [replace(each, name=name) for each, name in zip(made, names, strict=True)]
    if not made or (len(made) == 1 and baseline is None):
        raise UsageError(
            "Comparing needs two programs, for example: becalm compare 'gzip -1 -k -c FILE' 'gzip -9 -k -c FILE'. "
            "For one program use `becalm run`, or compare it with stored runs by --baseline."
        )
    limit = None if fail_above is None else fraction(fail_above)
    goal = measuring.goal(DEFAULT_BUDGET)

    stored = None if baseline is None else baseline_series(baseline, measuring.store, warned=measuring.listener.warned)

    def with_baseline(history: History) -> tuple[Difference, ...]:
        assert stored is not None
        shown = measurement.short([each.name for each in made])
        found = []
        for index, name in enumerate(shown):
            title, wall_ns = stored.series_for(made[index].name, index)
            found.append(against_baseline(name, title, history.wall_ns(index), wall_ns, measuring.confidence))
        return tuple(found)

    return measure_interleaved(
        "compare",
        made,
        measuring,
        goal,
        reference=_position(reference, made),
        fail_above=limit,
        extras=None if stored is None else Extras(baseline=with_baseline),
    )


def _position(reference: int | str, workloads: Sequence[Workload]) -> int:
    names = [each.name for each in workloads]
    if isinstance(reference, str):
        if reference in names:
            return names.index(reference)
        if not reference.isdigit():
            raise UsageError(f"No program is called {reference!r}. Known: {', '.join(map(repr, names))}.")
        reference = int(reference)
    if not 0 <= reference < len(workloads):
        raise UsageError(f"--reference {reference} is not one of the {len(workloads)} programs, counted from 0.")
    return reference
