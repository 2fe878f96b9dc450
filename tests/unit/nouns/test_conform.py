"""Values from elsewhere are of their type all through, or are refused with the place that is not."""

import pytest

from becalm.nouns.conform import conform
from becalm.nouns.finding import Interval
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload

RUN = Run(0, 0, 0, 0, 0, 1, 2, 3, None, None, None, None, None, None, None, "ok", 0, 0)
STUDY = Study("run", (Workload.of("sort file"),), (Settings.of({"nice": "-5"}),), options={"confidence": 0.95})


def test_values_of_becalm_pass():
    conform(Study, STUDY, "the study")
    conform(Run, RUN, "a run")
    conform(Workload, Workload.of("a \udcff"), "a program")


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (Run, RUN._replace(wall_ns=2**63), r"a\.wall_ns is 9223372036854775808, which is too large"),
        (Run, RUN._replace(wall_ns=True), r"a\.wall_ns is True"),
        (Run, RUN._replace(status="0"), r"a\.status is '0'"),
        (float, float("nan"), "a is nan, which is not a number"),
        (float, "1", "a is '1'"),
        (str, "\ud800", "cannot be encoded in UTF-8"),
        (str | None, 3, "a is 3"),
        (tuple[int, ...], [1], "not a list"),
        (tuple[int, str], (1,), "not a list of 2"),
        (dict[str, int], {"x": None}, r"a\.x is None"),
        (Study, RUN, "not of the type Study"),
    ],
)
def test_others_are_refused_with_their_place(hint, value, message):
    with pytest.raises(ValueError, match=message):
        conform(hint, value, "a")


def test_ends_of_intervals_may_be_infinite_where_stated():
    conform(Interval, Interval(1.0, float("-inf"), float("inf")), "the mean", finite=False)
    with pytest.raises(ValueError, match=r"the mean\.low is -inf, which is not a number"):
        conform(Interval, Interval(1.0, float("-inf"), float("inf")), "the mean")
    with pytest.raises(ValueError, match=r"the mean\.low is None"):
        conform(Interval, Interval(1.0, None, 2.0), "the mean", finite=False)  # type: ignore[arg-type]


def test_nesting_ends():
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        conform(Study, Study("run", (), options={"x": deep}), "the study")
