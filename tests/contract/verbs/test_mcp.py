"""`becalm mcp` with the client of the official SDK: tools, progress, cancellation, and agents that are killed."""

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import numpy as np
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.contract.conversation import processes_with
from tests.samples import samples
from tests.support.laptop import changed, laptop, snapshot, strays
from tests.support.talk import holders
from tests.waiting import HANG_LIMIT_S, wait_for

import becalm
from becalm.verbs.mcp_tools import TABLE

AGENT = Path(__file__).with_name("mcp_agent.py")
ENDLESS = {"command": "true", "budget": "10min"}
PLAN = ("tune", {"programs": ["true"], "budget": "0.5s", "only": ["swappiness", "aslr"]})
KILLS = samples(4, 50)

CALLS = (
    ("doctor", {"measure": False}),
    ("run", {"command": "true", "budget": "0.1s"}),
    ("apply", {"settings": {"swappiness": 10, "stat_interval": 20}}),
    ("compare", {"commands": ["true", "true"], "budget": "0.1s"}),
    ("reset", {}),
    PLAN,
    ("tune", {"token": "TOKEN"}),
    ("apply", {"settings": {"swappiness": 1, "swap": "off"}}),
    ("run", {"command": "true", "budget": "0.1s"}),
)
"""The script of the agent: it ends with settings applied."""


@pytest.fixture
def tree(tmp_path, store):
    return laptop(tmp_path / "root")


@asynccontextmanager
async def connected(tree, *words, mode="auto"):
    """Yield a client of a server of its own on the tree. `mode`: of the protocol, "legacy" for the versions to 2025."""
    line = ["-m", "becalm", "mcp", "--root", str(tree), "--store", str(tree.parent / "runs.db"), *words]
    parameters = StdioServerParameters(command=sys.executable, args=line, env=dict(os.environ))
    with anyio.fail_after(HANG_LIMIT_S):
        async with Client(stdio_client(parameters), mode=mode) as client:
            yield client


def nothing_is_left(tree, before):
    # Servers and agents have this option, and one of them may be about to take the lock.
    wait_for(lambda: not processes_with(f"--root\0{tree}"), "servers and agents have ended")
    wait_for(lambda: not holders(tree), "guards have ended")
    assert changed(before, snapshot(tree)) == {}
    assert strays(tree) == []


def test_every_tool_is_listed_with_its_input_and_output(tree):
    async def play():
        async with connected(tree) as client:
            tools = (await client.list_tools()).tools
            return {tool.name: tool for tool in tools}, client.instructions

    tools, instructions = anyio.run(play)
    assert list(tools) == [row.name for row in TABLE]
    for row in TABLE:
        assert set(tools[row.name].input_schema["properties"]) == {parameter.name for parameter in row.parameters}
        assert tools[row.name].output_schema["required"] == ["sentence", "result"]
        assert tools[row.name].annotations.read_only_hint is not row.changes
    assert "show the plan to the user" in instructions


def test_an_answer_has_sentence_and_numbers_and_progress_grows(tree):
    values = []

    async def heard(value, total, message):
        values.append((value, total, message))

    async def play():
        async with connected(tree, "--allow", "measure") as client:
            return await client.call_tool("run", {"command": "true", "runs": 5}, progress_callback=heard)

    answer = anyio.run(play)
    assert not answer.is_error
    assert answer.structured_content["sentence"] == answer.content[0].text
    assert json.loads(answer.content[1].text) == answer.structured_content
    assert answer.structured_content["study"] == 1
    numbers = [value for value, _, _ in values]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 1
    assert "Measuring true." in values[0][2]


def test_a_refusal_is_an_answer_that_names_the_option(tree):
    async def play():
        async with connected(tree) as client:
            return await client.call_tool("run", {"command": "true"})

    answer = anyio.run(play)
    assert answer.is_error
    assert "becalm mcp --allow measure" in answer.content[0].text


def test_output_of_programs_does_not_reach_the_protocol(tree):
    async def play():
        async with connected(tree, "--allow", "measure") as client:
            answer = await client.call_tool("run", {"command": "echo not-json", "runs": 3})
            return answer, await client.call_tool("status", {})

    assert [answer.is_error for answer in anyio.run(play)] == [False, False]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_measurement_is_stopped_and_kept(tree, mode):
    async def play():
        async with connected(tree, "--allow", "measure", mode=mode) as client:
            async with anyio.create_task_group() as group:

                async def cancel(value, total, message):
                    if total is not None:
                        group.cancel_scope.cancel()

                await client.call_tool("run", ENDLESS, progress_callback=cancel)
            # Waits for the end of the one that was cancelled.
            return await client.call_tool("run", {"command": "true", "runs": 3})

    again = anyio.run(play)
    assert again.structured_content["study"] == 2, again.content[0].text
    stored = becalm.list_studies(str(tree.parent / "runs.db"), outcomes=True)
    assert stored.outcomes[1].state == "interrupted"
    assert stored.studies[-1].runs > 0


def test_settings_are_restored_when_the_client_leaves(tree):
    before = snapshot(tree)

    async def play():
        async with connected(tree, "--allow", "live") as client:
            answer = await client.call_tool("apply", {"settings": {"swappiness": 10}})
            return answer, changed(before, snapshot(tree))

    answer, meanwhile = anyio.run(play)
    assert not answer.is_error, answer.content[0].text
    assert meanwhile == {"proc/sys/vm/swappiness": (b"60\n", b"10\n")}
    nothing_is_left(tree, before)


@pytest.fixture
def agent(tree):
    """Return a function that plays one round of the scripted agent: its exit code, and the events."""
    store = tree.parent / "runs.db"
    process = subprocess.Popen(
        [sys.executable, str(AGENT), str(tree), str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(tree.parent / "errors").open("w"),
        text=True,
    )

    def play(at, who):
        log = tree.parent / "log"
        log.write_text("")
        plan = {"calls": CALLS, "at": at, "who": who, "log": str(log)}
        process.stdin.write(json.dumps(plan) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline()), log.read_text().splitlines()

    yield play
    process.stdin.close()
    process.wait(HANG_LIMIT_S)
    process.stdout.close()


def test_nothing_is_left_when_agent_or_server_is_killed_at_any_point(agent, tree):
    before = snapshot(tree)
    code, events = agent(0, None)
    assert code == 0, events
    assert not [event for event in events if "refused" in event]
    nothing_is_left(tree, before)
    rng = np.random.default_rng(7)
    for number in range(KILLS):
        who = ("agent", "server")[number % 2]
        code, seen = agent(int(rng.integers(0, len(events))), who)
        nothing_is_left(tree, before)
        answered = sum(": " in event for event in seen) == len(CALLS)
        if f"{who} is killed" not in seen:
            # There was less progress to report than the first time.
            assert (code, answered) == (0, True), seen
        elif who == "agent":
            assert code == -9, seen
        else:
            # After the last answer nobody misses the server.
            assert code == 2 or answered, seen
