"""`becalm clock` on played events: what is said, kept, resumed, checked and written."""

import csv
import json

import pytest
from click.testing import CliRunner
from tests.unit.timers import DONE, TRUST, cell, planned

import becalm
from becalm.analysis.clock_choice import region_limit
from becalm.cli.main import becalm as group
from becalm.errors import Interrupted, UsageError
from becalm.report.forms import as_html, as_markdown, draw_all
from becalm.results.clock import ClockReport, TimerCell
from becalm.store import timer_limits
from becalm.store.timer_cells import TimerCells
from becalm.verbs import clock as verb
from becalm.wording.clock import DOUBTS

ABSENT = {"event": "absent", "timer": None, "flush": "memory", "reason": "writing 128 MiB takes 40.2 ms"}


@pytest.fixture
def played(monkeypatch, tmp_path):
    """Plays events (an exception is raised) and keeps the requests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    requests = []

    def play(*events):
        def evaluate(request):
            requests.append(request)
            for event in events:
                if isinstance(event, BaseException):
                    raise event
                yield event

        monkeypatch.setattr(verb, "evaluate", evaluate)
        return requests

    return play


def test_trust_choices_and_reasons_are_reported(played):
    played(TRUST, ABSENT, planned(2), cell(), cell("clock_gettime", t_min=None, t_diff=None), DONE)
    evaluation = becalm.clock()
    assert (
        evaluation.sentence
        == "With all code and data near: barrier times regions from 520 ns on, changes of 21 ns and more."
    )
    assert evaluation.exit_code == 0
    page = as_markdown(evaluation)
    for words in ("2600.000 MHz within 0.40 ppm", "10 ns (26 ticks)", "nothing passed", "writing 128 MiB"):
        assert words in page, words
    assert "520" in as_html(evaluation)
    draw_all(evaluation)
    value = json.loads(json.dumps(evaluation.to_json()))
    assert value["kind"] == "clock"
    assert value["cells"][0]["reference"] == [[520.0, 60], [530.0, 40]]


def test_a_result_below_the_step_is_reported_as_such(played):
    played(TRUST, planned(1), cell(t_diff=6.0, t_diff_below_quantum=True), DONE)
    assert "≤ 10 ns" in as_markdown(becalm.clock())


def test_every_doubt_of_the_engine_has_words(played):
    played({**TRUST, "doubts": list(DOUBTS)}, planned(0), DONE)
    evaluation = becalm.clock()
    assert evaluation.sentence.splitlines() == ["No cell was measured.", *DOUBTS.values()]


@pytest.mark.parametrize(("wanted", "t_min", "code"), [("600ns", 520.0, 0), ("250ns", 520.0, 1), ("250ns", None, 3)])
def test_check_ends_with_its_code(played, wanted, t_min, code):
    played(TRUST, planned(1), cell(t_min=t_min), DONE)
    done = CliRunner().invoke(group, ["clock", "--check", wanted, "--quiet"])
    assert done.exit_code == code, done.output
    assert wanted.removesuffix("ns") in done.output


def test_cells_from_before_an_interruption_are_reported_and_resumed(played):
    played(TRUST, planned(2), cell(), KeyboardInterrupt())
    evaluation = becalm.clock(seed=7)
    assert evaluation.interrupted
    assert len(evaluation.cells) == 1
    assert "--resume" in evaluation.sentence
    requests = played(TRUST, planned(1), cell(flush="L2"), DONE)
    again = becalm.clock(seed=7, resume=True)
    assert requests[-1]["done"] == [("barrier", "L1")]
    assert [cell.flush for cell in again.cells] == ["L1", "L2"]
    assert again.resumed == 1
    # Another question is another evaluation, and so is the same one without --resume.
    played(TRUST, planned(0), DONE)
    assert becalm.clock(seed=8, resume=True).cells == ()


def test_cells_of_another_machine_are_not_mixed_in(played):
    played(TRUST, planned(2), cell(), KeyboardInterrupt())
    becalm.clock()
    played({**TRUST, "trust": {**TRUST["trust"], "hz": 2.0e9}}, planned(1), DONE)
    with pytest.raises(UsageError, match="another machine"):
        becalm.clock(resume=True)


@pytest.mark.parametrize("options", [["--check", "250ns"], []])
def test_an_interruption_that_leaves_nothing_to_answer_by_ends_with_its_code(played, options):
    played(TRUST, planned(2), KeyboardInterrupt())
    assert CliRunner().invoke(group, ["clock", *options]).exit_code == 130
    played(TRUST, planned(2), cell(), KeyboardInterrupt())
    assert CliRunner().invoke(group, ["clock", *options]).exit_code in (0, 1)


def test_an_interruption_before_anything_was_known_is_one(played):
    played(KeyboardInterrupt())
    with pytest.raises(Interrupted):
        becalm.clock()


def test_ticks_are_written(played, tmp_path):
    played(TRUST, planned(1), cell(), DONE)
    becalm.clock(ticks=tmp_path / "ticks.csv")
    with (tmp_path / "ticks.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[1:] == [
        ["barrier", "L1", "2080", "nanoseconds", "520.0", "60"],
        ["barrier", "L1", "2080", "nanoseconds", "530.0", "40"],
    ]


def test_quick_leaves_out_what_takes_long(played):
    requests = played(TRUST, planned(0), DONE)
    becalm.clock(quick=True)
    assert (requests[-1]["flushes"], requests[-1]["budget_ns"]) == (["L1", "L2"], 18_000_000_000)
    becalm.clock(quick=True, flushes=("memory",), timers=("barrier",))
    assert (requests[-1]["flushes"], requests[-1]["timers"]) == (["memory"], ["barrier"])


@pytest.mark.parametrize("wrong", [{"filter": "magic"}, {"search": "bisection"}])
def test_words_that_name_nothing_are_refused(wrong, played):
    with pytest.raises(UsageError, match="there are"):
        becalm.clock(**wrong)


def test_a_cell_that_was_tried_again_counts_once_and_is_reported(played):
    missing = {"event": "absent", "timer": "barrier", "flush": "L1", "reason": "a multiplication took 3.4 additions"}
    played(
        TRUST,
        planned(2),
        missing,
        cell("fenced", t_min=None),
        {"event": "again", "cells": 2},
        cell(),
        cell("fenced", tries=2),
        DONE,
    )
    evaluation = becalm.clock()
    assert [(cell.timer, cell.tries) for cell in evaluation.cells] == [("fenced", 2), ("barrier", 1)]
    assert evaluation.absences == ()
    assert "Each figure is the smallest of 1 to 2 searches" in evaluation.sentence


def test_where_the_step_binds_the_table_says_so(played):
    played(TRUST, planned(1), cell(quantum_binds=True), DONE)
    evaluation = becalm.clock()
    assert "from 520 ns on (the counter's step allows no less)" in evaluation.sentence
    assert "| 520 ns\\* |" in as_markdown(evaluation) or "520 ns*" in as_markdown(evaluation)


def test_an_evaluation_is_kept_checked_and_compared_without_measuring(played, tmp_path):
    played(TRUST, planned(2), cell(t_min=520.0), cell("fenced"), DONE)
    becalm.clock(keep="monday")
    played(TRUST, planned(2), cell(t_min=61.0, t_diff=20.0), cell("fenced", t_min=None), DONE)
    becalm.clock()
    played(AssertionError("nothing is measured"))
    assert becalm.clock(stored="monday", check="600ns").exit_code == 0
    assert becalm.clock(stored="monday", check="250ns").exit_code == 1
    assert becalm.clock(stored="last", check="250ns").exit_code == 0
    (tmp_path / "here.json").write_text(json.dumps(becalm.clock(stored="monday").to_json()))
    comparison = becalm.compare_clocks(str(tmp_path / "here.json"), "last")
    assert [(pair.timer, pair.figure, pair.differs) for pair in comparison.pairs] == [
        ("barrier", "t_min", True),
        ("barrier", "t_diff", False),
        ("fenced", "t_min", None),
        ("fenced", "t_diff", False),
    ]
    assert "1 figure of 3 differ" in comparison.sentence
    draw_all(comparison)
    done = CliRunner().invoke(group, ["clock", "--compare", "monday", "last", "--json"])
    assert json.loads(done.stdout)["pairs"][0]["ratio"] == pytest.approx(61 / 520)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": "last"}, "--keep takes a name"),
        ({"keep": "../x"}, "--keep takes a name"),
        ({"stored": "tuesday"}, "there are: none yet"),
    ],
)
def test_names_of_kept_evaluations_that_are_none(played, options, words):
    played(TRUST, planned(0), DONE)
    with pytest.raises(UsageError, match=words):
        becalm.clock(**options)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "clock"}', '{"kind": "verdict"}'])
def test_a_file_that_is_no_evaluation_is_refused(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="is not an evaluation of timers"):
        becalm.compare_clocks(str(path), str(path))


def test_a_host_is_opened_and_asked(played, monkeypatch):
    requests = []

    def evaluate_on(host, request):
        requests.append((host.name, request["timers"]))
        yield from (TRUST, planned(0), DONE)

    monkeypatch.setattr(verb, "evaluate_on", evaluate_on)
    evaluation = becalm.clock(host="null", timers=("barrier",))
    assert (requests, evaluation.host) == ([("null", ["barrier"])], "null")


def test_of_an_emulated_processor_it_says_so(played, monkeypatch):
    monkeypatch.setattr(verb, "evaluate_on", lambda host, request: iter((TRUST, planned(0), DONE)))
    monkeypatch.setattr(verb.hosts, "emulated", lambda host: "its processor is emulated")
    evaluation = becalm.clock(host="null", timers=("barrier",))
    assert "Times on this host are emulated (its processor is emulated)" in evaluation.sentence
    assert (
        evaluation.to_json()["emulated"]
        == type(evaluation).from_json(evaluation.to_json()).emulated
        == "its processor is emulated"
    )
    played(TRUST, planned(0), DONE)
    here = becalm.clock(timers=("barrier",))
    assert (here.emulated, "emulated" in here.sentence) == ("", False)


@pytest.mark.parametrize("host", ["null", "sim:laptop-a"])
def test_hosts_without_a_processor_have_no_timers(host):
    with pytest.raises(UsageError, match=f"{host} has no processor whose timers"):
        becalm.clock(host=host, timers=("barrier",))


# --- what timed regions are judged by ---------------------------------------------------------------------------------


def test_a_limit_stays_until_another_answer_replaces_it(played):
    played(TRUST, planned(1), cell(t_diff=21.0), DONE)
    becalm.clock()
    limit = timer_limits.load_limits()["local"]
    assert (limit.t_diff_ns, limit.t_min_ns, limit.hz) == (21.0, 520.0, 2.6e9)
    played(UsageError("'papi' is not a timer"))
    with pytest.raises(UsageError):
        becalm.clock(timers=["papi"])
    assert TimerCells().read({}) == []
    for events in ((cell("clock_gettime"),), (cell(t_min=None, t_diff=None),)):
        played(TRUST, planned(1), *events, DONE)
        becalm.clock()
        assert timer_limits.load_limits() == {"local": limit}
    played(TRUST, planned(1), cell(t_diff=5.0), DONE)
    becalm.clock()
    assert timer_limits.load_limits()["local"].t_diff_ns == 5.0


def test_a_refused_question_does_not_replace_the_one_before(played):
    played(TRUST, planned(1), cell(), DONE)
    becalm.clock(seed=3)
    played(UsageError("'papi' is not a timer"))
    with pytest.raises(UsageError):
        becalm.clock(timers=["papi"])
    requests = played(TRUST, planned(0), DONE)
    becalm.clock(seed=3, resume=True)
    assert requests[-1]["done"] == [("barrier", "L1")]


def test_an_emulated_machine_has_no_limit():
    cells = (TimerCell.of(cell()),)
    assert region_limit(ClockReport("", TRUST["trust"], (), cells, ())) is not None
    assert region_limit(ClockReport("", TRUST["trust"], (), cells, (), emulated="times are QEMU's")) is None


def test_an_evaluation_without_an_answer_is_not_the_last(played):
    played(TRUST, planned(1), cell(), DONE)
    becalm.clock()
    played(TRUST, planned(1), cell(t_min=None, t_diff=None), DONE)
    becalm.clock()
    assert becalm.clock(stored="last").cells[0].t_min is not None


# --- options ----------------------------------------------------------------------------------------------------------


def test_a_quick_evaluation_takes_its_budget(played):
    requests = played(TRUST, planned(0), DONE)
    becalm.clock(quick=True, budget="5s")
    becalm.clock(quick=True)
    becalm.clock()
    assert [request["budget_ns"] for request in requests] == [5_000_000_000, 18_000_000_000, 300_000_000_000]
    with pytest.raises(UsageError, match="too short for one cell"):
        becalm.clock(budget="1ms")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stored", "last", "--cpu", "0"], "--stored measures nothing, so --cpu has no effect"),
        (["--compare", "a", "b", "--check", "1us"], "--compare measures nothing, so --check has no effect"),
        (["--timer", "./nowhere.so:read"], "names a file that is not there: ./nowhere.so"),
        (["--timer", "./a.so:read", "--host", "ssh://lab"], "ssh://lab cannot load it"),
    ],
)
def test_options_without_effect_are_refused(played, words, message):
    done = CliRunner().invoke(group, ["clock", *words])
    assert message in f"{done.output}{done.exception}"
    assert done.exit_code != 0
