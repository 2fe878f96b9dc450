"""The values of `clock`: the resolution of each timer at each distance of its code, and the quality of the clock.

The engine makes them (crates/becalm-core/src/clock); `becalm.analysis.clock_choice` chooses a timer for each purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from becalm.nouns.codec import decode
from becalm.nouns.result import Result


class WorkLength(msgspec.Struct, frozen=True):
    """A length of work from repeated searches: the additions and time of the smallest result, and the median, smallest
    and largest time, in ns.

    `confirmed`: measurements of the fresh sets that confirm the smallest result; `value`: their coefficient of
    variation (t_min) or share of overlap (t_diff); `null`: the share of overlap of two sets of one length (t_diff).
    """

    additions: int
    ns: float
    range_ns: tuple[float, float]
    typical_ns: float
    confirmed: int
    value: float
    null: float | None


class TimerCell(msgspec.Struct, frozen=True):
    """A timer at one flush size.

    - `unit`: the unit of costs and quantum, "nanoseconds" or "cycles"
    - `flush`: the place from which code and timer come, "L1" to "memory", after `flush_bytes` were written
    - `many`, `repetitions`, `fresh`, `pairs`: the numbers of measurements in a set, of searches, and of confirmations
    - `t_min`: the shortest work that varies by less than 1 %, or None and the reason
    - `t_diff`: the smallest difference that can be seen from that length on; below the quantum, t_diff is at most that
    - `area`, `error`: how well two lengths that differ by t_diff are told apart (area under the ROC curve, error of the
      best threshold)
    - `raw_variation`, `cleaned_variation`, `removed`, `shift`: for a last set at t_min, the coefficient of variation
      before and after cleaning, the share that was removed, and the shift between its halves
    - `again`: the number of sets measured again because that share was above 1 %
    - `reference`: how often each value of that set was read, in ns or cycles
    - `quantum_binds`: whether t_min is that of the counter's step
    - `tries`: the number of searches, of which `repetitions` had an answer
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
    quantum_binds: bool
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
    tries: int = 1

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> TimerCell:
        """Return the value for the engine's form."""
        counts = sorted((int(picoseconds), count) for picoseconds, count in value["reference"].items())
        reference = [(picoseconds / 1e3, count) for picoseconds, count in counts]
        return decode(cls, {**value, "addition_ns": value["check"]["addition_ns"], "reference": reference})

    @property
    def reason(self) -> str:
        """The reason why there is no t_min, or no t_diff; empty where there are both."""
        return self.no_t_min or self.no_t_diff or ""


class TimerAbsence(msgspec.Struct, frozen=True):
    """A timer or a flush size that is left out, with the reason."""

    timer: str | None
    flush: str | None
    reason: str


class ClockCheck(msgspec.Struct, frozen=True):
    """The answer to whether a region of `wanted_ns` can be timed. `timer`: the one with the smallest median t_min; None
    where no timer was measured.
    """

    DERIVED = ("exit_code",)

    wanted_ns: int
    timer: str | None
    t_min_ns: float | None

    @property
    def exit_code(self) -> int:
        """The exit code: 0 yes, 1 no, 3 not measurable here."""
        if self.t_min_ns is None:
            return 3
        return 0 if self.t_min_ns <= self.wanted_ns else 1


class ClockReport(Result, frozen=True):
    """The result of `clock`.

    - `trust`: the engine's verdict on the clock; `doubts`: the kinds of reasons against it
    - `emulated`: the reason why times are not those of a real processor; empty where they are
    """

    KIND = "clock"

    sentence: str
    trust: Mapping[str, Any]
    doubts: tuple[str, ...]
    cells: tuple[TimerCell, ...]
    absences: tuple[TimerAbsence, ...]
    check: ClockCheck | None = None
    interrupted: bool = False
    resumed: int = 0
    host: str = "local"
    emulated: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code of the check, 0 without one; 130 when an interruption left no answer."""
        if self.interrupted and (not self.cells if self.check is None else self.check.t_min_ns is None):
            return 130
        return 0 if self.check is None else self.check.exit_code

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ClockReport:
        """Return the report that `to_json` wrote, without the check. Raises KeyError, TypeError or ValueError for
        another value."""
        if value["kind"] != "clock":
            raise ValueError("not an evaluation of timers")
        return decode(cls, {**value, "check": None})


class FoundPair(msgspec.Struct, frozen=True):
    """A figure (t_min or t_diff, ns) of a timer at a flush in two evaluations, None where an evaluation has none.

    `differs`: whether the ranges of their repetitions are apart, and by more than a tenth.
    """

    DERIVED = ("ratio",)

    timer: str
    flush: str
    figure: str
    first: WorkLength | None
    second: WorkLength | None
    differs: bool | None

    @property
    def ratio(self) -> float | None:
        """The second over the first."""
        if self.first is None or self.second is None or self.first.ns == 0:
            return None
        return self.second.ns / self.first.ns


class ClockComparison(Result, frozen=True):
    """The comparison of two evaluations: of two machines, or of one machine at two times."""

    KIND = "clock comparison"

    sentence: str
    names: tuple[str, str]
    trusts: tuple[Mapping[str, Any], Mapping[str, Any]]
    pairs: tuple[FoundPair, ...]

    exit_code = 0
