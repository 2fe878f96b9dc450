"""Criterion's results: a directory `target/criterion` with a `sample.json` for each benchmark and baseline.

Each sample is so many iterations (`iters`) and the nanoseconds that they took together (`times`); `benchmark.json`
beside it has the benchmark's name. Criterion documents neither as stable; this is the form of criterion.rs 0.3 to 0.7.
`PATH@NAME` stands for the baseline of that name, without it for the last run, which Criterion calls "new".
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
from becalm.report.formats.benchmarks import Benchmark, Repetition, study_of
from becalm.report.formats.layout import Part, refused

WHOSE = "Criterion's"

LAST = "new"
"""Criterion's name of the last run."""

BARREN = 10_000
"""So many directories in a row without any result are not Criterion's; a benchmark has about five."""


def recognises(value: Any) -> bool:
    """Whether a JSON value is one `sample.json`."""
    return isinstance(value, dict) and isinstance(value.get("iters"), list) and isinstance(value.get("times"), list)


def read(value: dict[str, Any], name: str = "benchmark") -> list[Document]:
    """One sample as a study."""
    return study_of([Benchmark(name, _repetitions(Part(value)))], "Criterion")


def directory(text: str) -> tuple[Path, str] | None:
    """The directory and baseline that a text stands for; None when it is no directory."""
    if (path := Path(text)).is_dir():
        return path, LAST
    where, at, baseline = text.rpartition("@")
    return (Path(where), baseline) if at and baseline and Path(where).is_dir() else None


def read_directory(path: Path, baseline: str) -> list[Document]:
    """All benchmarks of a baseline below a directory as one study. Raises UsageError."""
    # A directory `report` holds pages; of a group it is beside its benchmarks.
    samples = list(_samples(path))
    files = sorted(each for each in samples if each.parent.name == baseline)
    if not files:
        raise UsageError(_without(path, baseline, sorted({each.parent.name for each in samples})))
    found = []
    for each in files:
        try:
            values = _repetitions(Part(json.loads(read_text(each))))
            found.append(Benchmark(_name(each), values))
        except OSError as error:
            raise UsageError(f"{error.filename or each} cannot be read: {error.strerror or error}.") from None
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{each} {refused(error, WHOSE)}.") from None
    try:
        return study_of(found, "Criterion")
    except ValueError as error:
        raise UsageError(f"{path} {refused(error, WHOSE)}.") from None


def _without(path: Path, baseline: str, others: Sequence[str]) -> str:
    """That a directory has no results of a baseline, and which it has."""
    if others:
        known = f"It has {', '.join(others)}: write {path}@{others[0]}."
        return f"{path} holds no results of Criterion called {baseline!r}. {known}"
    if not any(True for _ in path.iterdir()):
        return f"{path} is an empty directory: there is nothing to read."
    return (
        f"{path} holds neither results of Criterion, which are in files sample.json, nor of asv, whose machines have a "
        "file machine.json. Name the directory target/criterion or .asv/results itself."
    )


def _samples(path: Path) -> Iterator[Path]:
    """All `sample.json` below a directory. Raises UsageError where one cannot be looked into, or it is no such tree."""

    def failed(error: OSError) -> None:
        # What is gone by now held nothing that stays; what may not be read could hold results, which would be left out.
        if not isinstance(error, FileNotFoundError):
            raise UsageError(
                f"{error.filename} cannot be read ({error.strerror}): results of Criterion below {path} would be left "
                "out. Name the directory target/criterion itself."
            )

    barren = 0
    for where, below, files in os.walk(path, onerror=failed):
        below.sort()
        barren += 1
        if "sample.json" in files:
            barren = 0
            yield Path(where, "sample.json")
        elif barren > BARREN:
            raise UsageError(
                f"{path} is no directory of Criterion's: {BARREN:,} directories in a row have no results. "
                "Name the directory target/criterion itself."
            )


def _name(sample: Path) -> str:
    described = Part(json.loads(read_text(sample.parent / "benchmark.json")), "benchmark.json")
    return (described.get("full_id") or described["title"]).text()


def _repetitions(value: Part) -> list[Repetition]:
    iters, times = ([each.number() for each in value[name]] for name in ("iters", "times"))
    if len(iters) != len(times):
        raise ValueError(f"it has {len(iters)} iters and {len(times)} times")
    if not all(iterations > 0 for iterations in iters):
        raise ValueError("a sample of no iterations")
    return [Repetition(ns / iterations, ns / 1e9) for iterations, ns in zip(iters, times, strict=True)]
