"""The course of a tune study: the numbered requests of its phases, and their results from the runs so far.

All state of `Course` follows from stored runs, so that a resumed or replayed study first answers requests from them. It
has no access to a host or a store.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from msgspec.structs import replace

from becalm.methods.protocol import NO_SETTINGS
from becalm.nouns.knob import knobs_by_name
from becalm.nouns.options.tune import TuneOptions
from becalm.nouns.run import Block
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.plans.paired_trials import Pairing
from becalm.plans.schedule import CPU_SETTINGS
from becalm.plans.trials import next_trial
from becalm.tuning.exchange import PhaseRequest, PhaseResult, SearchResult
from becalm.tuning.phases import tune_phases
from becalm.tuning.trial_log import NumberedAsk, TrialLog
from becalm.wording.program_names import names_of


@dataclass(slots=True)
class Course:
    """The course of a tune study. `settings`: all settings of its runs so far, in the order of the store."""

    study: Study
    options: TuneOptions
    trials: TrialLog = field(default_factory=TrialLog)
    settings: list[Settings] = field(default_factory=list)
    next_loop: int = 0
    _known: dict[Settings, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.options.metric is not None:
            workloads = enumerate(self.study.workloads)
            self.trials.metrics = {index: workload.metrics[0] for index, workload in workloads if workload.metrics}
            self.trials.turned = self.options.minimize == "time"
        if self.options.abort_above is not None:
            self.trials.timeouts = {index: workload.timeout_ns for index, workload in enumerate(self.study.workloads)}

    @property
    def programs(self) -> tuple[int, ...]:
        """The positions of the programs among the study's workloads, without the reference kernel."""
        return tuple(index for index, workload in enumerate(self.study.workloads) if not workload.kernel)

    @property
    def kernel(self) -> int | None:
        """The position of the reference kernel; None if the host has none."""
        return next((index for index, workload in enumerate(self.study.workloads) if workload.kernel), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the programs."""
        return names_of([self.study.workloads[index] for index in self.programs])

    def phases(self) -> Generator[PhaseRequest, PhaseResult, SearchResult]:
        """Return the generator of the study's phases from the start."""
        return tune_phases(self.options, self.names, self.study.seed)

    def number(self, request: PhaseRequest) -> NumberedAsk:
        """Return a request with the numbers of its loops and the positions of its settings; new ones are appended."""
        programs = (*self.programs, self.kernel) if self._with_kernel(request) else self.programs
        known = self._positions()
        for settings in request.ask.arms:
            if settings not in known:
                known[settings] = len(self.settings)
                self.settings.append(settings)
        positions = tuple(known[arm] for arm in request.ask.arms)
        ask = NumberedAsk(
            request.ask, self.next_loop, positions, tuple(program for program in programs if program is not None)
        )
        self.next_loop += request.ask.loops
        self._group(ask)
        return ask

    def limits_ns(self, request: PhaseRequest, ask: NumberedAsk, arm: int) -> dict[int, int]:
        """Return the time limits for runs of an arm, ns by program; none without --abort-above."""
        rule, best = self.options.abort_above, request.ask.best
        # Runs of a confirmation are never ended early, nor those of the arms with which all others are compared.
        if rule is None or request.phase != "search" or self.settings[arm] in (NO_SETTINGS, best):
            return {}
        result = {}
        for program in self.programs:
            positions = self._positions()
            known = (positions[settings] for settings in (best, NO_SETTINGS) if settings in positions)
            usual = (self.trials.usual_ns(position, program, ask.first) for position in known)
            if (best_ns := next((time_ns for time_ns in usual if time_ns is not None), None)) is not None:
                result[program] = rule.limit_ns(best_ns)
        return result

    def _positions(self) -> dict[Settings, int]:
        """Return the positions by settings, up to date with the list."""
        for position in range(len(self._known), len(self.settings)):
            self._known.setdefault(self.settings[position], position)
        return self._known

    def _with_kernel(self, request: PhaseRequest) -> bool:
        return request.floor and self.kernel is not None

    def _group(self, ask: NumberedAsk) -> None:
        """Record the boot of each of the settings, and the loops that have boots of their own."""
        space = self.options.allowed.space
        boots = [space.at_boot(NO_SETTINGS)]
        for position, settings in enumerate(self.settings):
            boot = space.at_boot(settings)
            if boot not in boots:
                boots.append(boot)
            self.trials.boots[position] = boots.index(boot)
        if ask.ask.boots:
            self.trials.own_boots |= set(ask.loops)

    def next_block(self, request: PhaseRequest, ask: NumberedAsk) -> Block | None:
        """Return the next block of a request; None when all is measured, or the time is over."""
        # If slow runs are ended early, the time limit of each arm has to be defined before its block.
        alone = self.options.abort_above is not None
        pairing = self._pairing(ask) if request.phase == "confirm" else None
        block = next_trial(ask.wanted, self.trials, self.study.seed, joined=not alone, pairing=pairing)
        if block is None or request.within_ns is None:
            return block
        # A warm-up of loop n has the round -1 - n.
        loop = max(block.steps[0].round, -1 - block.steps[0].round)
        done = loop - ask.first
        if done < request.fewest or self.trials.begun(loop):
            return block
        finished = replace(ask, ask=replace(ask.ask, loops=done))
        took_ns = self.trials.took_ns(finished, self.programs)
        return block if took_ns * (done + 1) / done <= request.within_ns else None

    def _pairing(self, ask: NumberedAsk) -> Pairing | None:
        """Return the pairing of arms that may run at the same time, those with the same settings of the machine."""
        if self.options.at_once_cpus is None:
            return None
        kinds = {position: machine_settings(self.settings[position]) for position in set(ask.settings)}
        return Pairing(self.options.at_once_cpus, kinds)

    def complete(self, request: PhaseRequest, ask: NumberedAsk) -> bool:
        """Return whether nothing of a request is left to measure."""
        return self.next_block(request, ask) is None

    def answer(self, request: PhaseRequest, ask: NumberedAsk) -> PhaseResult:
        """Return the result of the runs for a request that is complete."""
        first = ask.settings[0]
        floor = () if not self._with_kernel(request) or self.kernel is None else (self.trials.samples(ask, self.kernel))
        return PhaseResult(
            samples=tuple(tuple(self.trials.samples(ask, program)) for program in self.programs),
            together=tuple(self.trials.together(ask, self.programs)),
            # CPU time and the kernel only explain wall time, not a metric.
            cpu=()
            if self.options.metric is not None
            else tuple(tuple(self.trials.cpu(ask, first, program)) for program in self.programs),
            floor=tuple(floor),
            took_ns=float(self.trials.took_ns(ask, self.programs)),
        )


def machine_settings(settings: Settings) -> Settings | None:
    """Return the settings of the machine, without those of the program; None if some choose CPUs or drop caches."""
    if any(name in (*CPU_SETTINGS, "drop_caches") for name, _ in settings.values):
        return None
    rows = knobs_by_name()
    return Settings(tuple((name, value) for name, value in settings.values if rows[name].scope != "process"))


def replay(course: Course) -> SearchResult | None:
    """Return the result of a study with all its runs; None if some are missing."""
    phases = course.phases()
    try:
        request = next(phases)
        while True:
            ask = course.number(request)
            if not course.complete(request, ask):
                return None
            request = phases.send(course.answer(request, ask))
    except StopIteration as end:
        result: SearchResult = end.value
        return result
