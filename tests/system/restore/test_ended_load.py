"""A load next to programs that is killed or stands still: its group is removed, and settings are restored."""

import os
import signal
from pathlib import Path

from tests.contract.conversation import children, name_of, needs_root
from tests.support.becalms import state
from tests.support.laptop import changed, laptop, snapshot
from tests.support.talk import Agent
from tests.waiting import wait_ended, wait_for

MEMORY = {"memory_bytes": 8 << 20, "limit_bytes": 64 << 20}


def load_of(agent: Agent) -> int:
    """Return the process of an agent's load."""
    (pid,) = (pid for pid in children(agent.pid) if name_of(pid) == "becalm-load")
    return pid


def groups_of(load: int) -> list[Path]:
    """Return the control groups of a load."""
    called = f"becalm-load-{load}"
    # Not by Path.rglob, which fails when a group of anybody is removed meanwhile.
    return [Path(above, name) for above, names, _ in os.walk("/sys/fs/cgroup") for name in names if name == called]


@needs_root
def test_the_group_of_a_killed_load_is_removed_though_what_would_remove_it_is_ended_with_a_program():
    with Agent() as agent:
        agent.done("load", demand=MEMORY)
        load = load_of(agent)
        assert groups_of(load)
        os.kill(load, signal.SIGKILL)
        wait_for(lambda: state(load) == "Z", "the load has ended")
        agent.define([{}])
        agent.done("measure", first=0, steps=[[0, 0, 0, 0]])
        assert "killed" in agent.error("unload")["message"]
        assert groups_of(load) == []


def test_a_load_that_is_stopped_is_killed_before_the_settings_are_restored(tmp_path):
    root = laptop(tmp_path / "root")
    before = snapshot(root)
    agent = Agent(root)
    agent.done("load", demand={"cpu": 0.02})
    agent.done("hold", settings={"swappiness": 10})
    assert changed(before, snapshot(root))
    load = load_of(agent)
    os.kill(load, signal.SIGSTOP)
    wait_for(lambda: state(load) == "T", "the load has stopped")
    agent.close()
    assert changed(before, snapshot(root)) == {}
    wait_ended(load)
