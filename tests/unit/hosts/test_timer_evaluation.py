"""The evaluation of timers, by a process that only looks like the agent: what it tells, and how it ends."""

import pytest

from becalm.errors import MachineError
from becalm.hosts import timer_evaluation


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Has the evaluation made by a script."""

    def made(script):
        path = tmp_path / "agent"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(timer_evaluation, "agent_path", lambda: str(path))

    return made


def test_events_come_until_the_last(agent):
    agent("""echo '{"event": "cell", "timer": "barrier"}'; echo '{"event": "done"}'""")
    assert [each["event"] for each in timer_evaluation.evaluate({})] == ["cell", "done"]


@pytest.mark.parametrize("cut", ["", '{"event": "do', '{"event": "done"}'])
def test_one_that_was_ended_is_said_wherever_it_was_cut_off(agent, cut):
    agent(f"""echo '{{"event": "cell"}}'; printf %s '{cut}'; kill -9 $$""")
    found = timer_evaluation.evaluate({})
    assert next(found) == {"event": "cell"}
    with pytest.raises(MachineError, match="was ended by somebody before it was done"):
        list(found)
