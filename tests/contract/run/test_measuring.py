"""`run` and `compare` end to end on this machine: real processes, a real store, and what goes wrong.

Where a time is the subject, the agent reports that of a script (tests/contract/scripted.py).
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.conversation import children, name_of, processes_with
from tests.contract.scripted import MS
from tests.samples import samples
from tests.support.account import MARK, nothing_lost
from tests.support.becalms import no_spool_is_held
from tests.waiting import HANG_LIMIT_S, wait_ended, wait_for

import becalm
from becalm.errors import MachineError, UsageError, WorkloadError
from becalm.results.compare import Answer, Stopped
from becalm.store import Store, recover


def stored_runs(store):
    """Return the number of runs in a store."""
    with sqlite3.connect(store) as db:
        return db.execute("select count(*) from run").fetchone()[0]


def test_thrice_the_time_is_called_slower(store, scripted):
    scripted(20, 60)
    verdict = becalm.compare(["true", "true"], names=["once", "thrice"], budget="600s", seed=1)
    (difference,) = verdict.differences
    assert difference.answer is Answer.SLOWER
    assert difference.low > 1.8
    assert verdict.stopped is Stopped.KNOWN
    assert "thrice takes" in verdict.sentence
    assert verdict.summaries[0].user_ns is not None
    with Store.open(store) as opened:
        runs = list(opened.runs(verdict.study))
    assert len(runs) == sum(summary.runs for summary in verdict.summaries) + 2, "warm-ups are stored too"
    assert [run.seq for run in runs] == list(range(len(runs)))
    assert all(run.wall_ns > 0 and run.user_ns is not None and run.outcome == "ok" for run in runs)
    assert len({run.padding for run in runs}) > 1, "the environment changes its size from round to round"


def test_run_has_a_summary_of_all_its_runs(store, scripted):
    scripted(20)
    verdict = becalm.run("true", runs=27, warmup=2)
    (summary,) = verdict.summaries
    assert summary.runs == 27
    assert verdict.stopped is Stopped.RUNS
    assert (summary.min_ns, summary.median_ns.value, summary.max_ns) == (19.6 * MS, 20 * MS, 20.4 * MS)
    bounds = [summary.mean_ns.low, summary.mean_ns.value, summary.mean_ns.high]
    assert bounds == sorted(set(bounds))
    assert summary.mean_ns.value == 20 * MS


def test_peak_memory_is_that_of_the_program(store):
    (summary,) = becalm.run("true", runs=3, warmup=0).summaries
    assert summary.max_rss_bytes > 500_000


def test_precision_stops(store, scripted):
    scripted(20)
    verdict = becalm.run("true", precision=0.5, budget="60s")
    assert verdict.stopped is Stopped.PRECISION


@pytest.mark.parametrize(("times", "passed"), [((20, 60), False), ((60, 20), True)])
def test_a_gate_fails_for_a_slower_program(store, scripted, times, passed):
    scripted(*times)
    assert becalm.compare(["true", "true"], fail_above="2%", runs=40).passed is passed


def test_three_programs_are_compared_with_a_reference(store):
    verdict = becalm.compare(["true"] * 3, names=["a", "b", "c"], reference="c", runs=12)
    assert [difference.name for difference in verdict.differences] == ["a", "b"]
    assert {difference.reference for difference in verdict.differences} == {"c"}
    assert all(difference.pairs == 12 for difference in verdict.differences)


def test_a_comparison_with_a_baseline_is_weak(store, scripted):
    # Sixteen-fold: three times as long for half of such short series would leave a fourfold difference open.
    scripted(20)
    first = becalm.run("true", runs=40)
    scripted(320)
    verdict = becalm.compare(["true"], baseline=str(first.study), runs=20)
    (difference,) = verdict.differences
    assert difference.weak
    assert difference.answer is Answer.SLOWER
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
        ("sleep 9000", {"timeout": "100ms"}, WorkloadError, "time limit"),
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
def test_a_program_that_cannot_run_is_reported_in_a_sentence(store, command, options, error, words):
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


def test_expected_exit_codes_are_not_failures(store):
    assert becalm.run("false", runs=5, expect=(1,)).summaries[0].runs == 5
    assert becalm.run("false", runs=5, expect=None).summaries[0].runs == 5


def test_left_over_processes_are_killed_and_named(store, marker):
    verdict = becalm.run(["/bin/sh", "-c", f"setsid sleep {marker} & exit 0"], runs=3, warmup=0)
    assert any(finding.kind == "left_behind" for finding in verdict.findings)
    assert not processes_with(marker)


def becalm_process(*arguments, **options):
    """Start becalm in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "becalm", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_interrupt_keeps_what_was_measured_and_gives_a_verdict(store, tmp_path):
    log = tmp_path / "log"
    process = becalm_process("run", "--budget", "none", "--json", "--", "/bin/sh", "-c", f"echo x >> {log}; sleep 0.01")
    wait_for(lambda: lines(log) > 20)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=HANG_LIMIT_S)
    verdict = json.loads(out)
    assert verdict["stopped"] == "interrupted"
    assert verdict["summaries"][0]["runs"] > 5
    assert process.returncode == 0
    # All but the run that was aborted are in the store as good ones; that one is there as aborted, and may have been
    # ended before it wrote its line.
    assert stored_runs(store) - lines(log) in (0, 1)


def test_a_killed_becalm_loses_no_finished_run(store, tmp_path):
    log = tmp_path / "log"
    marker = f"0.01{os.getpid()}7"
    process = becalm_process(
        "run", "--budget", "none", "--quiet", "--", "/bin/sh", "-c", f"echo {MARK} >> {log}; sleep {marker}"
    )
    wait_for(lambda: lines(log) > 30)
    (agent,) = [pid for pid in children(process.pid) if name_of(pid) == "becalm-agent"]
    process.kill()
    process.wait()
    wait_ended(agent)
    wait_for(no_spool_is_held, "nobody has the spool")
    listed = subprocess.run(
        [sys.executable, "-m", "becalm", "list", "--json"], capture_output=True, text=True, check=True
    )
    assert len(json.loads(listed.stdout)["studies"]) == 1
    nothing_lost(log, store)


def test_a_killed_agent_is_reported_in_a_sentence_and_loses_nothing(store, tmp_path):
    log = tmp_path / "log"
    marker = f"0.01{os.getpid()}8"
    process = becalm_process(
        "run", "--budget", "none", "--quiet", "--", "/bin/sh", "-c", f"echo {MARK} >> {log}; sleep {marker}"
    )
    wait_for(lambda: lines(log) > 30)
    (agent,) = [pid for pid in children(process.pid) if name_of(pid) == "becalm-agent"]
    os.kill(agent, signal.SIGKILL)
    _, err = process.communicate(timeout=HANG_LIMIT_S)
    assert process.returncode == 3
    assert "killed by signal 9" in err
    assert "Traceback" not in err
    wait_for(lambda: not processes_with(marker))
    nothing_lost(log, store)


def test_much_output_does_no_harm(store):
    verdict = becalm.run(f"head -c {samples(200_000_000, 2_000_000_000)} /dev/zero", runs=2, warmup=0)
    assert verdict.summaries[0].runs == 2
    result = becalm.run("head -c 30000000 /dev/zero", runs=1, warmup=0, output="keep")
    with Store.open(store) as opened:
        text = opened.texts(result.study)[0][1]
    note = "\n[becalm stored the first 65536 of 30000000 bytes]\n"
    assert text.endswith(note)
    assert len(text) == 65536 + len(note)


def test_a_store_that_fails_in_the_middle_loses_nothing(store, monkeypatch):
    from becalm.errors import StoreError

    real, calls = Store.append, []

    def failing(self, *arguments, **keywords):
        calls.append(arguments)
        if len(calls) > 2:
            raise StoreError("The disk is full.")
        return real(self, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", failing)
        with pytest.raises(StoreError) as caught:
            becalm.run("true", runs=5000)
    assert "will be put into it when becalm opens it again" in str(caught.value)
    stored = stored_runs(store)
    with Store.open(store) as opened:
        (recovery,) = recover(opened)
        runs = [run.seq for run in opened.runs(recovery.study_id)]
    assert recovery.runs > 0
    assert runs == list(range(stored + recovery.runs)), "all that had finished, once"


def test_nothing_is_stored_on_request(store):
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
