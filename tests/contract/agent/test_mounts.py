"""The kernel's own file systems: there for the agent of root alone, and gone with it."""

from pathlib import Path

import pytest
from tests.contract.conversation import needs_root, sh

KINDS = {"debugfs": "/sys/kernel/debug", "tracefs": "/sys/kernel/tracing"}


def mounted(process):
    """Return the kinds among these that a process has in their places."""
    lines = Path(f"/proc/{process}/mountinfo").read_text().splitlines()
    places = {(line.split(" - ")[1].split()[0], line.split()[4]) for line in lines}
    return {kind for kind, place in KINDS.items() if (kind, place) in places}


def known():
    """Return the kinds that this kernel has, with a place for them."""
    filesystems = Path("/proc/filesystems").read_text().split()
    return {kind for kind, place in KINDS.items() if kind in filesystems and Path(place).is_dir()}


@needs_root
def test_they_are_mounted_for_the_agent_and_not_for_programs(agent):
    before = mounted("self")
    namespaces = {process: Path(f"/proc/{process}/ns/mnt").readlink() for process in ("self", agent.process.pid)}
    if before == known() or namespaces["self"] == namespaces[agent.process.pid]:
        pytest.skip("all of them are mounted, or no namespace of its own can be had")
    assert mounted(agent.process.pid) == known()
    assert mounted("self") == before, "this process has what it had"
    _, texts = agent.run(*sh("readlink /proc/self/ns/mnt"), output="keep")
    assert texts[0]["stdout"].strip() == str(namespaces["self"])
    agent.close()
    assert mounted("self") == before
