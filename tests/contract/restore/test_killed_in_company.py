"""An agent killed at any system call while more than one program runs: with it all of them end, and settings are
restored.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.contract.conversation import processes_with
from tests.samples import samples
from tests.support.laptop import laptop, snapshot
from tests.support.memory_directory import memory_directory
from tests.support.stepping import Stepped, cuts
from tests.support.studies import check
from tests.support.talk import Agent, processes_of
from tests.waiting import wait_for

from becalm.nouns.run import COLUMNS

MARK = f"company-{os.getpid()}"
"""An argument of each program."""

PROGRAM = ("/bin/sh", "-c", ":", MARK)
LASTING = ("/bin/sh", "-c", "while :; do :; done", MARK)
SETTINGS = [{"swappiness": 10}, {"swappiness": 20, "governor": "performance"}]
CPUS = sorted(os.sched_getaffinity(0))

COMPANY = {
    "load": {},
    "neighbours": {"alongside": [{"workload": {"argv": LASTING}}]},
    "copies": {"copies": 2},
    "pair": {},
}
"""The fields of a workload that runs in this company."""

NAMES = [f"becalm-{name}" for name in ("agent", "guard", "keeper", "load", "spawner", "starter")]


OUTCOME = COLUMNS.index("outcome")

CUTS = samples(6, 60)
"""The number of moments in each test, spread over the whole study."""


def traced_study(root: Path, company: str) -> tuple[Agent, Stepped]:
    """Return an agent and its trace, after a request for runs in company with changing settings and for the end."""
    agent = Agent(root)
    try:
        traced = Stepped(agent.pid)
    except PermissionError:
        agent.close()
        pytest.skip("processes cannot be traced here (ptrace is forbidden)")
    workload = {"argv": PROGRAM, **COMPANY[company]}
    agent.send("define", workloads=[workload], settings=SETTINGS, dangerous=True)
    if company == "load":
        agent.send("load", demand={"cpu": 0.02})
    order, starts = (0, 1, 0), {}
    if company == "pair":
        order, starts = (0, 0, 1, 1), {"starts": [[CPUS[0], True], [CPUS[1], False]] * 2}
    agent.send("measure", first=0, steps=[[0, which, 0, 0] for which in order], **starts)
    agent.send("bye")
    return agent, traced


def stops(root: Path, company: str) -> int:
    """Return the number of begins and ends of system calls of an undisturbed study."""
    agent, traced = traced_study(root, company)
    assert not traced.run()
    events = [json.loads(line) for line in agent.process.stdout]
    assert [event for event in events if event["event"] == "error"] == []
    outcomes = {row[OUTCOME] for event in events if event["event"] == "runs" for row in event["rows"]}
    assert outcomes == {"ok"}, "the programs ran in company"
    agent.process.wait()
    agent.forget()
    return traced.stops


@pytest.mark.parametrize("company", COMPANY)
def test_cut_at_any_system_call(company: str) -> None:
    if company == "pair" and len(CPUS) < 2:
        pytest.skip("two programs at once need two CPUs")
    with memory_directory() as path:
        root = laptop(path, cpus=4)
        before = snapshot(root)
        for moment in cuts(stops(root, company), CUTS):
            agent, traced = traced_study(root, company)
            if traced.run(moment):
                traced.kill()
            agent.process.wait()
            agent.forget()
            wait_for(lambda: not processes_of(root, *NAMES), "becalm's own processes have ended")
            wait_for(lambda: not processes_with(MARK), "the programs have ended")
            check(root, before)
