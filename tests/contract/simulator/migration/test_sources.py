"""Particularities of each source of sweet spots, by the real detector."""

import json

import pytest
from tests.support.count_files import DUMP, LOG, written

import becalm
from becalm.errors import UsageError


def test_a_log_is_read_as_it_stands_and_written_as_it_was_read(tmp_path):
    spotted = becalm.sweetspots(written(tmp_path, LOG), rules="published")
    assert sorted((spot["kind"], spot["time_ns"]) for spot in spotted.spots) == [(1, 10_000_000), (2, 10_000_000)]
    assert spotted.to_log() == LOG
    assert spotted.sentence.startswith("2 sweet spots in 3 windows of 1 program")


def test_instructions_are_the_time_of_callgrind(tmp_path):
    spotted = becalm.sweetspots(written(tmp_path, DUMP))
    assert spotted.unit == "instructions"
    rows = [
        (window["from_ns"], window["until_ns"], window["references"], window["misses"]) for window in spotted.windows()
    ]
    assert rows == [(0, 1000, 250, 6), (1000, 3000, 500, 300)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "Sweet spots are detected in: the thesis's log;"),
        ("{", "is not JSON"),
        ('{"a":' + "[" * 100_000, "is not JSON"),
        ('{"records": 3}', "no list of records"),
        ('{"records": [{"time_ns": -1}]}', "is not a request"),
        ("Start tracking task with pid 3\n", "no windows"),
        ("Start tracking task with pid 3\n5 p1 5 9 3\n", "Line 2"),
        (LOG + LOG, "start of a second program in line 12"),
        (DUMP.replace(" D1mw", ""), "without D1mw"),
        (DUMP[:120], "Make more"),
    ],
)
def test_a_file_of_no_known_source_is_refused(tmp_path, text, words):
    with pytest.raises(UsageError) as raised:
        becalm.sweetspots(written(tmp_path, text))
    assert words in str(raised.value)


def test_a_record_of_one_program_is_read_as_one_of_it(tmp_path):
    path = tmp_path / "records.json"
    becalm.simulate_sweetspots(["phases:512K,200,3@0", "phases:512K,200,3@1"], save=path, llc="1536K", window="1ms")
    both = becalm.sweetspots(path, window="1ms").detection["programs"]
    assert len(both) == 2
    saved = json.loads(path.read_text())
    path.write_text(json.dumps({**saved, "looked_at": {"tasks": [both[1]["task"]], "llc": [[0, 1]]}}))
    content = becalm.sweetspots(path, window="1ms").detection
    assert [program["task"] for program in content["programs"]] == [both[1]["task"]]
    assert content["question"]["llc"] == [[0, 1]]
    named = becalm.sweetspots(path, window="1ms", pid=both[0]["task"]).detection["programs"]
    assert [name["task"] for name in named] == [both[0]["task"]], "who names a process gets that one"
    for wrong in ({"tasks": 7}, {"llc": [0]}, {"window_ns": []}, []):
        path.write_text(json.dumps({**saved, "looked_at": wrong}))
        with pytest.raises(UsageError, match="looked_at must have lists of numbers"):
            becalm.sweetspots(path, window="1ms")
