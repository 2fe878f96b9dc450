"""Ticks of factors: short where numbers are long, and labels that do not touch."""

from itertools import pairwise

import pytest

from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.report.design.axes import SLIM, _lines, factor_axis, labelled, short, tick


@pytest.mark.parametrize(
    ("level", "message"),
    [(0, "0"), (0.25, "0.25"), (264, "264"), (1000, "1000"), (1e4, "10k"), (1e6, "1M"), (-2e4, "-20k"), (2e10, "20G")],
)  # fmt: skip
def test_long_numbers_are_short_ticks(level, message):
    assert short(level) == message


def test_times_beyond_hours_are_in_seconds_and_others_have_their_units():
    long, usual = Factor("wait", 1.0, 2e6, "s", Scale.LOG), Factor("slice", 1e5, 1e8, "ns", Scale.LOG)
    assert (tick(long, 1e6), labelled(long)) == ("1M", "wait, s")
    assert (tick(usual, 1e7), labelled(usual)) == ("10 ms", "slice")


@pytest.mark.parametrize(
    ("choices", "lines"),
    [(("on", "off"), 1), (("always", "madvise", "never"), 2), (("none", "voluntary", "full", "lazy"), 2),
     (("always", "defer", "defer+madvise", "madvise", "never"), 3)],
)  # fmt: skip
def test_labels_of_choices_stand_on_as_many_lines_as_they_need(choices, lines):
    assert _lines(choices, SLIM) == lines


def test_labels_that_are_drawn_do_not_overlap():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from becalm.report.design.axes import ROOM
    from becalm.report.drawing import THIRD, figure

    factor = Factor("defrag", choices=("always", "defer", "defer+madvise", "madvise", "never"))
    with figure(2.54, width=THIRD, margins=ROOM) as (drawn, axes):
        axes.set_xlim(-0.5, 4.5)
        factor_axis(axes, True, factor, 4)
        FigureCanvasAgg(drawn).draw()
        boxes = [xticklabel.get_window_extent() for xticklabel in axes.get_xticklabels()]
        name = axes.xaxis.label.get_window_extent()
        assert name.y0 >= 0, "the name stands within the picture"
    # A box has all lines of a label, the empty ones too: what is written is its lowest part.
    rows = {line: [boxes[index] for index in range(len(boxes)) if index % 3 == line] for line in range(3)}
    for row in rows.values():
        assert all(first.x1 < other.x0 for first, other in pairwise(row))
