"""The agent's request `follow` on real processes, and `becalm watch` on them."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from tests.contract.conversation import Agent
from tests.waiting import wait_for

from becalm.load.record import load_of
from becalm.verbs.watch import Watching, follow, live

SPIN = "while True: pass"
MILLISECONDS = 1_000_000


@contextlib.contextmanager
def program(script, **popen):
    with subprocess.Popen([sys.executable, "-c", script], **popen) as child:
        try:
            yield child
        finally:
            child.kill()


def events(agent, number):
    found = agent.answer(number)
    return [each for each in found if each["event"] == "followed"], found[-1]


def followed_when_begun(agent, child, **how):
    """Events of following a program that waits for a line: it begins when there is a first reading of it."""
    number = agent.send("follow", pid=child.pid, **how)
    first = agent.read()
    assert first["event"] == "followed", first
    begin(child)
    followed, done = events(agent, number)
    return [first, *followed], done


def begin(child):
    child.stdin.write(b"\n")
    child.stdin.flush()


def test_a_process_is_followed_to_its_end(agent):
    script = "import time\ninput()\nend = time.process_time() + .2\nwhile time.process_time() < end: pass"
    with program(script, stdin=subprocess.PIPE) as child:
        # Nobody waits for it meanwhile, so its end can be read from what is left of it.
        followed, done = followed_when_begun(agent, child, period_ns=50 * MILLISECONDS, load=True)
    assert done["event"] == "done"
    assert done["ended"]
    assert done["whole"]
    last = followed[-1]
    assert last["ended"]
    assert last["process"]["state"] == "Z"
    assert last["process"]["run_ns"] >= 200 * MILLISECONDS
    assert last["process"]["user_ns"] + last["process"]["system_ns"] >= 150 * MILLISECONDS
    loads = [load_of(agent.greeting["load_columns"], each["load"]) for each in followed[1:]]
    assert "load" not in followed[0], "there is no interval yet"
    assert [load.first for load in loads] == list(range(len(loads)))
    assert sum(load.busy_ns for load in loads) >= 150 * MILLISECONDS
    assert all(load.queue_peak >= 0 and load.cost_ns > 0 and load.wait_ns is None for load in loads)
    for name in ("run_ns", "wait_ns", "slices", "voluntary", "involuntary", "minor_faults"):
        values = [each["process"][name] for each in followed]
        assert values == sorted(values), f"{name} never goes backwards"


def test_threads_that_come_and_go(agent):
    script = """
import threading, time
def work():
    end = time.thread_time() + .02
    while time.thread_time() < end: pass
    worked.wait()
    over.wait()
for _ in range(3):
    worked, over = threading.Barrier(4), threading.Barrier(4)
    made = [threading.Thread(target=work) for _ in range(3)]
    [each.start() for each in made]
    worked.wait()
    print(flush=True)
    input()
    over.wait()
    [each.join() for each in made]
"""
    followed = []
    with program(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        number = agent.send("follow", pid=child.pid, period_ns=20 * MILLISECONDS)
        for _ in range(3):
            child.stdout.readline()
            now_ns, later = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), 0
            # Each three live until they have been seen with what they did: of two that are told later, the second.
            while later < 2:
                followed.append(agent.read())
                later += followed[-1]["at_ns"] > now_ns
            begin(child)
        rest, done = events(agent, number)
    followed += rest
    assert done["ended"]
    last = followed[-1]["process"]
    assert last["ended"] >= 9
    assert last["run_ns"] >= 9 * 20 * MILLISECONDS
    runs = [each["process"]["run_ns"] for each in followed]
    assert runs == sorted(runs)


SHORT = """
import threading, time
input()
def work():
    end = time.thread_time() + .02
    while time.thread_time() < end: pass
for _ in range(20):
    made = threading.Thread(target=work)
    made.start(); made.join()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="taskstats are for root")
def test_threads_that_nobody_saw_are_in_the_kernels_own_sums(agent):
    with program(SHORT, stdin=subprocess.PIPE) as child:
        followed, _ = followed_when_begun(agent, child, period_ns=3600 * 1000 * MILLISECONDS)
    last = followed[-1]["process"]
    assert last["complete"]
    assert last["run_ns"] >= 20 * 20 * MILLISECONDS


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_without_rights_threads_that_nobody_saw_are_missing_and_that_is_seen():
    from becalm.load.live import Followed, account

    with program(SHORT, stdin=subprocess.PIPE) as child:
        made = Agent(user=65534, group=65534, extra_groups=[])
        try:
            followed, done = followed_when_begun(made, child, period_ns=3600 * 1000 * MILLISECONDS)
        finally:
            made.close()
    first, last = (account(followed[index]["process"]) for index in (0, -1))
    assert done["whole"]
    assert not last.complete
    assert last.run_ns < 300 * MILLISECONDS <= last.user_ns + last.system_ns
    assert not Followed(child.pid, first, last, 1).exact


def test_stop_ends_following_and_not_the_process(agent):
    with program(SPIN) as child:
        number = agent.send("follow", pid=child.pid, period_ns=3600 * 1000 * MILLISECONDS)
        assert agent.read()["event"] == "followed"
        agent.send("stop")
        followed, done = events(agent, number)
        assert not done["ended"]
        assert len(followed) == 1, "the last reading"
        assert child.poll() is None


def test_a_stop_in_the_same_write_as_the_request(agent):
    with program(SPIN) as child:
        request = {"id": 70, "do": "follow", "pid": child.pid, "period_ns": 3600 * 1000 * MILLISECONDS}
        agent.write((json.dumps(request) + '\n{"id":71,"do":"stop"}\n').encode())
        assert not events(agent, 70)[1]["ended"]


def test_no_such_process_and_numbers_that_are_none(agent):
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


def test_a_thread_is_no_process(agent):
    script = "import threading, time\nthreading.Thread(target=lambda: time.sleep(60)).start()"
    with program(script) as child:
        tasks = Path(f"/proc/{child.pid}/task")
        wait_for(lambda: len(list(tasks.iterdir())) == 2)
        thread = max(int(each.name) for each in tasks.iterdir())
        answer = agent.ask("follow", pid=thread, period_ns=10**9)
        assert answer["kind"] == "domain"
        assert f"thread of process {child.pid}" in answer["message"]


def test_a_number_that_was_used_again_is_noticed(agent):
    with program(SPIN) as child:
        answer = agent.ask("follow", pid=child.pid, started=1, period_ns=10**9)
        assert answer["kind"] == "not_found"
        assert "is another one now" in answer["message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_users_process_has_no_io_and_says_so():
    with program(SPIN) as child:
        made = Agent(user=65534, group=65534, extra_groups=[])
        try:
            number = made.send("follow", pid=child.pid, period_ns=3600 * 1000 * MILLISECONDS)
            first = made.read()["process"]
            made.send("stop")
            made.answer(number)
        finally:
            made.close()
    assert first["read_bytes"] is None
    assert "/proc/PID/io may not be read by this user (EACCES)" in first["missing"]
    assert first["run_ns"] is not None, "schedstat is everybody's to read"


def test_the_verb_sees_a_process_wait_for_its_cpu():
    """Two spinners on one CPU in one session: each gets half."""
    with contextlib.ExitStack() as stack:
        cpu = min(os.sched_getaffinity(0))
        one, two = (
            stack.enter_context(program(f"import os; os.sched_setaffinity(0, {{{cpu}}})\n{SPIN}")) for _ in range(2)
        )
        # Before that each may have a CPU of its own.
        wait_for(lambda: all(os.sched_getaffinity(each.pid) == {cpu} for each in (one, two)))
        found = list(follow(one.pid, Watching(interval="500ms", count=2)))
        assert two.poll() is None
    assert [each.number for each in found] == [0, 1]
    whole = found[-1].process
    assert whole.delay > 1.2
    assert found[-1].load.busy_ns > 0
    assert not whole.ended


def test_the_verb_tells_the_end():
    with program("input()", stdin=subprocess.PIPE) as child:
        found = []
        for instant in follow(child.pid, Watching(interval="200ms")):
            found.append(instant)
            if len(found) == 2:
                begin(child)
    assert len(found) >= 3
    assert [each.process.ended for each in found] == [False] * (len(found) - 1) + [True]


def test_live_intervals_end_when_told():
    watching = Watching(interval="100ms")
    found = []
    for instant in live(watching):
        found.append(instant)
        if len(found) == 3:
            watching.ending.set()
    assert [each.number for each in found] == [0, 1, 2]
    assert all(each.load.interval_ns > 0 for each in found)


def test_a_slow_reader_loses_readings_and_is_told():
    found = []
    for instant in live(Watching(interval="500ms", count=2)):
        found.append(instant)
        time.sleep(1.6)
    assert found[0].skipped == 0
    assert found[1].skipped >= 1
    assert found[1].load.interval_ns > 300 * MILLISECONDS, "what was missed is in the next one"


@pytest.mark.parametrize("how", ["q", signal.SIGINT, signal.SIGTERM])
def test_the_view_gives_the_terminal_back(how):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "becalm", "watch", "--interval", "100ms"])
    before = termios.tcgetattr(terminal)
    written = b""

    def take(until):
        nonlocal written
        # The time is a limit for a broken program, not an expectation.
        end = time.monotonic() + 120
        while until not in written and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    written += os.read(terminal, 65536)
                except OSError:
                    return
        assert until in written, written

    take(b"run queue")
    assert not termios.tcgetattr(terminal)[3] & termios.ECHO
    if how == "q":
        os.write(terminal, b"q")
    else:
        os.kill(pid, how)
    take(b"Watched for")
    assert written.count(b"\x1b[?1049h") == written.count(b"\x1b[?1049l") == 1, "the screen from before is back"
    assert written.rindex(b"\x1b[?25h") > written.rindex(b"\x1b[?25l"), "the cursor is back"
    with contextlib.suppress(OSError, termios.error):
        wait_for(lambda: termios.tcgetattr(terminal)[3] == before[3])
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)
