"""The control group of an observation that was killed: shown, and removed by the guard or by a reset."""

import contextlib
import io
import os
import signal
from pathlib import Path

import pytest
from rich.console import Console
from tests.contract.conversation import needs_root, unified_group
from tests.support.talk import Agent, guards
from tests.waiting import wait_for

from becalm import reset, status
from becalm.report import settings as report

pytestmark = [
    needs_root,
    pytest.mark.skipif(unified_group() is None, reason="no group can be made here"),
]


def killed(settings=None, applied=lambda: True):
    """Kill an agent while it records the load of a run; return its group, which is there.

    `applied`: whether its settings are on, which they are only after the group has its first process.
    """
    agent = Agent()
    assert agent.define([settings or {}], ("sleep", "9000"))["event"] == "done"
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals")
    result = unified_group() / f"becalm-{agent.pid}"
    wait_for(lambda: processes(result) and applied())
    agent.kill()
    wait_for(lambda: not processes(result))
    return result


def processes(group):
    """Return the numbers in a group, a line each; none when it is missing, or when its guard removes it right now."""
    try:
        return (group / "cgroup.procs").read_text()
    except OSError:
        return ""


def test_it_is_shown_and_a_reset_removes_it():
    group = killed()
    with Agent() as agent:
        assert {"path": str(group), "processes": 0} in agent.done("status")["groups"]
        assert group.exists(), "asking changes nothing"
        done = agent.done("restore")
        assert str(group) in done["sentence"] or "control groups" in done["sentence"]
        assert done["unsettled"] == []
        assert not group.exists()
        assert agent.done("status")["groups"] == []
        assert agent.done("restore")["sentence"] == ""


def test_a_group_left_behind_is_reported_and_reset():
    result = killed()
    state = status()
    assert [group.path for group in state.groups] == [str(result)]
    screen = Console(width=300, file=io.StringIO())
    screen.print(report.status(state))
    assert f"left the control group {result}. Remove it: becalm reset" in screen.file.getvalue()
    assert str(result) in reset().sentence
    assert not result.exists()


def test_one_that_is_in_use_stays_and_is_named():
    group = unified_group() / "becalm-4194304"
    group.mkdir()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            (group / "cgroup.procs").write_text("0")
            signal.pause()
        os._exit(1)
    try:
        wait_for(lambda: processes(group))
        with Agent() as agent:
            assert {"path": str(group), "processes": 1} in agent.done("status")["groups"]
            (sentence,) = agent.done("restore")["unsettled"]
            assert str(group) in sentence
            assert "1 of its processes" in sentence
            assert group.exists()
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        wait_for(lambda: not processes(group))
        group.rmdir()


def test_that_of_an_agent_that_runs_is_left_alone():
    with Agent() as agent, Agent() as other:
        assert agent.define([{}], ("sleep", "0.3"))["event"] == "done"
        number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals")
        group = unified_group() / f"becalm-{agent.pid}"
        wait_for(group.exists)
        assert other.done("status")["groups"] == []
        assert other.done("restore")["unsettled"] == []
        assert group.exists()
        del number


def test_the_guard_removes_it(tmp_path):
    """On the real machine only: on a directory there are no groups. A setting that does nothing here brings a guard."""
    place = Path("/proc/sys/vm/stat_interval")
    before = place.read_text()
    group = killed({"stat_interval": int(before) + 1}, lambda: place.read_text() != before)
    wait_for(lambda: not guards(None))
    assert place.read_text() == before
    assert not group.exists()
    with Agent() as agent:
        agent.done("restore")
