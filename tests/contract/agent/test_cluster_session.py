"""The worker's side of a cluster by itself: the end of the agent when the front is silent or talks nonsense."""

import asyncio
import json
import threading

import pytest
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm.hosts.cluster import session


@pytest.fixture
def held():
    """A task that holds a session, as a worker runs it; its result is put into the list."""
    ended = []
    thread = threading.Thread(target=lambda: ended.append(session.serve("key", [])))
    thread.start()
    yield ended
    session.send("key", None)
    thread.join(HANG_LIMIT_S)
    session._sessions.pop("key", None)


def take(seconds=HANG_LIMIT_S):
    """Return what the front takes: lines, whether the agent has started, how it has ended."""
    return asyncio.run(session.take("key", seconds))


def lines():
    result, started, ended = take()
    while not result and not ended:
        result, started, ended = take()
    return result, started, ended


def test_lines_go_both_ways(held):
    (greeting, *_), started, ended = lines()
    assert started
    assert ended == ""
    version = json.loads(greeting)["protocol"]
    about = {"id": 1, "do": "open", "protocol": version, "environment": {}, "directory": "/", "title": ""}
    assert session.send("key", json.dumps(about).encode() + b"\n")
    received, *_ = lines()
    assert json.loads(received[0]) == {"event": "done", "id": 1}


def test_a_silent_front_is_given_up(held, monkeypatch):
    lines()
    monkeypatch.setattr(session, "SILENCE_S", 0.5)
    wait_for(lambda: held, "the session ends")
    assert held == ["ended with exit code 0"]
    assert take(0.1)[2] == "ended with exit code 0"


def test_the_end_of_the_agent_is_reported(held):
    lines()
    session.send("key", b"this is not a request\n")
    take()
    session.send("key", None)
    ended = ""
    while not ended:
        _, _, ended = take()
    assert ended.startswith("ended with exit code")


def test_an_agent_that_cannot_be_started_is_reported(monkeypatch):
    monkeypatch.setattr(session, "agent_path", lambda: "/nonexistent/agent")
    assert session.serve("other", []) == "cannot be started: /nonexistent/agent: No such file or directory"
    outcome = asyncio.run(session.take("other", 1.0))
    assert outcome == ([], False, "cannot be started: /nonexistent/agent: No such file or directory")
