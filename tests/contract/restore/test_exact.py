"""The machine is byte for byte as before, whatever settings were applied, switched and measured."""

from __future__ import annotations

import random

import pytest
from tests.samples import samples
from tests.support.laptop import changed, laptop, snapshot, strays
from tests.support.talk import Agent, guards
from tests.waiting import wait_for

CHOICES = {
    "smt": ["on", "off"],
    "online_cpus": ["all", "first", "0-3", "0,2,4"],
    "governor": ["performance", "powersave"],
    "turbo": ["on", "off"],
    "frequency_floor": ["max", 800000, 1200000],
    "cpu_dma_latency": [0, 20],
    "swap": ["on", "off"],
    "transparent_hugepages": ["always", "madvise", "never"],
    "hugepage_defrag": ["never", "defer+madvise"],
    "ksm": ["on", "off"],
    "numa_balancing": ["on", "off"],
    "swappiness": [0, 10, 60, 200],
    "stat_interval": [1, 20],
    "perf_rate": [1, 100000],
    "watchdogs": ["on", "off"],
    "aslr_system": ["off", "on", 1],
    "timer_migration": ["on", "off"],
    "workqueue_cpus": ["away", "all", "1-2"],
    "irq_affinity": ["away", "all", "2-3"],
    "autogroup": ["on", "off"],
    "services": ["run", "pause"],
    "isolation": ["first-core", "1-2"],
}
"""Values of every live setting that the laptop has."""

CONFINED = {"online_cpus": "first", "smt": "off"}


def some(dice: random.Random, most: int = 8) -> dict[str, object]:
    """Return settings that make sense together: CPUs that are offline cannot be isolated."""
    names = dice.sample(sorted(CHOICES), dice.randrange(most + 1))
    settings = {name: dice.choice(CHOICES[name]) for name in names}
    if "online_cpus" in settings or settings.get("smt") == "off":
        for name in ("isolation", "irq_affinity", "workqueue_cpus"):
            settings.pop(name, None)
    return settings


@pytest.mark.parametrize("cgroup", [1, 2])
@pytest.mark.parametrize("seed", range(samples(4, 12)))
def test_any_study_leaves_every_byte(tmp_path, cgroup, seed):
    dice = random.Random(f"{seed}/{cgroup}")
    root = laptop(tmp_path / "root", cgroup=cgroup)
    before = snapshot(root)
    with Agent(root) as agent:
        sets = [some(dice) for _ in range(5)]
        assert agent.define(sets)["event"] == "done", sets
        for _ in range(2):
            steps = [[0, dice.randrange(len(sets)), 0, round] for round in range(12)]
            done = agent.done("measure", first=0, steps=steps)
            assert (done["ran"], done["drift"]) == (12, []), done
        agent.done("hold", settings=some(dice, 20), dangerous=True)
        assert agent.done("release")["unsettled"] == []
        assert changed(before, snapshot(root)) == {}
        agent.done("hold", settings=some(dice, 20), dangerous=True)
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []
    wait_for(lambda: not guards(root), "its guard has ended")


def test_the_program_sees_the_settings_that_were_defined(tmp_path):
    """Every step finds its own values, also when the same place goes to and fro between them."""
    root = laptop(tmp_path / "root")
    seen = tmp_path / "seen"
    swappiness, floor = root / "proc/sys/vm/swappiness", root / "sys/devices/system/cpu/cpu3/cpufreq/scaling_min_freq"
    sets = [
        {"swappiness": 10},
        {"swappiness": 20, "frequency_floor": 800000},
        {},
        {"swappiness": 10, "frequency_floor": "max"},
    ]
    held = ["10 400000", "20 800000", "60 400000", "10 3600000"]
    order = [0, 1, 0, 1, 3, 1, 3, 3, 2, 0, 2, 1, 2, 3]
    with Agent(root) as agent:
        agent.define(sets, ("/bin/sh", "-c", f"echo $(cat {swappiness} {floor}) >> {seen}"))
        agent.done("measure", first=0, steps=[[0, which, 0, 0] for which in order])
    assert seen.read_text().splitlines() == [held[which] for which in order]


def test_all_of_them_at_once(tmp_path):
    root = laptop(tmp_path / "root")
    before = snapshot(root)
    settings = {name: values[0] if name != "smt" else "on" for name, values in CHOICES.items()}
    settings["swap"] = "off"
    settings["services"] = "pause"
    with Agent(root) as agent:
        done = agent.done("hold", settings=settings, dangerous=True)
        assert [change["knob"] for change in done["changes"] if change["changes"]]
        assert not (root / "proc/swaps").read_text().count("partition")
        assert ") T " in (root / "proc/812/stat").read_text()
        assert "cpuset" in (root / "sys/fs/cgroup/cgroup.subtree_control").read_text()
        assert (root / "sys/fs/cgroup/becalm-isolated").is_dir()
        (guard,) = guards(root)
        assert guard != agent.pid
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []
