"""The protocol of search and measuring: a method asks, receives measurements, and ends with its choice.

A method is a generator function: `method(space, rule, rng)` yields an Ask, is sent one Sample for each of its arms,
and returns a Choice. It knows neither host nor store nor clock, and its random numbers come from `rng` alone; so a
search is a function of seed and history, and resuming one is running its generator again over the stored samples
(`SearchRun`). Where its time ends first, `TimeOver` is raised where it asked; a method that catches it ends with a
choice of its own. `becalm.tuning.trial_log` turns an Ask into blocks of steps; `becalm.methods` has the table of
methods.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from becalm.nouns.objective import find
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats

NO_SETTINGS = Settings()
"""The machine as it is."""

STOPPED = "The time for the search was over before its end: this is what it had found by then."


@dataclass(frozen=True, slots=True)
class TrialDesign:
    """The measurement of a trial, and the end of a search. A trial is `loops` times `runs` runs after `warmups` loops.

    `warmups` None: after a single run.
    `objective`: what is made small, a name of `nouns.objective`. `threshold`: stop when it is at most this.
    `most_runs`: a search must not ask for more runs than this in all; None for no limit. `resolution`: what
    differs by less than this share is not told apart by a search (`margin` of the options is about the confirmation).
    """

    loops: int = 3
    runs: int = 15
    warmups: int | None = 1
    objective: str = "cv"
    threshold: float = 0.0
    most_runs: int | None = None
    resolution: float = 0.1

    @property
    def warmup_runs(self) -> int:
        """Runs of a trial that are not counted."""
        return 1 if self.warmups is None else self.warmups * self.runs

    @property
    def cost(self) -> int:
        """Runs of one trial, those that are not counted included."""
        return self.loops * self.runs + self.warmup_runs


@dataclass(frozen=True, slots=True)
class Ask:
    """Measure these settings: in each of `loops` loops every arm in random order, `runs` runs in a row each.

    `warmups`: uncounted runs of each arm before its counted ones, in its first loop only. `why`: what the method wants
    to know, for the progress display and the report. `best`: what it would choose if measuring ended before the answer.
    `boots`: each loop on boots of its own, where arms need different ones: what a boot does by itself (where memory
    lies) then differs from loop to loop, like everything else that is told apart by comparing loops. `block`: asks of
    one block of a design have the same number; None: it is a block of its own.
    """

    arms: tuple[Settings, ...]
    loops: int
    runs: int
    warmups: int
    why: str
    best: Settings = NO_SETTINGS
    boots: bool = False
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of one arm of an Ask: wall times in ns of its counted good runs, one array a loop.

    With a metric `loops` are its values instead, smaller ones better, and `wall_ns` the times of the same runs.
    `failed` counts runs that did not end well. An arm with any failed run is a failed trial, never a good one.
    `ended_ns`: how long those of them took that were ended early because they were slow, wall time in ns: at least so
    long, and no value. `refused`: the machine did not take the settings (any more): it counts as failed for that, and
    no run need have.
    """

    settings: Settings
    loops: tuple[Floats, ...]
    failed: int = 0
    wall_ns: tuple[Floats, ...] = ()
    ended_ns: tuple[int, ...] = ()
    refused: bool = False

    @property
    def slow(self) -> bool:
        """Whether it failed for nothing but that a run was ended early."""
        return bool(self.ended_ns) and len(self.ended_ns) == self.failed

    @property
    def times(self) -> tuple[Floats, ...]:
        """Wall times in ns, whatever is measured."""
        return self.wall_ns or self.loops

    def joined(self, other: Sample) -> Sample:
        """Return the loops of both, of the same settings."""
        return Sample(
            self.settings,
            self.loops + other.loops,
            self.failed + other.failed,
            self.wall_ns + other.wall_ns,
            self.ended_ns + other.ended_ns,
            self.refused or other.refused,
        )

    def value(self, objective: str = "cv") -> float:
        """Return the value of an objective over all loops; infinite for a failed trial."""
        row = find(objective)
        if self.failed or not self.loops or min(len(loop) for loop in self.loops) < row.fewest:
            return float("inf")
        return row.pooled(row.values(self.loops))


@dataclass(frozen=True, slots=True)
class Choice:
    """The end of a search. `why`: a sentence on how it was chosen and what it rests on."""

    settings: Settings
    why: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """The requests of a search where all settings are alike. `controls`: counted runs of the machine as it is."""

    runs: int
    controls: int


class TimeOver(Exception):
    """An exception raised in a method where it asked, when its time is over: it ends with what it knows."""


SearchGenerator = Generator[Ask, Sequence[Sample], Choice]
Method = Callable[[Space, TrialDesign, np.random.Generator], SearchGenerator]


@dataclass(slots=True)
class SearchRun:
    """A search in progress: `ask` is what to measure next, None when `choice` is made."""

    method: Method
    space: Space
    rule: TrialDesign
    seed: int
    ask: Ask | None = field(init=False, default=None)
    choice: Choice | None = field(init=False, default=None)
    _running: SearchGenerator = field(init=False)

    def __post_init__(self) -> None:
        self._running = self.method(self.space, self.rule, np.random.default_rng(self.seed))
        self._advance(None)

    def tell(self, samples: Sequence[Sample]) -> None:
        """Answer the present `ask`, one Sample for each arm in order."""
        assert self.ask is not None
        assert len(samples) == len(self.ask.arms)
        self._advance(samples)

    def stop(self) -> None:
        """End the search before its end: with the method's choice, else with what it would choose now."""
        assert self.ask is not None
        best, self.ask = self.ask.best, None
        try:
            self._running.throw(TimeOver())
            raise AssertionError("a method went on asking after its time was over")
        except StopIteration as end:
            self.choice = end.value
        except TimeOver:
            self.choice = Choice(best, STOPPED)

    def _advance(self, samples: Sequence[Sample] | None) -> None:
        try:
            self.ask = next(self._running) if samples is None else self._running.send(samples)
        except StopIteration as end:
            self.ask, self.choice = None, end.value
