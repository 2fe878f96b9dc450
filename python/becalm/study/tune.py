"""A tune study while it is measured: what its phases ask for (`becalm.tuning.phases`) is measured, then concluded.

`TuneStudy` remembers nothing that the store does not have: resuming answers from there first.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from becalm.analysis.diagnostics import failure_numbers
from becalm.errors import BecalmError, Interrupted, MachineError, RefusedError, WorkloadError
from becalm.hosts import Ability
from becalm.methods.protocol import NO_SETTINGS, Sample
from becalm.nouns.finding import Finding
from becalm.nouns.run import Block, Steps
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.export_settings import ProductionPlan
from becalm.results.progress import SearchProgress
from becalm.results.tune import TuneVerdict
from becalm.study.export_settings import production_plan
from becalm.study.measure import measure
from becalm.study.session import StudySession
from becalm.study.tune_conclude import conclude
from becalm.tuning.course import Course
from becalm.tuning.exchange import PhaseRequest, PhaseResult, SearchResult
from becalm.tuning.trial_log import NumberedAsk, TrialLog
from becalm.wording import compare
from becalm.wording.findings import finding


@dataclass(slots=True)
class TuneStudy:
    """A tune study while it is measured."""

    opened: StudySession
    course: Course
    cost: str = ""
    seen: dict[Settings, Sample] = field(default_factory=dict)
    refused: list[Finding] = field(default_factory=list)
    limits_ns: dict[int, int] = field(default_factory=dict)
    """The time limits of runs of the present arm, ns, by the position of the program."""

    def gain(self, request: PhaseRequest) -> PhaseResult:
        """Measure what is asked for, or find it among the stored runs. Raises MachineError when interrupted."""
        known = len(self.course.settings)
        asked = self.course.number(request)
        assert self.opened.number is not None
        for position in range(known, len(self.course.settings)):
            self.opened.store.add_settings(self.opened.number, position, self.course.settings[position])
        self._tell(request, asked)
        while not self.course.complete(request, asked):
            self._measure(request, asked)
            if self.course.trials.interrupted:
                raise KeyboardInterrupt
        self._check(asked)
        result = self.course.answer(request, asked)
        self._remember(result.together)
        return result

    def _measure(self, request: PhaseRequest, ask: NumberedAsk) -> None:
        """Measure what is missing, until it is there, an arm is refused, or the person interrupts."""
        steps: Steps = ()
        first = self.course.trials.next_seq

        def plan(trials: TrialLog) -> Block | None:
            nonlocal steps, first
            block = self.course.next_block(request, ask)
            if block is not None:
                steps, first = block.steps, trials.next_seq
                limits_ns = self.course.limits_ns(request, ask, steps[0].settings)
                if limits_ns != self.limits_ns:
                    self.limits_ns = limits_ns
                    self._define(ask)
            return block

        self.limits_ns = {}
        try:
            self._define(ask)
            try:
                measure(self.opened.host, plan, self.course.trials, self.opened.take, detail=self.opened.detail)
            except RefusedError as error:
                # The machine was to be switched to the settings of the step after the last run.
                at = min(self.course.trials.next_seq - first, len(steps) - 1)
                current = steps[at].settings if steps else ask.settings[0]
                if not self.course.settings[current].values:
                    raise
                self._refuse(current, error)
        except RefusedError:
            raise
        except MachineError as error:
            # A lost connection, a killed agent: what was measured is in the store, and resuming goes on from there.
            error.append(_go_on(self.opened))
            raise

    def _define(self, ask: NumberedAsk) -> None:
        """Make programs and settings known; an arm that the host does not take by itself is refused."""
        try:
            self._known(set(ask.settings))
        except RefusedError as error:
            for settings in set(ask.settings) - set(self.course.trials.refused):
                try:
                    self._known({settings})
                except RefusedError as own:
                    if not self.course.settings[settings].values:
                        raise
                    self._refuse(settings, own)
            if not set(ask.settings) & set(self.course.trials.refused):
                raise error
            self._known(set(ask.settings))

    def _known(self, needed: set[int]) -> None:
        needed = needed - set(self.course.trials.refused)
        listed = [each if index in needed else None for index, each in enumerate(self.course.settings)]
        workloads = [self._limited(index, each) for index, each in enumerate(self.course.study.workloads)]
        self.opened.host.define(workloads, listed, dangerous=self.course.options.dangerous)

    def _limited(self, index: int, workload: Workload) -> Workload:
        """Return a program with the time limit of a run of the present arm."""
        limits = [each for each in (self.limits_ns.get(index), workload.timeout_ns) if each is not None]
        return replace(workload, timeout_ns=min(limits)) if index in self.limits_ns else workload

    def _refuse(self, settings: int, error: RefusedError) -> None:
        self.course.trials.refused[settings] = str(error)
        values = self.course.settings[settings].to_json()
        self.refused.append(finding("refused", {"settings": values, "error": str(error)}))

    def _check(self, ask: NumberedAsk) -> None:
        """Raise an error for a program that fails on the baseline, as it cannot be tuned."""
        for arm, settings in zip(ask.ask.arms, ask.settings, strict=True):
            if not arm.values and self.course.trials.lost(ask.wanted, settings):
                run = self.course.trials.failure_of(settings)
                assert run is not None
                assert self.opened.number is not None
                stderr = self.opened.store.texts(self.opened.number).get(run.seq, ("", ""))[0]
                program = self.course.study.workloads[run.workload]
                raise WorkloadError(compare.failure(program.name, failure_numbers(run, stderr, 0, program)))

    def _remember(self, together: Sequence[Sample]) -> None:
        """Add the loops to those of the same settings, for the display."""
        for new in together:
            old = self.seen.get(new.settings, Sample(new.settings, ()))
            self.seen[new.settings] = old.joined(new)

    def _spread(self, settings: Settings) -> float | None:
        sample = self.seen.get(settings)
        return None if sample is None else sample.value(self.course.options.objective)

    def _tell(self, request: PhaseRequest, ask: NumberedAsk) -> None:
        budget_ns = self.course.options.budget_ns
        self.opened.measuring.listener.searching(
            SearchProgress(
                phase=request.phase,
                why=request.ask.why,
                elapsed_ns=self.course.trials.elapsed_ns,
                runs=self.course.trials.next_seq,
                planned=self.course.trials.next_seq + ask.wanted.size,
                arms=len(request.ask.arms),
                best=request.ask.best.to_json(),
                spread=self._spread(request.ask.best),
                baseline=self._spread(NO_SETTINGS),
                cost=self.cost if request.phase == "look" else "",
                timed=self.course.options.minimize == "time",
                metric=self.course.options.metric,
                left_ns=None if budget_ns is None else max(0.0, budget_ns - self.course.trials.elapsed_ns),
            )
        )


def _interrupted(opened: StudySession, trials: TrialLog) -> Interrupted:
    kept = _go_on(opened, " They are kept;")
    return Interrupted(f"Interrupted after {trials.next_seq} runs, before the end of the study.{kept}")


def _go_on(opened: StudySession, kept: str = "") -> str:
    """Return how to resume; empty when the study is not stored."""
    if opened.shown is None:
        return ""
    sudo = " --sudo" if opened.measuring.sudo else ""
    return f"{kept} {'go' if kept else 'Go'} on with: becalm tune --resume {opened.shown}{sudo}"


def _production(opened: StudySession, verdict: TuneVerdict) -> ProductionPlan | None:
    """Return the files and values for permanent settings, for a machine that can report them."""
    if not verdict.settings or not opened.host.abilities().get(Ability.HOLD):
        return None
    # Hours of measuring are not lost because a file cannot be read at their end.
    with suppress(BecalmError):
        return production_plan(opened.host, Settings.of(verdict.settings))
    return None


def measure_tune(opened: StudySession, course: Course, cost: str = "") -> TuneVerdict:
    """Run the study's phases to their end and conclude. `cost`: what it will take, which is said first."""
    state, phases = TuneStudy(opened, course, cost), course.phases()
    try:
        request = next(phases)
        while True:
            request = phases.send(state.gain(request))
    except StopIteration as end:
        tuned: SearchResult = end.value
    except KeyboardInterrupt:
        # Of the measuring loop, or while a method was thinking.
        raise _interrupted(opened, course.trials) from None
    opened.put_back()
    verdict = conclude(course, tuned, opened.shown, (*state.refused, *opened.noticed))
    if opened.unsettled is None:
        # While the host answers, and has nothing of ours on.
        verdict = replace(verdict, production=_production(opened, verdict))
    opened.host.close()
    assert opened.number is not None
    opened.store.conclude(opened.number, verdict.to_json())
    opened.measuring.listener.ended(verdict)
    return verdict
