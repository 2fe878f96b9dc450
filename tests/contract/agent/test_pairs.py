"""Two programs that start at the same time, by the real agent. That both ran at once is seen by events."""

import json
import os
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, gather
from tests.waiting import wait_for

CPUS = sorted(os.sched_getaffinity(0))[:2]

pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")

PAIR = [[CPUS[0], True], [CPUS[-1], False]]


@pytest.fixture
def agent():
    """Return an agent."""
    agent = Agent()
    yield agent
    agent.close()


def workload(script, **fields):
    """Return a workload that runs a shell script."""
    return {"argv": ["sh", "-c", script], **fields}


def pair(agent, *workloads, starts=PAIR, load="none"):
    """Run two workloads at once, and return their rows and texts."""
    assert agent.ask("define", workloads=list(workloads), settings=[{}])["event"] == "done"
    steps = [[0, 0, 0, 0], [1, 0, 0, 0]]
    return gather(agent.answer(agent.send("measure", first=5, steps=steps, starts=starts, load=load)))


def meeting(directory, own, other, then="exit 0"):
    """Return a script that waits until the other one runs, too."""
    return f"touch {directory}/{own}; until [ -e {directory}/{other} ]; do :; done; {then}"


def test_both_run_at_the_same_time(agent, tmp_path):
    for load in ("none", "totals"):
        for name in ("a", "b"):
            (tmp_path / name).unlink(missing_ok=True)
        scripts = [meeting(tmp_path, "a", "b"), meeting(tmp_path, "b", "a")]
        rows, _ = pair(agent, *map(workload, scripts), load=load)
        assert [(row["seq"], row["workload"], row["outcome"]) for row in rows] == [(5, 0, "ok"), (6, 1, "ok")]
        ends = [row["started_ns"] + row["wall_ns"] for row in rows]
        assert max(row["started_ns"] for row in rows) < min(ends)
        apart_ns = rows[0]["started_ns"] - rows[1]["started_ns"]
        assert [(row["cpu"], row["apart_ns"]) for row in rows] == [(CPUS[0], apart_ns), (CPUS[-1], -apart_ns)]


def test_each_stays_on_its_cpu_and_the_next_program_does_not(agent):
    show = "grep Cpus_allowed_list /proc/self/status"
    _, texts = pair(agent, workload(show, output="keep"), workload(show, output="keep"))
    assert [texts[seq]["stdout"].split()[-1] for seq in (5, 6)] == [str(CPUS[0]), str(CPUS[1])]
    rows, texts = agent.run("sh", "-c", show, output="keep")
    before = Path("/proc/self/status").read_text().split("Cpus_allowed_list:")[1].split()[0]
    assert texts[0]["stdout"].split()[-1] == before
    assert [row["outcome"] for row in rows] == ["ok"]


def test_both_rows_come_together(tmp_path):
    with open(tmp_path / "spool", "w+b") as spool:
        spooling = Agent("--spool-fd", str(spool.fileno()), pass_fds=(spool.fileno(),))
        try:
            spooling.ask("define", workloads=[workload(":"), workload(":")], settings=[{}])
            number = spooling.send("measure", first=0, steps=[[0, 0, 0, 0], [1, 0, 0, 0]] * 3, starts=PAIR * 3)
            events = [event for event in spooling.answer(number) if event["event"] == "runs"]
            lines = [json.loads(line) for line in (tmp_path / "spool").read_bytes().splitlines()]
        finally:
            spooling.close()
    assert [[row[0] for row in line["rows"]] for line in lines] == [[0, 1], [2, 3], [4, 5]]
    assert all(len(event["rows"]) % 2 == 0 for event in events)


def test_settings_of_the_programs_themselves_may_differ(agent):
    show = workload("nice", output="keep")
    assert agent.ask("define", workloads=[show, show], settings=[{}, {"nice": 3}])["event"] == "done"
    steps = [[0, 0, 0, 0], [1, 1, 0, 0]]
    _, texts = gather(agent.answer(agent.send("measure", first=0, steps=steps, starts=PAIR)))
    own = int(texts[0]["stdout"])
    assert int(texts[1]["stdout"]) == 3
    assert own == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_step_alone_stays_on_its_cpu(agent):
    show = workload("grep Cpus_allowed_list /proc/self/status", output="keep")
    rows, texts = pair(agent, show, show, starts=[[CPUS[1], False], [-1, False]])
    assert texts[5]["stdout"].split()[-1] == str(CPUS[1])
    assert texts[6]["stdout"].split()[-1] != str(CPUS[1])
    assert [(row["cpu"], row["apart_ns"]) for row in rows] == [(CPUS[1], None), (None, None)]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failing_program_ends_the_other_one(agent, failing):
    scripts = ["exec sleep 1000", "exec sleep 1000"]
    scripts[failing] = "echo broken >&2; exit 3"
    rows, texts = pair(agent, *map(workload, scripts))
    assert (rows[failing]["outcome"], rows[failing]["status"]) == ("failed", 3)
    assert rows[1 - failing]["outcome"] == "aborted"
    assert "broken" in texts[5 + failing]["stderr"]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_program_that_cannot_be_executed_ends_the_other_one(agent, tmp_path, failing):
    script = tmp_path / "script"
    script.write_text("#!/nowhere/interpreter\n")
    script.chmod(0o755)
    workloads = [workload("exec sleep 1000"), workload("exec sleep 1000")]
    workloads[failing] = {"argv": [str(script)]}
    rows, texts = pair(agent, *workloads)
    assert [rows[failing]["outcome"], rows[1 - failing]["outcome"]] == ["refused", "aborted"]
    assert "/nowhere/interpreter" in texts[5 + failing]["stderr"]


def test_a_program_whose_time_is_over_ends_the_other_one(agent):
    rows, _ = pair(agent, workload("exec sleep 1000", timeout_ns=1), workload("exec sleep 1000"))
    assert [row["outcome"] for row in rows] == ["timeout", "aborted"]


def test_a_failing_command_before_one_program_leaves_both_out(agent):
    rows, texts = pair(agent, workload(":", prepare=["false"]), workload(":"))
    assert [row["outcome"] for row in rows] == ["refused", "aborted"]
    assert "prepare command failed" in texts[5]["stderr"]


def test_both_end_when_a_stop_is_requested(agent, tmp_path):
    scripts = [f"touch {tmp_path}/{name}; exec sleep 1000" for name in ("one", "other")]
    assert agent.ask("define", workloads=list(map(workload, scripts)), settings=[{}])["event"] == "done"
    number = agent.send("measure", first=0, steps=[[0, 0, 0, 0], [1, 0, 0, 0]], starts=PAIR)
    wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
    agent.send("stop")
    rows, _ = gather(agent.answer(number))
    assert [row["outcome"] for row in rows] == ["aborted", "aborted"]


def test_a_program_that_is_ended_before_it_begins_is_aborted(tmp_path):
    """The stop comes before the agent sees that a program cannot be executed: no row says that it could not."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"runs": [[{"stops": True}], [{}]]}))
    broken = tmp_path / "broken"
    broken.write_text("#!/nowhere/interpreter\n")
    broken.chmod(0o755)
    agent = Agent("--script", str(script))
    try:
        rows, texts = pair(agent, {"argv": [str(broken)]}, workload("exec sleep 1000"))
        assert [row["outcome"] for row in rows] == ["aborted", "aborted"]
        assert texts == {}
    finally:
        agent.close()


LEAVES = 'sleep 1000 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; exit 0'
"""A shell that leaves a process which has become another program: meanwhile it has no environment to see."""


def test_left_processes_are_counted_with_their_program(agent):
    rows, _ = pair(agent, workload(":"), workload(LEAVES))
    assert [row["left_behind"] for row in rows] == [0, 1]
    assert [row["outcome"] for row in rows] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("starts", "sentence"),
    [
        ([[0, False]], "as many starts"),
        ([[0, True], [0, False]], "need one CPU each"),
        ([[-1, True], [0, False]], "need one CPU each"),
        ([[0, True], [1, True]], "not three"),
        ([[0, False], [1, True]], "last step"),
        ([[5000, False], [1, False]], "beyond"),
    ],
)
def test_unsuitable_starts_are_refused(agent, starts, sentence):
    agent.ask("define", workloads=[workload(":"), workload(":")], settings=[{}])
    answer = agent.ask("measure", first=0, steps=[[0, 0, 0, 0], [1, 0, 0, 0]], starts=starts)
    assert (answer["event"], answer["kind"]) == ("error", "usage")
    assert sentence in answer["message"]


def test_metrics_of_the_whole_machine_are_refused(agent):
    memory = workload(":", metrics=[{"quantity": "memory:peak"}])
    agent.ask("define", workloads=[memory, workload(":")], settings=[{}])
    answer = agent.ask("measure", first=0, steps=[[0, 0, 0, 0], [1, 0, 0, 0]], starts=PAIR)
    assert answer["kind"] == "unsupported"
    assert "memory:peak" in answer["message"]
