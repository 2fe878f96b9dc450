"""Promises of every boot loader, over the agent's table of them: one more row is one more run of these tests.

They act on directories that look like machines which that loader has started, as installers leave them.
"""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.boot import NEXT, Starter
from tests.support.laptop import changed, put, snapshot, strays
from tests.support.loaders import MACHINES, came_up, restarted
from tests.support.talk import Agent, end, guards, holders
from tests.waiting import wait_for

from becalm.hosts.agent import agent_path

WORDS = ("isolcpus=1", "nohz_full=1")


def loaders() -> list[str]:
    tables = json.loads(subprocess.run([agent_path(), "tables"], capture_output=True, check=True).stdout)
    return [row["name"] for row in tables["boot_loaders"]]


@pytest.fixture(params=loaders())
def loader(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@functools.cache
def loader_of(machine: str) -> str:
    """Return the loader that the agent recognises on a machine of `MACHINES`."""
    with tempfile.TemporaryDirectory() as folder:
        root = MACHINES[machine](Path(folder) / "machine")
        with Starter(root) as agent:
            name: str = agent.boot(*WORDS)["loader"]
            agent.done("unboot")
    return name


@pytest.fixture
def roots(loader: str, tmp_path: Path) -> list[Path]:
    """Return all machines that a loader has started; there is at least one for each row of the table."""
    machines = [name for name in MACHINES if loader_of(name) == loader]
    assert machines, f"tests/support/loaders.py has no machine that {loader} has started"
    return [MACHINES[name](tmp_path / str(number)) for number, name in enumerate(machines)]


def entry(root: Path) -> Any:
    with Agent(root) as agent:
        return agent.done("status")["boot"]


def test_an_entry_is_written_read_back_and_removed(roots: list[Path]) -> None:
    for root in roots:
        before = snapshot(root)
        with Starter(root) as agent:
            armed = agent.boot(*WORDS)
            assert agent.done("status")["boot"]["armed"]
        # It outlives the conversation: the next start is what it is for.
        state = entry(root)
        assert (state["mark"], state["parameters"], state["armed"]) == (armed["mark"], list(WORDS), True)
        assert {file["state"] for file in state["files"]} == {"ours"}
        with Agent(root) as agent:
            assert agent.done("unboot")["unsettled"] == []
        assert (entry(root), changed(before, snapshot(root)), strays(root)) == (None, {}, [])


def test_an_error_in_the_middle_leaves_nothing(roots: list[Path]) -> None:
    """A file of somebody's has the name of one that an entry needs."""
    for root in roots:
        with Starter(root) as agent:
            files = agent.boot(*WORDS)["files"]
            agent.done("unboot")
        in_the_way = [path for path in files if path.endswith("becalm-boot.timer")]
        put(root, in_the_way[0], "somebody's")
        before = snapshot(root)
        with Starter(root) as agent:
            error = agent.error("boot", parameters=list(WORDS))
            assert in_the_way[0] in error["message"]
        assert changed(before, snapshot(root)) == {}
        (root / in_the_way[0].lstrip("/")).unlink()


@pytest.mark.parametrize("who", ["agent", "agent and guard"])
def test_a_kill_leaves_what_one_reset_removes(roots: list[Path], who: str) -> None:
    for root in roots:
        before = snapshot(root)
        agent = Starter(root)
        agent.boot(*WORDS)
        for guard in guards(root) if "guard" in who else ():
            end(guard)
        agent.kill()
        agent.process.stdout.close()
        wait_for(lambda root=root: not holders(root), "nobody holds the lock")
        with Agent(root) as following:
            assert following.done("restore")["unsettled"] == []
        assert (changed(before, snapshot(root)), strays(root)) == ({}, [])


def test_an_entry_that_went_well_stays_until_it_is_removed(roots: list[Path]) -> None:
    for root in roots:
        before = snapshot(root)
        with Starter(root) as agent:
            mark = agent.boot(*WORDS)["mark"]
        restarted(root, boot=NEXT, mark=mark, parameters=WORDS)
        with Starter(root) as agent:
            assert agent.done("healthy")["ours"]
            agent.done("keep_boot", parameters=list(WORDS))
        for number in range(3, 6):
            restarted(root, boot=f"{NEXT[:-1]}{number}", mark=mark, parameters=WORDS)
            came_up(root)
            state = entry(root)
            assert (state["kept"], state["armed"], state["running"]) == (True, True, True)
        with Agent(root) as agent:
            assert agent.done("restore")["unsettled"] == []
        restarted(root, boot=before["proc/sys/kernel/random/boot_id"][1].decode().strip())
        left = changed(before, snapshot(root))
        assert (entry(root), left.keys() - {"proc/cmdline"}, strays(root)) == (None, set(), [])


def test_the_default_entry_is_never_touched(roots: list[Path]) -> None:
    for root in roots:
        with Starter(root) as agent:
            first = agent.boot(*WORDS)["default"]
            agent.done("unboot")
            assert agent.boot("isolcpus=2")["default"] == first
            agent.done("unboot")


def test_a_machine_that_cannot_says_why_not(roots: list[Path]) -> None:
    for root in roots:
        before = snapshot(root)
        (root / "run/systemd/system").rmdir()
        with Starter(root) as agent:
            error = agent.error("boot", parameters=list(WORDS))
            assert error["kind"] == "unsupported"
            assert "systemd does not run here" in error["message"]
            refused = agent.error("boot", parameters=["init=/bin/sh"])
            assert refused["kind"] in ("consent", "unsupported", "usage", "domain"), refused
        (root / "run/systemd/system").mkdir()
        assert changed(before, snapshot(root)) == {}
