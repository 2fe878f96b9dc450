"""InterleavedStudy a study: its resources (`verbs.studying`), the measuring loop, and the verdict, in that order.

`conduct` is what `run` and `compare` share. `InterleavedStudy` is one study while it lasts: the plan that the measuring
loop asks, and the composing of the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from becalm.analysis.comparison import SequentialComparison, averages, largest_slowdown, left_behind, passes, summarise
from becalm.analysis.contamination import USUAL, Rule, contaminated
from becalm.analysis.diagnostics import contaminated as findings_of_load
from becalm.analysis.diagnostics import failure_numbers
from becalm.errors import MachineError, WorkloadError
from becalm.hosts import Event, Loads, Runs
from becalm.load.record import Load
from becalm.nouns.history import History
from becalm.nouns.progress import Progress
from becalm.nouns.run import Averages, Block, Run
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.study import Study
from becalm.nouns.verdict import Difference, Finding, Stopped, Summary, Verdict
from becalm.nouns.workload import Workload
from becalm.plans.interleave import interleave
from becalm.store import Store
from becalm.study.measure import measure
from becalm.study.options import MeasureOptions
from becalm.study.session import open_session
from becalm.wording import measurement
from becalm.wording.findings import finding


@dataclass(frozen=True, slots=True)
class Kept:
    """The runs of the study as the store has them, for analyses that need more than wall times."""

    store: Store
    study: int

    def averages(self, program: int) -> Averages:
        """Means of one program's counted good runs, computed where they are."""
        return self.store.averages(self.study, program)

    def loads(self) -> list[Load]:
        """What else the machine did around the runs."""
        return self.store.loads(self.study)

    def columns(self, program: int, names: Sequence[str]) -> dict[str, Any]:
        """Columns of one program's counted good runs as float arrays in order of runs; NaN where unknown."""
        return self.store.columns(self.study, names, program)


@dataclass(frozen=True, slots=True)
class Extras:
    """What a verb adds to measuring: findings at the end, a summary meanwhile, comparisons with another time."""

    analyse: Callable[[History, Kept], tuple[Finding, ...]] = lambda history, kept: ()
    interim: Callable[[History], Summary | None] = lambda history: None
    baseline: Callable[[History], tuple[Difference, ...]] = lambda history: ()


@dataclass(slots=True)
class InterleavedStudy:
    """One study while it is measured."""

    study: Study
    goal: StoppingRule
    measuring: MeasureOptions
    extras: Extras
    names: tuple[str, ...] = field(init=False)
    history: History = field(init=False)
    judge: SequentialComparison = field(init=False)
    rng: np.random.Generator = field(init=False)
    number: int | None = None
    reason: Stopped = Stopped.BUDGET
    rule: Rule = USUAL
    rounds: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Contaminated rounds, with the measures of the rule that were exceeded."""
    _runs: list[Run] = field(default_factory=list)
    _loads: list[Load] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = measurement.short([each.name for each in self.study.workloads])
        self.history = History(len(self.names))
        self.rng = np.random.default_rng(self.study.seed)
        reference, fail_above = self.study.options["reference"], self.study.options["fail_above"]
        self.rule = self.measuring.rule
        self.judge = SequentialComparison(self.names, reference, self.goal, self.measuring.confidence, fail_above)

    @property
    def drops(self) -> bool:
        """Whether contaminated rounds are left out."""
        return self.measuring.drop_contaminated is not None

    def take(self, event: Event) -> None:
        """See of what a host tells which rounds are contaminated."""
        match event:
            case Runs(rows) if self.measuring.load:
                self._runs.extend(rows)
            case Loads(loads):
                self._loads.extend(loads)

    def _look_at_load(self) -> None:
        """Decide on the rounds of the last block, before their times are looked at."""
        found = contaminated(self._runs, self._loads, self.rule)
        self.rounds.update(found)
        self._runs.clear()
        self._loads.clear()
        if self.drops and found:
            self.history.drop(found)

    def plan(self, history: History) -> Block | None:
        """The next block, after a look at the data where one is due; None when enough is known or used up."""
        self._look_at_load()
        exhausted = self.goal.exhausted(history)
        if history.rounds and (exhausted or self.judge.due(history)):
            self.judge.look(history)
            summary = self.extras.interim(history)
            verdict = self.verdict(() if summary is None else (summary,))
            self.measuring.listener.progressed(
                Progress(history.elapsed_ns, history.rounds, history.next_seq, self.goal.fraction(history), verdict)
            )
            enough = self.judge.enough() or _precise(summary, self.goal)
            if enough is not None:
                self.reason = enough
                return None
        if exhausted:
            made = self.goal.runs is not None and history.rounds >= self.goal.runs
            self.reason = Stopped.RUNS if made else Stopped.BUDGET
            return None
        return interleave(history, self.goal, self.rng)

    def conclude(self, kept: Kept) -> Verdict:
        """The final verdict. Raises WorkloadError or MachineError when not one round was finished."""
        self._look_at_load()
        history = self.history
        findings = self.extras.analyse(history, kept) + left_behind(self.names, history)
        findings += findings_of_load(self.rounds, self.rule, history.complete, self.drops)
        if history.failure is not None:
            findings = (self._failure(history.failure, kept), *findings)
            self.reason = Stopped.FAILED
        elif history.interrupted:
            self.reason = Stopped.INTERRUPTED
        if history.rounds == 0:
            if history.failure is not None:
                raise WorkloadError(findings[0].sentence)
            if history.complete:
                raise MachineError(
                    f"All {history.complete} rounds were contaminated by the rule {self.rule.text}, so none is left. "
                    "Measure when the machine is quieter, or with another rule."
                )
            raise MachineError("Interrupted before the first round was finished: nothing can be said yet.")
        self.judge.look(history)
        summaries = (
            summarise(name, history, index, self._averages(kept, index), self.measuring.confidence)
            for index, name in enumerate(self.names)
        )
        return self.verdict([each for each in summaries if each is not None], findings, self.extras.baseline(history))

    def _averages(self, kept: Kept, program: int) -> Averages:
        if not self.history.dropped:
            return kept.averages(program)
        names = ("user_ns", "system_ns", "wait_ns", "max_rss_bytes")
        found = kept.columns(program, ("seq", *names))
        mine = np.isin(found["seq"], self.history.seqs(program))
        return averages({name: found[name][mine] for name in names})

    def verdict(
        self,
        summaries: Sequence[Summary],
        findings: tuple[Finding, ...] = (),
        baseline: tuple[Difference, ...] = (),
    ) -> Verdict:
        """A verdict with its sentences, from the last look."""
        elapsed_ns, confidence = self.history.elapsed_ns, self.measuring.confidence
        differences = tuple(
            replace(d, sentence=measurement.difference(d, elapsed_ns)) for d in (*self.judge.differences, *baseline)
        )
        fail_above = self.study.options["fail_above"]
        passed = passes(differences, fail_above)
        lines = [d.sentence for d in differences] or [measurement.run(s, elapsed_ns, confidence) for s in summaries]
        if fail_above is not None:
            lines.append(measurement.limit(passed, fail_above, largest_slowdown(differences)))
        lines.append(measurement.stopped(self.reason))
        return Verdict(
            kind=self.study.kind,
            study=self.number,
            host=self.study.host,
            elapsed_ns=elapsed_ns,
            stopped=self.reason,
            confidence=confidence,
            summaries=tuple(summaries),
            differences=differences,
            findings=findings,
            fail_above=fail_above,
            passed=passed,
            seed=self.study.seed,
            sentence="\n".join(line for line in lines if line),
        )

    def _failure(self, failed: Run, kept: Kept) -> Finding:
        name = self.names[failed.workload]
        stderr = kept.store.texts(kept.study).get(failed.seq, ("", ""))[0]
        return finding("failure", failure_numbers(failed, stderr, self.history.rounds), name)


def measure_interleaved(
    kind: str,
    workloads: Sequence[Workload],
    measuring: MeasureOptions,
    goal: StoppingRule,
    *,
    reference: int = 0,
    fail_above: float | None = None,
    extras: Extras | None = None,
) -> Verdict:
    """Measure the workloads and conclude. Raises BecalmError; everything finished is stored by then."""
    study = measuring.study(kind, workloads, goal, reference, fail_above)
    state = InterleavedStudy(study, goal, measuring, extras or Extras())
    with open_session(measuring, f"becalm {kind}") as opened:
        opened.host.define(study.workloads, study.settings, dangerous=measuring.dangerous)
        number = opened.begin(study)
        state.number = opened.shown
        measuring.listener.started(state.number, state.names, goal)
        try:

            def take(event: Event) -> None:
                opened.take(event)
                state.take(event)

            measure(opened.host, state.plan, state.history, take, detail=opened.detail)
        except MachineError as error:
            raise type(error)(f"{error}{measurement.kept(state.number, state.history.rounds)}") from error
        opened.settle()
        verdict = state.conclude(Kept(opened.store, number))
        opened.store.conclude(number, verdict.to_json())
    measuring.listener.ended(verdict)
    return verdict


def _precise(summary: Summary | None, goal: StoppingRule) -> Stopped | None:
    """For a single program: whether its mean is known as precisely as asked."""
    if goal.precision is None or summary is None:
        return None
    mean = summary.mean_ns
    return Stopped.PRECISION if (mean.high - mean.low) / 2 <= goal.precision * mean.value else None
