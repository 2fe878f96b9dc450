"""The requests of a tune study that fit into its time: the same while it is measured and when it is read back."""

from types import SimpleNamespace

import pytest
from tests.unit.tuning.test_trial_log import MS, run

from becalm.methods.protocol import NO_SETTINGS, Ask
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.settings import Settings
from becalm.tuning.course import Course, machine_settings
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


@pytest.mark.parametrize(
    ("settings", "machine"),
    [
        ({}, Settings()),
        ({"aslr": "off", "nice": -5}, Settings()),
        ({"aslr": "off", "swappiness": 1}, Settings.of({"swappiness": 1})),
        ({"cpus": "0"}, None),
        ({"drop_caches": "yes"}, None),
    ],
)
def test_settings_of_the_program_itself_leave_the_machine_as_it_is(settings, machine):
    assert machine_settings(Settings.of(settings)) == machine


@pytest.mark.parametrize(("phase", "cpus", "pairs"), [("confirm", (0, 1), True), ("search", (0, 1), False),
                                                      ("confirm", None, False)])  # fmt: skip
def test_only_a_confirmation_runs_two_at_a_time_and_only_where_that_is_safe(phase, cpus, pairs):
    workloads = [SimpleNamespace(kernel=None, name="p")]
    course = Course(SimpleNamespace(seed=1, workloads=workloads), TuneOptions(minimize="time", at_once_cpus=cpus))
    wanted = PhaseRequest(Ask((NO_SETTINGS, Settings.of({"aslr": "off"})), LOOPS, RUNS, 1, "a test"), phase)
    block = course.next_block(wanted, course.number(wanted))
    assert any(start.with_next for start in block.starts) is pairs
