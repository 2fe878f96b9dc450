"""`becalm-helper`, which root runs: what it takes, what it does not take, and that all is restored whatever ends it."""

import contextlib
import fcntl
import json
import os
import pwd
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.pipes import is_full, sleeps
from tests.support.root_helper import Helper, children_of, ranks
from tests.support.talk import end, guards, holders
from tests.waiting import wait_for

import becalm
from becalm.hosts.agent import agent_path
from becalm.hosts.root_helper import packaged

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it changes settings of this machine"),
    pytest.mark.skipif(
        not os.access("/proc/sys/vm/stat_interval", os.W_OK), reason="this machine's settings are read-only"
    ),
]

NOBODY = pwd.getpwnam("nobody").pw_uid
STAT = Path("/proc/sys/vm/stat_interval")
JOURNAL = Path("/var/lib/becalm/journal")


@pytest.fixture
def other():
    """Return another value of stat_interval than the machine's, and check that the machine's is back afterwards."""
    if holders(None):
        # A guard of the test before may still be at work.
        with contextlib.suppress(AssertionError):
            wait_for(lambda: not holders(None), "no becalm is at work")
    if JOURNAL.exists() or holders(None):
        pytest.skip("settings are on, or another becalm is at work")
    was = STAT.read_text()
    yield "17" if was.strip() == "20" else "20"
    try:
        wait_for(lambda: STAT.read_text() == was and not JOURNAL.exists() and not holders(None))
    finally:
        if JOURNAL.exists():
            subprocess.run([agent_path(), "restore", "--force"], check=True)


@pytest.fixture
def sleeper():
    """Return a function that starts a process of a user, which sleeps."""
    started = []

    def start(uid):
        process = subprocess.Popen(["sleep", "3012399"], user=uid, group=uid, extra_groups=[], cwd="/")
        started.append(process)
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def journalled_tasks():
    """Return the numbers of the processes and threads whose values are in the journal."""
    records = [json.loads(line.partition(" ")[2]) for line in JOURNAL.read_text().splitlines()]
    places = [record["place"] for record in records if record["record"] == "place"]
    return {place[name] for place in places for name in ("pid", "tid") if name in place}


def write(knob, value, **fields):
    """Return a write as requests have it."""
    return {"knob": knob, "value": value, **fields}


def interval(value):
    """Return the writes that give stat_interval a value."""
    return [write("stat_interval", value)]


def bound(pid):
    """Return the writes that bind a process to CPU 0."""
    start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return [write("process_cpus", "0", names=[str(pid), start])]


def is_on(value):
    """Return whether stat_interval has this value."""
    return STAT.read_text().strip() == value


def test_settings_are_on_and_off(other):
    with Helper(NOBODY) as helper:
        helper.done("switch", writes=interval(other))
        assert is_on(other)
        assert json.loads(JOURNAL.read_text().splitlines()[0].partition(" ")[2])["user"] == "nobody"
        report = helper.done("release")
        assert report["unsettled"] == []
        assert not is_on(other)


def test_the_end_of_input_restores_the_settings(other):
    helper = Helper(NOBODY)
    helper.done("switch", writes=interval(other))
    assert helper.close() == 0
    assert not is_on(other)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_restore_settings(other, number):
    helper = Helper(NOBODY)
    helper.done("switch", writes=interval(other))
    helper.process.send_signal(number)
    assert helper.process.wait() == 0
    assert not is_on(other)
    helper.close()


def test_answers_that_nobody_reads_do_not_keep_settings_on(other):
    helper = Helper(NOBODY)
    helper.done("switch", writes=interval(other))
    # Until the pipe of its answers is full: each is about 1 KiB.
    fcntl.fcntl(helper.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    helper.process.stdin.write(b'{"do":"view"}\n' * 32)
    helper.process.stdin.flush()
    wait_for(lambda: is_full(helper.process.stdout) and sleeps(helper.pid), "it can write no more")
    helper.process.terminate()
    assert helper.process.wait() == 0
    assert not is_on(other)
    helper.close()


def test_settings_of_a_killed_helper_are_restored_by_its_guard(other):
    helper = Helper(NOBODY)
    helper.done("switch", writes=interval(other))
    helper.process.kill()
    wait_for(lambda: not is_on(other))
    helper.close()


def test_after_helper_and_guard_are_killed_a_reset_restores_the_settings(other):
    helper = Helper(NOBODY)
    helper.done("switch", writes=interval(other))
    for guard in guards(None):
        end(guard)
    helper.process.kill()
    helper.close()
    assert is_on(other)
    becalm.reset()
    assert not is_on(other)


def test_kept_settings_stay_until_another_helper_restores(other):
    with Helper(NOBODY) as helper:
        helper.done("switch", writes=interval(other))
        helper.done("keep", settings={"stat_interval": other})
    assert is_on(other)
    with Helper(NOBODY) as helper:
        assert helper.done("view")["title"] == "a test"
        helper.done("restore")
    assert not is_on(other)


REFUSED = [
    {"do": "run", "argv": ["/usr/bin/id"]},
    {"do": "measure", "first": 0, "steps": [[0, 0, 0, 0]]},
    {"do": "define", "workloads": [{"argv": ["id"]}], "settings": []},
    {"do": "open", "protocol": 1, "environment": {"PATH": "/tmp"}, "directory": "/"},
    {"do": "load", "demand": {"cpu": 1}},
    {"do": "boot", "parameters": ["init=/bin/sh"], "limit_s": 60},
    {"do": "reboot"},
    {"do": "facts", "root": "/"},
    {"do": "plan", "settings": {"swappiness": 1}},
    {"do": "hello", "protocol": 1, "root": "/tmp"},
    {"do": "hello", "protocol": 1, "environment": {"LD_PRELOAD": "/tmp/x.so"}},
    {"do": "hello", "protocol": 1, "title": "a\nb"},
    {"do": "hello", "protocol": 1, "title": "x" * 501},
    {"do": "hello", "protocol": 1, "interrupt_wait_s": 1e9},
    {"do": "hello", "protocol": 7},
    {"do": "switch", "writes": [write("/etc/shadow", "x")]},
    {"do": "switch", "writes": [write("../../../etc/shadow", "x")]},
    {"do": "switch", "writes": [write("core_pattern", "|/tmp/x")]},
    {"do": "switch", "writes": [write("modprobe", "/tmp/x")]},
    {"do": "switch", "writes": [write("swappiness", "1; id")]},
    {"do": "switch", "writes": [write("swappiness", "201")]},
    {"do": "switch", "writes": [write("swappiness", "-1")]},
    {"do": "switch", "writes": [write("swappiness", 1)]},
    {"do": "switch", "writes": [write("swappiness", "1", row=1)]},
    {"do": "switch", "writes": [write("swappiness", "1", names=["/etc/shadow"])]},
    {"do": "switch", "writes": [write("swappiness", "1", path="/etc/shadow")]},
    {"do": "switch", "writes": [write("stat_interval", "1\n2")]},
    {"do": "switch", "writes": [write("governor", "performance", names=["../../../../etc"])]},
    {"do": "switch", "writes": [write("transparent_hugepages", "sometimes")]},
    {"do": "switch", "writes": [write("isolcpus", "1")]},
    {"do": "switch", "writes": [write("nice", "-20")]},
    {"do": "switch", "writes": [write("swap", "off", names=["/etc/shadow"])]},
    {"do": "switch", "writes": [write("services", "stopped", names=["1", "systemd"])]},
    {"do": "switch", "writes": [write("services", "stopped", names=["1", "tuned"])]},
    {"do": "switch", "writes": [write("isolation", "0", row=4, names=["/../../../etc"])]},
    {"do": "switch", "writes": [], "watched": [[11, ["../../etc", "0"]]]},
    {"do": "switch", "writes": [], "watched": [[99, []]]},
    {"do": "switch", "writes": [], "taken": "all"},
    {"do": "switch", "writes": [], "root": "/tmp"},
    {"do": "keep", "settings": {"/etc/shadow": "1"}},
    {"do": "keep", "settings": {"swappiness": ["1"]}},
    {"do": "place", "pid": 1},
    {"do": "place", "pid": 0},
    {"do": "place", "pid": -1},
    {"do": "place", "pid": "self"},
    {"do": "place", "pid": 1, "group": "/sys/fs/cgroup"},
    {"do": "switch", "writes": [write("process_cpus", "0", names=["1", "1"])]},
    {"do": "drop_caches", "path": "/etc/shadow"},
]


@pytest.mark.parametrize("request_", REFUSED, ids=lambda letter: json.dumps(letter)[:60])
def test_an_invalid_request_is_refused_and_changes_nothing(other, request_):
    before = STAT.read_text(), Path("/proc/sys/vm/swappiness").read_text()
    with Helper(NOBODY) as helper:
        answer = helper.raw(json.dumps(request_).encode())
        assert answer["event"] == "error", answer
        assert not JOURNAL.exists()
        assert helper.done("view")["title"] is None
    assert (STAT.read_text(), Path("/proc/sys/vm/swappiness").read_text()) == before


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"do":"view"' + b" " * (5 << 20) + b"}"])
def test_nonsense_is_refused_and_costs_only_itself(line):
    with Helper(NOBODY) as helper:
        assert helper.raw(line)["event"] == "error"
        assert helper.done("noticed")["drift"] == []


def test_the_first_request_is_hello():
    with Helper(NOBODY, greet=False) as helper:
        assert helper.error("view")["kind"] == "protocol"
        assert helper.error("drop_caches")["kind"] == "protocol"


@pytest.mark.parametrize("words", [["--version"], ["serve"], ["copies", "1", "/usr/bin/id", "id"], ["--root", "/tmp"]])
def test_it_takes_no_arguments(words):
    done = subprocess.run([packaged(), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no arguments" in done.stderr


def test_it_is_of_no_use_without_root():
    done = subprocess.run(
        [packaged()], stdin=subprocess.DEVNULL, capture_output=True, text=True, user=NOBODY, group=NOBODY, cwd="/"
    )
    assert (done.returncode, done.stdout) == (3, "")


def test_no_program_is_started_and_no_variable_matters(other, tmp_path):
    (tmp_path / "getent").write_text("#!/bin/sh\ntouch $0.ran\n")
    (tmp_path / "getent").chmod(0o755)
    hostile = {"PATH": str(tmp_path), "LD_PRELOAD": "/tmp/x.so", "BECALM_TEST_SCRIPT": "/etc/shadow", "USER": "root"}
    with Helper(NOBODY, environment=hostile) as helper:
        helper.done("switch", writes=interval(other))
        assert children_of(helper.pid) == []
        # None of its descriptors is the caller's to write to but its output.
        opened = {os.readlink(entry.path) for entry in os.scandir(f"/proc/{helper.pid}/fd")}
        assert all(path.startswith(("pipe:", "anon_inode:", "/run/becalm/", "/var/lib/becalm/")) for path in opened)
    assert [path.name for path in tmp_path.iterdir()] == ["getent"]


def test_a_process_of_the_caller_gets_priorities_and_gives_them_back(other, sleeper):
    pid = sleeper(NOBODY)
    before = ranks(pid)
    with Helper(NOBODY) as helper:
        helper.done("place", pid=pid, priorities={"nice": "-7", "policy": "batch", "io_priority": "realtime:3"})
        assert ranks(pid) == (-7, os.SCHED_BATCH)
        helper.done("place", pid=None)
        assert ranks(pid) == before
        helper.done("place", pid=pid, priorities={"policy": "fifo:10"})
        assert os.sched_getscheduler(pid) == os.SCHED_FIFO
    assert ranks(pid) == before


@pytest.mark.parametrize(
    "priorities",
    [{"nice": "-21"}, {"nice": "x"}, {"policy": "fifo:100"}, {"policy": "batch:1"}, {"cpus": "0"}, {"swappiness": "1"}],
)
def test_other_values_are_no_priorities(sleeper, priorities):
    pid = sleeper(NOBODY)
    before = ranks(pid)
    with Helper(NOBODY) as helper:
        helper.error("place", pid=pid, priorities=priorities)
        assert ranks(pid) == before


def test_processes_of_others_are_left_as_they_are(other, sleeper):
    daemon, own = sleeper(pwd.getpwnam("daemon").pw_uid), sleeper(NOBODY)
    with Helper(NOBODY) as helper:
        for pid in (daemon, os.getpid(), helper.pid):
            before = ranks(pid)
            assert helper.error("place", pid=pid, priorities={"nice": "-5"})["kind"] == "refused"
            assert ranks(pid) == before
            assert helper.error("switch", writes=bound(pid))["kind"] == "refused"
        helper.done("switch", writes=bound(own))
        assert os.sched_getaffinity(own) == {0}
        tasks = journalled_tasks()
        assert own in tasks
        assert daemon not in tasks
    assert len(os.sched_getaffinity(own)) == len(os.sched_getaffinity(daemon))


def test_a_process_that_is_about_to_have_other_rights_is_left_as_it_is(sleeper):
    """One whose real user is the caller and whose effective one is root, as of a set-user-ID program."""
    code = f"import os, time; os.setresuid({NOBODY}, 0, 0); print('ready', flush=True); time.sleep(3012399)"
    process = subprocess.Popen(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        with Helper(NOBODY) as helper:
            assert helper.error("place", pid=process.pid, priorities={"nice": "-5"})["kind"] == "refused"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def isolated():
    """Return the fields of a switch that gives a program CPU 0, on either version of control groups."""
    controllers = Path("/sys/fs/cgroup/cgroup.controllers")
    if controllers.exists() and "cpuset" in controllers.read_text().split():
        handed_on = "cpuset" in Path("/sys/fs/cgroup/cgroup.subtree_control").read_text().split()
        writes = [] if handed_on else [write("isolation", "on", row=2)]
        return {"writes": [*writes, write("isolation", "present", names=["2", "0", "0"])], "taken": "0"}
    return {"writes": [write("isolation", "present", names=["1", "0", "0"])], "taken": "0"}


def test_a_process_of_the_caller_is_in_the_group_of_settings(other, sleeper):
    if not {knob.name: knob for knob in becalm.knobs()}["isolation"].supported:
        pytest.skip("no isolation here")
    pid = sleeper(NOBODY)
    with Helper(NOBODY) as helper:
        assert helper.done("switch", **isolated())["joins"]
        before = Path(f"/proc/{pid}/cgroup").read_text()
        assert "becalm-isolated" not in before
        assert helper.done("place", pid=pid)["joined"]
        assert "becalm-isolated" in Path(f"/proc/{pid}/cgroup").read_text()
        helper.done("place", pid=None)
        assert Path(f"/proc/{pid}/cgroup").read_text() == before


def test_the_page_cache_is_dropped(other, tmp_path):
    with Helper(NOBODY) as helper:
        helper.done("drop_caches")
