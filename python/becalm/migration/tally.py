"""The tally of one process in a stream of records, second by second, while the stream goes on: for a live view.

Of each CPU its counters and who runs there are kept: what they advance while a thread of the process runs is its own.
The detector counts by itself, and decides by all of the stream (crates/becalm-sim/src/spots/account.rs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from becalm.migration.sweetspots import ratio


@dataclass(frozen=True, slots=True)
class TallyInterval:
    """The tally of the process in an interval.

    `at_ns`: of the newest record; `switches`: times that a thread of it left a CPU, `preempted` of them while it could
    go on; `references`, `misses`: counted while it ran; `cpus`: where it ran; `unknown`: records were lost.
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
        """Misses per reference; None without references, and where records were lost."""
        return ratio(self.references, self.misses) if self.references and not self.unknown else None


class Tally:
    """The process `process` in a stream. Memory: a number for each of its threads, and for each CPU."""

    def __init__(self, process: int) -> None:
        self.process = process
        self._threads = {process}
        self._cpus: dict[int, tuple[int | None, int, int]] = {}
        self._begin()

    def _begin(self) -> None:
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
                runs = self._happened(what, runs)
            self._cpus[cpu] = (runs, row["references"], row["misses"])
            self._at_ns = max(self._at_ns, row["time_ns"])

    def _happened(self, what: Mapping[str, Any], runs: int | None) -> int | None:
        if found := what.get("switch"):
            if found["out"] in self._threads:
                self._switches += 1
                self._preempted += bool(found["preempted"])
            return int(found["to"])
        if found := what.get("fork"):
            if found["process"] == self.process:
                self._threads.add(found["child"])
        elif (found := what.get("exit")) and found["task"] != runs:
            self._threads.discard(found["task"])
        return runs

    def take(self) -> TallyInterval:
        """Return the tally since the last call."""
        taken = TallyInterval(
            self._at_ns, self._switches, self._preempted, self._references, self._misses, tuple(sorted(self._ran)),
            self._unknown,
        )  # fmt: skip
        self._begin()
        return taken
