"""Settings may stay on while those of the next block are made known: these mean what they mean without them."""

from __future__ import annotations

import random
import re
import shutil

import pytest
from tests.contract.restore.test_exact import CHOICES, some
from tests.samples import samples
from tests.support.laptop import changed, laptop, snapshot
from tests.support.talk import Agent

ASLR = "proc/sys/kernel/randomize_va_space"
NO_TURBO = "sys/devices/system/cpu/intel_pstate/no_turbo"

SINGLE = re.compile(r"proc/irq/\d+/")


def measured(agent, settings, root, seen):
    """Copy to `seen` everything that a program sees of the machine with these settings; its files are not left in
    `root`."""
    shutil.rmtree(seen, ignore_errors=True)
    copy = f"mkdir {seen} && cp -a {root}/proc {root}/sys {seen}"
    assert agent.define([settings], ("/bin/sh", "-c", copy))["event"] == "done", settings
    assert agent.done("measure", first=0, steps=[[0, 0, 0, 0]], stop_on_failure=True)["ran"] == 1
    # Single interrupts may be on their way back from CPUs that were away.
    return {name: content for name, content in snapshot(seen).items() if not SINGLE.match(name)}


def apply_settings(agent, settings):
    """Measure one block with these settings, which may stay applied."""
    assert agent.define([settings])["event"] == "done", settings
    agent.done("measure", first=0, steps=[[0, 0, 0, 0]])


@pytest.mark.parametrize("cgroup", [1, 2])
@pytest.mark.parametrize("seed", range(samples(1, 3)))
def test_settings_mean_the_same_whatever_was_applied_before(tmp_path, cgroup, seed):
    dice = random.Random(f"between {seed}/{cgroup}")
    root = laptop(tmp_path / "root", cgroup=cgroup)
    before = snapshot(root)
    sets = [some(dice, 5) for _ in range(5)]
    fresh = []
    for settings in sets:
        with Agent(root) as agent:
            fresh.append(measured(agent, settings, root, tmp_path / "seen"))
    with Agent(root) as agent:
        for settings, alone in zip(sets, fresh, strict=True):
            assert changed(alone, measured(agent, settings, root, tmp_path / "seen")) == {}, (sets, settings)
    assert changed(before, snapshot(root)) == {}


@pytest.mark.parametrize("settings", sorted(CHOICES))
def test_each_setting_alongside_all_that_may_stay_on(tmp_path, settings):
    root = laptop(tmp_path / "root", cgroup=1 if settings == "isolation" else 2)
    value = CHOICES[settings][0]
    alongside = {name: values[-1] for name, values in CHOICES.items() if name not in (settings, "smt", "online_cpus")}
    with Agent(root) as agent:
        alone = measured(agent, {settings: value}, root, tmp_path / "seen")
    plain = {name: held for name, held in alongside.items() if name not in ("turbo", "governor", "swap", "services")}
    for on in (alongside, plain):
        with Agent(root) as agent:
            apply_settings(agent, on)
            assert changed(alone, measured(agent, {settings: value}, root, tmp_path / "seen")) == {}, on


def test_only_what_says_nothing_about_others_stays_on_meanwhile(tmp_path):
    root = laptop(tmp_path / "root")
    before = snapshot(root)
    aslr, no_turbo = root / ASLR, root / NO_TURBO
    with Agent(root) as agent:
        apply_settings(agent, {"aslr_system": "off"})
        agent.define([{"swappiness": 10}])
        assert aslr.read_text().strip() == "0"
        # Whoever asks anything else sees the machine as it is.
        agent.done("facts", root=str(root))
        assert changed(before, snapshot(root)) == {}
        apply_settings(agent, {"aslr_system": "off", "turbo": "off"})
        assert no_turbo.read_text().strip() == "1"
        agent.define([{"swappiness": 10}])
        assert changed(before, snapshot(root)) == {}


def test_held_settings_stay_applied_after_other_requests(tmp_path):
    root = laptop(tmp_path / "root")
    with Agent(root) as agent:
        agent.done("hold", settings={"swappiness": 10})
        agent.done("facts", root=str(root))
        assert (root / "proc/sys/vm/swappiness").read_text().strip() == "10"
