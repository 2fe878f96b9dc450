"""The largest part of a delay: of a run, and of programs and machines."""

from types import SimpleNamespace

import pytest

from becalm.load.bottlenecks import bottleneck, bottlenecks, mean_delay
from becalm.load.waterfall import IO, NAMES, QUEUE, REFERENCE, STEAL, Bar


def bars(**ns):
    names = {"reference": REFERENCE, "queue": QUEUE, "io": IO, "steal": STEAL}
    return [Bar(names[name], value, None, True) for name, value in ns.items()]


def case(program, machine, delay, cause, **ns):
    point = SimpleNamespace(delay=SimpleNamespace(factor=delay), runs=10)
    drawn = bars(reference=100, **ns)
    name, share = bottleneck(drawn, delay)
    return SimpleNamespace(
        program=program, machine=machine, runs=10, points=[point], bars=drawn, bottleneck=name,
        bottleneck_share=share, attribution=SimpleNamespace(cause=cause),
    )  # fmt: skip


def test_the_largest_bar_on_top_of_the_reference():
    assert bottleneck(bars(reference=900, queue=30, io=70, steal=-5), 1.1) == (IO, 0.7)
    assert bottleneck(bars(reference=900, queue=None, io=None), 1.1) == (None, None)
    assert bottleneck(bars(reference=900, queue=30), 1.004) == (None, None), "half a percent is no delay"


def test_the_mean_delay_counts_runs():
    points = [SimpleNamespace(delay=SimpleNamespace(factor=factor), runs=runs) for factor, runs in ((1, 3), (2, 1))]
    assert mean_delay(points, 4) == 1.25


def test_one_program_on_one_machine_is_one_cell():
    (result,) = bottlenecks([case("p", "m", 1.5, "CPU", queue=50)])
    assert (result.program, result.machine, result.bar, result.share, result.cause) == ("p", "m", QUEUE, 1.0, "CPU")


def test_margins_count_each_case_alike_however_slow_it_was():
    cases = [
        case("p", "m", 9.0, "CPU", queue=800),
        case("q", "m", 1.2, "disk", io=16, queue=4),
        case("r", "m", 1.2, "disk", io=20),
        case("s", "m", 1.0, None),
    ]
    margin = bottlenecks(cases)[-1]
    assert (margin.program, margin.machine, margin.runs) == (None, "m", 40)
    assert margin.bar == IO
    assert margin.share == pytest.approx((0 + 0.8 + 1.0) / 3)
    assert margin.cause is None, "the causes differ"
    assert margin.delay == pytest.approx((9 + 1.2 + 1.2 + 1) / 4)


def test_a_margin_over_machines_is_of_one_program():
    largest = bottlenecks([case("p", "m", 1.5, "CPU", queue=50), case("p", "n", 1.5, "CPU", queue=50)])
    assert [(bottleneck.program, bottleneck.machine) for bottleneck in largest] == [("p", "m"), ("p", "n"), ("p", None)]
    assert largest[-1].cause == "CPU"
    assert largest[-1].bar in NAMES
