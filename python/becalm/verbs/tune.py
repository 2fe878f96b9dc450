"""`becalm tune`: find the settings under which programs vary least, confirm them, and say what each contributes.

`tune` sorts the options out and opens what a study needs; `Conducting` answers the study's course (`becalm.tuning`) by
measuring what it asks, and remembers nothing that the store does not have: resuming answers from there first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from becalm import sources, tuning
from becalm.errors import MachineError, RefusedError, UsageError, WorkloadError
from becalm.hosts import Host
from becalm.knobs import Knob, Wanted, find, space
from becalm.listener import Searching
from becalm.measure import measure
from becalm.methods import method as method_row
from becalm.nouns import Block, Settings, Step, Study, Workload
from becalm.profiles import SHIPPED, load
from becalm.quantity import fraction, limit_ns
from becalm.report import sentence
from becalm.report.steady import sentences
from becalm.search import NO_SETTINGS, Rule, Sample
from becalm.space import Candidate, Group, Space
from becalm.steadiness import TUNED, UNTOUCHED, Excluded, Steadiness, Transfer
from becalm.store import Store
from becalm.trials import Asked, Trials
from becalm.tuning import Gained, Options, Tuned, Wish
from becalm.verbs.options import Measuring
from becalm.verbs.options import options as sort_options
from becalm.verbs.profile import named
from becalm.verbs.studying import Studying, studying
from becalm.verdict import Finding, Stopped

DEFAULT_BUDGET = 1800.0
"""Seconds, more or less, when no budget is given."""

LEAST_RUNS = 60
"""Of the search when no budget is given: with fewer the race would only guess, however long a run takes."""

KERNEL_ITERATIONS = 4_000_000
"""Of the first run of the built-in kernel; the study's kernel is made as long as the programs, within limits."""

KERNEL_NS = (2e6, 50e6)


@dataclass(frozen=True, slots=True)
class Search:
    """How `tune` searches, as people give it. None: what the method is meant to be used with.

    `loops` × `runs` runs a trial after `warmups` loops; `objective` "cv" or "mad"; `threshold` a fraction or text
    ("0.5%"); `most_runs` of the search; `only`, `without`: knobs; `tried`: profiles to try instead of searching.
    """

    method: str = "race"
    objective: str = "cv"
    loops: int | None = None
    runs: int | None = None
    warmups: int | None = None
    threshold: float | str | None = None
    margin: float | str = 0.25
    most_runs: int | None = None
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    preserve_multicore: bool = False
    confirm_loops: int = 12
    confirm_runs: int = 5
    single_out: bool = True
    compare_profiles: bool = True
    tried: tuple[str, ...] = ()

    def rule(self) -> Rule:
        """How trials are measured. Raises UsageError."""
        if self.objective not in ("cv", "mad"):
            raise UsageError(f"--objective is cv or mad, not {self.objective!r}.")
        usual = method_row(self.method).rule
        given = {"loops": self.loops, "runs": self.runs, "warmups": self.warmups, "most_runs": self.most_runs}
        least = {"loops": 1, "runs": 2, "warmups": 0, "most_runs": 1, "confirm_loops": 2, "confirm_runs": 2}
        confirm = {"confirm_loops": self.confirm_loops, "confirm_runs": self.confirm_runs}
        for name, value in (given | confirm).items():
            if value is not None and value < least[name]:
                raise UsageError(f"--{name.replace('_', '-')} must be at least {least[name]}, not {value}.")
        chosen = {name: value for name, value in given.items() if value is not None}
        return replace(
            usual,
            objective=self.objective,
            threshold=0.0 if self.threshold is None else fraction(self.threshold),
            margin=fraction(self.margin),
            **chosen,
        )


def tune(
    programs: Sequence[str | Iterable[str] | Workload] = (), *, resume: int | str | None = None, **options: Any
) -> Steadiness:
    """Find settings under which programs vary least, and confirm them on fresh runs.

    Arguments:
        programs: command lines, argument lists, Workloads, or other sources (`becalm.sources`). The settings are for
            all of them together.
        resume: number of a study (or "last") that was interrupted: go on where it stopped.
        options: fields of `Search`; as for `becalm.run`: budget, seed, host, sudo, root, dangerous, store, user,
            confidence, timeout, directory, environment, …

    Returns a Steadiness. Raises UsageError, WorkloadError when a program fails on the untouched machine, MachineError
    when something of the machine could not be put back or when interrupted before anything could be said.
    """
    search, rest = _search_options(options)
    rule = search.rule()
    measuring, workload = sort_options(rest)
    if resume is not None:
        return _resume(resume, measuring)
    shell = bool(workload.pop("shell", False))
    made = sources.open(list(programs), shell=shell, user=measuring.user, **workload)
    budget_ns = limit_ns(measuring.budget, DEFAULT_BUDGET)
    study = Study(
        kind="tune",
        workloads=made,
        options={
            "search": asdict(search),
            "rule": asdict(rule),
            "budget_ns": budget_ns,
            "least_runs": LEAST_RUNS if measuring.budget is None else 1,
            "confidence": measuring.confidence,
            "dangerous": measuring.dangerous,
            "reference": 0,
            "fail_above": None,
        },
        seed=int.from_bytes(os.urandom(4), "big") if measuring.seed is None else measuring.seed,
        host=measuring.host,
        title=measuring.title,
    )
    tried = tuple(
        (profile.name, profile.settings) for profile in (named(each, store=measuring.place) for each in search.tried)
    )
    with studying(measuring, _title(made)) as opened:
        kernel = _kernel(opened, made)
        study = replace(study, workloads=(*made, kernel) if kernel else made)
        rows = opened.host.knobs()
        found, excluded = _space(search, measuring, rows, opened.host)
        tried = tuple((name, _supported(settings, rows)) for name, settings in tried)
        study = replace(
            study,
            options={
                **study.options,
                "space": _space_json(found),
                "excluded": [asdict(each) for each in excluded],
                "tried": [[name, settings.to_json()] for name, settings in tried],
            },
        )
        opened.begin(study)
        return _conduct(opened, study, Trials(), [NO_SETTINGS])


def _search_options(given: Mapping[str, Any]) -> tuple[Search, dict[str, Any]]:
    names = set(Search.__dataclass_fields__)
    chosen = {name: value for name, value in given.items() if name in names and value is not None}
    for name in ("only", "without", "tried"):
        if name in chosen:
            chosen[name] = (chosen[name],) if isinstance(chosen[name], str) else tuple(chosen[name])
    return Search(**chosen), {name: value for name, value in given.items() if name not in names}


def _title(programs: Sequence[Workload]) -> str:
    return f"becalm tune -- {', '.join(each.name for each in programs)}"[:200]


def _space(
    search: Search, measuring: Measuring, rows: Sequence[Knob], host: Host
) -> tuple[Space, tuple[Excluded, ...]]:
    wanted = Wanted(
        only=search.only,
        without=search.without,
        consent=measuring.dangerous,
        preserve_multicore=search.preserve_multicore,
        privileged=host.privileged,
        reboots=host.reboots,
    )
    profiles = []
    if search.compare_profiles:
        for profile in map(load, SHIPPED):
            settings = _supported(profile.settings, rows, wanted)
            if settings.values:
                profiles.append((profile.name, settings))
    return space(rows, wanted, profiles)


def _supported(settings: Settings, rows: Sequence[Knob], wanted: Wanted | None = None) -> Settings:
    """What of some settings this host can set now."""
    known = {row.name for row in rows}
    values = {}
    for name, value in settings.values:
        if name not in known:
            find(rows, name)
        row = find(rows, name)
        if not row.supported or (row.scope == "boot" and not (wanted and wanted.reboots)):
            continue
        if wanted is not None and not wanted.privileged and row.privilege and name != "aslr":
            continue
        values[name] = value
    return Settings.of(values)


def _space_json(found: Space) -> dict[str, Any]:
    return {
        "candidates": [asdict(each) for each in found.candidates],
        "profiles": [[name, settings.to_json()] for name, settings in found.profiles],
    }


def _space_of(value: Mapping[str, Any]) -> Space:
    candidates = tuple(
        Candidate(each["knob"], each["value"], Group(each["group"]), tuple(each["needs"]), each["confines"])
        for each in value["candidates"]
    )
    return Space(candidates, tuple((name, Settings.of(settings)) for name, settings in value["profiles"]))


def _kernel(opened: Studying, programs: Sequence[Workload]) -> Workload | None:
    """The built-in kernel, about as long as the programs; None where the host has none."""
    kernel = Workload(kernel="add", iterations=KERNEL_ITERATIONS, name="pure additions")

    def shortest(workload: Workload, runs: int) -> float:
        opened.host.define([workload], [NO_SETTINGS])
        block = tuple(Step(0, 0, 0, index) for index in range(runs))
        times = [run.wall_ns for rows in opened.host.measure(0, block) for run in rows if run.outcome == "ok"]
        return float(min(times, default=0))

    with contextlib.suppress(WorkloadError, UsageError):
        unit = shortest(kernel, 3)
        wanted = max((shortest(each, 1) for each in programs), default=0.0)
        wanted = min(max(wanted, KERNEL_NS[0]), KERNEL_NS[1])
        return replace(kernel, iterations=max(1, round(KERNEL_ITERATIONS * wanted / max(unit, 1.0))))
    return None


def _resume(reference: int | str, measuring: Measuring) -> Steadiness:
    """Go on with a study that was stopped: answer from its runs first, then measure."""
    with Store.open(measuring.place) as store:
        if str(reference) == "last":
            newest = store.studies(limit=1, kind="tune")
            reference = newest[0].number if newest else "last"
        stored = store.study(store.resolve(reference))
    if stored.study.kind != "tune" or "space" not in stored.study.options:
        raise UsageError(f"Study {stored.number} is no tune. `becalm list --kind tune` shows those.")
    measuring = replace(measuring, host=stored.study.host, dangerous=bool(stored.study.options["dangerous"]))
    with studying(measuring, _title(stored.study.workloads)) as opened:
        opened.resume(stored)
        trials = Trials()
        trials.extend(opened.store.runs(stored.number))
        return _conduct(opened, stored.study, trials, list(stored.study.settings))


@dataclass(slots=True)
class Conducting:
    """One tune study while it is measured."""

    opened: Studying
    study: Study
    trials: Trials
    settings: list[Settings]
    programs: tuple[int, ...]
    kernel: int | None
    next_loop: int = 0
    seen: dict[Settings, Sample] = field(default_factory=dict)
    refused: list[Finding] = field(default_factory=list)

    def gain(self, wish: Wish) -> Gained:
        """Measure what is wished, or find it among the stored runs. Raises MachineError when interrupted."""
        programs = (*self.programs, self.kernel) if wish.floor and self.kernel is not None else self.programs
        asked = Asked(wish.ask, self.next_loop, tuple(map(self._position, wish.ask.arms)), programs)
        self.next_loop += wish.ask.loops
        before_ns = self.trials.elapsed_ns
        self._tell(wish, asked)
        while self.trials.block(asked, self.study.seed):
            self._measure(asked)
            if self.trials.interrupted:
                raise _interrupted(self.opened, self.trials)
        self._check(asked)
        together = tuple(self.trials.together(asked, self.programs))
        self._remember(together)
        first = asked.settings[0]
        return Gained(
            samples=tuple(tuple(self.trials.samples(asked, program)) for program in self.programs),
            together=together,
            cpu=tuple(tuple(self.trials.cpu(asked, first, program)) for program in self.programs),
            floor=tuple(self.trials.samples(asked, self.kernel)) if wish.floor and self.kernel is not None else (),
            took_ns=float(self._took_ns(asked) or self.trials.elapsed_ns - before_ns),
        )

    def _took_ns(self, asked: Asked) -> int:
        """Time of the counted runs themselves: the same whether they were measured now or read from the store."""
        cells = (
            self.trials.cell(loop, settings, program)
            for loop in asked.loops
            for settings in asked.settings
            for program in self.programs
        )
        return sum(sum(cell.wall) for cell in cells)

    def _position(self, settings: Settings) -> int:
        if settings not in self.settings:
            self.settings.append(settings)
            assert self.opened.number is not None
            self.opened.store.add_settings(self.opened.number, len(self.settings) - 1, settings)
        return self.settings.index(settings)

    def _measure(self, asked: Asked) -> None:
        """Measure what is missing, until it is there, an arm is refused, or the person interrupts."""
        needed = set(asked.settings)
        listed = [each if index in needed else None for index, each in enumerate(self.settings)]
        current = asked.settings[0]

        def plan(trials: Trials) -> Block | None:
            nonlocal current
            block = trials.block(asked, self.study.seed)
            if block:
                current = block[0].settings
            return block or None

        listener, options = self.opened.measuring.listener, self.study.options
        try:
            self.opened.host.define(self.study.workloads, listed, dangerous=bool(options["dangerous"]))
            sink = self.opened.sink(self.study)
            measure(self.opened.host, plan, self.trials, sink, listener, self.opened.noticed)
        except RefusedError as error:
            if not self.settings[current].values:
                raise
            self.trials.refused[current] = str(error)
            text = sentences.settings_text(self.settings[current].to_json())
            self.refused.append(Finding("refused", f"{text}: {error}", {"settings": self.settings[current].to_json()}))

    def _check(self, asked: Asked) -> None:
        """A program that fails on the untouched machine cannot be tuned."""
        for arm, settings in zip(asked.ask.arms, asked.settings, strict=True):
            if not arm.values and self.trials.lost(asked, settings):
                run = self.trials.failure_of(settings)
                assert run is not None
                assert self.opened.number is not None
                stderr = self.opened.store.texts(self.opened.number).get(run.seq, ("", ""))[0]
                name = self.study.workloads[run.workload].name
                raise WorkloadError(sentence.failure(run, name, stderr, 0))

    def _remember(self, together: Sequence[Sample]) -> None:
        """What is known so far, for the display: all loops of the same settings together."""
        for new in together:
            old = self.seen.get(new.settings, Sample(new.settings, ()))
            self.seen[new.settings] = Sample(new.settings, old.loops + new.loops, old.failed + new.failed)

    def _spread(self, settings: Settings) -> float | None:
        sample = self.seen.get(settings)
        return None if sample is None else sample.spread(str(self.study.options["rule"]["objective"]))

    def _tell(self, wish: Wish, asked: Asked) -> None:
        self.opened.measuring.listener.searching(
            Searching(
                phase=wish.phase,
                why=wish.ask.why,
                elapsed_ns=self.trials.elapsed_ns,
                runs=self.trials.next_seq,
                planned=self.trials.next_seq + asked.runs,
                arms=len(wish.ask.arms),
                best=wish.ask.best.to_json(),
                spread=self._spread(wish.ask.best),
                untouched=self._spread(NO_SETTINGS),
            )
        )


def _interrupted(opened: Studying, trials: Trials) -> MachineError:
    kept = "" if opened.shown is None else f" They are kept; go on with: becalm tune --resume {opened.shown}"
    return MachineError(f"Interrupted after {trials.next_seq} runs, before anything was confirmed.{kept}")


def _conduct(opened: Studying, study: Study, trials: Trials, settings: list[Settings]) -> Steadiness:
    """Run the study's course to its end and conclude."""
    programs = tuple(index for index, each in enumerate(study.workloads) if not each.kernel)
    kernels = [index for index, each in enumerate(study.workloads) if each.kernel]
    names = sentence.short([study.workloads[index].name for index in programs])
    conducting = Conducting(opened, study, trials, settings, programs, kernels[0] if kernels else None)
    chosen = study.options
    options = Options(
        rule=Rule(**chosen["rule"]),
        confidence=float(chosen["confidence"]),
        budget_ns=chosen["budget_ns"],
        least_runs=chosen["least_runs"],
        confirm_loops=chosen["search"]["confirm_loops"],
        confirm_runs=chosen["search"]["confirm_runs"],
        single_out=chosen["search"]["single_out"],
        tried=tuple((name, Settings.of(values)) for name, values in chosen["tried"]),
    )
    row = method_row(chosen["search"]["method"])
    course = tuning.tune_course(_space_of(chosen["space"]), row.load(), options, names, study.seed)
    try:
        wish = next(course)
        while True:
            wish = course.send(conducting.gain(wish))
    except StopIteration as end:
        tuned: Tuned = end.value
    opened.host.close()
    verdict = _verdict(opened, study, conducting, names, tuned)
    assert opened.number is not None
    opened.store.conclude(opened.number, verdict.to_json())
    opened.measuring.listener.ended(verdict)
    return verdict


def _verdict(opened: Studying, study: Study, conducting: Conducting, names: Sequence[str], tuned: Tuned) -> Steadiness:
    judged, options = tuned.judged, study.options
    found = Steadiness(
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
        margin=float(options["rule"]["margin"]),
        excluded=tuple(Excluded(**each) for each in options["excluded"]),
        findings=(
            *tuned.findings,
            *(() if judged is None else judged.findings),
            *conducting.refused,
            Finding("choice", tuned.choice.why),
        ),
    )
    if options["tried"]:
        first = options["tried"][0][0]
        transfer = tuple(
            Transfer(each.program, first if each.arm == TUNED else each.arm, each.ratio)
            for each in found.steadier
            if each.arm != UNTOUCHED
        )
        found = replace(found, transfer=transfer)
    return replace(found, sentence=sentences.verdict(found))
