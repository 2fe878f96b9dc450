"""`becalm sweetspots -- CMD` and `--pid N` on real processes, by events that every machine counts."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import becalm
from becalm import hosts
from becalm.errors import RefusedError, UsageError, WorkloadError
from becalm.hosts import MeasureRequest
from becalm.hosts.recorded import Recording
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload
from becalm.study.migrate_recorded import MoveRequest
from becalm.study.migrate_runs import Moving
from becalm.verbs import migrate_account_live

GROWS = "import time\nkept = []\nfor _ in range(40):\n    kept.append(b'x' * (1 << 20)); time.sleep(.01)"
COMMAND = [sys.executable, "-c", GROWS]


NO_PROCESS = 5_000_000
"""A number above the largest of a process, 2^22 (proc_sys_kernel(5), pid_max)."""


def recorded(*command, **options):
    """Record a program by page faults; the test is skipped where this user may not."""
    try:
        return becalm.record_sweetspots(*command, **{"events": "faults", "output": "discard", **options})
    except RefusedError as error:
        if "perf_event_paranoid" in str(error):
            pytest.skip(str(error))
        raise


def test_a_program_is_recorded_shown_saved_and_read_again(tmp_path):
    path, seconds = tmp_path / "records.json", []
    spotted = recorded(COMMAND, save=path, look=seconds.append)
    assert spotted.source == "live"
    assert not spotted.miss_ratio
    assert "no miss ratio" in spotted.events
    again = becalm.sweetspots(path, rules="rise")
    assert again.detection["records"] == spotted.detection["records"] == len(json.loads(path.read_text())["records"])
    assert not again.miss_ratio
    assert again.events == spotted.events[:400]


UNTIL_CLOSED = """
import select, sys
while not select.select([sys.stdin], [], [], .01)[0]:
    kept = [b'x' * (1 << 20) for _ in range(4)]
"""


def check_process(events):
    """Record a process, which ends when there are records of it."""
    with subprocess.Popen([sys.executable, "-c", UNTIL_CLOSED], stdin=subprocess.PIPE) as child:
        try:
            spotted = recorded(pid=child.pid, events=events, look=lambda _: child.stdin.close())
        finally:
            child.kill()
    assert {program["task"] for program in spotted.programs} == {child.pid}
    assert spotted.programs[0]["ended"]
    assert list(spotted.windows())
    assert spotted.detection["recording"]["cost_ns"] > 0


def test_a_running_process_is_recorded_to_its_end():
    """Look at its new pages, of which no record can be lost; page faults are recorded in tests/measurement."""
    check_process("ws_turnover")


movable = pytest.mark.skipif(
    os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2, reason="needs root and two CPUs to move a program to one"
)


UNTIL_BOUND = """
import os, time
while len(os.sched_getaffinity(0)) > 1:
    sum(range(200_000)); time.sleep(.01)
"""
"""A program that lives until it is bound, however long a busy machine takes."""


@movable
@pytest.mark.xdist_group("settings")
def test_a_program_is_moved_while_it_is_recorded(capfd):
    cpus = sorted(os.sched_getaffinity(0))
    program = f"{UNTIL_BOUND}print(os.sched_getaffinity(0))\nfor _ in range(10): sum(range(200_000)); time.sleep(.01)"
    spotted = recorded([sys.executable, "-c", program], migrate=cpus[0], output="inherit")
    move = spotted.move
    assert move["why_not"] is None
    assert move["done"]["cpus"] == [cpus[0]]
    # Faults say where another program begins, and Python begins none. On a busy machine it may be waited for before
    # Python itself has begun.
    assert move["done"]["waited"]["why"] in ("hard_limit", "spot")
    assert move["from_ns"] < move["until_ns"]
    assert capfd.readouterr().out.split() == [f"{{{cpus[0]}}}"]
    for number in move["migrations"]:
        assert spotted.detection["migrations"][number]["to"] == cpus[0]


def moved_process():
    """Record a process that executes a program again and again until it is moved; return how it was waited for."""
    cpus = sorted(os.sched_getaffinity(0))
    again = """sleep 0.01; exec sh -c "$AGAIN" """

    with subprocess.Popen(["sh", "-c", again], env={**os.environ, "AGAIN": again}) as child:
        pressed = []

        def press_ctrl_c(_):
            """Press Ctrl-C when it has been moved, while becalm looks at the records."""
            if not pressed and len(os.sched_getaffinity(child.pid)) == 1:
                pressed.append(True)
                os.kill(os.getpid(), signal.SIGINT)

        try:
            spotted = recorded(pid=child.pid, migrate="least-loaded", look=press_ctrl_c)
            assert os.sched_getaffinity(child.pid) == set(cpus), "the first Ctrl-C ends recording, and it is restored"
        finally:
            child.kill()
    return spotted.move["done"]["waited"]


@movable
@pytest.mark.xdist_group("settings")
def test_a_process_is_moved_and_back_in_the_end():
    assert moved_process()["why"] in ("spot", "hard_limit")


@movable
@pytest.mark.xdist_group("settings")
def test_runs_are_moved_as_their_arms_say_and_each_is_restored():
    # It lives until it is bound, however long a busy machine takes.
    lives = "import os\nwhile len(os.sched_getaffinity(0)) > 1: sum(range(150_000))"
    program = Workload.of([sys.executable, "-c", lives + "\nsum(range(1_000_000))"], output=Output.DISCARD)
    request = MoveRequest(window="1ms", limit="20ms")
    with hosts.open("local") as machine, hosts.open("local") as binder:
        moving = Moving(machine, binder, request, Recording("faults", 1_000_000, 1_000_000), 100_000_000)
        moving.define([program] * 3, [Settings()])
        steps = tuple(Step(arm, 0, 0, 0) for arm in (2, 0, 1))
        list(moving.measure(MeasureRequest(0, Block(steps))))
    runs = moving.runs()
    assert [run.run.workload for run in runs] == [2, 0, 1]
    done = [run.moved.done for run in runs]
    assert all(len(run.cpus) == 1 for run in done)
    assert done[1].cpus == (done[1].came,), "not moved"
    # What its page faults are, and so by what the wait for a spot ends, is not the same in each run.
    first, *others = [run.waited.why for run in done]
    assert first in ("spot", "not_worth_waiting", "waited_enough", "hard_limit")
    assert others == ["asked", "asked"]
    assert not Path("/var/lib/becalm/journal").exists()


@movable
@pytest.mark.xdist_group("settings")
def test_a_program_that_is_too_short_is_not_accounted(monkeypatch):
    tried = migrate_account_live._tried
    # On a busy machine it takes longer.
    monkeypatch.setattr(migrate_account_live, "_tried", lambda *words: (tried(*words)[0], 1_000_000))
    with pytest.raises(UsageError, match=r"must first learn what is usual for it, so it has to run for"):
        becalm.account_command(["true"], events="faults")
    with pytest.raises(WorkloadError, match="did not end well"):
        becalm.account_command(["false"], events="faults")


def test_an_impossible_move_is_refused_before_the_program_runs(tmp_path):
    never = tmp_path / "ran"
    for options, error, words in (
        ({"migrate": 1000}, RefusedError, "may not use CPU 1000"),
        ({"migrate": "gzip"}, UsageError, "'gzip' is not a list of CPUs to move to"),
        ({"migrate": 0, "host": "ssh://nowhere.invalid"}, UsageError, "not on ssh://nowhere.invalid"),
        ({"migrate": 0, "limit": "1s"}, UsageError, "at most 100 ms"),
        ({"limit": "10ms"}, UsageError, "--limit applies only to the wait"),
    ):
        with pytest.raises(error, match=words):
            becalm.record_sweetspots(["touch", str(never)], events="faults", **options)
    assert not never.exists()
    with pytest.raises(UsageError, match="no process 5000000"):
        becalm.record_sweetspots(pid=NO_PROCESS, events="faults", migrate=0)


def test_an_impossible_recording_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="What is to be recorded"):
        becalm.record_sweetspots()
    with pytest.raises(UsageError, match="no events 'heat'"):
        becalm.record_sweetspots(["true"], events="heat")
    with pytest.raises(WorkloadError, match="no process"):
        recorded(pid=NO_PROCESS)
    with pytest.raises(WorkloadError):
        recorded(["/no/such/program"])
