"""Privacy of the journal: a title may be a command line, so only root may read it. And a becalm that writes nothing
leaves nothing."""

import json
import os
import stat
import subprocess

import pytest
from tests.support.laptop import laptop, snapshot, strays
from tests.support.memory_directory import let_others_in
from tests.support.talk import Agent, guards
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm.hosts.agent import agent_path
from becalm.hosts.greeting import PROTOCOL

TITLE = "becalm tune -- ./bench --password swordfish"


def everything(root):
    """Return all files that becalm keeps, by name: mode and text."""
    files = [path for own in ("run/becalm", "var/lib/becalm") for path in (root / own).rglob("*") if path.is_file()]
    return {path: (stat.S_IMODE(path.stat().st_mode), path.read_text()) for path in files}


def test_only_its_owner_can_read_what_for(tmp_path):
    root = laptop(tmp_path)
    old = os.umask(0)
    try:
        with Agent(root, title=TITLE) as agent:
            agent.done("hold", settings={"stat_interval": 20})
            files = everything(root)
            secret = {path.name: mode for path, (mode, text) in files.items() if "swordfish" in text}
            assert secret == {"journal.title": 0o600, "holder.title": 0o600}
            assert any(path.name == "journal" and mode == 0o644 for path, (mode, _) in files.items())
            state = agent.done("status")
            assert state["journal"]["title"] == TITLE, "who may read it is told"
            assert TITLE in state["busy"]
    finally:
        os.umask(old)
    assert not strays(root)


@pytest.mark.skipif(os.geteuid() != 0, reason="to be somebody else")
def test_others_are_told_all_but_that(tmp_path):
    root = laptop(tmp_path / "root")
    let_others_in(root)
    with Agent(root, title=TITLE) as agent:
        agent.done("hold", settings={"stat_interval": 20}, keep=True)
    talk = "".join(
        json.dumps(request) + "\n"
        for request in (
            {"id": 1, "do": "open", "protocol": PROTOCOL},
            {"id": 2, "do": "status"},
            {"id": 3, "do": "bye"},
        )
    )
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", agent_path(), "serve", "--root", root],
        input=talk,
        capture_output=True,
        text=True,
        timeout=HANG_LIMIT_S,
    )
    assert "swordfish" not in done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (answer,) = [event for event in events if event.get("id") == 2]
    # On the running machine; what is below a directory must belong to who asks.
    if answer["event"] == "done":
        assert answer["journal"]["title"] == ""
    with Agent(root) as agent:
        assert TITLE in agent.done("restore")["sentence"]
    assert not strays(root)


def test_nor_does_the_note_of_a_guard_say_it(tmp_path):
    root = laptop(tmp_path)
    agent = Agent(root, title=TITLE)
    agent.done("hold", settings={"stat_interval": 20})
    agent.kill()
    wait_for(lambda: not guards(root))
    note = root / "var/lib/becalm/last-restore"
    wait_for(note.exists)
    assert "restore" in note.read_text()
    assert [path.name for path, (_, text) in everything(root).items() if "swordfish" in text] == ["holder.title"]


@pytest.mark.parametrize("settings", [{}, {"nice": 5}])
def test_nothing_held_leaves_no_journal(tmp_path, settings):
    root = laptop(tmp_path)
    before = snapshot(root)
    with Agent(root) as agent:
        # Once after something was on, and once from the beginning.
        agent.define([{"stat_interval": 20}])
        agent.done("measure", first=0, steps=[[0, 0, 0, 0]])
        for _ in range(2):
            assert agent.done("hold", settings=settings, keep=True)["changes"] == []
            assert agent.done("status")["journal"] is None
            assert snapshot(root) == before
    assert not strays(root)
    with Agent(root) as agent:
        done = agent.done("restore")
        assert (done["places"], done["sentence"]) == ([], "")
        # Nothing is in the way of settings.
        agent.done("hold", settings={"stat_interval": 20})
    assert snapshot(root) == before
