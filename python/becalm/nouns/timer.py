"""The values that `clock` returns: what each timer can show, at each distance of its code, and what the clock is worth.

The engine makes them (crates/becalm-core/src/clock); `becalm.analysis.timer_choice` says which timer is for what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from becalm._version import SCHEMA, VERSION
from becalm.nouns.codec import finite


@dataclass(frozen=True, slots=True)
class WorkLength:
    """A length of work: additions, the time they take, and the smallest and largest of repeated searches, in ns."""

    additions: int
    ns: float
    range_ns: tuple[float, float]

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> WorkLength | None:
        """As the engine tells it."""
        if value is None:
            return None
        low, high = value["range_ns"]
        return cls(value["additions"], value["ns"], (low, high))


@dataclass(frozen=True, slots=True)
class TimerCell:
    """One timer at one flush size.

    `unit`: of costs and quantum, "nanoseconds" or "cycles". `flush`: where code and timer come from, "L1" to "memory",
    after `flush_bytes` were written. `many`, `repetitions`, `fresh`, `pairs`: measurements of a set, searches, and what
    confirms them. `t_min`: the shortest work that varies by less than 1 %, or None and why; `t_diff`: the smallest
    difference that can be seen from there on; below the quantum it is known to be at most that. `area`, `error`: how
    well two lengths that differ by t_diff are told apart (area under the ROC curve, error of the best threshold).
    `raw_variation`, `cleaned_variation`, `removed`, `shift`: of a last set at t_min, the coefficient of variation
    before and after cleaning, the share that was taken out, and the shift between its halves; `again`: sets measured
    again since that share was above 1 %. `reference`: how often each value of that set was read, in ns or cycles.
    """

    timer: str
    meaning: str
    unit: str
    flush: str
    flush_bytes: int
    many: int
    repetitions: int
    fresh: int
    pairs: int
    smallest_cost: float
    median_cost: float
    quantum: float | None
    t_min: WorkLength | None
    no_t_min: str | None
    t_diff: WorkLength | None
    no_t_diff: str | None
    t_diff_below_quantum: bool
    area: float | None
    error: float | None
    raw_variation: float
    cleaned_variation: float
    removed: float
    shift: float
    again: int
    reference_additions: int
    reference: tuple[tuple[float, int], ...]
    context_switches: int
    steal_ns: int | None
    addition_ns: float
    elapsed_ns: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TimerCell:
        """As the engine tells it."""
        names = {each.name for each in fields(cls)}
        given = {name: each for name, each in value.items() if name in names}
        given["t_min"] = WorkLength.from_json(value["t_min"])
        given["t_diff"] = WorkLength.from_json(value["t_diff"])
        given["addition_ns"] = value["check"]["addition_ns"]
        counts = sorted((int(each), count) for each, count in value["reference"].items())
        given["reference"] = tuple((each / 1e3, count) for each, count in counts)
        return cls(**given)


@dataclass(frozen=True, slots=True)
class TimerAbsence:
    """A timer or a flush that is left out, and why."""

    timer: str | None
    flush: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """Whether a region of `wanted_ns` can be timed: `timer` is that of the shortest; None: none was measured."""

    wanted_ns: int
    timer: str | None
    t_min_ns: float | None

    @property
    def exit_code(self) -> int:
        """0 yes, 1 no, 3 not measurable here."""
        if self.t_min_ns is None:
            return 3
        return 0 if self.t_min_ns <= self.wanted_ns else 1


@dataclass(frozen=True, slots=True)
class ClockReport:
    """All that `clock` found. `trust`: the engine's statement; `doubts`: kinds of what speaks against it."""

    sentence: str
    trust: Mapping[str, Any]
    doubts: tuple[str, ...]
    cells: tuple[TimerCell, ...]
    absences: tuple[TimerAbsence, ...]
    check: ClockCheck | None = None
    interrupted: bool = False
    resumed: int = 0

    @property
    def exit_code(self) -> int:
        """That of the check; 0 without one."""
        return 0 if self.check is None else self.check.exit_code

    def to_json(self) -> dict[str, Any]:
        """The documented JSON form (docs/reference/json.md)."""
        cells = [{**asdict(each), "reference": [list(pair) for pair in each.reference]} for each in self.cells]
        value = {
            "sentence": self.sentence,
            "trust": dict(self.trust),
            "doubts": list(self.doubts),
            "cells": cells,
            "absences": [asdict(each) for each in self.absences],
            "check": None if self.check is None else {**asdict(self.check), "exit_code": self.check.exit_code},
            "interrupted": self.interrupted,
            "resumed": self.resumed,
        }
        return {"becalm": VERSION, "schema": SCHEMA, "kind": "clock", **finite(value)}
