"""A running tally of one process in a stream of records, for a live view.

For each CPU, its counters and the running task are stored: advances while a thread of the process runs belong to the
process. The detector counts separately, from the whole stream (crates/becalm-sim/src/spots/account.rs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from becalm.migration.sweetspots import ratio


class TallyInterval(msgspec.Struct, frozen=True):
    """The tally of the process in an interval.

    - `at_ns`: the time of the newest record
    - `switches`: how often one of its threads left a CPU, `preempted` of them while runnable
    - `references`, `misses`: the counts while it ran
    - `cpus`: the CPUs on which it ran
    - `unknown`: whether records were lost
    """

    at_ns: int
    switches: int
    preempted: int
    references: int
    misses: int
    cpus: tuple[int, ...]
    unknown: bool

    @property
    def ratio(self) -> float | None:
        """Misses per reference; None without references, and if records were lost."""
        return ratio(self.references, self.misses) if self.references and not self.unknown else None


class Tally:
    """The tally of a process in a stream."""

    def __init__(self, process: int) -> None:
        self.process = process
        self._threads = {process}
        self._cpus: dict[int, tuple[int | None, int, int]] = {}
        self._reset()

    def _reset(self) -> None:
        self._at_ns = self._switches = self._preempted = self._references = self._misses = 0
        self._ran: set[int] = set()
        self._unknown = False

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add the next records."""
        for row in rows:
            cpu, what = row["cpu"], row["what"]
            runs, references, misses = self._cpus.get(cpu, (None, row["references"], row["misses"]))
            if runs in self._threads:
                self._references += max(0, row["references"] - references)
                self._misses += max(0, row["misses"] - misses)
                self._ran.add(cpu)
            if what in ("lost", "offline"):
                runs, self._unknown = None, True
            elif isinstance(what, Mapping):
                runs = self._handle(what, runs)
            self._cpus[cpu] = (runs, row["references"], row["misses"])
            self._at_ns = max(self._at_ns, row["time_ns"])

    def _handle(self, record: Mapping[str, Any], runs: int | None) -> int | None:
        if event := record.get("switch"):
            if event["out"] in self._threads:
                self._switches += 1
                self._preempted += bool(event["preempted"])
            return int(event["to"])
        if event := record.get("fork"):
            if event["process"] == self.process:
                self._threads.add(event["child"])
        elif (event := record.get("exit")) and event["task"] != runs:
            self._threads.discard(event["task"])
        return runs

    def take(self) -> TallyInterval:
        """Return the tally since the last call."""
        interval = TallyInterval(
            self._at_ns, self._switches, self._preempted, self._references, self._misses, tuple(sorted(self._ran)),
            self._unknown,
        )  # fmt: skip
        self._reset()
        return interval
