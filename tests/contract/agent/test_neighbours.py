"""Programs that run next to others: at work during the run, pinned, restarted, and gone afterwards."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.contract.conversation import (
    Agent,
    alive,
    child_named,
    gather,
    needs_root,
    numbers_in,
    sh,
)
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm.cli.main import becalm as command

CPUS = sorted(os.sched_getaffinity(0))
AT_WORK_NS = 5_000_000
"""The CPU time after which a neighbour counts as at work."""


def near(*argv, cpus=None, **fields):
    return {"workload": {"argv": list(argv), **fields}, **({"cpus": cpus} if cpus else {})}


def measured(agent, argv, alongside, steps=1, **fields):
    """Return rows, texts, and what the neighbours did. A run that waits for them in vain is a broken program's."""
    defined = agent.define(*argv, alongside=alongside, timeout_ns=int(HANG_LIMIT_S * 1e9), **fields)
    assert defined["event"] == "done", defined
    events = agent.answer(
        agent.send("measure", first=0, steps=[[0, 0, 0, i] for i in range(steps)], stop_on_failure=False)
    )
    assert events[-1]["event"] == "done", events[-1]
    return *gather(events), events[-1]["neighbours"]


@pytest.fixture
def fifo(tmp_path):
    """Return a fifo: who opens it to write waits for a reader, and who opens it to read for a writer."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    path.chmod(0o666)
    return path


def two_lives(fifo):
    """Return a script that ends when a neighbour has written to the fifo in two of its lives."""
    return f"exec 3<> {fifo}; read one <&3; read two <&3"


def saying(fifo):
    """Return a script that writes a line to the fifo, if somebody reads it: a third life may come too late."""
    return f"trap '' PIPE; echo >> {fifo} || :"


def test_neighbours_are_at_work_and_pinned_before_the_run_begins_and_gone_when_it_has_ended(agent, tmp_path, fifo):
    """Have the measured program say at its start what the neighbours have used, and where they may run."""
    seen, cpu = tmp_path / "seen", CPUS[-1]
    show = (
        "import os,sys\n"
        "while open(sys.argv[1]).read().count('\\n') < 2: pass\n"
        "for pid in map(int, open(sys.argv[1]).read().split()):\n"
        "    spent = int(open(f'/proc/{pid}/schedstat').read().split()[0])\n"
        "    print(pid, spent, *os.sched_getaffinity(pid))"
    )
    # A spinner says who it is within the CPU time after which it counts as at work.
    spin = ["/bin/sh", "-c", 'echo $$ >>"$0"; while :; do :; done', str(seen)]
    alongside = [near(*spin, cpus=str(cpu)) for _ in range(2)]
    rows, texts, did = measured(agent, [sys.executable, "-S", "-c", show, str(seen)], alongside, output="keep")
    assert rows[0]["outcome"] == "ok"
    lines = [[int(word) for word in line.split()] for line in texts[0]["stdout"].splitlines()]
    assert len(lines) == 2
    for pid, spent, *cpus in lines:
        assert spent > 0
        assert cpus == [cpu]
        assert not alive(pid)
    assert did[0]["runs"] == 1
    assert all(account["cpu_ns"] > 0 and account["failures"] == 0 for account in did[0]["did"])


def test_the_use_of_neighbours_is_not_counted_in_the_run(agent, fifo):
    """Have the neighbour touch 64 MiB, a page fault for each page, before the run ends."""
    touch = f"kept = bytearray(range(256)) * 262144; open({str(fifo)!r}, 'w').write('.\\n')\nwhile True: pass"
    rows, _, did = measured(agent, sh(f"read go < {fifo}"), [near(sys.executable, "-S", "-c", touch)])
    assert rows[0]["minor_faults"] < 10_000
    assert rows[0]["left_behind"] == 0
    assert did[0]["did"][0]["cpu_ns"] > 0


def test_a_neighbour_that_ends_is_started_again(agent, tmp_path, fifo):
    log = tmp_path / "log"
    alongside = [near("sh", "-c", f"echo $$ >> {log}; {saying(fifo)}")]
    # Each run lasts until two lives of the neighbour have each written a line.
    rows, _, did = measured(agent, sh(two_lives(fifo)), alongside, steps=2)
    assert [row["outcome"] for row in rows] == ["ok", "ok"]
    (tally,) = did[0]["did"]
    assert (did[0]["runs"], tally["failures"]) == (2, 0)
    # Each of two runs starts it once, and each restart once more; the last may have been killed before it wrote.
    assert tally["restarts"] >= 2
    assert tally["restarts"] <= len(numbers_in(log)) <= tally["restarts"] + 2


def test_their_output_goes_nowhere(agent, fifo):
    alongside = [near("sh", "-c", f"echo out; echo err >&2; echo > {fifo}; sleep 9000")]
    _, texts, _ = measured(agent, sh(f"read go < {fifo}"), alongside, output="keep")
    assert not texts.get(0, {}).get("stdout")
    assert not texts.get(0, {}).get("stderr")


def test_children_that_leave_the_session_of_a_neighbour_are_ended_too(agent, tmp_path, fifo):
    log = tmp_path / "log"
    script = f"setsid sh -c 'echo $$ >> {log}; echo > {fifo}; exec sleep 9000' & sleep 9000"
    rows, _, _ = measured(agent, sh(f"read go < {fifo}"), [near("sh", "-c", script)])
    assert rows[0]["outcome"] == "ok"
    assert numbers_in(log)
    assert not any(alive(pid) for pid in numbers_in(log))


@pytest.mark.parametrize(
    ("end", "words", "status"),
    [
        ("exit 1", "ended with exit code 1 before anything was run next to it", 1),
        ("kill -9 $$", "was ended by signal 9", -9),
    ],
)
def test_a_neighbour_that_fails_at_once_has_the_run_refused(agent, tmp_path, end, words, status):
    """On a busy machine its life may be so long that it counts as being at work. Its second life begins when the end of
    its first one was counted, and the run lasts until then.
    """
    log = tmp_path / "log"
    log.touch()
    program = sh(f"until [ $(wc -l < {log}) -ge 2 ]; do :; done")
    rows, texts, did = measured(agent, program, [near("sh", "-c", f"echo >> {log}; {end}")])
    if rows[0]["outcome"] == "refused":
        assert did == []
        assert words in texts[0]["stderr"]
    else:
        (tally,) = did[0]["did"]
        assert (rows[0]["outcome"], tally["status"], tally["failures"] > 0) == ("ok", status, True)


def test_a_neighbour_that_fails_later_is_counted_and_started_again(agent, fifo):
    """Have it fail when the run has begun: before that nobody reads the fifo."""
    rows, _, did = measured(agent, sh(two_lives(fifo)), [near("sh", "-c", f"{saying(fifo)}; exit 7")])
    (tally,) = did[0]["did"]
    assert rows[0]["outcome"] == "ok"
    assert tally["status"] == 7
    assert tally["failures"] >= 1


def test_a_neighbour_that_ends_at_once_is_started_after_a_pause(agent, tmp_path):
    """Let the run last until the neighbour has begun for the third time."""
    log = tmp_path / "log"
    rows, _, did = measured(
        agent, sh(f"until [ $(wc -l < {log}) -ge 3 ]; do :; done"), [near("sh", "-c", f"echo >> {log}", expect=None)]
    )
    (tally,) = did[0]["did"]
    assert rows[0]["outcome"] == "ok"
    assert tally["restarts"] >= 2
    assert tally["away_ns"] > 0


@pytest.mark.parametrize(
    ("alongside", "words"),
    [
        (near("no-such-program"), "no-such-program"),
        (near("true", cpus="9999"), "cpus"),
        (near("true", prepare=["true"]), "A neighbour is a program"),
        (near("true", alongside=[near("true")]), "no neighbours of its own"),
    ],
)
def test_an_invalid_neighbour_is_refused_before_anything_runs(agent, alongside, words):
    answer = agent.define("true", alongside=[alongside])
    assert answer["event"] == "error"
    assert words in answer["message"]


def test_a_built_in_kernel_is_a_neighbour_too(agent):
    rows, _, did = measured(agent, ["true"], [{"workload": {"kernel": "add", "iterations": 10**12}}])
    assert rows[0]["outcome"] == "ok"
    assert did[0]["did"][0]["cpu_ns"] > 0


@pytest.fixture
def public():
    """Return a directory that other users can enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield Path(path)


@needs_root
def test_a_neighbour_has_the_user_of_the_programs(public):
    log, fifo = public / "log", public / "fifo"
    log.touch()
    os.mkfifo(fifo)
    for path in (log, fifo):
        path.chmod(0o666)
    agent = Agent("--user", "nobody")
    with contextlib.closing(agent):
        own = "grep -E '^(Uid|Gid|Groups|CapEff|NoNewPrivs):' /proc/self/status"
        alongside = [near("sh", "-c", f"{own} > {log}; echo > {fifo}; sleep 9000")]
        rows, _, _ = measured(agent, sh(f"read go < {fifo}"), alongside)
        assert rows[0]["outcome"] == "ok"
        _, texts, _ = measured(agent, sh(own), [], output="keep")
    assert log.read_text() == texts[0]["stdout"]


def spinning(tmp_path):
    """Return two logs and a neighbour that has a child in a session of its own, which write their numbers there."""
    seen, child = tmp_path / "seen", tmp_path / "child"
    script = f"setsid sh -c 'echo $$ >> {child}; exec sleep 9000' & echo $$ >> {seen}; while :; do :; done"
    return seen, child, [near("sh", "-c", script)]


@pytest.mark.parametrize("who", ["agent", "starter", "input"])
def test_none_is_left_when_somebody_is_killed(agent, tmp_path, gate, who):
    seen, child, alongside = spinning(tmp_path)
    number = agent.begin(*sh(gate.wait), alongside=alongside)
    wait_for(lambda: numbers_in(seen) and numbers_in(child))
    pids = numbers_in(seen) + numbers_in(child)
    match who:
        case "agent":
            agent.process.kill()
        case "starter":
            os.kill(child_named(agent, "becalm-starter"), signal.SIGKILL)
            gate.open()
            rows, texts = gather(agent.answer(number))
            # Refused where it was killed before the neighbour was at work.
            assert rows[0]["outcome"] in ("failed", "refused")
            assert "running was ended" in texts[0]["stderr"]
        case "input":
            agent.process.stdin.close()
    wait_for(lambda: not any(alive(pid) for pid in pids), "the neighbours end")


def test_a_killed_becalm_leaves_none(tmp_path, own_directories):
    seen = tmp_path / "seen"
    words = [sys.executable, "-m", "becalm", "run", "--no-store", "--runs", "3"]
    alongside = ["--alongside", f"sh -c 'echo $$ >> {seen}; while :; do :; done'"]
    process = subprocess.Popen([*words, *alongside, "--", "sleep", "9000"], stdout=subprocess.DEVNULL)
    wait_for(lambda: numbers_in(seen))
    process.kill()
    process.wait(timeout=HANG_LIMIT_S)
    wait_for(lambda: not any(alive(pid) for pid in numbers_in(seen)), "the neighbours end")


def test_the_answer_names_the_neighbours(own_directories):
    words = ("compare", "--json", "--runs", "2", "--warmup", "0", "--alongside", "sleep 9000", "true", "sleep 0.01")
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert result.exit_code in (0, 5), result.output
    (finding,) = [finding for finding in json.loads(result.stdout)["findings"] if finding["kind"] == "neighbours"]
    assert finding["numbers"]["neighbours"] == ["sleep 9000"]
    assert "Running next to these runs: sleep 9000." in finding["sentence"]


def unread(pipe):
    """Return the number of bytes in a pipe that its reader has not taken."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_stop_that_arrives_while_neighbours_begin_is_heeded(agent, fifo):
    """It is read while the agent waits for them, so that it does not wake the agent later."""
    lasting = ("sleep", str(HANG_LIMIT_S))
    assert agent.define(*lasting, alongside=[near("cat", input=str(fifo))])["event"] == "done"
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    child_named(agent, "becalm-starter")
    agent.send("stop")
    wait_for(lambda: not unread(agent.process.stdin), "the agent has read it")
    # Open for both, it waits for nobody.
    with open(os.open(fifo, os.O_RDWR), "rb"):
        rows, texts = gather(agent.answer(number))
    # After 10 s the neighbour is given up, and with it the run.
    assert [row["outcome"] for row in rows] == ["aborted"] or "does not begin" in texts[0]["stderr"]
