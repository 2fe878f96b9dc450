"""`compare --layouts` on simulated hosts: the whole way from the call to the stored result."""

import io
import json
import math

import pytest
from click.testing import CliRunner
from rich.console import Console

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import MachineError, UsageError
from becalm.report import forms
from becalm.results.compare import Answer, Stopped
from becalm.study import layout_builds

BUILDS = {"old_build": "make {seed}", "new_build": "make NEW=1 {seed}"}
SIM = {"host": "sim:calm", "seed": 1, **BUILDS}


@pytest.fixture(autouse=True)
def builds(monkeypatch, store):
    """Builds that do nothing: the layouts of a simulated program are its lengths."""
    monkeypatch.setattr(layout_builds, "run_build", lambda *_: "")
    monkeypatch.setattr(layout_builds, "_content", lambda workload: workload.argv[1:])


def compared(old="spin 2{seed}ms", new=None, **changes):
    return becalm.compare_layouts(old, new, **{"layouts": 4, **SIM, **changes})


def test_equal_layouts_of_equal_programs_show_no_difference():
    comparison = compared()
    assert comparison.difference.answer is Answer.NO_DIFFERENCE_DETECTED
    assert comparison.difference.estimate == pytest.approx(0, abs=0.01)
    assert comparison.stopped is Stopped.PRECISION
    assert [layout.seed for layout in comparison.new.layouts] == [1, 2, 3, 4]
    assert comparison.layout_sd == pytest.approx(0.058, abs=0.01)
    assert comparison.called >= 10
    assert "beyond layout between new and old" in comparison.sentence
    assert "more layouts would narrow the interval" in comparison.sentence


def test_a_difference_beyond_layout_is_told():
    comparison = compared(new="spin 3{seed}ms", fail_above="5%")
    assert comparison.difference.answer is Answer.SLOWER
    assert comparison.exit_code == 1
    assert "new is 4" in comparison.sentence
    assert "Over the limit" in comparison.sentence


def test_the_study_is_shown_again_in_every_form():
    comparison = compared(names=["before", "after"], first_seed=5, runs=3)
    again = becalm.show(comparison.study).verdict
    assert again == comparison
    assert again.old.layouts[0].seed == 5
    forms.draw_all(again)
    page = forms.as_html(again)
    assert "before" in page
    assert page.count("<svg") >= 2
    assert "make NEW=1 {seed}" in page
    assert json.loads(forms.as_json(again))["kind"] == "layouts"


def test_a_study_without_a_stored_result_is_concluded_from_its_runs(monkeypatch):
    comparison = compared(runs=3)
    monkeypatch.setattr("becalm.verbs.records._stored_conclusion", lambda *_: None)
    again = becalm.show(comparison.study).verdict
    assert again.difference == comparison.difference
    assert again.stopped is Stopped.STORED


def test_seeds_without_effect_are_left_out_and_named(monkeypatch):
    monkeypatch.setattr(
        layout_builds, "_content", lambda workload: ("same",) if "24" in workload.argv[1] else workload.argv
    )
    comparison = compared(old="spin 2{seed}ms", new="spin 2{seed}ms ", layouts=4, runs=2)
    assert [side.equal for side in comparison.sides] == [(), ()]
    monkeypatch.setattr(layout_builds, "_content", lambda workload: (str(int(workload.argv[1][1]) // 2),))
    comparison = compared(runs=2)
    assert comparison.old.equal == (3,)
    assert len(comparison.old.layouts) == 3
    words = "old: seed 3 gives a program that another seed gives, too"
    assert any(words in finding.sentence for finding in comparison.findings)


def test_one_round_says_that_layout_and_noise_are_not_told_apart():
    comparison = compared(runs=1)
    assert math.isnan(comparison.layout_sd)
    assert "One round does not tell layout from noise" in comparison.sentence
    forms.draw_all(comparison)


def test_few_layouts_come_with_their_cost():
    assert "2 layouts are few: with 4 the interval would be about" in compared(layouts=2).sentence


def test_measuring_ends_although_all_rounds_are_left_out():
    with pytest.raises(MachineError, match="of them were contaminated by the rule steal>1%"):
        compared(budget="1s", drop_contaminated="steal>1%", unknown_contamination="drop")


@pytest.mark.parametrize("width", [60, 80])
def test_the_report_keeps_to_the_width_of_the_terminal(width):
    out = io.StringIO()
    Console(file=out, width=width).print(forms.on_terminal(compared(runs=3), plain=True, columns=width))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    assert any(line.startswith("difference") and "x" in line for line in lines)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"old_build": None}, "Layouts need --old-build and --new-build"),
        ({"layouts": 501}, "at most 500"),
        ({"layouts": 1}, "at least 2"),
        ({"host": "ssh://elsewhere"}, "leave --host out"),
        ({"names": ["one"]}, "two names that differ"),
        ({"precision": 0.1}, "--precision is not available"),
        ({"metric": "instructions"}, "Instructions are counted"),
        ({"load": False, "drop_contaminated": "steal>1%"}, "Leave --no-load out"),
    ],
)
def test_calls_that_contradict_themselves_are_refused(changes, words):
    with pytest.raises(UsageError, match=words):
        compared(**changes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--layouts", "3", "--where", "{build}/a"], "--where is not available with --layouts"),
        (["--layouts", "3", "a", "b", "c"], "takes the old and the new program"),
        (["--layouts", "3", "--stored", "a", "b"], "with --stored nothing is"),
        (["--old-build", "x", "a", "b"], "--old-build is for --layouts N"),
        (["--layouts", "3", "--host", "sim:calm", "--host", "null", "{build}/a"], "leave --host out"),
    ],
)
def test_the_command_line_refuses_what_does_not_belong_together(arguments, words):
    result = CliRunner().invoke(group, ["compare", *arguments])
    assert isinstance(result.exception, UsageError)
    assert words in str(result.exception)


def test_the_command_line_compares_layouts():
    builds = [part for name, build in BUILDS.items() for part in (f"--{name.replace('_', '-')}", build)]
    words = ["compare", "--layouts", "3", *builds, "--runs", "2", "--host", "sim:calm", "--json", "--no-store"]
    result = CliRunner().invoke(group, [*words, "spin 2{seed}ms", "spin 3{seed}ms"])
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    assert (value["kind"], value["rounds"], value["difference"]["answer"]) == ("layouts", 2, "slower")
    assert value["study"] is None
