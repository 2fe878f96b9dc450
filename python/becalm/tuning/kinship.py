"""The families of settings with the same effect on a program, so that leaving out one of them may show no effect.

They are grouped by the object on which they act (the rationale of each row of the catalogue, docs/reference/knobs.md).
For settings without a family, halving finds those that replace each other (`becalm.tuning.together`).
"""

from __future__ import annotations

from collections.abc import Iterable

from becalm.results.tune_arms import AND

FAMILIES = (
    ("isolation", "isolcpus", "online_cpus", "nohz_full", "rcu_nocbs"),  # a CPU that nothing else runs on
    ("governor", "frequency_floor", "turbo", "pstate_driver"),  # the clock of a CPU
    ("cpu_dma_latency", "idle"),  # sleep of a CPU
    ("nice", "io_priority", "policy", "slice_ns"),  # priority of a program
    ("irq_affinity", "workqueue_cpus", "timer_migration"),  # CPUs on which the kernel works
    ("watchdogs", "watchdogs_boot", "perf_rate"),  # interrupts by which the kernel watches itself
    ("swap", "transparent_hugepages", "ksm", "numa_balancing"),  # management of memory
)
"""The families of the catalogue's knobs; a knob may be in several families."""


def families(units: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of two or more units (knobs, or several joined by AND) that are of one family."""
    units = tuple(units)
    members = [tuple(unit for unit in units if not set(unit.split(AND)).isdisjoint(family)) for family in FAMILIES]
    return list(dict.fromkeys(family_units for family_units in members if len(family_units) > 1))
