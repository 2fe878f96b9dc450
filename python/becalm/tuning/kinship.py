"""The families of settings with the same effect on a program: where one has it, leaving out another shows none.

By what they act on (the rationale of each row of the catalogue, docs/reference/knobs.md); a setting that is not named
here is of no family, and found to do what another does by halving (`becalm.tuning.together`).
"""

from __future__ import annotations

from collections.abc import Iterable

from becalm.results.tune_arms import AND

FAMILIES = (
    ("isolation", "isolcpus", "online_cpus", "nohz_full", "rcu_nocbs"),  # a CPU that nothing else runs on
    ("governor", "frequency_floor", "turbo", "pstate_driver"),  # the clock of a CPU
    ("cpu_dma_latency", "idle"),  # sleep of a CPU
    ("nice", "io_priority", "policy", "slice_ns"),  # who runs first
    ("irq_affinity", "workqueue_cpus", "timer_migration"),  # where the kernel works
    ("watchdogs", "watchdogs_boot", "perf_rate"),  # interrupts by which the kernel watches itself
    ("swap", "transparent_hugepages", "ksm", "numa_balancing"),  # how memory is kept
)
"""Knobs of the catalogue; one may be in several families."""


def families(units: Iterable[str]) -> list[tuple[str, ...]]:
    """Return those of these units, knobs or several joined by AND, that are of one family: two or more of each."""
    units = tuple(units)
    found = [tuple(unit for unit in units if not set(unit.split(AND)).isdisjoint(family)) for family in FAMILIES]
    return list(dict.fromkeys(each for each in found if len(each) > 1))
