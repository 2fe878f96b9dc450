"""Agent, guard, both, or the line to becalm cut at any system call of a study: the machine is restored all the same."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.samples import samples
from tests.support.laptop import changed, laptop, snapshot
from tests.support.memory_directory import memory_directory
from tests.support.stepping import Stepped, cuts
from tests.support.studies import SETTINGS, begin, check, study
from tests.support.talk import Agent, end, guards, kill_with_guards
from tests.waiting import wait_for


def stops(root) -> int:
    """Return the number of begins and ends of system calls of an undisturbed study."""
    with Agent(root) as agent:
        agent.define(SETTINGS)
        traced = Stepped(agent.pid)
        study(agent)
        assert not traced.run()
        return traced.stops


@pytest.fixture(scope="module", params=[1, 2], ids=["cgroup-v1", "cgroup-v2"])
def machine(request):
    """Return a tree, what it holds, and the number of moments at which its study can be cut."""
    with memory_directory() as path:
        root = laptop(path, cgroup=request.param, cpus=4)
        try:
            moments = stops(root)
        except PermissionError:
            pytest.skip("processes cannot be traced here (ptrace is forbidden)")
        yield root, snapshot(root), moments


CUTS = samples(4, 28)
"""The number of moments in each test, spread over the whole study."""


VICTIMS = ["agent", "guard", "both", "line"]


@pytest.mark.parametrize("who", VICTIMS)
def test_cut_at_any_system_call(machine, who):
    root, before, moments = machine
    # Other moments for each way to die.
    for moment in cuts(moments, CUTS * len(VICTIMS))[VICTIMS.index(who) :: len(VICTIMS)]:
        agent = begin(root)
        traced = Stepped(agent.pid)
        study(agent)
        alive = traced.run(moment)
        if who in ("guard", "both"):
            for guard in guards(root):
                end(guard)
        if alive and who == "line":
            os.kill(agent.pid, signal.SIGSTOP)
            agent.process.stdin.close()
            os.kill(agent.pid, signal.SIGCONT)
        if alive and who in ("agent", "both"):
            traced.kill()
        elif alive:
            traced.run()
        agent.process.wait()
        agent.forget()
        check(root, before)


def test_a_guard_killed_while_it_restores(machine):
    root, before, moments = machine
    at_work = 0
    for cut in range(CUTS):
        agent = begin(root)
        traced = Stepped(agent.pid)
        study(agent)
        assert traced.run(moments * (cut % 5 + 2) // 8)
        (guard,) = guards(root)
        try:
            watched = Stepped(guard)
        except PermissionError:
            pytest.skip("processes that are not one's children cannot be traced here")
        traced.kill()
        agent.process.wait()
        agent.forget()
        if watched.run(samples(140, 20) * cut + 1):
            watched.kill()
            at_work += 1
        check(root, before)
    assert at_work > 1, "it was killed at work"


def test_killed_while_programs_run(tmp_path):
    """Agent and guard die in either order, untraced, after any number of runs: tracing keeps them in step."""
    root, log = laptop(tmp_path / "root", cgroup=1, cpus=16), tmp_path / "log"
    before = snapshot(root)
    steps = [[0, which, 0, 0] for which in (0, 1, 2, 3, 4, 1, 0, 3)]
    for cut in range(samples(8, 70)):
        log.write_text("")
        agent = Agent(root)
        agent.define(SETTINGS, ("/bin/sh", "-c", f"echo >> {log}"))
        agent.send("measure", first=0, steps=steps)
        runs = cut % len(steps) + 1
        wait_for(lambda runs=runs: len(log.read_text()) >= runs, "so many runs have begun")
        kill_with_guards(agent, root, cut)
        check(root, before)


def test_the_input_ends_in_the_middle_of_a_request(tmp_path):
    root = laptop(tmp_path / "root")
    before = snapshot(root)
    agent = begin(root)
    agent.done("hold", settings=SETTINGS[1], dangerous=True)
    agent.process.stdin.write(json.dumps({"id": 9, "do": "hold"}).encode()[:-4])
    agent.close()
    assert changed(before, snapshot(root)) == {}


def test_signals_that_ask_to_end(tmp_path):
    root = laptop(tmp_path / "root")
    before = snapshot(root)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        agent = begin(root)
        agent.done("hold", settings=SETTINGS[1], dangerous=True)
        (guard,) = guards(root)
        # A session that ends signals everybody in it, the guard too.
        os.kill(guard, number)
        os.kill(agent.pid, number)
        assert agent.process.wait() == 0
        check(root, before)


def test_a_guard_killed_alone_is_there_again_before_the_next_write(tmp_path):
    root = laptop(tmp_path / "root")
    before = snapshot(root)
    with begin(root) as agent:
        agent.done("hold", settings={"swappiness": 10})
        (first,) = guards(root)
        end(first)
        agent.done("measure", first=0, steps=[[0, 0, 0, 0]])
        (second,) = guards(root)
        assert second != first
        agent.kill()
        check(root, before)
        assert "was ended before" in (root / "var/lib/becalm/last-restore").read_text()
