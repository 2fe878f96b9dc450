"""The pages of a site: the list of studies, one study, the benchmarks of all projects."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup
from rich.console import Console

from becalm.nouns.run import Run
from becalm.report import has_report, report_of
from becalm.report.document import Document, by_program
from becalm.report.history.tables import amount
from becalm.report.page import filled
from becalm.report.site.directory import SCRIPT, STYLE
from becalm.report.site.run_plot import limits_of, runs_in_order, sparkline
from becalm.report.table import Table
from becalm.results.compare import Circumstances, Verdict
from becalm.results.history import Timeline
from becalm.results.publish import PublishedStudy
from becalm.wording import history
from becalm.wording.outcome import FINISHED
from becalm.wording.publish import studies as counted_studies

POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"
"""The policy of pages that load and run only files of the site (Content Security Policy Level 3)."""

PLOTS = 12
"""The number of programs whose runs are plotted; the table has all."""

COLUMNS = 100
"""The number of columns of a report that exists only for the terminal."""


def _moment(ns: int | None) -> str:
    return "" if not ns else f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M}"


def _filled(template: str, root: str, **values: Any) -> str:
    return filled(f"site/{template}", policy=POLICY, **{"findings": (), "stylesheet": root + STYLE, **values})


def index(title: str, studies: Sequence[PublishedStudy], *, benchmarks: bool, store: str) -> str:
    """Return the page with the list of studies, newest first, and its filters."""
    rows = [
        {"study": study, "when": _moment(study.created_ns), "state": "" if study.state == FINISHED else study.state}
        for study in studies
    ]
    filters = {
        "kind": sorted({study.kind for study in studies}),
        "machine": sorted({study.machine for study in studies} - {""}),
        "tag": sorted({tag for study in studies for tag in study.tags}),
        "state": sorted({study.state for study in studies} - {""}),
    }
    return _filled(
        "index.html",
        "",
        title=title,
        rows=rows,
        count=counted_studies(len(studies)),
        filters={name: values for name, values in filters.items() if len(values) > 1},
        benchmarks=benchmarks,
        script=SCRIPT,
        facts=f"Store {store}, times in UTC.",
    )


def study(
    entry: PublishedStudy,
    document: Document | None,
    conclusion: Any,
    circumstances: Circumstances | None,
    reason: str = "",
    neighbours: tuple[int | None, int | None] = (None, None),
) -> str:
    """Return the page of a study. `conclusion`: None where there is none; `reason` then explains it."""
    lines = conclusion.sentence.splitlines() if conclusion is not None else []
    settings = [] if document is None else [settings.to_json() for settings in document.study.settings]
    return _filled(
        "study.html",
        "../",
        title=f"{entry.number}: {entry.title or entry.kind}",
        answer=lines[0] if lines else reason,
        lines=lines[1:],
        mood=_mood(conclusion),
        about=tuple((name, value) for name, value in _about(entry, document, circumstances) if value),
        plots=() if document is None else tuple(_plots(document)),
        tables=() if conclusion is None else tuple(_tables(conclusion)),
        text=Markup("") if conclusion is None else _text(conclusion),
        commands=() if document is None or circumstances is None else _commands(document, circumstances),
        settings=tuple(_settings(settings)),
        findings=tuple(getattr(conclusion, "findings", ())),
        entry=entry,
        data=document is not None,
        facts="" if document is None or not document.becalm else f"Measured by becalm {document.becalm}.",
    )


def _mood(conclusion: Any) -> str:
    if not isinstance(conclusion, Verdict):
        return ""
    worse = {difference.worse for difference in conclusion.differences}
    return "bad" if worse == {True} else "good" if worse == {False} else ""


def _about(
    entry: PublishedStudy, document: Document | None, circumstances: Circumstances | None
) -> Iterator[tuple[str, str]]:
    yield "study", f"{entry.number}, {entry.kind}"
    yield "state", entry.state
    yield "began", f"{_moment(entry.created_ns)} UTC" if entry.created_ns else ""
    yield "machine", entry.machine
    if circumstances is not None:
        yield "processor", circumstances.processor
        yield "kernel", f"Linux {circumstances.kernel}" if circumstances.kernel else ""
    yield "runs", f"{entry.runs:,}"
    yield "seed", "" if document is None or document.environment != "known" else str(document.study.seed)
    yield "project", ", commit ".join(filter(None, (entry.project, history.short(entry.commit))))
    yield "tags", ", ".join(entry.tags)


def _plots(document: Document) -> Iterator[dict[str, object]]:
    """Yield the plot of each program's runs in their order; programs with the same unit share an axis."""
    courses = []
    for workload, (name, runs) in list(zip(document.study.workloads, by_program(document), strict=True))[:PLOTS]:
        metric = workload.metrics[0] if workload.metrics else None
        values = [value for run in runs if (value := _value(run, metric is not None)) is not None]
        courses.append((name, "ns" if metric is None else metric.unit, [v for v in values if math.isfinite(v)]))
    units = {unit for _, unit, _ in courses}
    axes = {unit: limits_of([values for _, own, values in courses if own == unit]) for unit in units}
    for name, unit, values in courses:
        if picture := runs_in_order(values, axes[unit]):
            ends = f"{amount(min(values), unit)} to {amount(max(values), unit)}"
            yield {"name": name, "svg": Markup(picture), "range": ends, "runs": f"{len(values):,}"}


def _value(run: Run, metric: bool) -> float | None:
    return (run.metrics[0] if run.metrics else None) if metric else run.wall_ns


def _tables(conclusion: Any) -> Iterator[Table]:
    if has_report(conclusion) and (tables := getattr(report_of(conclusion), "tables", None)) is not None:
        yield from tables(conclusion)


def _text(conclusion: Any) -> str:
    """Return the terminal form of a result whose report has no tables; empty for others."""
    if not has_report(conclusion) or hasattr(report_of(conclusion), "tables"):
        return ""
    screen = Console(file=io.StringIO(), width=COLUMNS, markup=False, emoji=False, highlight=False, no_color=True)
    screen.print(report_of(conclusion).on_terminal(conclusion, plain=True, columns=COLUMNS))
    return str(screen.file.getvalue())  # type: ignore[attr-defined]


def _commands(document: Document, circumstances: Circumstances) -> tuple[tuple[str, str], ...]:
    return tuple(zip((workload.name for workload in document.study.workloads), circumstances.commands, strict=False))


def _settings(settings: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the name and the values of each set of settings."""
    if settings in ([], [{}]):
        yield "", "the machine as it was"
        return
    for position, values in enumerate(settings):
        text = ", ".join(f"{name}={value}" for name, value in values.items()) or "the machine as it was"
        yield f"{position + 1}" if len(settings) > 1 else "", text


def benchmarks(title: str, timelines: Sequence[tuple[str, Timeline]]) -> str:
    """Return the page of all projects' benchmarks, the worst first. `timelines`: pairs with the addresses of pages."""
    rows = [row for address, timeline in timelines for row in _benchmarks(address, timeline)]
    # Changes for the worse come first, then benchmarks without a change, then changes for the better.
    rows.sort(key=lambda row: (-row["badness"], row["project"], row["name"]))
    return _filled(
        "benchmarks.html",
        "",
        title=title,
        rows=rows,
        projects=[(address, timeline.project, timeline.sentence.splitlines()[0]) for address, timeline in timelines],
        script=SCRIPT,
        facts="",
    )


def _benchmarks(address: str, timeline: Timeline) -> Iterator[dict[str, Any]]:
    for position, benchmark in enumerate(timeline.benchmarks):
        changes = [change for change in timeline.changes if change.benchmark in (position, None)]
        places = {point.session: place for place, point in enumerate(benchmark.points)}
        worst = max(changes, key=lambda change: change.size if change.worse else -abs(change.size), default=None)
        yield {
            "project": timeline.project,
            "name": benchmark.name,
            "address": address,
            "spark": Markup(
                sparkline(
                    [point.value for point in benchmark.points],
                    [(places[change.at], change.worse) for change in changes if change.at in places],
                )
            ),
            "now": amount(benchmark.points[-1].value, benchmark.unit) if benchmark.points else "",
            "change": "" if worst is None else history.size(worst.size, (worst.high - worst.low) / 2),
            "worse": None if worst is None else worst.worse,
            "commit": "" if worst is None else history.short(timeline.sessions[worst.at].commit),
            "sessions": len(benchmark.points),
            "badness": 0.0 if worst is None else abs(worst.size) if worst.worse else -abs(worst.size),
        }
