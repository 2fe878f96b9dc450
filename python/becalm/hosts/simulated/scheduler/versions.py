"""Kernels whose scheduler is modelled: named sets of features and defaults, `sim:eevdf?kernel=6.6`.

Sources: kernel/sched/features.h and fair.c of each version. 6.12 means 6.12-stable since May 2025, with the slice of
6.15. From 6.17 on, RUN_TO_PARITY protects a task for the shortest queued slice (set_protect_slice).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.errors import UsageError

WAKING = ("wakeup_preemption", "wa_idle", "wa_weight", "wa_bias", "cache_hot_buddy")
CFS = (*WAKING, "gentle_fair_sleepers", "start_debit", "last_buddy", "base_slice")
EEVDF = (*WAKING, "place_lag", "place_deadline_initial", "run_to_parity")
SINCE_6_12 = ("place_rel_deadline", "preempt_short", "delay_dequeue", "delay_zero")
OFF = ("next_buddy", "hrtick")
"""Features that all versions have, switched off."""


class Version(msgspec.Struct, frozen=True):
    """A kernel: its policy, the features that are on by default, and `more` values that differ from the engine's.

    `base_slice_ns`: the slice before scaling by the number of CPUs.
    """

    name: str
    policy: str
    on: tuple[str, ...]
    base_slice_ns: int = 700_000
    more: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def state(self, feature: str) -> str | None:
        """Return `on` or `off`; None for a feature that this kernel lacks."""
        if feature in self.on:
            return "on"
        return "off" if feature in OFF else None


TABLE = (
    Version("6.1", "cfs", CFS),
    Version("6.6", "eevdf", EEVDF, base_slice_ns=750_000),
    Version("6.12", "eevdf", (*EEVDF, *SINCE_6_12)),
    Version("6.18", "eevdf", (*EEVDF, *SINCE_6_12), more={"least_protected_ns": 700_000}),
)

USUAL = {"cfs": "6.1", "eevdf": "6.12"}
"""The default kernel of each policy."""


def of(policy: str, name: str | None) -> Version:
    """Return a kernel by name (None: the default) and policy. Raises UsageError."""
    name = name or USUAL[policy]
    version = next((row for row in TABLE if row.name == name), None)
    if version is None:
        known = ", ".join(f"{row.name} ({row.policy})" for row in TABLE)
        raise UsageError(f"The model has no kernel {name!r}. It has {known}.")
    if version.policy != policy:
        raise UsageError(f"Linux {name} has {version.policy}: write sim:{version.policy}?kernel={name}")
    return version
