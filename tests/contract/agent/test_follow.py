"""The agent's request `follow` on real processes, and `becalm watch` on them."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from functools import partial
from pathlib import Path

import pytest
from tests import fake_clock
from tests.contract.conversation import Agent, children, needs_root
from tests.waiting import wait_for, wait_readable

from becalm.load.live import account
from becalm.load.record import load_of
from becalm.verbs.watch import Watching, follow, live

WAITS = "input()"
"""A program that ends when it is told to begin."""
HOUR_NS = 3600 * 10**9
"""A period in which there is no reading but the first and the last."""
MILLISECONDS = 1_000_000


@contextlib.contextmanager
def program(script=WAITS, **popen):
    """Run a Python script, whose input is a pipe, as long as this lasts; yield its process."""
    with subprocess.Popen([sys.executable, "-S", "-c", script], stdin=subprocess.PIPE, **popen) as child:
        try:
            yield child
        finally:
            child.kill()


def events(agent, number):
    """Return the `followed` events of a request and its last event."""
    answer = agent.answer(number)
    return [event for event in answer if event["event"] == "followed"], answer[-1]


def begin(child):
    """Let a program go on that waits for a line."""
    child.stdin.write(b"\n")
    child.stdin.flush()


def followed_when_begun(agent, child, readings=1, **fields):
    """Return the events of following a program that waits for a line: it begins after so many readings."""
    number = agent.send("follow", pid=child.pid, **fields)
    first = [agent.read() for _ in range(readings)]
    assert {event["event"] for event in first} == {"followed"}, first
    begin(child)
    followed, done = events(agent, number)
    return [*first, *followed], done


def test_a_process_is_followed_to_its_end(agent):
    with program() as child:
        # Nobody waits for it meanwhile, so its end can be read from what is left of it.
        followed, done = followed_when_begun(agent, child, readings=3, period_ns=20 * MILLISECONDS, load=True)
    assert done["event"] == "done"
    assert done["ended"]
    assert done["whole"]
    last = followed[-1]
    assert last["ended"]
    assert last["process"]["state"] == "Z"
    loads = [load_of(agent.greeting["load_columns"], event["load"]) for event in followed[1:]]
    assert "load" not in followed[0], "there is no interval yet"
    assert [load.first for load in loads] == list(range(len(loads)))
    assert all(load.queue_peak >= 0 and load.cost_ns > 0 and load.wait_ns is None for load in loads)
    for name in ("run_ns", "wait_ns", "slices", "voluntary", "involuntary", "minor_faults"):
        values = [event["process"][name] for event in followed]
        assert values == sorted(values), f"{name} never goes backwards"


def test_threads_that_come_and_go_are_counted(agent):
    """Let three threads at a time live until a reading has seen them."""
    script = """
import threading
for _ in range(3):
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(3)]
    [thread.start() for thread in threads]
    input()
    over.set()
    [thread.join() for thread in threads]
    input()
"""
    followed = []
    with program(script) as child:
        number = agent.send("follow", pid=child.pid, period_ns=10 * MILLISECONDS)
        for threads in (4, 1) * 3:
            while not followed or followed[-1]["process"]["threads"] != threads:
                followed.append(agent.read())
            begin(child)
        rest, done = events(agent, number)
    followed += rest
    assert done["ended"]
    assert followed[-1]["process"]["ended"] >= 9
    for name in ("run_ns", "slices"):
        values = [event["process"][name] for event in followed]
        assert values == sorted(values)


SHORT = """
import threading
input()
for _ in range(20):
    thread = threading.Thread(target=int)
    thread.start(); thread.join()
"""
"""A program with threads that nobody has seen when they end."""


@needs_root
def test_threads_that_no_reading_saw_are_in_the_kernels_own_sums(agent):
    with program(SHORT) as child:
        followed, _ = followed_when_begun(agent, child, period_ns=HOUR_NS)
    assert followed[-1]["process"]["complete"]


@needs_root
def test_without_rights_threads_that_no_reading_saw_are_missing():
    with program(SHORT) as child:
        agent = Agent(user=65534, group=65534, extra_groups=[])
        try:
            followed, done = followed_when_begun(agent, child, period_ns=HOUR_NS)
        finally:
            agent.close()
    assert done["whole"]
    assert not account(followed[-1]["process"]).complete


def test_stop_ends_following_and_not_the_process(agent):
    with program() as child:
        number = agent.send("follow", pid=child.pid, period_ns=HOUR_NS)
        assert agent.read()["event"] == "followed"
        agent.send("stop")
        followed, done = events(agent, number)
        assert not done["ended"]
        assert len(followed) == 1, "the last reading"
        assert child.poll() is None


def test_a_stop_in_the_same_write_as_the_request(agent):
    with program() as child:
        request = {"id": 70, "do": "follow", "pid": child.pid, "period_ns": HOUR_NS}
        agent.write((json.dumps(request) + '\n{"id":71,"do":"stop"}\n').encode())
        assert not events(agent, 70)[1]["ended"]


def test_numbers_that_are_not_of_a_process_are_refused(agent):
    with program("pass") as child:
        wait_for(lambda: "Z" in Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2])
        ended = agent.ask("follow", pid=child.pid, period_ns=50 * MILLISECONDS)
    assert ended["kind"] == "not_found"
    assert "has ended already" in ended["message"]
    gone = agent.ask("follow", pid=child.pid, period_ns=50 * MILLISECONDS)
    assert gone["kind"] == "not_found"
    assert f"There is no process {child.pid}" in gone["message"]
    for pid in (0, -1):
        assert agent.ask("follow", pid=pid, period_ns=50 * MILLISECONDS)["kind"] == "domain"
    own = agent.process.pid
    assert agent.ask("follow", pid=own, period_ns=0)["kind"] == "domain"
    assert agent.ask("follow", pid=own, period_ns=10**9, sources=["stat"])["event"] == "error"


def test_a_thread_is_not_a_process(agent):
    script = "import threading\nthreading.Thread(target=input).start()"
    with program(script) as child:
        tasks = Path(f"/proc/{child.pid}/task")
        wait_for(lambda: len(list(tasks.iterdir())) == 2)
        (thread,) = {int(task.name) for task in tasks.iterdir()} - {child.pid}
        answer = agent.ask("follow", pid=thread, period_ns=10**9)
        assert answer["kind"] == "domain"
        assert f"thread of process {child.pid}" in answer["message"]


def test_a_number_that_was_used_again_is_noticed(agent):
    with program() as child:
        answer = agent.ask("follow", pid=child.pid, started=1, period_ns=10**9)
        assert answer["kind"] == "not_found"
        assert "is another one now" in answer["message"]


@needs_root
def test_another_users_process_has_no_io_and_says_so():
    with program() as child:
        agent = Agent(user=65534, group=65534, extra_groups=[])
        try:
            number = agent.send("follow", pid=child.pid, period_ns=HOUR_NS)
            first = agent.read()["process"]
            agent.send("stop")
            agent.answer(number)
        finally:
            agent.close()
    assert first["read_bytes"] is None
    assert "/proc/PID/io may not be read by this user (EACCES)" in first["missing"]
    assert first["run_ns"] is not None, "schedstat is everybody's to read"


def test_the_verb_reports_the_end():
    with program() as child:
        instants = []
        for instant in follow(child.pid, Watching(interval="100ms")):
            instants.append(instant)
            if len(instants) == 2:
                begin(child)
    assert len(instants) >= 3
    assert [instant.process.ended for instant in instants] == [False] * (len(instants) - 1) + [True]


def test_live_intervals_end_on_request():
    watching = Watching(interval="100ms")
    instants = []
    for instant in live(watching):
        instants.append(instant)
        if len(instants) == 3:
            watching.ending.set()
    assert [instant.number for instant in instants] == [0, 1, 2]
    assert all(instant.load.interval_ns > 0 for instant in instants)


def test_a_slow_reader_loses_readings_which_are_counted(monkeypatch):
    clock = fake_clock.install(monkeypatch)
    skipped = []
    for instant in live(Watching(interval="100ms", count=2)):
        skipped.append(instant.skipped)
        clock.advance(0.45)
    # Only the reader moves the clock, and comes back at 450 ms: too late for the readings at 200, 300 and 400.
    assert skipped == [0, 3]


SHELL = 'stty -g; echo begin; "$@"; echo "code $?"; stty -g; echo over; read end'
"""Prints the state of the terminal before and after a command. It has to live: after it the kernel resets the state."""


@pytest.mark.parametrize("how", ["q", signal.SIGINT, signal.SIGTERM])
def test_the_view_gives_the_terminal_back(how):
    terminal, other_end = pty.openpty()
    shell = subprocess.Popen(
        ["sh", "-c", SHELL, "sh", sys.executable, "-m", "becalm", "watch", "--interval", "100ms"],
        env={**os.environ, "TERM": "xterm"},
        preexec_fn=partial(os.login_tty, other_end),
    )
    os.close(other_end)
    written = b""

    def take(until):
        nonlocal written
        while until not in written:
            wait_readable(terminal)
            written += os.read(terminal, 65536)

    take(b"run queue")
    assert not termios.tcgetattr(terminal)[3] & termios.ECHO
    if how == "q":
        os.write(terminal, b"q")
    else:
        (watch,) = children(shell.pid)
        os.kill(watch, how)
    take(b"over")
    os.write(terminal, b"\n")
    assert shell.wait() == 0
    os.close(terminal)
    lines = written.decode().splitlines()
    assert b"Watched for" in written
    assert "code 0" in lines
    assert lines[lines.index("begin") - 1] == lines[lines.index("over") - 1], "the state from before is back"
    assert written.count(b"\x1b[?1049h") == written.count(b"\x1b[?1049l") == 1, "the screen from before is back"
    assert written.rindex(b"\x1b[?25h") > written.rindex(b"\x1b[?25l"), "the cursor is back"
