"""Places of settings on a machine, as the engine says them."""

import pytest

from becalm.hosts.applied_settings import Planned
from becalm.nouns.knob import catalogue
from becalm.nouns.settings import Settings
from becalm.results.export_settings import Where
from becalm.results.settings import Change, Held, Status
from becalm.study.export_settings import feature, production_plan

FEATURES = "/sys/kernel/debug/sched/features"


class Machine:
    """A host that plans what it is told."""

    def __init__(self, *changes, held=()):
        self.changes, self.held = changes, held

    def knobs(self):
        return list(catalogue())

    def facts(self):
        return {"host": {"hostname": "bench1"}, "kernel": {"release": "6.12"}}

    def status(self):
        return Status(places=self.held)

    def plan(self, settings, *, dangerous=False):
        return Planned(tuple(change for change in self.changes if change.knob in settings.to_json()))


@pytest.mark.parametrize(
    ("place", "where"),
    [
        ("/proc/sys/vm/swappiness", Where.SYSCTL),
        ("/sys/kernel/mm/ksm/run", Where.FILE),
        ("/sys/kernel/debug/sched/base_slice_ns", Where.DEBUG),
        (f"{FEATURES} NEXT_BUDDY", Where.FEATURE),
        ("/dev/cpu_dma_latency", Where.LATENCY),
    ],
)
def test_each_place_has_its_kind(place, where):
    (entry,) = production_plan(
        Machine(Change("swappiness", place, "1", "2", True)), Settings.of({"swappiness": 2})
    ).places
    assert entry.where is where


@pytest.mark.parametrize(
    "place", ["/sys/fs/cgroup/becalm/cpu.weight", "swap area /x", "process 812 (tuned)", "/proc/irq/9/x"]
)
def test_places_that_no_file_sets_at_a_start_are_left_out(place):
    plan = production_plan(Machine(Change("swappiness", place, "1", "2", True)), Settings.of({"swappiness": 2}))
    assert plan.places == ()
    assert [exclusion.knob for exclusion in plan.left] == ["swappiness"]


def test_a_feature_is_written_as_the_kernel_takes_it():
    change = Change("swappiness", f"{FEATURES} NEXT_BUDDY", "off", "on", True)
    (place,) = production_plan(Machine(change), Settings.of({"swappiness": 2})).places
    assert (place.path, place.before, place.after) == (FEATURES, "NO_NEXT_BUDDY", "NEXT_BUDDY")
    assert feature("A", "off") == "NO_A"


def test_a_value_that_becalm_applied_is_not_the_original():
    held = Held("swappiness", "/proc/sys/vm/swappiness", "60", "10", "10", False)
    machine = Machine(Change("swappiness", "/proc/sys/vm/swappiness", "10", "5", True), held=(held,))
    (place,) = production_plan(machine, Settings.of({"swappiness": 5})).places
    assert place.before == "60"


def test_settings_of_a_program_are_properties_of_its_unit():
    plan = production_plan(
        Machine(), Settings.of({"nice": -5, "policy": "fifo:50", "aslr": "off", "io_priority": "idle"})
    )
    assert {place.path: place.after for place in plan.places} == {
        "Nice": "-5", "CPUSchedulingPolicy": "fifo", "CPUSchedulingPriority": "50", "IOSchedulingClass": "idle",
    }  # fmt: skip
    assert [exclusion.knob for exclusion in plan.left] == ["aslr"]
    assert (plan.host, plan.kernel) == ("bench1", "6.12")
