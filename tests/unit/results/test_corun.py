"""Profiles of programs next to each other: costs by rounds, as JSON and back, and what is refused in a sentence."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rates import at_least
from tests.samples import samples

from becalm.errors import UsageError
from becalm.nouns.workload import Workload
from becalm.results.corun import CoRun, CoRunProfile, Counted, FailedRun, LeftOut, ProfiledProgram, TimedRun
from becalm.results.place_costs import Chip, CostOrigin

CHIP = Chip(2, cpus=(0, 1))
MACHINE = {"hostname": "here", "cpu": "Model 1"}


def runs(*seconds, first=0, step=1):
    return tuple(TimedRun(index, first + step * index, program) for index, program in enumerate(seconds))


def program(name, *alone, **more):
    return ProfiledProgram(name, Workload.of([name]), runs(*alone), **more)


def profile(programs, co_runs=(), **more):
    return CoRunProfile(MACHINE, (CHIP,), tuple(programs), tuple(co_runs), **more)


WHOLE = profile(
    [
        program("a", 1.0, 1.1, 1.0, failed=(FailedRun(3, 9, "exit code 1"),), counted=Counted(4e9, 2e9, 1e6)),
        program("b", 2.0, 2.1, 2.2),
        program("\udcff", 1.0),
    ],
    [
        CoRun("a", ("b",), runs(1.25, 1.375, 1.3, first=20), restarts=4, trouble=("b ended early.",)),
        CoRun("b", ("a",), runs(2.0, 2.2, 2.1, first=30)),
    ],
    left_out=(LeftOut(("a", "\udcff"), "the budget was used up"),),
    cpu=0,
    alongside_cpus=(1,),
    interrupted=True,
)


def test_a_profile_is_read_back_from_json():
    text = json.dumps(WHOLE.to_json())
    assert CoRunProfile.of_text(text, "file") == WHOLE
    assert json.loads(text)["degradations"][0]["cost"] == WHOLE.degradations[0].cost


def test_the_cost_is_of_runs_of_the_same_round():
    """The machine is three times as slow in every other round: a comparison of all with all would see noise alone."""
    slow = [3.0 if index % 2 else 1.0 for index in range(10)]
    degradation = profile(
        [program("a", *slow), program("b", 1.0)],
        [CoRun("a", ("b",), runs(*(1.25 * seconds for seconds in slow), first=100))],
    ).degradation("a", ["b"])
    assert degradation.cost == pytest.approx(0.2)
    assert degradation.error == pytest.approx(0, abs=1e-12)
    assert degradation.low == pytest.approx(0.2)
    assert degradation.high == pytest.approx(0.2)
    assert degradation.rounds == 10


def test_a_round_without_one_of_both_counts_for_nothing():
    measured = profile(
        [program("a", 1.0, 1.0), program("b", 1.0)],
        [CoRun("a", ("b",), (TimedRun(1, 5, 2.0), TimedRun(7, 6, 90.0))), CoRun("b", ("a",), (TimedRun(5, 7, 1.0),))],
    )
    degradation = measured.degradation("a", ["b"])
    assert (degradation.cost, degradation.error, degradation.rounds) == (0.5, None, 1)
    assert math.isinf(degradation.low)
    assert measured.degradation("b", ["a"]) is None
    assert measured.to_json()["degradations"][0]["low"] is None


def test_costs_are_measured_and_have_the_errors_of_their_rounds():
    costs = WHOLE.costs()
    assert costs.origin is CostOrigin.MEASURED
    assert costs.by_pair().keys() == {("a", "b"), ("b", "a")}
    assert all(pair.error > 0 for pair in costs.pairs)


def test_a_set_is_one_where_all_of_its_programs_were_timed():
    names = ("a", "b", "c")
    times = {"a": 2.0, "b": 1.25, "c": 1.0}
    some = [CoRun(n, tuple(m for m in names if m != n), runs(times[n], times[n], first=10)) for n in names]
    programs = [program(n, 1.0, 1.0) for n in names]
    (only,) = profile(programs, some).costs().sets
    assert only.tasks == names
    assert only.costs == pytest.approx((0.5, 0.2, 0.0))
    with pytest.raises(UsageError, match="There are no costs"):
        profile(programs, some[:2]).costs()


def test_one_that_ran_faster_alongside_others_costs_nothing_and_is_not_sure():
    measured = profile(
        [program("a", 1.0, 1.01, 0.99, 1.0, 1.01, 0.99), program("b", 1.0)],
        [CoRun("a", ("b",), runs(0.8, 0.8, 0.8, 0.8, 0.8, 0.8, first=50))],
    )
    (entry,) = measured.degradations
    assert entry.faster
    assert entry.cost == pytest.approx(-0.25, abs=0.01)
    (cost,) = measured.costs().pairs
    assert cost.cost == 0
    assert cost.error == pytest.approx(0.25, abs=0.01)


def test_tasks_have_pressure_and_sensitivity_by_what_was_lost():
    measured = profile(
        [program("load", 1.0, 1.0), program("victim", 2.0, 2.0), program("fails")],
        [CoRun("load", ("victim",), runs(1.0, 1.0, first=10)), CoRun("victim", ("load",), runs(4.0, 4.0, first=20))],
    )
    load, victim = measured.tasks()
    assert (load.solo_s, load.pressure, load.sensitivity) == (1.0, 0.5, 0.0)
    assert (victim.solo_s, victim.pressure, victim.sensitivity) == (2.0, 0.0, 1.0)


def test_with_counters_pressure_is_misses_and_tasks_have_cycles_per_instruction():
    counted = Counted(3e9, 2e9, 4e6)
    measured = profile([program("a", 1.0, counted=counted), program("b", 1.0, counted=counted)])
    assert measured.tasks()[0].cpi == 1.5
    assert measured.tasks()[0].pressure == pytest.approx(2.0)
    assert Counted(1.0, 0.0).cpi is None


def test_another_machine_is_told_by_what_both_know():
    assert WHOLE.other_machine(MACHINE) == ()
    assert WHOLE.other_machine({"hostname": "there"}) == ("hostname",)
    assert WHOLE.other_machine({}) == ()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TimedRun(0, 0, math.nan), "took nan s"),
        (lambda: TimedRun(0, 0, -1.0), "took -1 s"),
        (lambda: TimedRun(-1, 0, 1.0), "Both count from 0"),
        (lambda: Counted(-1.0, 1.0), "number of cycles is -1"),
        (lambda: Counted(1.0, 1.0, math.inf), "number of misses is inf"),
        (lambda: profile([]), "no programs"),
        (lambda: CoRunProfile({}, (), (program("a"),)), "no CPUs that share a cache"),
        (lambda: profile([program("a"), program("a")]), "are called a"),
        (lambda: profile([program("a")], [CoRun("a", ("x",))]), "speaks of 'x'"),
        (lambda: profile([program("a")], [CoRun("a", ())]), "none is named"),
        (lambda: profile([program("a")], [CoRun("a", ("a",))]), "next to itself"),
        (lambda: profile([program("a"), program("b")], [CoRun("a", ("b", "b"))]), "same program twice"),
        (
            lambda: profile([program("a"), program("b")], [CoRun("a", ("b",))] * 2),
            "a next to b is in the profile twice",
        ),
        (lambda: profile([program("a")], left_out=(LeftOut(("a", "y"), "why"),)), "speaks of 'y'"),
        (
            lambda: profile([ProfiledProgram("a", Workload.of("a"), (TimedRun(0, 0, 1.0), TimedRun(0, 1, 1.0)))]),
            "two runs of one kind in round 0",
        ),
    ],
)
def test_invalid_co_runs_are_refused_in_a_sentence(make, words):
    with pytest.raises(UsageError, match=words):
        make()


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{}", "[" * 100_000, '{"kind": "co_run_profile"}',
     json.dumps(WHOLE.to_json()).replace('"seconds": 2.0', '"seconds": -2.0'),
     json.dumps(WHOLE.to_json()).replace('"seconds": 2.0', '"seconds": NaN'),
     json.dumps(WHOLE.to_json()).replace('"seconds": 2.0', '"seconds": "x"')],
)  # fmt: skip
def test_a_file_that_is_no_profile_is_refused_by_name(text):
    with pytest.raises(UsageError, match=r"my\.json"):
        CoRunProfile.of_text(text, "my.json")


@given(
    times=st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)), min_size=1, max_size=12),
    scale=st.floats(0.1, 9),
)
def test_costs_are_below_one_whatever_was_measured_and_the_unit_of_time_does_not_matter(times, scale):
    def made(by):
        return profile(
            [program("a", *(by * first for first, _ in times)), program("b", 1.0)],
            [CoRun("a", ("b",), runs(*(by * other for _, other in times), first=len(times)))],
        )

    degradation = made(1.0).degradation("a", ["b"])
    assert degradation.cost < 1
    assert degradation.low <= degradation.cost + 1e-9
    assert degradation.cost <= degradation.high + 1e-9
    made(1.0).costs()
    made(1.0).tasks()
    assert made(scale).degradation("a", ["b"]).cost == pytest.approx(degradation.cost, rel=1e-3, abs=1e-3)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    draw = random.Random(4)
    held, truth, trials = 0, 0.2, samples(60, 1000)
    for _ in range(trials):
        noise = [draw.gauss(0, 0.05) for _ in range(8)]
        alone = [math.exp(draw.gauss(0, 0.05)) for _ in noise]
        measured = profile(
            [program("a", *alone), program("b", 1.0)],
            [CoRun("a", ("b",), runs(*(1.25 * math.exp(seconds) for seconds in noise), first=8))],
        )
        degradation = measured.degradation("a", ["b"])
        held += degradation.low <= truth <= degradation.high
    assert held >= at_least(trials, 0.95, 0.02)
