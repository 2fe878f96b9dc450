"""A process that is moved while somebody records it: once, at the spot, and put back when the recording is over."""

import threading
from contextlib import contextmanager, nullcontext

import pytest
from tests.unit.study.fake_processes import Processes
from tests.unit.verbs.test_migrate import Agent, starts
from tests.unit.verbs.test_migrate_at_sweetspot import COUNTED, phases

from becalm.errors import MachineError, RefusedError, UsageError
from becalm.hosts.held import PutOn
from becalm.hosts.recorded import Counting
from becalm.study import counted_stream
from becalm.study.one_move import planned
from becalm.study.recorded_move import Asked, Moved, Mover, check_command, migrations_of

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
            yield PutOn(took_ns=7)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return phases(tmp_path_factory.mktemp("rows"))


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(counted_stream.Counted, "now_ns", lambda self: 9_500_000)
    (tmp_path / "root").mkdir()
    made = Processes(tmp_path / "root")
    starts(made, 10)
    for tid in (10, 11):
        at = made.root / f"proc/10/task/{tid}"
        at.mkdir(parents=True)
        (at / "status").write_text("Name:\tx\nCpus_allowed_list:\t0-3\n")
    return made.root


def mover(root, host=None, **given):
    return Mover(host or Binder(), Asked(**{"cpu": 2, "rules": "published", "window": "1ms", "root": root} | given))


def test_it_is_moved_once_and_has_its_cpus_back_when_the_recording_is_over(rows, root):
    cache = root / "sys/devices/system/cpu/cpu1/cache/index3"
    cache.mkdir(parents=True)
    for name, text in (("type", "Unified"), ("level", "3"), ("shared_cpu_list", "0-1")):
        (cache / name).write_text(text)
    host = Binder()
    moving = mover(root, host)
    with moving:
        moving.begins(10)
        moving.counts(COUNTING)
        for first in range(0, len(rows), 40):
            moving.add(rows[first : first + 40])
        assert host.bound.wait(60)
        # What it had is in the journal before.
        assert host.on == ["10@1010:0,1,2,3", "10@1010:2"]
    assert host.on == []
    assert moving.moved.why_not == ""
    done = moving.moved.done
    assert (done.waited.why, done.waited.decided.kind, done.took_ns) == ("spot", 1, 7)
    assert "moved from CPU 1 to CPU 2" in done.sentence
    assert "at a sweet spot of type 1: its working set changes" in done.sentence
    assert moving.moved.to_json([3])["migrations"] == [3]


def test_a_recording_that_ends_first_moves_nothing_and_says_so(rows, root):
    host = Binder()
    with (moving := mover(root, host)):
        moving.counts(COUNTING)
        moving.begins(10)
    assert moving.moved == Moved(why_not="Recording ended before process 10 was to be moved. Nothing was set.")
    assert host.on == []
    assert "10@1010:2" not in host.held


def test_without_a_process_there_is_nothing_to_move(root):
    with (moving := mover(root)):
        moving.counts(COUNTING)
    assert moving.moved.why_not == "No process was recorded that could be moved. Nothing was set."


@pytest.mark.parametrize(
    ("given", "pid", "words"),
    [
        ({"cpu": 7}, 10, "CPU 7, which is not online"),
        ({}, 99, "There is no process 99, or it has ended"),
        ({"cpu": "least-loaded", "llc": "other"}, 10, "does not say which CPUs share a cache"),
    ],
)
def test_a_move_that_is_refused_ends_no_recording(rows, root, given, pid, words):
    host, ended = Binder(), []
    with (moving := mover(root, host, **given)):
        moving.on_trouble(lambda: ended.append(1))
        moving.counts(COUNTING)
        moving.begins(pid)
        moving.add(rows)
    assert words in moving.moved.why_not
    assert moving.moved.done is None
    assert (host.held, ended) == ([], [])


def test_what_fails_otherwise_ends_it_and_is_raised(rows, root):
    class Broken(Binder):
        def hold(self, settings, *, dangerous=False):
            raise MachineError("The agent has ended.")

    ended = threading.Event()

    def record(moving):
        with moving:
            moving.on_trouble(ended.set)
            moving.counts(COUNTING)
            moving.begins(10)
            assert ended.wait(60)
            return 1 // len(moving_is_told)

    moving_is_told = [1]
    with pytest.raises(MachineError, match="The agent has ended"):
        record(mover(root, Broken()))
    moving_is_told.clear()
    with pytest.raises(ZeroDivisionError):
        record(moving := mover(root, Broken()))
    assert moving.moved is None


@pytest.mark.parametrize(
    ("words", "cpu", "llc"),
    [("1", "1", None), (3, 3, None), ("same", "least-loaded", "same"), ("other", "least-loaded", "other")],
)
def test_where_to_is_cpus_or_a_cache(words, cpu, llc):
    asked = Asked.of(words, "rise", None, None)
    assert (asked.cpu, asked.llc) == (cpu, llc)


def test_other_words_and_limits_are_refused():
    with pytest.raises(UsageError, match="'gzip' is no list of CPUs to move to"):
        Asked.of("gzip", "rise", None, None)
    with pytest.raises(UsageError, match="at most 100 ms"):
        Asked.of("1", "rise", None, "1s")


def test_a_command_may_use_what_becalm_may(root):
    for given, refused in ((Asked(cpu=1023), True), (Asked(cpu="1022-1023"), True), (Asked(), False)):
        with pytest.raises(RefusedError, match="Nothing was run") if refused else nullcontext():
            check_command(given)


def test_which_migrations_of_a_stream_it_is(root):
    """Of each thread the first one after it; what the kernel did before, or with others, is not ours."""
    done = planned(10, 2, root=root).described(None)
    programs = [{"task": 10, "process": 10}, {"task": 11, "process": 10}, {"task": 50, "process": 50}]
    rows = [
        (0, 5, 2, 1), (0, 12, 1, 2), (1, 13, 3, 2), (2, 14, 1, 2), (0, 20, 2, 2), (1, 30, 2, 1),
    ]  # fmt: skip
    found = {
        "programs": programs,
        "migrations": [{"program": p, "time_ns": at, "from": a, "to": b} for p, at, a, b in rows],
    }
    assert migrations_of(Moved(done, "", 10, 11), found) == [1, 2]
    assert migrations_of(Moved(done, "", 15, 16), found) == []
    assert migrations_of(Moved(why_not="x"), found) == []
