"""Following real processes: CPU time, and the time that they wait for a CPU."""

import contextlib
import os
import subprocess
import time

from tests.contract.agent.test_follow import HOUR_NS, MILLISECONDS, begin, events, followed_when_begun, program
from tests.contract.conversation import Agent, needs_root
from tests.waiting import wait_for

from becalm.load.live import Followed, account
from becalm.load.record import load_of
from becalm.verbs.watch import Watching, follow, live

SPIN = "while True: pass"


def test_the_cpu_time_of_a_process_is_followed_to_its_end(agent):
    script = "import time\ninput()\nend = time.process_time() + .2\nwhile time.process_time() < end: pass"
    with program(script) as child:
        followed, _ = followed_when_begun(agent, child, period_ns=50 * MILLISECONDS, load=True)
    last = followed[-1]["process"]
    loads = [load_of(agent.greeting["load_columns"], event["load"]) for event in followed[1:]]
    print(f"ran for {last['run_ns'] / 1e6:.0f} ms of 200")
    assert last["run_ns"] >= 200 * MILLISECONDS
    assert last["user_ns"] + last["system_ns"] >= 150 * MILLISECONDS
    assert sum(load.busy_ns for load in loads) >= 150 * MILLISECONDS


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
    with program(script, stdout=subprocess.PIPE) as child:
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
    runs = [record["process"]["run_ns"] for record in followed]
    assert runs == sorted(runs)


SHORT = """
import threading, time
input()
def work():
    end = time.thread_time() + .02
    while time.thread_time() < end: pass
for _ in range(20):
    thread = threading.Thread(target=work)
    thread.start(); thread.join()
"""


@needs_root
def test_the_time_of_threads_that_no_reading_saw_is_in_the_kernels_own_sums(agent):
    with program(SHORT) as child:
        followed, _ = followed_when_begun(agent, child, period_ns=HOUR_NS)
    last = followed[-1]["process"]
    assert last["complete"]
    assert last["run_ns"] >= 20 * 20 * MILLISECONDS


@needs_root
def test_without_rights_the_time_of_threads_that_no_reading_saw_is_missing():
    with program(SHORT) as child:
        agent = Agent(user=65534, group=65534, extra_groups=[])
        try:
            followed, done = followed_when_begun(agent, child, period_ns=HOUR_NS)
        finally:
            agent.close()
    first, last = (account(followed[index]["process"]) for index in (0, -1))
    assert done["whole"]
    assert not last.complete
    assert last.run_ns < 300 * MILLISECONDS <= last.user_ns + last.system_ns
    assert not Followed(child.pid, first, last, 1).exact


def test_the_verb_sees_a_process_wait_for_its_cpu():
    """Two spinners on one CPU in one session: each gets half."""
    with contextlib.ExitStack() as stack:
        cpu = min(os.sched_getaffinity(0))
        first, second = (
            stack.enter_context(program(f"import os; os.sched_setaffinity(0, {{{cpu}}})\n{SPIN}")) for _ in range(2)
        )
        # Before that each may have a CPU of its own.
        wait_for(lambda: all(os.sched_getaffinity(program.pid) == {cpu} for program in (first, second)))
        frames = list(follow(first.pid, Watching(interval="500ms", count=2)))
        assert second.poll() is None
    assert [frame.number for frame in frames] == [0, 1]
    whole = frames[-1].process
    assert whole.delay > 1.2
    assert frames[-1].load.busy_ns > 0
    assert not whole.ended


def test_a_slow_reader_loses_readings_and_is_told():
    frames = []
    for instant in live(Watching(interval="500ms", count=2)):
        frames.append(instant)
        time.sleep(1.6)
    assert frames[0].skipped == 0
    assert frames[1].skipped >= 1
    assert frames[1].load.interval_ns > 300 * MILLISECONDS, "what was missed is in the next one"
