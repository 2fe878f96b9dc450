"""Formats of files that a reader of becalm refuses: a table, each with the next step.

A row is recognised by the file's first bytes, its text, or its JSON value. `describe` returns the sentences.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from becalm.files.text import PACKED, NotTextError, decompress, text_of

IMPORT = "Read it with: becalm import {path}"
SWEETSPOTS = "Sweet spots are found in it with: becalm sweetspots --from {path}"
LOAD = "It gives the runs of a study their load: becalm import --study NUMBER {path}"
SADF = "becalm needs sysstat's record as JSON: LC_ALL=C sadf -j FILE -- -A > sa.json"


class Kind(msgspec.Struct, frozen=True):
    """A kind of file: a noun phrase, and the next step as a sentence, where {path} is the file; empty for none."""

    words: str
    advice: str = ""


BYTES: tuple[tuple[bytes, Kind], ...] = (
    (b"PERFILE2", Kind("perf.data of perf record", SWEETSPOTS)),
    (b"2ELIFREP", Kind("perf.data of a machine of the other byte order", "Record it on a machine like this one.")),
    (b"\x89BRG\r\n\x1a\n", Kind("a file of timed regions", IMPORT)),
    (b"SQLite format 3\0", Kind("an SQLite database", "Give a store of becalm as --store {path}.")),
    (b"\x96\xd5", Kind("sysstat's binary record", SADF.replace("FILE", "{path}"))),
    (b"\xd5\x96", Kind("sysstat's binary record", SADF.replace("FILE", "{path}"))),
    (b"\x7fELF", Kind("a program or a library", "Measure it with: becalm run -- {path}")),
    (b"#!", Kind("a script", "Measure it with: becalm run -- {path}")),
    (b"\x17\x08\x44tracing", Kind("a trace of trace-cmd (trace.dat)")),
    (b"PAR1", Kind("a Parquet file")),
    (b"%PDF", Kind("a PDF document")),
    (b"\x89PNG", Kind("a picture")),
    (b"FLR\0", Kind("a recording of Java Flight Recorder")),
    (b"PK\x03\x04", Kind("a ZIP archive or a workbook", "Unpack it, or save the sheet as CSV.")),
)
"""The kinds that begin with certain bytes."""

Test = Callable[[Any], bool]


def _has(*names: str) -> Test:
    """Return a test whether a JSON value is an object with these members."""
    return lambda value: isinstance(value, dict) and all(name in value for name in names)


def _rows(*names: str) -> Test:
    """Return a test whether a JSON value is a list of such objects."""
    return lambda value: isinstance(value, list) and bool(value) and _has(*names)(value[0])


def _becalm(*kinds: str) -> Test:
    return lambda value: isinstance(value, dict) and value.get("kind") in kinds


def _sysstat(part: str) -> Test:
    """Return a test whether the hosts of a report by sysstat have a part in their statistics."""

    def test(value: Any) -> bool:
        try:
            return any(part in row for host in value["sysstat"]["hosts"] for row in host["statistics"])
        except (KeyError, TypeError):
            return False

    return test


JMH = 'Convert it, for example to hyperfine\'s JSON: {{"results": [{{"command": NAME, "times": [SECONDS]}}]}}'

LACKEY = Kind("a trace of valgrind's lackey", "Simulate its cache with: becalm sweetspots simulate trace:{path}")

REASONS = {"benchmark-complete", "group-complete", "compiler-artifact", "compiler-message", "build-script-executed"}
"""The reasons of messages of Cargo and cargo-criterion."""

VALUES: tuple[tuple[Test, Kind], ...] = (
    (_becalm("study"), Kind("a study exported by becalm", IMPORT)),
    (_becalm("co-run-costs"), Kind("a file of co-run costs", "Place programs by it with: becalm place {path}")),
    (_becalm("co_run_profile"), Kind("a profile of programs", "Place programs by it with: becalm place {path}")),
    (_becalm("clock"), Kind("an evaluation of timers", "Show it with: becalm clock --stored {path}")),
    (
        lambda value: _has("becalm", "kind")(value),
        Kind("a report by becalm (--json)", "A study is stored and read back with: becalm export NUMBER --to FILE"),
    ),
    (_has("records", "events"), Kind("records of `becalm sweetspots --save`", SWEETSPOTS)),
    (_sysstat("avg-cpu"), Kind("an iostat report", f"It lacks time stamps that can be placed. {SADF}")),
    (_sysstat("cpu-load"), Kind("a sysstat record", LOAD)),
    (_sysstat("timestamp"), Kind("a sysstat record", LOAD)),
    (_has("sysstat"), Kind("a report by one of sysstat's tools, without the records of sar", SADF)),
    (
        lambda value: isinstance(value, dict) and value.get("reason") in REASONS,
        Kind("cargo-criterion's or Cargo's own format", "becalm reads the directory: becalm import target/criterion"),
    ),
    (
        _has("Action", "Package"),
        Kind(
            "`go test -json` output",
            "becalm reads the plain text: jq -j 'select(.Output).Output' {path} > FILE",
        ),
    ),
    (_rows("jmhVersion"), Kind("a file of results of JMH", JMH)),
    (_has("HostEnvironmentInfo"), Kind("a file of results of BenchmarkDotNet", JMH)),
    (_has("results", "version"), Kind("a file of results of asv", "Name the directory: becalm import .asv/results")),
    (_has("iters", "times"), Kind("a sample of Criterion", IMPORT)),
    (
        _has("mean", "median", "std_dev"),
        Kind(
            "Criterion's estimates, without the samples", "becalm reads the directory: becalm import target/criterion"
        ),
    ),
    (
        _has("group_id", "directory_name"),
        Kind(
            "Criterion's description of a benchmark, without the samples",
            "becalm reads the directory: becalm import target/criterion",
        ),
    ),
    (
        lambda value: _has("results")(value) and _rows("command", "times")(value["results"]),
        Kind("a file of results of hyperfine", IMPORT),
    ),
    (_has("context", "benchmarks"), Kind("a file of results of Google Benchmark", IMPORT)),
    (_has("machine_info", "benchmarks"), Kind("a file of results of pytest-benchmark", IMPORT)),
    (_has("benchmarks", "version"), Kind("a file of results of pyperf", IMPORT)),
    (_has("linux-perf-json-version"), Kind("perf.data converted to JSON", "Give perf.data itself, which perf wrote.")),
    (_has("traceEvents"), Kind("a trace for Chrome or Perfetto")),
    (_has("cells", "nbformat"), Kind("a notebook")),
)
"""The kinds that are JSON, the first one that fits; of JSON lines, the first line is tested."""

TOML: tuple[tuple[str, Kind], ...] = (
    (r"(?s).{0,4000}^\[\[program\]\]", Kind("a suite", "Rate its programs with: becalm suite {path}")),
    (r"(?s).{0,4000}^\[settings\]", Kind("a profile of settings", "Apply it with: becalm apply {path}")),
    (r"(?s).{0,4000}^\[\[(task|measured)\]\]", Kind("a file of state machines",
     "Simulate it with: becalm simulate -- {path}")),
)  # fmt: skip
"""The kinds that are TOML."""

TEXTS: tuple[tuple[str, Kind], ...] = (
    (r"# hostname;interval;timestamp", Kind("the output of `sadf -d`", SADF)),
    (r"\S+\t-?\d+\t\d{9,}\t", Kind("the output of `sadf -p`", SADF)),
    (r"Linux \S+ \(\S+\)\s+\S+\s+_\w+_\s+\(\d+ CPU\)", Kind("a report by sar, iostat, mpstat or pidstat", SADF)),
    (r"\s*\{\s*\"sysstat\"", Kind("a sysstat record that is not valid JSON",
     "An old version of sadf, or one in a locale with decimal commas, wrote it. Write it with sysstat 12 or newer: "
     "LC_ALL=C sadf -j FILE -- -A > sa.json")),
    (r"# callgrind format|version: 1\s+creator: callgrind", Kind("a profile by callgrind", SWEETSPOTS)),
    (r"desc: I1 cache|version: 1\s+creator: cachegrind|desc:\s+.*\ncmd: .*\n(time_unit|events)", Kind(
     "a profile by cachegrind or massif", "Sweet spots need dumps of callgrind: becalm sweetspots --help")),
    (r"(==\d+== .*\n)*( [LSM]|I ) [0-9a-fA-F]+,\d+$", LACKEY),
    (r"\ttime:\s|# tracer: ", Kind("a trace of ftrace")),
    (r"(?s).{0,400}Performance counter stats for", Kind("the output of perf stat")),
    (r"command,mean,stddev,median,user,system,min,max", Kind("hyperfine's CSV, which has no times of single runs",
     "Have hyperfine write: --export-json FILE")),
    (r"\| Command \| Mean", Kind("hyperfine's table, which has no times of single runs",
     "Have hyperfine write: --export-json FILE")),
    (r"(?s).{0,4000}name,iterations,real_time,cpu_time", Kind("Google Benchmark's CSV",
     "Have it write JSON: --benchmark_out=FILE --benchmark_repetitions=10")),
    (r"(?s).{0,4000}Benchmark\s+Time\s+CPU\s+Iterations", Kind("what Google Benchmark prints",
     "Have it write JSON: --benchmark_out=FILE --benchmark_repetitions=10")),
    (r"(?s).{0,2000}^test \S+ +\.\.\. bench:", Kind("the output of `cargo bench` with libtest",
     "It has no single measurements. becalm measures the program: becalm run cargo-bench:.")),
    (r"(?s).{0,4000}time:   \[[\d.]+ ", Kind("what Criterion prints",
     "becalm reads the directory: becalm import target/criterion")),
    (r"(?s).{0,4000}^Benchmark\s+.*Mode\s+Cnt\s+Score", Kind("what JMH prints", f"Have it write -rf json. {JMH}")),
    (r"(?s).{0,4000}(old|new) time/op|.{0,4000}│\s+sec/op", Kind("the output of benchstat",
     "Give what `go test -bench` printed.")),
    (r"(?s).{0,20000}^Benchmark\S+[ \t]+\d+[ \t]+[\d.]+ \S+", Kind("a file of results of `go test -bench`", IMPORT)),
    (r"(?s)goos: |PASS$|ok  \t|--- (FAIL|SKIP|BENCH)", Kind("the output of `go test` without results of benchmarks",
     "Measure with: go test -bench . -count 10 | tee FILE")),
    (r"study,(?s:.{0,80})(wall_ns|round)", Kind("a study exported by becalm as CSV",
     "CSV is not read back. Export it with: becalm export NUMBER --to FILE.json")),
    (r"\s*<(!DOCTYPE html|html)", Kind("a web page")),
    (r"\s*<\?xml", Kind("an XML document")),
    *TOML,
)  # fmt: skip
"""The kinds that are other text, by a pattern that matches at its beginning."""


def kind_of(data: bytes) -> Kind | None:
    """Return the kind of a file with these bytes; None if the tables have no such kind."""
    with contextlib.suppress(NotTextError):
        data = decompress(data)
    result = next((kind for begin, kind in BYTES if data.startswith(begin)), None)
    if result is not None:
        return result
    try:
        text = text_of(data, legacy=True)
    except NotTextError:
        return None
    for value in _values(text):
        for test, kind in VALUES:
            if test(value):
                return kind
    return next((kind for pattern, kind in TEXTS if re.match(pattern, text, re.MULTILINE)), None)


def _values(text: str) -> Sequence[Any]:
    """Return the JSON value of a text, or those of its first lines."""
    if text.lstrip()[:1] not in ("{", "["):
        return ()
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        pass
    values = []
    for line in text.lstrip().split("\n", 3)[:3]:
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            break
    return values


def describe(data: bytes, path: str, otherwise: str, unknown: str = "is of no kind that becalm knows") -> str:
    """Return a sentence about the kind of a file and one about the next step, by default `otherwise`."""
    if not data.strip():
        return f"{path} is empty. {otherwise}"
    kind = kind_of(data)
    if kind is None:
        return f"{path} {unknown}. {otherwise}"
    packed = any(data.startswith(mark) for mark, _, unpack in PACKED if unpack is not None)
    if packed and any(kind is binary_kind for _, binary_kind in BYTES):
        return f"{path} is {kind.words}, compressed. Unpack it first."
    return f"{path} is {kind.words}. {kind.advice.format(path=shlex.quote(path)) or otherwise}"
