"""The protocol of search and measuring: a method asks, receives measurements, and ends with its choice.

A method is a generator function: `method(space, rule, rng)` yields an Ask, is sent one Sample for each of its arms, and
returns a Choice. It has no access to host, store or clock, and its random numbers only come from `rng`. So a search is
a function of seed and history, and is resumed by running its generator again over the stored samples (`SearchRun`).
When the time of a search is over, `TimeOver` is raised at the present yield; a method that catches it ends with a
choice of its own. `becalm.tuning.trial_log` turns an Ask into blocks of steps; `becalm.methods` has the table of
methods.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from becalm.nouns.objective import find
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats

NO_SETTINGS = Settings()
"""The machine as it is."""

STOPPED = "The time ran out before the search had ended; this is the best that it had found."


class TrialDesign(msgspec.Struct, frozen=True):
    """The design of a search's trials, and its limits. A trial is `loops` times `runs` runs after `warmups` loops.

    - `warmups`: None for a single uncounted run
    - `objective`: the minimised objective, a name of `nouns.objective`
    - `threshold`: the value at which the search stops
    - `most_runs`: the largest number of runs in all; None for no limit
    - `resolution`: the share below which a search ignores differences (`margin` of the options is for the confirmation)
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
        """The number of uncounted runs of a trial."""
        return 1 if self.warmups is None else self.warmups * self.runs

    @property
    def cost(self) -> int:
        """The number of runs of a trial, uncounted ones included."""
        return self.loops * self.runs + self.warmup_runs


class Ask(msgspec.Struct, frozen=True):
    """A request to measure arms: in each of `loops` loops every arm in random order, `runs` runs in a row each.

    - `warmups`: uncounted runs of each arm before its counted ones, in its first loop only
    - `why`: the method's question, for the progress display and the report
    - `best`: its choice if measuring ended before the answer
    - `boots`: whether each loop has boots of its own if arms need different boots, so that the effect of a single boot
      (such as the layout of memory) varies between loops like other noise
    - `block`: the number that requests of one block of a design share; None for a block of its own
    """

    arms: tuple[Settings, ...]
    loops: int
    runs: int
    warmups: int
    why: str
    best: Settings = NO_SETTINGS
    boots: bool = False
    block: int | None = None


class Sample(msgspec.Struct, frozen=True):
    """The result of one arm of an Ask: wall times in ns of its counted good runs, one array for each loop.

    - `loops`: with a metric, its values instead of times, smaller ones better
    - `wall_ns`: with a metric, the times of the same runs
    - `failed`: the number of runs that did not end well; any such run makes a failed trial
    - `ended_ns`: the wall times of slow runs that were ended early, ns, which are lower bounds
    - `refused`: whether the machine refused the settings, which counts as a failed trial even without a failed run
    """

    settings: Settings
    loops: tuple[Floats, ...]
    failed: int = 0
    wall_ns: tuple[Floats, ...] = ()
    ended_ns: tuple[int, ...] = ()
    refused: bool = False

    @property
    def slow(self) -> bool:
        """Whether the trial only failed because slow runs were ended early."""
        return bool(self.ended_ns) and len(self.ended_ns) == self.failed

    @property
    def times(self) -> tuple[Floats, ...]:
        """The wall times in ns, also if a metric is measured."""
        return self.wall_ns or self.loops

    def join(self, other: Sample) -> Sample:
        """Return the sample with the loops of both, which have the same settings."""
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


class Choice(msgspec.Struct, frozen=True):
    """The result of a search. `why`: a sentence on the reason for the choice and its basis."""

    settings: Settings
    why: str


class Forecast(msgspec.Struct, frozen=True):
    """The runs that a search requests if all settings are alike. `controls`: counted runs of the machine as it is."""

    runs: int
    controls: int


class TimeOver(Exception):
    """An exception that is raised in a method at its yield when its time is over, so that it returns a choice."""


SearchGenerator = Generator[Ask, Sequence[Sample], Choice]
Method = Callable[[Space, TrialDesign, np.random.Generator], SearchGenerator]


@dataclass(slots=True)
class SearchRun:
    """A search in progress: `ask` is the present request, None once there is a `choice`."""

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
        """End the search early, with the method's choice or else the `best` of its present request."""
        assert self.ask is not None
        best, self.ask = self.ask.best, None
        try:
            self._running.throw(TimeOver())
            raise AssertionError("a method asked for runs after its time was over")
        except StopIteration as end:
            self.choice = end.value
        except TimeOver:
            self.choice = Choice(best, STOPPED)

    def _advance(self, samples: Sequence[Sample] | None) -> None:
        try:
            self.ask = next(self._running) if samples is None else self._running.send(samples)
        except StopIteration as end:
            self.ask, self.choice = None, end.value
