"""A becalm that is cut off says nothing any more, and its agent takes that for an end: `--silence`."""

import time

from tests.contract.conversation import Agent, processes_with
from tests.support.laptop import laptop
from tests.waiting import wait_for


def test_long_silence_restores_and_empty_lines_are_signs_of_life(tmp_path):
    laptop(tmp_path)
    place = tmp_path / "proc/sys/vm/stat_interval"
    before = place.read_text()
    # A machine that others keep busy lets a second pass here and there between two signs.
    agent = Agent("--silence", "5", "--root", str(tmp_path))
    # Longer than the silence that is allowed, all in all.
    for _ in range(22):
        time.sleep(0.25)
        agent.write(b"\n\n")
    held = agent.ask("hold", settings={"stat_interval": 20}, dangerous=False)
    assert held["event"] == "done", held
    assert place.read_text().strip() == "20"
    assert agent.process.wait(timeout=120) == 0
    assert place.read_text() == before
    agent.close()


def test_long_silence_ends_a_running_program():
    marker = "86421.7"
    # A busy machine takes a second or two to start it.
    agent = Agent("--silence", "5")
    agent.define("sleep", marker)
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    assert agent.process.wait(timeout=120) == 0
    wait_for(lambda: not processes_with(marker))
    agent.close()
