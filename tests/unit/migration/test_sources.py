"""Particularities of each source of sweet spots; tests/contract/conformance has what all of them promise."""

import gzip
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.count_files import LOG, written

import becalm
from becalm.errors import UsageError
from becalm.migration import simulated, sources, thesis_log


def test_unreadable_files_are_refused_with_the_reason(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        becalm.sweetspots(tmp_path / "nothing")
    with pytest.raises(UsageError, match="cannot be read"):
        becalm.sweetspots(tmp_path)
    with pytest.raises(UsageError, match="counted already"):
        becalm.sweetspots(written(tmp_path, LOG), window="1ms")
    with pytest.raises(UsageError, match="There are no rules 'best'"):
        becalm.sweetspots(written(tmp_path, LOG), rules="best")


def test_unknown_windows_have_no_line():
    window = {"from_ns": 0, "until_ns": 5, "references": 1, "misses": 1, "others_references": 0, "others_misses": 0}
    marks = {"change": False, "evicted": False}
    text = thesis_log.written(3, [{**window, **marks, "known": False}], [], ended=False)
    assert text == "Start tracking task with pid 3\n"


CALLGRIND = """version: 1
creator: callgrind-3.22.0
pid: 7
part: 1

events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
summary: 1000 0 0 1 10 5 1 4 2
totals: 1000 0 0 1 10 5 1 4 2
part: 2
summary: 2000 0 0 2 20 10 2 8 4
totals: 2000 0 0 2 20 10 2 8 4
"""
WINDOWS = [[0, 1000, 16, 7, 0, 0, True], [1000, 3000, 32, 14, 0, 0, True]]


@pytest.mark.parametrize(
    "text",
    [
        CALLGRIND,
        "# callgrind format\n" + CALLGRIND,
        CALLGRIND.removeprefix("version: 1\n"),
        CALLGRIND.replace("\n", "\r\n"),
        CALLGRIND.replace("ILmr DLmr DLmw", "I2mr D2mr D2mw").replace("3.22.0", "3.5.0"),
        "\n".join(line for line in CALLGRIND.splitlines() if not line.startswith("totals")),
    ],
    ids=["today", "marked", "no version", "windows", "old names", "summaries only"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_dumps_of_callgrind_of_every_version_and_encoding(tmp_path, text, encoding):
    (tmp_path / "callgrind.out").write_bytes(text.encode(encoding))
    stream = sources.read(tmp_path / "callgrind.out")
    assert stream.origin == {"counted": {"task": 7, "windows": WINDOWS, "ended": True}}


def test_dumps_without_a_simulated_cache_are_told_by_their_version(tmp_path):
    (tmp_path / "callgrind.out").write_text("version: 1\ncreator: callgrind-3.5.0\nevents: Ir\nsummary: 5\n")
    with pytest.raises(UsageError, match=r"by callgrind-3\.5\.0 without I1mr, .* --simulate-cache=yes"):
        sources.read(tmp_path / "callgrind.out")


@pytest.mark.parametrize(
    ("text", "program", "cpu"),
    [
        ("trace:a", "a", 0),
        ("trace:a@1", "a", 1),
        ("trace:with x@home,v2.trace", "with x@home,v2.trace", 0),
        ("trace:with x@home,v2.trace@12", "with x@home,v2.trace", 12),
        ("trace:a@1@2", "a@1", 2),
    ],
)
def test_only_a_number_at_the_end_of_a_trace_is_its_cpu(text, program, cpu):
    assert simulated.task(text) == {"program": {"trace": {"path": program}}, "cpu": cpu}


@pytest.mark.parametrize(
    "data", [b"PERFILE2" + bytes(300), b'{"results": [{"command": "a", "times": [1]}]}', b"\x7fELF"]
)
def test_files_that_are_no_trace_are_named(tmp_path, data):
    (tmp_path / "t").write_bytes(data)
    with (
        ExitStack() as files,
        pytest.raises(UsageError, match=r"t is (perf\.data|a file of results of hyperfine|a program)"),
    ):
        simulated.task(f"trace:{tmp_path / 't'}", files)


def packed(text: str) -> bytes:
    """Return gzip's form of a text."""
    return gzip.compress(text.encode(), mtime=0)


@pytest.mark.parametrize("pack", [lambda text: text.encode("utf-16"), packed])
def test_traces_in_other_encodings_are_read_from_a_plain_copy(tmp_path, pack):
    (tmp_path / "t").write_bytes(pack(" L 10,4\n"))
    with ExitStack() as files:
        path = simulated.task(f"trace:{tmp_path / 't'}", files)["program"]["trace"]["path"]
        assert Path(path).read_text() == " L 10,4\n"
    assert not Path(path).exists()


@pytest.mark.parametrize(("size", "ways"), [("384K", 12), ("6M", 12), ("64K", 16), (64, 1)])
def test_a_simulated_cache_has_ways_that_divide_it(size, ways):
    assert simulated.cache_of(size)["ways"] == ways


def test_a_cache_that_has_no_whole_lines_is_refused():
    with pytest.raises(UsageError, match="not a multiple"):
        simulated.cache_of(100)


def test_too_few_windows_are_refused_with_how_many_are_needed(monkeypatch, tmp_path):
    (tmp_path / "r.json").write_text('{"records": [], "events": "x"}')
    content = {"counted": [1, 0], "question": {}, "programs": []}
    monkeypatch.setattr("becalm.verbs.sweetspots.ask", lambda *_: content)
    with pytest.raises(UsageError, match=r"holds 1 window of counts, .* at least 2 are needed"):
        becalm.sweetspots(tmp_path / "r.json")
