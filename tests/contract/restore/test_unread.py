"""Nobody reads what the agent says, and its pipe is full: settings come off all the same when it is told to end."""

import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, processes_with
from tests.support.laptop import laptop, snapshot
from tests.waiting import wait_for

from becalm.hosts.agent import agent_path

SETTINGS = {"swappiness": 59}
WITHIN = 120
"""Seconds until settings must be off. The agent needs milliseconds; a machine that is busy with tests needs more."""
SILENCE = "6"
"""Seconds that an agent waits: longer than what comes before takes where others keep the machine busy."""


def ended_input(agent):
    agent.process.stdin.close()


def sent(number):
    return lambda agent: agent.process.send_signal(number)


ENDS = {
    "input closed": ended_input,
    "SIGTERM": sent(signal.SIGTERM),
    "SIGHUP": sent(signal.SIGHUP),
    "SIGINT": sent(signal.SIGINT),
    "silence": lambda agent: None,
}


def waiting(pipe):
    """Bytes in a pipe that nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def stuck(pipe):
    """Whether a pipe has so much in it that no more is written, for a while."""
    before = waiting(pipe)
    time.sleep(0.3)
    return before > 4096 and waiting(pipe) == before


def restored(root, before):
    limit = time.monotonic() + WITHIN
    while time.monotonic() < limit:
        if snapshot(root) == before:
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def tree(tmp_path):
    return laptop(tmp_path)


@pytest.fixture
def start(tree):
    """Starts an agent on the tree; one that does not end does not outlive the test."""
    agents = []

    def started(how=""):
        agents.append(Agent("--root", str(tree), *(["--silence", SILENCE] if how == "silence" else [])))
        return agents[-1]

    yield started
    for agent in agents:
        agent.process.kill()
        agent.process.wait()
        agent.process.stdout.close()


@pytest.mark.parametrize("how", ENDS)
def test_output_that_is_passed_on_to_nobody_does_not_keep_settings_on(tree, start, how):
    before, marker = snapshot(tree), f"{os.getpid()}.{list(ENDS).index(how)}"
    agent = start(how)
    script = f"while :; do echo line line line line; done; sleep {marker}"
    agent.define("/bin/sh", "-c", script, settings=SETTINGS, output="inherit")
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    if how != "silence":
        wait_for(lambda: stuck(agent.process.stdout))
        assert snapshot(tree) != before, "the settings are on"
    ENDS[how](agent)
    assert restored(tree, before)
    wait_for(lambda: not processes_with(marker))
    assert agent.process.wait(timeout=WITHIN) == 0


@pytest.mark.parametrize("how", ENDS)
def test_answers_that_nobody_reads_do_not_keep_settings_on(tree, start, how):
    before = snapshot(tree)
    agent = start(how)
    assert agent.ask("hold", settings=SETTINGS)["event"] == "done"
    assert snapshot(tree) != before
    for _ in range(40):
        agent.send("knobs")
    if how != "silence":
        wait_for(lambda: stuck(agent.process.stdout))
    ENDS[how](agent)
    assert restored(tree, before)
    assert agent.process.wait(timeout=WITHIN) == 0


@pytest.mark.parametrize("how", ["input closed", "SIGTERM", "silence"])
def test_nor_do_they_on_a_socket(tree, how):
    """As a server of ssh gives it to programs."""
    ours, its = socket.socketpair()
    before = snapshot(tree)
    options = ["--silence", SILENCE] if how == "silence" else []
    with ours, its, subprocess.Popen([agent_path(), "serve", "--root", tree, *options], stdin=its, stdout=its) as agent:
        its.close()
        ours.sendall(b'{"id":2,"do":"hold","settings":{"swappiness":59}}\n')
        wait_for(lambda: snapshot(tree) != before)
        ours.sendall(b'{"id":3,"do":"knobs"}\n' * 40)
        time.sleep(0.5)
        if how == "input closed":
            ours.shutdown(socket.SHUT_WR)
        elif how == "SIGTERM":
            agent.terminate()
        assert restored(tree, before)
        assert agent.wait(timeout=WITHIN) == 0


def test_requests_without_end_and_without_a_reader_take_no_memory_without_end(start):
    agent = start()
    os.set_blocking(agent.process.stdin.fileno(), False)
    request, limit = b'{"id":7,"do":"alive"}\n' * 2000, time.monotonic() + WITHIN
    refused = 0
    # It stops reading when its answers wait, so that the pipe to it is full, too.
    while refused < 5 and time.monotonic() < limit:
        if select.select([], [agent.process.stdin], [], 0.2)[1]:
            try:
                os.write(agent.process.stdin.fileno(), request)
                refused = 0
            except BlockingIOError:
                refused += 1
        else:
            refused += 1
    assert refused == 5
    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    high_water_kib = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert high_water_kib < 8192
    agent.process.terminate()
    assert agent.process.wait(timeout=WITHIN) == 0


def test_runs_go_on_when_somebody_reads_again_and_nothing_is_lost(start):
    agent = start()
    agent.define("/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo end", output="inherit")
    number = agent.send("measure", first=0, steps=[[0, 0, 0, index] for index in range(3)])
    wait_for(lambda: stuck(agent.process.stdout))
    events = agent.answer(number)
    rows = [row for event in events if event["event"] == "runs" for row in event["rows"]]
    assert [row[0] for row in rows] == [0, 1, 2]
    text = "".join(event["text"] for event in events if event["event"] == "output")
    assert text == ("x" * 3_000_000 + "end\n") * 3


def test_a_block_can_be_stopped_although_nobody_reads(start):
    agent = start()
    agent.define("/bin/sh", "-c", "while :; do echo line; done", output="inherit")
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    wait_for(lambda: stuck(agent.process.stdout))
    stop = agent.send("stop")
    events = []
    while not any(event["event"] == "done" and event["id"] == number for event in events):
        events.append(agent.read())
    assert any(event["id"] == stop and event["event"] == "done" for event in events)
    (row,) = [row for event in events if event["event"] == "runs" for row in event["rows"]]
    assert "aborted" in row
