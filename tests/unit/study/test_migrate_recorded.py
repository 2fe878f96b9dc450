"""A process that is moved while somebody records it: once, at the spot, and restored when the recording is over."""

from contextlib import nullcontext

import pytest
from tests.support.recorded_move import COUNTING, mover

from becalm.errors import RefusedError, UsageError
from becalm.study.migrate_once import plan_move
from becalm.study.migrate_recorded import Moved, MoveRequest, check_command, migrations_of


def test_without_a_process_there_is_nothing_to_move(root):
    with (moving := mover(root)):
        moving.counts(COUNTING)
    assert moving.moved.why_not == "No process was recorded that could be moved. Nothing was set."


@pytest.mark.parametrize(
    ("words", "cpu", "llc"),
    [("1", "1", None), (3, 3, None), ("same", "least-loaded", "same"), ("other", "least-loaded", "other")],
)
def test_where_to_is_cpus_or_a_cache(words, cpu, llc):
    request = MoveRequest.of(words, "rise", None, None)
    assert (request.cpu, request.llc) == (cpu, llc)


def test_other_words_and_limits_are_refused():
    with pytest.raises(UsageError, match="'gzip' is not a list of CPUs to move to"):
        MoveRequest.of("gzip", "rise", None, None)
    with pytest.raises(UsageError, match="at most 100 ms"):
        MoveRequest.of("1", "rise", None, "1s")


def test_a_command_may_use_what_becalm_may(root):
    for request, refused in (
        (MoveRequest(cpu=1023), True),
        (MoveRequest(cpu="1022-1023"), True),
        (MoveRequest(), False),
    ):
        with pytest.raises(RefusedError, match="Nothing was run") if refused else nullcontext():
            check_command(request)


def test_which_migrations_of_a_stream_it_is(root):
    """The first migration of each thread after it counts; those before, or of others, are the kernel's."""
    done = plan_move(10, 2, root=root).describe(None)
    programs = [{"task": 10, "process": 10}, {"task": 11, "process": 10}, {"task": 50, "process": 50}]
    rows = [
        (0, 5, 2, 1), (0, 12, 1, 2), (1, 13, 3, 2), (2, 14, 1, 2), (0, 20, 2, 2), (1, 30, 2, 1),
    ]  # fmt: skip
    content = {
        "programs": programs,
        "migrations": [{"program": p, "time_ns": at, "from": a, "to": b} for p, at, a, b in rows],
    }
    assert migrations_of(Moved(done, "", 10, 11), content) == [1, 2]
    assert migrations_of(Moved(done, "", 15, 16), content) == []
    assert migrations_of(Moved(why_not="x"), content) == []
