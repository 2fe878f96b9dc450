"""An agent killed while it ends a child that has not become its program yet: the child ends, too."""

import os
import signal
from pathlib import Path

import pytest
from tests.support.becalms import NAMES
from tests.support.laptop import laptop
from tests.support.talk import Agent, processes_of
from tests.waiting import wait_for

AN_HOUR_US = 3_600_000_000
HOLDING = (
    *("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=kill,setpgid"),
    *("-e", f"inject=setpgid:delay_enter={AN_HOUR_US}", "-e", f"inject=kill:delay_exit={AN_HOUR_US}:when=2"),
)
"""strace holds the child at its first step, and the agent when it has sent its second signal: to the child, after one
to the child's group, which does not exist yet."""


def pending(pid: int) -> list[str]:
    """Return the signals that wait for a process (proc_pid_status(5)); nothing when it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return []
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    if fields["State"][0] in "ZX":
        return []
    waiting = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
    return [number.name for number in signal.Signals if waiting >> (number - 1) & 1]


@pytest.mark.needs("strace")
def test_the_child_ends_with_its_agent(tmp_path):
    root = laptop(tmp_path / "root")
    agent = Agent(root, under=HOLDING)
    try:
        agent.define([{}], ("/bin/true",))
        # They name themselves some time after they have begun.
        wait_for(lambda: len(processes_of(root, "becalm-spawner")) == 2, "there are two spawners")
        spawners = set(processes_of(root, "becalm-spawner"))
        agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
        (child,) = wait_for(lambda: set(processes_of(root, "becalm-spawner")) - spawners, "there is a child")
        agent.process.stdin.close()
        wait_for(lambda: pending(child) or child not in processes_of(root, *NAMES), "the child was signalled")
        assert "SIGSTOP" not in pending(child)
        os.kill(agent.pid, signal.SIGKILL)
    finally:
        agent.process.kill()
        agent.process.wait()
        agent.forget()
    wait_for(lambda: not processes_of(root, *NAMES), "all have ended")
