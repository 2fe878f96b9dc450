"""The noun Migrated: a running process that was moved, when, why then, and what it waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from becalm._version import SCHEMA, VERSION
from becalm.migration.live import Decided
from becalm.nouns.result import Result


@dataclass(frozen=True, slots=True)
class Waited:
    """The wait before a move. `events`: what was counted; `rules`: their name; `limit_ns`: the hard limit.

    `why`: Decided's, "not_counted" where nothing could be, or "asked" at a moment that was given. `waited_ns`: by the
    clock, from when it was wanted. `bounded`: whether d_max bounded it, which only counts of a cache do. `kinds`: types
    of spots that could be seen.
    """

    why: str
    waited_ns: int
    limit_ns: int
    rules: str
    events: str
    bounded: bool
    kinds: tuple[int, ...]
    decided: Decided | None = None
    remarks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON."""
        decided = self.decided
        return {
            "why": self.why, "waited_ns": self.waited_ns, "limit_ns": self.limit_ns, "rules": self.rules,
            "events": self.events, "bounded": self.bounded, "kinds": list(self.kinds), "remarks": list(self.remarks),
            "longest_ns": None if decided is None or not self.bounded else decided.longest_ns,
            "least_ns": None if decided is None or not self.bounded else decided.least_ns,
            "spot": None if decided is None else decided.kind, "task": None if decided is None else decided.task,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Migrated(Result):
    """`came`: the CPU where its first thread ran before, if the kernel told; `cpus`: where it is bound to.

    `threads`: how many it had. `took_ns`: of binding them. `waited`: None where it was moved at once.
    """

    pid: int
    name: str
    came: int | None
    cpus: tuple[int, ...]
    threads: int
    took_ns: int
    waited: Waited | None = None
    remarks: tuple[str, ...] = ()
    sentence: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON."""
        return {
            "becalm": VERSION, "schema": SCHEMA, "kind": "migrated", "sentence": self.sentence, "pid": self.pid,
            "name": self.name, "from": self.came, "cpus": list(self.cpus), "threads": self.threads,
            "took_ns": self.took_ns, "waited": None if self.waited is None else self.waited.to_json(),
            "remarks": list(self.remarks),
        }  # fmt: skip
