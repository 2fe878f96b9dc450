"""A stream that goes on: each batch is answered, and the answer to the batch of a sweet spot is to move."""

import json

import pytest

import becalm
from becalm.errors import RefusedError, UsageError
from becalm.migration.live import Decided, Going, Live
from becalm.migration.rules import rules_named
from becalm.study.migrate_waiting import Rules, wait

WINDOW_NS = 1_000_000
TASK = 1
"""The first task of a simulation."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Records of a simulated program in phases, next to a spinner, and where it changed by the whole stream."""
    path = tmp_path_factory.mktemp("records") / "records.json"
    words = ["phases:64K,1500,6", "cpuburner@1"]
    spotted = becalm.simulate_sweetspots(words, save=path, llc="96K", window="1ms", rules="published")
    spots = [spot["time_ns"] for spot in spotted.spots if spot["kind"] == 1 and spot["program"] == 0]
    return json.loads(path.read_text())["records"], spots


class Stream:
    """A recorded stream as one that is counted now: batches of half a window, by a clock that they drive."""

    events = "simulated"
    remarks = ("said by the source",)

    def __init__(self, records, *, bounded=False, kinds=(0, 1, 2), silent=None):
        self.records, self.bounded, self.kinds, self.silent = records, bounded, kinds, silent
        self.at, self.now, self.batches = 0, 0, []

    def batch(self, timeout_s):
        self.now += WINDOW_NS // 2
        if self.silent is not None and self.now > self.silent:
            return []
        first = self.at
        while self.at < len(self.records) and self.records[self.at]["time_ns"] < self.now:
            self.at += 1
        if first == self.at == len(self.records):
            return None
        self.batches.append(self.now)
        return self.records[first : self.at]

    def now_ns(self):
        return self.records[self.at - 1]["time_ns"] if self.at else 0

    def clock(self):
        return self.now


def rules(limit_ns=100_000_000, name="published"):
    question = {"rules": rules_named(name).within(WINDOW_NS), "waiting": {"hard_limit_ns": limit_ns}}
    return Rules(name, question, WINDOW_NS, limit_ns)


def test_it_waits_for_the_change_and_says_what_for(recorded):
    records, spots = recorded
    stream = Stream(records)
    decision = wait(TASK, stream, rules(), stream.clock)
    assert (decision.why, decision.decided.kind, decision.decided.task) == ("spot", 1, TASK)
    assert decision.decided.moved_ns in spots
    # The batch that closed the window, and none after it.
    assert stream.batches[-1] - decision.decided.moved_ns <= WINDOW_NS
    assert decision.remarks == ("said by the source",)
    assert decision.to_json()["longest_ns"] is None, "counts that say nothing of misses have no d_max"


def test_a_stream_without_the_spot_ends_at_the_hard_limit(recorded):
    stream = Stream(recorded[0], kinds=(0,))
    decision = wait(TASK, stream, rules(limit_ns=5_000_000), stream.clock)
    assert decision.why == "hard_limit"
    assert 5_000_000 <= decision.waited_ns <= 5_000_000 + WINDOW_NS


def test_a_stream_that_falls_silent_ends_at_the_hard_limit_too(recorded):
    stream = Stream(recorded[0], silent=11_000_000)
    decision = wait(TASK, stream, rules(limit_ns=20_000_000), stream.clock)
    assert (decision.why, decision.waited_ns) == ("hard_limit", 20_000_000)


def test_a_process_of_which_nothing_was_counted_is_moved_at_once_where_waiting_is_weighed(recorded):
    stream = Stream([], bounded=True, silent=0)
    decision = wait(TASK, stream, rules(), stream.clock)
    assert (decision.why, decision.waited_ns) == ("unknown", 0)


def test_one_that_ends_before_is_not_moved(recorded):
    stream = Stream(recorded[0][:400])
    with pytest.raises(RefusedError, match=r"Process 1 ended before it was moved\. Nothing was set\."):
        wait(TASK, stream, rules(), stream.clock)


def test_a_limit_above_a_tenth_of_a_second_is_refused():
    with pytest.raises(UsageError, match="at most 100 ms"):
        wait(TASK, Stream([]), rules(limit_ns=200_000_000), lambda: 0)


def test_lines_are_answered_and_what_is_none_is_refused():
    with Live(7, {}) as live:
        assert isinstance(live.feed([]), Going)
        with pytest.raises(UsageError, match="not a line of a stream"):
            live.feed([{"time_ns": 1}])
        answer = live.want({"process": 7, "at_ns": 0})
        assert isinstance(answer, Decided)
        assert answer.why == "unknown"
    with pytest.raises(UsageError, match=r"0\.01 to 50 ms"):
        Live(7, {"rules": {"window_ns": 0}})
