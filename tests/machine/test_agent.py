"""The agent over its pipes: what docs/protocol.md promises, and what happens when programs or people misbehave."""

import contextlib
import json
import os
import pwd
import signal
import subprocess
import time
from pathlib import Path

import pytest

from becalm.hosts.agent import agent_path
from becalm.nouns import COLUMNS

pytestmark = pytest.mark.machine

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


class Agent:
    """A conversation with a real agent."""

    def __init__(self, *options, environment=None, **popen):
        self.process = subprocess.Popen(
            [agent_path(), "serve", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **popen,
        )
        self.greeting = self.read()
        self.number = 0
        self.ask("open", protocol=1, environment=environment or dict(os.environ), directory="/")

    def send(self, do, **fields):
        self.number += 1
        self.write(json.dumps({"id": self.number, "do": do, **fields}).encode() + b"\n")
        return self.number

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def answer(self, number):
        """All events of a request up to its last one."""
        events = []
        while True:
            event = self.read()
            if event.get("id") == number:
                events.append(event)
                if event["event"] in ("done", "error"):
                    return events

    def ask(self, do, **fields):
        return self.answer(self.send(do, **fields))[-1]

    def define(self, *argv, settings=None, **fields):
        return self.ask("define", workloads=[{"argv": list(argv), **fields}], settings=[settings or {}])

    def run(self, *argv, steps=1, settings=None, stop_on_failure=False, **fields):
        """Rows (as dictionaries) and texts of a workload's runs."""
        defined = self.define(*argv, settings=settings, **fields)
        assert defined["event"] == "done", defined
        number = self.send(
            "measure", first=0, steps=[[0, 0, 0, i] for i in range(steps)], stop_on_failure=stop_on_failure
        )
        return gather(self.answer(number))

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()


def gather(events):
    rows = [dict(zip(COLUMNS, row, strict=True)) for e in events if e["event"] == "runs" for row in e["rows"]]
    texts = {e["seq"]: e for e in events if e["event"] == "text"}
    return rows, texts


@pytest.fixture
def agent():
    made = Agent()
    yield made
    made.close()


def sh(script):
    return ("/bin/sh", "-c", script)


def processes_with(marker):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def wait_for(condition):
    """The time is a limit for a broken program, not an expectation."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("the condition never held")


def test_greeting(agent):
    assert agent.greeting["protocol"] == 1
    assert tuple(agent.greeting["columns"]) == COLUMNS
    assert agent.greeting["pid"] == agent.process.pid
    assert agent.greeting["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_a_run_is_accounted_for(agent):
    before = time.time_ns()
    (row,), texts = agent.run(*sh("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.02"))
    assert texts == {}
    assert row["outcome"] == "ok"
    assert row["wall_ns"] >= 20_000_000, "it slept that long"
    assert 0 < row["user_ns"] + row["system_ns"] <= row["wall_ns"] * 1.5
    assert before <= row["started_ns"] <= time.time_ns()
    assert row["max_rss_bytes"] > 100_000
    assert row["minor_faults"] > 10
    assert row["voluntary"] >= 1, "sleeping gives the CPU away"
    schedstat = Path("/proc/self/schedstat").exists()
    assert (row["wait_ns"] is not None) == schedstat


def test_waiting_for_a_cpu_is_seen(agent):
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel keeps no run-queue wait (no /proc/PID/schedstat)")
    cpu = str(min(os.sched_getaffinity(0)))
    other = subprocess.Popen(["taskset", "-c", cpu, "/bin/sh", "-c", "while :; do :; done"])
    try:
        spin = sh("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
        (row,), _ = agent.run(*spin, settings={"cpus": cpu})
    finally:
        other.kill()
        other.wait()
    assert row["wait_ns"] > 0.1 * row["wall_ns"], "half the time should have been the other's"


@pytest.mark.parametrize(
    ("script", "outcome", "status"),
    [("exit 0", "ok", 0), ("exit 3", "failed", 3), ("kill -SEGV $$", "failed", -11), ("kill -9 $$", "failed", -9)],
)
def test_how_it_ended(agent, script, outcome, status):
    (row,), _ = agent.run(*sh(script))
    assert (row["outcome"], row["status"]) == (outcome, status)


def test_expected_codes(agent):
    (row,), _ = agent.run(*sh("exit 3"), expect=[0, 3])
    assert row["outcome"] == "ok"
    (row,), _ = agent.run(*sh("exit 200"), expect=None)
    assert row["outcome"] == "ok"


def test_standard_error_of_a_failure_is_kept(agent):
    _, texts = agent.run(*sh("echo first; head -c 9000 /dev/zero | tr '\\0' x >&2; echo last >&2; exit 1"))
    assert texts[0]["stderr"].endswith("xlast\n")
    assert len(texts[0]["stderr"]) == 4096
    assert texts[0]["stdout"] == ""


def test_output_is_kept_when_asked(agent):
    _, texts = agent.run(*sh("echo out; echo err >&2"), output="keep")
    assert (texts[0]["stdout"], texts[0]["stderr"]) == ("out\n", "err\n")
    _, texts = agent.run(*sh("head -c 10000000 /dev/zero"), output="keep")
    assert len(texts[0]["stdout"]) == 65536


def test_output_is_forwarded_without_descriptors(agent):
    agent.define(*sh("echo out; echo err >&2"), output="inherit")
    events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]]))
    forwarded = {event["stream"]: event["text"] for event in events if event["event"] == "output"}
    assert forwarded == {"stdout": "out\n", "stderr": "err\n"}


def test_gigabytes_of_errors_do_not_grow_the_agent(agent):
    (row,), _ = agent.run(*sh("head -c 2000000000 /dev/zero >&2"))
    assert row["outcome"] == "ok"
    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    high_water_kib = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert high_water_kib < 8192


def test_no_descriptor_leaks_to_the_program(agent):
    _, texts = agent.run(*sh("ls /proc/self/fd"), output="keep")
    # ls itself has the directory open as 3.
    assert texts[0]["stdout"].split() == ["0", "1", "2", "3"]


def test_the_program_starts_with_clean_signals(agent):
    _, texts = agent.run("/bin/cat", "/proc/self/status", output="keep")
    fields = dict(line.split(":\t", 1) for line in texts[0]["stdout"].splitlines() if ":\t" in line)
    assert int(fields["SigBlk"], 16) == 0
    assert int(fields["SigIgn"], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_a_time_limit_ends_the_whole_tree(agent):
    marker = "86419.753"
    script = f"setsid sh -c 'sleep {marker}' & sh -c 'sleep {marker} & sleep {marker}' & sleep {marker}"
    (row,), _ = agent.run(*sh(script), timeout_ns=200_000_000)
    assert row["outcome"] == "timeout"
    assert row["status"] == -9
    assert processes_with(marker) == []


def test_left_over_processes_are_killed_and_counted(agent):
    marker = "86419.754"
    (row,), _ = agent.run(*sh(f"setsid sleep {marker} & sleep {marker} & exit 0"))
    assert row["outcome"] == "ok"
    assert row["left_behind"] == 2
    assert processes_with(marker) == []


def test_what_prepare_starts_lives_until_cleanup(agent, tmp_path):
    marker = "86419.755"
    alive = f"pgrep -f 'sleep {marker}' > /dev/null" if Path("/usr/bin/pgrep").exists() else "true"
    log = tmp_path / "log"
    rows, _ = agent.run(
        *sh(f"{alive} && echo run >> {log}"),
        steps=2,
        prepare=list(sh(f"echo prepare >> {log}; setsid sleep {marker} > /dev/null 2>&1 &")),
        cleanup=list(sh(f"{alive} && echo cleanup >> {log}")),
    )
    assert [row["outcome"] for row in rows] == ["ok", "ok"]
    assert log.read_text().split() == ["prepare", "run", "cleanup"] * 2
    assert processes_with(marker) == []


def test_a_failing_prepare_refuses_the_run(agent, tmp_path):
    (row,), texts = agent.run("touch", str(tmp_path / "ran"), prepare=list(sh("echo why >&2; exit 9")))
    assert row["outcome"] == "refused"
    assert "exit code 9" in texts[0]["stderr"]
    assert "why" in texts[0]["stderr"]
    assert not (tmp_path / "ran").exists()


def test_a_failing_cleanup_is_said(agent):
    (row,), texts = agent.run("true", cleanup=["false"])
    assert row["outcome"] == "ok"
    assert "cleanup command failed" in texts[0]["stderr"]


@pytest.mark.parametrize("how", ["close", signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_its_end_is_the_end_of_everything_it_started(how):
    marker = f"86419.8{int(how) if how != 'close' else 0}"
    agent = Agent()
    agent.define(*sh(f"setsid sleep {marker} & sleep {marker}"))
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    wait_for(lambda: len(processes_with(f"sleep\0{marker}")) == 2)
    if how == "close":
        agent.process.stdin.close()
    else:
        agent.process.send_signal(how)
    assert agent.process.wait(timeout=30) == 0
    assert processes_with(marker) == []


def test_a_killed_agent_takes_the_program_with_it():
    marker = "86419.901"
    agent = Agent()
    agent.define("sleep", marker)
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    wait_for(lambda: processes_with(marker))
    agent.process.kill()
    agent.process.wait()
    wait_for(lambda: not processes_with(marker))


def test_stop_aborts_the_run_and_the_agent_goes_on(agent):
    marker = "86419.902"
    agent.define("sleep", marker)
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0], [0, 0, 0, 1]])
    wait_for(lambda: processes_with(marker))
    agent.write(b'{"id":99,"do":"stop"}\n')
    rows, _ = gather(agent.answer(number))
    assert [row["outcome"] for row in rows] == ["aborted"]
    assert processes_with(marker) == []
    assert agent.run("true")[0][0]["outcome"] == "ok"


def test_requests_that_come_during_a_block_are_answered_after_it(agent):
    agent.define("sleep", "0.2")
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    later = agent.send("knobs")
    assert agent.answer(number)[-1]["ran"] == 1
    assert {knob["name"] for knob in agent.answer(later)[-1]["knobs"]} >= {"nice", "cpus", "aslr"}


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"id":-1,"do":"stop"}', b'{"do":"stop"}', b'{"id":7}',
     b'{"id":7,"do":"dance"}', b'{"id":7,"do":"stop","now":true}', b'{"id":7,"do":"measure","first":0,"steps":[[0]]}',
     b'{"id":7,"do":"measure","first":0,"steps":[[9,9,0,0]]}', b'{"id":7,"do":"open","protocol":99}',
     b'{"id":7,"do":"define","workloads":[{"argv":[],"x":1}],"settings":[]}', b"[" * 100000],
)  # fmt: skip
def test_requests_that_are_none_are_answered_and_survived(agent, line):
    agent.write(line + b"\n")
    event = agent.read()
    assert event["event"] == "error"
    assert event["kind"]
    assert event["message"].endswith(".")
    assert agent.run("true")[0][0]["outcome"] == "ok"


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"argv": ["no-such-program"]}, "not_found", "no-such-program"),
        ({"argv": ["/etc/passwd"]}, "not_executable", "chmod"),
        ({"argv": ["/etc"]}, "not_executable", "directory"),
        ({"argv": []}, "usage", "argument list is empty"),
        ({"argv": ["true"], "directory": "/no/dir"}, "not_found", "/no/dir"),
        ({"argv": ["true"], "input": "/no/file"}, "not_found", "/no/file"),
        ({"argv": ["true"], "prepare": ["no-such"]}, "not_found", "no-such"),
        ({"argv": ["a\0b"]}, "usage", "zero byte"),
        ({"argv": [{"hex": "zz"}]}, "usage", "hexadecimal"),
    ],
)
def test_what_cannot_be_run_is_known_before_anything_runs(agent, fields, kind, words):
    event = agent.ask("define", workloads=[fields], settings=[{}])
    assert (event["event"], event["kind"]) == ("error", kind)
    assert words in event["message"]


@pytest.mark.parametrize(
    ("content", "words"), [("echo hi\n", "#!"), ("#!/no/such/interpreter\n", "/no/such/interpreter"), ("", "#!")]
)
def test_scripts_that_cannot_be_started(agent, tmp_path, content, words):
    script = tmp_path / "script"
    script.write_text(content)
    script.chmod(0o755)
    (row,), texts = agent.run(str(script))
    assert row["outcome"] == "refused"
    assert words in texts[0]["stderr"]


def test_strings_that_are_not_utf8_arrive(agent):
    hexed = {"hex": "66ff6f"}
    _, texts = agent.run("printf", "%s", hexed, output="keep")
    assert texts[0]["stdout"] == "f�o"
    _, texts = agent.run("od", "-An", "-tx1", "/proc/self/cmdline", hexed, output="keep")
    assert "66 ff 6f" in texts[0]["stdout"] + texts[0]["stderr"] or "66 ff 6f" in " ".join(texts[0]["stdout"].split())


def test_environment_directory_and_input(agent, tmp_path):
    (tmp_path / "in").write_text("from the file\n")
    _, texts = agent.run(
        *sh("cat; pwd; echo $WORD; echo ${#BECALM_PADDING}"),
        input=str(tmp_path / "in"),
        directory=str(tmp_path),
        environment={"WORD": "given"},
        output="keep",
    )
    assert texts[0]["stdout"].split("\n") == ["from the file", str(tmp_path), "given", "0", ""]
    agent.define(*sh("echo ${#BECALM_PADDING}"), output="keep")
    _, texts = gather(agent.answer(agent.send("measure", first=0, steps=[[0, 0, 100, 0], [0, 0, 4095, 1]])))
    assert [texts[seq]["stdout"] for seq in (0, 1)] == ["100\n", "4095\n"]


def test_a_program_that_closes_its_streams_or_changes_directory_does_no_harm(agent):
    rows, _ = agent.run(*sh("exec 0<&- 1>&- 2>&-; cd /proc; exit 0"), steps=3)
    assert [row["outcome"] for row in rows] == ["ok"] * 3


def test_settings_are_applied(agent):
    status = "/proc/self/status"
    cpu = str(max(os.sched_getaffinity(0)))
    _, texts = agent.run("grep", "Cpus_allowed_list", status, settings={"cpus": cpu}, output="keep")
    assert texts[0]["stdout"].split()[-1] == cpu
    _, texts = agent.run("nice", settings={"nice": 7}, output="keep")
    assert texts[0]["stdout"] == "7\n"
    _, texts = agent.run("cat", "/proc/self/personality", settings={"aslr": False}, output="keep")
    assert int(texts[0]["stdout"], 16) & 0x0040000
    _, texts = agent.run("cat", "/proc/self/stat", settings={"policy": "batch", "nice": 5}, output="keep")
    fields = texts[0]["stdout"].rsplit(")", 1)[1].split()
    # proc_pid_stat(5): field 41 is the policy, 19 the nice value; the list begins with field 3.
    assert (fields[41 - 3], fields[19 - 3]) == ("3", "5")
    _, texts = agent.run("ionice", settings={"io_priority": "best-effort:6"}, output="keep")
    assert texts[0]["stdout"].strip() == "best-effort: prio 6"


def test_settings_do_not_stay_with_the_agent(agent):
    agent.run("true", settings={"nice": 9, "aslr": False})
    _, texts = agent.run("nice", output="keep")
    assert texts[0]["stdout"] == f"{os.getpriority(os.PRIO_PROCESS, 0)}\n"


def test_a_slice_is_applied_or_said_to_be_impossible(agent):
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    defined = agent.define("true", settings={"slice_ns": 3_000_000})
    if release >= (6, 12):
        assert defined["event"] == "done"
    else:
        assert defined["kind"] == "unsupported"


@needs_root
def test_as_another_user():
    account = pwd.getpwnam("nobody")
    agent = Agent("--user", "nobody")
    try:
        assert agent.greeting["user"] == {"uid": account.pw_uid, "gid": account.pw_gid, "name": "nobody"}
        _, texts = agent.run(*sh("id -u; id -g; id -G; echo $HOME $USER"), output="keep")
        groups = " ".join(map(str, os.getgrouplist("nobody", account.pw_gid)))
        expected = f"{account.pw_uid}\n{account.pw_gid}\n{groups}\n{account.pw_dir} nobody\n"
        assert texts[0]["stdout"] == expected
        _, texts = agent.run("grep", "CapEff", "/proc/self/status", output="keep")
        assert int(texts[0]["stdout"].split()[1], 16) == 0, "the program has no privilege"
        refused = agent.define("true", input="/etc/shadow")
        assert refused["event"] == "error"
        assert "/etc/shadow" in refused["message"]
    finally:
        agent.close()


@needs_root
def test_the_one_who_called_sudo():
    account = pwd.getpwnam("nobody")
    environment = {**os.environ, "SUDO_UID": str(account.pw_uid), "SUDO_GID": str(account.pw_gid)}
    agent = Agent(env=environment)
    try:
        _, texts = agent.run("id", "-un", output="keep")
        assert texts[0]["stdout"] == "nobody\n"
    finally:
        agent.close()


@needs_root
def test_cold_drops_the_cache(agent):
    (row,), _ = agent.run("true", cold=True)
    assert row["outcome"] == "ok"
    assert row["major_faults"] > 0, "the program had to be read again"


@needs_root
def test_without_root_what_needs_it_is_refused():
    agent = Agent(user=pwd.getpwnam("nobody").pw_uid, group=pwd.getpwnam("nobody").pw_gid, extra_groups=[], cwd="/")
    try:
        assert agent.define("true", cold=True)["kind"] == "unsupported"
        assert agent.define("true", settings={"nice": -5})["kind"] == "permission"
        assert agent.run("true")[0][0]["outcome"] == "ok"
    finally:
        agent.close()


def test_only_root_may_choose_a_user():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SUDO")}
    options = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [agent_path(), "serve", "--user", "root"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=environment, cwd="/", **options,
    )  # fmt: skip
    assert done.returncode == 3
    assert "Only root" in done.stderr


def test_the_spool_has_every_finished_run_at_once(tmp_path):
    path = tmp_path / "spool"
    with path.open("w+b") as spool:
        agent = Agent("--spool-fd", str(spool.fileno()), pass_fds=[spool.fileno()])
        agent.define("sleep", "0.001")
        agent.send("measure", first=5, steps=[[0, 0, 0, i] for i in range(100_000)])
        wait_for(lambda: path.read_bytes().count(b"\n") > 20)
        agent.process.kill()
        agent.process.wait()
    rows = [json.loads(line)["rows"] for line in path.read_bytes().splitlines() if line.endswith(b"}")]
    assert [row[0][0] for row in rows] == list(range(5, 5 + len(rows)))


def test_a_spool_on_a_full_disk_is_said_and_costs_no_run():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    with full.open("wb") as spool:
        agent = Agent("--spool-fd", str(spool.fileno()), pass_fds=[spool.fileno()])
        agent.define("true")
        events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0], [0, 0, 0, 1]]))
        assert len(gather(events)[0]) == 2
        assert events[-1]["kind"] == "system"
        assert "disk space" in events[-1]["message"] or "written" in events[-1]["message"]
        agent.close()


def test_overhead_is_measured_both_ways(agent):
    answer = agent.ask("overhead", runs=20)
    assert len(answer["bare_ns"]) == len(answer["own_ns"]) == 20
    assert min(answer["bare_ns"] + answer["own_ns"]) > 0


def test_it_is_static():
    done = subprocess.run(["ldd", agent_path()], capture_output=True, text=True)
    assert "statically linked" in done.stdout or "not a dynamic executable" in done.stderr
