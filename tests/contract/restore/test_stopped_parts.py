"""A part of becalm stands still for a while (SIGSTOP): it goes on, or all is as before once it can."""

import contextlib
import os
import signal

import pytest
from tests.contract.conversation import children
from tests.support.account import begun, nothing_lost
from tests.support.becalms import DIRECTORIES, NAMES, Becalms, kill, state
from tests.support.laptop import changed, laptop, snapshot, strays
from tests.support.talk import guards, processes_of
from tests.waiting import wait_ended, wait_for

from becalm.store import Store, recover
from becalm.store.spool import in_use

PARTS = {
    "front": lambda root, front: [front],
    "agent": lambda root, front: processes_of(root, "becalm-agent"),
    "guard": lambda root, front: guards(root),
    "spawner": lambda root, front: spawners(root),
}


def spawners(root):
    """Return the processes that start programs: the first two children of an agent. Programs that they have just forked
    are its children, too, and have the same name."""
    return [pid for agent in processes_of(root, "becalm-agent") for pid in children(agent)[:2]]


@pytest.fixture(scope="module")
def becalms():
    """Return what starts becalms."""
    program = Becalms()
    yield program
    program.close()


@pytest.fixture(params=PARTS)
def stopped(request, becalms, tmp_path, monkeypatch):
    """Return a becalm that measures with settings, one part of which stands still, and what was before."""
    for name in DIRECTORIES:
        monkeypatch.setenv(name, str(tmp_path / name))
    root, log, store = laptop(tmp_path / "root", cpus=4), tmp_path / "log", str(tmp_path / "store.db")
    before = snapshot(root)
    front = becalms.start(root, log, store)
    wait_for(lambda: begun(log) >= 3, "runs have begun")
    assert changed(before, snapshot(root)) != {}
    pids = PARTS[request.param](root, front)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: {state(pid) for pid in pids} == {"T"}, "it has stopped")

    def go_on():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    return root, before, front, log, store, go_on


def check_end(root, before, front):
    """Check that becalm has ended and the tree is as before."""
    wait_ended(front)
    wait_for(lambda: not processes_of(root, *NAMES), "its processes have ended")
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


def test_a_part_that_stood_still_goes_on_measuring(stopped):
    root, before, front, log, store, go_on = stopped
    go_on()
    so_far = begun(log)
    wait_for(lambda: begun(log) > so_far + 3, "more runs have begun")
    kill([front])
    check_end(root, before, front)
    with Store.open(store) as opened:
        # A process that has just ended lets go of the spool a moment later.
        wait_for(lambda: not in_use(opened), "nobody has the spool")
        recover(opened)
    nothing_lost(log, store)


def test_settings_are_restored_when_becalm_is_killed_while_a_part_stands_still(stopped):
    root, before, front, _, _, go_on = stopped
    kill([front])
    go_on()
    check_end(root, before, front)
