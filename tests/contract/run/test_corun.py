"""`becalm corun` on this machine: programs next to each other are measured, stored, and found by `becalm place`."""

import json
import os
import sys

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as command
from becalm.errors import UsageError, WorkloadError
from becalm.results.corun import CoRunProfile
from becalm.store import Store

pytestmark = [
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two programs at a time need two CPUs"),
]

SPIN = [sys.executable, "-c", "sum(range(200_000))"]


def test_programs_are_measured_alongside_each_other_and_kept(store, tmp_path):
    file = tmp_path / "profile.json"
    profile = becalm.corun(["sleep 0.02", SPIN], rounds=2, seed=1, save=file)
    assert {(run.program, run.alongside) for run in profile.co_runs} == {
        (program.name, (other.name,))
        for program in profile.programs
        for other in profile.programs
        if program is not other
    }
    assert all(degradation.rounds == 2 for degradation in profile.degradations)
    assert CoRunProfile.of_text(file.read_text(), "file") == profile
    with Store.open(store) as opened:
        assert opened.studies(limit=1, kind="corun")[0].number == profile.study
        assert CoRunProfile.from_json(opened.verdict(profile.study)) == profile
    assert profile.cpu in os.sched_getaffinity(0)
    assert profile.cpu not in profile.alongside_cpus


def test_a_program_alongside_itself_and_one_that_fails_alone(store):
    profile = becalm.corun(["sleep 0.01", "sleep 0.01", "false"], rounds=1, seed=1)
    assert [program.name for program in profile.programs] == ["sleep 0.01", "sleep 0.01#2", "false"]
    assert any(remark.startswith("false fails alone") for remark in profile.remarks)
    assert {exclusion.reason for exclusion in profile.left_out} == {"one of them fails alone"}


def test_options_of_timed_runs_do_not_apply_to_neighbours(store, tmp_path):
    """Their output goes nowhere and no command runs around them, whatever is asked of the programs."""
    log = tmp_path / "log"
    profile = becalm.corun(
        ["echo a", "sleep 0.02"], rounds=1, output="keep", prepare=["sh", "-c", f"echo x >> {log}"], timeout="30s"
    )
    timed = 2 * len(profile.programs) + len(profile.programs) + len(profile.co_runs)
    assert len(log.read_text().split()) == timed


def test_too_few_programs_and_cpus_of_ones_own_are_refused(store):
    with pytest.raises(WorkloadError, match="Two programs that end well alone are needed"):
        becalm.corun(["sleep 0.01", "false"], rounds=1)
    with pytest.raises(UsageError, match="1 program named"):
        becalm.corun(["sleep 0.01"])
    with pytest.raises(UsageError, match="chooses the CPUs of programs"):
        becalm.corun(["true", "sleep 0.01"], settings={"cpus": "0"})
    with pytest.raises(UsageError, match="cannot be written"):
        becalm.corun(["true", "sleep 0.01"], save="/no/such/directory/x")
    with pytest.raises(UsageError, match="runs no program"):
        becalm.corun(["spin 20ms", "spin 30ms"], host="sim:drift")


@pytest.mark.parametrize("form", ["--json", "--markdown", "--plain", "--quiet"])
def test_the_command_prints_it_in_every_form(store, form):
    done = CliRunner().invoke(command, ["corun", form, "--rounds", "1", "sleep 0.01", "sleep 0.02"])
    assert done.exit_code == 0, done.output
    if form == "--json":
        value = json.loads(done.stdout)
        assert (value["kind"], len(value["co_runs"])) == ("co_run_profile", 2)
    else:
        assert "Only one round was measured" in done.stdout
    again = CliRunner().invoke(command, ["show", "last", "--json"])
    assert json.loads(again.stdout)["kind"] == "co_run_profile", again.output
