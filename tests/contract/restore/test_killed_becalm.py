"""becalm itself is killed, with its agent, its guard or all of them, at any call or during any run.

The machine is as it was, at the latest with the next start, and of the runs that were finished none is lost: what the
program itself has written is compared with the store.
"""

from __future__ import annotations

import pytest
from tests.samples import samples
from tests.support.account import begun
from tests.support.becalms import DIRECTORIES, WAYS, Becalms, kill_and_check, state
from tests.support.laptop import laptop, snapshot
from tests.support.talk import Agent, end, guards, processes_of
from tests.waiting import wait_ended, wait_for

KILLS = samples(4, 40)
"""The number of kills for each way to die."""


@pytest.fixture(scope="module")
def becalms(tmp_path_factory):
    """Return what starts becalms, and the number of calls of one that measures three runs."""
    place = tmp_path_factory.mktemp("calls")
    program = Becalms()
    wait_ended(program.start(laptop(place / "root", cpus=4), place / "log", str(place / "store.db"), runs=3))
    yield program, program.number()
    program.close()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a tree and what it holds; becalm's own files are those of the test."""
    for name in DIRECTORIES:
        monkeypatch.setenv(name, str(tmp_path / name))
    root = laptop(tmp_path / "root", cpus=4)
    return root, snapshot(root)


@pytest.mark.parametrize("way", WAYS)
def test_a_killed_becalm_leaves_no_setting_on_and_loses_no_finished_run(becalms, machine, tmp_path, way):
    (program, calls), (root, before) = becalms, machine
    share = (list(WAYS).index(way) + 1) / (len(WAYS) + 1)
    for number in range(KILLS):
        log, store = tmp_path / f"log{number}", str(tmp_path / f"store{number}.db")
        if number % 2:
            # At any call, also while it begins; other calls for each way to die.
            call = int(calls * (number // 2 + share) / (KILLS // 2))
            pid = program.start(root, log, store, call=call)
            wait_for(lambda pid=pid: state(pid) == "T", "the call")
        else:
            runs = number + list(WAYS).index(way) + 1
            pid = program.start(root, log, store)
            wait_for(lambda log=log, runs=runs: begun(log) >= runs, "so many runs have begun")
        kill_and_check(way, pid, root, before, log, store)


def test_a_process_is_known_by_its_machine(tmp_path):
    """A test file kills, and waits for, only processes of its own trees."""
    with Agent(laptop(tmp_path / "one")) as agent, Agent(laptop(tmp_path / "two")) as two:
        agent.done("hold", settings={"swappiness": 10})
        (guard,) = guards(tmp_path / "one")
        # A process that starts programs has the agent's name until it gives itself another.
        pids, others = (processes_of(tmp_path / name, "becalm-agent", "becalm-guard") for name in ("one", "two"))
        assert {agent.pid, guard} <= set(pids)
        assert two.pid in others
        assert not set(pids) & set(others)
        end(guard)
