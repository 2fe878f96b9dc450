"""The nouns Study, a measurement or search, and StoredStudy, a study in the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.codec import Json
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload


class Study(msgspec.Struct, frozen=True):
    """A measurement of programs under settings.

    `kind`: "run", "compare", "tune", "import" and so on. `options`: the options of that kind (budget_ns, precision,
    runs, warmup, reference, …), so that a verdict can be computed again from the stored runs. `seed`: of all random
    choices.
    """

    kind: str
    workloads: tuple[Workload, ...]
    settings: tuple[Settings, ...] = (Settings(),)
    options: Mapping[str, Json] = msgspec.field(default_factory=dict)
    seed: int = 0
    host: str = "local"
    title: str = ""


class StoredStudy(msgspec.Struct, frozen=True):
    """A study in the store.

    - `environment`: "unknown" if another tool measured the study.
    - `runs`: the number of runs, or of timed regions; `rows`: the number of runs.
    - `missing`: the number of stored runs that are lost; `missing_at_end`: those after the last remaining one.
    - `damaged`: a sentence on parts that cannot be read and are left out here; empty for an intact study.
    - `changed`: a sentence on parts that can be read but differ from the stored ones; empty for an intact study.
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
        """The damage of the study, as a part of a sentence; empty for an intact one."""
        return self.damaged or self.changed
