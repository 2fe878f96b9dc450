"""A tune study while it is measured: the requests of its phases (`becalm.tuning.phases`), then its conclusion.

All state of `TuneStudy` is in the store as well: a resumed study first answers requests from stored runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

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
from becalm.wording import run_problems
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

    def measure_phase(self, request: PhaseRequest) -> PhaseResult:
        """Measure the arms of a request, or take their stored runs. Raises MachineError when interrupted."""
        stored = len(self.course.settings)
        ask = self.course.number(request)
        assert self.opened.number is not None
        for position in range(stored, len(self.course.settings)):
            self.opened.store.add_settings(self.opened.number, position, self.course.settings[position])
        self._report_progress(request, ask)
        while not self.course.complete(request, ask):
            self._measure(request, ask)
            if self.course.trials.interrupted:
                raise KeyboardInterrupt
        self._check(ask)
        result = self.course.answer(request, ask)
        self._remember(result.together)
        return result

    def _measure(self, request: PhaseRequest, ask: NumberedAsk) -> None:
        """Measure missing runs until they are complete, an arm is refused, or the person interrupts."""
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
                # The refused settings are those of the step after the last run.
                at = min(self.course.trials.next_seq - first, len(steps) - 1)
                current = steps[at].settings if steps else ask.settings[0]
                if not self.course.settings[current].values:
                    raise
                self._refuse(current, error)
        except RefusedError:
            raise
        except MachineError as error:
            # After a lost connection or a killed agent, resuming continues from the stored runs.
            error.append(_go_on(self.opened))
            raise

    def _define(self, ask: NumberedAsk) -> None:
        """Define programs and settings on the host; an arm that the host refuses by itself counts as refused."""
        try:
            self._define_arms(set(ask.settings))
        except RefusedError as error:
            for settings in set(ask.settings) - set(self.course.trials.refused):
                try:
                    self._define_arms({settings})
                except RefusedError as refusal:
                    if not self.course.settings[settings].values:
                        raise
                    self._refuse(settings, refusal)
            if not set(ask.settings) & set(self.course.trials.refused):
                raise error
            self._define_arms(set(ask.settings))

    def _define_arms(self, needed: set[int]) -> None:
        needed = needed - set(self.course.trials.refused)
        listed = [settings if index in needed else None for index, settings in enumerate(self.course.settings)]
        workloads = [self._with_limit(index, workload) for index, workload in enumerate(self.course.study.workloads)]
        self.opened.host.define(workloads, listed, dangerous=self.course.options.dangerous)

    def _with_limit(self, index: int, workload: Workload) -> Workload:
        """Return a program with the time limit of the present arm, if that is lower than its own."""
        limits = [limit_ns for limit_ns in (self.limits_ns.get(index), workload.timeout_ns) if limit_ns is not None]
        return dataclasses.replace(workload, timeout_ns=min(limits)) if index in self.limits_ns else workload

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
                raise WorkloadError(run_problems.failure(program.name, failure_numbers(run, stderr, 0, program)))

    def _remember(self, together: Sequence[Sample]) -> None:
        """Add samples to those of the same settings, for the display."""
        for new in together:
            old = self.seen.get(new.settings, Sample(new.settings, ()))
            self.seen[new.settings] = old.join(new)

    def _spread(self, settings: Settings) -> float | None:
        sample = self.seen.get(settings)
        return None if sample is None else sample.value(self.course.options.objective)

    def _report_progress(self, request: PhaseRequest, ask: NumberedAsk) -> None:
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
    advice = _go_on(opened, " They are stored;")
    return Interrupted(f"Interrupted after {trials.next_seq} runs, before the end of the study.{advice}")


def _go_on(opened: StudySession, prefix: str = "") -> str:
    """Return a sentence on how to resume, after a prefix; empty when the study is not stored."""
    if opened.shown is None:
        return ""
    sudo = " --sudo" if opened.measuring.sudo else ""
    return f"{prefix} {'go' if prefix else 'Go'} on with: becalm tune --resume {opened.shown}{sudo}"


def _production(opened: StudySession, verdict: TuneVerdict) -> ProductionPlan | None:
    """Return the files and values for permanent settings; None for a machine that cannot report them."""
    if not verdict.settings or not opened.host.abilities().get(Ability.HOLD):
        return None
    # Hours of measuring are not lost because a file cannot be read at their end.
    with suppress(BecalmError):
        return production_plan(opened.host, Settings.of(verdict.settings))
    return None


def measure_tune(opened: StudySession, course: Course, cost: str = "") -> TuneVerdict:
    """Measure the study's phases to their end and conclude. `cost`: the expected cost as a sentence."""
    state, phases = TuneStudy(opened, course, cost), course.phases()
    try:
        request = next(phases)
        while True:
            request = phases.send(state.measure_phase(request))
    except StopIteration as end:
        tuned: SearchResult = end.value
    except KeyboardInterrupt:
        # Raised by the measuring loop, or by Ctrl-C while a method was computing.
        raise _interrupted(opened, course.trials) from None
    opened.restore_settings()
    verdict = conclude(course, tuned, opened.shown, (*state.refused, *opened.noticed))
    if opened.unsettled is None:
        # The host still answers, and its settings are restored.
        verdict = replace(verdict, production=_production(opened, verdict))
    opened.host.close()
    assert opened.number is not None
    opened.store.conclude(opened.number, verdict.to_json())
    opened.measuring.listener.ended(verdict)
    return verdict
