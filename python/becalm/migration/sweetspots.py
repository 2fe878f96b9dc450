"""The noun Spotted: what the detector found in a stream, with everything that it decided by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from becalm._version import SCHEMA, VERSION
from becalm.files.cells import table_text
from becalm.migration import thesis_log
from becalm.migration.kinds import ALL
from becalm.nouns.result import Result

COLUMNS = (
    "task", "from_ns", "until_ns", "references", "misses", "others_references", "others_misses", "known", "last",
    "own_high", "others_high", "change", "evicted",
)  # fmt: skip
"""The columns of a window. Times in `unit`, counts in `events`."""


def ratio(references: float, misses: float) -> float:
    """Return misses per reference. The two counters of a group are read one after the other, so of few references the
    second may have counted one more: a share is at most 1. 0 without references."""
    return min(1.0, misses / references) if references else 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Spotted(Result):
    """`found`: the engine's answer (crates/becalm-sim/src/spots/detect.rs), every threshold in its `question`.

    `events`: what was counted; `unit`: of its times; `rules`: the name of the rules.
    `miss_ratio`: whether misses and references are of a cache; of page faults and pages they are not. `kinds`: types of
    spots that what was counted can show.
    """

    source: str
    events: str
    unit: str
    rules: str
    found: Mapping[str, Any]
    sentence: str = ""
    miss_ratio: bool = True
    kinds: tuple[int, ...] = ALL

    @property
    def programs(self) -> list[dict[str, Any]]:
        """The observed programs: task, process, name where it is known, own and others' counts."""
        return list(self.found["programs"])

    def label(self, number: int) -> str:
        """Return a program's name for a person, where the source knows it, and its task."""
        seen = self.programs[number]
        return f"{seen['name']} ({seen['task']})" if seen.get("name") else f"{seen['task']}"

    @property
    def spots(self) -> list[dict[str, Any]]:
        """The sweet spots in order of time: program, kind (0, 1, 2), time, counts, threshold."""
        return sorted(self.found["spots"], key=lambda spot: spot["time_ns"])

    @property
    def start_ns(self) -> int:
        """The origin of times, ns: the beginning of a recording whose times are those of a clock, else 0."""
        return int(self.found["from_ns"]) if self.source in ("perf", "live", "records") else 0

    @property
    def move(self) -> dict[str, Any] | None:
        """The move that was made of it while it was recorded, or why none was; None where none was asked for."""
        found = self.found.get("move")
        return None if found is None else dict(found)

    def windows(self, program: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield windows as they are read: the marks one by one."""
        for number, *counts, marks in self.found.get("windows", ()):
            if program is None or number == program:
                flags = [bool(marks >> bit & 1) for bit in range(6)]
                yield dict(zip(COLUMNS, [self.programs[number]["task"], *counts, *flags], strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON."""
        return {
            "becalm": VERSION, "schema": SCHEMA, "kind": "sweetspots", "sentence": self.sentence,
            "source": self.source, "events": self.events, "unit": self.unit, "rules": self.rules,
            "miss_ratio": self.miss_ratio, "kinds": list(self.kinds), **self.found,
            "windows": list(self.windows()),
        }  # fmt: skip

    def to_csv(self) -> str:
        """Return a row a window."""
        return table_text([COLUMNS, *([int(window[name]) for name in COLUMNS] for window in self.windows())])

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the same by column."""
        rows = list(self.windows())
        return {name: [row[name] for row in rows] for name in COLUMNS}

    def to_log(self, program: int = 0) -> str:
        """Return the thesis's log of one program."""
        marks = [mark["time_ns"] for mark in self.found["marks"] if mark["program"] == program]
        seen = self.programs[program]
        return thesis_log.written(seen["task"], self.windows(program), marks, seen["ended"])

    def to_trace(self) -> dict[str, Any]:
        """Return the JSON that Perfetto reads: a counter of the ratio for each task, states as slices, spots as
        instants."""
        events: list[dict[str, Any]] = []
        for number, seen in enumerate(self.programs):
            task = seen["task"]
            row = {"pid": 1, "tid": task}
            events.append({"ph": "M", "name": "thread_name", **row, "args": {"name": f"task {self.label(number)}"}})
            for window in self.windows(number):
                if window["references"] and window["known"]:
                    share = ratio(window["references"], window["misses"])
                    event = {"ph": "C", "name": f"miss ratio of {self.label(number)}", "ts": window["from_ns"] / 1000}
                    events.append({**row, **event, "args": {"ratio": share}})
        for state in self.found["states"]:
            start, end = state["from_ns"] / 1000, state["until_ns"] / 1000
            row = {"pid": 1, "tid": self.programs[state["program"]]["task"]}
            name = "evicted" if state["kind"] == 2 else "misses more"
            events.append({"ph": "X", "name": name, **row, "ts": start, "dur": end - start})
        for spot in self.spots:
            row = {"pid": 1, "tid": self.programs[spot["program"]]["task"]}
            name = f"sweet spot, type {spot['kind']}"
            events.append({"ph": "i", "s": "t", "name": name, **row, "ts": spot["time_ns"] / 1000})
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"events": self.events, "unit": self.unit}}
