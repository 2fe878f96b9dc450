"""Agent, guard and becalm are killed at random moments, with nothing that keeps them in step: all is as before.

tests/contract/restore kills at system calls, calls of functions and runs; here the moments have a seed.
"""

import random
import time

import pytest
from tests.samples import samples
from tests.support.account import begun
from tests.support.becalms import DIRECTORIES, WAYS, Becalms, kill_and_check
from tests.support.laptop import laptop, snapshot
from tests.support.studies import begin, check, study
from tests.support.talk import kill_with_guards
from tests.waiting import wait_for

LATEST_S = 0.4
"""The end of the moments: settings are on and runs are under way by then."""


def test_agent_and_guard_in_either_order(tmp_path):
    root = laptop(tmp_path / "root", cgroup=1, cpus=16)
    before = snapshot(root)
    moments = random.Random(1)
    for cut in range(samples(30, 70)):
        agent = begin(root)
        study(agent)
        time.sleep(moments.uniform(0, LATEST_S))
        kill_with_guards(agent, root, cut)
        check(root, before)


@pytest.fixture
def becalms(tmp_path, monkeypatch):
    """Return what starts becalms, which keep their files in the test's directory."""
    for name in DIRECTORIES:
        monkeypatch.setenv(name, str(tmp_path / name))
    program = Becalms()
    yield program
    program.close()


@pytest.mark.parametrize("way", WAYS)
def test_becalm_with_its_agent_and_guard(becalms, tmp_path, way):
    root = laptop(tmp_path / "root", cpus=4)
    before = snapshot(root)
    moments = random.Random(1)
    for number in range(samples(10, 40)):
        log, store = tmp_path / f"log{number}", str(tmp_path / f"store{number}.db")
        pid = becalms.start(root, log, store)
        if number % 2:
            time.sleep(moments.uniform(0, LATEST_S))
        else:
            enough = moments.randrange(1, 12)
            wait_for(lambda log=log, enough=enough: begun(log) >= enough, "enough runs have begun")
            time.sleep(moments.uniform(0, 0.01))
        kill_and_check(way, pid, root, before, log, store)
