"""A tune study while it is made: what its course asks (`becalm.tuning.phases`) is measured, and in the end concluded.

`TuneStudy` remembers nothing that the store does not have: resuming answers from there first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from becalm.analysis.diagnostics import failure_numbers
from becalm.errors import Interrupted, MachineError, RefusedError, WorkloadError
from becalm.methods import method as method_row
from becalm.methods.protocol import NO_SETTINGS, Sample, TrialDesign
from becalm.nouns.excluded import Excluded
from becalm.nouns.progress import SearchProgress
from becalm.nouns.run import Block
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.tune_verdict import BASELINE, TUNED, Arm, Transfer, TuneVerdict
from becalm.nouns.verdict import Finding, Stopped
from becalm.study.measure import measure
from becalm.study.session import StudySession
from becalm.tuning import phases
from becalm.tuning.exchange import PhaseOptions, PhaseRequest, PhaseResult, SearchResult
from becalm.tuning.trial_log import NumberedAsk, TrialLog
from becalm.wording import measurement
from becalm.wording import tune as sentences
from becalm.wording.findings import finding


@dataclass(slots=True)
class TuneStudy:
    """One tune study while it is measured."""

    opened: StudySession
    study: Study
    trials: TrialLog
    settings: list[Settings]
    programs: tuple[int, ...]
    kernel: int | None
    space: Space
    next_loop: int = 0
    seen: dict[Settings, Sample] = field(default_factory=dict)
    refused: list[Finding] = field(default_factory=list)

    def gain(self, wish: PhaseRequest) -> PhaseResult:
        """Measure what is wished, or find it among the stored runs. Raises MachineError when interrupted."""
        programs = (*self.programs, self.kernel) if wish.floor and self.kernel is not None else self.programs
        asked = NumberedAsk(wish.ask, self.next_loop, tuple(map(self._position, wish.ask.arms)), programs)
        self.next_loop += wish.ask.loops
        self._group(asked)
        self._tell(wish, asked)
        while self.trials.block(asked, self.study.seed):
            self._measure(asked)
            if self.trials.interrupted:
                raise KeyboardInterrupt
        self._check(asked)
        together = tuple(self.trials.together(asked, self.programs))
        self._remember(together)
        first = asked.settings[0]
        return PhaseResult(
            samples=tuple(tuple(self.trials.samples(asked, program)) for program in self.programs),
            together=together,
            cpu=tuple(tuple(self.trials.cpu(asked, first, program)) for program in self.programs),
            floor=tuple(self.trials.samples(asked, self.kernel)) if wish.floor and self.kernel is not None else (),
            took_ns=float(self.trials.took_ns(asked, self.programs)),
        )

    def _position(self, settings: Settings) -> int:
        if settings not in self.settings:
            self.settings.append(settings)
            assert self.opened.number is not None
            self.opened.store.add_settings(self.opened.number, len(self.settings) - 1, settings)
        return self.settings.index(settings)

    def _group(self, asked: NumberedAsk) -> None:
        """Say which of the settings need the same boot, and which loops have boots of their own."""
        boots = [self.space.at_boot(NO_SETTINGS)]
        for position, settings in enumerate(self.settings):
            boot = self.space.at_boot(settings)
            if boot not in boots:
                boots.append(boot)
            self.trials.boots[position] = boots.index(boot)
        if asked.ask.boots:
            self.trials.own_boots |= set(asked.loops)

    def _measure(self, asked: NumberedAsk) -> None:
        """Measure what is missing, until it is there, an arm is refused, or the person interrupts."""
        current = asked.settings[0]

        def plan(trials: TrialLog) -> Block | None:
            nonlocal current
            steps = trials.block(asked, self.study.seed)
            if not steps:
                return None
            current = steps[0].settings
            return Block(steps, fresh_boot=trials.boots_anew(steps))

        try:
            self._define(asked)
            try:
                measure(self.opened.host, plan, self.trials, self.opened.take, detail=self.opened.detail)
            except RefusedError as error:
                if not self.settings[current].values:
                    raise
                self._refuse(current, error)
        except RefusedError:
            raise
        except MachineError as error:
            # A lost connection, a killed agent: what was measured is in the store, and resuming goes on from there.
            raise type(error)(f"{error}{_go_on(self.opened)}") from error

    def _define(self, asked: NumberedAsk) -> None:
        """Make programs and settings known; an arm that the host does not take by itself is refused."""
        try:
            self._known(set(asked.settings))
        except RefusedError as error:
            for settings in set(asked.settings) - set(self.trials.refused):
                try:
                    self._known({settings})
                except RefusedError as own:
                    if not self.settings[settings].values:
                        raise
                    self._refuse(settings, own)
            if not set(asked.settings) & set(self.trials.refused):
                raise error
            self._known(set(asked.settings))

    def _known(self, needed: set[int]) -> None:
        needed = needed - set(self.trials.refused)
        listed = [each if index in needed else None for index, each in enumerate(self.settings)]
        self.opened.host.define(self.study.workloads, listed, dangerous=bool(self.study.options["dangerous"]))

    def _refuse(self, settings: int, error: RefusedError) -> None:
        self.trials.refused[settings] = str(error)
        values = self.settings[settings].to_json()
        self.refused.append(finding("refused", {"settings": values, "error": str(error)}))

    def _check(self, asked: NumberedAsk) -> None:
        """A program that fails on the untouched machine cannot be tuned."""
        for arm, settings in zip(asked.ask.arms, asked.settings, strict=True):
            if not arm.values and self.trials.lost(asked, settings):
                run = self.trials.failure_of(settings)
                assert run is not None
                assert self.opened.number is not None
                stderr = self.opened.store.texts(self.opened.number).get(run.seq, ("", ""))[0]
                name = self.study.workloads[run.workload].name
                raise WorkloadError(measurement.failure(name, failure_numbers(run, stderr, 0)))

    def _remember(self, together: Sequence[Sample]) -> None:
        """What is known so far, for the display: all loops of the same settings together."""
        for new in together:
            old = self.seen.get(new.settings, Sample(new.settings, ()))
            self.seen[new.settings] = Sample(new.settings, old.loops + new.loops, old.failed + new.failed)

    def _spread(self, settings: Settings) -> float | None:
        sample = self.seen.get(settings)
        return None if sample is None else sample.value(str(self.study.options["rule"]["objective"]))

    def _tell(self, wish: PhaseRequest, asked: NumberedAsk) -> None:
        budget_ns = self.study.options["budget_ns"]
        self.opened.measuring.listener.searching(
            SearchProgress(
                phase=wish.phase,
                why=wish.ask.why,
                elapsed_ns=self.trials.elapsed_ns,
                runs=self.trials.next_seq,
                planned=self.trials.next_seq + asked.runs,
                arms=len(wish.ask.arms),
                best=wish.ask.best.to_json(),
                spread=self._spread(wish.ask.best),
                untouched=self._spread(NO_SETTINGS),
                left_ns=None if budget_ns is None else max(0.0, budget_ns - self.trials.elapsed_ns),
            )
        )


def _interrupted(opened: StudySession, trials: TrialLog) -> Interrupted:
    kept = _go_on(opened, " They are kept;")
    return Interrupted(f"Interrupted after {trials.next_seq} runs, before the end of the study.{kept}")


def _go_on(opened: StudySession, kept: str = "") -> str:
    """How to resume; nothing when the study is not kept."""
    if opened.shown is None:
        return ""
    sudo = " --sudo" if opened.measuring.sudo else ""
    return f"{kept} {'go' if kept else 'Go'} on with: becalm tune --resume {opened.shown}{sudo}"


def measure_tune(opened: StudySession, study: Study, trials: TrialLog, settings: list[Settings]) -> TuneVerdict:
    """Run the study's course to its end and conclude."""
    programs = tuple(index for index, each in enumerate(study.workloads) if not each.kernel)
    kernels = [index for index, each in enumerate(study.workloads) if each.kernel]
    names = measurement.short([study.workloads[index].name for index in programs])
    chosen = study.options
    space = Space.from_json(chosen["space"])
    conducting = TuneStudy(opened, study, trials, settings, programs, kernels[0] if kernels else None, space)
    options = PhaseOptions(
        rule=TrialDesign(**chosen["rule"]),
        confidence=float(chosen["confidence"]),
        budget_ns=chosen["budget_ns"],
        least_runs=chosen["least_runs"],
        confirm_loops=chosen["search"]["confirm_loops"],
        confirm_runs=chosen["search"]["confirm_runs"],
        margin=chosen["margin"],
        single_out=chosen["search"]["single_out"],
        tried=tuple((name, Settings.of(values)) for name, values in chosen["tried"]),
        boot_ns=float(chosen.get("boot_ns") or 0.0),
    )
    row = method_row(chosen["search"]["method"])
    course = phases.tune_phases(space, row.load(), options, names, study.seed)
    try:
        wish = next(course)
        while True:
            wish = course.send(conducting.gain(wish))
    except StopIteration as end:
        tuned: SearchResult = end.value
    except KeyboardInterrupt:
        # Of the measuring loop, or while a method was thinking.
        raise _interrupted(opened, trials) from None
    opened.settle()
    verdict = _verdict(opened, study, conducting, names, tuned)
    assert opened.number is not None
    opened.store.conclude(opened.number, verdict.to_json())
    opened.measuring.listener.ended(verdict)
    return verdict


def _partial(lacking: Mapping[str, Sequence[str]], arms: Sequence[Arm]) -> list[Finding]:
    """Profiles that were compared with although this host has not all of their settings."""
    measured = {arm.name for arm in arms}
    return [
        finding("partial", {"profile": name, "knobs": list(knobs)})
        for name, knobs in lacking.items()
        if knobs and name in measured
    ]


def _boots(trials: TrialLog, lost: Mapping[str, str]) -> list[Finding]:
    """What boots cost and mean, or what was not tried for want of them."""
    found = []
    count, median_ns = trials.reboots()
    if count:
        assert median_ns is not None
        share = count * median_ns / max(1, trials.elapsed_ns)
        numbers = {"boots": count, "boot_ns": median_ns, "share": share}
        found.append(finding("boots", numbers))
    if lost:
        found.append(finding("at_boot", {"knobs": sorted(lost), "rationale": dict(lost)}))
    return found


def _verdict(
    opened: StudySession, study: Study, conducting: TuneStudy, names: Sequence[str], tuned: SearchResult
) -> TuneVerdict:
    judged, options = tuned.judged, study.options
    found = TuneVerdict(
        kind="tune",
        study=opened.shown,
        host=study.host,
        programs=tuple(names),
        method="try" if options["tried"] else str(options["search"]["method"]),
        objective=str(options["rule"]["objective"]),
        stopped=Stopped.KNOWN,
        confidence=float(options["confidence"]),
        seed=study.seed,
        elapsed_ns=conducting.trials.elapsed_ns,
        search_runs=tuned.search_runs,
        confirm_runs=tuned.confirm_runs,
        settings={} if judged is None else judged.settings.to_json(),
        chosen=tuned.choice.settings.to_json(),
        course=tuple(tuned.course),
        arms=() if judged is None else judged.arms,
        steadier=() if judged is None else judged.steadier,
        contributions=() if judged is None else judged.contributions,
        droppable=() if judged is None else judged.droppable,
        margin=float(options["margin"]),
        excluded=tuple(Excluded(**each) for each in options["excluded"]),
        findings=(
            *tuned.findings,
            *(() if judged is None else judged.findings),
            *conducting.refused,
            *opened.drifted.values(),
            *_boots(conducting.trials, options.get("lost") or {}),
            *_partial(options["partial"], () if judged is None else judged.arms),
            finding("choice", {"why": tuned.choice.why}),
        ),
    )
    if tuned.tried:
        first = tuned.tried[0]
        transfer = tuple(
            Transfer(each.program, first if each.arm == TUNED else each.arm, each.ratio)
            for each in found.steadier
            if each.arm != BASELINE
        )
        found = replace(found, transfer=transfer)
    return replace(found, sentence=sentences.verdict(found))
