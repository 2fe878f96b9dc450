"""`reset` works whoever holds the machine and in whatever surroundings, and tells whose settings it takes off."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest
from tests.support.laptop import changed, laptop, snapshot
from tests.support.talk import Agent, guards, holders
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

SWAPPINESS = "proc/sys/vm/swappiness"
HELD = {"swappiness": 10, "stat_interval": 20}


@pytest.fixture
def root(tmp_path):
    return laptop(tmp_path / "root", cpus=4)


def becalm(*words, root, shell="", cwd=None, **environment) -> subprocess.CompletedProcess[str]:
    """Run becalm on this machine; `shell`: what stands after it on a command line of sh."""
    line = shlex.join([sys.executable, "-m", "becalm", *words, "--root", str(root)]) + f" {shell}"
    result = {name: value for name, value in os.environ.items() if name not in environment}
    variables = {name: value for name, value in environment.items() if value is not None}
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=HANG_LIMIT_S, cwd=cwd, env={**result, **variables}
    )


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: state(pid) in "tT")


# --- holders --------------------------------------------------------------------------------------------------------


def test_a_stopped_guard_of_a_killed_agent_is_named_and_ended(root):
    before = snapshot(root)
    agent = Agent(root)
    agent.done("hold", settings=HELD, dangerous=True)
    (guard,) = guards(root)
    stop(guard)
    agent.kill()
    refused = becalm("reset", root=root)
    assert refused.returncode == 3
    assert f"process {guard} (becalm-guard, stopped, started" in refused.stderr
    assert f"left by process {agent.pid}" in refused.stderr
    assert "becalm reset --force" in refused.stderr
    assert f"process {guard} (becalm-guard, stopped" in becalm("status", root=root).stdout
    assert changed(before, snapshot(root)) != {}
    done = becalm("reset", "--force", root=root)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Ended, since it held the machine: process {guard} (becalm-guard, stopped" in done.stdout
    wait_ended(guard)
    assert changed(before, snapshot(root)) == {}
    assert becalm("reset", root=root).stdout.startswith("The machine is as it was: becalm has applied no settings.")


def test_a_stopped_agent_is_ended_and_its_guard_restores_the_settings(root):
    before = snapshot(root)
    agent = Agent(root)
    agent.done("hold", settings=HELD, dangerous=True)
    stop(agent.pid)
    refused = becalm("reset", root=root)
    assert refused.returncode == 3
    assert "which is stopped" in refused.stderr
    done = becalm("reset", "--force", root=root)
    assert (done.returncode, done.stderr) == (0, "")
    agent.process.wait()
    agent.forget()
    assert changed(before, snapshot(root)) == {}
    assert holders(root) == []


def test_both_stopped_are_ended(root):
    before = snapshot(root)
    agent = Agent(root)
    agent.done("hold", settings=HELD, dangerous=True)
    for pid in (*guards(root), agent.pid):
        stop(pid)
    done = becalm("reset", "--force", root=root)
    assert (done.returncode, done.stderr) == (0, "")
    agent.process.wait()
    agent.forget()
    assert changed(before, snapshot(root)) == {}


def test_a_working_becalm_is_asked_to_end_and_restores_the_settings_itself(root):
    before = snapshot(root)
    agent = Agent(root)
    agent.done("hold", settings=HELD, dangerous=True)
    assert becalm("reset", root=root).returncode == 3
    done = becalm("reset", "--force", root=root)
    assert done.returncode == 0, done.stderr
    assert agent.process.wait() != -signal.SIGKILL
    agent.forget()
    assert changed(before, snapshot(root)) == {}


def test_a_lock_of_another_program_is_named_and_not_ended(root):
    (root / "run/becalm").mkdir(parents=True)
    lock = root / "run/becalm/lock"
    lock.touch(mode=0o600)
    with Agent(root) as agent:
        agent.done("hold", settings=HELD, dangerous=True, keep=True)
    script = "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, 2); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        refused = becalm("reset", "--force", root=root)
        assert refused.returncode == 3
        assert f"process {other.pid} (" in refused.stderr
        assert "is not of becalm's and was not ended" in refused.stderr
        assert other.poll() is None
    assert becalm("reset", root=root).returncode == 0


# --- surroundings -----------------------------------------------------------------------------------------------------

CLOSED = ("<&-", ">&-", "2>&-", "<&- >&- 2>&-")


@pytest.mark.parametrize("closed", CLOSED)
def test_reset_works_without_standard_streams(root, closed):
    before = snapshot(root)
    assert becalm("apply", "--set", "swappiness=10", root=root, shell=closed).returncode == 0
    assert changed(before, snapshot(root)) != {}
    assert becalm("reset", root=root, shell=closed).returncode == 0
    assert changed(before, snapshot(root)) == {}


def test_reset_works_in_a_directory_that_was_deleted(root, tmp_path):
    before = snapshot(root)
    assert becalm("apply", "--set", "swappiness=10", root=root).returncode == 0
    (tmp_path / "gone").mkdir()
    line = shlex.join([sys.executable, "-m", "becalm", "reset", "--root", str(root)])
    done = subprocess.run(
        ["sh", "-c", f"rmdir ../gone && {line}"], cwd=tmp_path / "gone", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert changed(before, snapshot(root)) == {}


HOMES = {"none": None, "nowhere": "/nonexistent/home", "of the kernel": "/proc/1", "empty": ""}


@pytest.mark.parametrize("home", HOMES)
def test_reset_works_without_a_home(root, home):
    before = snapshot(root)
    # Paths that are not given are of the home.
    unset = dict.fromkeys(("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "BECALM_STORE"))
    for words in (("apply", "--set", "swappiness=10"), ("status",), ("reset",)):
        done = becalm(*words, root=root, HOME=HOMES[home], **unset)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert changed(before, snapshot(root)) == {}


def test_reset_works_from_another_session_without_a_terminal(root):
    before = snapshot(root)
    assert becalm("apply", "--set", "swappiness=10", root=root).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "becalm", "reset", "--root", str(root)],
        capture_output=True,
        text=True,
        start_new_session=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert changed(before, snapshot(root)) == {}


# --- owners -----------------------------------------------------------------------------------------------------------


def test_owners_are_kept_apart(root):
    before = snapshot(root)
    assert becalm("apply", "--set", "swappiness=10", "--as", "ci", root=root).returncode == 0
    me = json.loads(becalm("status", "--json", root=root).stdout)["user"]
    assert me.endswith(" as ci")
    assert f"set by {me} on" in becalm("status", root=root).stdout
    on = snapshot(root)
    for words in (("--mine",), ("--as", "nightly"), ("--mine", "--force")):
        refused = becalm("reset", *words, root=root)
        assert refused.returncode == 3
        assert f"set by {me}, not by" in refused.stderr
        assert "Nothing was changed" in refused.stderr
        assert snapshot(root) == on
    done = becalm("reset", "--as", "ci", root=root)
    assert (done.returncode, done.stderr) == (0, "")
    assert changed(before, snapshot(root)) == {}


def test_reset_takes_off_everything_and_names_the_owner(root):
    before = snapshot(root)
    assert becalm("apply", "--set", "swappiness=10", "--as", "ci", root=root).returncode == 0
    done = becalm("reset", root=root)
    assert done.returncode == 0
    assert " as ci had left applied" in done.stdout
    assert changed(before, snapshot(root)) == {}
    document = json.loads(becalm("reset", "--json", root=root).stdout)
    assert document["owner"] == ""


def test_reset_mine_restores_settings_without_a_name(root):
    before = snapshot(root)
    assert becalm("apply", "--set", "swappiness=10", root=root).returncode == 0
    assert becalm("reset", "--mine", root=root).returncode == 0
    assert changed(before, snapshot(root)) == {}
    assert becalm("reset", "--mine", root=root).returncode == 0


@pytest.mark.parametrize("name", ["two words", "a\nb", "x" * 65, "ü"])
def test_a_name_that_is_none_is_refused(root, name):
    before = snapshot(root)
    refused = becalm("apply", "--set", "swappiness=10", "--as", name, root=root)
    assert (refused.returncode, changed(before, snapshot(root))) == (2, {})
    assert "An owner is up to 64 letters" in refused.stderr
