"""The page of a project's history: a graph for each benchmark, drawn by a script that is part of the page.

Names, subjects and commits may hold anything: they are text in the JSON that the script reads, in which no tag can
stand, and the script sets them as text only.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from becalm.nouns.timeline import Benchmark, Timeline
from becalm.report.page import filled
from becalm.report.timeline.tables import amount, tables
from becalm.wording import history as words


def page(found: Timeline) -> str:
    """Return the whole page."""
    first, *rest = found.sentence.splitlines()
    script = resources.files("becalm.report").joinpath("timeline/page.js").read_text(encoding="utf-8")
    return filled(
        "timeline/page.html",
        title=found.project,
        lines=[first, *rest],
        tables=tuple(tables(found)),
        findings=found.findings,
        facts="",
        data=safe(_data(found)),
        script=script,
        linked=bool(found.links),
    )


def safe(value: Any) -> str:
    """Return JSON that may stand within a script element: no character in it begins or ends anything there."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for each in "<>&\u2028\u2029":
        text = text.replace(each, f"\\u{ord(each):04x}")
    return text


def _data(found: Timeline) -> dict[str, Any]:
    return {
        "sittings": [
            {
                "commit": words.short(each.commit),
                "subject": each.subject,
                "when": f"{datetime.fromtimestamp(each.when_ns / 1e9, UTC):%Y-%m-%d %H:%M} UTC",
                "machine": each.machine,
                "link": found.link(each.commit),
                "changed": each.changed,
            }
            for each in found.sittings
        ],
        "machines": [each.name for each in found.machines],
        "benchmarks": [_benchmark(found, place, each) for place, each in enumerate(found.benchmarks)],
        "together": [
            {"at": each.at, "worse": each.worse, "text": words.change(found, each)}
            for each in found.changes
            if each.benchmark is None
        ],
    }


def _benchmark(found: Timeline, place: int, each: Benchmark) -> dict[str, Any]:
    return {
        "name": each.name,
        "unit": each.unit,
        "now": amount(each.points[-1].value, each.unit) if each.points else "",
        "points": [
            [
                point.sitting,
                point.value,
                *(end if math.isfinite(end) else None for end in (point.low, point.high)),
                point.runs,
                point.failed,
                amount(point.value, each.unit),
            ]
            for point in each.points
        ],
        "changes": [
            {
                "at": change.at,
                "worse": change.worse,
                "size": words.size(change.size, (change.high - change.low) / 2),
                "text": words.change(found, change),
            }
            for change in found.changes
            if change.benchmark == place
        ],
    }
