"""Runs that are moved at spots that the real detector finds."""

import threading
from contextlib import contextmanager

import pytest
from tests.support.recorded_move import COUNTED
from tests.unit.recorded import run
from tests.unit.study.fake_processes import Processes
from tests.unit.verbs.test_migrate import Agent, starts
from tests.waiting import HANG_LIMIT_S

from becalm.hosts import MeasureRequest, Runs
from becalm.hosts.applied_settings import AppliedSettings
from becalm.hosts.null import NullHost
from becalm.hosts.recorded import Counting, Recorded, Recording, Records, Started
from becalm.nouns.run import Block, Step
from becalm.study.migrate_recorded import MoveRequest
from becalm.study.migrate_runs import Moving

STEPS = ((0, 0, 0, 0), (2, 0, 0, 0), (1, 0, 0, 0))
"""A round in an order of its own."""


class Binder(Agent):
    """An agent that says when a program was bound to one CPU."""

    def __init__(self):
        super().__init__()
        self.bound = threading.Event()

    @contextmanager
    def hold(self, settings, *, dangerous=False):
        with super().hold(settings, dangerous=dangerous):
            if "," not in self.held[-1]:
                self.bound.set()
            yield AppliedSettings()


class Runner(NullHost):
    """Runs that are recorded: process 10 again and again, which ends when it was bound."""

    def __init__(self, rows, binder, ratio=True):
        super().__init__()
        self.rows, self.binder, self.ratio, self.asked = rows, binder, ratio, None

    def measure(self, request):
        self.asked = request.recording
        yield Counting("llc", self.ratio, 1_000_000, 1_000_000, COUNTED, llc=[[0, 1], [2, 3]])
        for number, step in enumerate(request.block.steps):
            seq = request.first + number
            self.binder.bound.clear()
            yield Started(seq, 10)
            for first in range(0, len(self.rows), 40):
                yield Records(self.rows[first : first + 40], 0, 0)
            assert self.binder.bound.wait(HANG_LIMIT_S)
            yield Runs((run(seq=seq, workload=step[0], round=step[3]),))
        yield Recorded(1, {}, {}, 0)


@pytest.fixture
def root(tmp_path):
    processes = Processes(tmp_path)
    starts(processes, 10)
    at = tmp_path / "proc/10/task/10"
    at.mkdir(parents=True)
    (at / "status").write_text("Name:\tx\nCpus_allowed_list:\t0-3\n")
    return tmp_path


def test_each_run_is_moved_as_its_arm_says(rows, root):
    binder = Binder()
    request = MoveRequest(cpu=2, rules="published", window="1ms", limit="1ms", root=root)
    runner = Runner(rows, binder)
    moving = Moving(runner, binder, request, Recording("llc", 1_000_000), 20_000_000)
    events = list(moving.measure(MeasureRequest(7, Block(tuple(Step(*step) for step in STEPS)))))
    assert [type(event) for event in events] == [Runs] * 3, "whoever measures sees nothing of the recording"
    assert runner.asked.events == "llc"
    # Where it runs, then twice elsewhere; what it had is in the journal before each.
    had = "10@1010:0,1,2,3"
    assert binder.held == [had, "10@1010:1", had, "10@1010:2", had, "10@1010:2"]
    assert binder.on == []
    runs = moving.runs()
    assert [run.run.seq for run in runs] == [7, 8, 9]
    whys = [run.moved.done.waited.why for run in runs]
    assert (whys[0], whys[2]) == ("asked", "asked")
    assert whys[1] != "asked"
    assert all(run.references > 0 and run.misses > 0 for run in runs)


def test_without_cache_counts_references_and_misses_are_unknown(rows, root):
    binder = Binder()
    request = MoveRequest(cpu=2, window="1ms", root=root)
    moving = Moving(Runner(rows, binder, ratio=False), binder, request, Recording("faults", 1_000_000), 20_000_000)
    list(moving.measure(MeasureRequest(0, Block((Step(1, 0, 0, 0), Step(0, 0, 0, -1))))))
    (runs,) = moving.runs()
    assert (runs.references, runs.misses) == (None, None)
