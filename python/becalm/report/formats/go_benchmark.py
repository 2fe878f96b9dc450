"""Go's benchmark format, as `go test -bench` prints and benchstat reads it: text, a line for each repetition.

`BenchmarkName-8  1000  1234 ns/op  16 B/op  2 allocs/op`: name, iterations, then values with their units; `key: value`
lines precede them (golang.org/design/14313-benchmark-format). Other output of tests is skipped. ns/op is the benchmark;
each other unit is a benchmark of its own, `Name, B/op`. More is better where a unit ends in `/s`, or where a line like
`Unit hits/op better=higher` states it. A value that is not a number above zero is left out; others of its line stay.
A benchmark's package, and the number of processors that Go appends to its name, are its parameters, and so are
processor, system, commit and branch from preceding lines, where they differ within the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from becalm.nouns.metric import Better
from becalm.report.document import Document
from becalm.report.formats.benchmarks import ITERATION, Parameters, ParsedBenchmark, Repetition, study_of
from becalm.report.formats.left_out import NO_RATIO, LeftOutEntries
from becalm.report.formats.origin import Dates, FileOrigin
from becalm.report.revision import Revision, revision
from becalm.workloads.go import PROCESSORS, without_processors

_NAME = r"Benchmark(?![a-z])\S*"

_ENTRY = re.compile(rf"^({_NAME})[ \t]+(\S[^\n]*)", re.MULTILINE)

_VALUE = r"[-+]?(?:[\d.,]+(?:[eE][-+]?\d+)?|Inf|NaN)"

_RESULT = re.compile(rf"^{_NAME}[ \t]+\d+[ \t]+{_VALUE}[ \t]+(?![\d.]+\s)\S*[^\s\d.]", re.MULTILINE)

_ENDED = re.compile(rf"^[ \t]*--- (FAIL|SKIP): ({_NAME})", re.MULTILINE)

_SETTING = re.compile(r"^(pkg|goos|goarch|cpu|toolchain|commit-time|commit|branch): *([^\n]*\S)", re.MULTILINE)
"""Lines that describe where all benchmarks below them ran, and of which code."""

_UNIT = re.compile(r"^Unit[ \t]+(\S+)[ \t]+(?:\S+=\S+[ \t]+)*better=(higher|lower)", re.MULTILINE)

MOST_PROCESSORS = 4096
"""The largest number that counts as a number of processors at the end of all names."""

TIME = "ns/op"

USUAL = (TIME, "MB/s", "B/op", "allocs/op")
"""The units that Go itself writes."""

GOMAXPROCS = "GOMAXPROCS"
"""The parameter of a benchmark with the number of processors that it ran on."""

_Values = dict[tuple[Parameters, str, str], list[Repetition]]
"""Values by the description of their section, their name and unit."""


def recognises(value: object) -> bool:
    """Return whether a text is of this format."""
    return isinstance(value, str) and _RESULT.search(value) is not None


def read(value: str) -> list[Document]:
    """Return the benchmarks as one study. Raises ValueError where none has a value."""
    left_out = LeftOutEntries()
    values: _Values = {}
    last = value.rpartition("\n")[2]
    for about, text in _sections(value):
        for match in _ENTRY.finditer(text):
            cut = match.end() == len(text) and match[0] == last
            _line(about, match[1], match[2], values, left_out, cut=cut)
        for how, name in _ENDED.findall(text):
            left_out.add(name, "it failed" if how == "FAIL" else "it was skipped")
    values = _joined(values)
    better = {unit: Better(word) for unit, word in _UNIT.findall(value)}
    return study_of(_benchmarks(values, better), "go test -bench", left_out, FileOrigin(revision=_revision(value)))


def _revision(text: str) -> Revision:
    """Return the commit of all benchmarks, from the lines `commit:`, `commit-time:` and `branch:`."""
    settings: dict[str, set[str]] = {}
    for name, setting in _SETTING.findall(text):
        settings.setdefault(name, set()).add(setting)
    only = {name: next(iter(values)) for name, values in settings.items() if len(values) == 1}
    return revision(only.get("commit"), Dates().ns(only.get("commit-time")), only.get("branch"))


def _line(about: Parameters, name: str, rest: str, values: _Values, left_out: LeftOutEntries, *, cut: bool) -> None:
    """Add the values of one line: the number of iterations, then pairs of value and unit."""
    iterations, *words = rest.split()
    if not iterations.isdecimal():
        left_out.add(name, "its line holds other text than the number of iterations")
        return
    if not words:
        left_out.add(name, "its line ends before a value")
    for number, unit in zip(words[::2], words[1::2], strict=False):
        entry = name if unit == TIME else f"{name}, {unit}"
        if cut and unit == words[-1] and unit not in USUAL:
            left_out.add(entry, "its line does not end: it may be half written")
            continue
        amount = _number(number)
        if amount is None or not math.isfinite(amount):
            left_out.add(entry, f"{number:.40} is not a finite number")
        elif amount <= 0:
            left_out.add(entry, NO_RATIO)
        else:
            values.setdefault((about, name, unit), []).append(Repetition(amount))
    if len(words) % 2:
        left_out.add(name, f"{words[-1]:.40} at the end of its line has no unit" + (": it is half written" * cut))


def _number(text: str) -> float | None:
    """Return a number; None for other text, such as a number with separators of thousands."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _sections(text: str) -> Iterator[tuple[Parameters, str]]:
    """Yield pieces of the text with the description that precedes them: package, system, processor, commit."""
    first, *pieces = _SETTING.split(text)
    about: dict[str, str] = {}
    yield (), first
    for name, value, piece in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        about["package" if name == "pkg" else name] = value
        yield tuple(sorted(about.items())), piece


def _joined(values: _Values) -> _Values:
    """Return values with descriptions reduced to what tells benchmarks apart."""
    telling = _telling(values)
    joined: _Values = {}
    for (about, name, unit), repetitions in values.items():
        distinct = tuple(pair for pair in about if pair[0] in telling)
        joined.setdefault((distinct, name, unit), []).extend(repetitions)
    return joined


def _telling(values: _Values) -> set[str]:
    """Return the parts of descriptions that tell benchmarks apart: the package, and parts that differ in the file."""
    known = [dict(about) for about, _, _ in values]
    names = {name for about in known for name in about}
    return {name for name in names if name == "package" or len({about.get(name) for about in known}) > 1}


def _benchmarks(values: _Values, better: Mapping[str, Better]) -> list[ParsedBenchmark]:
    """Return a benchmark for each unit of a name, with package and processors as parameters."""
    names = list(dict.fromkeys(name for _, name, _ in values))
    short = dict(zip(names, without_processors(names, MOST_PROCESSORS), strict=True))
    benchmarks = []
    for (about, name, unit), repetitions in values.items():
        parameters = list(about)
        if short[name] != name and (match := PROCESSORS.search(name)):
            parameters.append((GOMAXPROCS, match[0][1:]))
        # For ns/op the name is enough; Go prints it first.
        title = short[name] if unit == TIME else f"{short[name]}, {unit}"
        value_unit, metric = ("ns", ITERATION) if unit == TIME else (unit, unit)
        usual = Better.HIGHER if unit.endswith("/s") else Better.LOWER
        way = better.get(unit, usual)
        benchmarks.append(ParsedBenchmark(title, repetitions, value_unit, metric, way, tuple(sorted(parameters))))
    return benchmarks
