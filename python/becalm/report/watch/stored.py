"""What there is to say of a watched run, computed again of what was stored of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from becalm.errors import UsageError
from becalm.load.cpu_competition import circumstances
from becalm.load.run_report import Watched, plain_reference, watched
from becalm.load.time_accounting import Times
from becalm.nouns.run import Run
from becalm.report.document import Document
from becalm.wording import measurement
from becalm.wording import watch as sentences

UNLOADED = "unloaded"
"""Option of the study: the reference, as times of an unloaded run or as its wall time alone."""


def conclude(document: Document, shown: int | None) -> Watched:
    """What there is to say of a stored run. Raises UsageError when the study has none."""
    if not document.runs:
        raise UsageError("The study has no finished run: becalm was ended before the program was.")
    run = document.runs[0]
    load = next((each for each in document.loads if each.first <= run.seq <= each.last), None)
    series = next((each for each in document.series if each.first <= run.seq <= each.last), None)
    settings = document.study.settings[run.settings]
    name = measurement.short([document.study.workloads[run.workload].name])[0]
    found = watched(
        run,
        load,
        series,
        circumstances(load, settings, document.facts),
        reference=_reference(document.study.options.get(UNLOADED), run),
        program=name,
        host=document.study.host,
        study=shown,
    )
    return replace(found, sentence=sentences.answer(found))


def _reference(stored: Any, run: Run) -> Times | None:
    """The reference that was stored with a study."""
    if stored is None:
        return None
    if set(stored) == {"wall_ns"}:
        return plain_reference(int(stored["wall_ns"]), run)
    known = set(Times.__dataclass_fields__)
    return Times(**{name: value for name, value in stored.items() if name in known})
