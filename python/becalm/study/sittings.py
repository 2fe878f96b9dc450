"""Sittings for a comparison: studies of the store by number, "last" or title, and files of any readable format.

`sitting` is called by `becalm.verbs.compare_stored`, once for each source that a person names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from becalm.errors import UsageError
from becalm.nouns.metric import Better
from becalm.nouns.run import Run
from becalm.nouns.stored_comparison import Sitting, SittingSeries
from becalm.nouns.workload import Workload
from becalm.report.document import Document, by_program
from becalm.report.formats import criterion, read
from becalm.report.formats.benchmarks import NS
from becalm.store import Store
from becalm.study.stored import Warned, stored


def sitting(source: str | int, store: str | None = None, *, warned: Warned | None = None) -> Sitting:
    """What a source holds. Raises UsageError where it is neither study nor file, or has no program; StoreError."""
    document, title = _document(str(source), store, warned)
    series: dict[str, SittingSeries] = {}
    unusable: dict[str, str] = {}
    for workload, (_, runs) in zip(document.study.workloads, by_program(document), strict=True):
        for name, made in _benchmarks(workload, runs):
            name = _other_name(name, (*series, *unusable))
            if isinstance(made, str):
                unusable[name] = made
            else:
                series[name] = made
    if not series and not unusable:
        raise UsageError(f"{title} holds no program that could be compared.")
    references = document.study.options.get("references") or ()
    return Sitting(title, series, unusable, tuple(name for name in series if name in references))


def _document(source: str, store: str | None, warned: Warned | None) -> tuple[Document, str]:
    """A file where there is one of that name, else a study."""
    if Path(source).exists() or criterion.directory(source) is not None:
        documents = read(Path(source))
        if len(documents) != 1:
            raise UsageError(f"{source} holds {len(documents)} studies; one is needed here.")
        return documents[0], source
    if source.isdigit() or source == "last":
        found = stored(source, store, warned=warned)
        return found, f"study {found.number}"
    with Store.open(store) as opened:
        titled = [each for each in opened.studies(None, facts=False) if each.study.title == source]
    if not titled:
        raise UsageError(
            f"{source!r} is neither a file nor a study: give a number of `becalm list`, last, the title of a study, "
            "or a file of becalm, pyperf, hyperfine, Google Benchmark, pytest-benchmark, Go or Criterion."
        )
    return stored(titled[0].number, store, warned=warned), f"{source} (study {titled[0].number})"


def _benchmarks(workload: Workload, runs: Sequence[Run]) -> list[tuple[str, SittingSeries | str]]:
    """Each number that is measured of a program; why not where it cannot be compared."""
    if not workload.metrics:
        times = [float(run.wall_ns) for run in runs]
        return [(workload.name, _checked(times, "ns", Better.LOWER, "time"))]
    found: list[tuple[str, SittingSeries | str]] = []
    for place, metric in enumerate(workload.metrics):
        values = [run.metrics[place] for run in runs if run.metrics is not None and place < len(run.metrics)]
        scale = NS.get(metric.unit)
        unit = metric.unit if scale is None else "ns"
        name = workload.name if place == 0 else f"{workload.name}, {metric.name}"
        found.append((name, _checked([each * (scale or 1.0) for each in values], unit, metric.better, metric.name)))
    return found


def _checked(values: Sequence[float], unit: str, better: Better, metric: str) -> SittingSeries | str:
    if not values:
        return "it has no good run"
    if not all(math.isfinite(each) and each > 0 for each in values):
        return "it has values of zero or below, which have no ratio"
    return SittingSeries(unit, better, metric, np.array(values))


def _other_name(name: str, known: Sequence[str]) -> str:
    """A name that is not taken: two programs of a study may be called the same."""
    made, number = name, 1
    while made in known:
        number += 1
        made = f"{name} [{number}]"
    return made
