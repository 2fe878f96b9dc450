"""Every file that becalm writes, or that changes with it, is compared and counted as ours when it is not restored."""

import json
import shutil

import pytest
import snapshot
import traces
from tests.contract.conformance.test_acts import ROWS, different, machine
from tests.support.laptop import scheduler
from tests.support.talk import Agent

OTHER_KINDS = {
    "swap": ("swap", "/dev/dm-1", "changed"),
    "process": ("service", "812 (tuned) started 9", "changed"),
    "affinity": ("task", "812 (tuned) started 9", "changed"),
    "threads": ("task", "812 (tuned) started 9", "changed"),
    # The task has other CPUs in another set of v1.
    "member": ("task", "812 (tuned) started 9", "changed"),
}
"""The differences in a snapshot of places that are not files."""

NOT_COMPARED = {"arrival", "latency"}
"""Idle interrupts cannot be brought back; and the bound on latency ends with the process that keeps it."""


def places(journal):
    """Return the places that a journal names, settings and side effects."""
    records = [json.loads(line.partition(" ")[2]) for line in journal.read_text().splitlines()]
    return [record["place"] for record in records if record["record"] == "place"]


def path_of(place):
    """Return the path of a place in control groups or files; empty where it has none."""
    root = {1: "/sys/fs/cgroup/", 2: "/sys/fs/cgroup"}.get(place.get("version"), "")
    match place["kind"]:
        case "controller":
            return "/sys/fs/cgroup/cgroup.subtree_control"
        case "cpuset":
            return (
                f"{root}{'cpuset' if place['version'] == 1 else ''}/becalm-{'rest' if place['gather'] else 'isolated'}"
            )
        case "weighted":
            return f"{root}{'cpu' if place['version'] == 1 else ''}/becalm-weighted"
    return place.get("path", "")


def missed(place, compared):
    """Return what of a place the tool would not see; empty when nothing."""
    kind, path = place["kind"], path_of(place)
    if kind in ("file", "mask", "feature", "controller"):
        if path not in compared:
            return f"{path} is not compared"
        return "" if traces.is_ours("setting", path, "changed") else f"{path} does not count as ours"
    if kind in ("cpuset", "weighted"):
        return "" if traces.is_ours("control group", path, "new") else f"{path} does not count as ours"
    return "" if traces.is_ours(*OTHER_KINDS[kind]) else f"{place} does not count as ours"


@pytest.fixture(params=[1, 2], ids=["old", "new"])
def root(request, tmp_path):
    """A laptop with all settings: with cgroup v1 and the scheduler's old files, or with v2 and its new ones."""
    root = machine(tmp_path / "root", request.param)
    if request.param == 1:
        shutil.rmtree(root / "sys/kernel/debug/sched")
        scheduler(root, "5.10")
    return root


def test_no_place_of_a_knob_is_missed(root):
    journal = root / "var/lib/becalm/journal"
    compared = {path for path, _ in snapshot.settings(root)}
    # Nobody can write these, becalm neither.
    compared |= {f"/{path.relative_to(root)}" for path in root.rglob("smp_affinity") if not path.stat().st_mode & 0o222}
    reports, kinds = set(), set()
    with Agent(root, wait=0) as agent:
        supported = {row["name"] for row in agent.done("knobs")["knobs"] if row["supported"]}
        for name in (row["name"] for row in ROWS if row["name"] in supported):
            agent.done("hold", settings={name: different(agent, name)}, dangerous=True)
            named = places(journal)
            agent.done("release")
            kinds |= {place["kind"] for place in named}
            reports |= {missed(place, compared) for place in named if place["kind"] not in NOT_COMPARED}
    assert reports == {""}
    assert {"file", "mask", "swap", "process", "affinity", "cpuset", "feature"} <= kinds
