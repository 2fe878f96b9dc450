"""Load that is made, against what the kernel says of it; and what is left of it afterwards: nothing."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.waiting import wait_for

from becalm import hosts
from becalm.errors import MachineError, UsageError
from becalm.hosts.agent import agent_path
from becalm.hosts.load_generator import Loading
from becalm.nouns.demand import Demand
from becalm.verbs.load import make_load

SHOW = "import os,json; print(json.dumps([os.getsid(0), os.getppid()]))"


def stat(pid):
    """Fields of /proc/PID/stat from the third on: state, parent, group, session, …"""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return None


def alive(pid):
    found = stat(pid)
    return found is not None and found[0] not in "ZX"


def children(pid):
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def groups():
    return list(Path("/sys/fs/cgroup").rglob("becalm-load-*"))


def start(demand, *rest):
    """The agent itself, up."""
    command = [agent_path(), "load", json.dumps(demand), *rest]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert json.loads(process.stdout.readline())["event"] == "started"
    return process


@pytest.fixture
def disk():
    """A directory of its own on a disk: TMPDIR may be in memory."""
    with tempfile.TemporaryDirectory(prefix="becalm-loading-", dir="/var/tmp") as directory:
        yield directory


def test_what_was_asked_for_is_made_and_counted(disk):
    made = make_load(cpu=0.25, network="1M", syscalls=1, disk=disk, rate="1M", duration="1s")
    assert (made.reason, made.failure) == ("time", None)
    kinds = [share.kind for share in made.shares]
    assert kinds == ["cpu", "disk", "network", "network", "syscalls"]
    # Never more than was asked for: a share of one processor, rates. One piece more is possible at the edges.
    assert 0 < made.cpu_ns("cpu") <= 0.25 * made.wall_ns + 20e6
    for kind in ("disk", "network"):
        assert 0 < made.done(kind) <= 2**20 * (made.wall_ns / 1e9 + 0.1)
    assert made.done("syscalls") > 0


def test_a_command_runs_meanwhile_and_its_exit_code_is_the_answer():
    words = ["load", "--cpu", "1", "--json", "--", sys.executable, "-c", "print('out'); raise SystemExit(7)"]
    done = subprocess.run([sys.executable, "-m", "becalm", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "out\n")
    said = json.loads(done.stderr)
    assert (said["reason"], said["status"], said["demand"]) == ("command", 7, {"cpu": 1.0})
    killed = make_load(cpu=1, command=["sh", "-c", "kill -9 $$"])
    assert killed.status == -9
    with pytest.raises(MachineError, match="no-such-program cannot be started"):
        make_load(cpu=1, command=["no-such-program"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_gets_the_signals_of_the_terminal(number, tmp_path):
    """Ctrl-C goes to the whole foreground group: the command decides, and its end is the load's."""
    script = f"trap 'exit 9' {number.value}; touch {tmp_path}/ready; while :; do sleep 0.05; done"
    command = [agent_path(), "load", '{"cpu": 1}', "--", "sh", "-c", script]

    # A shell cannot trap what was ignored when it began, as SIGINT is in the background of another shell.
    def heed() -> None:
        signal.signal(number, signal.SIG_DFL)

    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=heed)
    wait_for((tmp_path / "ready").exists)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.terminate()
    said = process.communicate(timeout=120)[1].splitlines()
    assert process.returncode == 9
    assert json.loads(said[-1])["reason"] == "command"


def test_a_command_inherits_no_blocked_signals():
    line = [agent_path(), "load", '{"cpu": 1}', "--", "grep", "SigBlk", "/proc/self/status"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[1], 16) == 0


@pytest.mark.parametrize(("session", "shared"), [("same", True), ("new", False)])
def test_the_load_has_the_session_that_was_asked_for_and_the_command_ours(session, shared):
    process = start({"cpu": 2, "syscalls": 1, "session": session})
    try:
        workers = children(process.pid)
        assert len(workers) == 3
        sessions = {stat(pid)[3] for pid in workers}
        assert len(sessions) == 1
        assert (sessions == {str(os.getsid(0))}) is shared
    finally:
        process.terminate()
        assert json.loads(process.communicate()[0])["reason"] == "signal"
    done = subprocess.run(
        [agent_path(), "load", json.dumps({"cpu": 1, "session": session}), "--", sys.executable, "-c", SHOW],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert json.loads(done.stdout)[0] == os.getsid(0)


def test_nice_and_processors_hold_for_all_of_it():
    process = start({"cpu": 1, "syscalls": 1, "nice": 7, "cpus": [0]})
    try:
        for pid in children(process.pid):
            assert os.getpriority(os.PRIO_PROCESS, pid) == 7
            assert os.sched_getaffinity(pid) == {0}
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize("session", ["same", "new"])
def test_whoever_kills_it_leaves_nothing(session, disk):
    """SIGKILL, also with a memory group: processes die, the group is removed, no file was ever there."""
    demand = {"cpu": 1, "disk_directory": disk, "disk_rate": 1e6, "session": session}
    if os.geteuid() == 0:
        demand |= {"memory_bytes": 1 << 22, "limit_bytes": 1 << 23}
    process = start(demand)
    workers = children(process.pid)
    assert len(workers) >= 2
    assert len(groups()) == (1 if os.geteuid() == 0 else 0)
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    wait_for(lambda: not any(alive(pid) for pid in workers) and not groups())
    assert os.listdir(disk) == []


def test_it_ends_with_whoever_started_it():
    code = (
        "import os, signal\nfrom becalm.hosts.load_generator import Loading\nfrom becalm.nouns.demand import Demand\n"
        "loading = Loading(Demand(cpu=1))\nprint(loading._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    wait_for(lambda: not alive(pid) and not any(alive(each) for each in children(pid)))


def test_a_process_of_the_load_that_is_killed_is_told():
    loading = Loading(Demand(cpu=2))
    [victim, *_] = children(loading._process.pid)
    os.kill(victim, signal.SIGKILL)
    made = loading.wait()
    loading.close()
    assert made.reason == "failure"
    assert "killed" in made.failure
    assert made.failure in made.sentence


@pytest.mark.parametrize(
    ("demand", "word"),
    [
        (Demand.of(disk="/dev/shm", rate="1M"), "tmpfs"),
        (Demand.of(disk="/no/such/directory"), "/no/such/directory"),
        (Demand(cpu=1, cpus=(1023,)), "online"),
        (Demand(cpu=-1), "processors"),
        (Demand.of(memory="1000G", limit="900G"), "too much"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(demand, word):
    with pytest.raises(MachineError, match=word):
        Loading(demand)
    assert not groups()


def test_a_nice_value_that_needs_rights_is_refused():
    drop = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    agent = Path(agent_path())
    command = ["/proc/self/fd/0", "load", json.dumps({"cpu": 1, "nice": -5}), "--for-ns", "1000000"]
    with agent.open("rb") as executable:
        # By its descriptor: the directories above need not be open to that user.
        done = subprocess.run(
            command, executable=f"/proc/self/fd/{executable.fileno()}", pass_fds=[executable.fileno()],
            capture_output=True, text=True, check=False, cwd="/", **drop,
        )  # fmt: skip
    assert done.returncode == 3
    assert "Only root" in done.stderr


def test_load_on_another_host_is_made_by_its_agent(capfd):
    with hosts.open("local") as host:
        made = make_load(cpu=0.5, duration="0.3s", host=host)
        assert (made.reason, made.failure) == ("time", None)
        assert made.cpu_ns("cpu") > 0
        made = make_load(cpu=1, command=["sh", "-c", "echo here; exit 3"], host=host)
        assert (made.reason, made.status) == ("command", 3)
        assert made.command_ns > 0
    assert "here" in capfd.readouterr().out
    with pytest.raises(UsageError, match="null"):
        make_load(cpu=1, duration="1s", host="null")
