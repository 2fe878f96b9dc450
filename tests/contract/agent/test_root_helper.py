"""An agent whose helper ends, below a sudo that behaves as sudo does when its command is stopped."""

import contextlib
import os
import signal
import subprocess

import pytest
from tests.contract.conversation import Agent, children, gather, name_of
from tests.support.becalms import state
from tests.support.pipes import first_line
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

from becalm.hosts.agent import agent_path

HELPER = """#!/bin/sh
# Greets, answers, and does not answer a request to restore.
echo $$ >"$(dirname "$0")/helper"
echo '{"becalm-helper": "0", "protocol": 1, "pid": '$$'}'
while read -r request; do
    case $request in
    *restore*) ;;
    *) echo '{"event": "done"}' ;;
    esac
done
"""

SUDO = """#!/bin/sh
# Stops itself when it is told that its command has stopped, as sudo does; ends when it is continued after that.
exec 3<&0
shift 2
here=$(dirname "$1")
echo $$ >"$here/sudo"
"$@" <&3 3<&- &
read -r line <"$here/stopped"
kill -STOP $$
"""


@pytest.fixture
def programs(tmp_path):
    """Return a directory with the sudo and the helper."""
    for name, text in (("sudo", SUDO), ("becalm-helper", HELPER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    os.mkfifo(tmp_path / "stopped")
    return tmp_path


def begin(programs):
    """Return an agent with its helper, and the numbers of the helper and its sudo."""
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    agent = Agent("--helper", str(programs / "becalm-helper"), env=environment)
    return agent, *(int((programs / name).read_text()) for name in ("helper", "sudo"))


def test_a_helper_that_is_stopped_and_then_killed_is_reported(programs):
    """sudo keeps the connection open, as it stops together with its command, and must be continued to end."""
    agent, helper, sudo = begin(programs)
    os.kill(helper, signal.SIGSTOP)
    (programs / "stopped").write_text("\n")
    wait_for(lambda: state(sudo) == "T", "sudo has stopped")
    number = agent.send("restore")
    os.kill(helper, signal.SIGKILL)
    answer = agent.answer(number)[-1]
    assert answer["event"] == "error"
    assert "has ended" in answer["message"]
    wait_ended(sudo)
    agent.close()


def three_runs(agent, *argv):
    """Ask for three runs; return the last event of the block, and the outcomes of the runs that were begun."""
    events = agent.answer(agent.begin(*argv, steps=3))
    rows, _ = gather(events)
    return events[-1], [row["outcome"] for row in rows]


def test_a_run_during_which_the_helper_ends_has_failed_and_none_follows(programs):
    """Its guard restores the settings at once, so that the program ran without them, if only for a while."""
    agent, helper, sudo = begin(programs)
    killing = f"kill -9 {helper}; while grep -q '^State:.[RSDT]' /proc/{helper}/status; do :; done"
    last, outcomes = three_runs(agent, "true")
    assert (last["event"], outcomes) == ("done", ["ok"] * 3)
    last, outcomes = three_runs(agent, "sh", "-c", killing)
    assert (last["event"], outcomes) == ("error", ["failed"])
    assert "has ended" in last["message"]
    with contextlib.suppress(ProcessLookupError):
        os.kill(sudo, signal.SIGKILL)
    agent.close()


@pytest.mark.parametrize("end", ["signal", "input"])
def test_an_agent_ends_on_request_while_sudo_does_not_start_the_helper(programs, end):
    (programs / "sudo").write_text(f"#!/bin/sh\necho $$ >{programs}/stopped\nexec sleep 9000\n")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    command = [agent_path(), "serve", "--helper", str(programs / "becalm-helper")]
    with (programs / "output").open("wb") as output:
        agent = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=output)
    sudo = int(first_line(programs / "stopped"))
    # It is started after signals are blocked.
    wait_for(lambda: "becalm-spawner" in map(name_of, children(agent.pid)))
    agent.terminate() if end == "signal" else agent.stdin.close()
    assert agent.wait(timeout=HANG_LIMIT_S) == 3
    os.kill(sudo, signal.SIGKILL)
    assert "sudo has not started becalm-helper" in (programs / "output").read_text()
    agent.stdin.close()
