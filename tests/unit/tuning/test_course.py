"""The requests of a tune study that fit into its time: the same while it is measured and when it is read back."""

from types import SimpleNamespace

import pytest
from tests.unit.tuning.test_trial_log import MS, run

from becalm.methods.protocol import NO_SETTINGS, Ask
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.settings import Settings
from becalm.tuning.course import Course
from becalm.tuning.exchange import PhaseRequest

ARMS, RUNS, LOOPS, FEWEST = 2, 3, 10, 4
LOOP_NS = 10 * MS * ARMS * RUNS
"""A run begins every 10 ms."""


def begun():
    return Course(SimpleNamespace(seed=1, workloads=[SimpleNamespace(kernel=None, name="p")]), TuneOptions())


def request(within_ns, fewest=FEWEST):
    ask = Ask((NO_SETTINGS, Settings.of({"x": 1})), LOOPS, RUNS, 1, "a test")
    return PhaseRequest(ask, "confirm", within_ns=within_ns, fewest=fewest)


def measured(course, wanted, result):
    """Measure it to its end, run by run; gives the rows."""
    rows = []
    while block := course.next_block(wanted, result):
        rows.append(run(course.trials.next_seq, block.steps[0]))
        course.trials.extend(rows[-1:])
    return rows


@pytest.mark.parametrize(
    ("loops_of_time", "loops"), [(None, LOOPS), (100, LOOPS), (7.5, 7), (4.2, FEWEST), (0, FEWEST), (9, 9)]
)
def test_loops_are_left_out_that_would_end_too_late(loops_of_time, loops):
    course = begun()
    # The first loop has a warm-up of each arm, and the first run of all no time before it.
    wanted = request(None if loops_of_time is None else loops_of_time * LOOP_NS * (1 + 1 / RUNS / 4))
    number = course.number(wanted)
    rows = measured(course, wanted, number)
    assert {max(row.round, -1 - row.round) for row in rows} == set(range(loops))
    assert len(rows) == ARMS * (loops * RUNS + 1)
    answer = course.answer(wanted, number)
    assert [len(sample.loops) for sample in answer.together] == [loops, loops]
    assert course.complete(wanted, number)

    again = begun()
    again.trials.extend(rows)
    assert again.complete(wanted, again.number(wanted))
    assert again.number(request(None)).first == course.number(request(None)).first == LOOPS


@pytest.mark.parametrize("stop", [5, 9, 20, 31, 40])
def test_stopped_anywhere_it_goes_on_to_the_same_end(stop):
    wanted, whole, part = request(6.1 * LOOP_NS), begun(), begun()
    rows = measured(whole, wanted, whole.number(wanted))
    part.trials.extend(rows[:stop])
    assert rows[stop:] == measured(part, wanted, part.number(wanted))
