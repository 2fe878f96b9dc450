"""The page of a project's history: a graph for each benchmark, drawn by a script in the page.

Names, subjects and commits may contain anything: they are text in the JSON that the script reads, which cannot contain
a tag, and the script inserts them only as text.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from becalm.report.history.tables import amount, tables
from becalm.report.page import filled
from becalm.results.history import Benchmark, Timeline
from becalm.wording import history as words


def page(timeline: Timeline) -> str:
    """Return the page."""
    first, *rest = timeline.sentence.splitlines()
    script = resources.files("becalm.report").joinpath("history/page.js").read_text(encoding="utf-8")
    return filled(
        "history/page.html",
        title=timeline.project,
        lines=[first, *rest],
        tables=tuple(tables(timeline)),
        findings=timeline.findings,
        facts="",
        data=safe(_data(timeline)),
        script=script,
        linked=bool(timeline.links),
    )


def safe(value: Any) -> str:
    """Return JSON that is safe in a script element: none of its characters begins or ends anything there."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _data(timeline: Timeline) -> dict[str, Any]:
    return {
        "sessions": [
            {
                "commit": words.short(session.commit),
                "subject": session.subject,
                "when": f"{datetime.fromtimestamp(session.when_ns / 1e9, UTC):%Y-%m-%d %H:%M} UTC",
                "machine": session.machine,
                "link": timeline.link(session.commit),
                "changed": session.changed,
            }
            for session in timeline.sessions
        ],
        "machines": [machine.name for machine in timeline.machines],
        "benchmarks": [_benchmark(timeline, place, benchmark) for place, benchmark in enumerate(timeline.benchmarks)],
        "together": [
            {"at": change.at, "worse": change.worse, "text": words.change(timeline, change)}
            for change in timeline.changes
            if change.benchmark is None
        ],
    }


def _benchmark(timeline: Timeline, place: int, benchmark: Benchmark) -> dict[str, Any]:
    return {
        "name": benchmark.name,
        "unit": benchmark.unit,
        "now": amount(benchmark.points[-1].value, benchmark.unit) if benchmark.points else "",
        "points": [
            [
                point.session,
                point.value,
                *(end if math.isfinite(end) else None for end in (point.low, point.high)),
                point.runs,
                point.failed,
                amount(point.value, benchmark.unit),
            ]
            for point in benchmark.points
        ],
        "changes": [
            {
                "at": change.at,
                "worse": change.worse,
                "size": words.size(change.size, (change.high - change.low) / 2),
                "text": words.change(timeline, change),
            }
            for change in timeline.changes
            if change.benchmark == place
        ],
    }
