"""Values at Python's prompt: results there and in notebooks, columns of any result, lists of programs."""

import pytest
from tests.support.no_repository import no_repository  # noqa: F401

import becalm
from becalm.errors import UsageError
from becalm.results.compare import Verdict

SIM = {"host": "sim:normal", "seed": 1}


@pytest.fixture
def verdict(store):
    return becalm.compare("spin 20ms", "spin 21ms", runs=5, store=store, **SIM)


def test_programs_are_given_one_by_one_or_as_a_list(verdict, store):
    listed = becalm.compare(["spin 20ms", "spin 21ms"], runs=5, store=store, **SIM)
    assert [summary.name for summary in listed.summaries] == [summary.name for summary in verdict.summaries]
    alone = becalm.run(["spin 20ms"], runs=3, store=store, **SIM)
    assert alone.summaries[0].name == becalm.run(["spin", "20ms"], runs=3, store=store, **SIM).summaries[0].name


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (5, r"a Workload or a function, not 5 \(int\)"),
        (None, r"not None \(NoneType\)"),
        (["spin", 1], r"A list of arguments must contain strings, not 1 \(int\)"),
        ([["spin", "1s"]], "For a list of programs use compare"),
        (["spin 1s", "spin 2s"], "'spin 1s' is a command line, and"),
        ([], "The command is empty"),
    ],
)
def test_invalid_commands_are_refused_in_a_sentence(command, message):
    with pytest.raises(UsageError, match=message):
        becalm.run(command, store=False, **SIM)


def test_an_interpreter_for_a_command_line_is_refused():
    with pytest.raises(UsageError, match="--python is for Python sources"):
        becalm.run("spin 1s", python="/usr/bin/python3", store=False, **SIM)


def test_as_text_a_result_is_its_sentence_and_at_the_prompt_a_line(verdict, study):
    assert str(verdict) == verdict.sentence
    assert repr(verdict).startswith(f"<Verdict of study {verdict.study}: ")
    assert len(repr(verdict)) < 150
    result = study
    assert str(result) == result.sentence
    assert len(repr(result)) < 150
    arms = becalm.columns(result)
    assert len({len(column) for column in arms.values()}) == 1
    assert becalm.columns(result, "arms")["name"]
    assert {"ratio", "ratio_low", "ratio_high"} <= becalm.columns(result, "comparisons").keys()
    assert "<table" in result._repr_html_() or "<pre" in result._repr_html_()
    with pytest.raises(UsageError, match=r"A TuneVerdict has no columns of 'runs'\. It has those of "):
        becalm.columns(result, "runs")


def test_columns_of_what_is_no_result_are_refused():
    with pytest.raises(UsageError, match="not of str"):
        becalm.columns("12", "runs")


@pytest.mark.usefixtures("no_repository")
def test_every_result_has_a_view_for_notebooks(verdict, store):
    shown = becalm.show(verdict.study, store)
    assert "<svg" in shown._repr_html_()
    assert str(shown) == verdict.sentence
    becalm.record("spin 20ms", project="p", commit="c", runs=3, store=store, **SIM)
    assert "<table" in becalm.history("p", store=store)._repr_html_()
    assert isinstance(verdict, Verdict)
