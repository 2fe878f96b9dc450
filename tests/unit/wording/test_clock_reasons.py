"""Why timers have no result: alike reasons are one, with what their numbers lie between, and each cell has its own."""

import io

import pytest
from rich.console import Console
from tests.unit import timers

from becalm.report.forms import as_json, as_markdown, on_terminal
from becalm.results.clock import ClockReport, TimerAbsence, TimerCell
from becalm.wording import clock_reasons

NOISE = "noise: {} % of the measurements were disturbed by the operating system, and at most 1 % may be removed"


def cell(timer, flush, *, removed=None, sets=None, variation=0.02):
    """Return a cell without t_min for its noise, or without t_diff for want of time."""
    why = None if removed is None else NOISE.format(removed)
    late = None if sets is None else f"budget: its time was used up after {sets} sets of measurements"
    more = {"no_t_min": why, "no_t_diff": late, "cleaned_variation": variation, "reference_additions": 1024}
    evaluated = timers.cell(timer, flush, t_min=None if why else 520.0, t_diff=None if late or why else 20.0, **more)
    return TimerCell.of(evaluated)


def report(*cells, absences=()):
    return ClockReport("Said.", timers.TRUST["trust"], (), cells, tuple(absences))


REPORT = report(
    cell("barrier", "L1", removed="47.2", variation=0.026),
    cell("fenced", "L1"),
    cell("bare", "L1", removed="1.7", variation=0.0041),
    cell("barrier", "L2", removed="9.5", variation=0.17),
    cell("fenced", "L2", removed="8.0", variation=0.17),
    cell("barrier", "L3", sets=60),
    cell("bare", "L3", sets=1521),
    absences=[TimerAbsence("cycles", None, "no counter"), TimerAbsence(None, "memory", "it would need 28 min")],
)


def test_alike_reasons_are_one_line_with_what_their_numbers_lie_between():
    assert list(clock_reasons.grouped(REPORT)) == [
        (
            "t_min of 4 cells",
            f"{NOISE.format('1.7 to 47.2')}. At 1024 additions they vary by 0.41 to 17 %\n"
            "L1: barrier, bare; L2: all timers",
        ),
        (
            "t_diff of 2 cells",
            "budget: its time was used up after 60 to 1521 sets of measurements\nL3: all timers",
        ),
        ("cycles", "no counter"),
        ("memory", "it would need 28 min"),
    ]


def test_flushes_with_the_same_timers_stand_together():
    evaluation = report(*(cell(timer, flush, sets=9) for flush in ("L1", "L2") for timer in ("barrier", "bare")))
    ((_, text),) = clock_reasons.grouped(evaluation)
    assert text.splitlines()[1] == "L1, L2: all timers"


def test_each_cell_keeps_its_own_reason_outside_of_the_terminal():
    by_name = {reason.name: reason.full_text for reason in clock_reasons.reasons(REPORT)}
    assert by_name["bare, L1"] == f"{NOISE.format('1.7')}. At 1024 additions it varies by 0.41 %"
    assert by_name["bare, L3"] == "t_diff: budget: its time was used up after 1521 sets of measurements"
    assert "fenced, L1" not in by_name
    for number in ("47.2", "9.5", "8.0"):
        assert NOISE.format(number).split("'")[0] in as_markdown(REPORT)
        assert NOISE.format(number) in as_json(REPORT)


def test_hints_explain_only_the_words_in_the_report():
    assert [word in clock_reasons.hints(REPORT) for word in ("noise:", "budget:", "overlap")] == [True, True, False]
    assert clock_reasons.hints(report(cell("fenced", "L1"))) == ""


def test_sentences_that_differ_in_more_are_not_merged():
    assert clock_reasons.merged(["from 1,024 on", "from 5 on"]) == "from 5 to 1,024 on"
    assert clock_reasons.merged(["only 7", "only 7"]) == "only 7"
    with pytest.raises(ValueError, match="differ in more"):
        clock_reasons.merged(["7 apples", "7 pears"])


@pytest.mark.parametrize("width", [50, 80, 200])
def test_a_narrow_terminal_explains_the_columns_that_it_shows(width):
    out = io.StringIO()
    Console(file=out, width=width).print(on_terminal(REPORT, plain=True, columns=width))
    text = out.getvalue()
    (head,) = (line.split() for line in text.splitlines() if line.startswith("timer "))
    for column in ("t_min", "CV", "t_diff", "null", "raw", "removed", "sets"):
        assert (column in head) == (f"{column}: " in text.replace("\n", " ")), column
    assert ("sets" in head) == (width > 50)
