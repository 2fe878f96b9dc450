"""Sessions for a comparison: stored studies by number, "last" or title, and files of any readable format.

`becalm.verbs.compare_stored` calls `stored_session` once for each source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from becalm.errors import UsageError
from becalm.nouns.finding import Finding
from becalm.nouns.metric import Better
from becalm.nouns.run import Run
from becalm.nouns.workload import Workload
from becalm.report.document import Document, by_program
from becalm.report.formats import criterion, read
from becalm.report.formats.benchmarks import NS, unusable
from becalm.report.formats.left_out import KIND, LeftOutEntries
from becalm.results.compare_stored import Identity, SessionSeries, StoredSession
from becalm.store import Store
from becalm.study.stored import Warned, stored
from becalm.wording.printable import one_line
from becalm.wording.program_names import names_of


def stored_session(source: str | int, store: str | None = None, *, warned: Warned | None = None) -> StoredSession:
    """Return the session of a source.

    Raises UsageError where it is neither a study nor a file, or has no program, and StoreError.
    """
    document, title, origin = _open_source(str(source), store, warned)
    title = one_line(title)
    series: dict[str, SessionSeries] = {}
    reasons: dict[str, str] = {}
    names: dict[Identity, str] = {}
    left_out = LeftOutEntries()
    programs = list(zip(document.study.workloads, by_program(document), strict=True))
    for (workload, (_, runs)), called in zip(programs, names_of(document.study.workloads), strict=True):
        for name, identity, values in _benchmarks(workload, runs, called, left_out):
            if identity in names:
                series.pop(names[identity], None)
                reasons[names[identity]] = f"{title} has several of this name, and nothing tells them apart"
                continue
            names[identity] = name
            if isinstance(values, str):
                reasons[name] = values
            else:
                series[name] = values
    if not names:
        raise UsageError(f"{title} holds no program that could be compared.")
    identities = {name: identity for identity, name in names.items()}
    references = document.study.options.get("references") or ()
    never = tuple(name for name in series if identities[name].name in references)
    noticed = _left_out(document, left_out)
    return StoredSession(title, series, reasons, never, identities, noticed, origin, _runs_digest(document.runs))


def _runs_digest(runs: Sequence[Run]) -> str:
    """Return a digest of the starts and times of runs."""
    digest = hashlib.sha256()
    for run in runs:
        digest.update(repr((run.workload, run.round, run.started_ns, run.wall_ns, run.metrics)).encode())
    return digest.hexdigest()


def _left_out(document: Document, of_runs: LeftOutEntries) -> tuple[Finding, ...]:
    """Return the findings on entries of the document's file without a value, and on unusable runs."""
    return (*(finding for finding in document.noticed if finding.kind == KIND), *of_runs.findings())


def _open_source(source: str, store: str | None, warned: Warned | None) -> tuple[Document, str, str]:
    """Return the document of a file or a study, its title, and its origin. A file has precedence over a study."""
    if Path(source).exists() or criterion.directory(source) is not None:
        documents = read(Path(source))
        if len(documents) != 1:
            raise UsageError(f"{source} holds {len(documents)} studies; one is needed here.")
        return documents[0], source, str(Path(source).resolve())
    if source.isdigit() or source == "last":
        document = stored(source, store, warned=warned)
        return document, f"study {document.number}", f"study {document.number}"
    with Store.open(store) as opened:
        titled = [study for study in opened.studies(None, facts=False) if study.study.title == source]
    if not titled:
        raise UsageError(
            f"{source!r} is neither a file nor a study: give a number of `becalm list`, last, the title of a study, "
            "or a file of becalm, pyperf, hyperfine, Google Benchmark, pytest-benchmark, Go or Criterion."
        )
    number = titled[0].number
    return stored(number, store, warned=warned), f"{source} (study {number})", f"study {number}"


def _benchmarks(
    workload: Workload, runs: Sequence[Run], called: str, left_out: LeftOutEntries
) -> Iterator[tuple[str, Identity, SessionSeries | str]]:
    """Yield the name, the identity and the values of each metric of a program; a reason where it has no values."""
    if not workload.metrics:
        times = [float(run.wall_ns) for run in runs if run.wall_ns is not None]
        yield (
            called,
            Identity(workload.name, workload.parameters),
            _usable_values(times, "ns", "time", called, left_out),
        )
    for place, metric in enumerate(workload.metrics):
        values = [run.metrics[place] for run in runs if run.metrics is not None and place < len(run.metrics)]
        scale = NS.get(metric.unit)
        unit = metric.unit if scale is None else "ns"
        # Readers name a benchmark of a further unit "Name, unit"; here the unit is part of the identity.
        base = workload.name.removesuffix(f", {metric.name}") if place == 0 else workload.name
        own = metric.name if place or base != workload.name else ""
        scaled = [value * (scale or 1.0) for value in values]
        name = f"{called}, {metric.name}" if place else called
        checked = _usable_values(scaled, unit, metric.name, name, left_out, metric.better)
        yield name, Identity(base, workload.parameters, own), checked


def _usable_values(
    values: Sequence[float],
    unit: str,
    metric: str,
    called: str,
    left_out: LeftOutEntries,
    better: Better = Better.LOWER,
) -> SessionSeries | str:
    """Return the values for which ratios exist; the reason where there are none."""
    if not values:
        return "it has no good run"
    good = [value for value in values if unusable(value) is None]
    for value in values:
        if good and (reason := unusable(value)) is not None:
            left_out.add(called, reason)
    return SessionSeries(unit, better, metric, np.array(good)) if good else str(unusable(values[0]))
