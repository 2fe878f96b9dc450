"""The tables of a project's history: changes, benchmarks, the baseline, machines."""

from __future__ import annotations

import math
from collections.abc import Iterator

from becalm.report.table import Table
from becalm.results.history import Benchmark, Timeline
from becalm.wording import history as words
from becalm.wording.compare import duration, percent
from becalm.wording.metric import quantity


def tables(timeline: Timeline) -> Iterator[Table]:
    """Yield changes, the newest first; benchmarks; their difference from a baseline; machines where there are
    several."""
    if timeline.changes:
        head = ("commit", "benchmark", "change", "by chance", "subject", "seen at")
        rows = tuple(_change(timeline, place) for place in reversed(range(len(timeline.changes))))
        note = (
            "change: of the time, or of what a benchmark counts, ± half of its 95 % interval. by chance: how many "
            "commits without a change show one as clear."
        )
        yield Table("Changes", head, rows, (2, 3), note, spare=(5, 4, 3), names=(1, 4), links=_links(timeline))
    if timeline.benchmarks:
        parts = ("benchmark", "now", "session to session", "visible", "sessions", "changes", "")
        lines = tuple(_benchmark(timeline, place, each) for place, each in enumerate(timeline.benchmarks))
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
            (each.name, "not known yet")
            for place, each in enumerate(timeline.benchmarks)
            if place not in known and each.lacking and not each.gone
        )
        yield Table(f"Against {base.baseline}, commit {words.short(base.commit)}", ("benchmark", "change"), rows, (1,))
    if len(timeline.machines) > 1:
        head = ("machine", "processor", "kernel", "settings", "sessions", "compared with")
        rows = tuple(_machine(timeline, place) for place in range(len(timeline.machines)))
        yield Table("Machines", head, rows, (4,), spare=(3, 1, 2))


def _links(timeline: Timeline) -> tuple[tuple[str, str], ...]:
    """Return the commits of the changes, as they are shown, with where they can be looked at."""
    if not timeline.links:
        return ()
    shown = {place for change in timeline.changes for place in (change.at, change.found)}
    commits = {timeline.sessions[place].commit for place in sorted(shown)}
    return tuple((words.short(commit), timeline.link(commit)) for commit in commits)


def amount(value: float, unit: str) -> str:
    """Return a value in words: a time for ns."""
    return duration(value) if unit == "ns" else quantity(value, unit)


def _change(timeline: Timeline, place: int) -> tuple[str, ...]:
    each = timeline.changes[place]
    at = timeline.sessions[each.at]
    name = "all together" if each.benchmark is None else timeline.benchmarks[each.benchmark].name
    return (
        words.short(at.commit),
        name,
        words.size(each.size, (each.high - each.low) / 2),
        words.rarely(each.one_in),
        at.subject,
        words.short(timeline.sessions[each.found].commit),
    )


def _benchmark(timeline: Timeline, place: int, benchmark: Benchmark) -> tuple[str, ...]:
    said = []
    if benchmark.reference:
        said.append("reference")
    if benchmark.gone:
        said.append("not in the last session")
    elif benchmark.lacking:
        said.append(f"changes are seen after {benchmark.lacking} more")
    return (
        benchmark.name,
        amount(benchmark.points[-1].value, benchmark.unit) if benchmark.points else "",
        f"{percent(benchmark.noise)} %" if math.isfinite(benchmark.noise) else "",
        words.visible(benchmark.visible),
        str(len(benchmark.points)),
        str(sum(change.benchmark == place for change in timeline.changes)),
        ", ".join(said),
    )


def _machine(timeline: Timeline, place: int) -> tuple[str, ...]:
    each = timeline.machines[place]
    others = [other.name for i, other in enumerate(timeline.machines) if i != place and other.chain == each.chain]
    return (
        each.name,
        each.processor,
        each.kernel,
        each.settings,
        str(each.sessions),
        ", ".join(others) if others else "none",
    )
