"""`run` and `compare` end to end on this machine: real processes, a real store, and what goes wrong."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.account import MARK, nothing_lost

import becalm
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.nouns.verdict import Answer, Stopped
from becalm.store import Store, recover

LOOP = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "runs.db"
    monkeypatch.setenv("BECALM_STORE", str(path))
    return str(path)


def loop(n):
    return ["/bin/sh", "-c", LOOP.format(n=n)]


def stored_runs(store):
    with sqlite3.connect(store) as db:
        return db.execute("select count(*) from run").fetchone()[0]


def test_twice_the_work_is_called_slower(store):
    # It stops when it knows; the budget is a limit for a machine that others keep busy.
    verdict = becalm.compare([loop(20_000), loop(60_000)], names=["once", "thrice"], budget="600s", seed=1)
    (found,) = verdict.differences
    assert found.answer is Answer.SLOWER
    assert found.low > 0.3
    assert verdict.stopped is Stopped.KNOWN
    assert "thrice takes" in verdict.sentence
    assert verdict.summaries[0].user_ns is not None
    with Store.open(store) as opened:
        runs = list(opened.runs(verdict.study))
    assert len(runs) == sum(s.runs for s in verdict.summaries) + 2, "warm-ups are kept too"
    assert [r.seq for r in runs] == list(range(len(runs)))
    assert all(r.wall_ns > 0 and r.user_ns is not None and r.outcome == "ok" for r in runs)
    assert len({r.padding for r in runs}) > 1, "the environment changes its size from round to round"


def test_run_says_what_it_knows(store):
    verdict = becalm.run(loop(2_000), runs=30, warmup=2)
    (summary,) = verdict.summaries
    assert summary.runs == 30
    assert verdict.stopped is Stopped.RUNS
    assert summary.min_ns <= summary.median_ns.value <= summary.max_ns
    assert summary.mean_ns.low < summary.mean_ns.value < summary.mean_ns.high
    assert summary.max_rss_bytes > 500_000


def test_precision_stops(store):
    verdict = becalm.run(loop(20_000), precision=0.5, budget="60s")
    assert verdict.stopped is Stopped.PRECISION


def test_fail_above(store):
    slower = becalm.compare([loop(20_000), loop(60_000)], fail_above="2%", runs=40)
    assert slower.passed is False
    faster = becalm.compare([loop(60_000), loop(20_000)], fail_above="2%", runs=40)
    assert faster.passed is True


def test_three_programs_against_a_reference(store):
    verdict = becalm.compare([loop(10_000), loop(40_000), loop(20_000)], names=["a", "b", "c"], reference="c", runs=12)
    assert [d.name for d in verdict.differences] == ["a", "b"]
    assert {d.reference for d in verdict.differences} == {"c"}
    assert all(d.pairs == 12 for d in verdict.differences)


def test_baseline_is_weaker_and_says_so(store):
    # Sixteen-fold: three times as long for half of such short series would leave a fourfold difference open.
    first = becalm.run(loop(20_000), runs=40)
    verdict = becalm.compare([loop(320_000)], baseline=str(first.study), runs=20)
    (found,) = verdict.differences
    assert found.weak
    assert found.answer is Answer.SLOWER
    assert "another time" in verdict.sentence


@pytest.mark.parametrize(
    ("command", "options", "error", "words"),
    [
        ("/no/such/program", {}, WorkloadError, "/no/such/program"),
        ("no-such-program-anywhere", {}, WorkloadError, "no-such-program-anywhere"),
        ("/etc/passwd", {}, WorkloadError, "execut"),
        ("/bin/false", {}, WorkloadError, "exit code 1"),
        (["/bin/sh", "-c", "echo boom >&2; exit 7"], {}, WorkloadError, "boom"),
        (["/bin/sh", "-c", "kill -9 $$"], {}, WorkloadError, "SIGKILL"),
        ("sleep 60", {"timeout": "100ms"}, WorkloadError, "time limit"),
        ("true", {"input": "/no/such/file"}, WorkloadError, "/no/such/file"),
        ("true", {"directory": "/no/such/dir"}, WorkloadError, "/no/such/dir"),
        ("true", {"prepare": "false"}, WorkloadError, "prepare"),
        ("true", {"settings": {"niec": 3}}, UsageError, "nice"),
        ("true", {"settings": {"nice": 99}}, UsageError, "99"),
        ("true", {"runs": 0}, UsageError, "runs"),
        ("true", {"budget": "-3s"}, UsageError, "-3s"),
        ("true", {"host": "lokal"}, UsageError, "local"),
        ("true", {"bugdet": 3}, UsageError, "budget"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(store, command, options, error, words):
    with pytest.raises(error) as caught:
        becalm.run(command, **{"runs": 3, **options})
    assert words in str(caught.value)


def test_a_program_that_fails_sometimes_loses_nothing(store, tmp_path):
    counter = tmp_path / "count"
    script = f'n=$(cat {counter} 2>/dev/null || echo 0); echo $((n+1)) > {counter}; [ "$n" -lt 6 ]'
    verdict = becalm.run(["/bin/sh", "-c", script], runs=30)
    assert verdict.stopped is Stopped.FAILED
    assert verdict.summaries[0].runs == 5, "six good runs, one of them a warm-up"
    assert any("exit code 1" in finding.sentence for finding in verdict.findings)
    assert stored_runs(store) == 7


def test_expected_exit_codes_are_no_failures(store):
    assert becalm.run("false", runs=5, expect=(1,)).summaries[0].runs == 5
    assert becalm.run("false", runs=5, expect=None).summaries[0].runs == 5


def test_left_over_processes_are_killed_and_named(store):
    verdict = becalm.run(["/bin/sh", "-c", "setsid sleep 987654 & exit 0"], runs=3, warmup=0)
    assert any(finding.kind == "left_behind" for finding in verdict.findings)
    assert not processes_with("987654")


def processes_with(marker):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def becalm_process(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "becalm", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for(condition, seconds=120.0):
    """Until a condition holds; the time is a limit for a broken program, not an expectation."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("the condition never held")


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_interrupt_keeps_what_was_measured_and_gives_a_verdict(store, tmp_path):
    log = tmp_path / "log"
    process = becalm_process("run", "--budget", "none", "--json", "--", "/bin/sh", "-c", f"echo x >> {log}; sleep 0.01")
    wait_for(lambda: lines(log) > 20)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    verdict = json.loads(out)
    assert verdict["stopped"] == "interrupted"
    assert verdict["summaries"][0]["runs"] > 5
    assert process.returncode == 0
    # All but the run that was aborted are in the store as good ones; that one is there as aborted, and may have been
    # ended before it wrote its line.
    assert stored_runs(store) - lines(log) in (0, 1)


def test_a_killed_becalm_loses_no_finished_run(store, tmp_path):
    log = tmp_path / "log"
    marker = "0.0123457"
    process = becalm_process(
        "run", "--budget", "none", "--quiet", "--", "/bin/sh", "-c", f"echo {MARK} >> {log}; sleep {marker}"
    )
    wait_for(lambda: lines(log) > 30)
    process.kill()
    process.wait()
    wait_for(lambda: not processes_with(marker))
    listed = subprocess.run(
        [sys.executable, "-m", "becalm", "list", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(listed.stdout)
    nothing_lost(log, store)


def test_a_killed_agent_is_said_in_a_sentence_and_loses_nothing(store, tmp_path):
    log = tmp_path / "log"
    marker = "0.0123458"
    process = becalm_process(
        "run", "--budget", "none", "--quiet", "--", "/bin/sh", "-c", f"echo {MARK} >> {log}; sleep {marker}"
    )
    wait_for(lambda: lines(log) > 30)
    (agent,) = [pid for pid in children_of(process.pid) if "becalm-agent" in Path(f"/proc/{pid}/comm").read_text()]
    os.kill(agent, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "killed by signal 9" in err
    assert "Traceback" not in err
    wait_for(lambda: not processes_with(marker))
    nothing_lost(log, store)


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_gigabytes_of_output_do_no_harm(store):
    verdict = becalm.run("head -c 2000000000 /dev/zero", runs=2, warmup=0)
    assert verdict.summaries[0].runs == 2
    kept = becalm.run("head -c 300000000 /dev/zero", runs=1, warmup=0, output="keep")
    with Store.open(store) as opened:
        assert len(opened.texts(kept.study)[0][1]) <= 65536


def test_a_store_that_fails_in_the_middle_loses_nothing(store, tmp_path, monkeypatch):
    from becalm.errors import StoreError

    real, calls = Store.append, []

    def failing(self, *arguments, **keywords):
        calls.append(arguments)
        if len(calls) > 2:
            raise StoreError("The disk is full.")
        return real(self, *arguments, **keywords)

    monkeypatch.setattr(Store, "append", failing)
    with pytest.raises(StoreError) as caught:
        becalm.run("true", runs=5000)
    assert "will be put into it when becalm opens it again" in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    stored = stored_runs(store)
    with Store.open(store) as opened:
        (found,) = recover(opened)
        runs = [run.seq for run in opened.runs(found.study_id)]
    assert found.runs > 0
    assert runs == list(range(stored + found.runs)), "all that had finished, once"


def test_nothing_is_kept_when_asked(store):
    verdict = becalm.run("true", runs=3, store=False)
    assert verdict.study is None
    assert not Path(store).exists()


def test_seed_repeats_the_order(store):
    orders = []
    for _ in range(2):
        verdict = becalm.compare(["true", "true"], runs=30, seed=42)
        with Store.open(store) as opened:
            orders.append([(r.workload, r.padding, r.round) for r in opened.runs(verdict.study) if r.round >= 0])
    # Blocks depend on the clock, the random choices within a round do not depend on blocks.
    assert orders[0] == orders[1]


def test_without_an_agent_the_way_out_is_named(store, monkeypatch, tmp_path):
    import becalm.hosts.agent as agent

    monkeypatch.setattr(agent, "__file__", str(tmp_path / "hosts" / "agent.py"))
    with pytest.raises(MachineError, match="pip install"):
        becalm.run("true", runs=1)
