"""Copies of a program that are started at once and count as one run."""

import os

import pytest
from tests.contract.conversation import Agent, gather, needs_root, processes_with, sh
from tests.waiting import HANG_LIMIT_S, wait_for


def test_each_copy_runs_with_a_number_and_the_whole_input(agent, tmp_path):
    source = tmp_path / "input"
    source.write_text("".join(f"{line}\n" for line in range(1000)))
    script = f'wc -l > {tmp_path}/$BECALM_COPY; echo "$0 $1" >> {tmp_path}/$BECALM_COPY'
    rows, _ = agent.run("sh", "-c", script, "zero", "one two", copies=3, input=str(source))
    assert rows[0]["outcome"] == "ok"
    assert {path.name for path in tmp_path.iterdir()} == {"input", "0", "1", "2"}
    for number in range(3):
        assert (tmp_path / str(number)).read_text() == "1000\nzero one two\n"


def test_they_run_at_the_same_time(agent, tmp_path):
    """Run copies each of which waits for another: one after the other they would never end."""
    for number in range(4):
        os.mkfifo(tmp_path / str(number))
    # Opening a fifo waits for its other end: each copy opens that of the next, and then its own.
    script = f"""cd {tmp_path}; next=$(((BECALM_COPY + 1) % 4))
        if [ $BECALM_COPY = 0 ]; then : > 1; : < 0; else : < $BECALM_COPY; : > $next; fi"""
    rows, _ = agent.run(*sh(script), copies=4, timeout_ns=int(HANG_LIMIT_S * 1e9))
    assert rows[0]["outcome"] == "ok"
    assert rows[0]["left_behind"] == 0


def test_the_use_of_all_copies_is_added_up(agent, tmp_path):
    """Compare page faults: the run has those that each of its copies has seen of itself, and some more."""
    (row,), _ = agent.run(*sh(f"cat /proc/$$/stat > {tmp_path}/$BECALM_COPY"), copies=3)
    # Field 10 of proc_pid_stat(5); the list begins with field 3.
    faults = [int((tmp_path / str(number)).read_text().rpartition(")")[2].split()[10 - 3]) for number in range(3)]
    assert min(faults) > 10
    assert row["minor_faults"] >= sum(faults)


@pytest.mark.parametrize(
    ("script", "outcome", "status"),
    [
        ("exit $BECALM_COPY", "failed", 1),
        ("[ $BECALM_COPY = 2 ] && kill -9 $$; true", "failed", 137),
        ("exit 0", "ok", 0),
    ],
)
def test_the_first_code_that_is_not_zero_is_the_runs(agent, script, outcome, status):
    (row,), _ = agent.run("sh", "-c", script, copies=3)
    assert (row["outcome"], row["status"]) == (outcome, status)


def test_a_time_limit_ends_them(agent, marker):
    (row,), _ = agent.run("sh", "-c", f"sleep {marker} & wait", copies=3, timeout_ns=200_000_000)
    assert row["outcome"] == "timeout"
    assert processes_with(marker) == []


def test_a_stop_ends_all_of_them(agent, marker):
    number = agent.begin("sh", "-c", f"sleep {marker} & wait", copies=3)
    wait_for(lambda: len(processes_with(marker, "sleep")) == 3, "all copies run")
    agent.send("stop")
    (row,), _ = gather(agent.answer(number))
    assert row["outcome"] == "aborted"
    assert processes_with(marker) == []


def test_a_program_that_is_none_is_refused_or_fails_with_a_reason(agent, tmp_path):
    assert agent.define("no-such-program", copies=2)["kind"] == "not_found"
    assert agent.define("true", copies=0)["event"] == "error"
    assert agent.define("true", copies=100_000)["event"] == "error"
    assert agent.define("true", copies=2)["programs"][0].endswith("/true")
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    (row,), texts = agent.run(str(text), copies=2)
    assert (row["outcome"], row["status"]) == ("failed", 127)
    assert "cannot be started" in str(texts)


@needs_root
def test_another_user_needs_no_right_to_where_the_agent_lies():
    """Run copies as a user who may not read the agent, which may lie in root's home."""
    agent = Agent("--user", "nobody")
    try:
        rows, texts = agent.run("id", "-u", copies=2, output="keep")
    finally:
        agent.close()
    assert rows[0]["outcome"] == "ok"
    assert texts[0]["stdout"] == "65534\n65534\n"
