"""A tune study as far as its runs tell: what its phases ask for, numbered, and what the runs so far answer.

`Course` remembers nothing that stored runs do not have: a study that goes on, and one that is read back, answers from
them first. Pure: no host, no store.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace

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
    """A tune study. `settings`: all that its runs had so far, in the order that the study stores."""

    study: Study
    options: TuneOptions
    trials: TrialLog = field(default_factory=TrialLog)
    settings: list[Settings] = field(default_factory=list)
    next_loop: int = 0
    _known: dict[Settings, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.options.metric is not None:
            found = enumerate(self.study.workloads)
            self.trials.metrics = {index: each.metrics[0] for index, each in found if each.metrics}
            self.trials.turned = self.options.minimize == "time"
        if self.options.abort_above is not None:
            self.trials.timeouts = {index: each.timeout_ns for index, each in enumerate(self.study.workloads)}

    @property
    def programs(self) -> tuple[int, ...]:
        """Positions of the programs among the study's workloads; the reference kernel is none of them."""
        return tuple(index for index, each in enumerate(self.study.workloads) if not each.kernel)

    @property
    def kernel(self) -> int | None:
        """Position of the reference kernel; None where the host has none."""
        return next((index for index, each in enumerate(self.study.workloads) if each.kernel), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the programs."""
        return names_of([self.study.workloads[index] for index in self.programs])

    def phases(self) -> Generator[PhaseRequest, PhaseResult, SearchResult]:
        """Return the study from its start, regardless of its measurements."""
        return tune_phases(self.options, self.names, self.study.seed)

    def number(self, request: PhaseRequest) -> NumberedAsk:
        """Give a request its loops and the positions of its settings, new ones at the end."""
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
        """Return the time limits for runs of an arm, ns by program; without a rule none."""
        rule, best = self.options.abort_above, request.ask.best
        # What is confirmed is measured to its end, and so is what all others are held against.
        if rule is None or request.phase != "search" or self.settings[arm] in (NO_SETTINGS, best):
            return {}
        result = {}
        for program in self.programs:
            positions = self._positions()
            known = (positions[each] for each in (best, NO_SETTINGS) if each in positions)
            usual = (self.trials.usual_ns(each, program, ask.first) for each in known)
            if (best_ns := next((each for each in usual if each is not None), None)) is not None:
                result[program] = rule.limit_ns(best_ns)
        return result

    def _positions(self) -> dict[Settings, int]:
        """Return the position of each of the settings; renewed when the list has grown."""
        for position in range(len(self._known), len(self.settings)):
            self._known.setdefault(self.settings[position], position)
        return self._known

    def _with_kernel(self, request: PhaseRequest) -> bool:
        return request.floor and self.kernel is not None

    def _group(self, ask: NumberedAsk) -> None:
        """Record which of the settings need the same boot, and which loops have boots of their own."""
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
        # Where slow runs are ended early, how long each may take is made known before its arm.
        alone = self.options.abort_above is not None
        pairing = self._pairing(ask) if request.phase == "confirm" else None
        block = next_trial(ask.wanted, self.trials, self.study.seed, joined=not alone, pairing=pairing)
        if block is None or request.within_ns is None:
            return block
        # Of a warm-up, the loop is what is missing to -1.
        loop = max(block.steps[0].round, -1 - block.steps[0].round)
        done = loop - ask.first
        if done < request.fewest or self.trials.begun(loop):
            return block
        whole = replace(ask, ask=replace(ask.ask, loops=done))
        took_ns = self.trials.took_ns(whole, self.programs)
        return block if took_ns * (done + 1) / done <= request.within_ns else None

    def _pairing(self, ask: NumberedAsk) -> Pairing | None:
        """Return which arms may run at the same time: those for which the machine is the same."""
        if self.options.at_once_cpus is None:
            return None
        kinds = {position: of_machine(self.settings[position]) for position in set(ask.settings)}
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
            # What CPU time and kernel tell is of wall time.
            cpu=()
            if self.options.metric is not None
            else tuple(tuple(self.trials.cpu(ask, first, program)) for program in self.programs),
            floor=tuple(floor),
            took_ns=float(self.trials.took_ns(ask, self.programs)),
        )


def of_machine(settings: Settings) -> Settings | None:
    """Return the settings that are not of the program itself; None where some decide on its CPUs, or empty the caches
    of both."""
    if any(name in (*CPU_SETTINGS, "drop_caches") for name, _ in settings.values):
        return None
    rows = knobs_by_name()
    return Settings(tuple((name, value) for name, value in settings.values if rows[name].scope != "process"))


def replay(course: Course) -> SearchResult | None:
    """Return the end of a study whose runs are all there; None when some are missing."""
    phases = course.phases()
    try:
        request = next(phases)
        while True:
            asked = course.number(request)
            if not course.complete(request, asked):
                return None
            request = phases.send(course.answer(request, asked))
    except StopIteration as end:
        result: SearchResult = end.value
        return result
