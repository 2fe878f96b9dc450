"""The result CoRunProfile: the measured loss of programs in co-runs on CPUs that share a cache.

ProfiledProgram has a program's runs alone, CoRun its runs next to others, each a TimedRun or a FailedRun; LeftOut is a
set that was not measured. `CoRunProfile.degradation` compares runs of the same round, so that a slow phase of the
machine affects both; `costs` and `tasks` are the input of `becalm.placement`.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from becalm.errors import UsageError
from becalm.nouns.codec import Json, decode
from becalm.nouns.result import Result
from becalm.nouns.workload import Workload
from becalm.results.place_costs import NOISE, Chip, CoRunCosts, CostOrigin, PairCost, PlacementObjective, SetCosts, Task
from becalm.stats.paired import RepeatedPairs
from becalm.stats.student import stdtrit

ALPHA = 0.05
"""The probability of error of an interval: intervals are at 95 %."""

ALL = 0.999
"""The largest degradation in `costs`: at 1, a program would never end."""

NO_ERROR = 0.5
"""The standard error of a cost from a single round, where it is unknown."""


class TimedRun(msgspec.Struct, frozen=True):
    """A run: seconds, the round that it belongs to, and its position among all runs of the measurement, from 0."""

    round: int
    position: int
    seconds: float

    def __post_init__(self) -> None:
        """Raise UsageError for an impossible round, position or time."""
        if self.round < 0 or self.position < 0:
            raise UsageError(f"A run has the round {self.round} and the position {self.position}. Both count from 0.")
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise UsageError(f"A run of round {self.round} took {self.seconds:g} s. A time is a number above 0.")


class FailedRun(msgspec.Struct, frozen=True):
    """A run that failed, with the reason in a sentence."""

    round: int
    position: int
    reason: str


class Counted(msgspec.Struct, frozen=True):
    """The processor's counts of a run alone, the median of several runs: events, and `misses` of the last cache."""

    cycles: float
    instructions: float
    misses: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for impossible counts."""
        for what, value in (("cycles", self.cycles), ("instructions", self.instructions), ("misses", self.misses)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise UsageError(f"The number of {what} is {value:g}. It is a number from 0.")

    @property
    def cpi(self) -> float | None:
        """Cycles per instruction."""
        return self.cycles / self.instructions if self.instructions > 0 and self.cycles > 0 else None

    @property
    def misses_per_thousand(self) -> float | None:
        """Misses of the last cache per 1,000 instructions."""
        return None if self.misses is None or self.instructions <= 0 else 1000 * self.misses / self.instructions


class ProfiledProgram(msgspec.Struct, frozen=True):
    """A program with its runs alone. `counted`: its counts, where the machine has counters."""

    name: str
    workload: Workload
    alone: tuple[TimedRun, ...] = ()
    failed: tuple[FailedRun, ...] = ()
    counted: Counted | None = None

    @property
    def solo_s(self) -> float | None:
        """The median time alone, s; None when it never ended well."""
        return statistics.median(run.seconds for run in self.alone) if self.alone else None


class CoRun(msgspec.Struct, frozen=True):
    """A program next to others that were kept running all the while.

    Each neighbour ran on a core of its own, or, with `same_core`, on the other thread of the program's core.
    `restarts`: how often neighbours ended and were started again, over all runs; `trouble`: sentences about their
    failures; `unsteady`: neighbours that hardly ran, so that the run does not show their pressure.
    """

    program: str
    alongside: tuple[str, ...]
    runs: tuple[TimedRun, ...] = ()
    failed: tuple[FailedRun, ...] = ()
    restarts: int = 0
    trouble: tuple[str, ...] = ()
    same_core: bool = False
    unsteady: tuple[str, ...] = ()


class LeftOut(msgspec.Struct, frozen=True):
    """Programs that were not measured together, in their order, with the reason in a few words; `same_core`: whether on
    one core."""

    programs: tuple[str, ...]
    reason: str
    same_core: bool = False


class Degradation(msgspec.Struct, frozen=True):
    """The loss of a program next to others: 1 - alone/alongside in time, with standard error and 95 % interval.

    `error` is None and the interval is unbounded where only one round was measured. `rounds`: the number of rounds with
    both runs.
    """

    program: str
    alongside: tuple[str, ...]
    cost: float
    error: float | None
    low: float
    high: float
    rounds: int
    same_core: bool = False

    @property
    def faster(self) -> bool:
        """Whether it ran faster next to its neighbours by more than noise, which a cost cannot express."""
        return self.error is not None and self.cost < -NOISE * self.error


class CoRunProfile(Result, frozen=True, dict=True):
    """Programs measured alone and next to each other.

    - `machine`: hostname and cpu, as in settings profiles
    - `chips`: the CPUs that share each last cache
    - `cpu`: the CPU of the timed program; `alongside_cpus`: the CPUs of its neighbours, in their order
    - `waited`: the share of their time in which the timed programs waited for their CPU; None where unknown
    - `sentence`, `remarks`: the result in words
    - `study`: its number in the store
    """

    KIND = "co_run_profile"
    DERIVED = ("degradations",)

    machine: Mapping[str, str]
    chips: tuple[Chip, ...]
    programs: tuple[ProfiledProgram, ...]
    co_runs: tuple[CoRun, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    cpu: int | None = None
    alongside_cpus: tuple[int, ...] = ()
    interrupted: bool = False
    waited: float | None = None
    sentence: str = ""
    remarks: tuple[str, ...] = ()
    study: int | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for a profile that contradicts itself."""
        if not self.programs:
            raise UsageError("The profile has no programs. Measure some with `becalm corun`.")
        if not self.chips:
            raise UsageError("The profile names no CPUs that share a cache.")
        names = [program.name for program in self.programs]
        _once(names, "Two programs of the profile are called {}. Give one of them another name.")
        for co_run in self.co_runs:
            _known((co_run.program, *co_run.alongside), names)
            if not co_run.alongside:
                raise UsageError(f"{co_run.program} is listed next to others, and none is named.")
            if co_run.program in co_run.alongside:
                raise UsageError(f"{co_run.program} is listed next to itself. A second copy has another name.")
            if len(set(co_run.alongside)) != len(co_run.alongside):
                raise UsageError(f"{co_run.program} is listed next to the same program twice.")
            _once_a_round(co_run.runs, co_run.program)
        _once(
            [
                " next to ".join((run.program, " and ".join(sorted(run.alongside)))) + run.same_core * " on one core"
                for run in self.co_runs
            ],
            "{} is in the profile twice. Leave one of them out.",
        )
        for program in self.programs:
            _once_a_round(program.alone, program.name)
        for left in self.left_out:
            _known(left.programs, names)

    def program(self, name: str) -> ProfiledProgram:
        """Return the program with a name. Raises KeyError."""
        return next(program for program in self.programs if program.name == name)

    @cached_property
    def degradations(self) -> tuple[Degradation, ...]:
        """The losses of each program next to others, in the order measured, where a round has both runs."""
        losses = (self._degradation(run) for run in self.co_runs)
        return tuple(loss for loss in losses if loss is not None)

    def degradation(self, program: str, alongside: Iterable[str]) -> Degradation | None:
        """Return the loss of a program next to others on other cores, in any order; None where it was not measured."""
        return self._degradations.get((program, tuple(sorted(alongside)), False))

    def on_one_core(self, program: str, alongside: str) -> Degradation | None:
        """Return the loss of a program next to another on the same core; None where it was not measured."""
        return self._degradations.get((program, (alongside,), True))

    @cached_property
    def _degradations(self) -> Mapping[tuple[str, tuple[str, ...], bool], Degradation]:
        return {
            (degradation.program, tuple(sorted(degradation.alongside)), degradation.same_core): degradation
            for degradation in self.degradations
        }

    def costs(self) -> CoRunCosts:
        """Return the costs of sharing, with standard errors: pairs as pairs, larger sets where all of their programs
        were timed.

        A program that ran faster next to others by more than noise costs nothing there, with the speed-up as its error.
        Raises UsageError when nothing was measured together.
        """
        pairs = tuple(
            PairCost(degradation.program, degradation.alongside[0], *_bounded(degradation))
            for degradation in self.degradations
            if len(degradation.alongside) == 1 and not degradation.same_core
        )
        return CoRunCosts(CostOrigin.MEASURED, tuple(self._sets()), pairs, tuple(self._siblings()))

    def tasks(self) -> tuple[Task, ...]:
        """Return the programs that ran alone, as tasks to be placed.

        The pressure is the misses of the last cache per 1,000 instructions where all programs have counters; otherwise
        the mean share of speed that its neighbours in pairs lost, None where it hardly ran next to any of them. The
        sensitivity is the mean slowdown next to one other program, less 1.
        """
        counted = all(program.counted and program.counted.misses_per_thousand is not None for program in self.programs)
        tasks = []
        for profiled in self.programs:
            if profiled.solo_s is None:
                continue
            apart = [d for d in self.degradations if len(d.alongside) == 1 and not d.same_core]
            suffered = [d for d in apart if d.program == profiled.name]
            hardly = {run.program for run in self.co_runs if profiled.name in run.unsteady and len(run.alongside) == 1}
            caused = [d for d in apart if d.alongside == (profiled.name,) and d.program not in hardly]
            mean = _mean(_bounded(d)[0] for d in caused)
            pressure = profiled.counted.misses_per_thousand if counted and profiled.counted else mean
            tasks.append(
                Task(
                    profiled.name,
                    profiled.solo_s,
                    pressure=None if pressure is None else max(0.0, pressure),
                    sensitivity=_mean(PlacementObjective.SLOWDOWN.of(max(0.0, _bounded(d)[0])) for d in suffered),
                    cpi=profiled.counted.cpi if profiled.counted else None,
                )
            )
        return tuple(tasks)

    def other_machine(self, machine: Mapping[str, str]) -> tuple[str, ...]:
        """Return which of `hostname` and `cpu` differ from this machine's; a missing one is ignored."""
        return tuple(key for key, value in self.machine.items() if key in machine and machine[key] != value)

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> CoRunProfile:
        """Return the profile that `to_json` wrote. Raises UsageError, TypeError or ValueError with the place."""
        return decode(cls, value)

    @classmethod
    def of_text(cls, text: str, where: str) -> CoRunProfile:
        """Return the profile in the text of a file, which `where` names. Raises UsageError."""
        try:
            value = json.loads(text)
            if not isinstance(value, dict) or value.get("kind") != cls.KIND:
                raise ValueError("it is not a profile of programs. `becalm corun --save FILE` writes one")
            return cls.from_json(value)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UsageError(f"{where} cannot be read: {error}.") from None

    def _degradation(self, co_run: CoRun) -> Degradation | None:
        alone = {run.round: run for run in self.program(co_run.program).alone}
        both = [(alone[run.round], run) for run in sorted(co_run.runs, key=_round) if run.round in alone]
        if not both:
            return None
        # Positions of runs made once in each round: other runs lie between them, so that they measure time.
        comparison = RepeatedPairs(ALPHA).look(
            [math.log(run.seconds) for run, _ in both],
            [math.log(other.seconds) for _, other in both],
            [run.position for run, _ in both],
            [other.position for _, other in both],
            1.0,
        )
        cost = -math.expm1(-comparison.estimate)
        if not math.isfinite(comparison.standard_error):
            return Degradation(
                co_run.program, co_run.alongside, cost, None, -math.inf, 1.0, len(both), co_run.same_core
            )
        low, high = comparison.low, comparison.high
        if not (math.isfinite(low) and math.isfinite(high)):
            # Too few rounds for coins to exclude anything: Student's interval is used, which assumes normal noise.
            reach = stdtrit(len(both) - 1.0, 1 - ALPHA / 2) * comparison.standard_error
            low, high = comparison.estimate - reach, comparison.estimate + reach
        error = math.exp(-comparison.estimate) * comparison.standard_error
        ends = (_degraded(low), _degraded(high))
        return Degradation(co_run.program, co_run.alongside, cost, error, *ends, len(both), co_run.same_core)

    def _siblings(self) -> Iterable[PairCost]:
        """Yield the additional loss of each program on one core over two, where both were measured; at least 0."""
        for together in self.degradations:
            apart = self.degradation(together.program, together.alongside) if together.same_core else None
            if apart is not None:
                (cost, error), (cost_apart, error_apart) = _bounded(together), _bounded(apart)
                yield PairCost(
                    together.program,
                    together.alongside[0],
                    min(ALL, max(0.0, cost - cost_apart)),
                    math.hypot(error, error_apart),
                )

    def _sets(self) -> Iterable[SetCosts]:
        by_set: dict[tuple[str, ...], dict[str, Degradation]] = {}
        for degradation in self.degradations:
            if len(degradation.alongside) > 1:
                by_set.setdefault(tuple(sorted((degradation.program, *degradation.alongside))), {})[
                    degradation.program
                ] = degradation
        for names, by_program in by_set.items():
            if len(by_program) == len(names):
                both = [_bounded(by_program[name]) for name in names]
                yield SetCosts(names, tuple(cost for cost, _ in both), tuple(error for _, error in both))


def from_json(value: Mapping[str, Json]) -> CoRunProfile:
    """Return a stored profile. Raises UsageError, TypeError or ValueError with the place."""
    return CoRunProfile.from_json(value)


def _bounded(degradation: Degradation) -> tuple[float, float]:
    """Return cost and standard error within the limits of `CoRunCosts`."""
    if degradation.faster:
        return 0.0, abs(degradation.cost)
    error = NO_ERROR if degradation.error is None else degradation.error
    return min(ALL, max(-NOISE * error, degradation.cost)), error


def _degraded(log_ratio: float) -> float:
    """Return 1 - alone/alongside for log(alongside/alone); minus infinity below -700."""
    return -math.expm1(-log_ratio) if log_ratio > -700 else -math.inf


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return statistics.fmean(numbers) if numbers else None


def _round(run: TimedRun) -> int:
    return run.round


def _once(names: Sequence[str], sentence: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UsageError(sentence.format(twice[0]))


def _known(some: Sequence[str], names: Sequence[str]) -> None:
    for name in some:
        if name not in names:
            raise UsageError(f"The profile speaks of {name!r}, which is none of its programs.")


def _once_a_round(runs: Sequence[TimedRun], name: str) -> None:
    twice = [number for number, count in Counter(run.round for run in runs).items() if count > 1]
    if twice:
        raise UsageError(f"{name} has two runs of one kind in round {twice[0]}. A round has one of each.")
