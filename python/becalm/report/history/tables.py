"""The tables of a project's history: changes, benchmarks, the baseline, machines."""

from __future__ import annotations

import math
from collections.abc import Iterator

from becalm.report.table import Table
from becalm.results.history import Benchmark, Timeline
from becalm.wording import history as words
from becalm.wording.metric import quantity
from becalm.wording.numbers import counted, duration, percent


def tables(timeline: Timeline) -> Iterator[Table]:
    """Yield the tables of changes, newest first; benchmarks; their difference from a baseline; and several machines."""
    if timeline.changes:
        head = ("commit", "benchmark", "change", "by chance", "subject", "seen at")
        rows = tuple(_change(timeline, place) for place in reversed(range(len(timeline.changes))))
        note = (
            "change: of the time, or of what a benchmark counts, ± half of its 95 % interval. by chance: in how many "
            "commits without a change one as clear is expected."
        )
        yield Table("Changes", head, rows, (2, 3), note, spare=(5, 4, 3), names=(1, 4), links=_links(timeline))
    if timeline.benchmarks:
        parts = ("benchmark", "now", "session to session", "visible", "sessions", "changes", "")
        lines = tuple(_benchmark(timeline, place, benchmark) for place, benchmark in enumerate(timeline.benchmarks))
        note = "visible: the least change that would be seen within ten sessions; too noisy: not even a doubling would."
        yield Table("Benchmarks", parts, lines, (1, 2, 3, 4, 5), note, spare=(4, 5, 2))
    if timeline.baseline is not None:
        base = timeline.sessions[timeline.baseline]
        rows = tuple(
            (timeline.benchmarks[against.benchmark].name, words.size(against.size, (against.high - against.low) / 2))
            for against in timeline.against
        )
        known = {against.benchmark for against in timeline.against}
        rows += tuple(
            (benchmark.name, "not known yet")
            for place, benchmark in enumerate(timeline.benchmarks)
            if place not in known and benchmark.lacking and not benchmark.gone
        )
        yield Table(f"Against {base.baseline}, commit {words.short(base.commit)}", ("benchmark", "change"), rows, (1,))
    if len(timeline.machines) > 1:
        head = ("machine", "processor", "kernel", "settings", "sessions", "compared with")
        rows = tuple(_machine(timeline, place) for place in range(len(timeline.machines)))
        yield Table("Machines", head, rows, (4,), spare=(3, 1, 2))


def _links(timeline: Timeline) -> tuple[tuple[str, str], ...]:
    """Return the commits of the changes, in their short form, with the addresses of their pages."""
    if not timeline.links:
        return ()
    places = {place for change in timeline.changes for place in (change.at, change.seen_at)}
    commits = {timeline.sessions[place].commit for place in sorted(places)}
    return tuple((words.short(commit), timeline.link(commit)) for commit in commits)


def amount(value: float, unit: str) -> str:
    """Return a value with its unit; times in a fitting one."""
    return duration(value) if unit == "ns" else quantity(value, unit)


def _change(timeline: Timeline, place: int) -> tuple[str, ...]:
    change = timeline.changes[place]
    at = timeline.sessions[change.at]
    name = "all together" if change.benchmark is None else timeline.benchmarks[change.benchmark].name
    return (
        words.short(at.commit),
        name,
        words.size(change.size, (change.high - change.low) / 2),
        words.rarely(change.one_in),
        at.subject,
        words.short(timeline.sessions[change.seen_at].commit),
    )


def _benchmark(timeline: Timeline, place: int, benchmark: Benchmark) -> tuple[str, ...]:
    remarks = []
    if benchmark.reference:
        remarks.append("reference")
    if benchmark.gone:
        remarks.append("not in the last session")
    elif benchmark.lacking:
        remarks.append(f"{counted(benchmark.lacking, 'more session')} needed")
    return (
        benchmark.name,
        amount(benchmark.points[-1].value, benchmark.unit) if benchmark.points else "",
        f"{percent(benchmark.noise)} %" if math.isfinite(benchmark.noise) else "",
        words.visible(benchmark.visible),
        str(len(benchmark.points)),
        str(sum(change.benchmark == place for change in timeline.changes)),
        ", ".join(remarks),
    )


def _machine(timeline: Timeline, place: int) -> tuple[str, ...]:
    machine = timeline.machines[place]
    others = [other.name for i, other in enumerate(timeline.machines) if i != place and other.chain == machine.chain]
    return (
        machine.name,
        machine.processor,
        machine.kernel,
        machine.settings,
        str(machine.sessions),
        ", ".join(others) if others else "none",
    )
