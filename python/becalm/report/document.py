"""A study with everything that is known of it: the content of the files that becalm writes and reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from becalm.load.others import Others
from becalm.load.record import Load, Series
from becalm.nouns.finding import Finding
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.report.revision import UNKNOWN, Revision


class Document(msgspec.Struct, frozen=True):
    """A study with its runs. `environment`: "unknown" where the file does not describe it."""

    study: Study
    runs: Sequence[Run]
    texts: Mapping[int, tuple[str, str]] = msgspec.field(default_factory=dict)
    facts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    verdict: Mapping[str, Any] | None = None
    created_ns: int | None = None
    becalm: str = ""
    environment: str = "known"
    number: int | None = None
    loads: Sequence[Load] = ()
    series: Sequence[Series] = ()
    others: Sequence[Others] = ()
    regions: Sequence[bytes] = ()
    """The pieces of a file of timed regions, unchanged (docs/reference/regions.md)."""
    noticed: Sequence[Finding] = ()
    """The findings about settings while they were applied."""
    revision: Revision = UNKNOWN
    """The code that was measured, as a file of another tool names it."""


def by_program(document: Document) -> list[tuple[str, list[Run]]]:
    """Return each program's name with its counted good runs, in order."""
    runs: list[list[Run]] = [[] for _ in document.study.workloads]
    for run in document.runs:
        if run.outcome == "ok" and not run.warmup:
            runs[run.workload].append(run)
    pairs = zip(document.study.workloads, runs, strict=True)
    return [(workload.name, program_runs) for workload, program_runs in pairs]
