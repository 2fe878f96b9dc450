"""Settings that an agent applies on a tree that looks like a laptop: consent, plan, reset, the end of the server."""

import pytest
from tests.support.laptop import changed, laptop, put, snapshot, strays
from tests.support.loaders import debian

from becalm.errors import MachineError
from becalm.nouns.options.mcp import Consent, McpOptions
from becalm.results.progress import Quiet
from becalm.results.settings import Reset
from becalm.study.session_options import SessionOptions
from becalm.verbs import mcp_toolbox
from becalm.verbs.mcp_toolbox import Toolbox, ToolCall
from becalm.verbs.mcp_tools import call
from becalm.wording import mcp as words


@pytest.fixture
def tree(tmp_path):
    return laptop(tmp_path / "root")


@pytest.fixture
def box(tree, store):
    """Return a maker of toolboxes on the tree."""
    toolboxes = []

    def make(allow, root=tree, **session):
        options = McpOptions(allow=Consent.of(allow))
        where = {"root": str(root), "store": store, **session}
        toolboxes.append(Toolbox(options, SessionOptions.of(where)))
        return toolboxes[-1]

    yield make
    for toolbox in toolboxes:
        toolbox.close()


def ask(box, tool, **arguments):
    return call(box, tool, arguments, Quiet())


def test_applying_needs_consent_and_a_plan_does_not(box):
    assert "--allow live" in ask(box("process"), "apply", settings={"swappiness": 1}).sentence
    planned = ask(box("look"), "apply", settings={"swappiness": 1}, plan=True)
    assert not planned.error
    assert planned.sentence == "Would set swappiness. Nothing was changed."


def test_applied_settings_stay_until_reset(box, tree):
    tools, before = box("live"), snapshot(tree)
    assert ask(tools, "apply", settings={"swappiness": 1}).sentence.startswith("Applied swappiness.")
    assert changed(before, snapshot(tree)) == {"proc/sys/vm/swappiness": (b"60\n", b"1\n")}
    assert ask(tools, "status").result["applied_here"]
    again = ask(tools, "apply", settings={"stat_interval": 20})
    assert (again.error, again.sentence) == (True, words.APPLIED_ALREADY)
    assert ask(tools, "tune", programs=["true"]).sentence == words.APPLIED_ALREADY
    assert ask(tools, "reset").sentence == words.RESTORED
    assert ask(tools, "reset").sentence == words.NOTHING_APPLIED
    assert not ask(tools, "status").result["applied_here"]
    assert changed(before, snapshot(tree)) == {}


def test_the_end_restores(box, tree):
    tools, before = box("live"), snapshot(tree)
    ask(tools, "apply", settings={"swappiness": 1})
    tools.close()
    assert not tools.holding
    assert (changed(before, snapshot(tree)), strays(tree)) == ({}, [])


def test_programs_are_measured_under_applied_settings(box):
    tools = box("live")
    ask(tools, "apply", settings={"swappiness": 1})
    answer = ask(tools, "run", command="true", runs=3)
    assert not answer.error, answer.sentence


def test_a_setting_of_a_program_is_not_applied_to_the_machine(box):
    answer = ask(box("live"), "apply", settings={"nice": 3})
    assert answer.error
    assert "acts on one program" in answer.sentence


def test_apply_names_what_it_needs(box):
    assert "Which settings?" in ask(box("live"), "apply").sentence


BOOT = {"settings": {"watchdogs_boot": "off"}, "boot": True}


@pytest.fixture
def bootable(tmp_path):
    """Return a tree with a boot loader, whose watchdogs are on."""
    root = debian(tmp_path / "bootable")
    for name in ("watchdog", "soft_watchdog", "nmi_watchdog"):
        put(root, f"proc/sys/kernel/{name}", "1")
    return root


@pytest.mark.parametrize("end", ["reset", "close"])
def test_settings_of_the_next_start_are_taken_back(box, bootable, end):
    tools, before = box("boot", bootable, dangerous=True), snapshot(bootable)
    assert "nowatchdog" in str(ask(tools, "apply", plan=True, **BOOT).result)
    assert changed(before, snapshot(bootable)) == {}
    answer = ask(tools, "apply", **BOOT)
    assert not answer.error, answer.sentence
    assert answer.result["boot"]["state"] == "armed"
    assert changed(before, snapshot(bootable)) != {}
    if end == "reset":
        assert ask(tools, "reset").sentence == words.RESTORED
    else:
        tools.close()
    assert changed(before, snapshot(bootable)) == {}


def test_preparing_a_start_needs_the_option_for_dangerous_settings(box, bootable):
    tools, before = box("boot", bootable), snapshot(bootable)
    assert ask(tools, "apply", **BOOT).error
    assert not tools.holding
    assert changed(before, snapshot(bootable)) == {}


def test_settings_of_a_cancelled_call_are_restored(box, tree, monkeypatch):
    tools, before, this = box("live"), snapshot(tree), ToolCall()
    hold = tools.hold

    def cancelled_meanwhile(profile):
        tools.cancel(this)
        return hold(profile)

    monkeypatch.setattr(tools, "hold", cancelled_meanwhile)
    answer = call(tools, "apply", {"settings": {"swappiness": 1}}, Quiet(), this)
    assert (answer.error, answer.sentence) == (True, words.RESTORED)
    assert not tools.holding
    assert changed(before, snapshot(tree)) == {}


@pytest.mark.parametrize("failure", ["an error", "a difference"])
def test_reset_tries_again_what_could_not_be_restored(box, bootable, monkeypatch, failure):
    tools, before = box("boot", bootable, dangerous=True), snapshot(bootable)
    assert not ask(tools, "apply", **BOOT).error

    def failing(**keywords):
        if failure == "an error":
            raise MachineError("The disk is full.")
        return Reset(unsettled=("custom.cfg is not as before.",))

    with monkeypatch.context() as patch:
        patch.setattr(mcp_toolbox, "reset", failing)
        answer = ask(tools, "reset")
        assert answer.error
        assert ("The disk is full." in answer.sentence) or ("custom.cfg is not as before." in answer.sentence)
    assert ask(tools, "reset").sentence == words.RESTORED
    assert changed(before, snapshot(bootable)) == {}


def test_reset_tries_again_what_its_agent_could_not_restore(box, tree):
    tools, before = box("live"), snapshot(tree)
    assert not ask(tools, "apply", settings={"swappiness": 1, "stat_interval": 20}).error
    put(tree, "proc/sys/vm/swappiness", "33")
    for _ in range(2):
        answer = ask(tools, "reset")
        assert answer.error
        assert "somebody else changed it" in answer.sentence
        assert ask(tools, "status").result["applied_here"]
    put(tree, "proc/sys/vm/swappiness", "60")
    assert ask(tools, "reset").sentence == words.RESTORED
    assert ask(tools, "reset").sentence == words.NOTHING_APPLIED
    assert (changed(before, snapshot(tree)), strays(tree)) == ({}, [])
