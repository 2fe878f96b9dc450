"""becalm itself is killed, with its agent, its guard or all of them, at any moment, running or stopped.

The machine is as it was, at the latest with the next start, and of the runs that were finished none is lost: what the
program itself has written is compared with the store.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time

import pytest
from tests.contract.account import MARK, begun, nothing_lost
from tests.support.laptop import changed, laptop, snapshot, strays
from tests.support.talk import Agent, end, guards, processes_of, wait_for

import becalm
from becalm.errors import UsageError
from becalm.store import Store

SETTINGS = {"swappiness": 10, "governor": "performance", "frequency_floor": "max", "irq_affinity": "away"}
KILLS = 40
"""In each way of dying; their moments have a seed."""
LATEST_S = 0.4
"""After the start of a process that has everything imported: settings are on and runs are under way by then."""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A tree and what it holds; nothing of the person's."""
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    root = laptop(tmp_path / "root", cpus=4)
    return root, snapshot(root)


def start(root, log, store):
    """A becalm that measures for as long as it lives. Forked: starting Python would take longer than all the rest."""
    pid = os.fork()
    if pid == 0:
        try:
            becalm.run(
                ["sh", "-c", f"printf {MARK} >> {log}"],
                root=str(root), settings=SETTINGS, store=store, warmup=0, budget="none", dangerous=True,
            )  # fmt: skip
        finally:
            os._exit(1)
    return pid


def kill(pids, *, stopped=False):
    """All of them as good as at once, or after they have stood still."""
    for number in [signal.SIGSTOP, signal.SIGKILL] if stopped else [signal.SIGKILL]:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(0.02 if number == signal.SIGSTOP else 0)


WAYS = {
    "becalm": lambda root, pid: kill([pid]),
    "becalm and guard": lambda root, pid: kill([pid, *guards(root)]),
    "guard, then becalm": lambda root, pid: kill([*guards(root), pid]),
    "becalm and agent, stopped": lambda root, pid: kill([pid, *processes_of(root, "becalm-agent")], stopped=True),
    "everything": lambda root, pid: kill([pid, *processes_of(root, "becalm-agent", "becalm-guard")]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_killed_becalm_leaves_no_setting_on_and_loses_no_finished_run(machine, tmp_path, way):
    root, before = machine
    moments = random.Random(1)
    for number in range(KILLS):
        log, store = tmp_path / f"log{number}", str(tmp_path / f"store{number}.db")
        pid = start(root, log, store)
        if number % 2:
            # At any moment, also while it begins; the others when runs are under way, however slow the machine is.
            time.sleep(moments.uniform(0, LATEST_S))
        else:
            enough = moments.randrange(1, 12)
            wait_for(lambda: begun(log) >= enough)  # noqa: B023
            time.sleep(moments.uniform(0, 0.01))
        WAYS[way](root, pid)
        os.waitpid(pid, 0)
        # The spawner, which dies with the agent, has the lock of the spool until it has gone.
        wait_for(lambda: not processes_of(root, "becalm-agent", "becalm-guard", "becalm-spawner"))
        if way != "everything":
            assert changed(before, snapshot(root)) == {}, "by itself"
        # The next start.
        becalm.run("true", root=str(root), settings={"swappiness": 20}, store=store, runs=1, warmup=0)
        wait_for(lambda: not processes_of(root, "becalm-agent", "becalm-guard"))
        assert changed(before, snapshot(root)) == {}
        assert strays(root) == []
        if begun(log):
            nothing_lost(log, store)
        else:
            with Store.open(store) as opened, contextlib.suppress(UsageError):
                assert len(list(opened.runs(1))) <= 1
        os.unlink(store)


def test_a_process_is_known_by_its_machine(tmp_path):
    """What this file kills and waits for are processes of its own trees."""
    with Agent(laptop(tmp_path / "one")) as one, Agent(laptop(tmp_path / "two")) as two:
        one.done("hold", settings={"swappiness": 10})
        (guard,) = guards(tmp_path / "one")
        assert sorted(processes_of(tmp_path / "one", "becalm-agent", "becalm-guard")) == sorted([one.pid, guard])
        assert processes_of(tmp_path / "two", "becalm-agent", "becalm-guard") == [two.pid]
        end(guard)
