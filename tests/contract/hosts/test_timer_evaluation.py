"""The evaluation of timers, by a process that only looks like the agent."""

import json

import pytest

from becalm.errors import MachineError
from becalm.hosts import timer_evaluation


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """A maker of scripts that evaluate timers in place of the agent, or of becalm-timers, which otherwise is
    missing."""
    monkeypatch.setattr(timer_evaluation, "timers_path", lambda: str(tmp_path / "becalm-timers"))

    def write_script(script, name="agent"):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        if name == "agent":
            monkeypatch.setattr(timer_evaluation, "agent_path", lambda: str(path))

    return write_script


def test_events_come_until_the_last(agent):
    agent("""echo '{"event": "cell", "timer": "barrier"}'; echo '{"event": "done"}'""")
    assert [event["event"] for event in timer_evaluation.evaluate({})] == ["cell", "done"]


@pytest.mark.parametrize("cut", ["", '{"event": "do', '{"event": "done"}'])
def test_one_that_was_ended_is_reported_wherever_it_was_cut_off(agent, cut):
    agent(f"""echo '{{"event": "cell"}}'; printf %s '{cut}'; kill -9 $$""")
    events = timer_evaluation.evaluate({})
    assert next(events) == {"event": "cell"}
    with pytest.raises(MachineError, match="was ended early"):
        list(events)


TELLS = """echo '{"event": "done"}'; printf '%s\\n' "$@" > "${0%/*}/asked" """


def test_the_program_that_loads_papi_is_asked_first(agent, tmp_path):
    agent(TELLS, "becalm-timers")
    agent("exit 9")
    assert [event["event"] for event in timer_evaluation.evaluate({"seed": 1})] == ["done"]
    assert json.loads((tmp_path / "asked").read_text()) == {"seed": 1}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "No such file or directory"),
        ("echo 'libc.so.6: version GLIBC_9 not found' >&2; exit 1", "libc.so.6: version GLIBC_9 not found"),
        ("echo 'libm.so.6: cannot open shared object file' >&2; exit 127", "libm.so.6: cannot open"),
    ],
)
def test_where_it_cannot_start_the_agent_says_why_papi_is_missing(agent, tmp_path, script, reason):
    agent(TELLS)
    if script is not None:
        agent(script, "becalm-timers")
    assert [event["event"] for event in timer_evaluation.evaluate({"seed": 1})] == ["done"]
    word, request = (tmp_path / "asked").read_text().splitlines()
    assert word == "clock"
    assert reason in json.loads(request)["no_papi"]
