"""The recommended timer, and the answer of --check."""

import pytest
from tests.unit.timers import cell

from becalm.analysis.clock_choice import check, choices
from becalm.results.clock import TimerCell


def cells(*rows):
    return [TimerCell.of(row) for row in rows]


def test_the_shortest_counts_and_among_equals_the_cheaper():
    recommended = choices(
        cells(
            cell("clock_gettime", t_min=540.0, median_cost=30.0),
            cell("barrier", t_min=560.0, median_cost=20.0),
            cell("PAPI_get_real_nsec", t_min=900.0, median_cost=5.0),
            cell("clock_gettime", "L2", t_min=800.0),
            cell("barrier", "L2", t_min=None),
            cell("barrier", "memory", t_min=None),
        )
    )
    assert [(choice.flush, choice.cell.timer) for choice in recommended] == [("L1", "barrier"), ("L2", "clock_gettime")]


def test_reads_that_cost_the_same_do_not_hide_a_shorter_time():
    recommended = choices(
        cells(cell("clock_gettime", t_min=540.0, median_cost=20.0), cell("barrier", t_min=510.0, median_cost=20.03))
    )
    assert recommended[0].cell.timer == "barrier"


def test_unordered_timers_and_cycle_counters_are_not_recommended():
    recommended = choices(
        cells(cell("bare", t_min=100.0), cell("cycles", t_min=90.0, unit="cycles"), cell("fenced", t_min=520.0))
    )
    assert [choice.cell.timer for choice in recommended] == ["fenced"]


@pytest.mark.parametrize(("wanted", "code"), [(250, 1), (520, 0), (1_000, 0)])
def test_a_check_goes_by_the_nearest_cache(wanted, code):
    answer = check(cells(cell(t_min=520.0), cell(flush="L2", t_min=100.0)), wanted)
    assert (answer.exit_code, answer.timer, answer.t_min_ns) == (code, "barrier", 520.0)


def test_an_unmeasured_timer_decides_no_check():
    assert check(cells(cell(t_min=None), cell(flush="L2")), 250).exit_code == 3
    assert check([], 250).exit_code == 3
