"""The small process that starts programs: their peak memory is their own, and no start hangs the agent."""

import os
import signal
import statistics
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, alive, children, gather, processes_with, sh, spawner
from tests.samples import samples
from tests.waiting import HANG_LIMIT_S, wait_for

PAGE = 4096
MANY = samples(20_000, 100_000)
COUNTED = 64 * (os.cpu_count() or 1)
"""Pages by which the kernel's count may be off: of pages of files and of others each CPU keeps up to 32 to itself, or
twice as many as there are CPUs (linux/percpu_counter.h)."""


def peaks(agent, workloads, runs=60):
    """Return the median of the peak memory of the last workload, bytes."""
    defined = agent.ask("define", workloads=workloads, settings=[{}])
    assert defined["event"] == "done", defined
    last = len(workloads) - 1
    # All sizes of padding come into play, as in a comparison.
    steps = [[last, 0, 16 * (index % 256), index] for index in range(runs)]
    rows, _ = gather(agent.answer(agent.send("measure", first=0, steps=steps)))
    assert {row["outcome"] for row in rows} == {"ok"}
    return statistics.median(row["max_rss_bytes"] for row in rows)


def own_bytes(pid):
    """Return the size of the pages that a process has in memory, but for those of files such as its own program."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1])


def high_water_bytes(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def test_a_group_of_their_own_makes_programs_no_larger(agent):
    grouped = Agent("--group")
    try:
        alone, within = (peaks(child, [{"argv": ["/bin/true"]}] * 2) for child in (agent, grouped))
        assert abs(within - alone) <= COUNTED * PAGE
    finally:
        grouped.close()


def test_a_programs_peak_memory_is_its_own_however_many_others_there_are(agent):
    true = {"argv": ["/bin/true"]}
    alone = peaks(agent, [true] * 2)
    among = peaks(agent, [{"argv": ["/bin/true", str(number)]} for number in range(499)] + [true])
    # Where its pages lie is random, so that it is some pages more or less; a hundred commands were 7 MiB.
    assert abs(among - alone) <= COUNTED * PAGE
    assert alone < 2.5e6


def test_peak_memory_is_not_that_of_a_large_definition(agent):
    true = {"argv": ["/bin/true"]}
    alone = peaks(agent, [true])
    large = {"argv": ["/bin/true"], "environment": {f"BIG{number}": "x" * 100_000 for number in range(10)}}
    assert peaks(agent, [large]) > alone + 1_000_000 - COUNTED * PAGE, "its arguments are a program's own"
    many = [{"argv": ["/bin/true", str(number)]} for number in range(MANY)]
    assert abs(peaks(agent, [*many, true]) - alone) <= COUNTED * PAGE
    assert high_water_bytes(agent.process.pid) < 4000 * MANY + 20e6, "and many programs are not gigabytes"
    # Half a megabyte of its own, and once the megabyte of arguments. How much of the agent's file is around what it
    # touches is the linker's and the page cache's business.
    assert own_bytes(spawner(agent)) < 1.5e6 + COUNTED * PAGE


def test_peak_memory_still_grows_with_the_program(agent):
    use = "import sys; kept = b'x' * int(sys.argv[1])"
    python = [os.path.realpath("/proc/self/exe"), "-I", "-S", "-c", use]
    small = peaks(agent, [{"argv": [*python, "1"]}], runs=5)
    assert 30e6 < peaks(agent, [{"argv": [*python, "32000000"]}], runs=5) - small < 34e6


@pytest.mark.parametrize("how", ["stop", "time limit", "end"])
def test_a_start_that_hangs_is_ended_as_a_program_is(agent, tmp_path, how):
    """Opening a pipe waits for somebody who writes to it."""
    fifo = tmp_path / "input"
    os.mkfifo(fifo)
    limit = {"timeout_ns": 300_000_000} if how == "time limit" else {}
    agent.define("cat", input=str(fifo), **limit)
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
    wait_for(lambda: len(children(agent.process.pid)) == 3 or how == "time limit")
    if how == "end":
        agent.process.terminate()
        assert agent.process.wait(timeout=HANG_LIMIT_S) == 0
        return
    if how == "stop":
        agent.send("stop")
    rows, _ = gather(event for event in agent.answer(number) if event["id"] == number)
    assert [row["outcome"] for row in rows] == ["aborted" if how == "stop" else "timeout"]
    assert agent.run("true")[0][0]["outcome"] == "ok", "and the next one starts"


def test_a_start_that_fails_is_reported(agent, tmp_path):
    script = tmp_path / "script"
    script.write_text("neither a program nor a script\n")
    script.chmod(0o755)
    rows, texts = agent.run(str(script), steps=3)
    assert [row["outcome"] for row in rows] == ["refused"] * 3
    assert "#!" in texts[0]["stderr"]
    rows, texts = agent.run("true", environment={f"BIG{number}": "x" * 120_000 for number in range(60)})
    assert [row["outcome"] for row in rows] == ["refused"]
    assert "longer than the kernel allows" in texts[0]["stderr"]
    assert agent.run("true")[0][0]["outcome"] == "ok"


def test_descendants_are_found_and_the_spawner_is_spared(agent, marker):
    rows, _ = agent.run(*sh(f"setsid sleep {marker} & until [ -e /proc/$!/stat ]; do :; done"), steps=3)
    assert [row["left_behind"] for row in rows] == [1] * 3
    assert not processes_with(marker)
    assert agent.run("true")[0][0]["left_behind"] == 0
    assert spawner(agent)


def test_no_program_inherits_a_descriptor(agent):
    _, texts = agent.run(*sh("ls /proc/self/fd"), steps=2, output="keep")
    # The last one is that of ls itself, reading the directory.
    assert [texts[number]["stdout"].split() for number in range(2)] == [["0", "1", "2", "3"]] * 2


def check_without_spawner(agent, number):
    """Send its spawner a signal: the agent refuses runs with a reason, and answers other requests."""
    # Of its two children of this name the first starts programs, and has its name from then on.
    assert agent.run("true")[0][0]["outcome"] == "ok"
    pid = spawner(agent)
    os.kill(pid, number)
    rows, texts = gather(agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]])))
    assert [row["outcome"] for row in rows] == ["refused"]
    assert "process that starts programs" in texts[0]["stderr"]
    assert not Path(f"/proc/{pid}").exists(), "nobody is left of it"
    assert agent.ask("knobs")["event"] == "done"


def test_without_its_spawner_an_agent_refuses_runs_and_answers(agent):
    check_without_spawner(agent, signal.SIGKILL)


@pytest.mark.parametrize("how", ["kill", "end"])
def test_it_goes_with_the_agent(how):
    agent = Agent()
    pid = spawner(agent)
    if how == "kill":
        agent.process.kill()
    agent.close()
    wait_for(lambda: not alive(pid), "the spawner ends")
