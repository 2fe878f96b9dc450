"""Promises of every setting of the running machine, over the catalogue: one more row is one more run of these tests.

They act on a directory that looks like a laptop's `/` and has every setting: a row that it lacks is a failure here.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.laptop import BOOT_ID, SCHEDULERS, changed, laptop, put, scheduler, snapshot, strays
from tests.support.talk import Agent, end, guards, holders
from tests.waiting import wait_for

from becalm.hosts.agent import agent_path

Row = dict[str, Any]


def catalogue() -> list[Row]:
    """Return the agent's own rows, for settings that act on the running machine."""
    tables = json.loads(subprocess.run([agent_path(), "tables"], capture_output=True, check=True).stdout)
    return [row for row in tables["knobs"] if row["scope"] == "live"]


FEATURE = "sched_feature_"
FEATURES = [row for row in catalogue() if row["name"].startswith(FEATURE)]
ROWS = [row for row in catalogue() if row not in FEATURES[1:]]
"""All but features of the scheduler, of which one is here for all: they differ in a word of one file, and
`tests/contract/settings/test_schedulers.py` sets every one of them."""


ON_BOTH = [(row["name"], 2) for row in ROWS] + [(name, 1) for name in ("isolation", "online_cpus", "smt", "cpu_weight")]
"""Rows with a version of control groups; where those matter, with both."""


@pytest.fixture(params=ROWS, ids=lambda row: row["name"])
def name(request: pytest.FixtureRequest) -> str:
    result: str = request.param["name"]
    return result


def machine(root: Path, cgroup: int = 2) -> Path:
    """Make a laptop with every setting: with the files of old schedulers and of new ones."""
    laptop(root, cpus=4, cgroup=cgroup)
    words = []
    for kernel in ("6.1", "6.12"):
        scheduler(root, kernel)
        words += SCHEDULERS[kernel]["sys/kernel/debug/sched/features"].split()
    put(root, "sys/kernel/debug/sched/features", " ".join(dict.fromkeys(words)) + " ")
    put(root, "sys/kernel/debug/sched/preempt", "none voluntary (full) lazy")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return machine(tmp_path / "root")


def row_of(agent: Agent, name: str) -> Row:
    (row,) = [knob for knob in agent.done("knobs")["knobs"] if knob["name"] == name]
    return dict(row)


def values(row: Row) -> Iterator[str]:
    """Yield values of a row's domain: each kind's ends and all words."""
    domain = row["domain"]
    yield from (special["value"] for special in domain["special"])
    if domain["kind"] == "words":
        yield from domain["choices"]
    elif domain["kind"] == "range":
        yield from (str(domain["low"]), str(domain["high"]))
    elif domain["kind"] == "cpus":
        yield "1-2"
    elif domain["kind"] == "processes":
        yield from ("812:1-2", "812@81200:0;1:3")
    else:
        raise AssertionError(f"no values are known for a domain of this kind: {domain}")


def different(agent: Agent, name: str) -> str:
    """Return a value that changes something."""
    for value in values(row_of(agent, name)):
        plan = agent.ask("plan", settings={name: value}, dangerous=True)
        if plan["event"] == "done" and any(change["changes"] for change in plan["changes"]):
            return value
    raise AssertionError(f"no value of {name} changes anything on this machine")


def test_a_setting_is_applied_and_restored(root: Path, name: str) -> None:
    before = snapshot(root)
    with Agent(root) as agent:
        row = row_of(agent, name)
        assert row["supported"], f"the laptop of these tests lacks {name}: {row['reason']}"
        tried = 0
        for value in values(row):
            plan = agent.done("plan", settings={name: value}, dangerous=True)["changes"]
            assert changed(before, snapshot(root)) == {}, "a plan writes nothing"
            remarks = agent.done("hold", settings={name: value}, dangerous=True)["remarks"]
            journal = agent.done("status")["journal"]
            places = {place["place"]: place for place in journal["places"]} if journal else {}
            for step in (change for change in plan if change["changes"]):
                place = places[step["place"]]
                assert place["original"] == step["from"], step
                if any(step["place"] in remark for remark in remarks):
                    continue  # A single interrupt may refuse, and then it says so.
                assert place["now"] == place["ours"] != place["original"], step
                tried += 1
            now = row_of(agent, name)
            if row["domain"]["kind"] in ("words", "range") and now["supported"] and tried:
                specials = {special["value"] for special in row["domain"]["special"]}
                assert now["value"] == value or {now["value"], value} & specials, "it is read as it was written"
            assert agent.done("release")["unsettled"] == []
            assert changed(before, snapshot(root)) == {}, value
        assert tried, f"no value of {name} changed anything"
    assert strays(root) == []


@pytest.mark.parametrize("how", ["the end", "a lost line", "an error", "a killed agent", "all killed, and the next"])
@pytest.mark.parametrize(
    ("name", "cgroup"), ON_BOTH, ids=lambda value: value if isinstance(value, str) else f"v{value}"
)
def test_it_is_restored_whatever_ends_it(tmp_path: Path, name: str, how: str, cgroup: int) -> None:
    root = machine(tmp_path / "root", cgroup)
    before = snapshot(root)
    agent = Agent(root)
    value = different(agent, name)
    other = "watchdogs" if name != "watchdogs" else "swappiness"
    settings = {name: value, other: "off" if other == "watchdogs" else 1}
    if how == "an error":
        # The file of the other one goes between the definition and its first step.
        agent.define([settings])
        file = root / ("proc/sys/kernel/watchdog" if other == "watchdogs" else "proc/sys/vm/swappiness")
        file.rename(tmp_path / "aside")
        assert agent.error("measure", first=0, steps=[[0, 0, 0, 0]])["kind"] == "refused"
        (tmp_path / "aside").rename(file)
        assert changed(before, snapshot(root)) == {}
        agent.close()
    else:
        agent.done("hold", settings=settings, dangerous=True)
        assert changed(before, snapshot(root)) != {}
        if how == "the end":
            agent.send("bye")
            agent.close()
        elif how == "a lost line":
            agent.close()
        else:
            for guard in guards(root) if "all" in how else ():
                end(guard)
            agent.kill()
            agent.process.stdout.close()
    wait_for(lambda: not holders(root))
    if "all" in how:
        assert changed(before, snapshot(root)) != {}
        with Agent(root) as following:
            following.done("hold", settings={"stat_interval": 9})
    # A guard gives the lock back before the last interrupt is where it was.
    wait_for(lambda: not (root / "run/becalm/interrupts").exists())
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


def test_a_machine_without_it_says_why_not_in_one_way(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    for directory in ("run", "var/lib", "proc", "sys"):
        (root / directory).mkdir(parents=True)
    put(root, "proc/sys/kernel/random/boot_id", BOOT_ID)
    put(root, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0")
    before = snapshot(root)
    (row,) = [knob for knob in ROWS if knob["name"] == name]
    with Agent(root) as agent:
        here = row_of(agent, name)
        assert (here["supported"], here["value"]) == (False, None)
        assert len(here["reason"]) > 10
        value = row["tuned_value"] or next(iter(values(row)), "x") if row["domain"]["kind"] != "listed" else "powersave"
        for request in ("plan", "hold"):
            error = agent.error(request, settings={name: value}, dangerous=True)
            assert error["kind"] == "unsupported"
            assert here["reason"] in error["message"], "the same words in the list and in an error"
    assert changed(before, snapshot(root)) == {}


def test_a_value_outside_the_domain_is_refused_with_the_domain(root: Path, name: str) -> None:
    before = snapshot(root)
    with Agent(root) as agent:
        row = row_of(agent, name)
        special = {entry["value"] for entry in row["domain"]["special"]}
        for value in ("", "no such value", "-1", "99999999999999999999", "0-99999999", None, [1], "../../etc/passwd"):
            if isinstance(value, str) and value in special:
                continue
            answer = agent.ask("hold", settings={name: value}, dangerous=True)
            assert answer["event"] == "error", value
            assert answer["kind"] in ("domain", "unsupported", "usage"), answer
            assert name in answer["message"]
        if row["group"] == "dangerous":
            value = next(values(row))
            assert agent.error("hold", settings={name: value})["kind"] == "consent"
    assert changed(before, snapshot(root)) == {}
