"""Moves of processes that are recorded."""

import json
import threading
from contextlib import contextmanager
from functools import partial

import pytest
from tests.unit.study.fake_processes import Processes
from tests.unit.verbs.test_migrate import Agent, starts

import becalm
from becalm.errors import RefusedError
from becalm.hosts.applied_settings import AppliedSettings
from becalm.hosts.recorded import Counting, Recorded, Records
from becalm.study import counted_stream, migrate_once, migrate_waiting
from becalm.study.migrate_recorded import Mover, MoveRequest

PAIR = {"name": "cache-references", "level": "LLC"}
COUNTED = ({"cpus": None, "references": PAIR, "misses": {"name": "cache-misses", "level": "LLC"}},)
COUNTING = Counting("llc", True, 1_000_000, 1_000_000, COUNTED, llc=[[0, 1], [2, 3]])


class Recorder(Agent):
    """A host that tells recorded batches, or refuses."""

    def __init__(self, rows, refuses=()):
        super().__init__()
        self.rows, self.refuses, self.asked, self.started, self.stopped = rows, refuses, [], None, 0
        self.by = set()

    def record(self, recording, pid=None, *, started=None):
        self.asked.append(recording.events)
        self.by.add(recording.by)
        self.started = started
        if recording.events in self.refuses:
            raise RefusedError(f"{recording.events} cannot be counted here.")
        llc = recording.events == "llc"
        llcs = [[0, 1], [2, 3]]
        yield Counting(
            recording.events, llc, recording.window_ns, recording.batch_ns, COUNTED, llc=llcs, by=recording.by
        )
        for first in range(0, len(self.rows), 40):
            yield Records(self.rows[first : first + 40], 0, 0)
        yield Recorded(len(self.rows), {}, {}, 0, True)

    def stop(self):
        self.stopped += 1


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


def phases(tmp_path):
    """Return records of a program in phases as if process 10 were it."""
    path = tmp_path / "rows.json"
    becalm.simulate_sweetspots(["phases:512K,200,3"], save=path, llc="1536K", window="1ms")
    text = path.read_text().replace('"out": 1,', '"out": 10,').replace('"to": 1,', '"to": 10,')
    for name in ("task", "child", "process"):
        text = text.replace(f'"{name}": 1,', f'"{name}": 10,').replace(f'"{name}": 1}}', f'"{name}": 10}}')
    return json.loads(text)["records"]


def process_of_two_threads(root):
    """Return a new directory that looks like `/`, with process 10, whose threads may use any CPU."""
    root.mkdir()
    processes = Processes(root)
    starts(processes, 10)
    for tid in (10, 11):
        at = root / f"proc/10/task/{tid}"
        at.mkdir(parents=True)
        (at / "status").write_text("Name:\tx\nCpus_allowed_list:\t0-3\n")
    return root


def with_shared_cache(root):
    """Return the directory with a last-level cache that CPUs 0 and 1 share."""
    cache = root / "sys/devices/system/cpu/cpu1/cache/index3"
    cache.mkdir(parents=True)
    for name, text in (("type", "Unified"), ("level", "3"), ("shared_cpu_list", "0-1")):
        (cache / name).write_text(text)
    return root


def stop_stream_clock(monkeypatch):
    """Have the time of counted streams stand still."""
    monkeypatch.setattr(counted_stream.CountedStream, "now_ns", lambda self: 9_500_000)


def stop_clocks(monkeypatch):
    """Have the stream alone tell the time to a move that waits."""
    stop_stream_clock(monkeypatch)
    monkeypatch.setattr(migrate_once, "wait", partial(migrate_waiting.wait, clock=lambda: 0))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return phases(tmp_path_factory.mktemp("rows"))


@pytest.fixture
def root(tmp_path, monkeypatch):
    stop_clocks(monkeypatch)
    return process_of_two_threads(tmp_path / "root")


def move(host, root, **options):
    options = {"at_sweetspot": True, "duration": "1ms", "window": "1ms", "rules": "published"} | options
    return becalm.migrate(10, 2, host=host, root=root, **options)


def mover(root, host=None, **values):
    return Mover(
        host or Binder(), MoveRequest(**{"cpu": 2, "rules": "published", "window": "1ms", "root": root} | values)
    )
