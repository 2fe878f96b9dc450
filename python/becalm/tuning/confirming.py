"""The state of a confirmation: its subject, the time left for it, and the measurement and evaluation of its arms.

`becalm.tuning.confirm` and `becalm.tuning.together` decide which arms are measured, and in which order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.analysis import tune_confirmation
from becalm.methods.protocol import NO_SETTINGS, Ask, Sample
from becalm.nouns.objective import TIME, find
from becalm.nouns.options.tune import CONFIRM_RUNS, TuneOptions
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.results.tune_arms import BASELINE, RECOMMENDED, TUNED, WITHOUT
from becalm.tuning.exchange import PhaseRequest, PhaseResult, SearchResult, count_runs

FEWEST_LOOPS = 4
"""The smallest number of loops of a confirmation; fewer would show nothing with certainty."""

FEWEST_TIMED = 6
"""The smallest number of loops for mean times: with four, Student's interval is wide however little they scatter."""

PLANNED_TIMED = 8
"""The planned number of loops for mean times if time is short, since runs may turn out longer than expected."""

ROOMY = 6
"""The multiple of the loops with known lists for which there must be time, so that the lists are measured first."""

FEWEST_RUNS = 2
"""The smallest number of runs of a loop."""

Z = 1.96
"""The two-sided 95 % quantile of a normal distribution."""

MOST_LOOPS = 60
"""The largest number of loops of a confirmation: enough to show a margin of a quarter with five runs in a loop."""

BOOT_RUNS = 30
"""The largest number of runs in a loop if a boot takes longer than they do."""

BOOT_LOOPS = 10
"""The largest number of loops with boots; they have twice as many runs, because boots are what costs time."""


class Shape(msgspec.Struct, frozen=True):
    """The size of a confirmation: `loops` of `runs` runs of each arm; with `boots` each loop has boots of its own."""

    loops: int
    runs: int
    boots: bool = False


@dataclass(slots=True)
class ConfirmationRun:
    """A confirmation: its subject, and `left_ns`, the time that is left for it, ns; None without a budget.

    `least_loops`: the number of loops that showed the choice to help. `runs`: the runs of a loop. `samples`: the last
    measurements by arm, one sample for each program.
    """

    space: Space
    options: TuneOptions
    programs: Sequence[str]
    tuned: SearchResult
    run_ns: float
    left_ns: float | None
    least_loops: int = 0
    runs: int = field(init=False)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    reported: dict[str, list[Sample]] = field(default_factory=dict)
    """The samples of the reported comparisons, by arm."""

    def __post_init__(self) -> None:
        self.runs = self.options.confirming(self.run_ns / len(self.programs))

    @property
    def requires(self) -> dict[str, tuple[str, ...]]:
        """The knobs that each knob requires."""
        return {candidate.knob: candidate.requires for candidate in self.space.candidates}

    def without(self, knobs: Sequence[str]) -> Settings:
        """Return the chosen settings without some knobs, and without those that require these."""
        return tune_confirmation.without(self.tuned.choice.settings, knobs, self.requires)

    def measure(
        self, arms: Mapping[str, Settings], shape: Shape, why: str, *, more: bool = False
    ) -> Generator[PhaseRequest, PhaseResult, tune_confirmation.Confirmation]:
        """Yield fresh runs of these arms and return their confirmation. `more`: together with the previous runs."""
        ask = Ask(tuple(arms.values()), shape.loops, shape.runs, 1, why, arms[TUNED], shape.boots)
        gained = yield PhaseRequest(ask, "confirm", within_ns=self.left_ns, fewest=FEWEST_LOOPS)
        self.tuned.confirm_runs += count_runs(gained)
        if self.left_ns is not None:
            self.left_ns -= gained.took_ns
            loops = max((len(sample.loops) for sample in gained.samples[0]), default=0)
            if loops and not shape.boots:
                # The machine may have become slower.
                self.run_ns = max(self.run_ns, gained.took_ns / (len(arms) * (loops * shape.runs + 1)))
        by_arm = {name: [samples[index] for samples in gained.samples] for index, name in enumerate(arms)}
        if more:
            by_arm = {
                name: [old.join(sample) for old, sample in zip(self.samples[name], new, strict=True)]
                for name, new in by_arm.items()
            }
        self.samples = by_arm
        return self.judge(self.options.confidence)

    def judge(self, confidence: float) -> tune_confirmation.Confirmation:
        """Return the confirmation by the last measured runs, with intervals of this confidence."""
        options = self.options
        return tune_confirmation.judge(
            self.samples,
            self.programs,
            objective=options.objective,
            metric=options.metric,
            confidence=confidence,
            margin=options.margin,
        )

    def without_lists(self, arms: dict[str, Settings]) -> dict[str, Settings]:
        """Return the choice and the baseline if time is limited, which are measured before known lists and parts."""
        limited = self.left_ns is not None and find(self.options.objective) is not TIME
        if not limited or self.options.allowed.tried or self.shape(arms).boots:
            return arms
        return {name: settings for name, settings in arms.items() if name in (BASELINE, TUNED)}

    def whole_first(self, arms: dict[str, Settings]) -> dict[str, Settings]:
        """Return the arms that are measured first: the choice, the baseline, and the known lists.

        These show whether the choice helps and whether a list is better; only then are single settings measured. If
        time is short the lists come later, too, because a choice with a small effect takes many loops.
        """
        options = self.options
        if options.allowed.tried or find(options.objective) is TIME:
            return arms
        first = {name: settings for name, settings in arms.items() if not name.startswith(WITHOUT)}
        shape = self.shape(first)
        left = self.loops_left(first, shape)
        return first if left is None or left >= ROOMY * shape.loops else self.without_lists(arms)

    def affordable(self, arms: dict[str, Settings]) -> tuple[dict[str, Settings], Shape]:
        """Return the arms that the time allows, the choice and the baseline in any case, and their shape."""
        shape = self.shape(arms)
        if self.left_ns is None:
            return arms, shape
        dispensable = (
            lambda _: False,
            lambda name: name.startswith(WITHOUT),
            lambda name: name not in (BASELINE, TUNED),
        )
        loops = 0
        for may_go in dispensable:
            arms = {name: settings for name, settings in arms.items() if not may_go(name)}
            shape = self.shape(arms)
            loops = self.loops_left(arms, shape) or 0
            timed = find(self.options.objective) is TIME and not shape.boots
            if timed and loops < PLANNED_TIMED:
                shape = self._shorter(arms, shape, self.left_ns)
                loops = self.loops_left(arms, shape) or 0
            if loops >= (PLANNED_TIMED if timed else FEWEST_LOOPS):
                break
        return arms, replace(shape, loops=min(shape.loops, max(FEWEST_LOOPS, loops)))

    def _shorter(self, arms: Mapping[str, Settings], shape: Shape, left_ns: float) -> Shape:
        """Return a shape with fewer runs in a loop, if runs are long.

        The precision of a mean depends on the variance between loops, so six of two are better than two of five, in
        less time. That of a spread depends on the runs within a loop.
        """
        fit = int(left_ns / (PLANNED_TIMED * self.loop_ns(arms, replace(shape, runs=1))))
        return replace(shape, runs=min(shape.runs, max(FEWEST_RUNS, fit)))

    def shape(self, arms: Mapping[str, Settings]) -> Shape:
        """Return the shape for unlimited time: fewer, longer loops for arms that need several boots.

        A loop with boots has twice the usual number of runs, or more until half of its time is spent in runs.
        """
        options = self.options
        boots = len({self.space.at_boot(arm) for arm in arms.values()})
        if boots < 2:
            return Shape(max(self.enough(), self.least_loops), self.runs)
        even = int(np.ceil(boots * options.allowed.boot_ns / max(1.0, self.run_ns * len(arms))))
        runs = max(2 * (options.confirm_runs or CONFIRM_RUNS), min(BOOT_RUNS, even))
        return Shape(max(FEWEST_LOOPS, (options.confirm_loops + 1) // 2, self.least_loops), runs, True)

    def enough(self) -> int:
        """Return the loops of a confirmation: the requested number, or fewer if times hardly scatter.

        Jain 1991 (The Art of Computer Systems Performance Analysis, 13.9): n = (100 z s / (r x))^2 runs give a mean to
        r percent; here to a third of the gain that the search saw, for the difference of two means.
        """
        most, noise, gain = self.options.confirm_loops, self.tuned.noise, self.tuned.gain
        if not noise > 0 or not gain > 0:
            return most
        runs = 2 * (Z * noise / (gain / 3)) ** 2
        return min(most, max(min(most, FEWEST_TIMED), math.ceil(runs / self.runs)))

    def loop_ns(self, arms: Mapping[str, Settings], shape: Shape) -> float:
        """Return the time of one loop of these arms, with its boots, ns."""
        boots = len({self.space.at_boot(arm) for arm in arms.values()}) if shape.boots else 0
        return max(1.0, self.run_ns * shape.runs * len(arms) + boots * self.options.allowed.boot_ns)

    def loops_left(self, arms: Mapping[str, Settings], shape: Shape, after_ns: float = 0.0) -> int | None:
        """Return the number of loops that the time allows, keeping `after_ns` of it; None without a budget."""
        return None if self.left_ns is None else int((self.left_ns - after_ns) / self.loop_ns(arms, shape))

    def loops_before_fewer(self, arms: Mapping[str, Settings], shape: Shape) -> int | None:
        """Return the loops that leave time for confirming fewer settings afterwards; None without a budget."""
        after = {BASELINE: NO_SETTINGS, TUNED: self.tuned.choice.settings, RECOMMENDED: NO_SETTINGS}
        return self.loops_left(arms, shape, FEWEST_LOOPS * self.loop_ns(after | dict(self.space.profiles), shape))


Confirming = Generator[PhaseRequest, PhaseResult, None]


def with_contributions(
    first: tune_confirmation.Confirmation, again: tune_confirmation.Confirmation, instead: Collection[str]
) -> tune_confirmation.Confirmation:
    """Return a confirmation with the contributions of another one, and with the arms that it lacks.

    `instead`: the units whose own contributions are replaced.
    """
    known = {arm.name for arm in first.arms}
    measured = {arm.name for arm in again.arms if arm.name.startswith(WITHOUT) or arm.name not in known}
    return replace(
        first,
        arms=(
            *(arm for arm in first.arms if arm.name not in measured),
            *(arm for arm in again.arms if arm.name in measured),
        ),
        comparisons=(
            *(comparison for comparison in first.comparisons if comparison.arm not in measured),
            *(comparison for comparison in again.comparisons if comparison.arm in measured),
        ),
        contributions=(
            *(contribution for contribution in first.contributions if contribution.knob not in instead),
            *again.contributions,
        ),
        droppable=(*(unit for unit in first.droppable if unit not in instead), *again.droppable),
        spare=(*(unit for unit in first.spare if unit not in instead), *again.spare),
    )


def distinct(arms: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return arms without those equal to an earlier one, such as a profile without a setting of this machine."""
    result: dict[str, Settings] = {}
    for name, settings in arms.items():
        if settings not in result.values():
            result[name] = settings
    return result
