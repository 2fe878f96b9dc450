"""Copies of a program that are started at once and count as one run."""

import contextlib
import os
import sys
from pathlib import Path

import pytest
from tests.contract.conversation import Agent


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
    """Each waits until it sees all the others: one after the other would never end."""
    script = f"touch {tmp_path}/$BECALM_COPY; until [ $(ls {tmp_path} | wc -l) = 4 ]; do :; done"
    rows, _ = agent.run("sh", "-c", script, copies=4, timeout_ns=30 * 10**9)
    assert rows[0]["outcome"] == "ok"
    assert rows[0]["left_behind"] == 0


def test_what_they_used_is_added_up(agent):
    """Three times the CPU time that each of them says it used; the time of the run is that of the longest."""
    spin = "import time\nwhile time.process_time() < 0.1: pass"
    (row,), _ = agent.run(sys.executable, "-c", spin, copies=3)
    used = row["user_ns"] + row["system_ns"]
    assert used >= 3 * 0.1e9
    assert row["wall_ns"] >= max(0.1e9, used / os.cpu_count() * 0.9)


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


def test_a_time_limit_ends_all_of_them(agent, tmp_path):
    script = f"sleep 600 & echo $! >> {tmp_path}/pids; wait"
    (row,), _ = agent.run("sh", "-c", script, copies=3, timeout_ns=10**9)
    assert row["outcome"] == "timeout"
    for pid in (tmp_path / "pids").read_text().split():
        with contextlib.suppress(FileNotFoundError):
            assert Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as somebody else")
def test_another_user_needs_no_right_to_where_the_agent_lies():
    """The agent of a source tree in root's home, say."""
    agent = Agent("--user", "nobody")
    try:
        rows, texts = agent.run("id", "-u", copies=2, output="keep")
    finally:
        agent.close()
    assert rows[0]["outcome"] == "ok"
    assert texts[0]["stdout"] == "65534\n65534\n"
