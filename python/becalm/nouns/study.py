"""The noun Study: one measurement or search, and how the store has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from becalm.nouns.codec import Json
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.values import dataclass


@dataclass(frozen=True, slots=True)
class Study:
    """A measurement: programs under settings, by a rule, from a seed.

    `kind` is "run", "compare" or "import"; `options` holds the rule's numbers (budget_ns, precision, runs, warmup,
    reference, …) so that a verdict can be computed again from the stored runs alone.
    """

    kind: str
    workloads: tuple[Workload, ...]
    settings: tuple[Settings, ...] = (Settings(),)
    options: Mapping[str, Json] = field(default_factory=dict)
    seed: int = 0
    host: str = "local"
    title: str = ""


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study as the store has it. `environment` is "unknown" for what was imported from another tool.

    `runs`: of a file of timed regions, how many these are; `rows`: runs alone. `missing`: runs that were stored and are
    not there, of these `missing_at_end` behind the last one that is.
    `damaged`: what of it cannot be read, as a sentence; then only what can be read is here. Empty for a whole one.
    `changed`: what of it can be read, and is not as it was stored, as a sentence. Empty for a whole one.
    """

    number: int
    study: Study
    created_ns: int
    becalm: str
    environment: str
    facts: Mapping[str, Any]
    runs: int
    rows: int = 0
    missing: int = 0
    missing_at_end: int = 0
    damaged: str = ""
    changed: str = ""

    @property
    def wrong(self) -> str:
        """The damage of its description, as a part of a sentence; empty for a whole one."""
        return self.damaged or self.changed
