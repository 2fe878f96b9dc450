"""An agent killed while it ends a child that has not become its program yet: the child ends, too.

strace holds the child at its first steps, and the agent at the signal that it has just sent.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.laptop import laptop
from tests.support.talk import processes_of
from tests.waiting import wait_for

from becalm.hosts.agent import agent_path

FOR_EVER_US = 3_600_000_000
NAMES = ("becalm-agent", "becalm-guard", "becalm-spawner")


class Held:
    """An agent whose child is held before it becomes its program."""

    def __init__(self, root: Path) -> None:
        child, killing = f"setpgid:delay_enter={FOR_EVER_US}", f"kill:delay_exit={FOR_EVER_US}:when=2"
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=kill,setpgid"]
        command += ["-e", f"inject={child}", "-e", f"inject={killing}"]
        self.strace = subprocess.Popen(
            [*command, agent_path(), "serve", "--root", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        self.root, self.number = root, 0
        self.greeting = json.loads(self.strace.stdout.readline())
        self.pid = self.greeting["pid"]

    def send(self, do: str, **fields: object) -> None:
        self.number += 1
        self.strace.stdin.write(json.dumps({"id": self.number, "do": do, **fields}).encode() + b"\n")
        self.strace.stdin.flush()

    def done(self, do: str, **fields: object) -> None:
        self.send(do, **fields)
        assert json.loads(self.strace.stdout.readline())["event"] == "done"


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
    agent = Held(root)
    try:
        agent.done("open", protocol=agent.greeting["protocol"], environment={}, directory="/", title="a test")
        agent.done("define", workloads=[{"argv": ["/bin/true"]}], settings=[{}], dangerous=False)
        spawners = set(processes_of(root, "becalm-spawner"))
        assert len(spawners) == 2
        agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
        (child,) = wait_for(lambda: set(processes_of(root, "becalm-spawner")) - spawners, "there is a child")
        agent.strace.stdin.close()
        wait_for(lambda: pending(child) or child not in processes_of(root, *NAMES), "the child was signalled")
        assert "SIGSTOP" not in pending(child)
        os.kill(agent.pid, signal.SIGKILL)
    finally:
        agent.strace.kill()
        agent.strace.wait()
        agent.strace.stdout.close()
    wait_for(lambda: not processes_of(root, *NAMES), "all have ended")
