"""The tools for agents on simulated machines: what they answer, and what they refuse without consent or budget."""

import json
from contextlib import ExitStack

import pytest
from tests.support.no_repository import outside_of_repositories

from becalm.errors import RefusedError
from becalm.nouns.options.mcp import Consent, McpOptions
from becalm.results.mcp import BULKY
from becalm.results.progress import Quiet
from becalm.study import interrupts
from becalm.study.session_options import SessionOptions
from becalm.verbs import mcp_toolbox, mcp_tools
from becalm.verbs.mcp_toolbox import Toolbox, ToolCall
from becalm.verbs.mcp_tools import TABLE, call, text_of
from becalm.wording import mcp as words

PROGRAM = "spin 20ms"


@pytest.fixture
def box(store):
    """Return a maker of toolboxes on a simulated machine with a store of its own."""

    def make(allow="measure", host="sim:laptop-a", budget="30min", **session):
        options = McpOptions(allow=Consent.of(allow), budget_ns=mcp_toolbox.duration_ns(budget))
        keywords = {"host": host, "store": store, **session}
        return Toolbox(options, SessionOptions.of(keywords))

    return make


def ask(box, tool, listener=None, **arguments):
    answer = call(box, tool, arguments, listener or Quiet())
    assert json.loads(text_of(answer))["sentence"] == answer.sentence
    return answer


def fields(value):
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from fields(part)
    elif isinstance(value, list):
        for part in value:
            yield from fields(part)


ASKED = {
    "doctor": {},
    "run": {"command": PROGRAM, "runs": 5},
    "compare": {"commands": [PROGRAM, "spin 21ms"], "runs": 5},
    "check": {"commands": [PROGRAM, "spin 21ms"], "budget": "2s"},
    "tune": {"programs": [PROGRAM]},
    "apply": {"settings": {"swappiness": 1}},
}
"""A call of each tool that measures or changes something."""


@pytest.mark.parametrize("tool", ["run", "compare", "check"])
def test_a_measurement_answers_with_its_sentence_numbers_and_study(box, tool):
    answer = ask(box(), tool, **ASKED[tool])
    assert not answer.error, answer.sentence
    value = answer.to_json()
    assert value["sentence"]
    assert not BULKY & set(fields(value))
    if tool != "check":
        assert value["study"] == 1
        assert value["result"]["study"] == 1


@pytest.mark.parametrize("tool", ["run", "compare", "check", "tune"])
def test_without_consent_no_program_runs_and_the_option_is_named(box, tool):
    answer = ask(box("look"), tool, **ASKED[tool])
    assert answer.error
    level = "process" if tool == "tune" else "measure"
    assert f"becalm mcp --allow {level}" in answer.sentence


@pytest.mark.parametrize(
    ("settings", "less", "enough"), [({"aslr": "off"}, "measure", "process"), ({"swappiness": 1}, "process", "live")]
)
def test_settings_of_a_program_need_consent_and_those_of_the_machine_more(box, settings, less, enough):
    arguments = {"command": PROGRAM, "runs": 5, "settings": settings}
    refused = ask(box(less), "run", **arguments)
    assert (refused.error, f"--allow {enough}" in refused.sentence) == (True, True)
    assert not ask(box(enough), "run", **arguments).error


def test_an_unknown_setting_is_refused(box):
    answer = ask(box("live"), "run", command=PROGRAM, settings={"warp": 9})
    assert answer.error
    assert "no setting 'warp'" in answer.sentence


def test_preparing_a_boot_needs_its_own_consent(box):
    answer = ask(box("live"), "apply", settings={"nohz_full": "first-core"}, boot=True)
    assert answer.error
    assert "--allow boot" in answer.sentence


def test_the_budget_is_for_all_measurements_together(box):
    tools = box(budget="3s")
    assert not ask(tools, "run", command=PROGRAM, budget="10min").error
    used_ns = tools.used_ns
    tools.used_ns = tools.options.budget_ns
    answer = ask(tools, "run", command=PROGRAM)
    assert answer.error
    assert "3.0 s of measuring that the user permits are used up" in answer.sentence
    assert used_ns > 0
    assert not ask(tools, "status").error


def test_a_budget_is_cut_to_what_is_left(box):
    tools = box(budget="60s")
    tools.used_ns = 50_000_000_000
    assert tools.budget("30s") == 10
    assert tools.budget("30s", shares=4) == 2.5
    assert tools.budget("1s") == 1


def test_a_search_is_planned_before_it_is_started(box):
    tools = box("live")
    plan = ask(tools, "tune", programs=[PROGRAM], budget="2min")
    assert not plan.error, plan.sentence
    assert "Nothing has been searched yet" in plan.sentence
    assert plan.study is None
    assert "swappiness" in plan.result["settings"]
    done = ask(tools, "tune", token=plan.result["token"])
    assert not done.error, done.sentence
    assert done.study == 1
    assert done.result["kind"] == "tune"


def test_a_token_is_for_one_search_and_alone(box, clock):
    tools = box("live")
    token = ask(tools, "tune", programs=[PROGRAM]).result["token"]
    assert ask(tools, "tune", token=token, budget="1s").sentence == words.TOKEN_ALONE
    assert ask(tools, "tune", token="no such").sentence == words.BAD_TOKEN
    clock.advance(mcp_toolbox.TOKEN_S + 1)
    assert ask(tools, "tune", token=token).sentence == words.BAD_TOKEN


def test_a_search_changes_only_what_is_permitted(box):
    plan = ask(box("process"), "tune", programs=[PROGRAM])
    rows = box().rows()
    assert plan.result["settings"]
    assert {rows[name].scope for name in plan.result["settings"]} == {"process"}
    refused = ask(box("process"), "tune", programs=[PROGRAM], only=["swappiness"])
    assert (refused.error, "--allow live" in refused.sentence) == (True, True)
    without = ask(box("process"), "tune", programs=[PROGRAM], without=["aslr"])
    assert "aslr" not in without.result["settings"]


def test_dangerous_settings_need_the_consent_of_the_option(box):
    rows = box().rows()

    def groups(**session):
        plan = ask(box("live", **session), "tune", programs=[PROGRAM])
        return {rows[name].group for name in plan.result["settings"]}, plan.sentence

    assert "dangerous" not in groups()[0]
    risky, sentence = groups(dangerous=True)
    assert ("dangerous" in risky) == ("slow, hot or hard to reach" in sentence)


def test_only_one_call_measures_at_a_time(box, monkeypatch):
    monkeypatch.setattr(mcp_toolbox, "PATIENCE_S", 0)
    tools, answers = box(), []

    class Heard(Quiet):
        def started(self, study, names, goal):
            answers.append(ask(tools, "run", command=PROGRAM))
            answers.append(ask(tools, "status"))

    assert not ask(tools, "run", Heard(), command=PROGRAM, runs=5).error
    assert [answer.error for answer in answers] == [True, False]
    assert answers[0].sentence == words.BUSY


def test_a_call_waits_for_a_cancelled_one_however_long_that_takes_to_end(box, monkeypatch):
    tools, cancelled, waits = box(), ToolCall(), []
    monkeypatch.setattr(mcp_toolbox, "PATIENCE_S", 0)
    with ExitStack() as turn:
        turn.enter_context(tools.one_call(cancelled))
        with pytest.raises(RefusedError, match="under way"), tools.one_call(ToolCall()):
            pass
        tools.cancel(cancelled)
        wait = tools._turn.wait

        def counting(timeout):
            waits.append(timeout)
            if len(waits) == 3:
                turn.close()
            return wait(timeout)

        monkeypatch.setattr(tools._turn, "wait", counting)
        with tools.one_call(ToolCall()):
            assert len(waits) == 3


def test_a_call_that_is_cancelled_before_its_turn_stops_no_other(box, monkeypatch):
    stopped = []
    monkeypatch.setattr(interrupts, "stop_joined", lambda: stopped.append(True))
    tools, first, second = box(), ToolCall(), ToolCall()
    with tools.one_call(first):
        tools.cancel(second)
        with pytest.raises(RefusedError, match="Cancelled before it began"), tools.one_call(second):
            pass
        assert (first.cancelled, stopped) == (False, [])
        tools.cancel(first)
        assert (first.cancelled, stopped) == (True, [True])


def test_a_defect_is_an_answer_that_says_so(box, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(mcp_tools, "run", broken)
    answer = ask(box(), "run", command=PROGRAM)
    assert answer.error
    assert answer.sentence.startswith("This is a defect in becalm, not in your call: ZeroDivisionError: by zero.")


def test_an_unknown_tool_and_a_wrong_argument_are_answers(box):
    assert "no tool 'rum'" in ask(box(), "rum").sentence
    answer = ask(box(), "run", command=5)
    assert (answer.error, answer.result["exit_code"]) == (True, 2)


@pytest.mark.parametrize("tool", ["explain", "history"])
def test_an_empty_store_is_an_answer(box, tool, monkeypatch):
    outside_of_repositories(monkeypatch)
    assert ask(box("look"), tool).error


def test_stored_runs_are_explained(box):
    tools = box()
    ask(tools, "run", command=PROGRAM, runs=5)
    answer = ask(tools, "explain", studies=["1"])
    assert answer.sentence


def test_doctor_measures_where_programs_may_run(box):
    assert ask(box("look"), "doctor").result["noise"] is None
    assert "--allow measure" in ask(box("look"), "doctor", measure=True).sentence


def test_an_agent_cannot_choose_where_or_with_which_rights_it_acts():
    names = {parameter.name for tool in TABLE for parameter in tool.parameters}
    assert not names & {
        "host",
        "hosts",
        "sudo",
        "root",
        "user",
        "store",
        "dangerous",
        "allow",
        "allow_reboot",
        "cluster",
    }


def test_tools_are_named_once_and_have_words():
    assert len({tool.name for tool in TABLE}) == len(TABLE) == 10
    for tool in TABLE:
        assert tool.what.endswith(".")
        assert all(parameter.what.endswith(".") for parameter in tool.parameters)
