"""Every source of sweet spots: a stream that the detector takes, its events named, and nothing made up."""

import json

import pytest
from tests.places import ROOT
from tests.support.count_files import DUMP, LOG

import becalm
from becalm.errors import UsageError
from becalm.migration import sources
from becalm.report import forms

PERF = ROOT / "crates/becalm-core/tests/vectors/faults.perf.data"


def record(at_ms, what, references, misses):
    return {"time_ns": at_ms * 1_000_000, "cpu": 0, "what": what, "references": references, "misses": misses}


def switch(out, to):
    return {"switch": {"out": out, "to": to, "preempted": False}}


STEPS = [
    record(0, switch(0, 5), 0, 0),
    record(6, "tick", 1000, 10),
    record(12, "tick", 2000, 800),
    record(18, switch(5, 0), 2100, 810),
]


def of_records(*steps):
    return json.dumps({"events": "software", "records": list(steps)}).encode()


def windows_of_log(*known):
    head, tail = "Start tracking task with pid 77\n", "Finish tracking task with pid 77\n"
    return (
        head + "".join(f"{end} p1 {length} {misses} {all_}\n" for end, length, misses, all_ in known) + tail
    ).encode()


GOOD = {"log": LOG.encode(), "callgrind": DUMP.encode(), "perf": PERF.read_bytes(), "records": of_records(*STEPS)}
"""A file of each."""

STEPS_BACK = {
    # A window that begins before the one before has ended.
    "log": windows_of_log((9_000_000, 5_000_000, 1, 1000), (10_000_000, 8_000_000, 1, 1000)),
    # Its time is a count of instructions, which has no clock: dumps in another order are other windows.
    "callgrind": None,
    "records": of_records(*STEPS[:3], record(1, "tick", 2050, 805), record(8, switch(5, 0), 2100, 810)),
    # Of perf's files records are sorted by time; what steps back between rounds is in crates/becalm-core.
    "perf": None,
}
"""A file of each whose clock steps back; None: it cannot."""

LOST = {
    "log": None,
    "callgrind": None,
    "perf": None,
    "records": of_records(*STEPS[:2], record(12, "lost", 2000, 800), STEPS[3]),
}
"""A file of each with records that are missing; None: its form has no word for it (perf: crates/becalm-core)."""

every = pytest.mark.parametrize("source", sources.SOURCES, ids=lambda letter: letter.name)


def written(folder, content, name="file"):
    path = folder / name
    path.write_bytes(content)
    return path


def found_in(path):
    """Return the sweet spots of a file, or the sentence why there are none."""
    try:
        return becalm.sweetspots(path, rules="published")
    except UsageError as error:
        return str(error)


@every
def test_it_gives_windows_and_names_what_was_counted(source, tmp_path):
    path = written(tmp_path, GOOD[source.name])
    assert sources.read(path).source == source.name
    spotted = becalm.sweetspots(path, rules="published")
    windows = list(spotted.windows())
    assert spotted.source == source.name
    assert spotted.programs
    assert len(windows) >= 2
    assert all(window["misses"] <= window["references"] for window in windows)
    assert len(spotted.events) > 5
    assert spotted.detection["question"]["rules"]["others_factor"] == 10
    assert spotted.to_csv().count("\n") == len(windows) + 1
    assert spotted.to_json()["events"] == spotted.events


@every
def test_equal_files_give_equal_streams(source, tmp_path):
    first, second = (found_in(written(tmp_path, GOOD[source.name], name)) for name in ("one", "two"))
    assert first.detection == second.detection


@every
def test_a_damaged_file_is_refused_in_a_sentence_or_read(source, tmp_path):
    content = GOOD[source.name]
    for at in range(1, len(content), max(13, len(content) // 12)):
        for damaged in (content[:at], content[:at] + b"\0\xef9" + content[at + 2 :]):
            search = found_in(written(tmp_path, damaged))
            if isinstance(search, str):
                assert search.endswith((".", "PROGRAM")), search
                assert len(search) > 20


@every
def test_a_clock_that_steps_back_makes_no_windows_of_negative_length(source, tmp_path):
    if STEPS_BACK[source.name] is None:
        return
    search = found_in(written(tmp_path, STEPS_BACK[source.name]))
    if isinstance(search, str):
        assert "before" in search
        return
    windows = list(search.windows())
    assert all(window["until_ns"] >= window["from_ns"] for window in windows)
    assert not all(window["known"] for window in windows)


@every
def test_lost_records_are_unknown_and_not_zero(source, tmp_path):
    if LOST[source.name] is None:
        return
    search = found_in(written(tmp_path, LOST[source.name]))
    assert not all(window["known"] for window in search.windows())
    assert search.detection["trouble"]["lost"] == 1
    assert "unknown" in search.sentence
    assert not [spot for spot in search.spots if spot["kind"] == 1], "nothing is made of it"


def test_programs_have_the_names_that_the_source_knows(tmp_path):
    """perf's file has records of names; what is recorded is written with them."""
    spotted = becalm.sweetspots(written(tmp_path, GOOD["perf"]))
    names = {program["name"] for program in spotted.programs}
    assert {"sh", "sleep"} <= names
    labels = [spotted.label(number) for number in range(len(spotted.programs))]
    assert any(label.startswith("sleep (") for label in labels)
    text = forms.as_markdown(spotted)
    assert "sleep (" in text
    named = json.dumps({"events": "software", "records": STEPS, "names": {"5": "gzip"}}).encode()
    assert becalm.sweetspots(written(tmp_path, named, "named")).label(0) == "gzip (5)"
    assert becalm.sweetspots(written(tmp_path, GOOD["records"], "plain")).label(0) == "5"


def test_no_share_is_above_1(tmp_path):
    """Two counters that are read one after the other: of the second one fault more was seen."""
    path = written(tmp_path, of_records(*STEPS[:2], record(12, "tick", 1100, 111), record(18, switch(5, 0), 1200, 212)))
    spotted = becalm.sweetspots(path)
    assert any(window["misses"] > window["references"] for window in spotted.windows())
    assert "101.0 %" not in forms.as_markdown(spotted)
    trace = spotted.to_trace()["traceEvents"]
    assert max(line["args"]["ratio"] for line in trace if line["ph"] == "C") == 1
