"""A becalm that is cut off sends nothing any more, and its agent takes that for an end: `--silence`.

The kernel's alarm (alarm(2)) measures the silence. Tests look at the calls that set it, and send it themselves.
"""

import os
import platform
import signal
import subprocess

import pytest
from tests.contract.conversation import Agent, processes_with
from tests.support.laptop import laptop
from tests.support.stepping import Stepped
from tests.support.talk import processes_of
from tests.waiting import wait_ended, wait_for

from becalm.hosts.agent import agent_path

SECONDS = 3600
"""A silence that no test is long enough for."""
ALARM = {"x86_64": 37}
"""The number of the system call alarm(2); other machines have none."""


@pytest.fixture
def agent(tmp_path):
    """Return an agent on a tree that waits for a long silence."""
    laptop(tmp_path)
    agent = Agent("--silence", str(SECONDS), "--root", str(tmp_path))
    yield agent
    agent.process.kill()
    agent.close()
    # The guard restores, and writes to the directory until then.
    parts = ("becalm-agent", "becalm-spawner", "becalm-guard", "becalm-keeper")
    wait_for(lambda: not processes_of(tmp_path, *parts), "everything of the agent has ended")


def test_empty_lines_are_signs_of_life(agent):
    if platform.machine() not in ALARM:
        pytest.skip("this machine has no alarm(2) to look for")
    try:
        traced = Stepped(agent.process.pid)
    except PermissionError:
        pytest.skip("processes cannot be traced here (ptrace is forbidden)")
    for _ in range(3):
        agent.write(b"\n\n")
        # The silence is counted from the beginning again.
        assert traced.run_to(ALARM[platform.machine()])[0] == SECONDS
    traced.let_go()
    assert agent.ask("alive")["event"] == "done"


def test_an_alarm_that_comes_with_a_line_is_no_silence(agent, tmp_path):
    os.kill(agent.process.pid, signal.SIGSTOP)
    agent.write(b"\n")
    os.kill(agent.process.pid, signal.SIGALRM)
    os.kill(agent.process.pid, signal.SIGCONT)
    assert agent.ask("hold", settings={"stat_interval": 20}, dangerous=False)["event"] == "done"
    assert (tmp_path / "proc/sys/vm/stat_interval").read_text() == "20\n"


def test_long_silence_restores(agent, tmp_path):
    place = tmp_path / "proc/sys/vm/stat_interval"
    before = place.read_text()
    assert agent.ask("hold", settings={"stat_interval": 20}, dangerous=False)["event"] == "done"
    assert place.read_text().strip() == "20"
    agent.process.send_signal(signal.SIGALRM)
    wait_ended(agent.process.pid)
    assert agent.process.wait() == 0
    assert place.read_text() == before


def test_long_silence_ends_a_running_program(agent):
    marker = f"86421.{os.getpid()}"
    agent.begin("sleep", marker)
    wait_for(lambda: processes_with(marker), "the program runs")
    agent.process.send_signal(signal.SIGALRM)
    wait_ended(agent.process.pid)
    assert agent.process.wait() == 0
    wait_for(lambda: not processes_with(marker), "the program has ended")


def test_the_kernel_ends_an_agent_after_a_second_of_silence():
    with subprocess.Popen(
        [agent_path(), "serve", "--silence", "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        wait_ended(process.pid)
        assert process.wait() == 0
