"""Programs that are kept running beside others: at work during the run, pinned, restarted, and gone afterwards."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, gather
from tests.contract.load.test_load_records import spinners
from tests.waiting import wait_for

CPUS = sorted(os.sched_getaffinity(0))
SPIN = "import os,sys,time\nopen(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\nwhile True: pass"


def alive(pid):
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def numbers(path):
    with contextlib.suppress(OSError):
        return [int(word) for word in path.read_text().split()]
    return []


def near(*argv, cpus=None, **fields):
    return {"workload": {"argv": list(argv), **fields}, **({"cpus": cpus} if cpus else {})}


def measured(agent, argv, beside, steps=1, **fields):
    """Rows, texts, and what the neighbours did. A run that waits for them in vain is a broken program's."""
    defined = agent.define(*argv, beside=beside, timeout_ns=120 * 10**9, **fields)
    assert defined["event"] == "done", defined
    events = agent.answer(
        agent.send("measure", first=0, steps=[[0, 0, 0, i] for i in range(steps)], stop_on_failure=False)
    )
    assert events[-1]["event"] == "done", events[-1]
    return *gather(events), events[-1]["neighbours"]


def test_neighbours_are_at_work_and_pinned_before_the_run_begins_and_gone_when_it_has_ended(agent, tmp_path):
    seen = tmp_path / "seen"
    # The measured program writes what it sees of its neighbours at its very start.
    show = (
        "import os,sys\n"
        "for pid in map(int, open(sys.argv[1]).read().split()):\n"
        "    spent = int(open(f'/proc/{pid}/schedstat').read().split()[0])\n"
        "    print(pid, spent, *os.sched_getaffinity(pid))"
    )
    cpu = CPUS[-1]
    # It says who it is within the CPU time after which it counts as at work; Python takes longer to start.
    spin = ["/bin/sh", "-c", 'echo $$ >>"$0"; while :; do :; done', str(seen)]
    beside = [near(*spin, cpus=str(cpu)) for _ in range(2)]
    rows, texts, told = measured(agent, [sys.executable, "-c", show, str(seen)], beside, output="keep")
    assert rows[0]["outcome"] == "ok"
    lines = [[int(word) for word in line.split()] for line in texts[0]["stdout"].splitlines()]
    assert len(lines) == 2
    assert all(spent > 0 and where == [cpu] for _, spent, *where in lines)
    assert not any(alive(pid) for pid, *_ in lines)
    assert told[0]["runs"] == 1
    assert all(each["cpu_ns"] > 0 and each["failures"] == 0 for each in told[0]["did"])


@pytest.mark.needs("pgrep")
def test_one_that_waits_for_its_cpu_is_not_at_work_yet(agent):
    """Ten others want that CPU, too, and it gets a hundredth: longer than the tenth of a second for which one that
    sleeps is waited for."""
    cpu = CPUS[-1]
    spin = ["nice", "/bin/sh", "-c", "while :; do :; done", "waits-86419"]
    # Once before, so that it need not sleep until the program has been read from the disk.
    subprocess.run(["nice", "true"], check=True)
    show = "cat /proc/$(pgrep -f 'waits-[8]6419')/schedstat"
    with spinners(10, cpu):
        rows, texts, _ = measured(agent, ["/bin/sh", "-c", show], [near(*spin, cpus=str(cpu))], output="keep")
    assert rows[0]["outcome"] == "ok"
    assert int(texts[0]["stdout"].split()[0]) >= 5_000_000


def test_what_they_use_is_not_counted_in_the_run(agent, tmp_path):
    rows, _, told = measured(agent, ["sleep", "0.3"], [near(sys.executable, "-c", SPIN, str(tmp_path / "seen"))])
    used = rows[0]["user_ns"] + rows[0]["system_ns"]
    assert used < told[0]["did"][0]["cpu_ns"]
    assert rows[0]["left_behind"] == 0


def test_one_that_ends_is_started_again(agent, tmp_path):
    log = tmp_path / "log"
    beside = [near("sh", "-c", f"echo $$ >> {log}; sleep 0.02")]
    # Each run lasts until two more have begun beside it.
    seen = f"$(wc -l < {log})"
    script = f"until=$(({seen} + 2)); while [ {seen} -lt $until ]; do sleep 0.01; done"
    rows, _, told = measured(agent, ["sh", "-c", script], beside, steps=2)
    assert [row["outcome"] for row in rows] == ["ok", "ok"]
    did = told[0]["did"][0]
    assert (told[0]["runs"], did["failures"]) == (2, 0)
    # Each of two runs starts it once, and each restart once more; the last may have been killed before it wrote.
    assert did["restarts"] >= 2
    assert did["restarts"] <= len(numbers(log)) <= did["restarts"] + 2


def test_their_output_goes_nowhere(agent):
    _, texts, _ = measured(
        agent, ["sleep", "0.05"], [near("sh", "-c", "echo out; echo err >&2; sleep 9")], output="keep"
    )
    assert not texts.get(0, {}).get("stdout")
    assert not texts.get(0, {}).get("stderr")


def test_children_that_leave_the_session_of_a_neighbour_are_ended_too(agent, tmp_path):
    log = tmp_path / "log"
    script = f"setsid sh -c 'echo $$ >> {log}; exec sleep 600' & sleep 600"
    rows, _, _ = measured(agent, ["sh", "-c", f"until [ -s {log} ]; do sleep 0.01; done"], [near("sh", "-c", script)])
    assert rows[0]["outcome"] == "ok"
    assert numbers(log)
    assert not any(alive(pid) for pid in numbers(log))


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        (near("false"), "ended with exit code 1 before anything was run beside it"),
        (near("sh", "-c", "kill -9 $$"), "was ended by signal 9"),
    ],
)
def test_one_that_fails_at_once_has_the_run_refused(agent, beside, words):
    rows, texts, told = measured(agent, ["true"], [beside])
    assert (rows[0]["outcome"], told) == ("refused", [])
    assert words in texts[0]["stderr"]


def test_one_that_fails_later_is_counted_and_not_started_without_end(agent, tmp_path):
    """It fails when the run has begun, which ends when it has been started again."""
    begun, log = tmp_path / "begun", tmp_path / "log"
    fails = f"echo $$ >> {log}; until [ -e {begun} ]; do sleep 0.01; done; exit 7"
    runs = f"touch {begun}; until [ $(wc -l < {log}) -ge 2 ]; do sleep 0.01; done"
    rows, _, told = measured(agent, ["sh", "-c", runs], [near("sh", "-c", fails)])
    did = told[0]["did"][0]
    assert rows[0]["outcome"] == "ok"
    assert (did["status"], did["failures"] >= 1) == (7, True)


def test_one_that_ends_at_once_is_started_more_and_more_slowly(agent):
    """With pauses of 1, 2, 4, … 100 ms there are few lives in a second; without them there would be hundreds."""
    rows, _, told = measured(agent, ["sleep", "1"], [near("/bin/true", expect=None)])
    did = told[0]["did"][0]
    assert rows[0]["outcome"] == "ok"
    if did["short"] == did["restarts"]:
        assert did["restarts"] < 30
    assert did["away_ns"] > 0


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        (near("no-such-program"), "no-such-program"),
        (near("true", cpus="9999"), "cpus"),
        (near("true", prepare=["true"]), "A neighbour is a program"),
        (near("true", beside=[near("true")]), "no neighbours of its own"),
    ],
)
def test_what_cannot_be_a_neighbour_is_refused_before_anything_runs(agent, beside, words):
    answer = agent.define("true", beside=[beside])
    assert answer["event"] == "error"
    assert words in answer["message"]


def test_a_built_in_kernel_is_a_neighbour_too(agent):
    rows, _, told = measured(agent, ["sleep", "0.1"], [{"workload": {"kernel": "add", "iterations": 10**12}}])
    assert rows[0]["outcome"] == "ok"
    assert told[0]["did"][0]["cpu_ns"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts programs as somebody else")
def test_a_neighbour_has_the_user_of_the_programs():
    agent = Agent("--user", "nobody")
    # Not tmp_path, which is closed to other users.
    with contextlib.closing(agent), tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        log = Path(directory) / "log"
        log.touch()
        log.chmod(0o666)
        show = f"grep -E '^(Uid|Gid|Groups|CapEff|NoNewPrivs):' /proc/self/status > {log}; sleep 9"
        # Five lines: it has said all.
        seen = ["sh", "-c", f"until [ $(wc -l < {log}) -ge 5 ]; do sleep 0.01; done"]
        rows, _, _ = measured(agent, seen, [near("sh", "-c", show)])
        assert rows[0]["outcome"] == "ok"
        _, texts, _ = measured(
            agent, ["grep", "-E", "^(Uid|Gid|Groups|CapEff|NoNewPrivs):", "/proc/self/status"], [], output="keep"
        )
        assert log.read_text() == texts[0]["stdout"]


def spinning(tmp_path):
    """A run that lasts, with a neighbour that has a child in a session of its own."""
    seen, child = tmp_path / "seen", tmp_path / "child"
    script = f"setsid sh -c 'echo $$ >> {child}; exec sleep 600' & echo $$ >> {seen}; while :; do :; done"
    return seen, child, [near("sh", "-c", script)]


def keeper_of(agent):
    listed = Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text().split()
    return next(int(pid) for pid in listed if Path(f"/proc/{pid}/comm").read_text().strip() == "becalm-keeper")


@pytest.mark.parametrize("who", ["agent", "keeper", "input"])
def test_none_is_left_when_somebody_is_killed(agent, tmp_path, who):
    seen, child, beside = spinning(tmp_path)
    over = tmp_path / "over"
    runs = ("sh", "-c", f"until [ -e {over} ]; do sleep 0.01; done")
    assert agent.define(*runs, beside=beside)["event"] == "done"
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]], stop_on_failure=False)
    wait_for(lambda: numbers(seen) and numbers(child))
    pids = numbers(seen) + numbers(child)
    match who:
        case "agent":
            agent.process.kill()
        case "keeper":
            os.kill(keeper_of(agent), signal.SIGKILL)
            over.touch()
            rows, texts = gather(agent.answer(number))
            # Refused where it was killed before the neighbour was at work.
            assert rows[0]["outcome"] in ("failed", "refused")
            assert "running was ended" in texts[0]["stderr"]
        case "input":
            agent.process.stdin.close()
    wait_for(lambda: not any(alive(pid) for pid in pids))


def test_a_killed_becalm_leaves_none(tmp_path):
    seen = tmp_path / "seen"
    command = [sys.executable, "-m", "becalm", "run", "--no-store", "--runs", "3"]
    beside = ["--beside", f"sh -c 'echo $$ >> {seen}; while :; do :; done'"]
    process = subprocess.Popen([*command, *beside, "--", "sleep", "5"], stdout=subprocess.DEVNULL)
    wait_for(lambda: numbers(seen))
    process.kill()
    process.wait(timeout=120)
    wait_for(lambda: not any(alive(pid) for pid in numbers(seen)))


def test_what_was_beside_is_in_the_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "runs.db"))
    command = [sys.executable, "-m", "becalm", "compare", "--json", "--runs", "6", "--beside", "sleep 60"]
    done = subprocess.run([*command, "true", "sleep 0.01"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = [each for each in json.loads(done.stdout)["findings"] if each["kind"] == "neighbours"]
    assert found["numbers"]["neighbours"] == ["sleep 60"]
    assert "Kept running beside these runs: sleep 60." in found["sentence"]


def test_time_passes_between_the_start_of_a_sleeping_neighbour_and_that_of_the_run(agent, tmp_path):
    """One that uses no CPU time is waited for all the same, and no run takes that into its own time."""
    log = tmp_path / "log"
    started = time.monotonic()
    rows, _, told = measured(agent, ["true"], [near("sh", "-c", f"echo $$ > {log}; exec sleep 600")])
    assert time.monotonic() - started >= 0.1
    assert numbers(log)
    assert rows[0]["wall_ns"] < told[0]["did"][0]["kept_ns"]
