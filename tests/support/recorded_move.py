"""Moves of processes that are recorded."""

import threading
from contextlib import contextmanager

import pytest
from tests.unit.study.fake_processes import Processes
from tests.unit.verbs.test_migrate import Agent, starts
from tests.unit.verbs.test_migrate_at_sweetspot import COUNTED, phases

from becalm.hosts.applied_settings import AppliedSettings
from becalm.hosts.recorded import Counting
from becalm.study import counted_stream
from becalm.study.migrate_recorded import Mover, MoveRequest

COUNTING = Counting("llc", True, 1_000_000, 1_000_000, COUNTED, llc=[[0, 1], [2, 3]])


class Binder(Agent):
    """An agent that says when it has bound something."""

    def __init__(self):
        super().__init__()
        self.bound = threading.Event()

    @contextmanager
    def hold(self, settings, *, dangerous=False):
        with super().hold(settings, dangerous=dangerous):
            if len(self.on) == 2:
                self.bound.set()
            yield AppliedSettings(took_ns=7)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return phases(tmp_path_factory.mktemp("rows"))


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(counted_stream.CountedStream, "now_ns", lambda self: 9_500_000)
    (tmp_path / "root").mkdir()
    processes = Processes(tmp_path / "root")
    starts(processes, 10)
    for tid in (10, 11):
        at = processes.root / f"proc/10/task/{tid}"
        at.mkdir(parents=True)
        (at / "status").write_text("Name:\tx\nCpus_allowed_list:\t0-3\n")
    return processes.root


def mover(root, host=None, **values):
    return Mover(
        host or Binder(), MoveRequest(**{"cpu": 2, "rules": "published", "window": "1ms", "root": root} | values)
    )
