"""A running process that is moved at a sweet spot: what it waits for, what is counted, and what ends the wait."""

import json
from contextlib import contextmanager
from functools import partial

import pytest
from tests.unit.study.fake_processes import Processes
from tests.unit.verbs.test_migrate import Agent, starts

import becalm
from becalm.errors import RefusedError, UsageError
from becalm.hosts.recorded import Counting, Recorded, Records
from becalm.study import counted_stream, migrate_once, migrate_waiting

PAIR = {"name": "cache-references", "level": "LLC"}
COUNTED = ({"cpus": None, "references": PAIR, "misses": {"name": "cache-misses", "level": "LLC"}},)


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

    @contextmanager
    def hold(self, settings, *, dangerous=False):
        with super().hold(settings, dangerous=dangerous) as on:
            yield on


def phases(tmp_path):
    """Return records of a program in phases as if process 10 were it."""
    path = tmp_path / "rows.json"
    becalm.simulate_sweetspots(["phases:512K,200,3"], save=path, llc="1536K", window="1ms")
    text = path.read_text().replace('"out": 1,', '"out": 10,').replace('"to": 1,', '"to": 10,')
    for name in ("task", "child", "process"):
        text = text.replace(f'"{name}": 1,', f'"{name}": 10,').replace(f'"{name}": 1}}', f'"{name}": 10}}')
    return json.loads(text)["records"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return phases(tmp_path_factory.mktemp("rows"))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    processes = Processes(tmp_path / "root")
    starts(processes, 10)
    cache = processes.root / "sys/devices/system/cpu/cpu1/cache/index3"
    cache.mkdir(parents=True)
    for name, text in (("type", "Unified"), ("level", "3"), ("shared_cpu_list", "0-1")):
        (cache / name).write_text(text)
    for tid in (10, 11):
        at = processes.root / f"proc/10/task/{tid}"
        at.mkdir(parents=True)
        (at / "status").write_text("Name:\tx\nCpus_allowed_list:\t0-3\n")
    return processes.root


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The stream alone says what time it is."""
    monkeypatch.setattr(counted_stream.CountedStream, "now_ns", lambda self: 9_500_000)
    monkeypatch.setattr(migrate_once, "wait", partial(migrate_waiting.wait, clock=lambda: 0))


def move(host, root, **options):
    options = {"at_sweetspot": True, "duration": "1ms", "window": "1ms", "rules": "published"} | options
    return becalm.migrate(10, 2, host=host, root=root, **options)


def test_where_nothing_is_counted_it_is_moved_at_once(root):
    host = Recorder([], refuses=("llc", "ws_turnover", "faults"))
    done = move(host, root)
    assert host.held[-1] == "10@1010:2"
    assert "at once: none of its events could be counted here" in done.sentence
    assert [remark for remark in done.remarks if remark.endswith("cannot be counted here.")] == [
        "llc cannot be counted here.", "ws_turnover cannot be counted here.", "faults cannot be counted here.",
    ]  # fmt: skip


def test_named_events_that_cannot_be_counted_are_refused(root):
    host = Recorder([], refuses=("llc",))
    with pytest.raises(RefusedError, match="llc cannot be counted here"):
        move(host, root, events="llc")
    assert host.on == []


def test_a_named_source_that_is_missing_is_not_replaced_by_another(root):
    host = Recorder([], refuses=("llc", "faults"))
    with pytest.raises(RefusedError, match="llc cannot be counted here"):
        move(host, root, by="bpf")
    assert host.by == {"bpf"}
    assert host.on == []
    with pytest.raises(UsageError, match="--by is one of perf, bpf, not 'dtrace'"):
        move(host, root, by="dtrace")
    with pytest.raises(UsageError, match="--by applies only to waiting for a sweet spot"):
        becalm.migrate(10, 2, by="bpf", host=host, root=root)


@pytest.mark.parametrize("option", ["rules", "window", "limit", "events"])
def test_options_of_waiting_need_a_wait(root, option):
    with pytest.raises(UsageError, match=f"--{option} applies only to waiting for a sweet spot"):
        becalm.migrate(10, 2, root=root, **{option: "1ms"})
