"""Processes that are tasks: found by name or number, known by their start, and bound to what they may use alone."""

import os

import pytest
from tests.unit.study.fake_processes import Processes

from becalm.errors import RefusedError, UsageError
from becalm.study.place_tasks import Process, find_processes, parse_pairs, read_process, setting, usable_cpus

TASKS = ("web", "batch job", "a-name-that-is-cut")


@pytest.fixture
def machine(tmp_path):
    return Processes(tmp_path)


def test_by_number(machine):
    machine.starts(12, "x) y (z", allowed="0,2-3", start=77)
    assert parse_pairs(["web=12"], TASKS, machine.root) == {"web": (Process(12, 77, (0, 2, 3)),)}
    machine.starts(13, "y")
    assert [process.pid for process in parse_pairs(["web=12", "web=13"], TASKS, machine.root)["web"]] == [12, 13]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("web", "not of the form NAME=PID"),
        ("web=", "not of the form NAME=PID"),
        ("web=-1", "not of the form NAME=PID"),
        ("web=0", "not of the form NAME=PID"),
        ("=12", "not of the form NAME=PID"),
        ("db=12", "no program 'db'. It has: web"),
        ("web=99", "no process 99"),
        ("\x1b[2J=1x", r"'\\\\x1b"),
    ],
)
def test_words_that_name_no_process(machine, words, message):
    with pytest.raises(UsageError, match=message):
        parse_pairs([words], TASKS, machine.root)


def test_one_that_nobody_has_waited_for_is_none(machine):
    machine.starts(12, "web", state="Z")
    assert read_process(12, machine.root) is None
    assert read_process(13, machine.root) is None


def test_by_name_program_and_command(machine):
    machine.starts(12, "web", "/usr/bin/web", "-p", "80")
    machine.starts(13, "python3", "python3", "job.py")
    machine.starts(14, "python3", "python3", "other.py")
    machine.starts(15, "a-name-that-is-", "/opt/a-name-that-is-cut")
    machine.starts(16, "a-name-that-is-", "/opt/a-name-that-is-not")
    machine.starts(17, "sh", "/srv/web", start=3)
    commands = {"batch job": ("python3", "job.py")}
    by_name = find_processes(TASKS, commands, machine.root)
    assert {name: [task.pid for task in some] for name, some in by_name.items()} == {
        "web": [12, 17], "batch job": [13], "a-name-that-is-cut": [15],
    }  # fmt: skip


def test_this_process_and_those_that_started_it_are_none(machine):
    machine.starts(os.getpid(), "web", parent=41)
    machine.starts(41, "web")
    machine.starts(42, "web", parent=41)
    assert [process.pid for process in find_processes(TASKS, {}, machine.root)["web"]] == [42]


def test_on_a_machine_without_processes(tmp_path):
    assert find_processes(TASKS, {}, tmp_path) == {}


def test_it_is_bound_to_what_is_online_and_allowed(machine):
    process = Process(12, 77, (0, 2))
    assert usable_cpus("web", process, (0, 1), machine.root) == (0,)
    machine.online("1-3")
    with pytest.raises(
        RefusedError, match=r"web \(process 12\) belongs on the CPUs 1, but its affinity and its cpuset allow only 0,2"
    ):
        usable_cpus("web", process, (0, 1), machine.root)
    with pytest.raises(RefusedError, match="belongs on the CPUs 4,5, but none of them is online"):
        usable_cpus("web", process, (4, 5), machine.root)


def test_as_the_agent_takes_it():
    assert setting({Process(20, 5, (0,)): (0, 1), Process(3, 4, (0,)): (2,)}) == "3@4:2;20@5:0,1"


def test_this_machine():
    running = read_process(os.getpid())
    assert running is not None
    assert set(running.allowed) == os.sched_getaffinity(0)
