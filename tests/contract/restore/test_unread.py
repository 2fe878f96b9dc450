"""Nobody reads what the agent says, and its pipe is full: settings come off all the same when it is to end."""

import contextlib
import os
import select
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, processes_with
from tests.support.laptop import laptop, snapshot
from tests.support.pipes import is_full, sleeps
from tests.waiting import wait_ended, wait_for

from becalm.hosts.agent import agent_path

SETTINGS = {"swappiness": 59}
SILENCE = "3600"
"""Seconds of silence after which the agent ends: longer than a test lasts. The kernel's alarm comes from the test."""


def ended_input(agent):
    agent.process.stdin.close()


def sent(number):
    return lambda agent: agent.process.send_signal(number)


ENDS = {
    "input closed": ended_input,
    "SIGTERM": sent(signal.SIGTERM),
    "SIGHUP": sent(signal.SIGHUP),
    "SIGINT": sent(signal.SIGINT),
    "silence": sent(signal.SIGALRM),
}


def wait_restored(root, before):
    """Wait until a tree is as before."""
    wait_for(lambda: snapshot(root) == before, "the settings are off")


def wait_success(process):
    """Wait for the end of an agent, whose exit code must be 0."""
    wait_ended(process.pid)
    assert process.wait() == 0


def leave(agent):
    """Close the pipe that nobody reads, so that the agent does not wait for a reader, and wait for its end."""
    agent.process.stdout.close()
    wait_success(agent.process)


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
    wait_for(lambda: is_full(agent.process.stdout), "the pipe is full")
    assert snapshot(tree) != before, "the settings are on"
    ENDS[how](agent)
    wait_restored(tree, before)
    wait_for(lambda: not processes_with(marker))
    leave(agent)


@pytest.mark.parametrize("how", ENDS)
def test_answers_that_nobody_reads_do_not_keep_settings_on(tree, start, how):
    before = snapshot(tree)
    agent = start(how)
    assert agent.ask("hold", settings=SETTINGS)["event"] == "done"
    assert snapshot(tree) != before
    for _ in range(40):
        agent.send("knobs")
    # It has read all that it will read: an alarm that comes together with a request would be no silence.
    wait_for(lambda: is_full(agent.process.stdout) and sleeps(agent.process.pid), "it can write no more")
    ENDS[how](agent)
    wait_restored(tree, before)
    if how == "input closed":
        wait_success(agent.process)
    else:
        leave(agent)


@pytest.mark.parametrize("how", ["input closed", "SIGTERM", "silence"])
def test_nor_do_they_on_a_socket(tree, how):
    """The agent's streams are a socket, as a server of ssh gives it to programs."""
    ours, its = socket.socketpair()
    before = snapshot(tree)
    options = ["--silence", SILENCE] if how == "silence" else []
    with ours, its, subprocess.Popen([agent_path(), "serve", "--root", tree, *options], stdin=its, stdout=its) as agent:
        ours.sendall(b'{"id":2,"do":"hold","settings":{"swappiness":59}}\n')
        wait_for(lambda: snapshot(tree) != before)
        ours.sendall(b'{"id":3,"do":"knobs"}\n' * 40)
        wait_for(lambda: not select.select([], [its], [], 0)[1] and sleeps(agent.pid), "it can write no more")
        if how == "input closed":
            ours.shutdown(socket.SHUT_WR)
        else:
            agent.send_signal(signal.SIGTERM if how == "SIGTERM" else signal.SIGALRM)
        wait_restored(tree, before)
        ours.close()
        wait_success(agent)


def test_requests_without_end_and_without_a_reader_take_no_memory_without_end(start):
    agent = start()
    os.set_blocking(agent.process.stdin.fileno(), False)
    request = b'{"id":7,"do":"alive"}\n' * 2000

    def is_stuck():
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(agent.process.stdin.fileno(), request)
        return is_full(agent.process.stdout) and sleeps(agent.process.pid)

    # It stops reading when its answers wait, so that the pipe to it is full, too.
    wait_for(is_stuck, "it reads no more requests")
    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    high_water_kib = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert high_water_kib < 8192
    agent.process.terminate()
    leave(agent)


def test_runs_go_on_when_somebody_reads_again_and_nothing_is_lost(start):
    agent = start()
    agent.define("/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo end", output="inherit")
    number = agent.send("measure", first=0, steps=[[0, 0, 0, index] for index in range(3)])
    wait_for(lambda: is_full(agent.process.stdout), "the pipe is full")
    events = agent.answer(number)
    rows = [row for event in events if event["event"] == "runs" for row in event["rows"]]
    assert [row[0] for row in rows] == [0, 1, 2]
    text = "".join(event["text"] for event in events if event["event"] == "output")
    assert text == ("x" * 3_000_000 + "end\n") * 3


def test_a_block_can_be_stopped_although_nobody_reads(start):
    agent = start()
    agent.define("/bin/sh", "-c", "while :; do echo line; done", output="inherit")
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    wait_for(lambda: is_full(agent.process.stdout), "the pipe is full")
    stop = agent.send("stop")
    events = []
    while not any(event["event"] == "done" and event["id"] == number for event in events):
        events.append(agent.read())
    assert any(event["id"] == stop and event["event"] == "done" for event in events)
    (row,) = [row for event in events if event["event"] == "runs" for row in event["rows"]]
    assert "aborted" in row
