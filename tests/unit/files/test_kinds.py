"""The kind of a refused file, and the next step."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from becalm.errors import UsageError
from becalm.files.kinds import describe
from becalm.files.tables import read_toml
from becalm.migration import sources
from becalm.report import formats

SYSSTAT = {"nodename": "bench", "statistics": [{"avg-cpu": {"user": 1.0}, "disk": []}]}


def packed(data: bytes) -> bytes:
    """Return gzip's form of `data`, which is the same at any time."""
    return gzip.compress(data, mtime=0)


FILES: dict[str, tuple[bytes, str]] = {
    "perf.data": (b"PERFILE2" + bytes(200), r"perf\.data of perf record.* becalm sweetspots --from f"),
    "other order": (b"2ELIFREP" + bytes(200), "other byte order"),
    "perf.data.gz": (packed(b"PERFILE2" + bytes(200)), r"perf\.data of perf record, compressed. Unpack it"),
    "regions": (b"\x89BRG\r\n\x1a\n" + bytes(50), "timed regions.* becalm import f"),
    "store": (b"SQLite format 3\0" + bytes(50), "SQLite database.* --store f"),
    "sa": (b"\x96\xd5" + bytes(50), "sysstat's binary record.*sadf -j f"),
    "program": (b"\x7fELF" + bytes(50), "a program or a library"),
    "workbook": (b"PK\x03\x04" + bytes(50), "ZIP archive or a workbook"),
    "iostat": (json.dumps({"sysstat": {"hosts": [SYSSTAT]}}).encode("utf-16"), "an iostat report.*sadf -j"),
    "sadf -d": (b"# hostname;interval;timestamp;CPU;%user\n", "output of `sadf -d`"),
    "sar": (b"Linux 6.1.0 (bench) \t11/28/26 \t_x86_64_\t(4 CPU)\n", "a report by sar"),
    "cargo": (b'{"reason":"benchmark-complete","id":"a"}\n{"reason":"group-complete"}\n', "cargo-criterion's"),
    "go json": (b'{"Action":"start","Package":"a"}\n{"Action":"output","Package":"a"}\n', "`go test -json` output"),
    "go": (b"goos: linux\nBenchmarkA-8  10  5 ns/op\nPASS\n", "results of `go test -bench`.* becalm import f"),
    "go without": (b"PASS\nok  \texample.org\t1s\n", "without results of benchmarks"),
    "jmh": (b'[{"jmhVersion": "1.37", "benchmark": "a"}]', 'results of JMH.*{"results":'),
    "hyperfine": (packed(b'{"results": [{"command": "a", "times": [1]}]}'), "hyperfine.* becalm import f"),
    "hyperfine CSV": (b"command,mean,stddev,median,user,system,min,max\n", "no times of single runs.*--export-json"),
    "pyperf": (b'{"benchmarks": [], "version": "1.0"}', "results of pyperf"),
    "google": (b'{"context": {}, "benchmarks": []}', "results of Google Benchmark"),
    "callgrind": (b"version: 1\ncreator: callgrind-3.11.0\npid: 1\n", "profile by callgrind"),
    "lackey": (b"==1== x\n L 10,4\n", "lackey.*simulate trace:f"),
    "suite": (b'[[program]]\ncommand = "true"\n', "a suite.*becalm suite f"),
    "study": (b'{"becalm": "1", "kind": "study"}', "study exported by becalm"),
    "costs": (b'{"kind": "co-run-costs"}', "becalm place f"),
    "page": (b"<!DOCTYPE html><html>", "a web page. OTHERWISE"),
    "empty": (b" \n", "is empty. OTHERWISE"),
    "words": (b"hello", "no kind that becalm knows. OTHERWISE"),
}


@pytest.mark.parametrize(("data", "sentence"), FILES.values(), ids=FILES)
def test_files_are_named_with_the_next_step(data: bytes, sentence: str) -> None:
    description = describe(data, "f", "OTHERWISE")
    assert re.search(sentence, description), description


REFUSED = {
    formats.read: ("perf.data", "iostat", "sadf -d", "cargo", "go json", "lackey", "program", "words"),
    sources.read: ("iostat", "hyperfine", "go", "lackey", "workbook", "empty", "words"),
}


@pytest.mark.parametrize(("read", "name"), [(read, name) for read, names in REFUSED.items() for name in names])
def test_import_and_sweetspots_name_what_they_refuse(tmp_path: Path, read: Callable[[Path], object], name: str) -> None:
    file = tmp_path / "f"
    file.write_bytes(FILES[name][0])
    with pytest.raises(UsageError) as error:
        read(file)
    assert "Error" not in str(error.value)
    assert str(error.value).startswith(str(file))


@pytest.mark.parametrize("name", ["go", "hyperfine", "jmh"])
def test_readers_of_toml_and_json_name_what_they_refuse(tmp_path: Path, name: str) -> None:
    file = tmp_path / "f"
    file.write_bytes(FILES[name][0])
    with pytest.raises(UsageError, match=r"f is a file of results of"):
        read_toml(file)


def test_broken_toml_of_a_known_kind_is_told_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("[settings]\nnice = 1\nnice = 2\n")
    with pytest.raises(UsageError, match=r"f is not TOML: .*line 3"):
        read_toml(tmp_path / "f")
