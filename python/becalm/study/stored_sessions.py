"""Sessions for a comparison: studies of the store by number, "last" or title, and files of any readable format.

`stored_session` is called by `becalm.verbs.compare_stored`, once for each source that a person names.
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
    """Return the session of a source. Raises UsageError where it is neither study nor file, or has no program;
    StoreError."""
    document, title, origin = _document(str(source), store, warned)
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
    return StoredSession(title, series, reasons, never, identities, noticed, origin, _content(document.runs))


def _content(runs: Sequence[Run]) -> str:
    """Return a digest of the starts and times of runs."""
    digest = hashlib.sha256()
    for run in runs:
        digest.update(repr((run.workload, run.round, run.started_ns, run.wall_ns, run.metrics)).encode())
    return digest.hexdigest()


def _left_out(document: Document, of_runs: LeftOutEntries) -> tuple[Finding, ...]:
    """Return the findings on entries of the document's file without a value, and on runs that have no ratio."""
    return (*(each for each in document.noticed if each.kind == KIND), *of_runs.findings())


def _document(source: str, store: str | None, warned: Warned | None) -> tuple[Document, str, str]:
    """Return a file where there is one of that name, else a study; its title, and its origin."""
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
    """Yield each measured number of a program with its name, or why it cannot be compared."""
    if not workload.metrics:
        times = [float(run.wall_ns) for run in runs if run.wall_ns is not None]
        yield called, Identity(workload.name, workload.parameters), _checked(times, "ns", "time", called, left_out)
    for place, metric in enumerate(workload.metrics):
        values = [run.metrics[place] for run in runs if run.metrics is not None and place < len(run.metrics)]
        scale = NS.get(metric.unit)
        unit = metric.unit if scale is None else "ns"
        # Readers call a benchmark of another unit "Name, unit": the unit is what it is told apart by.
        base = workload.name.removesuffix(f", {metric.name}") if place == 0 else workload.name
        own = metric.name if place or base != workload.name else ""
        scaled = [each * (scale or 1.0) for each in values]
        name = f"{called}, {metric.name}" if place else called
        checked = _checked(scaled, unit, metric.name, name, left_out, metric.better)
        yield name, Identity(base, workload.parameters, own), checked


def _checked(
    values: Sequence[float],
    unit: str,
    metric: str,
    called: str,
    left_out: LeftOutEntries,
    better: Better = Better.LOWER,
) -> SessionSeries | str:
    """Return the values that have ratios, or why there are none."""
    if not values:
        return "it has no good run"
    good = [each for each in values if unusable(each) is None]
    for each in values:
        if good and (reason := unusable(each)) is not None:
            left_out.add(called, reason)
    return SessionSeries(unit, better, metric, np.array(good)) if good else str(unusable(values[0]))
