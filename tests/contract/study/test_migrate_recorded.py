"""A process that is moved while somebody records it, at spots that the real detector finds."""

import threading

import pytest
from tests.support.recorded_move import COUNTING, Binder, mover
from tests.waiting import HANG_LIMIT_S

from becalm.errors import MachineError
from becalm.study.migrate_recorded import Moved


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
        assert host.bound.wait(HANG_LIMIT_S)
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


@pytest.mark.parametrize(
    ("values", "pid", "words"),
    [
        ({"cpu": 7}, 10, "CPU 7, which is not online"),
        ({}, 99, "There is no process 99, or it has ended"),
        ({"cpu": "least-loaded", "llc": "other"}, 10, "does not report which CPUs share a cache"),
    ],
)
def test_a_move_that_is_refused_ends_no_recording(rows, root, values, pid, words):
    host, ended = Binder(), []
    with (moving := mover(root, host, **values)):
        moving.on_trouble(lambda: ended.append(1))
        moving.counts(COUNTING)
        moving.begins(pid)
        moving.add(rows)
    assert words in moving.moved.why_not
    assert moving.moved.done is None
    assert (host.held, ended) == ([], [])


def test_other_failures_end_the_recording_and_are_raised(rows, root):
    class Broken(Binder):
        def hold(self, settings, *, dangerous=False):
            raise MachineError("The agent has ended.")

    ended = threading.Event()

    def record(moving):
        with moving:
            moving.on_trouble(ended.set)
            moving.counts(COUNTING)
            moving.begins(10)
            assert ended.wait(HANG_LIMIT_S)
            return 1 // len(moving_is_told)

    moving_is_told = [1]
    with pytest.raises(MachineError, match="The agent has ended"):
        record(mover(root, Broken()))
    moving_is_told.clear()
    with pytest.raises(ZeroDivisionError):
        record(moving := mover(root, Broken()))
    assert moving.moved is None
