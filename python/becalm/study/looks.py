"""The looks at a study of randomly ordered rounds while it is measured, and the rounds that are left out.

`Looks` depends only on the study, its runs and their loads. As the plan of the measuring loop, or fed with stored runs
by `replay`, it looks at the data after the same runs and computes the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from becalm.analysis.compare import SequentialComparison
from becalm.analysis.compare_ranking import SequentialRanking
from becalm.analysis.contamination import DEFAULT_RULE, NEIGHBOUR_RULE, ContaminationRule, judge_rounds, parse_rule
from becalm.analysis.summaries import summarise
from becalm.hosts.events import Event, Loads, Runs
from becalm.load.record import Load
from becalm.nouns.metric import Metric
from becalm.nouns.options.measuring import CompareOptions, RunOptions
from becalm.nouns.run import Averages, Block, Outcome, Run
from becalm.nouns.study import Study
from becalm.plans.history import History
from becalm.plans.interleave import interleave
from becalm.plans.schedule import MEASURED, BackToTurns, Schedule
from becalm.results.compare import Stopped, Summary
from becalm.study.flagged_rounds import FlaggedRounds
from becalm.wording.metric import measured
from becalm.wording.program_names import names_of

if TYPE_CHECKING:
    from becalm.analysis.schedules import RepeatedSchedules

ONE_CPU = 1.1
"""CPUs on average over a run from which on a program uses more than one."""


def _ignore_look(looks: Looks) -> None:
    """Ignore a look."""


@dataclass(slots=True)
class Looks:
    """The state of a study while it is measured or replayed. `looked` is called after each look."""

    study: Study
    options: RunOptions
    looked: Callable[[Looks], None] = _ignore_look
    names: tuple[str, ...] = field(init=False)
    history: History = field(init=False)
    comparison: SequentialComparison = field(init=False)
    ranking: SequentialRanking = field(init=False)
    rule: ContaminationRule = field(init=False)
    reason: Stopped = Stopped.STORED
    schedules: RepeatedSchedules | None = None
    """The looks at programs that also run at the same time; None where they only take turns."""
    contaminated: FlaggedRounds = field(default_factory=FlaggedRounds)
    """Contaminated rounds, with the measures of the rule that were exceeded."""
    unknown: FlaggedRounds = field(default_factory=FlaggedRounds)
    """Rounds that the rule could not judge, with the measures that are unknown; empty without an explicit rule."""
    _rng: np.random.Generator = field(init=False)
    _runs: list[Run] = field(default_factory=list)
    _loads: list[Load] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = names_of(self.study.workloads)
        metric = compared_metric(self.study)
        self.history = History(len(self.names), metric)
        self._rng = np.random.default_rng(self.study.seed)
        usual = NEIGHBOUR_RULE if any(workload.alongside for workload in self.study.workloads) else DEFAULT_RULE
        self.rule = usual if self.options.drop_contaminated is None else parse_rule(self.options.drop_contaminated)
        pair = self.options if isinstance(self.options, CompareOptions) else CompareOptions()
        if pair.at_once_cpus is not None:
            self.schedules = _schedules(pair, len(self.names), self._rng)
            self.history.spares_alongside = self.schedules.groups.choice.schedule in MEASURED
        # Exact counts need no statistics to be put in order, and programs of a round that did not run at the same time
        # are not compared.
        ordered = not self.exact and self.schedules is None
        several = self.names if self.study.kind == "compare" and ordered else ()
        self.ranking = SequentialRanking(
            several, self.options.goal, self.options.confidence, fastest=pair.fastest is True
        )
        best = self.ranking.first if pair.to_best and self.ranking.used else None
        self.comparison = SequentialComparison(
            self.names,
            pair.reference,
            self.options.goal,
            self.options.confidence,
            pair.fail_above,
            metric,
            best,
            self.schedules,
        )

    @property
    def exact(self) -> bool:
        """Whether exact counts are compared."""
        metric = compared_metric(self.study)
        return metric is not None and metric.exact

    @property
    def drops(self) -> bool:
        """Whether contaminated rounds are left out."""
        return self.options.drop_contaminated is not None

    @property
    def summary(self) -> Summary | None:
        """The summary of a study of one program, without the numbers that need more than wall times; else None."""
        if len(self.names) > 1:
            return None
        workload = self.study.workloads[0]
        return summarise(self.names[0], self.history, 0, Averages(), self.options.confidence, workload=workload)

    def see(self, runs: Iterable[Run] = (), loads: Iterable[Load] = ()) -> None:
        """Take runs and loads, by which the next look decides which rounds were contaminated."""
        self._runs.extend(runs)
        self._loads.extend(loads)

    def take(self, event: Event) -> None:
        """See the runs or loads of an event, if it has any."""
        match event:
            case Runs(runs):
                self.see(runs)
            case Loads(loads):
                self.see((), loads)

    def plan(self, history: History) -> Block | None:
        """Return the next block, after a look at the data if one is due; None when measuring ends.

        Measuring ends when the question is answered or the budget is used.
        """
        self.look_at_load()
        goal, exhausted = self.options.goal, self.options.goal.exhausted(history)
        if history.rounds and (exhausted or self.comparison.due(history)):
            self.comparison.look(history)
            if exhausted or self.ranking.due(history):
                self.ranking.look(history)
            self.looked(self)
            enough = self._enough()
            if enough is not None:
                self.reason = enough
                return None
        if exhausted:
            all_made = goal.runs is not None and history.rounds >= goal.runs
            self.reason = Stopped.RUNS if all_made else Stopped.BUDGET
            return None
        if self.exact:
            # Instructions depend on the size of the environment, so it is the same in all runs.
            return Block(tuple(step._replace(padding=0) for step in interleave(history, goal, self._rng).steps))
        if self.schedules is None:
            return interleave(history, goal, self._rng)
        groups = self.schedules.groups
        if groups.choice.schedule in MEASURED and groups.choice.back is None:
            if history.failed_alongside:
                groups.choice.return_to_turns(BackToTurns.FAILED)
                # The failure ended a block, of which later rounds must not be taken for turns.
                history.next_round = groups.planned
            elif history.most_cpus > ONE_CPU:
                groups.choice.return_to_turns(BackToTurns.WIDE)
        return groups.block(history, goal)

    def end(self) -> None:
        """Take the last look, after measuring has ended for any reason."""
        self.look_at_load()
        if self.history.failure is not None:
            self.reason = Stopped.FAILED
        elif self.history.interrupted:
            self.reason = Stopped.INTERRUPTED
        self.comparison.look(self.history)
        self.ranking.look(self.history)

    def look_at_load(self) -> None:
        """Judge the contamination of the last block's rounds, before their times are looked at."""
        judged = judge_rounds(self._runs if self._loads or self.drops else (), self._loads, self.rule)
        self._runs.clear()
        self._loads.clear()
        self.contaminated.update(judged.contaminated)
        if self.drops:
            self.unknown.update(judged.unknown)
            strict = self.options.unknown_contamination == "drop"
            if gone := {*judged.contaminated, *(judged.unknown if strict else ())}:
                self.history.drop(gone)

    def _enough(self) -> Stopped | None:
        """Return the reason to stop once the question is answered (fastest program, limit or precision); else None."""
        if self.ranking.fastest and self.ranking.used:
            return Stopped.KNOWN if self.ranking.known(self.history) else None
        return self.comparison.enough() or self._precise()

    def _precise(self) -> Stopped | None:
        """Return the reason to stop once the mean of a single program is as precise as asked; else None."""
        wanted, summary = self.options.precision, self.summary
        if wanted is None or summary is None:
            return None
        mean = measured(summary).mean
        return Stopped.PRECISION if (mean.high - mean.low) / 2 <= wanted * mean.value else None


def _schedules(options: CompareOptions, programs: int, rng: np.random.Generator) -> RepeatedSchedules:
    """Return the looks at programs that run in turns and at once."""
    from becalm.analysis.schedules import RepeatedSchedules  # Programs that take turns start without it.
    from becalm.plans.groups import Groups

    assert options.at_once_cpus is not None
    groups = Groups(Schedule(options.schedule or Schedule.AUTO), options.at_once_cpus, rng, programs)
    return RepeatedSchedules(1 - options.confidence, groups, options.reference)


def compared_metric(study: Study) -> Metric | None:
    """Return the metric that is compared, the first of each program; None for the wall time."""
    first = study.workloads[0].metrics if study.workloads else ()
    return first[0] if first and all(workload.metrics for workload in study.workloads) else None


def replay(study: Study, options: RunOptions, runs: Iterable[Run], loads: Sequence[Load]) -> Looks:
    """Repeat the same looks at stored runs: blocks end where they ended while it was measured."""
    looks = Looks(study, options)
    history, coming = looks.history, iter(runs)
    left = sorted(loads, key=lambda load: load.first)
    while history.failure is None and not history.interrupted and (block := looks.plan(history)) is not None:
        taken, whole = _runs_of(block, coming)
        history.extend(taken)
        mine = [load for load in left if load.first < history.next_seq]
        left = left[len(mine) :]
        looks.see(taken, mine)
        history.interrupted = any(run.outcome == Outcome.ABORTED for run in taken)
        if not whole:
            # becalm was killed within this block, so there was no later look.
            break
    rest = list(coming)
    history.extend(rest)
    looks.see(rest, left)
    looks.end()
    return looks


def _runs_of(block: Block, runs: Iterator[Run]) -> tuple[list[Run], bool]:
    """Return the runs of a block, and whether it was run to its end or to a failure, which ends it."""
    taken, failed = list[Run](), False
    for run in islice(runs, len(block.steps)):
        taken.append(run)
        failed = failed or run.outcome != Outcome.OK
        if failed and not (block.starts and block.starts[len(taken) - 1].with_next):
            break
    return taken, failed or len(taken) == len(block.steps)
