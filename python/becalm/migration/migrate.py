"""The result Migrated: a moved process, with the moment of the move and its reason."""

from __future__ import annotations

from typing import Any

import msgspec

from becalm.migration.live import Decided
from becalm.nouns.result import Result


class Waited(msgspec.Struct, frozen=True):
    """The wait before a move.

    - `events`: the counted events
    - `rules`: the name of the rules
    - `limit_ns`: the hard limit
    - `why`: the reason as in Decided, "not_counted" if nothing could be counted, or "asked" at a requested moment
    - `waited_ns`: the wait by the clock, from the request
    - `bounded`: whether d_max bounded it, which needs counts of a cache
    - `kinds`: the types of sweet spots that the counts can show
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


class Migrated(Result, frozen=True, rename={"came": "from"}):
    """A moved process. `came`: the CPU where its first thread ran before, if known; `cpus`: the CPUs to which it is
    bound.

    `threads`: the number of its threads; `took_ns`: the time of binding them; `waited`: None if it was moved at once.
    """

    KIND = "migrated"

    pid: int
    name: str
    came: int | None
    cpus: tuple[int, ...]
    threads: int
    took_ns: int
    waited: Waited | None = None
    remarks: tuple[str, ...] = ()
    sentence: str = ""
