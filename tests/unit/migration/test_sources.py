"""What is particular to each source of sweet spots; tests/contract/conformance has what all of them promise."""

import pytest

import becalm
from becalm.errors import UsageError
from becalm.migration import thesis_log

LOG = """Start tracking task with pid 77
5000000 signal1
5000000 p1 5000000 10 1000
5000000 p2 5000000 0 0
10000000 p1 5000000 900 1000
10000000 p2 5000000 400 500
10000000 p3 sweetspot1
10000000 p4 sweetspot2
15000000 p1 5000000 20 1000
15000000 p2 5000000 0 0
Finish tracking task with pid 77
"""
DUMP = """# callgrind format
version: 1
pid: 9
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
totals: 1000 9 9 100 100 50 1 2 3
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
totals: 2000 9 9 300 200 0 200 100
"""


def written(folder, text):
    path = folder / "file"
    path.write_text(text)
    return path


def test_a_log_is_read_as_it_stands_and_written_as_it_was_read(tmp_path):
    found = becalm.sweetspots(written(tmp_path, LOG), rules="published")
    assert sorted((each["kind"], each["time_ns"]) for each in found.spots) == [(1, 10_000_000), (2, 10_000_000)]
    assert found.to_log() == LOG
    assert found.sentence.startswith("2 sweet spots in 3 windows of 1 program")


def test_instructions_are_the_time_of_callgrind(tmp_path):
    found = becalm.sweetspots(written(tmp_path, DUMP))
    assert found.unit == "instructions"
    rows = [(each["from_ns"], each["until_ns"], each["references"], each["misses"]) for each in found.windows()]
    assert rows == [(0, 1000, 250, 6), (1000, 3000, 500, 300)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "is none of: the thesis's log;"),
        ("{", "is no JSON"),
        ('{"a":' + "[" * 100_000, "is no JSON"),
        ('{"records": 3}', "no list of records"),
        ('{"records": [{"time_ns": -1}]}', "is no request"),
        ("Start tracking task with pid 3\n", "no windows"),
        ("Start tracking task with pid 3\n5 p1 5 9 3\n", "Line 2"),
        (LOG + LOG, "second beginning in line 12"),
        (DUMP.replace(" D1mw", ""), "has no D1mw"),
        (DUMP[:120], "Make more"),
    ],
)
def test_what_is_none_of_them_is_said(tmp_path, text, words):
    with pytest.raises(UsageError) as raised:
        becalm.sweetspots(written(tmp_path, text))
    assert words in str(raised.value)


def test_what_cannot_be_read_is_said(tmp_path):
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
