"""Criterion's results: a directory `target/criterion` with a `sample.json` for each benchmark and baseline.

A sample is a number of iterations (`iters`) with the nanoseconds that they took together (`times`); `benchmark.json`
next to it has the benchmark's name. Criterion documents neither as stable; this is the form of criterion.rs 0.3 to 0.7.
`PATH@NAME` stands for the baseline of that name, PATH by itself for the last run, which Criterion calls "new".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.files.text import read_text
from becalm.report.document import Document
from becalm.report.formats.benchmarks import ParsedBenchmark, Repetition, study_of
from becalm.report.formats.layout import JsonPart, Unlike, refused
from becalm.report.formats.left_out import LeftOutEntries

WHOSE = "Criterion's"

LAST = "new"
"""Criterion's name of the last run."""

STALE = "remove the directory, or run the benchmark again"
"""The advice on a directory left by an older Criterion or a removed benchmark."""

BARREN = 10_000
"""The number of directories in a row without results from which a tree is not Criterion's; a benchmark has 5."""


def recognises(value: Any) -> bool:
    """Return whether a JSON value is a `sample.json`."""
    return isinstance(value, dict) and isinstance(value.get("iters"), list) and isinstance(value.get("times"), list)


def read(value: dict[str, Any], name: str = "benchmark") -> list[Document]:
    """Return one sample as a study."""
    left_out = LeftOutEntries()
    benchmarks = []
    with left_out.entry(name):
        benchmarks.append(ParsedBenchmark(name, _repetitions(name, JsonPart(value), left_out)))
    return study_of(benchmarks, "Criterion", left_out)


def directory(text: str) -> tuple[Path, str] | None:
    """Return the directory and the baseline that a text stands for; None where it is not a directory."""
    if (path := Path(text)).is_dir():
        return path, LAST
    where, at, baseline = text.rpartition("@")
    return (Path(where), baseline) if at and baseline and Path(where).is_dir() else None


def read_directory(path: Path, baseline: str) -> list[Document]:
    """Return all benchmarks of a baseline below a directory as one study. Raises UsageError."""
    left_out = LeftOutEntries()
    # A directory `report` contains pages; that of a group is next to its benchmarks.
    samples = list(_samples(path, left_out))
    files = sorted(sample for sample in samples if sample.parent.name == baseline)
    if not files:
        unreadable = f" Left out: {left_out.reasons()}." if left_out else ""
        raise UsageError(_without(path, baseline, sorted({sample.parent.name for sample in samples})) + unreadable)
    benchmarks = []
    for file in files:
        name = str(file.parent.parent.relative_to(path))
        with left_out.entry(name):
            benchmarks.append(_benchmark(name, file, left_out))
    try:
        return study_of(benchmarks, "Criterion", left_out)
    except ValueError as error:
        raise UsageError(f"{path} {refused(error, WHOSE)}.") from None


def _without(path: Path, baseline: str, others: Sequence[str]) -> str:
    """Return the sentence that a directory has no results of a baseline, with the baselines it has."""
    if others:
        known = f"It has {', '.join(others)}: write {path}@{others[0]}."
        return f"{path} holds no results of Criterion called {baseline!r}. {known}"
    if not any(True for _ in path.iterdir()):
        return f"{path} is an empty directory: there is nothing to read."
    return (
        f"{path} holds neither results of Criterion, which are in files sample.json, nor of asv, whose machines have a "
        "file machine.json. Name the directory target/criterion or .asv/results itself."
    )


def _samples(path: Path, left_out: LeftOutEntries) -> Iterator[Path]:
    """Yield all `sample.json` below a directory. Raises UsageError where it has none, or cannot be read."""

    def failed(error: OSError) -> None:
        # A directory that is gone by now held nothing lasting; one that may not be read could hold results.
        if Path(error.filename or path) == path:
            raise UsageError(f"{path} cannot be read: {error.strerror or error}.")
        if not isinstance(error, FileNotFoundError):
            left_out.add(str(error.filename), f"the directory cannot be read: {error.strerror or error}")

    barren = 0
    for where, below, files in os.walk(path, onerror=failed):
        below.sort()
        barren += 1
        if "sample.json" in files:
            barren = 0
            yield Path(where, "sample.json")
        elif barren > BARREN:
            raise UsageError(
                f"{path} is not a directory of Criterion: {BARREN:,} directories in a row have no results. "
                "Name the directory target/criterion itself."
            )


def _benchmark(name: str, sample: Path, left_out: LeftOutEntries) -> ParsedBenchmark:
    """Return the benchmark of a `sample.json` with its full name. Raises ValueError with advice."""
    values = _json(sample)
    if isinstance(values, list):
        raise ValueError(f"sample.json has the form of before Criterion 0.3.3; {STALE}")
    described = sample.parent / "benchmark.json"
    if not described.exists():
        raise ValueError(f"there is no benchmark.json with its full name; {STALE}")
    about = JsonPart(_json(described), "benchmark.json")
    title = (about.get("full_id") or about["title"]).text()
    return ParsedBenchmark(title, _repetitions(title, JsonPart(values), left_out))


def _json(file: Path) -> Any:
    """Return the JSON value of a file. Raises ValueError where it cannot be read, or is not JSON."""
    try:
        return json.loads(read_text(file, file.name))
    except UsageError as error:
        raise ValueError(str(error).removesuffix(".")) from None
    except (ValueError, RecursionError):
        raise ValueError(f"{file.name} is not whole JSON: it may be half written; {STALE}") from None


def _repetitions(name: str, value: JsonPart, left_out: LeftOutEntries) -> list[Repetition]:
    """Return the time of one iteration in each sample, ns. Raises ValueError for lists of different lengths."""
    iters, times = value["iters"], value["times"]
    if len(iters.list()) != len(times.list()):
        raise Unlike(f"it has {len(iters.list())} iters and {len(times.list())} times")
    repetitions = []
    for iterations, ns in zip(iters, times, strict=True):
        with left_out.entry(name):
            if not iterations.number() > 0:
                raise ValueError("a sample of no iterations")
            repetitions.append(Repetition(ns.number() / iterations.number()))
    return repetitions
