"""Go's benchmark format, as `go test -bench` prints and benchstat reads it: text, a line for each repetition.

`BenchmarkName-8  1000  1234 ns/op  16 B/op  2 allocs/op`: name, iterations, then values with their units; `key: value`
lines stand before (golang.org/design/14313-benchmark-format). What has no such form is left out: output of the tests,
their end. ns/op is the benchmark; each other unit is one of its own, `Name, B/op`, of which values of zero have no
ratio and are left out. More is better where a unit ends in `/s`. Names carry their package where there are several.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from becalm.nouns.metric import Better
from becalm.report.document import Document
from becalm.report.formats.benchmarks import Benchmark, Repetition, study_of
from becalm.workloads.go import without_processors

_LINE = re.compile(r"^(Benchmark\S*)[ \t]+(\d+)((?:[ \t]+[-+0-9.eE]+[ \t]+[^\s\d]\S*)+)[ \t]*\r?$", re.MULTILINE)
_PACKAGE = re.compile(r"^pkg: *(\S+)", re.MULTILINE)

MOST_PROCESSORS = 4096
"""A number up to this one at the end of all names is that of processors."""

TIME = "ns/op"


def recognises(value: Any) -> bool:
    """Whether a text is of this format."""
    return isinstance(value, str) and _LINE.search(value) is not None


def read(value: str) -> list[Document]:
    """The benchmarks as one study. Raises ValueError for a value that is no number, and where none is left or its last
    line is cut."""
    if value.rpartition("\n")[2].startswith("Benchmark"):
        raise ValueError("its last line does not end: it is half written")
    packages = _PACKAGE.findall(value)
    found: dict[tuple[str, str], list[Repetition]] = {}
    for package, text in _parts(value):
        for name, iterations, rest in _LINE.findall(text):
            words = rest.split()
            title = f"{package}.{name}" if len(set(packages)) > 1 else name
            for number, unit in zip(words[::2], words[1::2], strict=True):
                try:
                    amount = float(number)
                except ValueError:
                    amount = math.nan
                if not math.isfinite(amount):
                    raise ValueError(f"{number} {unit} of {name} is no number")
                if amount > 0:
                    repetition = Repetition(amount, amount * int(iterations) / 1e9 if unit == TIME else 0.0)
                    found.setdefault((title, unit), []).append(repetition)
    return study_of(_benchmarks(found), "go test -bench")


def _parts(text: str) -> list[tuple[str, str]]:
    """The text of each package with its name; what stands before the first has none."""
    pieces = _PACKAGE.split(text)
    return [("", pieces[0]), *zip(pieces[1::2], pieces[2::2], strict=True)]


def _benchmarks(found: Mapping[tuple[str, str], Sequence[Repetition]]) -> list[Benchmark]:
    names = list(dict.fromkeys(name for name, _ in found))
    short = dict(zip(names, without_processors(names, MOST_PROCESSORS), strict=True))
    return [
        Benchmark(short[name], values)
        if unit == TIME
        else Benchmark(
            f"{short[name]}, {unit}", values, unit, unit, Better.HIGHER if unit.endswith("/s") else Better.LOWER
        )
        for (name, unit), values in found.items()
    ]
