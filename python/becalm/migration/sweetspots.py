"""The result Spotted: the sweet spots in a stream, with everything that decided them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from becalm.files.cells import table_text
from becalm.migration import thesis_log
from becalm.migration.kinds import ALL
from becalm.nouns.result import Result

COLUMNS = (
    "task", "from_ns", "until_ns", "references", "misses", "others_references", "others_misses", "known", "last",
    "own_high", "others_high", "change", "evicted",
)  # fmt: skip
"""The columns of a window, with times in `unit` and counts of `events`."""


def ratio(references: float, misses: float) -> float:
    """Return misses per reference, at most 1, and 0 without references. The two counters of a group are read one after
    the other, so that with few references the second may have counted one more."""
    return min(1.0, misses / references) if references else 0.0


class Spotted(Result, frozen=True):
    """The sweet spots of a stream.

    - `detection`: the engine's answer (crates/becalm-sim/src/spots/detect.rs), with every threshold in its `question`
    - `events`: the counted events
    - `unit`: the unit of times
    - `rules`: the name of the rules
    - `miss_ratio`: whether misses and references are those of a cache, and not of page faults or pages
    - `kinds`: the types of sweet spots that the counts can show
    """

    KIND = "sweetspots"
    OMITTED = ("detection",)

    source: str
    events: str
    unit: str
    rules: str
    detection: Mapping[str, Any]
    sentence: str = ""
    miss_ratio: bool = True
    kinds: tuple[int, ...] = ALL

    @property
    def programs(self) -> list[dict[str, Any]]:
        """The observed programs: task, process, name if known, own counts and those of others."""
        return list(self.detection["programs"])

    def label(self, number: int) -> str:
        """Return a program's name, if the source knows it, and its task."""
        seen = self.programs[number]
        return f"{seen['name']} ({seen['task']})" if seen.get("name") else f"{seen['task']}"

    @property
    def spots(self) -> list[dict[str, Any]]:
        """The sweet spots in order of time: program, kind (0, 1, 2), time, counts, threshold."""
        return sorted(self.detection["spots"], key=lambda spot: spot["time_ns"])

    @property
    def start_ns(self) -> int:
        """The origin of times, ns: the start of a recording with times of a clock, else 0."""
        return int(self.detection["from_ns"]) if self.source in ("perf", "live", "records") else 0

    @property
    def move(self) -> dict[str, Any] | None:
        """The move that was made during the recording, or the reason why not; None if none was requested."""
        move = self.detection.get("move")
        return None if move is None else dict(move)

    def windows(self, program: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield windows as dictionaries, with each mark as a boolean."""
        for number, *counts, marks in self.detection.get("windows", ()):
            if program is None or number == program:
                flags = [bool(marks >> bit & 1) for bit in range(6)]
                yield dict(zip(COLUMNS, [self.programs[number]["task"], *counts, *flags], strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with the members of the engine's answer."""
        return {**super().to_json(), **self.detection, "windows": list(self.windows())}

    def to_csv(self) -> str:
        """Return CSV with a row for each window."""
        return table_text([COLUMNS, *([int(window[name]) for name in COLUMNS] for window in self.windows())])

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the windows by column."""
        rows = list(self.windows())
        return {name: [row[name] for row in rows] for name in COLUMNS}

    def to_log(self, program: int = 0) -> str:
        """Return a log of the thesis for one program."""
        marks = [mark["time_ns"] for mark in self.detection["marks"] if mark["program"] == program]
        seen = self.programs[program]
        return thesis_log.written(seen["task"], self.windows(program), marks, seen["ended"])

    def to_trace(self) -> dict[str, Any]:
        """Return a trace for Perfetto, as JSON: the ratio of each task as a counter, states as slices, sweet spots as
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
        for state in self.detection["states"]:
            start, end = state["from_ns"] / 1000, state["until_ns"] / 1000
            row = {"pid": 1, "tid": self.programs[state["program"]]["task"]}
            name = "evicted" if state["kind"] == 2 else "misses more"
            events.append({"ph": "X", "name": name, **row, "ts": start, "dur": end - start})
        for spot in self.spots:
            row = {"pid": 1, "tid": self.programs[spot["program"]]["task"]}
            name = f"sweet spot, type {spot['kind']}"
            events.append({"ph": "i", "s": "t", "name": name, **row, "ts": spot["time_ns"] / 1000})
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"events": self.events, "unit": self.unit}}
