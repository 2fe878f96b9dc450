"""Load on request: its processes as the kernel describes them, its end, and nothing that is left of it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests import fake_clock
from tests.contract.conversation import alive, children
from tests.support.pipes import first_line
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

from becalm import hosts
from becalm.errors import MachineError, UsageError
from becalm.hosts.agent import agent_path
from becalm.hosts.load_generator import Loading
from becalm.nouns.demand import Demand
from becalm.verbs.load import make_load

SHOW = "import os,json; print(json.dumps([os.getsid(0), os.getppid()]))"


def stat(pid):
    """Return the fields of /proc/PID/stat from the third on: state, parent, group, session, …"""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def group_of(pid):
    """Return the control group that a load with memory has made, by the number of its process; None without one."""
    # Path.rglob fails when a group goes meanwhile.
    groups = (Path(path) for path, _, _ in os.walk("/sys/fs/cgroup") if path.endswith(f"/becalm-load-{pid}"))
    return next(groups, None)


@pytest.fixture
def disk():
    """Return a directory on a disk, which memory is not."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="becalm-tests-") as directory:
        yield Path(directory)


def start(demand, *rest):
    """Start load by the agent itself; return its process when all of it is up."""
    command = [agent_path(), "load", json.dumps(demand), *rest]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert json.loads(process.stdout.readline())["event"] == "started"
    return process


def test_every_kind_of_load_is_made_and_counted(disk):
    load = make_load(cpu=0.25, network="1M", syscalls=1, disk=str(disk), rate="1M", command=["true"])
    assert (load.reason, load.failure) == ("command", None)
    assert [share.kind for share in load.shares] == ["cpu", "disk", "network", "network", "syscalls"]


def test_a_command_runs_meanwhile_and_its_exit_code_is_the_answer():
    words = ["load", "--cpu", "1", "--json", "--", sys.executable, "-c", "print('out'); raise SystemExit(7)"]
    done = subprocess.run([sys.executable, "-m", "becalm", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "out\n")
    document = json.loads(done.stderr)
    assert (document["reason"], document["status"], document["demand"]) == ("command", 7, {"cpu": 1.0})
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
    text = process.communicate(timeout=HANG_LIMIT_S)[1].splitlines()
    assert process.returncode == 9
    assert json.loads(text[-1])["reason"] == "command"


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
def test_a_killed_load_leaves_nothing(session, disk):
    """SIGKILL, also with a memory group: processes die, the group is removed, no file was ever there."""
    demand = {"cpu": 1, "disk_directory": str(disk), "disk_rate": 1e6, "session": session}
    if os.geteuid() == 0:
        demand |= {"memory_bytes": 1 << 22, "limit_bytes": 1 << 23}
    process = start(demand)
    workers = children(process.pid)
    assert len(workers) >= 2
    group = group_of(process.pid)
    assert (group is not None) == (os.geteuid() == 0)
    process.kill()
    process.communicate()
    wait_for(lambda: not any(alive(pid) for pid in workers) and not (group and group.exists()))
    assert list(disk.iterdir()) == []


def test_it_ends_with_whoever_started_it():
    code = (
        "import os, signal\nfrom becalm.hosts.load_generator import Loading\nfrom becalm.nouns.demand import Demand\n"
        "loading = Loading(Demand(cpu=1))\nmain = loading._process.pid\n"
        "print(main, open(f'/proc/{main}/task/{main}/children').read(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    started = [int(word) for word in done.stdout.split()]
    assert len(started) == 2
    for pid in started:
        wait_ended(pid)


def test_a_process_of_the_load_that_is_killed_is_reported():
    loading = Loading(Demand(cpu=2))
    [victim, *_] = children(loading._process.pid)
    os.kill(victim, signal.SIGKILL)
    load = loading.wait()
    loading.close()
    assert load.reason == "failure"
    assert "killed" in load.failure
    assert load.failure in load.sentence


@pytest.mark.parametrize(
    ("demand", "word"),
    [
        (Demand.of(disk="/dev/shm", rate="1M"), "tmpfs"),
        (Demand.of(disk="/no/such/directory"), "/no/such/directory"),
        (Demand(cpu=1, cpus=(1023,)), "online"),
    ],
)
def test_an_impossible_load_is_refused_with_a_reason(demand, word):
    before = children(os.getpid())
    with pytest.raises(MachineError, match=word):
        Loading(demand)
    assert set(children(os.getpid())) <= set(before)


TASKS = 8 * os.sysconf("SC_NPROCESSORS_ONLN")
"""Tasks that this machine has room for."""


@pytest.mark.parametrize(
    ("demand", "word"),
    [
        (Demand(cpu=-1), f"0 to {TASKS}"),
        (Demand(cpu=TASKS + 0.5), f"0 to {TASKS}"),
        (Demand(cpu=1e300), "more than this machine has room for"),
        (Demand(cpu=float("nan")), "finite"),
        (Demand(network_rate=float("inf")), "finite"),
        (Demand(syscalls=TASKS + 1), f"0 to {TASKS}"),
        (Demand(cpu=TASKS, syscalls=1), f"0 to {TASKS}"),
        (Demand.of(network="2T"), "network rate"),
        (Demand.of(memory="1000G", limit="900G"), "above the"),
        (Demand.of(memory="1000000G", limit="16M"), "memory and swap"),
    ],
)
def test_a_demand_above_a_few_times_the_machine_is_refused_as_usage(demand, word):
    before = children(os.getpid())
    with pytest.raises(UsageError, match=word):
        Loading(demand)
    assert set(children(os.getpid())) <= set(before)
    with hosts.open("local") as host, pytest.raises(UsageError, match=word), host.loading(demand):
        pass


@pytest.mark.parametrize(
    "words",
    [
        ("load", "--cpu", "10000", "--for", "1s"),
        ("load", "--cpu", "nan", "--for", "1s"),
        ("load", "--cpu", "inf", "--for", "1s"),
        ("load", "--cpu", "-1", "--for", "1s"),
        ("load", "--cpu", "1", "--for", "1e30s"),
        ("load", "--syscalls", "10000", "--for", "1s"),
        ("load", "--network", "9e99", "--for", "1s"),
        ("load", "--memory", "9000000T", "--limit", "16M", "--for", "1s"),
        ("load", "--host", "local", "--cpu", "10000", "--", "true"),
        ("run", "--copies", "4000", "--runs", "1", "--no-store", "true"),
    ],
)
def test_the_command_line_refuses_it_with_exit_code_2(words):
    done = subprocess.run([sys.executable, "-m", "becalm", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr


def test_the_time_limit_includes_the_build_up():
    """A nanosecond is over before anything is up: the load ends instead of being built."""
    before = children(os.getpid())
    with pytest.raises(MachineError, match="before all of the load was up"):
        Loading(Demand(cpu=2), time_ns=1)
    assert set(children(os.getpid())) <= set(before)


def test_termination_ends_the_load_before_a_command_that_ignores_it(tmp_path):
    script = f"trap '' TERM; touch {tmp_path}/ready; while [ ! -e {tmp_path}/end ]; do sleep 0.02; done"
    command = [agent_path(), "load", '{"cpu": 2}', "--", "sh", "-c", script]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    wait_for((tmp_path / "ready").exists)
    workers = [pid for pid in children(process.pid) if "becalm-agent" in Path(f"/proc/{pid}/comm").read_text()]
    assert len(workers) == 2
    process.terminate()
    wait_for(lambda: all(stat(pid)[0] == "Z" for pid in workers))
    assert process.poll() is None
    (tmp_path / "end").touch()
    document = json.loads(process.communicate(timeout=HANG_LIMIT_S)[1].splitlines()[-1])
    assert (document["reason"], document["failure"]) == ("command", None)


def test_a_killed_load_takes_its_command_with_it(tmp_path):
    os.mkfifo(tmp_path / "pid")
    script = f"echo $$ >{tmp_path}/pid; exec tail -f /dev/null"
    process = subprocess.Popen(
        [agent_path(), "load", '{"cpu": 1}', "--", "sh", "-c", script], stderr=subprocess.DEVNULL
    )
    command = int(first_line(tmp_path / "pid"))
    process.kill()
    process.wait(timeout=HANG_LIMIT_S)
    wait_ended(command)


def test_a_load_without_a_reader_is_not_made():
    reading, writing = os.pipe()
    os.close(reading)
    command = [agent_path(), "load", '{"cpu": 1}', "--report-fd", str(writing)]
    done = subprocess.run(command, pass_fds=[writing], capture_output=True, check=False, timeout=HANG_LIMIT_S)
    os.close(writing)
    assert done.returncode == 3


def test_a_nice_value_that_needs_rights_is_refused():
    drop = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    agent = Path(agent_path())
    command = ["/proc/self/fd/0", "load", json.dumps({"cpu": 1, "nice": -5}), "--for-ns", "60000000000"]
    with agent.open("rb") as executable:
        # By its descriptor: the directories above need not be open to that user.
        done = subprocess.run(
            command, executable=f"/proc/self/fd/{executable.fileno()}", pass_fds=[executable.fileno()],
            capture_output=True, text=True, check=False, cwd="/", **drop,
        )  # fmt: skip
    assert done.returncode == 3
    assert "Only root" in done.stderr


AT_WORK = """
import os, sys
def used():
    times = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            nice = os.getpriority(os.PRIO_PROCESS, int(name))
            if nice == 3 and open(f"/proc/{name}/comm").read() == "becalm-load\\n":
                times += int(open(f"/proc/{name}/schedstat").read().split()[0])
        except OSError:
            pass
    return times
begun = used()
while used() <= begun: pass
print("here")
sys.exit(3)
"""
"""A command that ends when load with a nice value of 3 has used some CPU time."""


def test_load_on_another_host_is_made_by_its_agent(capfd, monkeypatch):
    with hosts.open("local") as host:
        load = make_load(cpu=1, nice=3, command=[sys.executable, "-S", "-c", AT_WORK], host=host)
        assert (load.reason, load.status, load.failure) == ("command", 3, None)
        assert load.cpu_ns("cpu") > 0
        assert load.command_ns > 0
        # A clock that stands still: however long it takes until the load is up, all of the time is left.
        clock = fake_clock.install(monkeypatch)
        assert make_load(cpu=0.5, duration="0.1s", host=host).reason == "time"
        monkeypatch.setattr(clock, "monotonic_ns", iter([0, 10**9]).__next__)
        with pytest.raises(MachineError, match="The time was over before all of the load was up"):
            make_load(cpu=0.5, duration="1s", host=host)
        monkeypatch.undo()
    assert "here" in capfd.readouterr().out
    with pytest.raises(UsageError, match="null"):
        make_load(cpu=1, duration="1s", host="null")
