"""The agent's request `record`, and `recording` of `measure`: who runs when, on real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, needs_root

from becalm import hosts
from becalm.errors import RefusedError, UsageError, WorkloadError
from becalm.hosts.protocol import MeasureRequest
from becalm.hosts.recorded import Counting, Recorded, Recording, Records, Started
from becalm.nouns.run import Block
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

SLEEPS = "import time\nfor _ in range(30): time.sleep(.001)"
GROWS = "import time\nkept = []\nfor _ in range(30):\n    kept.append(b'x' * (1 << 20)); time.sleep(.002)\n"
UNTIL_TOLD = """
import select, sys
while not select.select([sys.stdin], [], [], .01)[0]:
    kept = [b'x' * (1 << 20) for _ in range(4)]
"""
"""A program that takes new pages again and again, until it gets a line."""

WAITS = "print(flush=True); input()\n"
"""The first lines of a program that reports that it runs, and waits until it is told to begin."""


@pytest.fixture
def host():
    with hosts.open("local") as opened:
        yield opened


def refusal(host, recording):
    """Return why something cannot be recorded here; empty where it can."""
    try:
        events = host.record(recording, os.getpid())
        next(events)
    except RefusedError as error:
        return str(error)
    host.stop()
    list(events)
    return ""


@pytest.fixture
def by(host):
    """Return the means that report switches; the test is skipped with becalm's reason where it may not be used."""
    if why := refusal(host, Recording("faults", by="perf")):
        pytest.skip(why)
    return "perf"


def recording_of(events):
    """Return the first event, all records, and the last event; skip where this user may not record."""
    try:
        result = list(events)
    except RefusedError as error:
        if "perf_event_paranoid" in str(error):
            pytest.skip(str(error))
        raise
    rows = [row for event in result if isinstance(event, Records) for row in event.rows]
    recorded = [event for event in result if isinstance(event, Recorded)]
    assert len(recorded) == 1
    return result, rows, recorded[0]


def waiting(program):
    """Start a program that waits for a line before it begins."""
    command = [sys.executable, "-c", WAITS + program]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def recording_when_begun(events, child):
    """Return the events as `told` does, for a program that waits: it begins when it is recorded."""

    def beginning():
        for number, event in enumerate(events):
            if number == 0:
                child.stdin.write(b"\n")
                child.stdin.flush()
            yield event

    try:
        return recording_of(beginning())
    finally:
        child.kill()
        child.communicate()


def complete(rows):
    """Return whether all switches are among the records; on a busy machine the kernel may drop some."""
    return "lost" not in [row["what"] for row in rows]


def check_process(host, by):
    """Record a process to its end; return the records."""
    child = waiting(SLEEPS)
    result, rows, end = recording_when_begun(host.record(Recording("faults", by=by), child.pid), child)
    assert isinstance(result[0], Counting)
    assert result[0].by == by
    assert not result[0].miss_ratio
    assert result[0].counted[0]["references"]["name"] == "page-faults"
    assert end.ended
    assert end.records == len(rows)
    assert end.cost_ns > 0
    times = [row["time_ns"] for row in rows]
    assert times == sorted(times)
    if complete(rows):
        switches = [row["what"]["switch"] for row in rows if "switch" in row["what"]]
        assert sum(switch["out"] == child.pid for switch in switches) >= 15
        assert {"exit": {"task": child.pid}} in [row["what"] for row in rows]
    return rows


def check_program(host, by):
    """Record a program from its first instruction on; return the records and the last event."""
    host.define([Workload((sys.executable, "-c", GROWS))], [Settings()])
    request = MeasureRequest(0, Block([(0, 0, 0, 0)]), recording=Recording("faults", window_ns=1_000_000, by=by))
    result, rows, end = recording_of(host.measure(request))
    (started,) = [event for event in result if isinstance(event, Started)]
    if complete(rows):
        whats = [row["what"] for row in rows]
        assert {"exec": {"task": started.pid}} in whats
        assert {"exit": {"task": started.pid}} in whats
        # 30 MiB were touched, 256 pages each, on whichever CPUs.
        first, last = ({index["cpu"]: index["references"] for index in order} for order in (reversed(rows), rows))
        assert sum(last[cpu] - first[cpu] for cpu in last) > 30 * 200
    return rows, end


def test_a_process_is_recorded_to_its_end(host, by):
    check_process(host, by)


def test_a_program_is_recorded_from_its_first_instruction_on(host, by):
    check_program(host, by)


def test_new_pages_of_one_process_are_recorded(host):
    child = waiting(UNTIL_TOLD)

    def ending(events):
        """Have the program end when its new pages have been seen."""
        seen = False
        for event in events:
            if not seen and isinstance(event, Records) and event.rows and event.rows[-1]["misses"] > 200:
                seen = True
                child.stdin.write(b"\n")
                child.stdin.flush()
            yield event

    result, rows, end = recording_when_begun(ending(host.record(Recording("ws_turnover"), child.pid)), child)
    assert not result[0].miss_ratio
    assert end.ended
    assert rows[0]["what"] == {"fork": {"parent": 0, "child": child.pid, "process": child.pid}}
    assert rows[-1]["misses"] > 200
    assert rows[-1]["misses"] <= rows[-1]["references"]


def test_a_recording_that_cannot_be_made_is_refused_with_a_reason(host):
    with pytest.raises(WorkloadError, match="no process"):
        list(host.record(Recording("faults"), 4_000_000))
    with pytest.raises(WorkloadError, match="another one now"):
        list(host.record(Recording("faults"), os.getpid(), started=1))
    for wrong, why in (
        (Recording("faults", window_ns=1), "0.1 to 50 ms"),
        (Recording("faults", batch_ns=1), "every 1 to 200 ms"),
        (Recording("faults", cpus="x"), "list of CPUs"),
        (Recording("ws_turnover"), "of one process"),
        (Recording("ws_turnover", by="bpf"), "not by BPF"),
    ):
        with pytest.raises(UsageError, match=why):
            list(host.record(wrong))
    if why := refusal(host, Recording("llc")):
        assert "Miss ratios cannot be seen" in why or "perf_event_paranoid" in why


@needs_root
def test_another_users_pages_need_root():
    agent = Agent(user=65534, group=65534, extra_groups=())
    try:
        recording = {"events": "ws_turnover", "window_ns": 5_000_000}
        answer = agent.answer(agent.send("record", recording=recording, pid=os.getpid()))[-1]
        assert (answer["event"], answer["kind"]) == ("error", "permission")
        recording["events"] = "faults"
        answer = agent.answer(agent.send("record", recording=recording))[-1]
        paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
        if paranoid > 0:
            assert (answer["event"], answer["kind"]) == ("error", "permission")
            assert "perf_event_paranoid" in answer["message"]
    finally:
        agent.close()


def test_only_some_cpus_are_recorded_and_named(host, by):
    """Until there is a record: on an idle CPU none may come for a while, and none before recording has begun."""

    def until_there_are_some():
        there = False
        for event in host.record(Recording("faults", cpus="0", by=by)):
            if isinstance(event, Records) and event.rows and not there:
                there = True
                host.stop()
            yield event

    result, rows, _ = recording_of(until_there_are_some())
    assert result[0].cpus == "0"
    assert {row["cpu"] for row in rows} == {0}


BUSY = "import time\nfor _ in range(3000): time.sleep(1e-6)\nprint(flush=True)\ntime.sleep(9000)"
"""A program that leaves its CPU very often, and reports that it has done so."""


def test_records_that_nobody_reads_are_lost_and_counted(host, by):
    # What is not taken stays in the kernel's buffers, which may be full at last.
    child = waiting(BUSY)
    try:
        events = host.record(Recording("faults", 100_000, 1_000_000, by=by), child.pid)
        next(events)
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
    finally:
        child.kill()
        child.communicate()
    left = list(events)
    lost = left[-1].trouble["lost"]
    rows = [json.dumps(row["what"]) for event in left if isinstance(event, Records) for row in event.rows]
    # The kernel does not count those that it drops where there are too many in a tick.
    assert not lost or '"lost"' in rows
