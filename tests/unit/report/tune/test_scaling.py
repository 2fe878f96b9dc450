"""The scaling curve of programs that differ in one number."""

import io
import re

import pytest
from rich.console import Console

from becalm.report.forms import as_html, as_markdown, on_terminal
from becalm.report.tune.scaling import curve, numbered
from becalm.verbs.tune import tune

GROUPS = (5, 20, 40)
FACTORS = ("sched_min_granularity_ns=100000..1000000000ns:log", "sched_latency_ns=100000..1000000000ns:log")


@pytest.mark.parametrize(
    ("programs", "name", "numbers"),
    [
        (("hackbench -g 5", "hackbench -g 10", "hackbench -g 20"), "hackbench -g …", [5, 10, 20]),
        (("x --n=1.5 3", "x --n=2 3", "x --n=4 3"), "x --n=… 3", [1.5, 2, 4]),
        (("sort a1", "sort a2", "sort a3"), None, None),
        (("x 1 2", "x 2 3", "x 3 4"), None, None),
        (("x 1", "y 1", "z 1"), None, None),
        (("x 5", "x 10"), None, None),
        (("x 5", "x 5.0", "x 10"), None, None),
    ],
)
def test_programs_that_differ_in_one_number_are_a_curve(programs, name, numbers):
    result = numbered(programs)
    assert (result is None) == (name is None)
    if result is not None:
        assert result[0] == name
        assert list(result[1].values()) == numbers


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    store = str(tmp_path_factory.mktemp("scaling") / "runs.db")
    programs = [f"hackbench -g {groups}" for groups in GROUPS]
    return tune(
        programs, host="sim:scheduler", seed=3, minimize="time", factors=FACTORS, confirm_loops=4, single_out=False,
        budget="none", store=store,
    )  # fmt: skip


def test_each_number_has_both_times(verdict):
    fitted_curve = curve(verdict)
    assert [point[0] for point in fitted_curve.points] == list(GROUPS)
    assert all(before.mean_ns.value > after.mean_ns.value for _, before, after, _ in fitted_curve.points)


def test_it_is_in_every_form_of_the_report(verdict):
    out = io.StringIO()
    Console(file=out, width=80).print(on_terminal(verdict, columns=80))
    assert re.search(r"^40 +[\d.]+ s +[\d.]+ s +[\d.]+ %", out.getvalue(), re.MULTILINE)
    assert "## Scaling" in as_markdown(verdict)
    assert "Mean times of hackbench -g … without and with the settings: 5 " in as_html(verdict)
