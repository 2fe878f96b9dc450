"""Programs that are measured by the agent and then played by becalm-sim."""

import os
import subprocess
import tomllib

import pytest
from click.testing import CliRunner
from tests.support.pipes import first_line
from tests.waiting import wait_ended

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError, WorkloadError
from becalm.verbs.simulate_measured import ALONGSIDE


def test_programs_are_measured_and_played(tmp_path):
    path = tmp_path / "programs.toml"
    programs = ["sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'", "sleep 0.01"]
    words = ["simulate", "--measure", "local", "--save", str(path), "--runs", "2", "--", *programs]
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 0, result.output
    assert f"Play it: becalm simulate -- {path}" in result.output
    assert [row["name"] for row in tomllib.loads(path.read_text())["measured"]] == programs
    assert len(tomllib.loads(path.read_text())["measured"][1]["solo"]) == 2
    assert becalm.simulate([str(path)]).runs[0].finished


def test_a_simulated_scheduler_runs_no_programs(tmp_path):
    with pytest.raises(UsageError, match="sim:cfs runs no programs"):
        becalm.measure_programs(["true"], host="sim:cfs", save=tmp_path / "x.toml")


def test_a_program_that_fails_is_named(tmp_path):
    with pytest.raises(WorkloadError, match="false did not end well"):
        becalm.measure_programs(["false"], host="local", save=tmp_path / "x.toml", runs=2)


def test_a_program_is_not_restarted_any_more_when_the_one_next_to_it_was_killed(tmp_path):
    """A killed script cannot end the loop, which has a session of its own."""
    os.mkfifo(tmp_path / "pid")
    script = ALONGSIDE.format(own="exec tail -f /dev/null", other=f"'echo $$ >{tmp_path}/pid'")
    process = subprocess.Popen(["sh", "-c", script])
    restarting = int(first_line(tmp_path / "pid").split()[0])
    process.kill()
    wait_ended(process.pid)
    # It may wait for somebody who reads, or have ended.
    reading = os.open(tmp_path / "pid", os.O_RDONLY | os.O_NONBLOCK)
    wait_ended(restarting)
    os.close(reading)
    process.wait()
