"""The verdict of a search for settings, as a function of the study and its runs, new or stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from becalm.analysis.alongside import NEAR_NS
from becalm.analysis.summaries import throughput
from becalm.errors import UnfinishedError
from becalm.methods import complete
from becalm.nouns.finding import Finding
from becalm.nouns.options.tune import TuneOptions
from becalm.report.document import Document
from becalm.results.compare import Stopped
from becalm.results.tune import Arm, Transfer, Trial, TuneVerdict
from becalm.results.tune_arms import BASELINE, SWEEP, TUNED
from becalm.study.conclude import emulated
from becalm.tuning.course import Course, replay
from becalm.tuning.exchange import SearchResult
from becalm.tuning.phases import sweeps
from becalm.tuning.trial_log import TrialLog
from becalm.wording import tune as sentences
from becalm.wording.findings import finding
from becalm.wording.numbers import are, counted


def conclude(course: Course, tuned: SearchResult, number: int | None, noticed: Sequence[Finding] = ()) -> TuneVerdict:
    """Return the verdict of a finished search. `noticed`: findings made while it was measured."""
    options, judged = complete(course.options), tuned.judged
    verdict = TuneVerdict(
        kind="tune",
        study=number,
        host=course.study.host,
        programs=course.names,
        method="try" if options.tried else SWEEP if sweeps(options) else options.method,
        objective=options.objective,
        stopped=Stopped.KNOWN,
        confidence=options.confidence,
        seed=course.study.seed,
        elapsed_ns=course.trials.elapsed_ns,
        search_runs=tuned.search_runs,
        confirm_runs=tuned.confirm_runs,
        settings=judged.settings.to_json(),
        chosen=tuned.choice.settings.to_json(),
        trials=tuple(_in_printed_unit(trial, options) for trial in tuned.trials),
        arms=tuple(_with_throughput(judged.arms, course)),
        comparisons=judged.comparisons,
        contributions=judged.contributions,
        droppable=judged.droppable,
        fit=tuned.fit,
        margin=options.margin,
        metric=options.metric,
        excluded=options.allowed.excluded,
        findings=(
            *tuned.findings,
            *judged.findings,
            *noticed,
            *emulated(options),
            *_boots(course.trials, options.allowed.lost),
            *_partial(options.allowed.partial, judged.arms),
            *_schedule(options, course.trials),
            finding("choice", {"why": tuned.choice.why}),
        ),
    )
    if tuned.tried:
        first = tuned.tried[0]
        transfer = tuple(
            Transfer(comparison.program, first if comparison.arm == TUNED else comparison.arm, comparison.ratio)
            for comparison in verdict.comparisons
            if comparison.arm != BASELINE
        )
        verdict = replace(verdict, transfer=transfer)
    return replace(verdict, sentence=sentences.verdict(verdict))


def _schedule(options: TuneOptions, trials: TrialLog) -> tuple[Finding, ...]:
    """Return the finding on the schedule of the confirmation, where running at the same time was requested."""
    if options.schedule == "turns":
        return ()
    if options.turns_because or not trials.apart_ns:
        return (finding("turns", {"reason": options.turns_because or "machine"}),)
    near = sum(abs(apart_ns) <= NEAR_NS for apart_ns in trials.apart_ns)
    starts = {"starts": len(trials.apart_ns) // 2, "near": near // 2}
    return (finding("confirmed_alongside", {"cpus": list(options.at_once_cpus or ()), **starts}),)


def conclude_stored(document: Document) -> TuneVerdict:
    """Return the verdict of a stored search without one. Raises UnfinishedError when some of its runs are missing."""
    study = document.study
    course = Course(study, TuneOptions.from_json(study.options), settings=list(study.settings))
    course.trials.extend(document.runs)
    tuned = replay(course)
    if tuned is None:
        runs = counted(len(document.runs), "run")
        if document.number is None:
            raise UnfinishedError(f"A search for settings that was not finished has no result; this one has {runs}.")
        raise UnfinishedError(
            f"Study {document.number} is a search for settings that was not finished; its {runs} "
            f"{are(len(document.runs))} kept. "
            f"Continue it with becalm tune --resume {document.number}."
        )
    return conclude(course, tuned, document.number, document.noticed)


def _with_throughput(arms: Sequence[Arm], course: Course) -> Iterator[Arm]:
    """Yield the arms with the work of their programs per second, where that is known."""
    programs = dict(zip(course.names, course.programs, strict=True))
    for arm in arms:
        per_second = throughput(course.study.workloads[programs[arm.program]], arm.mean_ns)
        yield replace(arm, throughput=per_second) if arm.runs else arm


def _in_printed_unit(trial: Trial, options: TuneOptions) -> Trial:
    """Return a trial with its mean in the unit that the program prints, if the search minimised a metric."""
    if options.metric is None or options.minimize != "time" or trial.spread is None:
        return trial
    return replace(trial, spread=options.metric.back((trial.spread,) * 3)[0])


def _partial(lacking: Mapping[str, Sequence[str]], arms: Sequence[Arm]) -> list[Finding]:
    """Return findings on compared profiles of which this host lacks some settings."""
    measured = {arm.name for arm in arms}
    return [
        finding("partial", {"profile": name, "knobs": list(knobs)})
        for name, knobs in lacking.items()
        if knobs and name in measured
    ]


def _boots(trials: TrialLog, lost: Mapping[str, str]) -> list[Finding]:
    """Return the findings on the cost of boots and on settings that were not tried because they need one."""
    findings = []
    count, median_ns = trials.reboots()
    if count:
        assert median_ns is not None
        share = count * median_ns / max(1, trials.elapsed_ns)
        findings.append(finding("boots", {"boots": count, "boot_ns": median_ns, "share": share}))
    if lost:
        findings.append(finding("at_boot", {"knobs": sorted(lost), "rationale": dict(lost)}))
    return findings
