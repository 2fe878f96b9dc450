"""The end of a run by the kernel's record of it, whenever the agent hears of it; and which CPUs were its own."""

import itertools
import os
import signal
from pathlib import Path

import pytest
from tests.contract.conversation import gather, loads_in, needs_root, observed, sh
from tests.waiting import wait_for

ALLOWED = sorted(os.sched_getaffinity(0))


def is_zombie(pid):
    """Return whether a process has ended and was not reaped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def let_time_pass():
    """Return some polls later: longer than the end of a process and the clocks of kernel and files are apart."""
    polls = itertools.count()
    wait_for(lambda: next(polls) > 30, "30 polls")


@needs_root
@pytest.mark.parametrize("output", ["keep", "discard"])
def test_a_run_ends_when_its_program_ends_however_late_that_is_seen(agent, tmp_path, output):
    """The agent is stopped while the program ends, and goes on later: nothing of that is the run's time."""
    here, go, resumed = tmp_path / "pid", tmp_path / "go", tmp_path / "resumed"
    os.mkfifo(go)
    script = f"echo begin; echo $$ > {here}.new; mv {here}.new {here}; read word < {go}; echo end"
    defined = agent.define(*sh(script), output=output)
    assert defined["event"] == "done", defined
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals")
    wait_for(here.exists, "the program has begun")
    agent.process.send_signal(signal.SIGSTOP)
    pid = int(here.read_text())
    go.write_text("word\n")
    wait_for(lambda: is_zombie(pid), "the program has ended")
    let_time_pass()
    resumed.touch()
    let_time_pass()
    agent.process.send_signal(signal.SIGCONT)
    events = agent.answer(number)
    (row,), _ = gather(events)
    (load,) = loads_in(agent, events)
    if load["scope"] != "tree":
        pytest.skip("the kernel tells no ends of tasks here")
    resumed_at_ns = resumed.stat().st_mtime_ns
    assert row["started_ns"] + row["wall_ns"] < resumed_at_ns


@needs_root
def test_a_record_says_which_cpus_were_the_programs(agent):
    _, (free,), _, _ = observed(agent, *sh("exit 0"))
    assert free["own_cpus"] == len(ALLOWED)
    _, (bound,), _, _ = observed(agent, *sh("exit 0"), settings={"cpus": str(ALLOWED[-1])})
    assert bound["own_cpus"] == 1
    assert bound["own_cpus_busy_ns"] is not None
    assert bound["own_cpus_steal_ns"] is not None


def test_cpus_that_differ_from_run_to_run_of_a_record_are_unknown(agent):
    if len(ALLOWED) < 2:
        pytest.skip("needs two CPUs")
    settings = [{"cpus": str(cpu)} for cpu in ALLOWED[:2]]
    defined = agent.ask("define", workloads=[{"argv": list(sh("exit 0"))}], settings=settings)
    assert defined["event"] == "done", defined
    events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0], [0, 1, 0, 1]], load="totals"))
    loads = loads_in(agent, events)
    mixed = [load for load in loads if load["first"] < load["last"]]
    assert all(load["own_cpus"] is None and load["own_cpus_busy_ns"] is None for load in mixed)
    assert all(load["own_cpus"] == 1 for load in loads if load not in mixed)
