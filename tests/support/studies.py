"""A study on a tree that switches between many settings, to be killed; and what must be so afterwards."""

from __future__ import annotations

from pathlib import Path

from tests.support.laptop import Snapshot, changed, snapshot, strays
from tests.support.talk import Agent, holders
from tests.waiting import wait_for

SETTINGS = [
    {"swappiness": 10, "governor": "performance", "swap": "off", "frequency_floor": "max"},
    {"swappiness": 20, "isolation": "first-core", "irq_affinity": "away", "services": "pause"},
    {},
    {"online_cpus": "first", "transparent_hugepages": "never", "cpu_dma_latency": 0},
    {"swappiness": 10, "governor": "performance"},
]


def begin(root: Path) -> Agent:
    """Return an agent with a study defined on it."""
    agent = Agent(root)
    assert agent.define(SETTINGS)["event"] == "done"
    return agent


def study(agent: Agent) -> None:
    """Ask for a study that switches between all settings, then for the end; read nothing."""
    agent.send("measure", first=0, steps=[[0, which, 0, 0] for which in (0, 1, 2, 3, 4)])
    agent.send("bye")


def check(root: Path, before: Snapshot) -> None:
    """Check that everything is as before, and that no process and no file is left."""
    wait_for(lambda: not holders(root), "guards have ended")
    if strays(root):
        with Agent(root) as agent:
            assert agent.done("restore")["unsettled"] == []
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []
    with Agent(root) as agent:
        assert agent.done("status")["journal"] is None
        # The kernel lets a lock go a little after the last descriptor of a killed process.
        wait_for(lambda: agent.done("status")["busy"] is None, "the lock is free")
