"""The result PlacementAdvice: a placement of programs, its gain with the uncertainty, and the data behind it.

A gain is the difference between two placements, with its noise. `becalm place` makes the advice and prints it as JSON
for schedulers of clusters (docs/reference/placement.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.nouns.codec import Json, decode
from becalm.nouns.result import Result
from becalm.results.place_costs import Chip, CostOrigin, PlacementObjective

SURE = 2.0
"""The multiple of its noise below which a gain is not established."""


class SharingShape(StrEnum):
    """The meaning of a set of the sharing: the tasks of a chip, or the tasks of one of several successive rounds."""

    CHIPS = "chips"
    ROUNDS = "rounds"


class Gain(msgspec.Struct, frozen=True):
    """The gain of the best sharing over another: on chips a difference of mean costs, a share of speed; in rounds the
    saved share of the total time.

    `noise`: its standard error. `low`, `high`: the ends of its 95 % interval. All three are None where costs have no
    errors, or too few rounds were measured. `parts`: the number of parts of the measurement, each of which evaluates
    the choice of the others.
    """

    estimate: float
    noise: float | None = None
    low: float | None = None
    high: float | None = None
    parts: int = 0

    @property
    def found(self) -> bool:
        """Whether there is a gain: above twice the noise, with an interval above zero; False without a noise."""
        if self.noise is None or self.low is None:
            return False
        return self.estimate > SURE * self.noise and self.low > 0


class TogetherCost(msgspec.Struct, frozen=True):
    """Two programs, and the share of its speed that each loses in a co-run. `error`: of the sum, where known."""

    first: str
    second: str
    of_first: float
    of_second: float
    error: float | None = None

    @property
    def both(self) -> float:
        """The loss of both together."""
        return self.of_first + self.of_second


class PlacementAdvice(Result, frozen=True):
    """The recommended sharing: the tasks of each chip, or of each round.

    - `sharing`: names, by chip in the order of `chips`, or by round
    - `cost`: on chips the mean of `objective`; in rounds the seconds until all have ended
    - `alone_s`: in rounds, the time of all tasks one after the other
    - `bound`: the proved lower bound of the cost, if known
    - `commands`: the command lines by name, if known
    - `over_random`, `over_worst`: the gains
    - `costliest`: pairs, the costliest first
    - `unmeasured`: pairs without a measurement, of which `resting_on` are together in this sharing
    - `could_change`: the possible reduction of the cost if unmeasured pairs cost nothing
    - `warnings`: sentences about the machine and the measurement
    """

    KIND = "placement-advice"
    DERIVED = ("gap", "gain_found", "cpus")

    source: str
    shape: SharingShape
    chips: tuple[Chip, ...]
    sharing: tuple[tuple[str, ...], ...]
    method: str
    objective: PlacementObjective
    origin: CostOrigin
    cost: float
    degradation: Mapping[str, float]
    commands: Mapping[str, tuple[str, ...]]
    over_random: Gain
    over_worst: Gain
    machine: Mapping[str, str]
    bound: float | None = None
    out_of_time: bool = False
    alone_s: float | None = None
    costliest: tuple[TogetherCost, ...] = ()
    unmeasured: tuple[tuple[str, str], ...] = ()
    resting_on: tuple[tuple[str, str], ...] = ()
    could_change: float = 0.0
    warnings: tuple[str, ...] = ()
    sentence: str = ""

    @property
    def gap(self) -> float | None:
        """The largest possible distance from the optimum, as a share of the cost; 0 is proved to be optimal."""
        if self.bound is None:
            return None
        return max(0.0, self.cost - self.bound) / self.cost if self.cost > 0 else 0.0

    @property
    def gain_found(self) -> bool:
        """Whether there is a gain over random sharings."""
        return self.over_random.found

    @property
    def cpus(self) -> dict[str, tuple[int, ...]]:
        """The CPUs of each task's chips, by name."""
        return {name: self.cpus_of(name) for name in self.degradation}

    def together(self, name: str, other: str) -> bool:
        """Return whether two tasks share a chip or a round."""
        return any(name in names and other in names for names in self.sharing)

    def cpus_of(self, name: str) -> tuple[int, ...]:
        """Return the CPUs of a task's chips; all CPUs in rounds. Raises UsageError for a task that is on no chip."""
        if self.shape is SharingShape.ROUNDS:
            return self.chips[0].cpus
        cpus_of_chips = [chip.cpus for chip, names in zip(self.chips, self.sharing, strict=True) if name in names]
        if not cpus_of_chips:
            raise UsageError(f"{name} is none of the programs that were placed: {', '.join(self.degradation)}.")
        return tuple(sorted(cpu for cpus in cpus_of_chips for cpu in cpus))

    def saying(self, sentence: str) -> PlacementAdvice:
        """Return the advice with its sentence."""
        return replace(self, sentence=sentence)

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> PlacementAdvice:
        """Return the advice that `to_json` wrote. Raises TypeError or ValueError with the place."""
        return decode(cls, value)
